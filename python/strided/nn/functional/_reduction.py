"""What becomes of the losses of the elements: their mean, their sum, or nothing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Tensor


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that two flags of old mean."""
    average = True if size_average is None else size_average
    reduction = "none" if reduce is False else "mean" if average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction


def asked(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that arguments ask for."""
    if size_average is not None or reduce is not None:
        return legacy_get_string(size_average, reduce)
    return reduction


def chosen(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The same; ValueError if there is none of this name."""
    reduction = asked(size_average, reduce, reduction)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def scalar_type(x: Tensor) -> str:
    """The name of a dtype in PyTorch's errors: Float, Int."""
    return x.type().split(".")[-1].removesuffix("Tensor")


def reduced(x: Tensor, reduction: str) -> Tensor:
    """x, its mean or its sum.  ValueError for any other word."""
    if reduction == "mean":
        return x.mean()
    if reduction == "sum":
        return x.sum()
    if reduction != "none":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return x
