"""Whether there is a CUDA device, by the names that tests import (``strided.testing._internal.common_cuda``)."""

from __future__ import annotations

import strided

from .common_utils import TEST_CUDA, TEST_MULTIGPU

__all__ = ["SM53OrLater", "SM80OrLater", "SM90OrLater", "TEST_CUDA", "TEST_CUDNN", "TEST_MULTIGPU"]

_capability = strided.cuda.get_device_capability() if TEST_CUDA else (0, 0)
SM53OrLater, SM80OrLater, SM90OrLater = (_capability >= at for at in ((5, 3), (8, 0), (9, 0)))
TEST_CUDNN = False  # strided has kernels of its own
