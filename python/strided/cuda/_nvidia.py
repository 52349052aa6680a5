"""Where cuSOLVER and cuFFT are: in the packages nvidia-cusolver and nvidia-cufft, which are looked up and never
imported (see docs/dependencies.md), or in a toolkit."""

from __future__ import annotations

import glob
import importlib.util
import os

from .. import _C

_INSTALLED = "/usr/local/cuda"  # where a toolkit is, unless somebody says otherwise


def find(name: str, cuda: int) -> str:
    """The path of the library of this name for that major version of CUDA, or an empty string."""
    spec = importlib.util.find_spec("nvidia")
    folders = []
    # The packages for CUDA 12 have a folder each; those for later ones share a folder.
    for package in (spec.submodule_search_locations or []) if spec else []:
        folders += [os.path.join(package, folder, "lib") for folder in (f"cu{cuda}", name)]
    # Toolkits, whose folder the loader need not know.
    named = [os.environ.get(variable, "") for variable in ("CUDA_HOME", "CUDA_PATH")]
    installed = [_INSTALLED, *sorted(glob.glob(f"{_INSTALLED}-{cuda}*"), reverse=True)]
    folders += [os.path.join(toolkit, "lib64") for toolkit in (*named, *installed) if toolkit]
    for folder in folders:
        path = os.path.join(folder, f"lib{name}.so.{cuda - 1}")
        if os.path.exists(path):
            return path
    return ""


_C.set_hook("find_nvidia_library", find)
