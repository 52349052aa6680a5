"""Comparing results in tests, and making arguments for them (``strided.testing``)."""

from ._comparison import assert_close
from ._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
