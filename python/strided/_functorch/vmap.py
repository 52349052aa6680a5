"""Parts of ``vmap`` that libraries import from ``torch._functorch.vmap``, or exchange there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strided._C import Tensor
from strided._C._functorch import (
    _add_batch_dim,
    _remove_batch_dim,
    _vmap_decrement_nesting,
    _vmap_increment_nesting,
    is_batchedtensor,
)

from .. import func as _func
from ..func import _vmap
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = [
    "Tensor", "_add_batch_dim", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name",
    "_maybe_remove_batch_dim", "_process_batched_inputs", "_remove_batch_dim", "_unwrap_batched",
    "_vmap_decrement_nesting", "_vmap_increment_nesting", "is_batchedtensor", "tree_flatten", "tree_unflatten", "vmap",
]  # fmt: skip

vmap = _func.vmap

# The steps of vmap: it calls those that stand here, which libraries (tensordict) exchange for their own.
_process_batched_inputs = _vmap._process_batched_inputs
_create_batched_inputs = _vmap._create_batched_inputs
_unwrap_batched = _vmap._unwrap_batched


def _get_name(func: Callable[..., Any]) -> str:
    """The name of a function, or its text where it has none."""
    return getattr(func, "__name__", None) or repr(func)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """A result as the caller of ``vmap`` sees it; with `out_dim` None, one that does not vary, as it is.

    Raises:
        ValueError: a batched result without a place for its axis, or a place for what is no tensor.
    """
    if out_dim is None:
        if is_batchedtensor(batched_output):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. "
            "Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)
