"""cuDNN is not used. The names are here for programs that set them: results are deterministic whatever they say."""

from __future__ import annotations

enabled = False
deterministic = True
benchmark = False
allow_tf32 = False


def is_available() -> bool:
    """False."""
    return False


def version() -> None:
    """None: there is no cuDNN."""
    return None
