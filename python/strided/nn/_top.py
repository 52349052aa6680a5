"""What PyTorch has at its top of the functions here, with the signatures they have there.

The package looks into this module for names that it does not know itself, so that networks load only when somebody asks
for one of them.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from .._calls.overrides import overridable
from . import functional as F
from ._fake_quantize import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from ._native import (
    native_batch_norm,
    native_dropout,
    native_group_norm,
    native_layer_norm,
)
from .functional import _dropout as _d
from .functional import (
    _normalization,
    _rnn,
    adaptive_avg_pool1d,
    avg_pool1d,
    bilinear,
    channel_shuffle,
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool3d,
    native_channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
    rms_norm,
)
from .functional._linear import _renormalised
from .functional._padding import constant_pad_nd

if TYPE_CHECKING:
    from .._typing import Any, Sequence, Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout", "alpha_dropout_",
    "avg_pool1d", "batch_norm", "bilinear", "binary_cross_entropy_with_logits", "channel_shuffle",
    "constant_pad_nd", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "convolution", "cosine_embedding_loss", "ctc_loss", "dropout", "dropout_", "embedding",
    "embedding_bag", "embedding_renorm_",
    "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d",
    "group_norm", "gru", "gru_cell", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "lstm",
    "lstm_cell", "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d",
    "native_batch_norm", "native_channel_shuffle", "native_dropout", "native_group_norm", "native_layer_norm",
    "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "rms_norm", "rnn_relu",
    "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell",
    "triplet_margin_loss",
    "fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine",
]  # fmt: skip


def _word(name, words, number):
    """The word that a number stands for."""
    if number not in range(len(words)):
        raise ValueError(
            f"{name} must be a number from 0 ({words[0]}) to {len(words) - 1} ({words[-1]}), got {number!r}"
        )
    return words[int(number)]


# ---------------------------------------------------------------- convolution, rows of a weight


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """``nn.functional.conv1d`` to ``conv3d``, or if `transposed` ``conv_transpose1d`` to ``conv_transpose3d``."""
    if transposed:
        function = getattr(F, f"conv_transpose{weight.ndim - 2}d", None)
        rest = (stride, padding, output_padding, groups, dilation)
    else:
        function, rest = getattr(F, f"conv{weight.ndim - 2}d", None), (stride, padding, dilation, groups)
    if function is None:
        raise RuntimeError(f"convolution: expected a weight of 3 to 5 dimensions, got size {list(weight.shape)}")
    return function(input, weight, bias, *rest)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales those rows of a matrix, in place, whose norm is greater than max_norm; returns the matrix.

    Args:
        indices: int64 or int32, which rows. norm_type: the p of the norm.

    >>> strided.embedding_renorm_(strided.tensor([[3., 4.], [3., 4.]]), strided.tensor([1]), 1., 2.)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    if input.dim() != 2:
        raise RuntimeError(f"embedding_renorm_: a matrix is required, got a tensor of {input.dim()} dimensions")
    _renormalised(input, indices, max_norm, norm_type)
    return input


# ---------------------------------------------------------------- pooling, places, normalisation


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Maxima of windows over the last axis, so many that output_size come out; and their positions."""
    return F.adaptive_max_pool1d(input, output_size, True)


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """``nn.functional.affine_grid``."""
    return F.affine_grid(theta, size, align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``nn.functional.grid_sample`` with numbers for the modes."""
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return F.grid_sample(
        input,
        grid,
        _word("interpolation_mode", modes, interpolation_mode),
        _word("padding_mode", paddings, padding_mode),
        align_corners,
    )


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sampler` of images."""
    return _grid_sampler(2, input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sampler` of volumes."""
    return _grid_sampler(3, input, grid, interpolation_mode, padding_mode, align_corners)


def _grid_sampler(axes, input, grid, *options):
    if input.ndim != axes + 2:
        raise RuntimeError(
            f"grid_sampler_{axes}d(): expected {axes + 2}D input and grid with same number of dimensions, but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    return grid_sampler(input, grid, *options)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``nn.functional.batch_norm``."""
    return _normalization._batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``nn.functional.instance_norm``."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """``nn.functional.layer_norm``."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``nn.functional.group_norm``."""
    return F.group_norm(input, num_groups, weight, bias, eps)


# ---------------------------------------------------------------- tables


def embedding(
    weight: Tensor, input: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of weight that input names."""
    return F.embedding(input, weight, None if padding_idx == -1 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def embedding_bag(
    weight: Tensor,
    input: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums (mode 0), means (1) or maxima (2) of the rows that each bag names."""
    word = _word("mode", ("sum", "mean", "max"), mode)
    return F.embedding_bag(
        input, weight, offsets, None, 2, scale_grad_by_freq, word, sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip


# ---------------------------------------------------------------- dropout


def _defined_dropout(name, features, alpha):
    def out_of_place(input: Tensor, p: float, train: bool) -> Tensor:
        _d._check(p)
        return _d._dropped(input, p, features, alpha, False) if train else input

    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        _d._check(p)
        return _d._dropped(input, p, features, alpha, True) if train else input

    for function, suffix in ((out_of_place, ""), (in_place, "_")):
        function.__name__ = function.__qualname__ = name + suffix
        function.__doc__ = f"``nn.functional.{name}``" + (" in place." if suffix else ".")
    return out_of_place, in_place


dropout, dropout_ = _defined_dropout("dropout", False, False)
alpha_dropout, alpha_dropout_ = _defined_dropout("alpha_dropout", False, True)
feature_dropout, feature_dropout_ = _defined_dropout("feature_dropout", True, False)
feature_alpha_dropout, feature_alpha_dropout_ = _defined_dropout("feature_alpha_dropout", True, True)


# ---------------------------------------------------------------- losses: what becomes of the elements is a number


def _reduction(number):
    return _word("reduction", ("none", "mean", "sum"), number)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits``."""
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.cosine_embedding_loss``."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """``nn.functional.ctc_loss``."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """``nn.functional.hinge_embedding_loss``."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """``nn.functional.kl_div``."""
    loss = F.kl_div(input, target, reduction="none", log_target=log_target)
    return F._reduction.reduced(loss, _reduction(reduction))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.margin_ranking_loss``, of tensors that broadcast."""
    axes = max(input1.ndim, input2.ndim, target.ndim)
    one, two, y = (t.reshape([1] * (axes - t.ndim) + list(t.shape)) for t in (input1, input2, target))
    return F.margin_ranking_loss(one, two, y, margin, reduction=_reduction(reduction))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """``nn.functional.poisson_nll_loss``."""
    return F.poisson_nll_loss(input, target, log_input, full, None, eps, reduction=_reduction(reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """``nn.functional.triplet_margin_loss``."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


# ---------------------------------------------------------------- recurrent networks


def _defined_network(name, mode):
    def network(input: Tensor, *args: Any) -> Any:
        if len(args) != 8:
            raise TypeError(f"{name}() takes 9 arguments, got {1 + len(args)}; help(strided.{name}) has their order")
        if isinstance(args[1], (list, tuple)):  # (input, states, weights, ...): padded
            hx, params, has_biases, num_layers, p, train, bidirectional, batch_first = args
            states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
            options = (params, has_biases, num_layers, p, train, bidirectional, batch_first)
            made, states = _rnn.sequences(mode, input, states, *options)
        else:  # (data, batch sizes, states, weights, ...): packed
            sizes, hx, *options = args
            states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
            made, states = _rnn.layers(mode, input, sizes.tolist(), states, *options)
        return made, *states

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"""Layers of {mode} over padded or packed sequences; the outputs, and the last states.

    Called as (input, states, weights, has_biases, num_layers, dropout, train, bidirectional, batch_first), or for
    packed sequences as (data, batch_sizes, states, weights, has_biases, num_layers, dropout, train, bidirectional).
    """
    return network


lstm, gru = _defined_network("lstm", "LSTM"), _defined_network("gru", "GRU")
rnn_tanh, rnn_relu = _defined_network("rnn_tanh", "RNN_TANH"), _defined_network("rnn_relu", "RNN_RELU")


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM; hx is (h, c)."""
    return _rnn.cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


def _defined_cell(name, mode):
    def cell(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        return _rnn.cell(mode, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]

    cell.__name__ = cell.__qualname__ = name
    cell.__doc__ = f"One step of {mode}."
    return cell


gru_cell = _defined_cell("gru_cell", "GRU")
rnn_tanh_cell, rnn_relu_cell = _defined_cell("rnn_tanh_cell", "RNN_TANH"), _defined_cell("rnn_relu_cell", "RNN_RELU")

for _name in __all__:
    if isinstance(globals()[_name], types.FunctionType):
        globals()[_name] = overridable(globals()[_name])
