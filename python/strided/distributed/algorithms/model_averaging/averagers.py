"""When parameters are averaged over ranks."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from ... import _groups
from . import utils

if TYPE_CHECKING:
    from ...._typing import Any

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Base of averagers.

    Args:
        process_group: the default group if None.
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = _groups.resolve(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Called after each step of the optimizer, with parameters or groups of them."""


class PeriodicModelAverager(ModelAverager):
    """Averages after every `period` steps, from the step `warmup_steps` on.

    Args:
        period: 1: after every step. warmup_steps: until then nothing is averaged here, for gradients are.
        process_group: the default group if None.

    >>> def program():
    ...     from strided.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    ...     strided.distributed.init_process_group()
    ...     p = strided.nn.Parameter(strided.tensor([strided.distributed.get_rank() * 1.]))
    ...     p.grad = strided.zeros(1)
    ...     averager = PeriodicModelAverager(period=2)
    ...     found = []
    ...     for _ in range(3):
    ...         averager.average_parameters([p])
    ...         found.append(p.item())
    ...     return found
    >>> strided.distributed.simulate(2, program)[1]
    [0.5, 0.5, 0.5]
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if not isinstance(period, int) or not isinstance(warmup_steps, int):
            raise TypeError(
                f"PeriodicModelAverager: period and warmup_steps are ints, got {period!r}, {warmup_steps!r}"
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn("PeriodicModelAverager: with period 1, averaging gradients costs the same", stacklevel=2)
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Any) -> None:
        """Averages those with gradients, where it is due."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
