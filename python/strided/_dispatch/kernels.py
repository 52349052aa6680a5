"""Operations that only ``ops.aten`` has, made of the public functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

from ..func._batched import running
from ..func._grad import vjp
from ..nn import functional as F
from ..nn._reduction import name_of
from ..nn._top import convolution

if TYPE_CHECKING:
    from .._typing import Tensor


def _gradients(f: Any, wanted: Any, *inputs: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradients of f(*inputs) for those inputs that are wanted."""
    places = [i for i, (t, w) in enumerate(zip(inputs, wanted)) if w and t is not None]

    def of_wanted(*values):
        given = list(inputs)
        for i, value in zip(places, values):
            given[i] = value
        return f(*given)

    if running():  # of samples
        found = vjp(of_wanted, *(inputs[i] for i in places))[1](grad)
    else:
        with strided.enable_grad():
            leaves = [inputs[i].detach().requires_grad_() for i in places]
            found = strided.autograd.grad(of_wanted(*leaves), leaves, grad)
    gradients = dict(zip(places, found))
    return tuple(gradients.get(i) for i in range(len(inputs)))


def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, output_mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of ``convolution`` for input, weight and bias; None where output_mask is False."""

    def f(x: Tensor, w: Tensor) -> Tensor:
        return convolution(x, w, None, stride, padding, dilation, transposed, output_padding, groups)

    made = _gradients(f, output_mask[:2], input, weight, grad=grad_output) if any(output_mask[:2]) else (None, None)
    axes = [0, *range(2, grad_output.dim())]
    return *made, grad_output.sum(axes) if output_mask[2] else None


def native_layer_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: Any, mean: Tensor, rstd: Tensor, weight: Any, bias: Any,
    output_mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of ``native_layer_norm`` for input, weight and bias."""
    axes = list(range(input.dim() - len(normalized_shape), input.dim()))
    normal = (input - mean) * rstd
    g = grad_out if weight is None else grad_out * weight
    first = rstd * (g - g.mean(axes, keepdim=True) - normal * (g * normal).mean(axes, keepdim=True))
    rows = list(range(axes[0]))
    return (
        first if output_mask[0] else None,
        (grad_out * normal).sum(rows) if output_mask[1] and rows else grad_out * normal if output_mask[1] else None,
        (grad_out.sum(rows) if rows else grad_out) if output_mask[2] else None,
    )


def native_batch_norm_backward(
    grad_out: Tensor, input: Tensor, weight: Any, running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any,
    train: bool, eps: float, output_mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of ``native_batch_norm`` for input, weight and bias."""
    shape = [1, -1, *[1] * (input.dim() - 2)]
    axes = [0, *range(2, input.dim())]
    mean, scale = (save_mean, save_invstd) if train else (running_mean, (running_var + eps).rsqrt())
    normal = (input - mean.view(shape)) * scale.view(shape)
    g = grad_out if weight is None else grad_out * weight.view(shape)
    first = g * scale.view(shape)
    if train:
        first = scale.view(shape) * (g - g.mean(axes, keepdim=True) - normal * (g * normal).mean(axes, keepdim=True))
    return (
        first if output_mask[0] else None,
        (grad_out * normal).sum(axes) if output_mask[1] else None,
        grad_out.sum(axes) if output_mask[2] else None,
    )


def native_group_norm_backward(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Any, N: int, C: int, HxW: int, group: int,
    output_mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of ``native_group_norm`` for input, weight and bias."""
    x, g = (t.reshape(N, group, -1) for t in (input, grad_out))
    normal = (x - mean.view(N, group, 1)) * rstd.view(N, group, 1)
    if weight is not None:
        g = (grad_out.reshape(N, C, HxW) * weight.view(1, C, 1)).reshape(N, group, -1)
    first = rstd.view(N, group, 1) * (g - g.mean(2, keepdim=True) - normal * (g * normal).mean(2, keepdim=True))
    flat = grad_out.reshape(N, C, HxW)
    return (
        first.view(input.shape) if output_mask[0] else None,
        (flat * normal.reshape(N, C, HxW)).sum([0, 2]) if output_mask[1] else None,
        flat.sum([0, 2]) if output_mask[2] else None,
    )


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``softmax``; half_to_float: the result of float16 is float32."""
    return self.softmax(dim, dtype=strided.float32 if half_to_float else None)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``log_softmax``; half_to_float: the result of float16 is float32."""
    return self.log_softmax(dim, dtype=strided.float32 if half_to_float else None)


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """``nn.functional.nll_loss``, and the sum of the weights that it was divided by."""
    made = F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=name_of(reduction))
    valid = target != ignore_index
    total = valid.sum() if weight is None else weight[target.clamp(min=0)].mul(valid).sum()
    return made, total.to(self.dtype) if reduction else self.new_zeros(())


nll_loss2d_forward = nll_loss_forward


def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """The gradient of ``nll_loss_forward``."""

    def f(x: Tensor) -> Tensor:
        return F.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=name_of(reduction))

    return _gradients(f, [True], self, grad=grad_output)[0]


nll_loss2d_backward = nll_loss_backward


def nll_loss(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Tensor:
    """``nn.functional.nll_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=name_of(reduction))


nll_loss2d = nll_loss_nd = nll_loss


def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Any = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """``nn.functional.cross_entropy``; reduction 0: none, 1: mean, 2: sum."""
    return F.cross_entropy(
        self,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=name_of(reduction),
        label_smoothing=label_smoothing,
    )


def l1_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``nn.functional.l1_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.l1_loss(self, target, reduction=name_of(reduction))


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``nn.functional.soft_margin_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.soft_margin_loss(self, target, reduction=name_of(reduction))


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``nn.functional.multilabel_margin_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.multilabel_margin_loss(self, target, reduction=name_of(reduction))


def multi_margin_loss(
    self: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: int = 1
) -> Tensor:
    """``nn.functional.multi_margin_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.multi_margin_loss(self, target, p, margin, weight, reduction=name_of(reduction))


def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """``nn.functional.mse_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.mse_loss(self, target, reduction=name_of(reduction))


def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of ``mse_loss`` for self."""
    return 2 * (self - target) * grad_output / (self.numel() if reduction == 1 else 1)


def huber_loss(self: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
    """``nn.functional.huber_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.huber_loss(self, target, reduction=name_of(reduction), delta=delta)


def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    """``nn.functional.smooth_l1_loss``; reduction 0: none, 1: mean, 2: sum."""
    return F.smooth_l1_loss(self, target, reduction=name_of(reduction), beta=beta)


def binary_cross_entropy(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1) -> Tensor:
    """``nn.functional.binary_cross_entropy``; reduction 0: none, 1: mean, 2: sum."""
    return F.binary_cross_entropy(self, target, weight, reduction=name_of(reduction))


def binary_cross_entropy_with_logits(
    self: Tensor, target: Tensor, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits``; reduction 0: none, 1: mean, 2: sum."""
    return F.binary_cross_entropy_with_logits(self, target, weight, reduction=name_of(reduction), pos_weight=pos_weight)


def max_pool2d_with_indices(self: Tensor, kernel_size: Any, stride: Any = None, *rest: Any) -> Any:
    """``nn.functional.max_pool2d`` with the positions."""
    return F.max_pool2d(self, kernel_size, stride or None, *rest, return_indices=True)


def log_sigmoid(self: Tensor) -> Tensor:
    """``nn.functional.logsigmoid`` under the operation's name."""
    return F.logsigmoid(self)


def im2col(self: Tensor, kernel_size: Any, *options: Any) -> Tensor:
    """``nn.functional.unfold``."""
    return F.unfold(self, kernel_size, *options)


def col2im(self: Tensor, output_size: Any, kernel_size: Any, *options: Any) -> Tensor:
    """``nn.functional.fold``."""
    return F.fold(self, output_size, kernel_size, *options)


def avg_pool2d(self: Tensor, kernel_size: Any, stride: Any = None, *rest: Any) -> Tensor:
    """``nn.functional.avg_pool2d``."""
    return F.avg_pool2d(self, kernel_size, stride or None, *rest)


def avg_pool2d_backward(grad_output: Tensor, self: Tensor, *options: Any) -> Tensor:
    """The gradient of ``avg_pool2d``."""
    return _gradients(lambda x: avg_pool2d(x, *options), [True], self, grad=grad_output)[0]


def _adaptive_avg_pool2d(self: Tensor, output_size: Any) -> Tensor:
    """``nn.functional.adaptive_avg_pool2d``."""
    return F.adaptive_avg_pool2d(self, output_size)


def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``_adaptive_avg_pool2d``."""
    size = grad_output.shape[-2:]
    return _gradients(lambda x: F.adaptive_avg_pool2d(x, size), [True], self, grad=grad_output)[0]


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """``nn.functional.embedding``, with the weight first."""
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradient of ``embedding`` for the weight."""
    weight = grad_output.new_zeros(num_weights, grad_output.shape[-1])
    return _gradients(
        lambda w: embedding(w, indices, padding_idx, scale_grad_by_freq), [True], weight, grad=grad_output
    )[0]


def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Any = None, scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """``nn.functional.scaled_dot_product_attention``, and the logarithms of the sums of exponentials."""
    made = F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    with strided.no_grad():
        scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
        if attn_mask is not None:
            scores = (
                scores.masked_fill(~attn_mask, -float("inf")) if attn_mask.dtype is strided.bool else scores + attn_mask
            )
        if is_causal:
            scores = scores.masked_fill(~strided.ones_like(scores, dtype=strided.bool).tril(), -float("inf"))
        return made, scores.logsumexp(-1)


def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, dropout_p: float,
    is_causal: bool, *, attn_mask: Any = None, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of the attention for query, key and value."""

    def f(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, scale=scale)

    return _gradients(f, [True] * 3, query, key, value, grad=grad_out)


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    """grad_output where self is above the threshold, else 0."""
    return strided.where(self > threshold, grad_output, 0)


def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of tanh, from its result."""
    return grad_output * (1 - output * output).conj()


def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of sigmoid, from its result."""
    return grad_output * ((1 - output) * output).conj()


def gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = "none") -> Tensor:
    """The gradient of ``nn.functional.gelu``."""
    return _gradients(lambda x: F.gelu(x, approximate=approximate), [True], self, grad=grad_output)[0]


def _by_name(name: str) -> Any:
    def backward(grad_output: Tensor, self: Tensor, *options: Any) -> Tensor:
        return _gradients(lambda x: getattr(F, name)(x, *options), [True], self, grad=grad_output)[0]

    backward.__doc__ = f"The gradient of ``nn.functional.{name}``."
    return backward


silu_backward, mish_backward, hardswish_backward, hardsigmoid_backward, glu_backward, softplus_backward = map(
    _by_name, ("silu", "mish", "hardswish", "hardsigmoid", "glu", "softplus")
)
hardtanh_backward = _by_name("hardtanh")
hardshrink_backward, softshrink_backward = map(_by_name, ("hardshrink", "softshrink"))


def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: float, self_is_result: bool) -> Tensor:
    """The gradient of ``nn.functional.leaky_relu``."""
    return strided.where(self > 0, grad_output, grad_output * negative_slope)


def elu_backward(
    grad_output: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """The gradient of ``nn.functional.elu``, from its operand or its result."""
    x = self_or_result
    falling = (
        (x + alpha * scale) * input_scale if is_result else (x * input_scale).exp() * (alpha * scale * input_scale)
    )
    return grad_output * strided.where(x > 0, scale, falling)


def _of_loss(name: str) -> Any:
    def backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float = 1.0) -> Tensor:
        def f(x: Tensor) -> Tensor:
            return getattr(F, name)(x, target, reduction=name_of(reduction), **{options[name]: beta})

        return _gradients(f, [True], self, grad=grad_output)[0]

    options = {"smooth_l1_loss": "beta", "huber_loss": "delta"}
    backward.__doc__ = f"The gradient of ``nn.functional.{name}``."
    return backward


smooth_l1_loss_backward, huber_loss_backward = map(_of_loss, ("smooth_l1_loss", "huber_loss"))


def diagonal_backward(grad_output: Tensor, input_sizes: Any, offset: int, dim1: int, dim2: int) -> Tensor:
    """Zeros of these sizes, with the gradient on a diagonal."""
    made = grad_output.new_zeros(input_sizes)
    made.diagonal(offset, dim1, dim2).copy_(grad_output)
    return made


def unfold_backward(grad_in: Tensor, input_sizes: Any, dim: int, size: int, step: int) -> Tensor:
    """The gradient of ``Tensor.unfold``."""
    x = grad_in.new_zeros(input_sizes)
    return _gradients(lambda x: x.unfold(dim, size, step), [True], x, grad=grad_in)[0]


def select_backward(grad_output: Tensor, input_sizes: Any, dim: int, index: int) -> Tensor:
    """Zeros of these sizes, with the gradient at an index of an axis."""
    made = grad_output.new_zeros(input_sizes)
    made.select(dim, index).copy_(grad_output)
    return made


def slice_backward(grad_output: Tensor, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Tensor:
    """Zeros of these sizes, with the gradient in a slice of an axis."""
    made = grad_output.new_zeros(input_sizes)
    made[(slice(None),) * (dim % len(input_sizes)) + (slice(start, min(end, input_sizes[dim]), step),)] = grad_output
    return made


def t(self: Tensor) -> Tensor:
    """``Tensor.t``."""
    return self.t()


def _unsafe_view(self: Tensor, size: Any) -> Tensor:
    """``Tensor.view``."""
    return self.view(size)


def _to_copy(self: Tensor, *, dtype: Any = None, device: Any = None, memory_format: Any = None, **other: Any) -> Tensor:
    """``Tensor.to(copy=True)``."""
    return self.to(device or self.device, dtype or self.dtype, copy=True)


def _local_scalar_dense(self: Tensor) -> Any:
    """``Tensor.item``."""
    return self.item()


def lift_fresh(self: Tensor) -> Tensor:
    """The tensor itself, which was just made."""
    return self


def alias(self: Tensor) -> Tensor:
    """A view of the whole tensor."""
    return self.view(self.shape)


def index(self: Tensor, indices: Any) -> Tensor:
    """``self[indices]``; None takes the whole axis."""
    return self[tuple(slice(None) if i is None else i for i in indices)]


def linalg_vector_norm(
    self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """``linalg.vector_norm``."""
    return strided.linalg.vector_norm(self, ord, dim, keepdim, dtype=dtype)


def rsub(self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """other - alpha * self."""
    return other - self * alpha if alpha != 1 else other - self


# {name: function}
KERNELS = {
    name: f
    for name, f in list(globals().items())
    if callable(f) and getattr(f, "__module__", None) == __name__ and name not in ("_gradients", "_by_name", "_of_loss")
}
