"""Whether there is a device for ``cuda.amp`` (``strided.cuda.amp.common``)."""

from __future__ import annotations

from ... import cuda

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is no CUDA device."""
    return not cuda.is_available()
