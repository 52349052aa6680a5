"""cuDNN is not used. The names are here for programs that set them: results are deterministic whatever they say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

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


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:
    """A context that changes nothing."""
    yield
