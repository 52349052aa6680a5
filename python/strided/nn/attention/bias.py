"""Masks of attention by their rule instead of their elements (``strided.nn.attention.bias``)."""

from __future__ import annotations

import enum
import warnings
from typing import TYPE_CHECKING

import strided

from ... import _C
from ...nn import functional as F

if TYPE_CHECKING:
    from ..._typing import Any, Device, Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the triangle of a causal mask has its corner, when it is not square."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(_C.Tensor):
    """A causal mask, for ``scaled_dot_product_attention(attn_mask=...)`` only.

    Args:
        variant: where the triangle's corner is.
        seq_len_q, seq_len_kv: the lengths of queries and of keys.

    Raises:
        AssertionError: variant is no CausalVariant.
        NotImplementedError: another function is called with it.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    @staticmethod
    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        made = _C.Tensor._make_subclass(cls, strided.empty(0))
        made.__dict__.update(variant=variant, seq_len_q=seq_len_q, seq_len_kv=seq_len_kv)
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass

    def _materialize(self, device: Device | None = None) -> Tensor:
        """The mask as a tensor, True where a query sees a key."""
        shift = 0 if self.variant is CausalVariant.UPPER_LEFT else self.seq_len_kv - self.seq_len_q
        return strided.ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=strided.bool).tril(shift)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.scaled_dot_product_attention:
            name = getattr(func, "__name__", str(func))
            raise NotImplementedError(f"{name}: strided takes a CausalBias in scaled_dot_product_attention only")
        return _attention(*args, **(kwargs or {}))


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    square = attn_mask.seq_len_q == attn_mask.seq_len_kv
    causal = square or attn_mask.variant is CausalVariant.UPPER_LEFT
    mask = None if causal else attn_mask._materialize(query.device)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout_p, causal, scale, enable_gqa)


def causal_upper_left(*size: int) -> CausalBias:
    """A causal mask of a size (queries, keys): query i sees the keys up to i.

    >>> strided.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size))


def causal_lower_right(*size: int) -> CausalBias:
    """A causal mask of a size (queries, keys): the last query sees all keys.

    >>> strided.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size))


def _two(size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise AssertionError("causal bias only supports 2D tensors")
    return size[0], size[1]
