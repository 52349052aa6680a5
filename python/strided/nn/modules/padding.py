"""Padding as modules (``strided.nn.modules.padding``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import functional as F
from ._constructors import named_by_class
from .module import Module
from .utils import _ntuple

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


@named_by_class
class _PadNd(Module):
    """Padding of the last axes: one number for all sides, or (before, after) of the last axis first."""

    __constants__ = ["padding"]
    _axes = 1
    _mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._axes)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self._axes + 1, self._axes + 2):
            raise ValueError(f"expected {self._axes + 1}D or {self._axes + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class ConstantPad1d(_ConstantPadNd):
    """Padding by a value, of the last axis."""


class ConstantPad2d(_ConstantPadNd):
    """Padding by a value, of the last two axes."""

    _axes = 2


class ConstantPad3d(_ConstantPadNd):
    """Padding by a value, of the last three axes."""

    _axes = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Padding by what is mirrored at the edges, of the last axis."""


class ReflectionPad2d(_ReflectionPadNd):
    """Padding by what is mirrored at the edges, of the last two axes."""

    _axes = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Padding by what is mirrored at the edges, of the last three axes."""

    _axes = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Padding by the elements at the edges, of the last axis."""


class ReplicationPad2d(_ReplicationPadNd):
    """Padding by the elements at the edges, of the last two axes."""

    _axes = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Padding by the elements at the edges, of the last three axes."""

    _axes = 3


class CircularPad1d(_CircularPadNd):
    """Padding by what stands at the other end, of the last axis."""


class CircularPad2d(_CircularPadNd):
    """Padding by what stands at the other end, of the last two axes."""

    _axes = 2


class CircularPad3d(_CircularPadNd):
    """Padding by what stands at the other end, of the last three axes."""

    _axes = 3


class ZeroPad1d(ConstantPad1d):
    """Padding by zeros, of the last axis."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Padding by zeros, of the last two axes."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Padding by zeros, of the last three axes."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
