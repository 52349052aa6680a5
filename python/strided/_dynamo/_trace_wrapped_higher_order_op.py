"""A context that libraries enter around ``vmap`` of functions that index: indices of a batch are indices here."""

from __future__ import annotations

import contextlib

__all__ = ["TransformGetItemToIndex"]

TransformGetItemToIndex = contextlib.nullcontext
