"""The operations of backward passes, for those who see operations: what PyTorch's formulas call.

A result that has a gradient gets a hook before its node. While a mode is on, the hook hands the operations of the
formula to it. The gradient that the pass goes on with is the engine's: these results are thrown away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _C
from ..autograd.grad_mode import enable_grad, no_grad
from . import call, state
from .composites import reshape

if TYPE_CHECKING:
    from .._typing import Callable, Tensor

_Tensor = _C.Tensor
RULES: dict[str, Callable[..., Any]] = {}


def _rule(*names: str) -> Callable[..., Any]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(names, f))
        return f

    return add


class _Call:
    """What a rule reads: the gradient, the arguments, the results, and which arguments want a gradient."""

    def __init__(self, args: Any, kwargs: Any, results: tuple[Any, ...]) -> None:
        self.args, self.kwargs = list(args), kwargs
        self.needs = [isinstance(a, _Tensor) and a.requires_grad for a in args]
        self.out = [r.detach() if isinstance(r, _Tensor) else r for r in results]
        self.grad: Tensor = None  # type: ignore[assignment]


def watch(op: Any, args: Any, kwargs: Any, result: Any) -> None:
    """Reports the formula of the operation when its backward pass runs."""
    name = op.overloadpacket.__name__
    rule = RULES.get(name.removesuffix("_"))
    results = result if isinstance(result, (tuple, list)) else (result,)
    if rule is None or not results or not isinstance(results[0], _Tensor) or not results[0].requires_grad:
        return
    node = results[0].grad_fn
    if node is None:
        return
    made = _Call(args, kwargs, tuple(results))
    if name.endswith("_"):  # self was a leaf or another value before
        made.needs[0] = True

    def report(grads: Any) -> None:
        if not state.modes or state.computes or grads[0] is None:
            return
        made.grad = grads[0].detach()
        with no_grad():
            rule(made, *made.args, **made.kwargs)

    index = results[0].output_nr
    node.register_prehook(lambda grads: report(grads[index:]))


def _fit(g: Tensor, x: Any) -> Tensor:
    """The gradient summed to the shape of the operand."""
    if not isinstance(x, _Tensor) or g.shape == x.shape:
        return g
    extra = g.dim() - x.dim()
    axes = [*range(extra), *(i + extra for i, n in enumerate(x.shape) if n == 1 and g.shape[i + extra] != 1)]
    made = call("sum.dim_IntList", g, axes, True)
    return call("view", made, list(x.shape)) if extra else made


def _shape(x: Any) -> list[int]:
    return list(x.shape)


def _by_columns(x: Tensor) -> bool:
    return x.stride(0) == 1 and x.stride(1) == x.shape[0]


def _turned(x: Tensor) -> Tensor:
    """The transpose of an operand, which has a gradient where the operand has one, as a saved tensor in PyTorch."""
    with enable_grad():
        return call("t", x) if x.dim() == 2 else call("transpose.int", x, 1, 2)


def _mm_first(c: _Call, a: Tensor, b: Tensor) -> None:
    if _by_columns(a):
        call("t", call("mm", b, call("t", c.grad)))
    else:
        call("mm", c.grad, _turned(b))


def _mm_second(c: _Call, a: Tensor, b: Tensor) -> None:
    if _by_columns(b):
        call("t", call("mm", call("t", c.grad), a))
    else:
        call("mm", _turned(a), c.grad)


@_rule("mm")
def _(c: _Call, a: Tensor, b: Tensor) -> None:
    if c.needs[1]:
        _mm_second(c, a, b)
    if c.needs[0]:
        _mm_first(c, a, b)


@_rule("addmm")
def _(c: _Call, input: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> None:
    if c.needs[1]:
        _mm_first(c, a, b)
    if c.needs[2]:
        _mm_second(c, a, b)
    if c.needs[0]:
        _fit(c.grad if beta == 1 else call("mul.Scalar", c.grad, beta), input)


def _bmm(c: _Call, a: Tensor, b: Tensor, needs: Any) -> None:
    if needs[1]:
        call("bmm", _turned(a), c.grad)
    if needs[0]:
        call("bmm", c.grad, _turned(b))


@_rule("bmm")
def _(c: _Call, a: Tensor, b: Tensor) -> None:
    _bmm(c, a, b, c.needs)


@_rule("baddbmm")
def _(c: _Call, input: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> None:
    _bmm(c, a, b, c.needs[1:])
    if c.needs[0]:
        _fit(c.grad, input)


@_rule("mv")
def _(c: _Call, a: Tensor, b: Tensor) -> None:
    if c.needs[0]:
        call("mul.Tensor", call("unsqueeze", c.grad, 1), b)
    if c.needs[1]:
        call("mv", call("t", a), c.grad)


@_rule("dot")
def _(c: _Call, a: Tensor, b: Tensor) -> None:
    for other, needed in zip((b, a), c.needs):
        if needed:
            call("mul.Tensor", other, c.grad)


@_rule("convolution")
def _(c: _Call, x: Tensor, weight: Tensor, bias: Any, *options: Any) -> None:
    sizes = [0] if bias is None else _shape(bias)
    call("convolution_backward", c.grad, x, weight, sizes, *options, [*c.needs[:2], c.needs[2]])


@_rule("_scaled_dot_product_flash_attention_for_cpu")
def _(c: _Call, q: Tensor, k: Tensor, v: Tensor, dropout: float = 0.0, causal: bool = False, **options: Any) -> None:
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    call(name, c.grad, q, k, v, *c.out[:2], dropout, causal, **options)


@_rule("native_layer_norm")
def _(c: _Call, x: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> None:
    mask = [c.needs[0], c.needs[2], c.needs[3]]
    call("native_layer_norm_backward", c.grad, x, shape, *c.out[1:], weight, bias, mask)


@_rule("native_batch_norm")
def _(
    c: _Call, x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, train: bool, momentum: float, eps: float
) -> None:
    call("native_batch_norm_backward", c.grad, x, weight, mean, var, *c.out[1:], train, eps, c.needs[:3])


@_rule("native_group_norm")
def _(c: _Call, x: Tensor, weight: Any, bias: Any, n: int, k: int, size: int, group: int, eps: float) -> None:
    call("native_group_norm_backward", c.grad, x, *c.out[1:], weight, n, k, size, group, c.needs[:3])


@_rule("native_dropout")
def _(c: _Call, x: Tensor, p: float, train: Any) -> None:
    call("native_dropout_backward", c.grad, c.out[1], 1 / (1 - p))


@_rule("_softmax")
def _(c: _Call, x: Tensor, dim: int, half: bool) -> None:
    call("_softmax_backward_data", c.grad, c.out[0], dim, x.dtype)


@_rule("_log_softmax")
def _(c: _Call, x: Tensor, dim: int, half: bool) -> None:
    call("_log_softmax_backward_data", c.grad, c.out[0], dim, x.dtype)


@_rule("nll_loss_forward")
def _(c: _Call, x: Tensor, *options: Any) -> None:
    call("nll_loss_backward", c.grad, x, *options, c.out[1])


@_rule("nll_loss2d_forward")
def _(c: _Call, x: Tensor, *options: Any) -> None:
    call("nll_loss2d_backward", c.grad, x, *options, c.out[1])


@_rule("mse_loss")
def _(c: _Call, x: Tensor, target: Tensor, reduction: int = 1) -> None:
    if c.needs[0]:
        call("mse_loss_backward", c.grad, x, target, reduction)
    if c.needs[1]:
        call("mse_loss_backward", c.grad, target, x, reduction)


@_rule("embedding")
def _(c: _Call, weight: Tensor, indices: Tensor, padding: int = -1, scale: bool = False, sparse: bool = False) -> None:
    if not sparse:
        call("embedding_dense_backward", c.grad, indices, weight.shape[0], padding, scale)


@_rule("max_pool2d_with_indices")
def _(c: _Call, x: Tensor, kernel: Any, stride: Any = (), padding: Any = (0, 0), dilation: Any = (1, 1),
      ceil: bool = False) -> None:  # fmt: skip
    call("max_pool2d_with_indices_backward", c.grad, x, kernel, stride, list(padding), list(dilation), ceil, c.out[1])


@_rule("avg_pool2d")
def _(c: _Call, x: Tensor, kernel: Any, stride: Any = (), padding: Any = (0, 0), ceil: bool = False, pads: bool = True,
      divisor: Any = None) -> None:  # fmt: skip
    call("avg_pool2d_backward", c.grad, x, kernel, stride, list(padding), ceil, pads, divisor)


@_rule("_adaptive_avg_pool2d")
def _(c: _Call, x: Tensor, size: Any) -> None:
    call("_adaptive_avg_pool2d_backward", c.grad, x)


# ---------------------------------------------------------------- one operand


@_rule("relu")
def _(c: _Call, x: Tensor) -> None:
    call("threshold_backward", c.grad, c.out[0], 0)


@_rule("gelu")
def _(c: _Call, x: Tensor, **options: Any) -> None:
    call("gelu_backward", c.grad, x, **options)


for _name in ("silu", "mish", "hardswish", "hardsigmoid"):
    RULES[_name] = lambda c, x, _name=_name: call(f"{_name}_backward", c.grad, x)
RULES["glu"] = lambda c, x, dim=-1: call("glu_backward", c.grad, x, dim)
RULES["hardtanh"] = lambda c, x, low=-1, high=1: call("hardtanh_backward", c.grad, x, low, high)
RULES["softplus"] = lambda c, x, beta=1, threshold=20: call("softplus_backward", c.grad, x, beta, threshold)
RULES["tanh"] = lambda c, x: call("tanh_backward", c.grad, c.out[0])
RULES["sigmoid"] = lambda c, x: call("sigmoid_backward", c.grad, c.out[0])
RULES["exp"] = lambda c, x: call("mul.Tensor", c.grad, c.out[0])
RULES["log"] = lambda c, x: call("div.Tensor", c.grad, x)
RULES["neg"] = lambda c, x: call("neg", c.grad)
RULES["abs"] = lambda c, x: call("mul.Tensor", c.grad, call("sgn", x))
RULES["sin"] = lambda c, x: call("mul.Tensor", c.grad, call("cos", x))
RULES["cos"] = lambda c, x: call("mul.Tensor", c.grad, call("neg", call("sin", x)))
RULES["sqrt"] = lambda c, x: call("div.Tensor", c.grad, call("mul.Scalar", c.out[0], 2))
RULES["_to_copy"] = lambda c, x, **options: call("_to_copy", c.grad, dtype=x.dtype)


# ---------------------------------------------------------------- two operands


def _add(c: _Call, a: Any, b: Any, *, alpha: Any = 1) -> None:
    if c.needs[1]:
        _fit(c.grad if alpha == 1 else call("mul.Tensor", c.grad, alpha), b)
    if c.needs[0]:
        _fit(c.grad, a)


def _sub(c: _Call, a: Any, b: Any, *, alpha: Any = 1) -> None:
    if c.needs[1]:
        _fit(call("neg", c.grad), b)
    if c.needs[0]:
        _fit(c.grad, a)


RULES["add"], RULES["sub"] = _add, _sub
RULES["rsub"] = lambda c, a, b, *rest: call("neg", c.grad)


@_rule("mul")
def _(c: _Call, a: Any, b: Any) -> None:
    made = [call("mul.Tensor", c.grad, x) if c.needs[i] else None for i, x in ((1, a), (0, b))]
    for g, x in zip(made, (b, a)):
        if g is not None:
            _fit(g, x)


@_rule("div")
def _(c: _Call, a: Any, b: Any, *, rounding_mode: Any = None) -> None:
    if rounding_mode is not None:
        return
    if c.needs[1]:
        ratio = call("div.Tensor", call("div.Tensor", a, b), b)
        _fit(call("mul.Tensor", call("neg", c.grad), ratio), b)
    if c.needs[0]:
        _fit(call("div.Tensor", c.grad, b), a)


@_rule("pow")
def _(c: _Call, a: Any, b: Any) -> None:
    if isinstance(b, (int, float)) and c.needs[0]:
        if b == 1:
            return
        power = call("pow.Tensor_Scalar", a, b - 1)
        call("mul.Tensor", c.grad, call("mul.Scalar", power, b))


# ---------------------------------------------------------------- shapes


def _view(c: _Call, x: Tensor, *rest: Any, **options: Any) -> None:
    reshape(c.grad, _shape(x))


RULES["view"] = RULES["_unsafe_view"] = _view
RULES["t"] = lambda c, x: call("t", c.grad)
RULES["transpose"] = lambda c, x, a, b: call("transpose.int", c.grad, a, b)
RULES["permute"] = lambda c, x, dims: call(
    "permute", c.grad, [[d % x.dim() for d in dims].index(i) for i in range(x.dim())]
)
RULES["unsqueeze"] = lambda c, x, dim: call("squeeze.dim", c.grad, dim)
RULES["expand"] = lambda c, x, size: _fit(c.grad, x)
RULES["select"] = lambda c, x, dim, index: call("select_backward", c.grad, _shape(x), dim, index)
RULES["slice"] = lambda c, x, dim=0, start=0, end=2**63 - 1, step=1: call(
    "slice_backward", c.grad, _shape(x), dim, start, end, step
)


@_rule("squeeze")
def _(c: _Call, x: Tensor, dim: Any = None) -> None:
    if isinstance(dim, int) and x.dim():
        if x.shape[dim] == 1:
            call("unsqueeze", c.grad, dim)
    else:
        reshape(c.grad, _shape(x))


@_rule("cat")
def _(c: _Call, tensors: Any, dim: int = 0) -> None:
    start = 0
    for t in tensors:
        if t.requires_grad:
            call("slice.Tensor", c.grad, dim, start, start + t.shape[dim])
        start += t.shape[dim]


@_rule("stack")
def _(c: _Call, tensors: Any, dim: int = 0) -> None:
    for i, t in enumerate(tensors):
        if t.requires_grad:
            call("select.int", c.grad, dim, i)


def _spread(c: _Call, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    g = c.grad
    if dim is not None and not keepdim:
        dims = [dim] if isinstance(dim, int) else list(dim)
        for d in dims if len(dims) == 1 else sorted(d % x.dim() for d in dims):
            g = call("unsqueeze", g, d)
    return call("expand", g, _shape(x))


@_rule("sum")
def _(c: _Call, x: Tensor, dim: Any = None, keepdim: bool = False, **options: Any) -> None:
    _spread(c, x, dim, keepdim)


@_rule("mean")
def _(c: _Call, x: Tensor, dim: Any = None, keepdim: bool = False, **options: Any) -> None:
    call("div.Scalar", _spread(c, x, dim, keepdim), x.numel() // max(c.out[0].numel(), 1))


@_rule("where")
def _(c: _Call, condition: Tensor, a: Any, b: Any) -> None:
    for i, x in ((2, b), (1, a)):
        if c.needs[i]:
            zero = call("scalar_tensor", 0, dtype=c.grad.dtype)
            _fit(call("where.self", condition, *((zero, c.grad) if i == 2 else (c.grad, zero))), x)


@_rule("clamp")
def _(c: _Call, x: Tensor, low: Any = None, high: Any = None) -> None:
    limits = [(name, v) for name, v in (("ge", low), ("le", high)) if v is not None]
    if all(isinstance(v, (int, float)) for _, v in limits):
        zero = call("scalar_tensor", 0.0, dtype=c.grad.dtype)
        masks = [call(f"{name}.Scalar", x, v) for name, v in limits]
        inside = masks[0] if len(masks) == 1 else call("logical_and_", *masks)
        call("where.self", inside, c.grad, zero)


@_rule("masked_fill")
def _(c: _Call, x: Tensor, mask: Tensor, value: Any) -> None:
    call("masked_fill.Scalar", c.grad, mask, 0)
