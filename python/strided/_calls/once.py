"""One warning for each name that exists so that programs run, and does less than it says."""

from __future__ import annotations

import warnings

from .. import _C

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
    _tell(name, f"{name}: {message}")


def warn_once_of(name: str, message: str, stacklevel: int = 1) -> None:
    """The same in PyTorch's words: without the name, which only says what belongs together.

    stacklevel: 1 blames the caller of the function that calls this, 2 the caller of that one.
    """
    _tell(name, message, stacklevel)


def _tell(name, text, stacklevel=1):
    if _always or name not in _told:
        _told.add(name)
        warnings.warn(text, stacklevel=stacklevel + 3)


_C.set_hook("warn_once_of", warn_once_of)
