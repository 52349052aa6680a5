"""Products with a weight, and rows of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided
from strided._functions.checks import every_sample

from ... import _C
from ..._calls.arguments import check_tensor, whole
from ..._calls.once import warn_once
from ..._calls.out import into as _into
from ..._calls.overrides import shown_as
from ..._functions.entries import have_kernel, times_dense
from ._compiled import compiled

if TYPE_CHECKING:
    from ..._typing import Tensor

__all__ = ["bilinear", "embedding", "embedding_bag", "linear", "one_hot"]

# Programs that count products put functions of their own in place of linear, addmm and matmul. They expect one call.
_addmm, _matmul = _C.functions["addmm"], _C.functions["matmul"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias.

    Args:
        input: shape (..., n). weight: (m, n), or (n,). bias: (m,).

    >>> strided.nn.functional.linear(strided.ones(2), strided.ones(3, 2), strided.ones(3))
    tensor([3., 3., 3.])
    """
    if out is not None:
        return _into("linear", linear(input, weight, bias), out)
    check_tensor("linear", "input", 1, input)
    if bias is None:
        return _matmul(input, weight.t())
    if input.ndim == 2 and weight.ndim == 2:
        return _addmm(bias, input, weight.t())
    if input.ndim < 2 or weight.ndim != 2 or input.numel() == 0:
        return _C._shown_as("ViewBackward0", _matmul(input, weight.t()) + bias)
    rows = input.reshape(-1, input.shape[-1])
    return _addmm(bias, rows, weight.t()).view(*input.shape[:-1], weight.shape[0])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 for each k, plus bias[k].

    Args:
        input1: shape (..., n1). input2: (..., n2). weight: (m, n1, n2). bias: (m,).
    """
    if input1.ndim != input2.ndim or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    for i, x in enumerate((input1, input2)):
        if x.shape[-1] != weight.shape[i + 1]:
            raise RuntimeError(
                f"bilinear(): input{i + 1} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[i + 1]}"
            )
    a, b = input1.reshape(-1, input1.shape[-1]), input2.reshape(-1, input2.shape[-1])
    m, n1, n2 = weight.shape
    left = _matmul(a, weight.permute(1, 0, 2).reshape(n1, m * n2)).view(-1, m, n2)
    made = _matmul(left, b.unsqueeze(-1)).view(*input1.shape[:-1], m)
    return made if bias is None else made + bias


# ---------------------------------------------------------------- rows of a weight


def _renormalised(weight, indices, max_norm, norm_type):
    """Rows that are used, and longer than max_norm, are scaled to it in place."""
    with strided.no_grad():
        used = indices.reshape(-1).unique().long()
        rows = weight.index_select(0, used)
        norms = strided.linalg.vector_norm(rows, norm_type, 1, keepdim=True)
        rows = strided.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)
        weight.index_copy_(0, used, rows)


class _Rows(strided.autograd.Function):
    """Rows of a matrix, with a gradient that leaves one row out, or divides by how often a row was used."""

    _shown_as = "EmbeddingBackward0"

    @staticmethod
    def forward(ctx, weight, indices, padding_idx, by_frequency):
        ctx.save_for_backward(indices)
        ctx.shape, ctx.padding_idx, ctx.by_frequency = weight.shape, padding_idx, by_frequency
        return weight.index_select(0, indices.reshape(-1)).view(*indices.shape, weight.shape[1])

    @staticmethod
    def backward(ctx, grad):
        (indices,) = ctx.saved_tensors
        flat, rows = indices.reshape(-1), grad.reshape(indices.numel(), ctx.shape[1])
        if ctx.by_frequency:
            counts = strided.bincount(flat, minlength=ctx.shape[0])
            rows = rows / counts.index_select(0, flat).unsqueeze(1)
        made = strided.zeros(ctx.shape, dtype=grad.dtype, device=grad.device).index_add(0, flat, rows)
        if ctx.padding_idx is not None:
            made = made.index_fill(0, strided.tensor([ctx.padding_idx], device=grad.device), 0)
        return made, None, None, None


class _SparseRows(_Rows):
    """Rows of a matrix, with a gradient of layout sparse_coo that holds the rows that were used."""

    _shown_as = "EmbeddingBackward0"

    @staticmethod
    def backward(ctx, grad):
        if ctx.by_frequency:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        (indices,) = ctx.saved_tensors
        at, rows = indices.reshape(-1).to(strided.int64), grad.reshape(indices.numel(), ctx.shape[1])
        if ctx.padding_idx is not None:
            kept = at != ctx.padding_idx
            at, rows = at[kept], rows[kept]
        return _rows_of(ctx.shape, at, rows), None, None, None


def _rows_of(shape, at, rows):
    from ..._sparse.coo import of_rows

    return of_rows(shape, at, rows)


def _padding(padding_idx, count):
    if padding_idx is None:
        return None
    if not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % count


def _check_indices(name, indices):
    if indices.dtype not in (strided.int32, strided.int64):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {indices.type()} instead (while checking arguments for {name})"
        )


def _lookup(weight, indices, padding_idx, by_frequency, sparse=False):
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", indices)
    if sparse and weight.requires_grad:
        return _SparseRows.apply(weight, indices, padding_idx, by_frequency)
    if weight.requires_grad and (padding_idx is not None or by_frequency):
        return _Rows.apply(weight, indices, padding_idx, by_frequency)
    if indices.ndim == 1:
        return weight.index_select(0, indices)
    return weight.index_select(0, indices.reshape(-1)).view(*indices.shape, weight.shape[1])


@compiled
@shown_as("EmbeddingBackward0")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of weight that input names: shape (*input.shape, weight.shape[1]).

    Args:
        input: int64 or int32. padding_idx: a row without gradient. max_norm: rows that are used are scaled down to
            this norm, in place. scale_grad_by_freq: gradients are divided by how often a row occurs.
        sparse: the gradient of weight is a tensor of layout sparse_coo that holds the rows that were used (where weight
            is a leaf, or comes from an ``autograd.Function``; other functions before it get the dense sum).

    >>> strided.nn.functional.embedding(strided.tensor([1]), strided.eye(2))
    tensor([[0., 1.]])
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding_idx = _padding(padding_idx, weight.size(0))
    if max_norm is not None:
        _renormalised(weight, input, max_norm, norm_type)
    return _lookup(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _bags(input, offsets, include_last_offset):
    """For each index the number of its bag, and the number of bags."""
    if offsets is None:
        if input.ndim != 2:
            raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")
        n, length = input.shape
        return strided.arange(n, device=input.device).repeat_interleave(length), n
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if len(offsets) and int(offsets[0]) != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {int(offsets[0])}"
        )
    if len(offsets) and int(offsets[-1]) > len(input):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {len(input)} but got offsets[-1] of {int(offsets[-1])}"
        )
    if include_last_offset and not len(offsets):
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    ends = offsets[1:] if include_last_offset else strided.cat([offsets[1:], offsets.new_tensor([len(input)])])
    starts = offsets[:-1] if include_last_offset else offsets
    lengths = (ends - starts).long()
    try:
        return strided.arange(len(starts), device=input.device).repeat_interleave(lengths), len(starts)
    except RuntimeError:
        wrong = (lengths < 0).nonzero()
        if not len(wrong):
            raise
        i = int(wrong[0])
        raise RuntimeError(
            f"embedding_bag: offsets must not decrease, but offsets[{i}] is {int(starts[i])} and "
            f"offsets[{i + 1}] {int(ends[i])}"
        ) from None


def _equal_bags(input, weight, scale_grad_by_freq, mode, factors, sparse):
    """Sums or means of bags of the same length, all of which count."""
    rows = _lookup(weight, input, None, scale_grad_by_freq, sparse)
    if weight.dtype in (strided.float16, strided.bfloat16):
        rows = rows.float()  # sums are rounded once
    if factors is not None:
        rows = rows * factors.unsqueeze(2)
    total = rows.sum(1)
    return (total if mode == "sum" else total / max(input.size(1), 1)).to(weight.dtype)


@shown_as("EmbeddingBagBackward0")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of the rows of weight that each bag of indices names.

    Args:
        input: (bags, length), or (n,) with offsets, the position at which each bag begins. mode: 'sum', 'mean', 'max'.
        per_sample_weights: factors of the rows, for mode='sum'. padding_idx: an index that counts for nothing.
        sparse: as for ``embedding``; not for mode='max'.

    >>> strided.nn.functional.embedding_bag(strided.tensor([[0, 1]]), strided.eye(2), mode='sum')
    tensor([[1., 1.]])
    """
    if weight.dtype == strided.int64 and input.is_floating_point():
        warn_once("embedding_bag", "the argument order (weight, input, ...) is deprecated; write (input, weight, ...)")
        input, weight = weight, input
    _check_indices("embedding_bag", input)
    _check_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse)
    count = weight.size(0)
    if padding_idx is not None and not -count <= padding_idx < count:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-count} through {count - 1}, but got {padding_idx}"
        )
    padding_idx = _padding(padding_idx, count)
    if max_norm is not None:
        _renormalised(weight, input, max_norm, norm_type)
    summed = mode != "max" and not sparse and not scale_grad_by_freq
    if summed and have_kernel(weight, input, offsets, per_sample_weights):
        return _summed_bags(input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx)
    if input.ndim == 2 and mode != "max" and padding_idx is None:
        return _equal_bags(input, weight, scale_grad_by_freq, mode, per_sample_weights, sparse)
    bag, count = _bags(input, offsets, include_last_offset)
    flat = input.reshape(-1)[: len(bag)]
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)[: len(bag)]
    if padding_idx is not None:  # what counts for nothing goes to a bag after the last
        bag = bag.masked_fill(flat == padding_idx, count)
    rows = _lookup(weight, flat, padding_idx, scale_grad_by_freq, sparse)
    if mode != "max" and weight.dtype in (strided.float16, strided.bfloat16):
        rows = rows.float()  # sums are rounded once
    if factors is not None:
        rows = rows * factors.unsqueeze(1)
    zero = strided.zeros(count + (padding_idx is not None), weight.size(1), dtype=rows.dtype, device=weight.device)
    if mode == "max":
        return _largest(rows, bag, zero)[:count]
    total = zero.index_add(0, bag, rows)
    if mode == "mean":
        lengths = strided.zeros(len(zero), dtype=strided.int64, device=weight.device)
        lengths = lengths.index_add(0, bag, strided.ones_like(bag, dtype=strided.int64))
        total = total / lengths.clamp(min=1).to(total.dtype).unsqueeze(1)
    return total[:count].to(weight.dtype)


def _check_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse):
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the input ({input.shape})"
        )
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            f"if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, found offsets of type {type(offsets)}"
        )
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if input.ndim == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and weight.is_cpu and per_sample_weights.dtype != weight.dtype:
        raise RuntimeError(
            f"Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type {weight.detach().type()} does not equal {per_sample_weights.type()} (while checking arguments for embedding_bag)"
        )


def _largest(rows, bag, zero):
    """The largest row of each bag, element by element; of equal ones the first, which the gradient goes to."""
    from ...autograd import forward_ad

    index = bag.unsqueeze(1).expand_as(rows)
    with strided.no_grad():
        most = zero.scatter_reduce(0, index, rows, "amax", include_self=False)
        if not rows.requires_grad and not forward_ad._levels:
            return most
        most = most.gather(0, index)
        place = strided.arange(len(rows), device=rows.device).unsqueeze(1)
        place = strided.where((rows == most) | rows.isnan(), place, len(rows))
        first = strided.full_like(zero, len(rows), dtype=strided.int64).scatter_reduce(0, index, place, "amin")
    return strided.cat([rows, zero.new_zeros(1, zero.size(1))]).gather(0, first)  # the last: of empty bags


def _summed_bags(input, weight, offsets, mode, factors, include_last_offset, padding_idx):
    """Sums or means of bags as a product: a row for each bag, an entry for each index."""
    bag, count = _bags(input, offsets, include_last_offset)
    column = input.reshape(-1)[: len(bag)].long()
    if factors is not None:
        factors = factors.reshape(-1)[: len(bag)].to(weight.dtype)
    if padding_idx is not None:
        bag = bag.masked_fill(column == padding_idx, -1)
    total = times_dense(count, bag, column, factors, weight)
    if mode == "sum":
        return total
    if padding_idx is None and input.ndim == 2:
        return total / max(input.size(1), 1)
    lengths = strided.bincount(bag + 1, minlength=count + 1)[1:]
    return total / lengths.clamp(min=1).to(total.dtype).unsqueeze(1)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the place that each element of an int64 tensor names, 0 elsewhere: an axis more, of num_classes elements.

    >>> strided.nn.functional.one_hot(strided.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    num_classes = whole("one_hot", "num_classes", 2, num_classes)
    if tensor.dtype != strided.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return strided.zeros(*tensor.shape, num_classes, dtype=strided.int64, device=tensor.device)
    low, top = (int(n) for n in every_sample(tensor).aminmax())
    if low < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if every_sample(tensor) is not tensor:
            raise RuntimeError("vmap: one_hot needs num_classes: the largest element differs from sample to sample")
        num_classes = top + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif top >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return tensor.new_zeros((*tensor.shape, num_classes)).scatter_(-1, tensor.unsqueeze(-1), 1)
