"""Files of other libraries: safetensors, NumPy's ``.npy`` and ``.npz``, and GGUF.

Files of PyTorch are read by ``strided.load`` and written by ``strided.save``. Every reader checks sizes against the
file before it takes memory, and runs no code; every writer replaces the old file when the new one is complete.

=================================================================== ===================================
``save_file``, ``load_file``, ``safe_open``, ``save``, ``load``     safetensors, as ``safetensors.torch``
``save_npy``, ``load_npy``, ``save_npz``, ``load_npz``              NumPy
``load_gguf``                                                       GGUF, tensors that are not quantised
``inspect``, ``convert``                                            any of these, and PyTorch's
``progress``                                                        how far they are: a function, or a bar
=================================================================== ===================================
"""

from __future__ import annotations

from ._progress import progress
from .gguf import load_gguf
from .inspection import convert, inspect
from .npy import load_npy, load_npz, save_npy, save_npz
from .safetensors import load, load_file, safe_open, save, save_file

__all__ = [
    "convert",
    "inspect",
    "load",
    "load_file",
    "load_gguf",
    "load_npy",
    "load_npz",
    "progress",
    "safe_open",
    "save",
    "save_file",
    "save_npy",
    "save_npz",
]
