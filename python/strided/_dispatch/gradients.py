"""The formulas of backward passes, made of the operations that PyTorch's formulas call.

They serve two purposes. A plain result that has a gradient gets a hook before its node: while a mode is on, the hook
hands the operations of the formula to it, and the engine goes on with its own gradient. An operation of a subclass with
a ``__torch_dispatch__`` has no other gradient: its node (``subclasses``) gives what the formula gives.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

from .. import _C
from ..autograd.grad_mode import enable_grad, no_grad
from . import call, state
from .composites_shapes import reshape

if TYPE_CHECKING:
    from .._typing import Callable, Tensor

_Tensor = _C.Tensor
# {name: function of a _Call and the arguments, which gives the gradient of each argument that a tensor can be}
RULES: dict[str, Callable[..., Any]] = {}


def _rule(*names: str) -> Callable[..., Any]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(names, f))
        return f

    return add


def rule_of(name: str) -> Callable[..., Any] | None:
    """The formula of an operation; that of ``add`` for ``add_``."""
    return RULES.get(name) or RULES.get(name.removesuffix("_"))


class NoFormula(NotImplementedError):
    """There is no formula for these arguments."""


class Call:
    """What a rule reads: the gradients, the results, and which arguments want a gradient."""

    def __init__(self, needs: list[bool], out: list[Any]) -> None:
        self.needs, self.out = needs, out
        self.grads: Any = ()
        self.overload = "default"
        self.grad: Tensor = None  # type: ignore[assignment]


def watch(op: Any, args: Any, kwargs: Any, result: Any) -> None:
    """Reports the formula of the operation when its backward pass runs."""
    name = op.overloadpacket.__name__
    rule = rule_of(name)
    results = result if isinstance(result, (tuple, list)) else (result,)
    if rule is None or not results or not isinstance(results[0], _Tensor) or not results[0].requires_grad:
        return
    node = results[0].grad_fn
    if node is None:
        return
    needs = [isinstance(a, _Tensor) and a.requires_grad for a in args]
    made = Call(needs, [r.detach() if isinstance(r, _Tensor) else r for r in results])
    if name.endswith("_"):  # self was a leaf or another value before
        needs[0] = True

    def report(grads: Any) -> None:
        if not state.modes or state.computes or grads[0] is None:
            return
        made.grad, made.grads = grads[0].detach(), grads
        with no_grad(), contextlib.suppress(NoFormula):
            rule(made, *args, **kwargs)

    index = results[0].output_nr
    node.register_prehook(lambda grads: report(grads[index:]))


def _fit(g: Tensor, x: Any) -> Tensor:
    """The gradient summed to the shape of the operand."""
    if not isinstance(x, _Tensor) or g.shape == x.shape:
        return g
    if not x.dim():
        return call("sum", g)
    extra = g.dim() - x.dim()
    axes = [*range(extra), *(i + extra for i, n in enumerate(x.shape) if n == 1 and g.shape[i + extra] != 1)]
    made = call("sum.dim_IntList", g, axes, True)
    return call("view", made, list(x.shape)) if extra else made


def _device(x: Any) -> Any:
    """The device of an operand, of which a node may have kept the shape alone."""
    return x.__dict__.get("_strided_device") or x.device


def _shape(x: Any) -> list[int]:
    return list(x.shape)


def _by_columns(x: Tensor) -> bool:
    return x.stride(0) == 1 and x.stride(1) == x.shape[0]


def _turned(x: Tensor) -> Tensor:
    """The transpose of an operand, which has a gradient where the operand has one, as a saved tensor in PyTorch."""
    with enable_grad():
        return call("t", x) if x.dim() == 2 else call("transpose.int", x, 1, 2)


def _mm_first(c: Call, a: Tensor, b: Tensor) -> Tensor:
    if _by_columns(a):
        return call("t", call("mm", b, call("t", c.grad)))
    return call("mm", c.grad, _turned(b))


def _mm_second(c: Call, a: Tensor, b: Tensor) -> Tensor:
    if _by_columns(b):
        return call("t", call("mm", call("t", c.grad), a))
    return call("mm", _turned(a), c.grad)


@_rule("mm")
def _(c: Call, a: Tensor, b: Tensor) -> Any:
    second = _mm_second(c, a, b) if c.needs[1] else None
    return _mm_first(c, a, b) if c.needs[0] else None, second


@_rule("addmm")
def _(c: Call, input: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    first = _scaled(_mm_first(c, a, b), alpha) if c.needs[1] else None
    second = _scaled(_mm_second(c, a, b), alpha) if c.needs[2] else None
    return _fit(_scaled(c.grad, beta), input) if c.needs[0] else None, first, second


def _scaled(g: Tensor, by: Any) -> Tensor:
    return g if by == 1 else call("mul.Scalar", g, by)


def _bmm(c: Call, a: Tensor, b: Tensor, needs: Any) -> Any:
    second = call("bmm", _turned(a), c.grad) if needs[1] else None
    return call("bmm", c.grad, _turned(b)) if needs[0] else None, second


@_rule("bmm")
def _(c: Call, a: Tensor, b: Tensor) -> Any:
    return _bmm(c, a, b, c.needs)


@_rule("baddbmm")
def _(c: Call, input: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    first, second = (g if g is None else _scaled(g, alpha) for g in _bmm(c, a, b, c.needs[1:]))
    return _fit(_scaled(c.grad, beta), input) if c.needs[0] else None, first, second


@_rule("mv")
def _(c: Call, a: Tensor, b: Tensor) -> Any:
    first = call("mul.Tensor", call("unsqueeze", c.grad, 1), b) if c.needs[0] else None
    return first, call("mv", call("t", a), c.grad) if c.needs[1] else None


@_rule("dot")
def _(c: Call, a: Tensor, b: Tensor) -> Any:
    return tuple(call("mul.Tensor", other, c.grad) if needed else None for other, needed in zip((b, a), c.needs))


@_rule("convolution")
def _(c: Call, x: Tensor, weight: Tensor, bias: Any, *options: Any) -> Any:
    sizes = [0] if bias is None else _shape(bias)
    return call("convolution_backward", c.grad, x, weight, sizes, *options, [*c.needs[:2], c.needs[2]])


@_rule("_scaled_dot_product_flash_attention_for_cpu")
def _(c: Call, q: Tensor, k: Tensor, v: Tensor, dropout: float = 0.0, causal: bool = False, **options: Any) -> Any:
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    return call(name, c.grad, q, k, v, *c.out[:2], dropout, causal, **options)


@_rule("native_layer_norm")
def _(c: Call, x: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    mask = [c.needs[0], c.needs[2], c.needs[3]]
    first, *rest = call("native_layer_norm_backward", c.grad, x, shape, *c.out[1:], weight, bias, mask)
    return first, None, *rest


@_rule("native_batch_norm")
def _(c: Call, x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, train: bool, momentum: float, eps: float) -> Any:
    return call("native_batch_norm_backward", c.grad, x, weight, mean, var, *c.out[1:], train, eps, c.needs[:3])


@_rule("native_group_norm")
def _(c: Call, x: Tensor, weight: Any, bias: Any, n: int, k: int, size: int, group: int, eps: float) -> Any:
    return call("native_group_norm_backward", c.grad, x, *c.out[1:], weight, n, k, size, group, c.needs[:3])


@_rule("native_dropout")
def _(c: Call, x: Tensor, p: float, train: Any) -> Any:
    return (call("native_dropout_backward", c.grad, c.out[1], 1 / (1 - p)),)


@_rule("_softmax")
def _(c: Call, x: Tensor, dim: int, half: bool) -> Any:
    return (call("_softmax_backward_data", c.grad, c.out[0], dim, x.dtype),)


@_rule("_log_softmax")
def _(c: Call, x: Tensor, dim: int, half: bool) -> Any:
    return (call("_log_softmax_backward_data", c.grad, c.out[0], dim, x.dtype),)


@_rule("nll_loss_forward")
def _(c: Call, x: Tensor, *options: Any) -> Any:
    return (call("nll_loss_backward", c.grad, x, *options, c.out[1]),)


@_rule("nll_loss2d_forward")
def _(c: Call, x: Tensor, *options: Any) -> Any:
    return (call("nll_loss2d_backward", c.grad, x, *options, c.out[1]),)


@_rule("mse_loss")
def _(c: Call, x: Tensor, target: Tensor, reduction: int = 1) -> Any:
    first = call("mse_loss_backward", c.grad, x, target, reduction) if c.needs[0] else None
    return first, call("mse_loss_backward", c.grad, target, x, reduction) if c.needs[1] else None


@_rule("embedding")
def _(c: Call, weight: Tensor, indices: Tensor, padding: int = -1, scale: bool = False, sparse: bool = False) -> Any:
    if sparse:
        return None
    return (call("embedding_dense_backward", c.grad, indices, weight.shape[0], padding, scale),)


@_rule("max_pool2d_with_indices")
def _(c: Call, x: Tensor, kernel: Any, stride: Any = (), padding: Any = (0, 0), dilation: Any = (1, 1),
      ceil: bool = False) -> Any:  # fmt: skip
    name, indices = "max_pool2d_with_indices_backward", c.out[1]
    return (call(name, c.grad, x, kernel, stride, list(padding), list(dilation), ceil, indices),)


@_rule("avg_pool2d")
def _(c: Call, x: Tensor, kernel: Any, stride: Any = (), padding: Any = (0, 0), ceil: bool = False, pads: bool = True,
      divisor: Any = None) -> Any:  # fmt: skip
    return (call("avg_pool2d_backward", c.grad, x, kernel, stride, list(padding), ceil, pads, divisor),)


@_rule("_adaptive_avg_pool2d")
def _(c: Call, x: Tensor, size: Any) -> Any:
    return (call("_adaptive_avg_pool2d_backward", c.grad, x),)


# ---------------------------------------------------------------- one operand


def _alone(name: str, formula: Callable[..., Tensor]) -> None:
    RULES[name] = lambda c, x, *rest, **options: (formula(c, x, *rest, **options),)


def _times(g: Tensor, x: Any) -> Tensor:
    return call("mul.Tensor", g, x)


_alone("relu", lambda c, x: call("threshold_backward", c.grad, c.out[0], 0))
_alone("gelu", lambda c, x, **options: call("gelu_backward", c.grad, x, **options))
for _name in ("silu", "mish", "hardswish", "hardsigmoid"):
    _alone(_name, lambda c, x, _name=_name: call(f"{_name}_backward", c.grad, x))
_alone("glu", lambda c, x, dim=-1: call("glu_backward", c.grad, x, dim))
_alone("hardtanh", lambda c, x, low=-1, high=1: call("hardtanh_backward", c.grad, x, low, high))
_alone("softplus", lambda c, x, beta=1, threshold=20: call("softplus_backward", c.grad, x, beta, threshold))
_alone("tanh", lambda c, x: call("tanh_backward", c.grad, c.out[0]))
_alone("sigmoid", lambda c, x: call("sigmoid_backward", c.grad, c.out[0]))
_alone("exp", lambda c, x: _times(c.grad, c.out[0]))
_alone("expm1", lambda c, x: _times(c.grad, call("add.Scalar", c.out[0], 1)))
_alone("log", lambda c, x: call("div.Tensor", c.grad, x))
_alone("log1p", lambda c, x: call("div.Tensor", c.grad, call("add.Scalar", x, 1)))
_alone("neg", lambda c, x: call("neg", c.grad))
_alone("abs", lambda c, x: _times(c.grad, call("sgn", x)))
_alone("sin", lambda c, x: _times(c.grad, call("cos", x)))
_alone("cos", lambda c, x: _times(c.grad, call("neg", call("sin", x))))
_alone("sqrt", lambda c, x: call("div.Tensor", c.grad, call("mul.Scalar", c.out[0], 2)))
_alone("_to_copy", lambda c, x, **options: call("_to_copy", c.grad, dtype=x.dtype, **_to_device(x, options)))
for _name in ("clone", "alias", "lift_fresh", "detach_", "positive", "contiguous"):
    _alone(_name, lambda c, x, **options: c.grad)
for _name in ("zero", "ceil", "floor", "round", "trunc", "sign"):
    _alone(_name, lambda c, x, *rest, **options: call("zeros_like", c.grad))


@_rule("fill")
def _(c: Call, x: Tensor, value: Any) -> Any:
    return call("zeros_like", c.grad), call("sum", c.grad) if len(c.needs) > 1 and c.needs[1] else None


def _to_device(x: Tensor, options: Any) -> dict[str, Any]:
    return {"device": _device(x)} if options.get("device") is not None else {}


@_rule("copy_")
def _(c: Call, x: Tensor, source: Tensor, non_blocking: bool = False) -> Any:
    g = c.grad if source.dtype is c.grad.dtype else call("_to_copy", c.grad, dtype=source.dtype)
    return call("zeros_like", c.grad) if c.needs[0] else None, _fit(g, source) if c.needs[1] else None


# Formulas themselves, in a second pass.
_alone("threshold_backward", lambda c, g, x, threshold: call("threshold_backward", c.grad, x, threshold))
_alone("slice_backward", lambda c, g, sizes, dim, start, end, step: call(
    "slice.Tensor", c.grad, dim, start, end, *([step] if step != 1 else [])
))  # fmt: skip
_alone("select_backward", lambda c, g, sizes, dim, index: call("select.int", c.grad, dim, index))


@_rule("tanh_backward")
def _(c: Call, g: Tensor, out: Tensor) -> Any:
    second = call("mul.Tensor", call("mul.Tensor", call("mul.Scalar", c.grad, -2), g), out) if c.needs[1] else None
    return call("tanh_backward", c.grad, out) if c.needs[0] else None, second


@_rule("sigmoid_backward")
def _(c: Call, g: Tensor, out: Tensor) -> Any:
    second = None
    if c.needs[1]:
        slope = call("rsub.Scalar", call("mul.Scalar", out, 2), 1)
        second = call("mul.Tensor", call("mul.Tensor", c.grad, g), slope)
    return call("sigmoid_backward", c.grad, out) if c.needs[0] else None, second


# ---------------------------------------------------------------- two operands


def _add(c: Call, a: Any, b: Any, *, alpha: Any = 1) -> Any:
    second = _fit(c.grad if alpha == 1 else call("mul.Tensor", c.grad, alpha), b) if c.needs[1] else None
    return _fit(c.grad, a) if c.needs[0] else None, second


def _sub(c: Call, a: Any, b: Any, *, alpha: Any = 1) -> Any:
    second = None
    if c.needs[1]:
        g = call("neg", c.grad)
        second = _fit(g if alpha == 1 else call("mul.Tensor", g, alpha), b)
    return _fit(c.grad, a) if c.needs[0] else None, second


def _rsub(c: Call, a: Any, b: Any, alpha: Any = 1) -> Any:
    first = _fit(call("neg", c.grad) if alpha == 1 else call("mul.Scalar", c.grad, -alpha), a) if c.needs[0] else None
    return first, _fit(c.grad, b) if len(c.needs) > 1 and c.needs[1] else None


RULES["add"], RULES["sub"], RULES["rsub"] = _add, _sub, _rsub


@_rule("mul")
def _(c: Call, a: Any, b: Any) -> Any:
    name = "mul.Scalar" if c.overload == "Scalar" else "mul.Tensor"
    second, first = [call(name, c.grad, x) if c.needs[i] else None for i, x in ((1, a), (0, b))]
    return tuple(g if g is None else _fit(g, x) for g, x in ((first, a), (second, b)))


@_rule("div")
def _(c: Call, a: Any, b: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode is not None:
        return tuple(call("zeros_like", _fit(c.grad, x)) if n else None for n, x in zip(c.needs, (a, b)))
    second = None
    if c.needs[1]:
        ratio = call("div.Tensor", call("div.Tensor", a, b), b)
        second = _fit(call("mul.Tensor", call("neg", c.grad), ratio), b)
    return _fit(call("div.Tensor", c.grad, b), a) if c.needs[0] else None, second


def _zero(g: Tensor) -> Tensor:
    return call("zeros", [], dtype=g.dtype, device=g.device)


@_rule("pow")
def _(c: Call, a: Any, b: Any) -> Any:
    first = second = None
    if isinstance(b, (int, float)):
        if c.needs[0] and b == 0:
            first = call("zeros_like", c.grad)
        elif c.needs[0]:
            power = c.grad if b == 1 else call("pow.Tensor_Scalar", a, b - 1)
            first = power if b == 1 else call("mul.Tensor", c.grad, call("mul.Scalar", power, b))
        return first, None
    if not isinstance(a, _Tensor):
        return None, _times(
            c.grad, call("mul.Scalar", c.out[0], math.log(a) if a > 0 else -math.inf if a == 0 else math.nan)
        )
    if c.needs[0]:
        power = _times(c.grad, _times(b, call("pow.Tensor_Tensor", a, call("sub.Scalar", b, 1))))
        first = _fit(call("where.self", call("eq.Scalar", b, 0.0), _zero(c.grad), power), a)
    if c.needs[1]:
        flat = call("logical_and", call("eq.Scalar", a, 0), call("ge.Scalar", b, 0))
        slope = call("where.self", flat, _zero(c.grad), _times(c.out[0], call("log", a)))
        second = _fit(_times(c.grad, slope), b)
    return first, second


def _larger(c: Call, a: Any, b: Any, name: str, other: str) -> Any:
    half = call("div.Scalar", c.grad, 2)
    same = call("eq.Tensor", a, b)
    made = []
    for x, loses, needed in ((a, name, c.needs[0]), (b, other, c.needs[1])):
        g = call("where.self", same, half, c.grad) if needed else None
        made.append(_fit(call("masked_fill_.Scalar", g, call(loses, a, b), 0), x) if needed else None)
    return tuple(made)


RULES["maximum"] = lambda c, a, b: _larger(c, a, b, "lt.Tensor", "gt.Tensor")
RULES["minimum"] = lambda c, a, b: _larger(c, a, b, "gt.Tensor", "lt.Tensor")


@_rule("addcmul")
def _(c: Call, x: Tensor, a: Tensor, b: Tensor, *, value: Any = 1) -> Any:
    first, second = (
        _fit(_times(c.grad, call("mul.Scalar", o, value)), y) if n else None
        for o, y, n in ((b, a, c.needs[1]), (a, b, c.needs[2]))
    )
    return _fit(c.grad, x) if c.needs[0] else None, first, second


# ---------------------------------------------------------------- shapes


def _view(c: Call, x: Tensor, *rest: Any, **options: Any) -> Any:
    return (reshape(c.grad, _shape(x)),)


def _at(dims: Any, n: int) -> list[int]:
    return [d % n for d in ([dims] if isinstance(dims, int) else dims)]


RULES["view"] = RULES["_unsafe_view"] = _view
_alone("t", lambda c, x: call("t", c.grad))
_alone("transpose", lambda c, x, a, b: call("transpose.int", c.grad, a, b))
_alone("permute", lambda c, x, dims: call("permute", c.grad, [_at(dims, x.dim()).index(i) for i in range(x.dim())]))
_alone("unsqueeze", lambda c, x, dim: call("squeeze.dim", c.grad, dim))
_alone("expand", lambda c, x, size, **options: _fit(c.grad, x))
_alone("select", lambda c, x, dim, index: call("select_backward", c.grad, _shape(x), dim, index))
_alone("flip", lambda c, x, dims: call("flip", c.grad, dims))
_alone("tril", lambda c, x, k=0: call("tril", c.grad, k))
_alone("triu", lambda c, x, k=0: call("triu", c.grad, k))
_alone("slice", lambda c, x, dim=0, start=0, end=2**63 - 1, step=1: call(
    "slice_backward", c.grad, _shape(x), dim, start, end, step
))  # fmt: skip


@_rule("squeeze")
def _(c: Call, x: Tensor, dim: Any = None) -> Any:
    if isinstance(dim, int) and x.dim():
        return (call("unsqueeze", c.grad, dim) if x.shape[dim] == 1 else c.grad,)
    g = c.grad
    for d in range(x.dim()) if dim is None else sorted(_at(dim, x.dim())):
        if x.shape[d] == 1:
            g = call("unsqueeze", g, d)
    return (g,)


@_rule("cat")
def _(c: Call, tensors: Any, dim: int = 0) -> Any:
    start, made = 0, []
    for t in tensors:
        made.append(call("slice.Tensor", c.grad, dim, start, start + t.shape[dim]) if t.requires_grad else None)
        start += t.shape[dim]
    return (made,)


@_rule("stack")
def _(c: Call, tensors: Any, dim: int = 0) -> Any:
    return ([call("select.int", c.grad, dim, i) if t.requires_grad else None for i, t in enumerate(tensors)],)


def _joined(c: Call, x: Tensor, dim: int, name: str) -> Any:
    some = next(g for g in c.grads if g is not None)
    parts = [
        call("expand", call("zeros", [], dtype=some.dtype, device=some.device), _shape(out)) if g is None else g
        for g, out in zip(c.grads, c.out)
    ]
    return (call(name, parts, dim),)


RULES["unbind"] = lambda c, x, dim=0: _joined(c, x, dim, "stack")
RULES["split"] = RULES["split_with_sizes"] = lambda c, x, size, dim=0: _joined(c, x, dim, "cat")


def _spread(g: Tensor, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if dim is not None and not keepdim:
        dims = [dim] if isinstance(dim, int) else list(dim)
        for d in dims if len(dims) == 1 else sorted(d % x.dim() for d in dims):
            g = call("unsqueeze", g, d)
    return call("expand", g, _shape(x))


@_rule("sum")
def _(c: Call, x: Tensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    made = _spread(c.grad, x, dim or None, keepdim)
    return (made if made.dtype is x.dtype else call("_to_copy", made, dtype=x.dtype),)


@_rule("mean")
def _(c: Call, x: Tensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    made = _spread(c.grad, x, dim or None, keepdim)
    return (call("div.Scalar", made, x.numel() // max(c.out[0].numel(), 1)),)


@_rule("where")
def _(c: Call, condition: Tensor, a: Any, b: Any) -> Any:
    made: list[Any] = [None, None, None]
    for i, x in ((2, b), (1, a)):
        if c.needs[i]:
            zero = call("scalar_tensor", 0, dtype=c.grad.dtype)
            made[i] = _fit(call("where.self", condition, *((zero, c.grad) if i == 2 else (c.grad, zero))), x)
    return made


@_rule("clamp")
def _(c: Call, x: Tensor, low: Any = None, high: Any = None) -> Any:
    limits = [(name, v) for name, v in (("ge", low), ("le", high)) if v is not None]
    if not all(isinstance(v, (int, float)) for _, v in limits):
        raise NoFormula("clamp: the gradient with limits that are tensors of a subclass")
    zero = call("scalar_tensor", 0.0, dtype=c.grad.dtype)
    masks = [call(f"{name}.Scalar", x, v) for name, v in limits]
    inside = masks[0] if len(masks) == 1 else call("logical_and_", *masks)
    return (call("where.self", inside, c.grad, zero),)


@_rule("masked_fill")
def _(c: Call, x: Tensor, mask: Tensor, value: Any) -> Any:
    first = call("masked_fill.Scalar", c.grad, mask, 0) if c.needs[0] else None
    if len(c.needs) > 2 and c.needs[2]:
        zero = call("scalar_tensor", 0, dtype=c.grad.dtype)
        return first, None, call("sum", call("where.self", mask, c.grad, zero))
    return (first,)


@_rule("index")
def _(c: Call, x: Tensor, indices: Any) -> Any:
    zeros = call("new_zeros", c.grad, _shape(x))
    return (call("index_put", zeros, list(indices), c.grad, True),)


@_rule("gather")
def _(c: Call, x: Tensor, dim: int, index: Tensor, **options: Any) -> Any:
    return (call("scatter_add", call("new_zeros", c.grad, _shape(x)), dim, index, c.grad),)


@_rule("cumsum")
def _(c: Call, x: Tensor, dim: int, **options: Any) -> Any:
    return (call("flip", call("cumsum", call("flip", c.grad, [dim]), dim), [dim]),)


@_rule("repeat")
def _(c: Call, x: Tensor, repeats: Any) -> Any:
    extra = len(repeats) - x.dim()
    sizes = [n for i, r in enumerate(repeats) for n in ([r] if i < extra else [r, x.shape[i - extra]])]
    apart = reshape(c.grad, sizes)
    dims = [*range(extra), *range(extra, len(sizes), 2)]
    return (call("sum.dim_IntList", apart, dims) if dims else apart,)
