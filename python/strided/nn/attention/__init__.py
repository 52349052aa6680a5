"""Choice among PyTorch's kernels of attention (``strided.nn.attention``); here there is one, for every choice."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from ..._as_torch.places import modules_of
from . import flex_attention

__all__ = ["SDPBackend", "bias", "flex_attention", "sdpa_kernel"]

__getattr__ = modules_of("nn.attention")  # bias needs nn.functional, which may be loading


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels of ``scaled_dot_product_attention``."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """A context in which attention is what it is outside: there is one kernel.

    Args:
        backends: one or more of :class:`SDPBackend`. set_priority: accepted, without effect.

    >>> from strided.nn.attention import SDPBackend, sdpa_kernel
    >>> x = strided.ones(1, 2, 3)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     strided.nn.functional.scaled_dot_product_attention(x, x, x).shape
    torch.Size([1, 2, 3])
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, (list, tuple)) or not all(isinstance(b, SDPBackend) for b in chosen):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield {}
