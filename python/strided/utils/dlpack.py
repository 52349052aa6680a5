"""Exchange of tensors in memory (``strided.utils.dlpack``)."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from .._calls.arguments import check_tensor
from .._functions.creation import from_dlpack

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """DLPack's numbers of the types of devices."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule of the tensor's memory, to be consumed once.

    >>> x = torch.ones(2)
    >>> torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).data_ptr() == x.data_ptr()
    True
    """
    check_tensor("to_dlpack", "tensor", 1, tensor)
    return tensor.__dlpack__()
