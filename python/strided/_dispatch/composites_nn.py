"""Functions of ``nn.functional`` as the operations that they consist of in PyTorch on the CPU."""

from __future__ import annotations

import functools
import inspect
import math
from typing import TYPE_CHECKING, Any

from .. import _C
from . import call
from .composites import COMPOSED, again, composed
from .composites_shapes import reshape

if TYPE_CHECKING:
    from .._typing import Callable, Tensor

_REDUCTION = {"none": 0, "mean": 1, "sum": 2}
_signature = functools.lru_cache(None)(inspect.signature)


def _list(value: Any, n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else list(value) * (n if len(value) == 1 else 1)


def _convolution(n: int, transposed: bool) -> Callable[..., Any]:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        *rest: Any,
        **more: Any,
    ) -> Tensor:
        names = ("output_padding", "groups", "dilation") if transposed else ("dilation", "groups")
        more.update(zip(names, rest))
        dilation, groups = _list(more.get("dilation", 1), n), more.get("groups", 1)
        if padding == "valid":
            padding = 0
        elif padding == "same":
            total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
            padding = [t // 2 for t in total]
            if any(t % 2 for t in total):
                ends = [i for t in reversed(total) for i in (0, t % 2)]
                input = call("constant_pad_nd", input, ends, 0.0)
        alone = input.dim() == n + 1
        x = call("unsqueeze", input, 0) if alone else input
        more_out = _list(more.get("output_padding", 0), n)
        made = call("convolution", x, weight, bias, _list(stride, n), _list(padding, n), dilation, transposed, more_out,
                    groups)  # fmt: skip
        return call("squeeze.dim", made, 0) if alone else made

    return conv


for _n in (1, 2, 3):
    composed(f"conv{_n}d")(_convolution(_n, False))
    composed(f"conv_transpose{_n}d")(_convolution(_n, True))


@composed("batch_norm")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    if training and input.numel() == input.shape[1] * (input.numel() > 0):
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    return call("native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composed("layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    return call("native_layer_norm", input, list(normalized_shape), weight, bias, eps)[0]


@composed("group_norm")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    n, c = input.shape[:2]
    return call("native_group_norm", input, weight, bias, n, c, math.prod(input.shape[2:]), num_groups, eps)[0]


def _softmax(name: str) -> Callable[..., Any]:
    def of(func: Any, args: Any, kwargs: Any) -> Tensor:
        x, *rest = args
        dim = kwargs.get("dim", rest[0] if rest else None)
        dtype = kwargs.get("dtype", next((r for r in rest[1:] if isinstance(r, _C.dtype)), None))
        if dim is None or kwargs.get("_stacklevel") not in (None, 3):
            return func(*args, **kwargs)
        if dtype is not None and dtype != x.dtype:
            x = call("_to_copy", x, dtype=dtype)
        return call(name, x, dim, False)

    return of


COMPOSED["softmax"] = COMPOSED["special_softmax"] = _softmax("_softmax")
COMPOSED["log_softmax"] = COMPOSED["special_log_softmax"] = _softmax("_log_softmax")


def _old(reduction: str, size_average: Any, reduce: Any) -> int:
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    return _REDUCTION[reduction]


def _loss(name: str, *extra: str) -> Callable[..., Any]:
    """A loss of two tensors: reduction as a number, then these arguments where they are not the default."""

    def of(func: Any, args: Any, kwargs: Any) -> Tensor:
        given = _signature(func).bind(*args, **kwargs)
        given.apply_defaults()
        a = given.arguments
        x, y, binary = a["input"], a["target"], name.startswith("binary")
        if a.get("reduction") not in _REDUCTION or (binary and x.shape != y.shape):
            return func(*args, **kwargs)  # which raises an error
        weight = None if "weight" in extra else a.get("weight")
        reduction = _old(a["reduction"], a.get("size_average"), a.get("reduce"))
        if x.shape != y.shape:
            import strided

            strided.nn.functional._loss._pair(x, y)  # which warns
            shape = strided.broadcast_shapes(x.shape, y.shape)
            x, y = (t if t.shape == shape else call("expand", t, list(shape)) for t in (x, y))
        options = [a[k] for k in extra]
        if weight is not None:
            made = call("mul.Tensor", call(name, x, y, 0, *options), weight)
            total = call("sum", made) if reduction else made
            return call("div.Tensor", total, call("sum", weight)) if reduction == 1 else total
        options = [*options, reduction] if binary else [reduction, *options]
        while options and (options[-1] is None or (not isinstance(options[-1], _C.Tensor) and options[-1] == 1)):
            options.pop()
        return call(name, x, y, *options)

    return of


COMPOSED["mse_loss"] = _loss("mse_loss")
COMPOSED["huber_loss"] = _loss("huber_loss", "delta")
COMPOSED["smooth_l1_loss"] = _loss("smooth_l1_loss", "beta")
COMPOSED["binary_cross_entropy"] = _loss("binary_cross_entropy", "weight")
COMPOSED["binary_cross_entropy_with_logits"] = _loss("binary_cross_entropy_with_logits", "weight", "pos_weight")


@composed("l1_loss")
def _l1(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", **other: Any
) -> Tensor:
    made = call("abs", call("sub.Tensor", input, target))
    kind = _old(reduction, size_average, reduce)
    return call("mean", made) if kind == 1 else call("sum", made) if kind == 2 else made


def _nll(input: Tensor, target: Tensor, weight: Any, reduction: int, ignore: int) -> Tensor:
    if input.dim() > 4 or input.dim() == 3:
        n, c = input.shape[:2]
        shape = list(target.shape)
        input = call("view", input, [n, c, 1, -1])
        target = call("view", target, [n, 1, -1])
        made = call("nll_loss2d_forward", input, target, weight, reduction, ignore)[0]
        return call("view", made, shape) if reduction == 0 else made
    name = "nll_loss2d_forward" if input.dim() == 4 else "nll_loss_forward"
    return call(name, input, target, weight, reduction, ignore)[0]


@composed("nll_loss")
def _nll_loss(
    input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    return _nll(input, target, weight, _old(reduction, size_average, reduce), ignore_index)


def _cross_entropy(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = _signature(func).bind(*args, **kwargs)
    given.apply_defaults()
    a = given.arguments
    x, target = a["input"], a["target"]
    if a["label_smoothing"] or x.shape == target.shape or target.dtype.is_floating_point:
        return again(func, args, kwargs)
    made = call("_log_softmax", x, 1 if x.dim() > 1 else 0, False)
    return _nll(made, target, a["weight"], _old(a["reduction"], a["size_average"], a["reduce"]), a["ignore_index"])


COMPOSED["cross_entropy"] = _cross_entropy


def _pool2d(func: Any, args: Any, kwargs: Any) -> Any:
    given = _signature(func).bind(*args, **kwargs)
    given.apply_defaults()
    a = given.arguments
    stride = [] if a["stride"] is None else _list(a["stride"], 2)
    options, usual = [_list(a["padding"], 2), _list(a["dilation"], 2), a["ceil_mode"]], [[0, 0], [1, 1], False]
    while options and options[-1] == usual[len(options) - 1]:
        options.pop()
    given = [stride, *options] if stride or options else []
    made = call("max_pool2d_with_indices", a["input"], _list(a["kernel_size"], 2), *given)
    return made if a["return_indices"] or func.__name__.endswith("indices") else made[0]


COMPOSED["max_pool2d"] = COMPOSED["max_pool2d_with_indices"] = _pool2d


@composed("avg_pool2d")
def _avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, *rest: Any, **more: Any) -> Tensor:
    names = ("padding", "ceil_mode", "count_include_pad", "divisor_override")
    a = {
        "padding": 0,
        "ceil_mode": False,
        "count_include_pad": True,
        "divisor_override": None,
        **more,
        **dict(zip(names, rest)),
    }
    kernel = _list(kernel_size, 2)
    options = [_list(a["padding"], 2), a["ceil_mode"], a["count_include_pad"], a["divisor_override"]]
    for default in (None, True, False, [0, 0]):
        if options[-1] != default:
            break
        options.pop()
    steps = [] if stride is None else _list(stride, 2)
    return call("avg_pool2d", input, kernel, *([steps, *options] if steps or options else []))


@composed("adaptive_avg_pool2d")
def _adaptive(input: Tensor, output_size: Any) -> Tensor:
    sizes = (
        [s if s is not None else n for s, n in zip(_list(output_size, 2), input.shape[-2:])]
        if output_size is not None
        else (list(input.shape[-2:]))
    )
    if sizes == [1, 1]:
        return call("mean.dim", input, [-1, -2], True)
    return call("_adaptive_avg_pool2d", input, sizes)


def _activation(name: str) -> Callable[..., Any]:
    def of(func: Any, args: Any, kwargs: Any) -> Tensor:
        given = _signature(func).bind(*args, **kwargs)
        a = dict(given.arguments)
        op = name + ("_" if a.pop("inplace", False) else "")
        first = a.pop("input", a.pop("self", None))
        if name == "gelu":
            return call(op, first, **{k: v for k, v in a.items() if v != "none"})
        return call(op, first, *a.values())

    return of


for (
    _name
) in "gelu silu mish hardswish hardsigmoid elu leaky_relu hardtanh glu softplus hardshrink softshrink relu".split():
    COMPOSED[_name] = _activation(_name)


@composed("relu6")
def _relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return call("hardtanh_" if inplace else "hardtanh", input, 0.0, 6.0)


@composed("dropout")
def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    import strided

    if (not training or p == 0) and hasattr(type(input), "__strided_dispatch__"):
        return input
    if not training or p == 0 or not 0 < p < 1 or inplace:
        return strided.nn.functional.dropout(input, p, training, inplace)
    return call("native_dropout", input, p, True)[0]


def _pad(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = {"mode": "constant", "value": None, **dict(zip(("input", "pad", "mode", "value"), args)), **kwargs}
    if given["mode"] != "constant":
        return call("pad", given["input"], list(given["pad"]), given["mode"])
    return call("constant_pad_nd", given["input"], list(given["pad"]), given["value"] or 0.0)


COMPOSED["pad"] = _pad


@composed("embedding")
def _embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    import strided

    if max_norm is not None:
        return strided.nn.functional.embedding(
            input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        )
    rest = [-1 if padding_idx is None else padding_idx % weight.shape[0], scale_grad_by_freq, sparse]
    for default in (False, False, -1):
        if rest[-1] != default:
            break
        rest.pop()
    return call("embedding", weight, input, *rest)


def _order_of_operation(name: str, of: Callable[..., Tensor]) -> None:
    """For a function of ``nn.functional`` whose operation, which is public too, has its arguments in another order."""
    import strided

    direct = getattr(strided, name)

    def report(func: Any, args: Any, kwargs: Any) -> Any:
        return call(name, *args, **kwargs) if func is direct else of(*args, **kwargs)

    COMPOSED[name] = report


def _instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    return call("instance_norm", input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def _embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    import strided

    if max_norm is not None or (input.dim() == 2) != (offsets is None):
        return strided.nn.functional.embedding_bag(
            input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights,
            include_last_offset, padding_idx,
        )  # fmt: skip
    if offsets is None:
        offsets = call("arange.start_step", 0, input.numel(), max(input.shape[1], 1), device=input.device)
        input = call("view", input, [-1])
        if per_sample_weights is not None:
            per_sample_weights = call("view", per_sample_weights, [-1])
    return call(
        "embedding_bag", weight, input, offsets, scale_grad_by_freq, ("sum", "mean", "max").index(mode), sparse,
        per_sample_weights, include_last_offset, padding_idx,
    )  # fmt: skip


def _adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    made = call("adaptive_max_pool1d", input, _list(output_size, 1))
    return made if return_indices else made[0]


_order_of_operation("instance_norm", _instance_norm)
_order_of_operation("adaptive_max_pool1d", _adaptive_max_pool1d)
_order_of_operation("embedding_bag", _embedding_bag)


@composed("scaled_dot_product_attention")
def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    import strided

    tensors = [t for t in (query, key, value) if t.dim() == 4]
    if len(tensors) < 3 or dropout_p or query.shape[-1] != value.shape[-1] or query.shape[0] != key.shape[0]:
        f = strided.nn.functional.scaled_dot_product_attention
        return again(f, (query, key, value), {"attn_mask": attn_mask, "dropout_p": dropout_p, "is_causal": is_causal,
                                               "scale": scale, "enable_gqa": enable_gqa})  # fmt: skip
    if enable_gqa and key.shape[1] != query.shape[1]:
        n = query.shape[1] // key.shape[1]
        key, value = (_repeat(t, n) for t in (key, value))
    options: dict[str, Any] = {} if attn_mask is None else {"attn_mask": attn_mask}
    if scale is not None:
        options["scale"] = scale
    given = [0.0, True] if is_causal else []
    return call("_scaled_dot_product_flash_attention_for_cpu", query, key, value, *given, **options)[0]


def _repeat(t: Tensor, n: int) -> Tensor:
    b, h, length, width = t.shape
    made = call("expand", call("unsqueeze", t, 2), [b, h, n, length, width])
    return reshape(made, [b, h * n, length, width])
