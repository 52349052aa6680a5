"""The older names of ``strided.amp`` for CUDA."""

from __future__ import annotations

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
        _amp.warn_of_old("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """``amp.GradScaler("cuda", ...)``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _amp.warn_of_old("cuda", "GradScaler")
        super().__init__("cuda", *args, **kwargs)


def custom_fwd(fwd: Any = None, *, cast_inputs: DType | None = None) -> Any:
    """``amp.custom_fwd(..., device_type="cuda")``."""
    _amp.warn_of_old("cuda", "custom_fwd", "args..., device_type='cuda'")
    return _amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """``amp.custom_bwd(..., device_type="cuda")``."""
    _amp.warn_of_old("cuda", "custom_bwd", "args..., device_type='cuda'")
    return _amp.custom_bwd(bwd, device_type="cuda")
