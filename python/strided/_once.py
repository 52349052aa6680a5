"""One warning for each name that exists so that programs run, and does less than it says."""

from __future__ import annotations

import warnings

_told: set[str] = set()


def warn_once(name: str, message: str) -> None:
    """UserWarning `name: message`, in this process only the first time that this name is given."""
    if name not in _told:
        _told.add(name)
        warnings.warn(f"{name}: {message}", stacklevel=3)
