"""The Array API standard 2025.12 (data-apis.org/array-api), where it and PyTorch disagree.

``strided`` has PyTorch's names and rules; this namespace has the standard's: its argument names, dtypes and results.
It serves libraries that are written for any array library.  They ask a tensor for it (``x.__array_namespace__()``),
and get plain tensors from plain tensors.  What it makes itself is an :class:`Array`, whose operators follow the
standard too.

>>> xp = strided.tensor([1]).__array_namespace__()
>>> xp.sum(strided.tensor([[1, 2], [3, 4]]), axis=0, keepdims=True)
tensor([[4, 6]])
"""

from __future__ import annotations

import math as _math

from .. import _C
from .._C import device
from .._functions.standard import KINDS as _KINDS
from . import _array, _creation, _dtypes, _elementwise, _linear, _manipulation, _reductions, fft, linalg
from ._array import Array
from ._creation import *
from ._dtypes import *
from ._elementwise import *
from ._linear import *
from ._manipulation import *
from ._reductions import *

__array_api_version__ = "2025.12"
__version__ = __import__("strided").__version__

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")  # each has what the ones before it have


def _of_version(version):
    if version is not None and version not in _VERSIONS:
        raise ValueError(f"__array_namespace__(): version {version!r} is not one of {', '.join(_VERSIONS)}")
    return __import__("sys").modules[__name__]


e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None
for _name in (*_KINDS["bool"], *_KINDS["numeric"]):
    globals()[_name] = getattr(_C, _name)
_array._install_operators()

__all__ = [_name for _name in globals() if not _name.startswith("_") and _name != "annotations"]
__all__ += ["__array_api_version__", "__array_namespace_info__"]
