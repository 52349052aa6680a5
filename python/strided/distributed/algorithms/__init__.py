"""Ways to average gradients and parameters (``strided.distributed.algorithms``)."""

from __future__ import annotations

from . import join

__all__ = ["join"]


def __getattr__(name: str) -> object:
    import importlib

    if name in ("ddp_comm_hooks", "model_averaging"):  # which need what is made of this module
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
