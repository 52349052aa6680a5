"""Names of PyTorch's checkpoints of several ranks: there are none."""

from __future__ import annotations

from ..._as_torch.core_names import absent

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

HuggingFaceStorageReader = absent("HuggingFaceStorageReader", __name__)
HuggingFaceStorageWriter = absent("HuggingFaceStorageWriter", __name__)
