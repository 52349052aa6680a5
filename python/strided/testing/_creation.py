"""``make_tensor``: random arguments for tests."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from .. import _C
from .._objects.typeinfo import finfo, iinfo

if TYPE_CHECKING:
    from .._typing import Device, Tensor

__all__ = ["make_tensor"]

_f = _C.functions


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[Any, Any]:
    """[low, high) inside of what the dtype holds."""
    if dtype == _C.bool:
        default, least, most = (0, 2), 0, 2
    elif dtype.is_floating_point or dtype.is_complex:
        info = finfo(dtype)
        default, least, most = (-9, 9), info.min, info.max
    else:
        limits = iinfo(dtype)
        default, least, most = (-9 if limits.min else 0, 10), limits.min, limits.max + 1
    low, high = (default[0] if low is None else low), (default[1] if high is None else high)
    if any(isinstance(b, float) and math.isnan(b) for b in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    continuous = dtype.is_floating_point or dtype.is_complex
    if continuous and low == high:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and "
            "will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {most})"
        )
    low, high = max(low, least), min(high, most)
    return (low, high) if continuous else (math.ceil(low), math.ceil(high))


def _draw(shape: Any, dtype: Any, device: Any, low: Any, high: Any) -> Any:
    if dtype == _C.bool:
        return _f["randint"](low, high, shape, device=device, dtype=_C.uint8).to(dtype)
    if dtype.is_complex:
        parts = _draw((*shape, 2), dtype.to_real(), device, low, high)
        return _f["complex"](parts[..., 0], parts[..., 1])
    if dtype.is_floating_point:
        if "float8" in str(dtype):
            return _draw(shape, _C.float32, device, low, high).to(dtype)
        return _f["empty"](shape, dtype=dtype, device=device).uniform_(low, high)
    if high - 1 > 2**63 - 1:  # uint64
        return _f["randint"](0, 2**63 - 1, shape, device=device, dtype=dtype)
    return _f["randint"](low, high, shape, device=device, dtype=dtype)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of numbers drawn evenly from [low, high), by the default generator.

    Args:
        shape: sizes, or one sequence of them.
        dtype: any.
        device: any.
        low: -9 for floating-point, complex and signed dtypes and 0 for others if None; raised to what the dtype holds.
        high: 9 for floating-point and complex dtypes, 10 for integers and 2 for bool if None; lowered to what it holds.
        requires_grad: for floating-point and complex dtypes.
        noncontiguous: whether there are gaps between the elements, where there is more than one.
        exclude_zero: whether the smallest positive number, or 1, stands where 0 was drawn.
        memory_format: the order of dimensions in memory; not together with noncontiguous.

    Raises:
        ValueError: arguments that exclude each other, and bounds that leave nothing.
        TypeError: a dtype that is none.

    >>> _ = torch.manual_seed(0)
    >>> t = torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=1, high=2, noncontiguous=True)
    >>> t.shape, t.is_contiguous(), bool(((t >= 1) & (t < 2)).all())
    (torch.Size([2, 3]), False, True)
    """
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()")
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    made = _draw(sizes, dtype, device, *_bounds(dtype, low, high))
    if noncontiguous and made.numel() > 1:
        made = _f["repeat_interleave"](made, 2, -1)[..., ::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        continuous = dtype.is_floating_point or dtype.is_complex
        made[made == 0] = finfo(dtype).tiny if continuous else 1
    if requires_grad:
        made.requires_grad = True
    return made
