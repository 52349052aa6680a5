"""Puts the functions of the compiled core where PyTorch has them.

The core registers each function once, under a qualified name: ``add`` for ``strided.add``, ``linalg.solve`` for
``strided.linalg.solve``, ``Tensor.add_`` for a method.  Names that begin with an underscore stay inside.
"""

from __future__ import annotations

from .. import _C


def _by_name(name):
    return _C.functions[name]


def _dtype_by_name(name):
    return getattr(_C, name)


_C.set_hook("function_by_name", _by_name)
_C.set_hook("dtype_by_name", _dtype_by_name)


def in_namespace(prefix: str) -> dict:
    """The functions whose qualified name is ``prefix.name``, by name."""
    n = len(prefix) + 1
    return {q[n:]: f for q, f in _C.functions.items() if q.startswith(prefix + ".")}


def fill(module: dict) -> None:
    """The functions without prefix into ``module``, the methods onto Tensor."""
    for name, function in _C.functions.items():
        if "." not in name and not name.startswith("_"):
            module[name] = function
    for name, function in in_namespace("Tensor").items():
        setattr(_C.Tensor, name, function)
