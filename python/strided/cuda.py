"""CUDA devices.  This build has no CUDA backend: there are none, and using one raises one clear error."""

from __future__ import annotations

from . import _C

_MISSING = "strided was built without CUDA support: no device 'cuda' can be used. Use device='cpu'."


def is_available() -> bool:
    """True if a CUDA device can be used."""
    return False


def is_initialized() -> bool:
    """True if a CUDA device was used in this process."""
    return False


def device_count() -> int:
    """Number of CUDA devices that can be used."""
    return 0


def synchronize(device=None) -> None:
    """Waits for all work on a device; RuntimeError without CUDA."""
    raise RuntimeError(_MISSING)


def current_device() -> int:
    """Index of the current device; RuntimeError without CUDA."""
    raise RuntimeError(_MISSING)


class device:
    """Context in which a CUDA device is the current one; entering it needs CUDA.

    >>> callable(strided.cuda.device)
    True
    """

    def __init__(self, device):
        self.device = device if isinstance(device, _C.device) else _C.device(device)

    def __enter__(self):
        raise RuntimeError(_MISSING)

    def __exit__(self, *exc):
        return False
