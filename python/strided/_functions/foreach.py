"""PyTorch's functions of lists of tensors, which optimizers written for it call (``torch._foreach_add_``).

Each is the plain function, tensor by tensor: lists save launches on a GPU, and change no result.

>>> strided._foreach_mul([strided.ones(2), strided.ones(1)], 3)
(tensor([3., 3.]), tensor([3.]))
"""

from __future__ import annotations

from typing import Any

from .. import Tensor

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
    "sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
_BINARY = "add sub mul div pow clamp_max clamp_min maximum minimum".split()
_METHOD = {"maximum": "clamp_min", "minimum": "clamp_max"}  # of a number: these take numbers, and keep NaN too


def _checked(name: str, tensors: Any, *lists: Any) -> None:
    unequal = [other for other in lists if isinstance(other, (list, tuple)) and len(other) != len(tensors)]
    for other in unequal:
        if any(isinstance(item, Tensor) for item in other):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}"
            )
    if not len(tensors):
        raise RuntimeError("Tensor list must have at least one tensor.")
    if unequal:
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    for other in lists:
        if isinstance(other, Tensor) and name not in ("lerp", "norm") and other.dim() > 1:
            raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions")


def _each(other: Any, count: int) -> Any:
    """The operand of each tensor: one for all, or a list."""
    return other if isinstance(other, (list, tuple)) else [other] * count


def _unary(name):
    def function(self: Any) -> tuple[Tensor, ...]:
        _checked(name, self)
        return tuple(getattr(x, name)() for x in self)

    def in_place(self: Any) -> Any:
        _checked(name, self)
        for x in self:
            getattr(x, name + "_")()
        return self

    return function, in_place


def _call(name, x, other, suffix, options):
    if not isinstance(other, Tensor):
        name = _METHOD.get(name, name)
    elif name in _METHOD and suffix:
        return x.copy_(getattr(x, name)(other))
    return getattr(x, name + suffix)(other, **options)


def _one(name: str, **given: Any) -> Any:
    """The operand, which has several names; TypeError unless it is given once."""
    found = [value for value in given.values() if value is not None]
    if len(found) != 1:
        raise TypeError(f"_foreach_{name}(): one of {', '.join(given)} must be given, got {len(found)}")
    return found[0]


def _binary(name):
    def function(
        self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None, exponent: Any = None, **options: Any
    ) -> tuple[Tensor, ...]:
        other = _one(name, other=other, scalar=scalar, scalars=scalars, exponent=exponent)
        if name == "pow" and not isinstance(self, (list, tuple)):
            _checked(name, other)
            return tuple(self**x for x in other)
        _checked(name, self, other)
        return tuple(_call(name, x, y, "", options) for x, y in zip(self, _each(other, len(self))))

    def in_place(
        self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None, exponent: Any = None, **options: Any
    ) -> Any:
        other = _one(name, other=other, scalar=scalar, scalars=scalars, exponent=exponent)
        _checked(name, self, other)
        for x, y in zip(self, _each(other, len(self))):
            _call(name, x, y, "_", options)
        return self

    return function, in_place


def _numbers(value: Any, count: int) -> Any:
    if not isinstance(value, Tensor):
        return _each(value, count)
    if value.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.dim()} instead.")
    if len(value) != count:
        raise RuntimeError(f"Expected length of scalars to match input of length {count} but got {len(value)} instead.")
    return value.tolist()


def _ternary(name):
    def function(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> tuple[Tensor, ...]:
        values = _numbers(value if scalars is None else scalars, len(self))
        _checked(name, self, tensor1, tensor2, values)
        return tuple(getattr(x, name)(a, b, value=v) for x, a, b, v in zip(self, tensor1, tensor2, values))

    def in_place(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> Any:
        values = _numbers(value if scalars is None else scalars, len(self))
        _checked(name, self, tensor1, tensor2, values)
        for x, a, b, v in zip(self, tensor1, tensor2, values):
            getattr(x, name + "_")(a, b, value=v)
        return self

    return function, in_place


def _lerp():
    def function(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> tuple[Tensor, ...]:
        weight = _one("lerp", weight=weight, weights=weights)
        _checked("lerp", self, tensors1, weight)
        return tuple(x.lerp(y, w) for x, y, w in zip(self, tensors1, _each(weight, len(self))))

    def in_place(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> Any:
        weight = _one("lerp", weight=weight, weights=weights)
        _checked("lerp", self, tensors1, weight)
        for x, y, w in zip(self, tensors1, _each(weight, len(self))):
            x.lerp_(y, w)
        return self

    return function, in_place


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Writes each tensor of `src` to the one of `self`, which is returned."""
    _checked("copy", self, src)
    for x, y in zip(self, src):
        x.copy_(y, non_blocking=non_blocking)
    return self


def _foreach_clone(self: Any, memory_format: Any = None) -> tuple[Tensor, ...]:
    """A copy of each tensor."""
    _checked("clone", self)
    return tuple(x.clone() if memory_format is None else x.clone(memory_format=memory_format) for x in self)


def _foreach_mm(self: Any, mat2: Any) -> tuple[Tensor, ...]:
    """The product of each matrix and the one of `mat2` in its place."""
    if len(self) != len(mat2):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    if not len(self):
        raise RuntimeError("_foreach_mm requires non-empty tensor lists")
    return tuple(x.mm(y) for x, y in zip(self, mat2))


def _foreach_zero_(self: Any) -> Any:
    """Zeros in each tensor; returns self."""
    _checked("zero", self)
    for x in self:
        x.zero_()
    return self


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:  # noqa: A002
    """The norm of each tensor, of all its elements."""
    from .. import linalg

    _checked("norm", self)
    return tuple(linalg.vector_norm(x, ord, dtype=dtype) for x in self)


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:  # noqa: A002
    """For each tensor the sum of the powers of its magnitudes: the norm before its root."""
    _checked("powsum", self)
    return tuple((x if dtype is None else x.to(dtype)).abs().pow(ord).sum() for x in self)


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    """The largest element of each tensor."""
    _checked("max", self)
    return tuple(x.max() for x in self)


def _fill() -> None:
    makers = [(n, _unary(n)) for n in _UNARY] + [(n, _binary(n)) for n in _BINARY]
    makers += [(n, _ternary(n)) for n in ("addcmul", "addcdiv")] + [("lerp", _lerp())]
    for name, pair in makers:
        for function, suffix in zip(pair, ("", "_")):
            function.__name__ = function.__qualname__ = f"_foreach_{name}{suffix}"
            function.__doc__ = f"`{name}{suffix}` of each tensor" + ("; returns self." if suffix else ".")
            globals()[function.__name__] = function


_fill()
