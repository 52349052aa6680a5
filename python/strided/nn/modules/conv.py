"""Convolutions as modules (``strided.nn.modules.conv``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from .. import functional as F
from .. import init
from .._tuples import _ntuple
from ..parameter import Parameter
from ._constructors import named_by_class
from .module import Module
from .utils import _reverse_repeat_tuple

if TYPE_CHECKING:
    from ..._typing import Any, Device, DType, Tensor

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(Module):
    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
        "kernel_size",
    ]  # fmt: skip
    _axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                f"padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.transposed, self.output_padding = transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._padding_of_pad()
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(strided.empty(*shape, *kernel_size, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(strided.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_of_pad(self):
        """The padding as `pad` takes it, for the modes other than zeros."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sides = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = d * (k - 1) if self.padding == "same" else 0
            sides += [total // 2, total - total // 2]
        return sides

    def reset_parameters(self) -> None:
        """Initial values: uniform, with the bound 1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0  # without channels the bias is all of the result
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        function, padding = getattr(F, f"conv{self._axes}d"), self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


@named_by_class
class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        many = _ntuple(self._axes)
        super().__init__(
            in_channels,
            out_channels,
            many(kernel_size),
            many(stride),
            padding if isinstance(padding, str) else many(padding),
            many(dilation),
            False,
            many(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Cross-correlation of (batch, channels, length)."""


class Conv2d(_Conv):
    """Cross-correlation of (batch, channels, height, width).

    Args:
        kernel_size, stride, padding, dilation: one number, or one for each axis. padding: also 'same' or 'valid'.
        groups: of channels that do not see each other. padding_mode: 'zeros', 'reflect', 'replicate' or 'circular'.

    >>> strided.nn.Conv2d(3, 8, 3, padding=1)(strided.ones(2, 3, 5, 5)).shape
    torch.Size([2, 8, 5, 5])
    """

    _axes = 2


class Conv3d(_Conv):
    """Cross-correlation of (batch, channels, depth, height, width)."""

    _axes = 3


@named_by_class
class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        many = _ntuple(self._axes)
        super().__init__(
            in_channels,
            out_channels,
            many(kernel_size),
            many(stride),
            many(padding),
            many(dilation),
            True,
            many(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input, output_size):
        """What is to be added so that the output has output_size."""
        if output_size is None:
            return self.output_padding
        axes, batched = self._axes, input.dim() == self._axes + 2
        if len(output_size) == axes + 1 + batched:
            output_size = output_size[1 + batched :]
        if len(output_size) != axes:
            raise ValueError(
                f"ConvTranspose{axes}D: for {input.dim()}D input, output_size must have {axes} or {axes + 1 + batched} elements (got {len(output_size)})"
            )
        found = []
        for i, size in enumerate(output_size):
            least = (input.size(i + 1 + batched) - 1) * self.stride[i] - 2 * self.padding[i]
            least += self.dilation[i] * (self.kernel_size[i] - 1) + 1
            if not least <= size <= least + self.stride[i] - 1:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from {least} to {least + self.stride[i] - 1} (for an input of {input.size()[2:]})"
                )
            found.append(size - least)
        return tuple(found)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        function = getattr(F, f"conv_transpose{self._axes}d")
        more = self._output_padding(input, output_size)
        return function(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class _ConvTransposeMixin(_ConvTransposeNd):
    """The older name of ``_ConvTransposeNd``, which libraries put into tables of layers."""


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d."""


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d; output_padding is added on one side.

    >>> strided.nn.ConvTranspose2d(3, 2, 2, stride=2)(strided.ones(1, 3, 4, 4)).shape
    torch.Size([1, 2, 8, 8])
    """

    _axes = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d."""

    _axes = 3
