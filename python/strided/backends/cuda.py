"""Switches of the CUDA backend."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Iterator


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


# Kernels of attention: PyTorch chooses among several; here there is one, whatever is allowed.
_allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def enable_flash_sdp(enabled: bool) -> None:
    """Remembers whether attention may use PyTorch's flash kernel; strided's own computes in any case."""
    _allowed["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Remembers whether attention may use PyTorch's memory-efficient kernel; strided's own computes in any case."""
    _allowed["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Remembers whether attention may use PyTorch's plain functions; strided's own computes in any case."""
    _allowed["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Remembers whether attention may use cuDNN's kernel; strided's own computes in any case."""
    _allowed["cudnn"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """What enable_flash_sdp set."""
    return _allowed["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """What enable_mem_efficient_sdp set."""
    return _allowed["mem_efficient"]


def math_sdp_enabled() -> bool:
    """What enable_math_sdp set."""
    return _allowed["math"]


def cudnn_sdp_enabled() -> bool:
    """What enable_cudnn_sdp set."""
    return _allowed["cudnn"]


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """A context that remembers which of PyTorch's kernels attention may use; strided's own computes in any case."""
    before = dict(_allowed)
    _allowed.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _allowed.update(before)


def is_flash_attention_available() -> bool:
    """False: there is no flash kernel of PyTorch's."""
    return False
