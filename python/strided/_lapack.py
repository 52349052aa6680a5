"""Where LAPACK is: in the package scipy-openblas32, which is looked up and never imported (see
docs/dependencies.md)."""

from __future__ import annotations

import importlib.util
import os
import sys

from . import _C


def find() -> str:
    """The path of the library, or an empty string."""
    spec = importlib.util.find_spec("scipy_openblas32")
    ending = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = os.path.join(folder, "lib", "libscipy_openblas" + ending)
        if os.path.exists(path):
            return path
    return ""


_C.set_hook("find_lapack", find)
