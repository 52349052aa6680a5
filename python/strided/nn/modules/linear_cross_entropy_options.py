"""How ``linear_cross_entropy`` divides the batch (``strided.nn.modules.linear_cross_entropy_options``)."""

from __future__ import annotations

import dataclasses
from typing import Any

import strided

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """Options of ``linear_cross_entropy``: how many samples have logits in memory at a time.

    The backward pass computes the logits of each part again, so that a graph may be gone through many times, and be
    differentiated again.

    Args:
        allow_retain_graph: accepted, without effect.
        batch_chunk_size: samples of a part; None: as chunking_method says.
        chunking_method: 'aspect_ratio': logits of a part have about as many elements as the input, and as
            'aspect_ratio:2' half as many. 'auto': 'aspect_ratio:2' where there is no batch_chunk_size. None: one part
            if there is none.
        acc_policy: accepted, without effect. acc_dtype: what losses are computed in; None: float32 for 16-bit logits,
            where acc_policy is 'auto', else the dtype of the input.

    Raises:
        ValueError: for values that are none of these, and a batch_chunk_size that differs from what the method says.

    >>> options = strided.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    >>> x, w, y = strided.ones(5, 3), strided.zeros(4, 3), strided.arange(5) % 4
    >>> strided.nn.functional.linear_cross_entropy(x, w, y, options=options)
    tensor(1.3863)
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = self.chunking_method.partition(":")
            if name != "aspect_ratio" or colon and not (factor.isdigit() and int(factor) > 0):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, strided.float16, strided.bfloat16, strided.float32, strided.float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )

    def _rows(self, batch: int, features: int, classes: int) -> int:
        """Samples of a part."""
        given, method = self.batch_chunk_size, self.chunking_method
        if method is None or method == "auto" and given is not None:
            return max(1, batch if given is None else min(given, batch))
        factor = int(method.partition(":")[2] or 1) if method != "auto" else 2
        wanted = -(-batch // max(1, -(-classes // max(1, features))))
        size = min((1 << max(0, wanted - 1).bit_length()) // factor, batch)
        if given is not None and given != size:
            raise ValueError(
                f"batch_chunk_size (={given}) and chunking_method ('{method}') give different chunk sizes "
                f"({given} vs {size}); pass only one."
            )
        return max(1, size)

    def _dtype(self, dtype: Any) -> Any:
        """What losses of logits of this dtype are computed in."""
        if self.acc_dtype is not None:
            return self.acc_dtype
        small = dtype in (strided.float16, strided.bfloat16)
        return strided.float32 if small and self.acc_policy == "auto" else dtype
