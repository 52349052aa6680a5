"""Names of layouts and of orders in memory, and the errors when memory cannot be had."""

from __future__ import annotations

from .. import _C


class layout:
    """How elements stand in memory. Tensors are ``strided``; programs compare with the others."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name  # copies and pickles are the one object: programs compare with `is`


class memory_format:
    """Order of dimensions in memory, as PyTorch names it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"


strided, sparse_coo, sparse_csr, sparse_csc = map(layout, ("strided", "sparse_coo", "sparse_csr", "sparse_csc"))
sparse_bsr, sparse_bsc, _mkldnn, jagged = map(layout, ("sparse_bsr", "sparse_bsc", "_mkldnn", "jagged"))
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class OutOfMemoryError(RuntimeError, MemoryError):
    """The memory for a result could not be had."""


class NoCudaLibraryError(AssertionError, RuntimeError):
    """The installation has no library for CUDA. A PyTorch that was built without CUDA raises AssertionError for most
    calls, and RuntimeError for the others."""


for _kind in (layout, memory_format, OutOfMemoryError, NoCudaLibraryError):
    _kind.__module__ = __package__.partition(".")[0]  # where programs and pickles find them
    _C.set_hook(_kind.__name__, _kind)
_C.set_hook("strided", strided)
