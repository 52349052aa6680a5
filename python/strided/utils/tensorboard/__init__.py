"""Logs for TensorBoard (``strided.utils.tensorboard``), written without any other package."""

from __future__ import annotations

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
