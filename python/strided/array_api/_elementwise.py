"""Elementwise functions of the standard: the core's, with the standard's promotion and special cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._C import Tensor
from ._array import operands, promoted, standard

if TYPE_CHECKING:
    from .._typing import Number

    ArrayOrNumber = Tensor | Number

_f = _C.functions
__all__ = []

# Operators, and the functions they are.
OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}


def _first_line(function) -> str:
    return (function.__doc__ or "").strip().split("\n\n")[0]


def _publish(name, function, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    globals()[name] = standard(function)
    __all__.append(name)


def _unary(name, compute=None, doc=None):
    core = compute or _f[name]

    def function(x: Tensor, /) -> Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): argument 'x' must be an array, not {type(x).__name__}")
        return core(x)

    _publish(name, function, doc or _first_line(core))


def _binary(name, compute=None, doc=None):
    core = compute or _f[name]

    def function(x1: ArrayOrNumber, x2: ArrayOrNumber, /) -> Tensor:
        return core(*operands(name, x1, x2))

    text = doc or _first_line(core)
    _publish(
        name, function, f"{text}\n\nArrays promote by their dtypes whatever their dimensions; a number by its kind."
    )


# ---------------------------------------------------------------- where the standard wants other numbers than PyTorch


def _imag(x):
    return x.imag if x.dtype.is_complex else _f["zeros_like"](x)


def _real(x):
    return x.real if x.dtype.is_complex else x


def _expm1(x):
    made = _f["expm1"](x)
    if not x.dtype.is_complex:
        return made
    # -0.0 has a real part of 0.0, as exp(x) - 1 says.
    real = _f["where"](made.real == 0, 0.0, made.real)
    return _f["where"](x == 0, _f["complex"](real, made.imag), made)


def _sign(x):
    if x.dtype.is_complex:
        return _f["sgn"](x)
    made = _f["sign"](x)
    return _f["where"](_f["isnan"](x), x, made) if x.dtype.is_floating_point else made


def _round(x):
    if x.dtype.is_complex:
        return _f["complex"](_f["round"](x.real), _f["round"](x.imag))
    return _f["round"](x)


def _tanh(x):
    made = _f["tanh"](x)
    if not x.dtype.is_complex:
        return made
    # Beside an infinite real part, the zero has the sign of the imaginary part (PyTorch, NumPy and C: of sin(2 imag)).
    at_infinity = _f["isinf"](x.real) & _f["isfinite"](x.imag)
    return _f["complex"](made.real, _f["where"](at_infinity, _f["copysign"](made.imag, x.imag), made.imag))


def _tan(x):
    if not x.dtype.is_complex:
        return _f["tan"](x)
    turned = _tanh(_f["complex"](-x.imag, x.real))  # tan z = -i tanh(i z)
    return _f["complex"](turned.imag, -turned.real)


def _floor_divide(x1, x2):
    made = _f["floor_divide"](x1, x2)
    if not made.dtype.is_floating_point:
        return made
    # An infinite operand: the quotient as it is. PyTorch, Python and NumPy give NaN, and -1 for -1 // inf.
    return _f["where"](_f["isinf"](x1) | _f["isinf"](x2), x1 / x2, made)


def _remainder(x1, x2):
    made = _f["remainder"](x1, x2)
    if not made.dtype.is_floating_point:
        return made
    return _f["where"](made == 0, _f["copysign"](made, x2), made)  # a remainder of zero has the divisor's sign


for _name in (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp floor isfinite isinf isnan log log1p log2 log10 "
    "logical_not negative reciprocal signbit sin sinh sqrt square trunc"
).split():
    _unary(_name)
_unary("bitwise_invert", _f["bitwise_not"])
_unary("conj", lambda x: x.conj(), "Complex conjugate of each element; of a real array the array itself.")
_unary("expm1", _expm1, _first_line(_f["expm1"]))
_unary("imag", _imag, "Imaginary part of each element (a view); zeros for a real array.")
_unary("real", _real, "Real part of each element (a view); a real array itself.")
_unary("positive", lambda x: x.clone(), "A copy of the array.")
_unary("round", _round, "Each element rounded to the nearest integer, ties to even; both parts of a complex one.")
_unary("tan", _tan, _first_line(_f["tan"]))
_unary("tanh", _tanh, _first_line(_f["tanh"]))
_unary("sign", _sign, "-1, 0 or 1 for each element, NaN for NaN; z / |z| for complex ones, 0 for 0.")

for _name in (
    "add atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign divide hypot "
    "greater greater_equal less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply "
    "nextafter not_equal pow subtract"
).split():
    _binary(_name)
_binary("equal", _f["eq"])
_binary("floor_divide", _floor_divide, "The quotient rounded down. An infinite operand gives the quotient as it is.")
_binary("remainder", _remainder, "The remainder of floor_divide, with the sign of x2, also where it is zero.")


@standard
def clip(x: Tensor, /, min: ArrayOrNumber | None = None, max: ArrayOrNumber | None = None) -> Tensor:
    """Each element held between two bounds, in x's dtype; a bound of None does not bind.

    Args:
        min, max: numbers, or arrays that broadcast with x.

    >>> strided.array_api.clip(strided.tensor([1, 5, 9]), 2, 6)
    tensor([2, 5, 6])
    """
    made = x
    for bound, function in ((min, "maximum"), (max, "minimum")):
        if bound is not None:
            made = _f[function](
                *(promoted(made, bound) if isinstance(bound, Tensor) else operands("clip", made, bound))
            )
    return made.clone() if made is x else made.to(x.dtype)


__all__.append("clip")
