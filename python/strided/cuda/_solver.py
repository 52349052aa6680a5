"""Where cuSOLVER is: in the package nvidia-cusolver, which is looked up and never imported (see
docs/dependencies.md)."""

from __future__ import annotations

import importlib.util
import os

from .. import _C


def find(cuda: int) -> str:
    """The path of the library for that major version of CUDA, or an empty string."""
    spec = importlib.util.find_spec("nvidia")
    # The packages for CUDA 12 have a folder each; those for later ones share a folder.
    for package in (spec.submodule_search_locations or []) if spec else []:
        for folder in (f"cu{cuda}", "cusolver"):
            path = os.path.join(package, folder, "lib", f"libcusolver.so.{cuda - 1}")
            if os.path.exists(path):
                return path
    return ""


_C.set_hook("find_cusolver", find)
