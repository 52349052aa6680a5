"""Ways to average gradients (``strided.distributed.algorithms``)."""

from __future__ import annotations

from . import join

__all__ = ["join"]
