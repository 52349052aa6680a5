"""Steps that gradients flow through (``differentiable=True``)."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from .._typing import Any, Callable, Tensor

__all__ = ["recorded_step"]


def _values(x):
    """What stands in Recorded, also in tuples, lists and dicts."""
    if isinstance(x, Recorded):
        return x.value
    if isinstance(x, (tuple, list)):
        return type(x)(_values(v) for v in x)
    return {k: _values(v) for k, v in x.items()} if isinstance(x, dict) else x


def _called(function, args, kwargs):
    made = function(*_values(args), **_values(kwargs))
    return Recorded(made) if isinstance(made, strided.Tensor) else made


class Recorded:
    """A tensor in the steps of an optimizer, whose in-place operations make a new one: what a gradient reads stays."""

    def __init__(self, value: Tensor) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        kind = strided.Tensor
        if not callable(getattr(kind, name, None)):
            return getattr(self.value, name)
        if name == "copy_":
            return self._set
        plain = name.removesuffix("_")
        function = _SCALED.get(plain) or getattr(kind, plain)
        if plain == name:
            return lambda *args, **kwargs: _called(function, (self, *args), kwargs)
        return lambda *args, **kwargs: self._set(_called(function, (self, *args), kwargs))

    def _set(self, made):
        made = _values(made)
        self.value = made.clone() if made.dtype == self.value.dtype else made.to(self.value.dtype)
        return self

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        out = kwargs.pop("out", None)
        made = _called(func, args, kwargs)
        return made if out is None else out._set(made)

    def __float__(self) -> float:
        return float(self.value)


def _scaled(name, word):
    """An operation whose factor may be a tensor that a gradient is wanted of, such as a learning rate."""

    def call(x, *args, **kwargs):
        factor = kwargs.get(word)
        if not isinstance(factor, strided.Tensor):
            return getattr(x, name)(*args, **kwargs)
        change = args[0] if name == "add" else args[0] * args[1] if name == "addcmul" else args[0] / args[1]
        return x + change * factor

    return call


_SCALED = {n: _scaled(n, w) for n, w in (("add", "alpha"), ("addcmul", "value"), ("addcdiv", "value"))}


def _operator(function):
    return lambda self, *others: _called(function, (self, *others), {})


def _changing(function):
    return lambda self, other: self._set(_called(function, (self, other), {}))


for _name in ("add", "sub", "mul", "truediv", "pow", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge", "getitem"):
    setattr(Recorded, f"__{_name}__", _operator(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv"):
    _function = getattr(operator, _name)
    setattr(Recorded, f"__r{_name}__", _operator(lambda x, y, _function=_function: _function(y, x)))
    setattr(Recorded, f"__i{_name}__", _changing(_function))


def recorded_step(update: Callable[..., None], param: Tensor, grad: Tensor, state: dict[str, Any], group: Any) -> Any:
    """One step of one parameter in the graph: the parameter is written to, and what comes back is kept for it.

    Args:
        update: the ``_update`` of an optimizer.
    """
    whole = param.is_complex()
    parts = lambda t: Recorded(strided.view_as_real(t) if t.is_complex() else t)
    of_parts = lambda t: strided.view_as_complex(t.contiguous()) if whole and t.shape == (*param.shape, 2) else t
    changed = parts(param.clone())  # what gradients read stays when param is written to
    kept = {k: parts(v) if isinstance(v, strided.Tensor) and k != "step" else v for k, v in state.items()}
    update(changed, parts(grad), kept, group)
    param.copy_(of_parts(changed.value))
    return {k: of_parts(v.value) if isinstance(v, Recorded) else v for k, v in kept.items()}
