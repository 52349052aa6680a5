"""Pooling as modules (``strided.nn.modules.pooling``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import functional as F
from .._tuples import _ntuple
from ._constructors import named_by_class
from .module import Module

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d",
    "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _axes = 1

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        places = (True,) if self.return_indices else ()
        return getattr(F, f"max_pool{self._axes}d")(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, *places
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


@named_by_class
class _MaxUnpoolNd(Module):
    _axes = 1

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        many = _ntuple(self._axes)
        self.kernel_size, self.padding = many(kernel_size), many(padding)
        self.stride = many(kernel_size if stride is None else stride)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        function = getattr(F, f"max_unpool{self._axes}d")
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(Module):
    """The mean of each window over the last axis."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        one = _ntuple(1)
        self.kernel_size, self.padding = one(kernel_size), one(padding)
        self.stride = one(stride if stride is not None else kernel_size)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@named_by_class
class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    _axes = 2

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"avg_pool{self._axes}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _axes = 1

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        function = getattr(F, f"lp_pool{self._axes}d")
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]
    _axes = 1

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{self._axes}d")(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    _axes = 1

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"adaptive_max_pool{self._axes}d")(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window over the last axis."""

    _axes = 1


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window over the last two axes."""

    _axes = 2


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window over the last three axes."""

    _axes = 3


class MaxUnpool1d(_MaxUnpoolNd):
    """Maxima at their places, zeros elsewhere, over the last axis."""

    _axes = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Maxima at their places, zeros elsewhere, over the last two axes."""

    _axes = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Maxima at their places, zeros elsewhere, over the last three axes."""

    _axes = 3


@named_by_class
class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _axes = 2

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        many = _ntuple(self._axes)
        self.kernel_size, self.return_indices = many(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else many(output_size)
        self.output_ratio = None if output_ratio is None else many(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"fractional_max_pool{self._axes}d")(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows over the last two axes, at places whose steps are drawn."""

    _axes = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows over the last three axes, at places whose steps are drawn."""

    _axes = 3


class AvgPool2d(_AvgPoolNd):
    """The mean of each window over the last two axes."""

    _axes = 2


class AvgPool3d(_AvgPoolNd):
    """The mean of each window over the last three axes."""

    _axes = 3


class LPPool1d(_LPPoolNd):
    """The norm of each window over the last axis."""

    _axes = 1


class LPPool2d(_LPPoolNd):
    """The norm of each window over the last two axes."""

    _axes = 2


class LPPool3d(_LPPoolNd):
    """The norm of each window over the last three axes."""

    _axes = 3


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows as are asked for, over the last axis."""

    _axes = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of as many windows as are asked for, over the last two axes."""

    _axes = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many windows as are asked for, over the last three axes."""

    _axes = 3


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows as are asked for, over the last axis."""

    _axes = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows as are asked for, over the last two axes."""

    _axes = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows as are asked for, over the last three axes."""

    _axes = 3
