"""Batches in parts, and results put together (``strided.distributed.pipelining.microbatch``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten

if TYPE_CHECKING:
    from ..._typing import Any, Sequence

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]

_f = _C.functions


class TensorChunkSpec:
    """A tensor is cut along an axis.

    Args:
        split_dim: the axis.

    >>> from strided.distributed.pipelining.microbatch import TensorChunkSpec
    >>> TensorChunkSpec.from_tuple((0, 1))
    (TensorChunkSpec(0), TensorChunkSpec(1))
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    __str__ = __repr__

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """One for each axis of a tuple."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """One for each axis of a dict."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """A value that every part gets whole."""


def _cut(what: str, value: Any, spec: Any, n: int) -> list[Any]:
    """A value in n parts."""
    if spec is None:
        spec = TensorChunkSpec(0) if isinstance(value, _C.Tensor) else _Replicate()
    if isinstance(spec, _Replicate) or spec is _Replicate:
        return [value] * n
    if not isinstance(spec, TensorChunkSpec):
        raise TypeError(f"{what}: a TensorChunkSpec is required, got {type(spec).__name__}")
    if not isinstance(value, _C.Tensor):
        raise TypeError(f"{what}: {spec!r} of a {type(value).__name__}, which is no tensor")
    if not -value.ndim <= spec.split_dim < value.ndim:
        raise ValueError(f"{what}: {spec!r} of a tensor of shape {tuple(value.shape)}")
    size = value.size(spec.split_dim)
    if size < n:
        raise ValueError(f"{what}: {size} elements along axis {spec.split_dim} do not make {n} parts of a batch")
    return list(_f["tensor_split"](value, n, spec.split_dim))


def _all_cut(what: str, values: Any, specs: Any, n: int) -> list[Any]:
    """A tuple or dict of values in n parts. specs: None, or one for each value (for all tensors in it)."""
    keys = list(values) if isinstance(values, dict) else list(range(len(values)))
    if specs is not None:
        there = list(specs) if isinstance(specs, dict) else list(range(len(specs)))
        if there != keys and set(there) != set(keys):
            raise ValueError(f"{what}: there are values {keys}, but chunk specs {there}")
    made: list[dict[Any, Any]] = [{} for _ in range(n)]
    for key in keys:
        leaves, form = tree_flatten(values[key])
        spec = None if specs is None else specs[key]
        own = [spec] * len(leaves)
        if spec is not None and not isinstance(spec, (TensorChunkSpec, _Replicate)) and spec is not _Replicate:
            own = tree_flatten(spec)[0]
            if len(own) != len(leaves):
                raise ValueError(f"{what}[{key!r}]: {len(leaves)} values, {len(own)} chunk specs")
        parts = [_cut(f"{what}[{key!r}]", leaf, s, n) for leaf, s in zip(leaves, own)]
        for k in range(n):
            made[k][key] = tree_unflatten([part[k] for part in parts], form)
    return made if isinstance(values, dict) else [tuple(part.values()) for part in made]


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: Any = None,
    kwargs_chunk_spec: Any = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Arguments of a call in parts: (args of each, kwargs of each).

    Tensors are cut along their first axis, or as their spec says; every part gets other values whole.

    Raises:
        ValueError: a tensor has fewer elements along its axis than there are parts; specs do not fit.

    >>> from strided.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
    >>> split_args_kwargs_into_chunks((strided.arange(3), "x"), {}, 2)
    ([(tensor([0, 1]), 'x'), (tensor([2]), 'x')], [{}, {}])
    """
    if isinstance(chunks, bool) or not isinstance(chunks, int) or chunks < 1:
        raise ValueError(f"split_args_kwargs_into_chunks: at least one part is required, got {chunks!r}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"split_args_kwargs_into_chunks: args is a tuple, got {type(args).__name__}")
    return (
        _all_cut("args", tuple(args), args_chunk_spec, chunks),
        _all_cut("kwargs", dict(kwargs or {}), kwargs_chunk_spec, chunks),
    )


def merge_chunks(chunks: Sequence[Any], chunk_spec: Any = None) -> Any:
    """Results of the parts of a batch put together: tensors along their first axis, or as the spec says.

    Of other values it is that of the first part.

    Raises:
        ValueError: nothing to put together; a tensor without axes.
    """
    if not isinstance(chunks, (list, tuple)):
        raise TypeError(f"merge_chunks: a list of parts is required, got {type(chunks).__name__}")
    if not chunks:
        raise ValueError("merge_chunks: there are no parts")
    forms = [tree_flatten(chunk) for chunk in chunks]
    leaves, form = forms[0]
    specs = [None] * len(leaves)
    if chunk_spec is not None:
        specs = tree_flatten(chunk_spec)[0]
        if len(specs) != len(leaves):
            raise ValueError(f"merge_chunks: {len(leaves)} values, {len(specs)} chunk specs")
    made = []
    for k, (first, spec) in enumerate(zip(leaves, specs)):
        parts = [leaves_of[k] for leaves_of, _ in forms]
        if not isinstance(first, _C.Tensor) or isinstance(spec, _Replicate) or spec is _Replicate:
            made.append(first)
            continue
        if first.ndim == 0:
            raise ValueError("merge_chunks: results without axes are not put together; give output_merge_spec")
        made.append(_f["cat"](parts, 0 if spec is None else spec.split_dim))
    return tree_unflatten(made, form)
