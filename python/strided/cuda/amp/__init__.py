"""The older names of ``strided.amp`` for CUDA."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ... import _C
from ...amp import autocast_mode as _amp
from ...amp.grad_scaler import GradScaler as _GradScaler

if TYPE_CHECKING:
    from ..._typing import DType

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """``amp.autocast("cuda", ...)``."""

    def __init__(self, enabled: bool = True, dtype: DType | None = _C.float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """``amp.GradScaler("cuda", ...)``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)


custom_fwd = functools.partial(_amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_amp.custom_bwd, device_type="cuda")
