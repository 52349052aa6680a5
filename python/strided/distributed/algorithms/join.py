"""Ranks with unequal numbers of batches, under PyTorch's names (``strided.distributed.algorithms.join``).

Before its calls of a step a rank tells the others that it still has a batch. A rank without more answers, and makes the
calls of the step as if it had one, with values that change nothing.

>>> def program():
...     from strided.distributed.algorithms.join import Join
...     strided.distributed.init_process_group()
...     rank = strided.distributed.get_rank()
...     net = strided.nn.parallel.DistributedDataParallel(strided.nn.Linear(1, 1, bias=False))
...     steps = 0
...     with Join([net]):
...         for _ in range(1 + rank):  # rank 2 has three batches
...             net.zero_grad()
...             net(strided.ones(1, 1)).sum().backward()
...             steps += 1
...     return steps, net.module.weight.grad.item()
>>> strided.distributed.simulate(2, program)[1]
(2, 0.5)
"""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import TYPE_CHECKING

from ... import _C

if TYPE_CHECKING:
    from ..._typing import Any, Sequence

__all__ = ["Join", "JoinHook", "Joinable"]

_f = _C.functions
_Config = namedtuple("_Config", "enable throw_on_early_termination is_first_joinable", defaults=(False, False, False))


def total(number: float, group: Any) -> float:
    """The sum of a number over the ranks of a group."""
    held = _f["full"]((1,), number, dtype=_C.float32)
    group.communicator.all_reduce(held)
    return held.item()


class JoinHook:
    """What a rank without more batches does. Classes of this kind override both methods."""

    def main_hook(self) -> None:
        """Called once for each step of the others: makes the same calls as they do."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when no rank has a batch; is_last_joiner: whether this rank had one in the last step."""


class Joinable:
    """Something that makes calls between ranks in each step.

    Classes of this kind call ``Joinable.__init__``, have ``join_hook(**kwargs)``, which gives a JoinHook, the
    properties ``join_device`` and ``join_process_group``, and call ``Join.notify_join_context(self)`` at the begin of
    each step.
    """

    def __init__(self) -> None:
        self._join_config = _Config()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """A JoinHook; kwargs are those of Join."""
        raise NotImplementedError(f"{type(self).__name__}.join_hook")

    @property
    def join_device(self) -> Any:
        """The device of its calls."""
        raise NotImplementedError(f"{type(self).__name__}.join_device")

    @property
    def join_process_group(self) -> Any:
        """The group of its calls."""
        raise NotImplementedError(f"{type(self).__name__}.join_process_group")


class Join:
    """Context for steps of which some ranks make fewer than others.

    Args:
        joinables: Joinable objects of one process group, in the order of their calls in a step.
        enable: False does nothing.
        throw_on_early_termination: whether all ranks raise RuntimeError as soon as one has no more batches.
        kwargs: for join_hook of each.

    Raises:
        ValueError: no joinables, or of several groups.
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        from .._groups import resolve

        groups = [resolve(j.join_process_group) for j in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._group, self._enable, self._throws = groups[0], enable, throw_on_early_termination
        self._joinables = list(joinables)
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        for k, j in enumerate(joinables):
            j._join_config = _Config(enable, throw_on_early_termination, k == 0)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if self._enable and kind is None:
                self._follow()
        finally:
            for j in self._joinables:
                j._join_config = _Config()

    def _follow(self) -> None:
        steps = 0
        while total(0, self._group):
            if self._throws:
                total(1, self._group)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            steps += 1
            if steps == 1000:
                warnings.warn(
                    f"rank {self._group.rank()} has 1000 batches less than other ranks: it waits for them", stacklevel=3
                )
        for hook in self._hooks:
            hook.post_hook(steps == 0)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Tells the others that this rank has a batch; nothing outside of the context, and for all but its first.

        Raises:
            RuntimeError: a rank has none, and throw_on_early_termination.
        """
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return
        from .._groups import resolve

        group = resolve(joinable.join_process_group)
        total(1, group)
        if config.throw_on_early_termination and total(0, group):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
