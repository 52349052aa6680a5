"""Functions that PyTorch has among its registered operations only (``torch.ops.aten``), or with an underscore.

Libraries find them there: in tables of what a compiler takes apart, and in code that was written by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ._native import native_batch_norm

if TYPE_CHECKING:
    from .._typing import Any, DType, Sequence, Tensor

__all__ = [
    "_batch_norm_with_update", "_chunk_cat", "_native_batch_norm_legit", "_safe_softmax", "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate", "_upsample_bilinear2d_aa", "max_pool2d_with_indices_backward",
    "native_dropout_backward",
]  # fmt: skip


def _safe_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """softmax, with zeros where all elements of a row are -inf."""
    dead = (self == -float("inf")).all(dim, keepdim=True)
    return self.masked_fill(dead, 0).softmax(dim, dtype=dtype).masked_fill(dead, 0)


def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """The gradient of max_pool2d: each element goes to the position in its plane that indices has for it."""
    planes = strided.zeros_like(self).flatten(-2)
    return planes.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).view(self.shape)


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of native_dropout, for its mask."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int, *, out: Tensor | None = None) -> Tensor:
    """Each tensor's axis `dim`, with zeros behind it, in num_chunks equal parts; parts of all tensors side by side.

    The result has the axes before `dim`, one of num_chunks, and one of all the rest.
    """
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    first = tensors[0]
    if dim < 0 and any(t.ndim != first.ndim for t in tensors):
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    dim = dim + first.ndim if dim < 0 else dim
    parts = []
    for t in tensors:
        if t.numel() == 0:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if t.dtype != first.dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if dim >= t.ndim:
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if t.shape[:dim] != first.shape[:dim]:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
        missing = -t.size(dim) % num_chunks
        if missing:
            t = strided.cat([t, t.new_zeros((*t.shape[:dim], missing, *t.shape[dim + 1 :]))], dim)
        parts.append(t.reshape(*t.shape[:dim], num_chunks, -1))
    return strided.cat(parts, dim + 1) if out is None else strided.cat(parts, dim + 1, out=out)


def _clamped(self, indices):
    return tuple(
        slice(None) if index is None else index.clamp(-size, size - 1) for index, size in zip(indices, self.shape)
    )


def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: Any) -> Tensor:
    """self[indices] where mask, else fill; indices out of range count where mask is False only."""
    if self.numel() == 0 and mask.numel():
        return self.new_full(mask.shape, fill)
    return self[_clamped(self, indices)].masked_fill(~mask, fill)


def _unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """self, with the values where mask is True added at the indices."""
    if self.numel() == 0:
        return self.clone()
    where = tuple(
        strided.arange(size, device=self.device).view(-1, *[1] * (self.ndim - 1 - i)) if index is None else index
        for i, (index, size) in enumerate(zip(indices, self.shape))
    )
    where = _clamped(self, where)
    return self.index_put(where, values.masked_fill(~mask, 0), accumulate=True)


def _upsample_bilinear2d_aa(
    input: Tensor,
    output_size: Any,
    align_corners: bool,
    scales_h: Any = None,
    scales_w: float | None = None,
    *,
    scale_factors: Any = None,
) -> Tensor:
    """``nn.functional.interpolate(mode='bilinear', antialias=True)``; scale_factors: of both axes, and also the fourth
    argument by its place."""
    from .functional._interpolate import UPSAMPLERS

    scales = (scales_h, scales_w) if scale_factors is None else (scale_factors,)
    return UPSAMPLERS["_upsample_bilinear2d_aa"](input, output_size, align_corners, *scales)


def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``native_batch_norm``; rest: running_mean, running_var, training, momentum, eps, or the last three."""
    mean, var, training, momentum, eps = rest if len(rest) == 5 else (None, None, *rest)
    return native_batch_norm(input, weight, bias, mean, var, training, momentum, eps, out=out)


def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``native_batch_norm`` in training, and an empty tensor: what other libraries' kernels would keep."""
    made = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *made, strided.empty(0, dtype=strided.uint8, device=input.device)
