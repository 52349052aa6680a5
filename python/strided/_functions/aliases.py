"""Functions that are other ones under another name, in place, or with a copy for a result."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from .. import _C
from .._calls.arguments import check_tensor
from .._calls.overrides import overridable
from .._objects.layouts import contiguous_format

if TYPE_CHECKING:
    from .._typing import Any, Tensor

_f = _C.functions

__all__ = []


def _add(name, function, doc=None):
    if doc is not None:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        function = overridable(function)
    globals()[name] = function
    __all__.append(name)


# Methods that PyTorch has as functions too.
for _name in (
    "addmv_ clamp_max_ clamp_min_ gcd_ get_device index_put_ is_signed lcm_ ldexp_ resize_as_ xlogy_"
).split():
    _add(_name, inspect.getattr_static(_C.Tensor, _name))


def _slice(input, dim=0, start=None, end=None, step=1):
    where = [slice(None)] * input.ndim
    where[dim] = slice(start, end, step)
    return input[tuple(where)]


def _alias(input):
    check_tensor("alias_copy", "input", 1, input)
    return input


_alias.__qualname__ = "alias_copy"  # which errors name


def _view(input, *given, **named):
    """What view shows; sizes that no view of the tensor has are those of a copy."""
    first = given[0] if given else named.get("size")
    return (input.view if isinstance(first, _C.dtype) or "dtype" in named else input.reshape)(*given, **named)


def _copying(view, several: bool):
    def copy(input: Tensor, *args: Any, out: Any = None, **options: Any) -> Tensor:
        result = view(input, *args, **options)
        one = isinstance(result, _C.Tensor)
        if out is None:
            parts = [part.clone(memory_format=contiguous_format) for part in ([result] if one else result)]
            return parts[0] if one else tuple(parts)
        _f["_write_out"]("out", [out] if one else list(out), [result] if one else list(result))
        return out

    if several:
        copy.__annotations__["return"] = "tuple[Tensor, ...]"
    return copy


def _view_function(name):
    return (
        _slice
        if name == "slice"
        else _view
        if name == "view"
        else _alias
        if name == "alias"
        else inspect.getattr_static(_C.Tensor, name, None) or _f[name]
    )


# PyTorch's functions that copy what a view shows.
for _name in (
    "alias as_strided detach diagonal expand permute select slice split split_with_sizes squeeze t transpose unbind unfold unsqueeze view "
    "view_as_complex view_as_real"
).split():
    _add(
        f"{_name}_copy",
        _copying(_view_function(_name), _name in ("split", "split_with_sizes", "unbind")),
        f"A copy of what {'a slice of the tensor' if _name == 'slice' else 'the tensor' if _name == 'alias' else _name} shows (PyTorch's name for it).",
    )

# PyTorch's name for it inside, which tests of libraries read. Overrides hear of `grad`.
_C.Tensor._grad = property(lambda self: self.grad, lambda self, value: setattr(self, "grad", value))


def _caster(kind: str, dtype: _C.dtype):
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        return input.to(dtype)

    cast.__name__ = cast.__qualname__ = f"_cast_{kind}"
    cast.__doc__ = f"``input.to({dtype!r})``, under a name from the time before dtypes."
    return overridable(cast)


for _dtype in _C.dtypes:
    if (_kind := _dtype._cpp_name) in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
        globals()[f"_cast_{_kind}"] = _caster(_kind, _dtype)
        __all__.append(f"_cast_{_kind}")
