"""``FunctionalTensor``: tensors by which PyTorch's compiler takes writes out of programs, which libraries ask for."""

from __future__ import annotations

from .._as_torch.core_names import absent

__all__ = ["FunctionalTensor", "FunctionalTensorMode"]

FunctionalTensor = absent("FunctionalTensor", __name__)
FunctionalTensorMode = absent("FunctionalTensorMode", __name__)

del annotations
