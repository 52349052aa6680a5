"""What libraries ask PyTorch's compiled module about ``vmap`` (``torch._C._functorch``): hidden axes.

Derivatives of ``strided.func`` leave tensors as they are: there is nothing around a tensor but levels of ``vmap``.
"""

from __future__ import annotations

import threading
from typing import Any

from strided.func._batched import BatchedTensor, Level, batched, entered, numbered, running
from strided.func._vmap import enter, leave

__all__ = [
    "_add_batch_dim", "_remove_batch_dim", "_vmap_decrement_nesting", "_vmap_increment_nesting", "current_level",
    "get_unwrapped", "is_batchedtensor", "is_functionaltensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor",
    "is_legacy_batchedtensor", "maybe_current_level", "maybe_get_bdim", "maybe_get_level",
]  # fmt: skip


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor has an axis that a function under ``vmap`` does not see."""
    return type(tensor) is BatchedTensor


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Any) -> bool:
    """False: derivatives leave tensors as they are."""
    return False


def is_functionaltensor(tensor: Any) -> bool:
    """False: ``functionalize`` leaves tensors as they are."""
    return False


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: there is one kind of batched tensors."""
    return False


def get_unwrapped(tensor: Any) -> Any:
    """The tensor with the axis of its innermost ``vmap`` in front; RuntimeError where there is none."""
    if not is_batchedtensor(tensor):
        raise RuntimeError("get_unwrapped: the tensor has no axis of a vmap")
    return batched(tensor._value, tensor._levels[:-1])


def maybe_get_bdim(tensor: Any) -> int:
    """Where get_unwrapped() has the axis of the innermost ``vmap``: 0, and -1 if there is none."""
    return 0 if is_batchedtensor(tensor) else -1


def maybe_get_level(tensor: Any) -> int:
    """The number of the innermost ``vmap`` that the tensor varies with, -1 if there is none."""
    return tensor._levels[-1].number if is_batchedtensor(tensor) else -1


def maybe_current_level() -> int | None:
    """The number of the innermost ``vmap`` that runs, or None."""
    levels = running()
    return levels[-1].number if levels else None


def current_level() -> int:
    """The number of the innermost ``vmap`` that runs; RuntimeError if none does."""
    level = maybe_current_level()
    if level is None:
        raise RuntimeError("current_level: no vmap runs")
    return level


class _Entered(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []


_entered = _Entered()


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Begins a ``vmap``, and gives its number; ``_vmap_decrement_nesting`` ends it."""
    context = entered(Level(batch_size, randomness))
    number = context.__enter__().number
    _entered.stack.append(context)
    return number


def _vmap_decrement_nesting() -> int:
    """Ends the ``vmap`` that began last, and gives its number."""
    if not _entered.stack:
        raise RuntimeError("_vmap_decrement_nesting: no vmap began with _vmap_increment_nesting")
    number = current_level()
    _entered.stack.pop().__exit__()
    return number


def _add_batch_dim(tensor: Any, batch_dim: int, level: int) -> Any:
    """The tensor as a function under the ``vmap`` of a number sees it: without an axis."""
    return enter(tensor, batch_dim, numbered(level))


def _remove_batch_dim(tensor: Any, level: int, batch_size: int, out_dim: int) -> Any:
    """The inverse: the axis of the ``vmap`` stands at `out_dim`; a tensor that does not vary is repeated."""
    found = numbered(level)
    if found.size != batch_size:
        raise RuntimeError(
            f"_remove_batch_dim: the vmap of level {level} has batches of {found.size}, not {batch_size}"
        )
    return leave(tensor, out_dim, found)
