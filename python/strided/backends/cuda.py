"""Switches of the CUDA backend."""

from __future__ import annotations

from .. import _C


class _Matmul:
    """``allow_tf32``: whether products of float32 matrices may round their factors to tf32. False at first, as in
    PyTorch."""

    __slots__ = ()

    @property
    def allow_tf32(self) -> bool:
        return _C.functions["_tf32"]()

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        _C.functions["_set_tf32"](bool(allowed))


matmul = _Matmul()


def is_built() -> bool:
    """True if this installation has the CUDA library, with or without a device.

    >>> import strided as torch
    >>> isinstance(torch.backends.cuda.is_built(), bool)
    True
    """
    return not _C.functions["_cuda_why_none"]().startswith("this installation has no CUDA library")
