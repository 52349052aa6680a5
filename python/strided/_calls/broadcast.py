"""Shapes without tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._C import Size

if TYPE_CHECKING:
    from .._typing import Sequence

__all__ = ["broadcast_shapes"]


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The common shape to which shapes (tuples of sizes, or single sizes) broadcast.

    Raises:
        RuntimeError: there is none.
        ValueError: a size is negative.
        TypeError: a size is no integer.

    >>> broadcast_shapes((2,), (3, 1), 1)
    torch.Size([3, 2])
    """
    lists = []
    for shape in shapes:
        sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
        if not all(hasattr(n, "__index__") for n in sizes):
            kind = TypeError if sizes is shape else RuntimeError
            raise kind(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
        lists.append(tuple(n.__index__() for n in sizes))
    common = [1] * max(map(len, lists), default=0)
    for k, sizes in enumerate(lists):
        for i in range(-1, -len(sizes) - 1, -1):
            n = sizes[i]
            if n == 1 or n == common[i]:
                continue
            if common[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {i}! Mismatching argument at index {k} had "
                    f"{sizes}; but expected shape should be broadcastable to {common}"
                )
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            common[i] = n
    return Size(common)
