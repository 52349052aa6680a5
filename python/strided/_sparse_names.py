"""Constructors of sparse tensors, which say that there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._typing import Any

__all__ = [
    "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor",
]  # fmt: skip


def refuse(name: str) -> Any:
    """Raises the error of a function of sparse tensors."""
    raise NotImplementedError(f"{name}: strided has no sparse tensors")


def sparse_coo_tensor(indices: Any, values: Any = None, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_coo_tensor")


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_csr_tensor")


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_csc_tensor")


def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_bsr_tensor")


def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """NotImplementedError."""
    refuse("sparse_bsc_tensor")


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, **options: Any
) -> Any:
    """NotImplementedError."""
    refuse("sparse_compressed_tensor")
