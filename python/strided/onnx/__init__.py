"""Files of the ONNX format (``strided.onnx``): none are written."""

from __future__ import annotations

from typing import Any

__all__ = ["export", "is_in_onnx_export", "register_custom_op_symbolic"]


def is_in_onnx_export() -> bool:
    """False."""
    return False


def export(model: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("onnx.export: strided writes no ONNX files")


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Nothing: it would say how files name an operation. Libraries call it when they are imported."""
