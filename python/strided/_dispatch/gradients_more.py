"""More formulas of backward passes (``gradients``): functions of one tensor, reductions, indexing, losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import call
from .gradients import RULES, Call, NoFormula, _alone, _at, _device, _fit, _rule, _shape, _times

if TYPE_CHECKING:
    from .._typing import Callable, Tensor

# ---------------------------------------------------------------- one operand


def _one_less_square(x: Tensor) -> Tensor:
    return call("add.Scalar", _times(call("neg", x), x), 1)


def _square(x: Tensor) -> Tensor:
    return call("pow.Tensor_Scalar", x, 2)


def _divided(g: Tensor, by: Tensor) -> Tensor:
    return call("div.Tensor", g, by)


def _bell(c: Call, x: Tensor, factor: float) -> Tensor:
    return _times(call("mul.Scalar", call("exp", call("neg", _square(x))), factor), c.grad)


def _is_finite(x: Tensor) -> Tensor:
    bounded = call("ne.Scalar", call("abs", x), math.inf)
    return _times(call("eq.Tensor", x, x), bounded)


def _from_right(f: Callable[..., Tensor], second: Callable[[], Tensor], first: Callable[[], Tensor]) -> Tensor:
    """Two operands in the order in which PyTorch computes them."""
    b = first()
    return f(second(), b)


_alone("rsqrt", lambda c, x: _from_right(
    _times, lambda: call("mul.Scalar", c.grad, -0.5), lambda: call("pow.Tensor_Scalar", c.out[0], 3)
))  # fmt: skip
_alone("reciprocal", lambda c, x: _from_right(
    _times, lambda: call("neg", c.grad), lambda: _times(c.out[0], c.out[0])
))  # fmt: skip
_alone("atan", lambda c, x: _divided(c.grad, call("add.Scalar", _times(x, x), 1)))
_alone("asin", lambda c, x: _times(c.grad, call("rsqrt", _one_less_square(x))))
_alone("acos", lambda c, x: _times(c.grad, call("neg", call("rsqrt", _one_less_square(x)))))
_alone("tan", lambda c, x: _times(c.grad, call("add.Scalar", _square(c.out[0]), 1)))
_alone("sinh", lambda c, x: _times(c.grad, call("cosh", x)))
_alone("cosh", lambda c, x: _times(c.grad, call("sinh", x)))
_alone("asinh", lambda c, x: _times(c.grad, call("rsqrt", call("add.Scalar", _square(x), 1))))
_alone("acosh", lambda c, x: _times(c.grad, call("rsqrt", call("sub.Scalar", _square(x), 1))))
_alone("atanh", lambda c, x: _divided(c.grad, call("rsub.Scalar", _square(x), 1)))
_alone("log2", lambda c, x: _divided(c.grad, call("mul.Scalar", x, math.log(2))))
_alone("log10", lambda c, x: _divided(c.grad, call("mul.Scalar", x, math.log(10))))
_alone("exp2", lambda c, x: call("mul.Scalar", _times(c.grad, c.out[0]), math.log(2)))
_alone("erf", lambda c, x: _bell(c, x, 2 / math.sqrt(math.pi)))
_alone("erfc", lambda c, x: _bell(c, x, -2 / math.sqrt(math.pi)))
_alone(
    "erfinv", lambda c, x: _times(call("mul.Scalar", call("exp", _square(c.out[0])), math.sqrt(math.pi) / 2), c.grad)
)
_alone("lgamma", lambda c, x: _times(c.grad, call("digamma", x)))
_alone("frac", lambda c, x: c.grad)
_alone("nan_to_num", lambda c, x, *rest, **options: _times(c.grad, _is_finite(x)))
_alone("leaky_relu", lambda c, x, slope=0.01: call("leaky_relu_backward", c.grad, x, slope, False))
_alone("elu", lambda c, x, alpha=1, scale=1, input_scale=1: call(
    "elu_backward", c.grad, alpha, scale, input_scale, False, x
))  # fmt: skip
_alone("hardshrink", lambda c, x, limit=0.5: call("hardshrink_backward", c.grad, x, limit))
_alone("softshrink", lambda c, x, limit=0.5: call("softshrink_backward", c.grad, x, limit))


def _limited(name: str) -> Callable[..., Any]:
    def rule(c: Call, x: Tensor, limit: Any) -> Any:
        if not isinstance(limit, (int, float)):
            raise NoFormula(f"clamp_{name}: the gradient with a limit that is a tensor of a class")
        inside = call("ge.Scalar" if name == "min" else "le.Scalar", x, limit)
        return (call("where.self", inside, c.grad, call("scalar_tensor", 0.0, dtype=c.grad.dtype)),)

    return rule


RULES["clamp_min"], RULES["clamp_max"] = _limited("min"), _limited("max")


# ---------------------------------------------------------------- several operands


def _modulo(c: Call, a: Any, b: Any) -> Any:
    if len(c.needs) > 1 and c.needs[1]:
        raise NoFormula("fmod, remainder: the gradient of a class for the divisor")
    return (_fit(c.grad, a), None)


RULES["fmod"] = RULES["remainder"] = _modulo


@_rule("hypot")
def _(c: Call, a: Tensor, b: Tensor) -> Any:
    out = c.out[0]
    return tuple(_fit(_divided(_times(c.grad, x), out), x) if n else None for x, n in zip((a, b), c.needs))


@_rule("atan2")
def _(c: Call, a: Tensor, b: Tensor) -> Any:
    scaled = _times(c.grad, call("reciprocal", call("add.Tensor", _times(a, a), _times(b, b))))
    first = _fit(_times(scaled, b), a) if c.needs[0] else None
    return first, _fit(_times(scaled, call("neg", a)), b) if c.needs[1] else None


@_rule("addcdiv")
def _(c: Call, x: Tensor, a: Tensor, b: Tensor, *, value: Any = 1) -> Any:
    first = second = None
    if c.needs[2]:
        ratio = _divided(call("mul.Scalar", _times(a, call("reciprocal", b)), value), b)
        second = _fit(_times(call("neg", c.grad), ratio), b)
    if c.needs[1]:
        first = _fit(_divided(call("mul.Scalar", c.grad, value), b), a)
    return _fit(c.grad, x) if c.needs[0] else None, first, second


@_rule("lerp")
def _(c: Call, a: Tensor, b: Tensor, weight: Any) -> Any:
    if isinstance(weight, (int, float)):
        return tuple(
            _fit(call("mul.Scalar", c.grad, w), x) if n else None
            for x, w, n in zip((a, b), (1 - weight, weight), c.needs)
        )
    first = _fit(_times(c.grad, call("rsub.Scalar", weight, 1)), a) if c.needs[0] else None
    second = _fit(_times(c.grad, weight), b) if c.needs[1] else None
    return first, second, _fit(_times(c.grad, call("sub.Tensor", b, a)), weight) if c.needs[2] else None


# ---------------------------------------------------------------- reductions


def _centered(g: Tensor, x: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    """The gradient of a variance."""
    correction = 1 if correction is None else correction
    if dim in (None, [], ()):
        away = call("sub.Tensor", x, call("mean", x))
        return _times(call("mul.Scalar", g, 2 / (x.numel() - correction)), away)
    dims = _at(dim, x.dim())
    if not keepdim:
        for d in sorted(dims):
            g = call("unsqueeze", g, d)
    away = call("sub.Tensor", x, call("mean.dim", x, dims, True))
    count = math.prod(x.shape[d] for d in dims)
    return _times(call("mul.Scalar", g, 2 / (count - correction)), away)


@_rule("var")
def _(c: Call, x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return (_centered(c.grad, x, dim, correction, keepdim),)


@_rule("std")
def _(c: Call, x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    ratio = _divided(c.grad, call("mul.Scalar", c.out[0], 2))
    ratio = call("masked_fill_.Scalar", ratio, call("eq.Scalar", c.out[0], 0), 0)
    return (_centered(ratio, x, dim, correction, keepdim),)


@_rule("logsumexp")
def _(c: Call, x: Tensor, dim: Any, keepdim: bool = False) -> Any:
    g, out = c.grad, c.out[0]
    if not keepdim:
        for d in sorted(_at(dim, x.dim())):
            g, out = call("unsqueeze", g, d), call("unsqueeze", out, d)
    return (_times(g, call("exp", call("sub.Tensor", x, out))),)


@_rule("prod")
def _(c: Call, x: Tensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    if not x.dim():
        return (c.grad,)
    flat, g = x, c.grad
    if dim is None:
        flat, dim = call("view", x, [-1]), 0
    elif not keepdim:
        g = call("unsqueeze", g, dim)
    n = flat.shape[dim]
    if not n:
        return (call("zeros_like", x),)
    one = call("expand", call("ones", [], dtype=x.dtype, device=_device(x)), [*_replaced(flat, dim, 1)])
    before = call("cumprod", call("cat", [one, call("slice.Tensor", flat, dim, 0, n - 1)], dim), dim)
    behind = call("cat", [one, call("flip", call("slice.Tensor", flat, dim, 1, n), [dim])], dim)
    made = _times(g, _times(before, call("flip", call("cumprod", behind, dim), [dim])))
    return (made if flat is x else call("view", made, _shape(x)),)


def _replaced(x: Tensor, dim: int, size: int) -> list[int]:
    sizes = _shape(x)
    sizes[dim] = size
    return sizes


@_rule("linalg_vector_norm")
def _(c: Call, x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    dim = None if dim in (None, [], ()) else dim
    g, norm = ((t, t) if dim is None else (_unsqueezed(t, x, dim, keepdim),) * 2 for t in (c.grad, c.out[0]))
    return (_of_norm(g[0], x, norm[0], ord),)


def _unsqueezed(t: Tensor, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if not keepdim:
        for d in sorted(_at(dim, x.dim())):
            t = call("unsqueeze", t, d)
    return t


def _of_norm(g: Tensor, x: Tensor, norm: Tensor, ord: Any) -> Tensor:
    """The gradient of a norm; that at zero is zero."""
    if ord == 2:
        ratio = call("masked_fill_.Scalar", _divided(g, norm), call("eq.Scalar", norm, 0), 0)
        return _times(x, ratio)
    if ord == 1:
        return _times(call("sgn", x), g)
    if ord == 0:
        return call("zeros_like", x)
    if math.isinf(ord):
        raise NoFormula("linalg_vector_norm: the gradient of a class for an infinite ord")
    if ord > 2:
        size = _times(x, call("pow_.Scalar", call("abs", x), ord - 2))
    else:
        size = _times(call("sgn", x), call("pow_.Scalar", call("abs", x), ord - 1))
    if ord < 1:
        size = call("masked_fill_.Scalar", size, call("eq.Scalar", x, 0), 0)
    ratio = _divided(g, call("pow.Tensor_Scalar", norm, ord - 1))
    return _times(size, call("masked_fill_.Scalar", ratio, call("eq.Scalar", norm, 0), 0))


@_rule("dist")
def _(c: Call, a: Tensor, b: Tensor, p: Any = 2) -> Any:
    made = _of_norm(c.grad, call("sub.Tensor", a, b), c.out[0], p)
    return _fit(made, a) if c.needs[0] else None, _fit(call("neg", made), b) if c.needs[1] else None


def _evenly(c: Call, x: Tensor, *rest: Any) -> Tensor:
    """To all places where the result stands, in equal parts."""
    place = call("logical_and", call("isnan", x), call("isnan", c.out[0]))
    place = call("logical_or_", place, call("eq.Tensor", x, c.out[0]))
    return _times(place, _divided(c.grad, call("sum", place)))


def _placed(c: Call, x: Tensor, dim: int, keepdim: bool) -> Tensor:
    """To the places that the result's indices name."""
    g, index = c.grad, c.out[1]
    if not keepdim and x.dim():
        g, index = call("unsqueeze", g, dim), call("unsqueeze", index, dim)
    return call("scatter.src", call("new_zeros", g, _shape(x)), dim, index, g)


@_rule("max", "min", "median", "nanmedian")
def _(c: Call, x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is not None and not isinstance(dim, int):  # the larger of two tensors
        raise NoFormula("max, min: of two tensors")
    return (_evenly(c, x) if dim is None else _placed(c, x, dim, keepdim),)


@_rule("amax", "amin")
def _(c: Call, x: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
    dims = _at(dim, x.dim()) if dim not in ((), []) else list(range(x.dim()))
    sizes = [1 if d in dims else n for d, n in enumerate(x.shape)]
    if not dims:
        return (c.grad,)
    place = call("eq.Tensor", c.out[0] if keepdim else call("view", c.out[0], sizes), x)
    g = c.grad if keepdim else call("view", c.grad, sizes)
    return (_times(_divided(g, call("sum.dim_IntList", place, dims, True)), place),)


_alone("sort", lambda c, x, dim=-1, *rest, **options: _placed(c, x, options.get("dim", dim), True))
_alone("topk", lambda c, x, k, dim=-1, *rest: _placed(c, x, dim, True))
_alone("kthvalue", lambda c, x, k, dim=-1, keepdim=False: _placed(c, x, dim, keepdim))
_alone("mode", lambda c, x, dim=-1, keepdim=False: _placed(c, x, dim, keepdim))
_alone("trace", lambda c, x: _times(c.grad, call("eye.m", *x.shape, dtype=x.dtype, device=_device(x))))


# ---------------------------------------------------------------- indexing


def _reversed(values: Any) -> list[int]:
    return [values] if isinstance(values, int) else list(values)[::-1]


_alone("roll", lambda c, x, shifts, dims=(): call(
    "roll", c.grad, [-s for s in _reversed(shifts)], *([_reversed(dims)] if dims != () else [])
))  # fmt: skip
_alone("diagonal", lambda c, x, offset=0, dim1=0, dim2=1: call(
    "diagonal_backward", c.grad, _shape(x), offset, dim1, dim2
))  # fmt: skip
_alone("unfold", lambda c, x, dim, size, step: call("unfold_backward", c.grad, _shape(x), dim, size, step))
_alone("constant_pad_nd", lambda c, x, pad, value=0: call("constant_pad_nd", c.grad, [-p for p in pad], 0))
_alone("index_select", lambda c, x, dim, index: call(
    "index_add_", call("new_zeros", c.grad, _shape(x)), dim, index, c.grad
))  # fmt: skip


@_rule("scatter")
def _(c: Call, x: Tensor, dim: int, index: Tensor, src: Any, **options: Any) -> Any:
    if options:
        raise NoFormula("scatter: the gradient of a class with a reduction")
    first = call("scatter.value", c.grad, dim, index, 0) if c.needs[0] else None
    return first, None, None, call("gather", c.grad, dim, index) if len(c.needs) > 3 and c.needs[3] else None


@_rule("scatter_add")
def _(c: Call, x: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    return c.grad if c.needs[0] else None, None, None, call("gather", c.grad, dim, index) if c.needs[3] else None


@_rule("index_add")
def _(c: Call, x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    part = None
    if c.needs[3]:
        part = call("index_select", c.grad, dim, index)
        part = part if alpha == 1 else call("mul.Scalar", part, alpha)
        part = call("expand", part, _shape(source)) if x.dim() else part
    return c.grad if c.needs[0] else None, None, None, part


@_rule("index_copy")
def _(c: Call, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    first = call("index_fill.int_Scalar", c.grad, dim, index, 0) if c.needs[0] else None
    part = call("index_select", c.grad, dim, index) if c.needs[3] else None
    return first, None, None, part if part is None or not x.dim() else call("expand", part, _shape(source))


@_rule("index_put")
def _(c: Call, x: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    first = None
    if c.needs[0]:
        zero = call("zeros", [], dtype=c.grad.dtype, device=c.grad.device)
        first = c.grad if accumulate else call("index_put", c.grad, list(indices), zero)
    return first, None, _fit(call("index.Tensor", c.grad, list(indices)), values) if c.needs[2] else None


# ---------------------------------------------------------------- losses


def _loss(name: str, *names: str) -> None:
    def rule(c: Call, x: Tensor, target: Tensor, reduction: int = 1, *rest: Any) -> Any:
        if len(c.needs) > 1 and c.needs[1]:
            raise NoFormula(f"{name}: the gradient of a class for the target")
        return call(f"{name}_backward", c.grad, x, target, reduction, *(rest or (1.0,))), None

    RULES[name] = rule


_loss("smooth_l1_loss")
_loss("huber_loss")


@_rule("binary_cross_entropy_with_logits")
def _(c: Call, x: Tensor, target: Tensor, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Any:
    if c.needs[1] or weight is not None or pos_weight is not None:
        raise NoFormula("binary_cross_entropy_with_logits: the gradient of a class for the target, or with weights")
    made = _times(call("sub.Tensor", call("sigmoid", x), target), c.grad)
    return call("div_.Scalar", made, x.numel()) if reduction == 1 else made, None
