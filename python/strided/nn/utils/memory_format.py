"""The order of axes of convolutions' weights (``strided.nn.utils.memory_format``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

if TYPE_CHECKING:
    from ..._typing import Any
    from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _converted(module, kinds, memory_format):
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Puts the weights of all 2-d convolutions in a module into an order of axes, and returns the module.

    >>> m = strided.nn.utils.convert_conv2d_weight_memory_format(strided.nn.Conv2d(2, 3, 2), strided.channels_last)
    >>> m.weight.stride()
    (8, 1, 4, 2)
    """
    return _converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Puts the weights of all 3-d convolutions in a module into an order of axes, and returns the module."""
    return _converted(module, (Conv3d, ConvTranspose3d), memory_format)
