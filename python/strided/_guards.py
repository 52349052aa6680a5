"""What PyTorch's compiler knows while it traces, which libraries ask for: nothing is ever traced here."""

from __future__ import annotations

from typing import Any

from ._as_torch.core_names import absent

__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode"]

TracingContext: Any = absent("TracingContext", __name__)
TracingContext.try_get = staticmethod(lambda: None)


def active_fake_mode() -> None:
    """None: there are no fake tensors."""


def detect_fake_mode(inputs: Any = None) -> None:
    """None: there are no fake tensors."""


del annotations
