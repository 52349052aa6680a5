"""Products of many pairs of matrices, whose rows or columns stand together in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ..._typing import DType, Tensor

__all__ = ["grouped_mm"]

_DTYPES = (strided.float32, strided.bfloat16, strided.float16)


def _check(mat_a, mat_b, offs, bias, out_dtype):
    for name, m in (("mat_a", mat_a), ("mat_b", mat_b)):
        if m.dtype not in _DTYPES:
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {m.dtype}")
        if m.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {mat_a.dtype} != {mat_b.dtype}")
    if (mat_a.ndim == 2 or mat_b.ndim == 2) != (offs is not None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if mat_a.ndim == mat_b.ndim == 3 and mat_a.shape[0] != mat_b.shape[0]:
        raise RuntimeError("batched dimension has to match")
    if offs is not None:
        if offs.ndim != 1:
            raise RuntimeError("offs has to be 1D")
        if offs.dtype != strided.int32:
            raise RuntimeError("Offsets have to be int32")
        several = mat_a if mat_a.ndim == 3 else mat_b
        if several.ndim == 3 and several.shape[0] != offs.shape[0]:
            raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """Products of groups, as the experts of a mixture have them: the groups of a 2-d operand end where `offs` says.

    Both 3-d: ``mat_a @ mat_b``. 2-d and 3-d: rows of mat_a, each group with its matrix of mat_b. 3-d and 2-d: columns
    of mat_b, each with its matrix of mat_a. Both 2-d: columns of mat_a with rows of mat_b, one product for each group.

    Args:
        mat_a: float32, bfloat16 or float16. mat_b: of the same dtype.
        offs: int32, where each group ends. What follows the last group has no product: zeros, where the result has
            room for it.
        bias: None. out_dtype: None, or the dtype of the operands.

    Raises:
        RuntimeError: dtypes, sizes or offsets do not fit. ValueError: a group ends before the one in front of it, or
            outside of the operand.

    >>> x, w = strided.ones(4, 2), strided.stack([strided.eye(2), 3 * strided.eye(2)])
    >>> strided.nn.functional.grouped_mm(x, w, offs=strided.tensor([1, 4], dtype=strided.int32))
    tensor([[1., 1.],
            [3., 3.],
            [3., 3.],
            [3., 3.]])
    """
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a.bmm(mat_b)
    rows, columns = mat_a.ndim == 2 and mat_b.ndim == 3, mat_a.ndim == 3
    size = mat_a.shape[0] if rows else mat_b.shape[1] if columns else mat_a.shape[1]
    ends = offs.tolist()
    starts = [0, *ends[:-1]]
    if any(not 0 <= low <= high <= size for low, high in zip(starts, ends)):
        raise ValueError(f"grouped_mm: groups end at {ends}; that must not fall, nor exceed {size}")
    parts = []
    for i, (low, high) in enumerate(zip(starts, ends)):
        if rows:
            parts.append(mat_a[low:high] @ mat_b[i])
        elif columns:
            parts.append(mat_a[i] @ mat_b[:, low:high])
        else:
            parts.append(mat_a[:, low:high] @ mat_b[low:high])
    if not (rows or columns):
        return strided.stack(parts) if parts else mat_a.new_zeros(0, mat_a.shape[0], mat_b.shape[1])
    left = size - (ends[-1] if ends else 0)
    if left or not parts:
        parts.append(mat_a.new_zeros((left, mat_b.shape[2]) if rows else (mat_a.shape[1], left)))
    return strided.cat(parts, 0 if rows else 1)
