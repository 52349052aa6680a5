"""Names of PyTorch's pipes of data, of which there are none."""

from __future__ import annotations

from ....._as_torch.core_names import absent

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]

SamplerIterDataPipe = absent("SamplerIterDataPipe", __name__)
ShufflerIterDataPipe = absent("ShufflerIterDataPipe", __name__)
