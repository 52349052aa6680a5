"""Tracing by tensors that record what is done to them; there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["get_proxy_mode", "make_fx"]


def get_proxy_mode() -> None:
    """None: nothing is traced."""


def make_fx(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Not implemented: ``fx.symbolic_trace`` records modules whose control flow does not depend on tensors."""
    raise NotImplementedError("make_fx: strided does not trace by tensors; fx.symbolic_trace records modules")


del annotations
