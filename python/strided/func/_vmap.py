"""``vmap``: a function of one sample becomes a function of a batch."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from .. import _C
from .._functions.random import States
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ._batched import BatchedTensor, Level, Tensor, batched, entered, numbered

if TYPE_CHECKING:
    from .._typing import Any, Callable

_f = _C.functions


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that does for all samples of a batch at once what func does for one.

    func sees its arguments without their batch axes.  It must be made of functions of tensors: data-dependent control
    flow and ``item()`` raise RuntimeError, and so does a function that has no batching rule.  vmaps nest, and contain
    and are contained in ``grad`` and the other transforms.

    Args:
        func: takes and returns tensors, or nests of tuples, lists and dicts with tensors.
        in_dims: the axis of the batch in each argument, None for an argument that is one for all samples; an int, or a
            nest of the structure of the arguments.
        out_dims: where the batch axis shall be in each result.
        randomness: "error": random functions raise RuntimeError; "different": every sample draws its own numbers;
            "same": all get the same.
        chunk_size: at most so many samples at once, to save memory; None: all.

    Raises:
        ValueError: in_dims or out_dims do not fit, or the sizes of batch axes differ.

    >>> strided.vmap(strided.dot)(strided.ones(3, 2), strided.arange(6.).view(3, 2))
    tensor([1., 5., 9.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def of_batch(*args, **kwargs):
        size, dims, leaves, spec = _steps()._process_batched_inputs(in_dims, args, func)
        if chunk_size is not None and size > chunk_size:
            return _in_chunks(func, leaves, dims, spec, size, out_dims, randomness, chunk_size, kwargs)
        return _run(func, leaves, dims, spec, size, out_dims, randomness, kwargs)

    return of_batch


_STEPS = __name__.replace("func._vmap", "_functorch.vmap")


def _steps() -> Any:
    """Where the steps of vmap stand: here, or in the module in which libraries (tensordict) exchange them."""
    return sys.modules.get(_STEPS) or sys.modules[__name__]


def _name(func):
    return getattr(func, "__name__", repr(func))


def _process_batched_inputs(in_dims: Any, args: Any, func: Any) -> Any:
    """(size of the batch, axis of the batch in each leaf of the arguments, leaves, structure)"""
    call = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over "
            "a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        structure = tree_flatten(in_dims)[1]
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure {structure} but "
            f"inputs has structure {spec}."
        )
    sizes = []
    for i, (x, dim) in enumerate(zip(leaves, dims)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{call}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        if not -x.ndim <= dim < x.ndim:
            raise ValueError(
                f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {x.ndim} so "
                f"expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
            )
        dims[i] = dim % x.ndim
        sizes.append(x.shape[dim])
    if not sizes:
        raise ValueError(f"{call}: Expected at least one Tensor to vmap over: in_dims is None for every input")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0], dims, leaves, spec


def enter(x: Any, dim: int | None, level: Level) -> Any:
    """A tensor whose axis `dim` is that of the level, as the function sees it."""
    if dim is None:
        return x
    if type(x) is BatchedTensor:
        k = len(x._levels)
        return batched(x._value.movedim(k + dim, k), (*x._levels, level))
    return batched(x.movedim(dim, 0) if dim else x, (level,))


def leave(y: Tensor, dim: int, level: Level) -> Tensor:
    """The inverse: the level's axis is an ordinary one, at `dim`; a tensor that does not vary is repeated."""
    if type(y) is not BatchedTensor or level not in y._levels:
        y = y.unsqueeze(0).expand(level.size, *y.shape)
        return y.movedim(0, dim) if dim else y
    # The level is the innermost that runs: its axis is the last of the batch, so it becomes the function's first.
    y = batched(y._value, y._levels[:-1])
    return y.movedim(0, dim) if dim else y


def _create_batched_inputs(dims: Any, leaves: Any, number: int, spec: Any) -> Any:
    """The arguments as the function sees them, in the level of that number."""
    level = numbered(number)
    return tree_unflatten([enter(x, dim, level) for x, dim in zip(leaves, dims)], spec)


def _unwrap_batched(made: Any, out_dims: Any, number: int, size: int, func: Any) -> Any:
    """What the function gave, with the axis of the batch."""
    level = numbered(number)
    outputs, structure = tree_flatten(made)
    found = _out_dims(func, outputs, structure, out_dims, level)
    return tree_unflatten([y if d is None else leave(y, d, level) for y, d in zip(outputs, found)], structure)


def _run(func, leaves, dims, spec, size, out_dims, randomness, kwargs):
    steps = _steps()
    with entered(Level(size, randomness)) as level:
        inside = steps._create_batched_inputs(dims, leaves, level.number, spec)
        return steps._unwrap_batched(func(*inside, **kwargs), out_dims, level.number, size, func)


def _out_dims(func, outputs, structure, out_dims, level):
    """Where the batch axis of each result is to be; ValueError where that does not fit."""
    name = _name(func)
    if not all(dim is None or isinstance(dim, int) for dim in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    given = out_dims
    if isinstance(given, tuple) and len(given) == 1 and structure.is_leaf():
        (given,) = given
    found = _broadcast_to_and_flatten(given, structure)
    if found is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {structure}."
        )
    for y, dim in zip(outputs, found):
        if dim is None:
            if type(y) is BatchedTensor and level in y._levels:
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        elif not isinstance(y, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(y)}. Did you mean to set out_dims= "
                "to None for output?"
            )
        elif not -y.ndim - 1 <= dim <= y.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-y.ndim - 1}, {y.ndim}], but got {dim})"
            )
    return [None if d is None else d % (y.ndim + 1) for d, y in zip(found, outputs)]


def _in_chunks(func, leaves, dims, spec, size, out_dims, randomness, chunk_size, kwargs):
    parts, structure = [], None
    random = States() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        n = min(chunk_size, size - start)
        rows = [x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, dims)]
        if random is not None:
            random.put_back()
        outputs, structure = tree_flatten(_run(func, rows, dims, spec, n, out_dims, randomness, kwargs))
        parts.append(outputs)
    found = _broadcast_to_and_flatten(out_dims[0] if isinstance(out_dims, tuple) and len(out_dims) == 1 and
                                      structure.is_leaf() else out_dims, structure)  # fmt: skip
    joined = [column[0] if d is None else _f["cat"](list(column), d) for column, d in zip(zip(*parts), found)]
    return tree_unflatten(joined, structure)
