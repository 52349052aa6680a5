"""Dropout: elements, or whole channels, that are zeroed at random."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import strided

from ..._as_torch import core_names

if TYPE_CHECKING:
    from ..._typing import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_ALPHA = 1.7580993408473766  # SELU's scale * alpha: what it tends to for x -> -inf, negated


def _check(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(input, p, features, alpha, inplace):
    """Srivastava et al., "Dropout", 2014; with alpha: Klambauer et al., "Self-Normalizing Neural Networks", 2017."""
    if input.numel() == 0 or p == 0.0:
        return input
    if p == 1.0:
        return input.mul_(0) if inplace else input * 0
    if features:
        if input.ndim < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        noise = input.detach().new_empty([*input.shape[:2], *[1] * (input.ndim - 2)])
    else:
        noise = strided.empty_like(input.detach())
    if core_names._are_functorch_transforms_active() and type(noise) is strided.Tensor:
        noise = strided.bernoulli(noise, 1 - p)  # under vmap: one tensor for each sample, perhaps
    else:
        noise.bernoulli_(1 - p)
    if not alpha:
        noise.div_(1 - p)
        return input.mul_(noise) if inplace else input * noise
    scale = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = noise.add(-1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    noise.mul_(scale)
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes each element with probability p and divides the others by 1 - p; input itself outside of training."""
    _check(p)
    return _dropped(input, p, False, False, inplace) if training else input


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of what comes from SELU."""
    _check(p)
    return _dropped(input, p, False, True, inplace) if training else input


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels."""
    _check(p)
    return _dropped(input, p, True, True, inplace) if training else input


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels; input has shape (batch, channels, length) or (channels, length)."""
    _check(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, input.ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels; input has shape (batch, channels, height, width)."""
    _check(p)
    if input.ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error in a future release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels; input has shape (batch, channels, depth, height, width), or no batch."""
    _check(p)
    if input.ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error in a future release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, input.ndim != 4)


def _channels(input, p, training, inplace, batched):
    if not training:
        return input
    if batched:
        return _dropped(input, p, True, False, inplace)
    made = _dropped(input.unsqueeze(0), p, True, False, inplace)
    return input if inplace else made.squeeze(0)
