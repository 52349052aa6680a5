"""One warning for each name that exists so that programs run, and does less than it says."""

from __future__ import annotations

import warnings

from .. import _C


def warn_once(name: str, message: str) -> None:
    """UserWarning `name: message`, in this process only for the first call with this name unless set_warn_always."""
    _tell(name, f"{name}: {message}")


def warn_once_of(name: str, message: str, stacklevel: int = 1) -> None:
    """The same in PyTorch's words: without the name, which only says what belongs together.

    stacklevel: 1 blames the caller of the function that calls this, 2 the caller of that one.
    """
    _tell(name, message, stacklevel)


def _tell(name, text, stacklevel=1):
    if _C.first_time(name):
        warnings.warn(text, stacklevel=stacklevel + 3)
