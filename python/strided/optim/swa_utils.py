"""Averages of models (``strided.optim.swa_utils``)."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import TYPE_CHECKING

import strided

from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ._schedulers import LRScheduler, _listed
from .optimizer import Optimizer

if TYPE_CHECKING:
    from .._typing import Any, Callable, Device, Iterable

__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def get_swa_avg_fn() -> Callable[..., Any]:
    """The mean of all models so far, as a function of the average, a parameter, and the number of models."""

    @strided.no_grad()
    def average(averaged: Any, current: Any, num_averaged: Any) -> Any:
        return averaged + (current - averaged) / (num_averaged + 1)

    return average


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """An average that forgets: decay times itself, and 1 - decay times the parameter."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @strided.no_grad()
    def average(averaged: Any, current: Any, num_averaged: Any) -> Any:
        return decay * averaged + (1 - decay) * current

    return average


def _of_lists(weight, average):
    @strided.no_grad()
    def update(averaged: Any, current: Any, num_averaged: Any) -> None:
        for a, c in zip(averaged, current):
            if a.is_floating_point() or a.is_complex():
                a.lerp_(c, weight(num_averaged))
            else:
                a.copy_(average(a, c, num_averaged))  # an average of integers is cut off, as in PyTorch

    return update


def get_swa_multi_avg_fn() -> Callable[..., Any]:
    """get_swa_avg_fn for lists of parameters, in place."""
    return _of_lists(lambda num_averaged: 1 / (int(num_averaged) + 1), get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """get_ema_avg_fn for lists of parameters, in place."""
    return _of_lists(lambda num_averaged: 1 - decay, get_ema_avg_fn(decay))


def _groups(averaged, current):
    """Lists of tensors of one device and dtype."""
    groups: dict[Any, Any] = {}
    for a, c in zip(averaged, current):
        lists = groups.setdefault((a.device, a.dtype), ([], []))
        lists[0].append(a)
        lists[1].append(c)
    return groups.values()


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that update_parameters was given (Izmailov et al.,
    "Averaging Weights Leads to Wider Optima and Better Generalization", 2018).

    Args:
        avg_fn, multi_avg_fn: how the average is made; the mean by default. multi_avg_fn is called for each dtype and
            device. use_buffers: buffers are averaged too; of integers the average is rounded toward zero.
    """

    def __init__(
        self,
        model: Module,
        device: Device | None = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", strided.tensor(0, dtype=strided.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _tensors(self, model):
        return [t.detach() for t in (*model.parameters(), *(model.buffers() if self.use_buffers else ()))]

    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of a model into the average."""
        mine, given = self._tensors(self.module), self._tensors(model)
        given = [t.to(m.device) for t, m in zip(given, mine)]
        if self.n_averaged == 0:
            for m, t in zip(mine, given):
                m.copy_(t)
        elif self.multi_avg_fn is not None:
            for averaged, current in _groups(mine, given):
                self.multi_avg_fn(averaged, current, self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for m, t in zip(mine, given):
                m.copy_(average(m, t, self.n_averaged))
        if not self.use_buffers:
            for m, t in zip(self.module.buffers(), model.buffers()):
                m.detach().copy_(t.detach())
        self.n_averaged += 1


@strided.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device | None = None) -> None:
    """Running statistics of batch normalisation anew, from all batches of a loader (of the first part of a batch that
    is a tuple or list)."""
    layers = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    for m in layers:
        m.reset_running_stats()
        m.momentum = None
    if not layers:
        return
    training = model.training
    model.train()
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for m, momentum in layers.items():
        m.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """From the rate there is to swa_lr over anneal_epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(_listed(swa_lr, optimizer, "swa_lr"), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, n):
        part = max(0, min(1, n / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside()
        n = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, now = self._part(n - 1), self._part(n)
        values = []
        for group in self.optimizer.param_groups:
            start = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            values.append(group["swa_lr"] * now + start * (1 - now))
        return values
