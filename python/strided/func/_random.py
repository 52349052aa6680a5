"""Random functions under vmap: one draw for each sample, or one for all, as the vmap's ``randomness`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from ._batched import BatchedTensor, OnlyOne, Tensor, aligned, batched, expanded, running, union

if TYPE_CHECKING:
    from .._typing import Any

_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
# What only the shape and the dtype of their first argument count for.
_LIKE = ("rand_like", "randn_like", "randint_like")


def _levels():
    """The running levels that every sample draws for itself; RuntimeError where drawing is an error."""
    levels = running()
    if any(level.randomness == "error" for level in levels):
        raise OnlyOne(_ERROR)
    return tuple(level for level in levels if level.randomness == "different")


def draw(func: Any, *args: Any, **kwargs: Any) -> Any:
    """A random function whose arguments do not vary with the batch."""
    own = _levels()
    before = _C._set_draw_function(None)
    try:
        if not own:
            return func(*args, **kwargs)
        return _draw_each(func, args, kwargs, own)
    finally:
        _C._set_draw_function(before)


def _draw_each(func, args, kwargs, own):
    from ._rules import bind, call

    parameters, values = bind(func, args, kwargs)
    sizes = [level.size for level in own]
    if func.__name__.endswith("_"):
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
            "randomness. If this is necessary for your usage, please file an issue"
        )
    if func.__name__ == "randperm":
        many = 1
        for n in sizes:
            many *= n
        rows = [call(func, parameters, values) for _ in range(many)]
        return batched(_C.functions["stack"](rows).reshape(*sizes, -1), own)
    if "size" in values:
        size = values["size"]
        values["size"] = (*sizes, *([size] if isinstance(size, int) else size))
    tensors = [(name, v) for name, v in values.items() if isinstance(v, Tensor)]
    wide = max((t.ndim for _, t in tensors), default=0)
    for name, t in tensors:  # those of fewer axes get leading ones, so that the axes of the batches stand first in all
        values[name] = t.reshape((1,) * (wide - t.ndim) + tuple(t.shape)).expand(*sizes, *[-1] * wide)
    return batched(_in_rows(func, parameters, values), own)


def _in_rows(func, parameters, values):
    """The call; multinomial takes two axes, and so has those of the batches in its rows."""
    from ._rules import call

    many = values.get("input") if func.__name__ == "multinomial" else None
    if many is None or many.ndim <= 2:
        return call(func, parameters, values)
    out = call(func, parameters, {**values, "input": many.reshape(-1, many.shape[-1])})
    return out.reshape(*many.shape[:-1], out.shape[-1])


def draw_batched(func: Any, args: Any, kwargs: Any) -> Any:
    """The rule of a random function with arguments that vary with the batch."""
    from ._rules import bind, call

    different = _levels()
    parameters, values = bind(func, args, kwargs)
    tensors = [v for v in values.values() if isinstance(v, Tensor)]
    levels = union(tensors)
    name = func.__name__
    before = _C._set_draw_function(None)
    try:
        first = tensors[0]
        if name in _LIKE:
            value = _without(first)
            values["input"] = value.expand((*(level.size for level in different), *first.shape))
            return batched(call(func, parameters, values), different)
        if any(level not in different for level in levels):
            if not name.endswith("_") or union(tensors[1:]):
                raise OnlyOne(
                    "Vmap does not currently support same randomness with a batched tensor input. "
                    f"({name}: draw outside of vmap, or with randomness='different')"
                )
            drawn = _C.functions["empty"](first.shape, dtype=first.dtype, device=first.device)
            sizes = [level.size for level in different]
            values["input"] = drawn.expand((*sizes, *first.shape)).contiguous()
            return first.copy_(batched(call(func, parameters, values), different))
        every = tuple(sorted({*levels, *different}, key=lambda level: level.number))
        wide = max(t.ndim for t in tensors)
        if name.endswith("_"):
            if union(tensors[1:]) and type(first) is not BatchedTensor:
                raise RuntimeError(
                    f"vmap: inplace {name.rstrip('_')}(self, *extra_args) is not possible because there exists a Tensor "
                    "`other` in extra_args that has more elements than `self`. Use an out-of-place operation."
                )
            if type(first) is not BatchedTensor or first._levels != every:
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
                    "same randomness. If this is necessary for your usage, please file an issue"
                )
            args = [aligned(a, every, wide) if isinstance(a, Tensor) else a for a in args]
            func(*args, **kwargs)
            return first
        for key, value in values.items():
            if isinstance(value, Tensor):
                values[key] = expanded(value, every, wide)
        return batched(_in_rows(func, parameters, values), every)
    finally:
        _C._set_draw_function(before)


def _without(t):
    """A tensor of the shape, dtype and device of t, without values."""
    return _C.functions["empty"]((), dtype=t.dtype, device=t.device).expand(t.shape)
