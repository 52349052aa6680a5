"""Rules of nn.functional: convolutions, pools, and other functions of each instance, or each channel, by itself.

Instances (the first axis) stay where they are; so do channels, where a function treats each by itself.  Other cuts
go to these axes first.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, NamedTuple

from .. import _C
from .._functions.creation import tensor
from ..nn.functional import _reduction
from . import _move
from ._factories import rand
from ._layout import Spec
from ._rules_elementwise import moved_to
from ._rules_index import everywhere
from ._rules_order import aside
from ._sharded import (
    ShardedTensor,
    first_sharded,
    implicit_replication,
    indices,
    placed,
    refuse,
    rule,
    sharded,
    without_terms,
    wrap,
)
from .placement import Partial, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any

_f = _C.functions


def _network(names: str) -> Any:
    """Decorator: the rule for these functions of nn.functional."""
    return rule(" ".join(f"nn.functional.{name}" for name in names.split()))


def _arguments(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    bound = inspect.signature(func.__wrapped__).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


# ---------------------------------------------------------------- convolutions


class _Way(NamedTuple):
    """What one axis of the mesh does in a convolution: the placements of its operands and of the result."""

    input: Any
    weight: Any
    out: Any


def _fills(n: int, ranks: int) -> bool:
    """Whether every rank gets a part of n elements."""
    return -(-n // ranks) * (ranks - 1) < n


def _way(p: Any, q: Any, ranks: int, weight: Any, ends: tuple[int, int], groups: int) -> _Way:
    """For an input in placement p, a weight in placement q, whose axes of results and of input channels are `ends`."""
    to, of = ends
    if not p.is_shard() and q.is_shard(to) and groups == 1 and _fills(weight.shape[to], ranks):
        return _Way(Replicate(), q, moved_to(q, 1))  # some of the results' channels
    if p.is_shard(1) and q.is_shard(of) and groups == 1 and p == moved_to(q, 1) and _fills(weight.shape[of], ranks):
        return _Way(p, q, Partial("sum"))  # some of the channels
    if p.is_shard():
        p = p if p.is_shard(0) else Shard(0)  # some of the instances
        return _Way(p, Replicate(), p)
    return _Way(Replicate(), Replicate(), Replicate())


@_network("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d")
def _conv(func, args, kwargs):
    given = _arguments(func, args, kwargs)
    like = first_sharded(list(given.values()))
    x, weight, bias = (
        t if t is None else without_terms(sharded(t, like, func))
        for t in (given.pop(k) for k in ("input", "weight", "bias"))
    )
    k = int(func.__name__[-2])
    if x.ndim == k + 1:
        return func(x.unsqueeze(0), weight, bias, **given).squeeze(0)
    if x.ndim != k + 2 or weight.ndim != k + 2:
        return func(*(_f["empty"](t.shape, device="meta") for t in (x, weight)), None, **given)  # raises
    ends = (1, 0) if "transpose" in func.__name__ else (0, 1)
    mesh = x._spec.mesh
    ways = [
        _way(p, q, n, weight, ends, given["groups"]) for p, q, n in zip(x.placements, weight.placements, mesh.shape)
    ]
    wanted_x, wanted_w, out = zip(*ways)
    locals_ = []
    for t, wanted in ((x, wanted_x), (weight, wanted_w)):
        axes = [a for a, p in enumerate(wanted) if p == Replicate() and out[a] != Replicate()]
        locals_.append(_move.spread(placed(t, wanted)._local, mesh, axes))
    made = func(*locals_, None, **given)
    channels = weight.shape[1] * given["groups"] if ends == (1, 0) else weight.shape[0]
    result = wrap(made, Spec(mesh, out, (x.shape[0], channels, *made.shape[2:])))
    return result if bias is None else result + bias.reshape(1, -1, *(1,) * k)


# ---------------------------------------------------------------- each instance, or channel, by itself


def _one_more(t: Any, dims: list[int]) -> Any:
    """The tensor with one more element, 0, along some axes."""
    for d in dims:
        shape = [1 if k == d else n for k, n in enumerate(t.shape)]
        t = _f["cat"]([t, _f["zeros"](shape, dtype=t.dtype)], d)
    return t


def _by_leading(names: str, whole: int | None, second: str | None = None, instances: bool = False) -> Any:
    """The rule of functions of a tensor of which each leading axis may be cut.

    Args:
        whole: the number of trailing axes of which every rank has all; None: all but the first, or but the first two.
        second: the name of another tensor with the same leading axes.
    """

    @_network(names)
    def by_leading(func, args, kwargs):
        given = _arguments(func, args, kwargs)
        like = first_sharded(list(given.values()))
        (key, x), *_ = given.items()
        x = sharded(x, like, func)
        lead = x.ndim - whole if whole is not None else 1 if instances else 2
        # A tensor without instances has fewer axes than the function's whole ones and one.
        x = aside(x, tuple(range(max(lead, 0), x.ndim)))
        if x is None:
            raise refuse(func, [given[key]], "it works on all axes of the tensor, which are cut")
        # A rank without instances or channels takes one of zeros, which the function can be called with.
        lacks = [d for d in range(lead) if x._local.shape[d] == 0 and x.shape[d]]
        given[key] = _one_more(x._local, lacks)
        if second is not None and given[second] is not None:
            given[second] = _one_more(placed(sharded(given[second], like, func), x.placements)._local, lacks)
        if any(isinstance(t, ShardedTensor) for t in given.values()):
            raise refuse(func, list(given.values()))
        made = func(**given)
        many = isinstance(made, (tuple, list))
        found = []
        for t in made if many else [made]:
            for d in lacks:
                t = t.narrow(d, 0, 0)
            found.append(wrap(t, Spec(x._spec.mesh, x.placements, (*x.shape[:lead], *t.shape[lead:]))))
        return type(made)(found) if many else found[0]

    return by_leading


for _k in (1, 2, 3):
    _by_leading(
        f"max_pool{_k}d max_pool{_k}d_with_indices avg_pool{_k}d lp_pool{_k}d adaptive_avg_pool{_k}d "
        f"adaptive_max_pool{_k}d adaptive_max_pool{_k}d_with_indices",
        _k,
    )
    _by_leading(f"max_unpool{_k}d", _k, "indices")
_by_leading("pixel_shuffle pixel_unshuffle", 3)
_by_leading("interpolate upsample upsample_nearest upsample_bilinear", None)
_by_leading("local_response_norm channel_shuffle native_channel_shuffle", None, instances=True)
_by_leading("grid_sample", None, "grid", instances=True)
_by_leading("affine_grid", None, instances=True)


@_network(
    "fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices"
)
def _fractional(func, args, kwargs):
    """The places of pools are drawn as the random functions of sharded tensors draw."""
    given = _arguments(func, args, kwargs)
    x, k = without_terms(given["input"]), 2 if "2d" in func.__name__ else 3
    if x.ndim != k + 2:
        raise refuse(func, [x], "there is a rule for instances with channels")
    if given["_random_samples"] is None:
        given["_random_samples"] = rand(*x.shape[:2], k, dtype=x.dtype, mesh=x._spec.mesh)
    return _pooled_at[k](func, (), given)


_pooled_at = {k: _by_leading("", k, "_random_samples") for k in (2, 3)}


@_network("unfold fold")
def _windows(func, args, kwargs):
    given = _arguments(func, args, kwargs)
    x = without_terms(given.pop("input"))
    single = x.ndim == (3 if func.__name__ == "unfold" else 2)
    x = x.unsqueeze(0) if single else x
    moved = aside(x, tuple(range(1, x.ndim)))
    if moved is None:
        raise refuse(func, [x])
    made = func(moved._local, **given)
    result = wrap(made, moved._spec.with_(shape=(x.shape[0], *made.shape[1:])))
    return result.squeeze(0) if single else result


# ---------------------------------------------------------------- indices, losses


@_network("one_hot")
def _one_hot(func, args, kwargs):
    given = _arguments(func, args, kwargs)
    x, n = without_terms(given["tensor"]), given["num_classes"]
    ends = _f["stack"]([x.amin(), x.amax()]).full_tensor() if x.numel() else _f["empty"](0, dtype=x.dtype)
    n = func(ends, n).shape[-1]  # raises
    return wrap(func(x._local, n), x._spec.with_(shape=(*x.shape, n)))


@_network("embedding")
def _embedding(func, args, kwargs):
    given = _arguments(func, args, kwargs)
    for name in ("max_norm", "scale_grad_by_freq", "sparse"):
        if given[name]:
            raise refuse(func, [given["input"], given["weight"]], f"there is no rule with {name}=")
    at, weight, padding = given["input"], given["weight"], given["padding_idx"]
    like = first_sharded([at, weight])
    weight = without_terms(sharded(weight, like, func))
    with implicit_replication():  # plain indices are the same on every rank, as in index_select
        at = without_terms(sharded(at, like, func))
    if weight.ndim != 2 or padding is not None and not -len(weight) <= padding < len(weight):
        return func(_f["empty"](0, dtype=_C.int64), _f["empty"](weight.shape), padding)  # raises
    made = weight.index_select(0, at.reshape(-1)).reshape(*at.shape, weight.shape[1])
    if padding is None:
        return made
    return _f["where"]((at == padding % len(weight)).unsqueeze(-1), made.detach(), made)


@_network("multilabel_margin_loss")
def _multilabel_margin_loss(func, args, kwargs):
    given = _arguments(func, args, kwargs)
    x, target = given["input"], given["target"]
    like = first_sharded([x, target])
    x, target = (without_terms(sharded(t, like, func)) for t in (x, target))
    if x.ndim == 1:
        x, target = x.unsqueeze(0), target.unsqueeze(0)
        single = True
    else:
        single = False
    moved = aside(x, (1,))
    if moved is None or x.shape != target.shape:
        raise refuse(func, [x, target])
    each = func(moved._local, placed(target, moved.placements)._local, reduction="none")
    loss = wrap(each, Spec(moved._spec.mesh, moved.placements, x.shape[:1]))
    how = _reduction.chosen(given["size_average"], given["reduce"], given["reduction"])
    return _reduction.reduced(loss.squeeze(0) if single else loss, how)


@_network("ctc_loss")
def _ctc_loss(func, args, kwargs):
    """Of each instance where its scores are; labels and lengths are on every rank."""
    given = _arguments(func, args, kwargs)
    like = first_sharded(list(given.values()))
    x = without_terms(sharded(given["log_probs"], like, func))
    labels, *lengths = (
        everywhere(t, like) if isinstance(t, _C.Tensor) else tensor(t)
        for t in (given[k] for k in ("targets", "input_lengths", "target_lengths"))
    )
    lengths = [t.reshape(-1) for t in lengths]
    single = x.ndim == 2
    moved = aside(x.unsqueeze(1) if single else x, (0, 2))
    n = moved.shape[1]
    if moved.ndim != 3 or any(len(t) != n for t in lengths):
        scores = _f["zeros"](x.shape, dtype=x.dtype)
        return func(scores, labels, *(given[k] for k in ("input_lengths", "target_lengths")))  # raises
    here = indices(moved._spec, 1)
    if labels.ndim == 2:
        labels = labels.index_select(0, here)
    elif single:
        labels = labels.reshape(1, -1).index_select(0, here)
    else:
        pieces = labels.split(lengths[1].tolist())
        labels = _f["cat"]([labels[:0], *(pieces[i] for i in here.tolist())])
    mine = [t.index_select(0, here) for t in lengths]
    local = moved._local
    if len(here):
        each = func(local, labels, *mine, given["blank"], "none", given["zero_infinity"])
    else:  # ctc_loss refuses a batch of none
        each = local.sum((0, 2))
    loss = wrap(each, Spec(moved._spec.mesh, tuple(map(_first, moved.placements)), (n,)))
    if given["reduction"] == "mean":
        loss = loss / wrap(
            lengths[1].clamp(min=1), Spec(moved._spec.mesh, (Replicate(),) * len(moved.placements), (n,))
        )
    return _reduction.reduced(loss.squeeze(0) if single else loss, given["reduction"])


def _first(placement: Any) -> Any:
    return moved_to(placement, 0) if placement.is_shard() else placement
