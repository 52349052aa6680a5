"""Files of the ONNX format (``strided.onnx``): none are written."""

from __future__ import annotations

from typing import Any

__all__ = ["export", "is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False."""
    return False


def export(model: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("onnx.export: strided writes no ONNX files")
