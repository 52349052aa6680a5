"""oneDNN is not used. The names are here for programs that set them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["allow_tf32", "deterministic", "enabled", "flags", "is_available", "set_flags"]

enabled = False
deterministic = True
allow_tf32 = False


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool | None = None, *flags: bool | None) -> tuple[bool | None, ...]:
    """Nothing; what there was: all off."""
    return (False, True, False, "none")[: 1 + len(flags)]


@contextlib.contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, **others: object
) -> Iterator[None]:
    """A context that changes nothing."""
    yield
