"""Names of attention with functions for masks and scores, of which there is none (``strided.nn.attention``)."""

from __future__ import annotations

from typing import Any

from ..._seat.core_names import absent

__all__ = ["AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128

AuxRequest = absent("AuxRequest", __name__)
BlockMask = absent("BlockMask", __name__)


def create_block_mask(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError(
        "create_block_mask: strided has no flex_attention; scaled_dot_product_attention takes masks"
    )


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("flex_attention: strided has scaled_dot_product_attention instead, which takes masks")
