"""Architecture optimisation: of PyTorch's package the stubs of ``ao.quantization`` (docs/left_out.md)."""

from . import quantization

__all__ = ["quantization"]
