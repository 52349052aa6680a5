"""Operations by PyTorch's registered names (``strided.ops.aten.add``): the functions of the package.

Libraries take them as keys of tables, and ask whether kernels of other packages are there: none are.

>>> strided.ops.aten.mul.Tensor(strided.ones(2), 3)
tensor([3., 3.])
>>> hasattr(strided.ops.torchvision, "nms")
False
"""

from __future__ import annotations

import importlib
from typing import Any

from . import _C, _aliases, _core_names

__all__ = ["load_library"]


class OpOverload:
    """One form of an operation: a call goes to the function of that name."""

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket, self._overload = packet, name
        self.__name__ = f"{packet.__name__}.{name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.overloadpacket(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overload}')>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"


class OpOverloadPacket:
    """An operation of PyTorch: callable where strided has a function or method of that name."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        made = OpOverload(self, name)
        setattr(self, name, made)  # the same object each time: tables have them as keys
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__
        function = getattr(_core_names._VariableFunctions(), name, None) or getattr(_C.Tensor, name, None)
        if function is None:
            function = getattr(importlib.import_module(f"{__package__}.nn.functional"), name, None)
        if function is None:
            function = getattr(importlib.import_module(f"{__package__}.nn._registered"), name, None)
        if name == "slice":
            function = _aliases._slice
        if function is None:
            raise NotImplementedError(f"ops.aten.{name}: strided has no function of that name")
        return function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"


class _Aten:
    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        made = OpOverloadPacket(name)
        setattr(self, name, made)
        return made


class _Others:
    """The kernels of another package: none."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")


aten = _Aten()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _Others(name)
    return made


class _Refused(NotImplementedError, OSError):
    """As strided says it, and as PyTorch does: libraries take OSError for "not there"."""


def load_library(path: Any) -> None:
    """NotImplementedError, which is an OSError here."""
    raise _Refused("ops.load_library: strided loads no libraries compiled for PyTorch")
