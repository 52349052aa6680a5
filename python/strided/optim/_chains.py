"""Several schedulers as one: SequentialLR and ChainedScheduler."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from ._schedulers import LRScheduler, ReduceLROnPlateau, _copied, _set
from .optimizer import Optimizer

if TYPE_CHECKING:
    from .._typing import Any, Sequence


def _undo(scheduler):
    """Takes the first step back, of all schedulers that a chain or a sequence consists of."""
    for part in scheduler._schedulers:
        if hasattr(part, "_schedulers"):
            _undo(part)
        else:
            part.last_epoch -= 1


class SequentialLR(LRScheduler):
    """Schedulers one after the other: the next one from each milestone on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{type(self).__name__} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{type(self).__name__} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but got scheduler {type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from {type(optimizer).__name__}."
                )
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # All of them have set their first rate; that of epoch 0 starts from the initial one.
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        _undo(self)
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """To the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        saved = state.pop("_schedulers")
        self.__dict__.update(state)
        for scheduler, part in zip(self._schedulers, saved):
            scheduler.load_state_dict(part)


class ChainedScheduler(LRScheduler):
    """Schedulers that all step at once."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for i, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{type(self).__name__} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if self.optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but got scheduler {type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from {type(self.optimizer).__name__}."
                )
        self._schedulers = list(schedulers)
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """To the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict
