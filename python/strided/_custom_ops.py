"""The older home of ``strided.library``'s functions; libraries import it."""

from __future__ import annotations

from .library import custom_op as custom_op
from .library import register_fake as impl_abstract

__all__ = ["custom_op", "impl_abstract"]
