"""Products of matrices and vectors that are in the main namespace and in ``linalg``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._functions import standard as _standard
from ._array import promoted, standard

if TYPE_CHECKING:
    from .._typing import Sequence, Tensor

_f = _C.functions
__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]
matrix_transpose, vecdot = standard(_standard.matrix_transpose), standard(_standard.vecdot)


@standard
def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices, stacks of them, or vectors, in the common dtype.

    >>> strided.array_api.matmul(strided.tensor([[1, 2]]), strided.tensor([3, 4]))
    tensor([11])
    """
    return _f["matmul"](*promoted(x1, x2))


@standard
def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Products summed over axes of both: the last ones of x1 and the first ones of x2, or those that are listed.

    >>> strided.array_api.tensordot(strided.tensor([1, 2]), strided.tensor([3, 4]), axes=1)
    tensor(11)
    """
    return _f["tensordot"](*promoted(x1, x2), dims=axes)
