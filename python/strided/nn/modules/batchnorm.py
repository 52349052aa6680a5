"""Batch normalisation as modules (``strided.nn.modules.batchnorm``)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import strided

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

if TYPE_CHECKING:
    from ..._typing import Any, Device, DType, Tensor

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """What batch and instance normalisation have in common: weight, bias, running statistics."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        made = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(strided.empty(num_features, **made)) if affine else None)
        self.register_parameter("bias", Parameter(strided.empty(num_features, **made)) if affine and bias else None)
        if track_running_stats:
            self.register_buffer("running_mean", strided.zeros(num_features, **made))
            self.register_buffer("running_var", strided.ones(num_features, **made))
            self.register_buffer("num_batches_tracked", strided.tensor(0, dtype=strided.long, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and no running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = strided.tensor(0) if count is None or count.is_meta else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or self.running_mean is None and self.running_var is None
        keeps = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if keeps else (None, None)
        return self._normalised(input, mean, var, of_batch, factor)

    def _normalised(self, input, mean, var, of_batch, factor):
        return F.batch_norm(input, mean, var, self.weight, self.bias, of_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, channels, length).

    >>> strided.nn.BatchNorm1d(2)(strided.tensor([[0., 0.], [2., 4.]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]], grad_fn=<...>)
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (batch, channels, height, width)."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (batch, channels, depth, height, width)."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation by mean and variance of the batches of all ranks, in training.

    Their batches may differ in size. Gradients go through the sums over ranks, to any order. Without a default group,
    or with a group of one rank, it is batch normalisation.

    Args:
        process_group: whose batches count; the default group if None.

    >>> def program():
    ...     strided.distributed.init_process_group()
    ...     return strided.nn.SyncBatchNorm(1)(strided.full((1, 1), strided.distributed.get_rank() * 2.)).item()
    >>> [round(x, 4) for x in strided.distributed.simulate(2, program)]
    [-1.0, 1.0]
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Device | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _normalised(self, input, mean, var, of_batch, factor):
        if self.training and "strided.distributed" in sys.modules:
            group: Any = strided.distributed
            if group.is_initialized() and group.get_world_size(self.process_group) > 1:
                from ...distributed._groups import resolve
                from ..parallel._sync_norm import batch_norm

                comm = resolve(self.process_group).communicator
                return batch_norm(input, mean, var, self.weight, self.bias, factor, self.eps, comm)
        return super()._normalised(input, mean, var, of_batch, factor)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with SyncBatchNorm in the place of every BatchNorm."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            for name in ("weight", "bias"):
                setattr(made, name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
