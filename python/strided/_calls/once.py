"""One warning for each name that exists so that programs run, and does less than it says."""

from __future__ import annotations

import warnings

_told: set[str] = set()
_always = False


def warn_always(b: bool | None = None) -> bool:
    """Whether warnings are repeated, after setting it to `b`."""
    global _always
    if b is not None:
        _always = b
    return _always


def warn_once(name: str, message: str) -> None:
    """UserWarning `name: message`, in this process only for the first call with this name unless `warn_always()`."""
    if _always or name not in _told:
        _told.add(name)
        warnings.warn(f"{name}: {message}", stacklevel=3)
