"""Operations by PyTorch's registered names (``strided.ops.aten.add``): the functions of the package.

Libraries take them as keys of tables, and ask whether kernels of other packages are there: none are, but for those
of torchvision and torchaudio once they have asked for their libraries.

>>> strided.ops.aten.mul.Tensor(strided.ones(2), 3)
tensor([3., 3.])
>>> hasattr(strided.ops.pyg, "subgraph")
False
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from . import _C
from ._as_torch import core_names as _core_names
from ._functions import aliases as _aliases

__all__ = ["load_library"]


# While a TorchDispatchMode is on (``strided._dispatch``): what takes the calls of operations.
_taken: Any = None


class _Schema:
    """The name of an operation as its schema has it; arguments are not described."""

    def __init__(self, name: str, overload: str) -> None:
        self.name, self.overload_name = f"aten::{name}", "" if overload == "default" else overload
        self.is_mutable = overload == "out" or (name.endswith("_") and not name.endswith("__"))


class OpOverload:
    """One form of an operation: a call goes to the function of that name."""

    namespace = "aten"

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._overload = self._overloadname = name
        self.__name__ = f"{packet.__name__}.{name}"
        self._schema, self._opname = _Schema(packet.__name__, name), packet.__name__
        self.tags: list[Any] = []

    def name(self) -> str:
        """``aten::add.Tensor``; of the form "default" the name alone."""
        return self._schema.name + (f".{self._schema.overload_name}" if self._schema.overload_name else "")

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self.overloadpacket._run(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _taken is not None:
            return _taken(self, args, kwargs)
        return self._run(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self  # a key of tables, which programs copy

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overload}')>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"


def network_function(name: str) -> Any:
    """The function that networks have under the name of an operation; None if there is none."""
    found = getattr(importlib.import_module(f"{__package__}.nn.functional"), name, None)
    if found is None:  # hardswish_ and others: what nn.functional calls where it is told inplace=True
        found = _C.functions.get(f"nn.functional.{name}")
    return found or getattr(importlib.import_module(f"{__package__}.nn._registered"), name, None)


class OpOverloadPacket:
    """An operation of PyTorch: callable where strided has a function or method of that name."""

    _function: Any = None  # found by the first call

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self  # a key of tables, which programs copy

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        made = OpOverload(self, name)
        setattr(self, name, made)  # the same object each time: tables have them as keys
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _taken is not None:
            overloads = importlib.import_module(f"{__package__}._dispatch.overloads")
            op = getattr(self, overloads.overload(self.__name__, list(args), kwargs))
            return _taken(op, args, kwargs)
        return self._run(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function
        if function is None:
            function = self._function = self._find()
        return function(*args, **kwargs)

    def _find(self) -> Any:
        name = self.__name__
        function = importlib.import_module(f"{__package__}._dispatch.kernels").KERNELS.get(name)
        if function is None:
            function = getattr(_core_names._VariableFunctions(), name, None) or getattr(_C.Tensor, name, None)
        if function is None:
            function = network_function(name)
        space, _, rest = name.partition("_")
        if function is None and space in ("linalg", "fft", "special"):
            function = getattr(importlib.import_module(f"{__package__}.{space}"), rest, None)
        if name == "slice":
            function = _aliases._slice
        if function is None:
            raise NotImplementedError(f"ops.aten.{name}: strided has no function of that name")
        return function

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    @property
    def _qualified_op_name(self) -> str:
        return f"aten::{self.__name__}"


HigherOrderOperator = _core_names.absent("HigherOrderOperator", f"{__package__}._ops")  # operators of functions


class _OpNamespace:
    """Operations of one library, by their names: of another package there are none."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")


class _Aten(_OpNamespace):
    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        made = OpOverloadPacket(name)
        setattr(self, name, made)
        return made


class CollectiveOp(str):
    """The name of a call between ranks, as a key of tables; ``distributed._functional_collectives`` makes the call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"ops.c10d_functional.{self}: use distributed._functional_collectives")


class _Collectives(_OpNamespace):
    """Names of calls between ranks, which ``distributed.tensor.debug.CommDebugMode`` counts."""

    def __getattr__(self, name: str) -> CollectiveOp:
        calls = importlib.import_module(f"{__package__}.distributed._functional_collectives").OPS
        if name not in calls:
            return super().__getattr__(name)
        made = CollectiveOp(name)
        setattr(self, name, made)
        return made


class _Profiler(_OpNamespace):
    """Spans of the profiler in two calls, where there is no block for ``record_function``."""

    @staticmethod
    def _record_function_enter_new(name: str, args: str | None = None) -> Any:
        """Opens a span, which the other function closes."""
        span = importlib.import_module(f"{__package__}.autograd.profiler").record_function(name, args)
        span.__enter__()
        return span

    _record_function_enter = _record_function_enter_new

    @staticmethod
    def _record_function_exit(span: Any) -> None:
        """Closes a span."""
        span.__exit__(None, None, None)


aten = _Aten("aten")
profiler = _Profiler("profiler")
c10d_functional, _c10d_functional = _Collectives("c10d_functional"), _Collectives("_c10d_functional")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _OpNamespace(name)
    return made


class _Refused(NotImplementedError, OSError):
    """As strided says it, and as PyTorch does: libraries take OSError for "not there"."""


def load_library(path: Any) -> None:
    """NotImplementedError, which is an OSError here; but for the libraries of torchvision and torchaudio.

    Libraries compiled for PyTorch are never loaded. Operations of strided's are registered instead. Of torchvision,
    these are suppression of boxes, pooling of regions and deformable convolutions; operations of quantized tensors and
    rotated boxes are not there. Of torchaudio, the loops of its recursive filters; its alignment and its loss of
    transducers are not there.

    Args:
        path: the file.
    """
    from ._functions import audio_operations as _audio_operations
    from ._functions import vision_operations as _vision_operations

    folder, file = os.path.split(os.path.abspath(os.fspath(path)))
    name = file.partition(".")[0]
    if name in _audio_operations.LIBRARIES:
        return _audio_operations.install()
    if name in _vision_operations.LIBRARIES and os.path.basename(folder) == "torchvision":
        return _vision_operations.install()
    raise _Refused("ops.load_library: strided loads no libraries compiled for PyTorch")
