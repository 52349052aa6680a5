"""Names of ``torch.sparse``: strided has no sparse tensors, and each function says so (``strided.sparse``)."""

from __future__ import annotations

from typing import Any

from ._core_names import absent
from ._sparse_names import refuse

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]

# For isinstance: no object is one.
FloatTensor, DoubleTensor, HalfTensor = (absent(n, __name__) for n in ("FloatTensor", "DoubleTensor", "HalfTensor"))
IntTensor, LongTensor, ShortTensor = (absent(n, __name__) for n in ("IntTensor", "LongTensor", "ShortTensor"))
ByteTensor, CharTensor, BFloat16Tensor = (absent(n, __name__) for n in ("ByteTensor", "CharTensor", "BFloat16Tensor"))


def mm(mat1: Any, mat2: Any, *args: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse.mm")


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """NotImplementedError."""
    refuse("sparse.addmm")


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A001
    """NotImplementedError."""
    refuse("sparse.sum")


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """NotImplementedError."""
    refuse("sparse.softmax")


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """NotImplementedError."""
    refuse("sparse.log_softmax")


del annotations
