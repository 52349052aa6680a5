"""Reductions of losses as words and numbers; libraries' own losses read them here (``torch.nn._reduction``)."""

from __future__ import annotations

import warnings

from .functional._reduction import legacy_get_string

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]

_NAMES = ("none", "mean", "sum")  # by their numbers


def get_enum(reduction: str) -> int:
    """The number of a reduction.

    >>> get_enum("sum")
    2
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        reduction = "mean"
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NAMES.index(reduction)


def name_of(number: int) -> str:
    """The word of a reduction's number, which functions of ``ops.aten`` take. ValueError for any other number."""
    if number not in range(len(_NAMES)):
        raise ValueError(f"{number} is not a valid value for reduction")
    return _NAMES[number]


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that two older arguments ask for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
