"""Where tensors would become quantized. strided has no quantized tensors: the stubs are identities, as PyTorch's are
before ``convert``; what prepares, converts or fuses a model raises NotImplementedError."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import strided

from ..._as_torch.core_names import absent

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QConfig", "QuantStub", "convert", "fuse_modules",
    "fuse_modules_qat", "prepare", "prepare_qat", "quantize", "quantize_dynamic",
]  # fmt: skip


class _Stub(strided.nn.Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """x."""
        return x


class QuantStub(_Stub):
    """The identity, at the place where a converted model would quantize.

    >>> strided.ao.quantization.QuantStub()(strided.ones(2))
    tensor([1., 1.])
    """


class DeQuantStub(_Stub):
    """The identity, at the place where a converted model would leave the quantized numbers."""


FakeQuantizeBase = absent("FakeQuantizeBase", __name__)
ObserverBase = absent("ObserverBase", __name__)


class QConfig(NamedTuple):
    """The observers of activations and of weights."""

    activation: Any
    weight: Any


def _refuse(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"ao.quantization.{name}: strided has no quantized tensors")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "NotImplementedError: there are no quantized tensors."
    return function


convert, fuse_modules, fuse_modules_qat = _refuse("convert"), _refuse("fuse_modules"), _refuse("fuse_modules_qat")
prepare, prepare_qat = _refuse("prepare"), _refuse("prepare_qat")
quantize, quantize_dynamic = _refuse("quantize"), _refuse("quantize_dynamic")
