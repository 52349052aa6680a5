"""The older names of ``strided.amp`` for the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _C
from ...amp import autocast_mode as _amp
from ...amp.grad_scaler import GradScaler as _GradScaler

if TYPE_CHECKING:
    from ..._typing import DType

__all__ = ["GradScaler", "autocast"]


class autocast(_amp.autocast):
    """``amp.autocast("cpu", ...)``."""

    def __init__(self, enabled: bool = True, dtype: DType | None = _C.bfloat16, cache_enabled: bool = True) -> None:
        _amp.warn_of_old("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """``amp.GradScaler("cpu", ...)``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _amp.warn_of_old("cpu", "GradScaler")
        super().__init__("cpu", *args, **kwargs)
