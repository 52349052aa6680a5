"""The older name of ``strided.distributed.tensor.device_mesh``."""

from __future__ import annotations

from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
