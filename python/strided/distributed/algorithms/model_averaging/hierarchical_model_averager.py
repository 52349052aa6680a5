"""Averages over small groups of ranks often, over large ones seldom."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from ... import _groups
from . import averagers, utils

if TYPE_CHECKING:
    from ...._typing import Any

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(averagers.ModelAverager):
    """Averages over groups of several sizes, each after its own number of steps; the largest that is due.

    Args:
        period_group_size_dict: size of the group by number of steps, both growing; the last group has all ranks.
        warmup_steps: until then nothing is averaged here.
        process_group: the default group if None; its ranks make the groups, in rows.

    Raises:
        ValueError: sizes do not divide one another, or do not grow.
    """

    def __init__(
        self, period_group_size_dict: dict[int, int], warmup_steps: int = 0, process_group: Any = None
    ) -> None:
        super().__init__(process_group)
        if not isinstance(period_group_size_dict, dict):
            raise TypeError(
                f"HierarchicalModelAverager: a dict is required, got {type(period_group_size_dict).__name__}"
            )
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if any(b <= a for a, b in zip(periods, periods[1:])) or any(b <= a for a, b in zip(sizes, sizes[1:])):
            raise ValueError("period_group_size_dict: periods and sizes of groups must grow")
        whole = self.process_group.size()
        if sizes[-1] != whole:
            raise ValueError(f"The last value in arg ``period_process_group_dict`` must be equal to {whole}, all ranks")
        if any(whole % size for size in sizes):
            raise ValueError(f"period_group_size_dict: groups of {sizes} do not go evenly into {whole} ranks")
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        self.period_process_group_dict: OrderedDict[int, Any] = OrderedDict()
        for period, size in zip(periods, sizes):
            self.period_process_group_dict[period] = (
                self.process_group
                if size == whole
                else _groups.split_group(self.process_group, [list(range(k, k + size)) for k in range(0, whole, size)])
            )
        self._periods = periods[::-1]

    def _find_process_group(self) -> Any:
        for period in self._periods:
            if self.step % period == 0:
                return self.period_process_group_dict[period]
        return None

    def average_parameters(self, params: Any) -> None:
        """Averages those with gradients over the largest group that is due."""
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                utils.average_parameters_or_parameter_groups(params, group)
        self.step += 1
