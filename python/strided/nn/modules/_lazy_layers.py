"""Linear, convolution and normalisation that take the number of channels from their first input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

from ..parameter import UninitializedBuffer, UninitializedParameter
from . import batchnorm, conv, instancenorm, linear
from .lazy import LazyModuleMixin

if TYPE_CHECKING:
    from ..._typing import Device, DType, Tensor

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip


class LazyLinear(LazyModuleMixin, linear.Linear):
    """Linear whose in_features are the last axis of the first input.

    Args:
        out_features: the size of the last axis of the output.
        bias: False for none. device, dtype: of the parameters.
    """

    cls_to_become = linear.Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Device | None = None, dtype: DType | None = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            with strided.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the parameters came from a state dict
            self.in_features = self.weight.shape[-1]


class _LazyConv(LazyModuleMixin):
    _axes = 0

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        *args: Any,
        device: Device | None = None,
        dtype: DType | None = None,
        **kwargs: Any,
    ) -> None:
        where = self._bias_position
        given = kwargs.pop("bias", True) if len(args) <= where else args[where]
        args = (*args[:where], False, *args[where + 1 :]) if len(args) > where else args
        if len(args) <= where:
            kwargs["bias"] = False
        super().__init__(0, 0, kernel_size, *args, **kwargs)
        if out_channels % self.groups:
            raise ValueError("out_channels must be divisible by groups")
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if given:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    _bias_position = 4  # stride, padding, dilation, groups, bias
    in_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    transposed: bool
    weight: Any
    bias: Any

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if self.has_uninitialized_params():
            with strided.no_grad():
                self.in_channels = self._channels(input)
                if self.in_channels % self.groups:
                    raise ValueError("in_channels must be divisible by groups")
                sides = (self.out_channels, self.in_channels)
                of_all, of_group = reversed(sides) if self.transposed else sides
                self.weight.materialize((of_all, of_group // self.groups, *self.kernel_size))
                if self.bias is not None:
                    self.bias.materialize((self.out_channels,))
                self.reset_parameters()
        if self.in_channels == 0:
            self.in_channels = self._channels(input)

    def _channels(self, input: Tensor) -> int:
        without, batched = self._axes + 1, self._axes + 2
        if input.dim() not in (without, batched):
            raise RuntimeError(
                f"Expected {without}D (unbatched) or {batched}D (batched) input to {type(self).__name__}, but got input "
                f"of size: {input.shape}"
            )
        return input.shape[-self._axes - 1]


class LazyConv1d(_LazyConv, conv.Conv1d):  # type: ignore[misc]
    """Conv1d whose in_channels are those of the first input; the other arguments are those of Conv1d."""

    cls_to_become = conv.Conv1d
    _axes = 1


class LazyConv2d(_LazyConv, conv.Conv2d):  # type: ignore[misc]
    """Conv2d whose in_channels are those of the first input; the other arguments are those of Conv2d."""

    cls_to_become = conv.Conv2d
    _axes = 2


class LazyConv3d(_LazyConv, conv.Conv3d):  # type: ignore[misc]
    """Conv3d whose in_channels are those of the first input; the other arguments are those of Conv3d."""

    cls_to_become = conv.Conv3d
    _axes = 3


class LazyConvTranspose1d(_LazyConv, conv.ConvTranspose1d):  # type: ignore[misc]
    """ConvTranspose1d whose in_channels are those of the first input."""

    cls_to_become = conv.ConvTranspose1d
    _axes = 1


class LazyConvTranspose2d(_LazyConv, conv.ConvTranspose2d):  # type: ignore[misc]
    """ConvTranspose2d whose in_channels are those of the first input."""

    cls_to_become = conv.ConvTranspose2d
    _axes = 2


class LazyConvTranspose3d(_LazyConv, conv.ConvTranspose3d):  # type: ignore[misc]
    """ConvTranspose3d whose in_channels are those of the first input."""

    cls_to_become = conv.ConvTranspose3d
    _axes = 3


class _LazyNorm(LazyModuleMixin):
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_features: int

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        # Without parameters at first: those of size 0 would be replaced.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        made = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**made)
            if bias:
                self.bias = UninitializedParameter(**made)
        if track_running_stats:
            self.running_mean, self.running_var = UninitializedBuffer(**made), UninitializedBuffer(**made)
            self.num_batches_tracked = strided.tensor(0, dtype=strided.long, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            own = (self.weight, self.bias, self.running_mean, self.running_var)
            with strided.no_grad():
                for tensor in own:
                    if tensor is not None:
                        tensor.materialize((self.num_features,))
                self.reset_parameters()
        if self.num_features == 0:
            self.num_features = input.shape[1]


class LazyBatchNorm1d(_LazyNorm, batchnorm.BatchNorm1d):  # type: ignore[misc]
    """BatchNorm1d whose num_features are the channels of the first input."""

    cls_to_become = batchnorm.BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, batchnorm.BatchNorm2d):  # type: ignore[misc]
    """BatchNorm2d whose num_features are the channels of the first input."""

    cls_to_become = batchnorm.BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, batchnorm.BatchNorm3d):  # type: ignore[misc]
    """BatchNorm3d whose num_features are the channels of the first input."""

    cls_to_become = batchnorm.BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, instancenorm.InstanceNorm1d):  # type: ignore[misc]
    """InstanceNorm1d whose num_features are the channels of the first input."""

    cls_to_become = instancenorm.InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, instancenorm.InstanceNorm2d):  # type: ignore[misc]
    """InstanceNorm2d whose num_features are the channels of the first input."""

    cls_to_become = instancenorm.InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, instancenorm.InstanceNorm3d):  # type: ignore[misc]
    """InstanceNorm3d whose num_features are the channels of the first input."""

    cls_to_become = instancenorm.InstanceNorm3d
