"""Conditions that programs state: ``torch._assert``, ``torch._check`` and their kind.

>>> strided._check_value(False, lambda: "n must be positive")
Traceback (most recent call last):
ValueError: n must be positive
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C

__all__ = [
    "_assert", "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_type",
    "_check_tensor_all", "_check_tensor_all_with", "_check_value", "_check_with",
]  # fmt: skip


def every_sample(t: Any) -> Any:
    """The tensor itself; under ``vmap`` the plain one with the values of all samples, for checks of values."""
    if type(t) is _C.Tensor:
        return t
    from ..func._batched import BatchedTensor

    return t._value if type(t) is BatchedTensor else t


def _assert(condition: Any, message: str) -> Any:
    """AssertionError with the message unless the condition, or the one element of a tensor, is true.

    A condition of another class with ``__torch_function__`` decides itself: a proxy of ``fx`` records a step.
    """
    if type(condition) is not bool and not isinstance(condition, _C.Tensor):
        if _C._has_torch_function((condition,)):
            from ..overrides import handle_torch_function

            return handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Any, assert_msg: str | None = None) -> None:  # noqa: A002
    """RuntimeError unless the one element is true. It waits for the device."""
    if input.numel() != 1:
        what = "no values" if not input.numel() else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    if not input:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raises error_type with what `message` returns unless the condition is True."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """RuntimeError unless the condition is True."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """IndexError unless the condition is True."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """ValueError unless the condition is True."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """TypeError unless the condition is True."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """NotImplementedError unless the condition is True."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raises error_type unless every element of the bool tensor cond is true; TypeError if it is none."""
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """RuntimeError unless every element of the bool tensor cond is true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_is_size(i: Any, message: Callable[[], Any] | None = None, *, max: Any = None) -> None:  # noqa: A002
    """RuntimeError unless i is 0 or more, and at most `max`."""
    _check_with(RuntimeError, bool(i >= 0 and (max is None or i <= max)), message)
