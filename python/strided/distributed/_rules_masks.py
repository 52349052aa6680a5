"""Rules of functions whose results have a shape that depends on values: masks, nonzero, counts.

Operands are cut along their first axis, so that the shards are consecutive pieces in the order of elements.  Each rank
finds what its piece has, the ranks tell each other how much that is, and the pieces come to the places of the shards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from . import _move
from ._layout import Layout, Spec
from ._rules_elementwise import _broadcast, fitted
from ._sharded import ShardedTensor, bind, indices, placed, refuse, rule, sharded, without_terms, wrap
from .placement import Partial, Placement, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any
    from ._layout import Ranges

Tensor = _C.Tensor
_f = _C.functions


class Runs(Layout):
    """A tensor that is cut along its first axis at given places: for each rank one range."""

    def __init__(self, of: Spec, ranges: dict[tuple[int, ...], Ranges]) -> None:
        self.mesh, self.placements, self.shape, self._ranges = of.mesh, of.placements, of.shape, ranges

    def dual(self) -> Runs:
        return self

    def ranges(self, coordinate: tuple[int, ...]) -> list[Ranges]:
        return [self._ranges[coordinate], *([(0, n)] if n else [] for n in self.shape[1:])]


def consecutive(specs: list[Spec]) -> tuple[Placement, ...]:
    """Placements in which shards are consecutive pieces: the first axis is cut by all that cut something."""
    return tuple(
        Shard(0) if any(p.is_shard() for p in along) else Replicate() for along in zip(*(s.placements for s in specs))
    )


def _pieces(n, spec, shape=None):
    """Where n rows of each rank lie, one after the other in the order of the shards: (layout of them cut anew, Runs).

    shape: of a tensor that has them first; theirs for None."""
    mesh = spec.mesh
    axes = [a for a, d in enumerate(spec.dims) if d is not None]
    mesh.comm.purpose = "how many elements each rank has found"
    counts: dict[Any, int] = {}
    for c, found in zip(mesh.coordinates, mesh.comm.all_gather_object(n)):
        counts[tuple(c[a] for a in axes)] = found
    starts, total = {}, 0
    for key in sorted(counts):
        starts[key] = total
        total += counts[key]
    made = spec.with_([Shard(0) if a in axes else Replicate() for a in range(mesh.ndim)], shape or (total,))
    runs = {}
    for c in mesh.coordinates:
        key = tuple(c[a] for a in axes)
        runs[c] = [(starts[key], starts[key] + counts[key])] if counts[key] else []
    return total, made, runs


def settled(local: Tensor, spec: Spec) -> ShardedTensor:
    """The rows that the ranks found in the pieces of a tensor in consecutive placements, one after the other."""
    total, made, runs = _pieces(local.shape[0], spec)
    made = made.with_(shape=(total, *local.shape[1:]))
    return wrap(_move.moved(local, Runs(made, runs), made) if not made.is_whole else local, made)


def scattered(
    x: ShardedTensor, mask: ShardedTensor, rows: ShardedTensor, name: str, exactly: bool = False
) -> ShardedTensor:
    """x in consecutive placements, with the rows that a mask of its first axes chooses taken from `rows` in order."""
    x, rows = without_terms(x), without_terms(rows)
    placements = consecutive([x._spec, mask._spec])
    x, mask = placed(x, placements), placed(mask, placements)
    total, made, runs = _pieces(int(mask._local.sum()), x._spec, tuple(rows.shape))
    if rows.shape[0] < total or exactly and rows.shape[0] != total:
        raise RuntimeError(f"{name}: {rows.shape[0]} values for {total} elements that the mask chooses")
    local = x._local.clone()
    local[mask._local] = _move.moved(rows._local, rows._spec, Runs(made, runs)).to(x.dtype)
    return wrap(local, x._spec)


@rule("masked_scatter masked_scatter_")
def _masked_scatter(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, mask, source = values.values()
    if not isinstance(x, ShardedTensor):
        raise refuse(func, args, "a plain tensor takes no sharded values")
    if func.__name__.endswith("_") and x._spec.is_partial:
        raise refuse(func, args, "a sum of terms cannot be written into")
    mask, source = without_terms(sharded(mask, x, func)), without_terms(sharded(source, x, func))
    if mask.dtype is not _C.bool or source.dtype is not x.dtype:
        return func(*(_f["zeros"]((), dtype=t.dtype) for t in (x, mask, source)))  # raises
    shape = _broadcast([x.shape, mask.shape])
    if shape != x.shape and func.__name__.endswith("_"):
        raise RuntimeError(
            f"{func.__name__}: a mask of shape {tuple(mask.shape)} for a tensor of shape {tuple(x.shape)}"
        )
    if not len(shape):
        shape = (1,)
    wide = without_terms(x).reshape(shape) if not x.ndim else without_terms(x).expand(shape)
    made = scattered(wide, mask.expand(shape), source.reshape(-1), func.__name__)
    made = made.reshape(()) if not x.ndim and not mask.ndim else made
    made = placed(made, without_terms(x)._spec.placements) if made.ndim == x.ndim else made
    if not func.__name__.endswith("_"):
        return made
    x._local.copy_(made._local)
    return x


@rule("nonzero argwhere")
def _nonzero(func, args, kwargs):
    values = bind(func, args, kwargs)
    x = without_terms(values["input"])
    if x.ndim == 0:
        if values.get("as_tuple"):
            return func(x.reshape(1), as_tuple=True)
        found = func(x._local)
        return wrap(found, x._spec.with_(shape=found.shape))
    x = placed(x, consecutive([x._spec]))
    found = _f["nonzero"](x._local.detach())
    if x._spec.cuts(0) and found.numel():
        found[:, 0] += indices(x._spec, 0)[0]
    made = settled(found, x._spec)
    if not values.get("as_tuple"):
        return made
    spec = made._spec.with_(shape=made.shape[:1])
    return tuple(wrap(column, spec) for column in made._local.unbind(1))


@rule("masked_select")
def _masked_select(func, args, kwargs):
    values = bind(func, args, kwargs)
    like = next(v for v in values.values() if isinstance(v, ShardedTensor))
    x, mask = (without_terms(sharded(values[k], like, func)) for k in ("input", "mask"))
    if mask.dtype is not _C.bool:
        return func(x._local, mask._local)  # raises
    shape = _broadcast([x.shape, mask.shape])
    placements = consecutive([x._spec, mask._spec]) if len(shape) else (Replicate(),) * like._spec.mesh.ndim
    spec = Spec(like._spec.mesh, placements, shape)
    return settled(func(fitted(x, spec), fitted(mask, spec)), spec)


def chosen_by(x: ShardedTensor, mask: Any) -> ShardedTensor:
    """x[mask] for a mask of the first axes of x."""
    x = without_terms(x)
    check_mask(x, mask)
    if not isinstance(mask, ShardedTensor):  # the same on every rank, as indices are
        mask = wrap(mask, Spec(x._spec.mesh, (Replicate(),) * x._spec.mesh.ndim, mask.shape))
    placements = consecutive([x._spec, mask._spec])
    x, mask = placed(x, placements), placed(mask, placements)
    return settled(x._local[mask._local], x._spec)


def check_mask(x: ShardedTensor, mask: Any) -> None:
    """IndexError for a mask that has not the sizes of the first axes of x."""
    for d in range(mask.ndim):
        if d >= x.ndim or mask.shape[d] != x.shape[d]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {d} does not match the shape of the indexed tensor "
                f"{list(x.shape)} at index {d}"
            )


def mask_of(x: ShardedTensor, key: Any) -> Any:
    """The mask of the first axes, where it is all that an index has; None elsewhere."""
    key = key if isinstance(key, tuple) else (key,)
    if not key or not isinstance(key[0], Tensor) or key[0].dtype is not _C.bool or key[0].ndim == 0:
        return None
    whole = all(k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in key[1:])
    used = key[0].ndim + sum(k is not Ellipsis for k in key[1:])
    return key[0] if whole and used <= x.ndim else None


# ---------------------------------------------------------------- counts


def _counted(x, local):
    """Counts of the shards, as the terms of a sum."""
    found = [Partial("sum") if p.is_shard() else Replicate() for p in x._spec.placements]
    return wrap(local, Spec(x._spec.mesh, tuple(found), local.shape))


@rule("bincount")
def _bincount(func, args, kwargs):
    values = bind(func, args, kwargs)
    like = next(v for v in values.values() if isinstance(v, ShardedTensor))
    x, weights = without_terms(sharded(values["input"], like, func)), values["weights"]
    if weights is not None:
        weights = sharded(weights, like, func)
        if weights.shape != x.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        weights = placed(weights, x._spec.placements)._local
    if x.ndim != 1 or x.dtype.is_floating_point or x.dtype.is_complex or values["minlength"] < 0:
        return func(_f["zeros"](x.shape, dtype=x.dtype), None, values["minlength"])  # raises
    local = x._local
    ends = [int(local.min()), int(local.max())] if local.numel() else None
    everyone = [e for e in x._spec.mesh.comm.all_gather_object(ends) if e is not None]
    if any(low < 0 for low, _ in everyone):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    length = max([values["minlength"], *(high + 1 for _, high in everyone)])
    return _counted(x, func(local, weights, length))


@rule("histc")
def _histc(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, low, high = without_terms(values["input"]), values["min"], values["max"]
    if low == high and x.numel():
        low, high = x.amin().item(), x.amax().item()
        if low == high:
            low, high = low - 1, high + 1
        func(_C.tensor_from_object([low, high], x.dtype), values["bins"])  # raises where one is not finite
    return _counted(x, func(x._local, values["bins"], low, high))


@rule("nonzero_static")
def _dynamic(func, args, kwargs):
    raise refuse(func, args, "the shape of its result depends on the values")
