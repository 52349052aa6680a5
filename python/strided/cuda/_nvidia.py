"""Where cuSOLVER and cuFFT are: in the packages nvidia-cusolver and nvidia-cufft, which are looked up and never
imported (see docs/dependencies.md)."""

from __future__ import annotations

import importlib.util
import os

from .. import _C


def find(name: str, cuda: int) -> str:
    """The path of the library of this name for that major version of CUDA, or an empty string."""
    spec = importlib.util.find_spec("nvidia")
    # The packages for CUDA 12 have a folder each; those for later ones share a folder.
    for package in (spec.submodule_search_locations or []) if spec else []:
        for folder in (f"cu{cuda}", name):
            path = os.path.join(package, folder, "lib", f"lib{name}.so.{cuda - 1}")
            if os.path.exists(path):
                return path
    return ""


_C.set_hook("find_nvidia_library", find)
