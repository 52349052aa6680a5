"""Ways to average gradients and parameters (``strided.distributed.algorithms``)."""

from __future__ import annotations

from ..._as_torch.places import modules_of
from . import join

__all__ = ["join"]

__getattr__ = modules_of("distributed.algorithms")  # they need what is made of this module
