"""Rules of pads, repeats, windows, products of sets, and of tensors of which a part is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ._layout import Spec
from ._rules_index import everywhere, selected
from ._rules_order import aside
from ._rules_reduce import axes_of
from ._sharded import (
    ShardedTensor,
    bind,
    by_calls,
    first_sharded,
    implicit_replication,
    missing,
    refuse,
    rule,
    sharded,
    without_terms,
    wrap,
)
from .placement import Replicate

if TYPE_CHECKING:
    from .._typing import Any

_f = _C.functions


def _same_everywhere(t: Any, like: ShardedTensor) -> ShardedTensor:
    return wrap(t, Spec(like._spec.mesh, (Replicate(),) * like._spec.mesh.ndim, t.shape))


@rule("view_as_real view_as_real_copy")
def _view_as_real(func, args, kwargs):
    x = without_terms(args[0])
    return wrap(func(x._local), x._spec.with_(shape=(*x.shape, 2)))


@rule("view_as_complex view_as_complex_copy")
def _view_as_complex(func, args, kwargs):
    x = without_terms(args[0])
    if x.ndim < 1 or x.shape[-1] != 2:
        return func(_f["empty"](x.shape, dtype=x.dtype, device="meta"))  # raises
    x = aside(x, (x.ndim - 1,))
    if x is None:
        raise refuse(func, args, "one number whose parts are on two ranks")
    return wrap(func(x._local.contiguous()), x._spec.with_(shape=x.shape[:-1]))


@rule("prelu")
def _prelu(func, args, kwargs):
    values = bind(func, args, kwargs)
    like = first_sharded(values.values())
    x, weight = (sharded(values[k], like, func) for k in values)
    n = 1 if x.ndim < 2 else x.shape[1]
    if weight.ndim > 1 or weight.numel() not in (1, n):
        raise RuntimeError(f"prelu: {weight.numel()} weights for {n} channels")
    if x.ndim > 1 and weight.ndim == 1:
        weight = weight.reshape([-1 if d == 1 else 1 for d in range(x.ndim)])
    return _f["where"](x > 0, x, x * weight)


@rule("pad")
def _pad(func, args, kwargs):
    def of(input, pad, mode="constant", value=None):
        if mode == "constant":
            return _padded(input, pad, 0 if value is None else value)
        with implicit_replication():
            return func.__wrapped__(input, pad, mode, value)

    return of(*args, **kwargs)


def _padded(input, pad, value):
    x, pad = without_terms(input), list(pad)
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise RuntimeError(f"pad: {len(pad)} sizes for a tensor of {x.ndim} axes")
    for i in range(0, len(pad), 2):
        d, (before, after) = x.ndim - 1 - i // 2, pad[i : i + 2]
        if x.shape[d] + before + after < 0:
            raise RuntimeError(f"pad: the sizes {before}, {after} leave nothing of {x.shape[d]} elements")
        start, stop = max(-before, 0), x.shape[d] - max(-after, 0)
        if (start, stop) != (0, x.shape[d]):
            x = x.narrow(d, min(start, x.shape[d]), max(stop - start, 0))
        parts = []
        for n in (max(before, 0), max(after, 0)):
            shape = [n if k == d else m for k, m in enumerate(x.shape)]
            parts.append([_same_everywhere(_f["full"]((), value, dtype=x.dtype).expand(shape), x)] if n else [])
        if parts != [[], []]:
            x = _f["cat"]([*parts[0], x, *parts[1]], d)
    return x if x is not input else x.clone()


@rule("repeat_interleave")
def _repeat_interleave(func, args, kwargs):
    values = bind(func, args, kwargs)
    if "input" not in values or not isinstance(values["input"], ShardedTensor):
        return missing(func)(func, args, kwargs)
    x, repeats, dim = without_terms(values["input"]), values["repeats"], values.get("dim")
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    (d,) = axes_of(dim, x.ndim)
    if isinstance(repeats, _C.Tensor) and repeats.numel() != 1:
        counts = everywhere(repeats, x)
        if counts.ndim != 1 or counts.numel() != x.shape[d] or bool((counts < 0).any()):
            return func(_f["empty"](x.shape[d]), counts, 0)  # raises
        return selected(x, d, _f["repeat_interleave"](_f["arange"](x.shape[d]), counts))
    n = int(repeats)
    if n < 0:
        raise RuntimeError("Repeats must be non-negative")
    wide = x.unsqueeze(d + 1)
    return wide.expand([n if i == d + 1 else m for i, m in enumerate(wide.shape)]).flatten(d, d + 1)


@by_calls("unfold unfold_copy")
def _unfold(input, dimension, size, step):
    x = without_terms(input)
    if x.ndim == 0:
        return missing(_f["Tensor.unfold"])(_f["Tensor.unfold"], (x, dimension, size, step), {})
    (d,) = axes_of(dimension, x.ndim)
    if step <= 0 or not 0 <= size <= x.shape[d]:
        return _f["empty"](x.shape, device="meta").unfold(d, size, step)  # raises
    moved = aside(x, (d,))
    if moved is not None:
        many = (x.shape[d] - size) // step + 1
        return wrap(moved._local.unfold(d, size, step),
                    moved._spec.with_(shape=[*x.shape[:d], many, *x.shape[d + 1 :], size]))  # fmt: skip
    windows = _f["arange"](x.shape[d]).unfold(0, size, step)
    return selected(x, d, windows).movedim(d + 1, -1)


@by_calls("cartesian_prod")
def _cartesian_prod(*tensors):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if len(tensors) == 1:
        return tensors[0]
    return _f["stack"]([t.reshape(-1) for t in _f["meshgrid"](list(tensors), indexing="ij")], 1)


# ---------------------------------------------------------------- a part is replaced


def _with_part(x, key, src):
    made = without_terms(x).clone()
    wanted = [len(range(*k.indices(n))) for k, n in zip(key, made.shape) if isinstance(k, slice)]
    if list(src.shape) != wanted:
        raise RuntimeError(f"expected src to have the size of the part, {wanted}, got {list(src.shape)}")
    made[tuple(key)] = sharded(src, made, "scatter of a part")
    return made


@by_calls("select_scatter")
def _select_scatter(input, src, dim, index):
    (d,) = axes_of(dim, input.ndim)
    n = input.shape[d]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for dimension {d} of {n} elements")
    return _with_part(input, [index % n if i == d else slice(None) for i in range(input.ndim)], src)


@by_calls("slice_scatter")
def _slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    (d,) = axes_of(dim, input.ndim)
    if step < 1:
        raise RuntimeError("slice step must be positive")
    return _with_part(input, [slice(start, end, step) if i == d else slice(None) for i in range(input.ndim)], src)
