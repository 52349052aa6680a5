"""Linear algebra (``strided.linalg``): PyTorch's and NumPy's names."""

from __future__ import annotations

from . import _C
from . import _lapack as _lapack
from ._calls import namespaces as _namespaces


class LinAlgError(RuntimeError):
    """A matrix is singular, or not positive definite, where that is required."""

    __module__ = "strided.linalg"


_C.set_hook("LinAlgError", LinAlgError)
_C._LinAlgError = LinAlgError  # programs written for PyTorch before 1.12 catch it under this name

globals().update(_namespaces.in_namespace("linalg"))

del annotations
