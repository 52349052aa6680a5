"""Types of tensors that PyTorch's compiler makes, which libraries ask for; there are none."""

from __future__ import annotations

from .fake_tensor import FakeTensor as FakeTensor
from .fake_tensor import FakeTensorMode as FakeTensorMode

del annotations
