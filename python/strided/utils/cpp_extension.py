"""PyTorch's builder of C++ and CUDA extensions (``strided.utils.cpp_extension``).

Such extensions are compiled against PyTorch's own C++ library, which strided is not: nothing is built here.  Libraries
import the names, and fall back to Python or go without where building fails.  Kernels of one's own:
``strided.cuda.ElementwiseKernel``, ``strided.library.custom_op``.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, NoReturn

__all__ = [
    "BuildExtension", "CUDAExtension", "CUDA_HOME", "CppExtension", "SyclExtension", "get_default_build_root",
    "include_paths", "is_ninja_available", "library_paths", "load", "load_inline", "verify_ninja_availability",
]  # fmt: skip

# Where CUDA's compiler is; None without one.
CUDA_HOME = next((p for n in ("CUDA_HOME", "CUDA_PATH") if (p := os.environ.get(n))), None)
if CUDA_HOME is None and (_nvcc := shutil.which("nvcc")):
    CUDA_HOME = os.path.dirname(os.path.dirname(os.path.realpath(_nvcc)))
ROCM_HOME = None
IS_HIP_EXTENSION = False


def _none(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: strided builds no extensions against PyTorch's C++ library; library.custom_op registers functions, "
        "cuda.ElementwiseKernel compiles kernels"
    )


class BuildExtension:
    """NotImplementedError: nothing is built."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _none("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> Any:
        """The class itself."""
        return cls


def CppExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: nothing is built."""
    _none("CppExtension")


def CUDAExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: nothing is built."""
    _none("CUDAExtension")


def SyclExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: nothing is built."""
    _none("SyclExtension")


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: nothing is built."""
    _none("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: nothing is built."""
    _none("load_inline")


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """NotImplementedError: there are no headers of PyTorch's."""
    _none("include_paths")


def library_paths(
    device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: Any = None
) -> list[str]:
    """NotImplementedError: there are no libraries of PyTorch's."""
    _none("library_paths")


def get_default_build_root() -> str:
    """Where extensions would be built."""
    import tempfile

    return os.path.join(tempfile.gettempdir(), "torch_extensions")


def is_ninja_available() -> bool:
    """Whether the program ninja is there."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """RuntimeError where the program ninja is not there."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")
