"""Switches of the CUDA backend."""

from __future__ import annotations

import contextlib
import enum
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _C

if TYPE_CHECKING:
    from .._typing import Iterator, Tensor


class _Matmul:
    """``allow_tf32``: whether products of float32 matrices may round their factors to tf32. False at first, as in
    PyTorch; ``fp32_precision`` is the same as a text: "none", "ieee" or "tf32".

    PyTorch's other switches (``allow_fp16_reduced_precision_reduction``, ``allow_fp16_accumulation``, ...) are
    remembered: sums of products of 16-bit floats are float32 here.
    """

    _remembered: dict[str, Any]

    def __init__(self) -> None:
        object.__setattr__(self, "_remembered", {
            "allow_fp16_reduced_precision_reduction": True, "allow_bf16_reduced_precision_reduction": True,
            "allow_fp16_reduced_precision_reduction_split_k": True,
            "allow_bf16_reduced_precision_reduction_split_k": True,
            "allow_fp16_accumulation": False, "fp32_precision": "none",
        })  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return _C.functions["_tf32"]()
        if name not in self._remembered:
            raise AttributeError(f"Unknown attribute {name}")
        if name == "fp32_precision" and self.allow_tf32:
            return "tf32"
        return self._remembered[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            _C.functions["_set_tf32"](bool(value))
            return
        if name not in self._remembered:
            raise AttributeError(f"Unknown attribute {name}")
        if name == "fp32_precision":
            if value not in ("none", "ieee", "tf32"):
                raise RuntimeError(f"Unknown precision: {value}")
            _C.functions["_set_tf32"](value == "tf32")
            value = "none" if value == "tf32" else value
        elif not isinstance(value, (bool, tuple, list)):
            raise TypeError(f"{name} expects a bool or a tuple/list of bools, but got {type(value)}")
        self._remembered[name] = value


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


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> contextlib.AbstractContextManager[None]:
    """A context that remembers which of PyTorch's kernels attention may use; strided's own computes in any case."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
        "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    return _allowing(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)


@contextlib.contextmanager
def _allowing(**kernels: bool) -> Iterator[None]:
    before = dict(_allowed)
    _allowed.update(kernels)
    try:
        yield
    finally:
        _allowed.update(before)


def is_flash_attention_available() -> bool:
    """False: there is no flash kernel of PyTorch's."""
    return False


class SDPAParams(NamedTuple):
    """The arguments of a call of scaled_dot_product_attention, for the functions that say which kernels take it."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    is_causal: bool
    enable_gqa: bool


def _no_such_kernel(kernel: str, debug: bool) -> bool:
    if debug:
        warnings.warn(f"scaled_dot_product_attention: strided has no {kernel} kernel of PyTorch's", stacklevel=3)
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no flash kernel of PyTorch's. With `debug` a warning says so."""
    return _no_such_kernel("flash", debug)


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no memory-efficient kernel of PyTorch's. With `debug` a warning says so."""
    return _no_such_kernel("memory-efficient", debug)


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no kernel of cuDNN. With `debug` a warning says so."""
    return _no_such_kernel("cuDNN", debug)


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Remembers whether attention may add up in 16 bits; strided's own adds up in float32."""
    _reduces["math"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What allow_fp16_bf16_reduction_math_sdp set."""
    return _reduces["math"]


_reduces = {"math": False}


class _LinalgBackend(enum.Enum):
    Default, Cusolver, Magma = range(3)

    __repr__ = enum.Enum.__str__


class _BlasBackend(enum.Enum):
    Default, Cublas, Cublaslt, Ck = range(4)

    __repr__ = enum.Enum.__str__


_libraries: dict[type[enum.Enum], enum.Enum] = {
    _LinalgBackend: _LinalgBackend.Default,
    _BlasBackend: _BlasBackend.Cublas,
}
_NAMES = {
    _LinalgBackend: {"default": "Default", "cusolver": "Cusolver", "magma": "Magma"},
    _BlasBackend: {
        "default": "Cublas", "cublas": "Cublas", "hipblas": "Cublas", "cublaslt": "Cublaslt", "hipblaslt": "Cublaslt",
        "ck": "Ck",
    },
}  # fmt: skip


def _preferred(kind: type[enum.Enum], backend: Any) -> Any:
    if isinstance(backend, str):
        if backend not in _NAMES[kind]:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(_NAMES[kind])}.")
        backend = kind[_NAMES[kind][backend]]
    if backend is not None:
        if not isinstance(backend, kind):
            raise RuntimeError("Unknown input value type.")
        _libraries[kind] = backend
    return _libraries[kind]


def preferred_linalg_library(backend: Any = None) -> Any:
    """Remembers which library PyTorch would decompose matrices with; strided has kernels of its own.

    Args:
        backend: "default", "cusolver" or "magma"; nothing changes if None. RuntimeError for others.
    """
    return _preferred(_LinalgBackend, backend)


def preferred_blas_library(backend: Any = None) -> Any:
    """Remembers which library PyTorch would multiply matrices with; strided has kernels of its own.

    Args:
        backend: "default", "cublas", "cublaslt" or "ck"; nothing changes if None. RuntimeError for others.
    """
    return _preferred(_BlasBackend, backend)
