"""Reductions of losses as words and numbers; libraries' own losses read them here (``torch.nn._reduction``)."""

from __future__ import annotations

import warnings

from .functional._reduction import legacy_get_string

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction.

    >>> get_enum("sum")
    2
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        reduction = "mean"
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that two older arguments ask for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
