"""How this installation was built, as text (``strided.__config__``)."""

from __future__ import annotations

from . import _C
from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """One line for each library that is used: PyTorch's lines are others.

    >>> print(strided.__config__.show().splitlines()[0].split()[0])
    strided
    """
    from .backends import cuda

    return (
        f"strided {__version__}\n  - C++ Version: 201703\n"
        f"  - Build settings: USE_CUDA={'ON' if cuda.is_built() else 'OFF'}, USE_MKL=OFF, USE_MKLDNN=OFF\n"
    )


def parallel_info() -> str:
    """The number of threads."""
    return f"threads of operations: {_C.get_num_threads()}\nthreads that run operations side by side: 1\n"
