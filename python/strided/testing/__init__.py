"""Comparing results in tests, and making arguments for them (``strided.testing``)."""

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
