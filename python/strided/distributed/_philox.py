"""Random numbers by position: the n-th number depends on a key and n alone, whoever draws it.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011), in tensor operations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any, Tensor

_f = _C.functions
_MASK = 0xFFFFFFFF


def philox(position: Tensor, key: int, step: int = 0) -> list[Tensor]:
    """Four tensors of 32 random bits (int64) for each position (int64) under a key of 64 bits.

    step: which four, for those who need more at one position.

    >>> from strided.distributed._philox import philox
    >>> [hex(int(word)) for word in philox(strided.tensor([0]), 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    zero = _f["zeros_like"](position)
    words = [position & _MASK, (position >> 32) & _MASK, zero + step, zero]
    low, high = key & _MASK, (key >> 32) & _MASK
    for _ in range(10):
        h0, l0 = _product(0xD2511F53, words[0])
        h1, l1 = _product(0xCD9E8D57, words[2])
        words = [h1 ^ words[1] ^ low, l1, h0 ^ words[3] ^ high, l0]
        low, high = (low + 0x9E3779B9) & _MASK, (high + 0xBB67AE85) & _MASK
    return words


def _product(a, x):
    """The high and the low 32 bits of a * x; int64 holds the product of 32 and 16 bits."""
    low, high = (x & 0xFFFF) * a, (x >> 16) * a
    total = low + ((high & 0xFFFF) << 16)
    return (high >> 16) + (total >> 32), total & _MASK


def uniform(position: Tensor, key: int, dtype: Any, step: int = 0) -> Tensor:
    """Numbers in [0, 1): with 53 bits in float64, 24 in narrower dtypes (rounded down to them)."""
    words = philox(position, key, step)
    if dtype is _C.float64:
        return ((words[0] >> 5) * (1 << 26) + (words[1] >> 6)).to(_C.float64) * 2.0**-53
    bits = {_C.bfloat16: 8, _C.float16: 11}.get(dtype, 24)
    return (words[0] >> (32 - bits)).to(_C.float32).mul(2.0**-bits).to(dtype)


def inside(position: Tensor, key: int, step: int = 0) -> tuple[Tensor, Tensor]:
    """Two independent numbers in (0, 1), of 52 bits in float64."""
    words = philox(position, key, step)
    first, second = (((a >> 6) * (1 << 26) + (b >> 6)).to(_C.float64) for a, b in (words[:2], words[2:]))
    return (first + 0.5) * 2.0**-52, (second + 0.5) * 2.0**-52


def below(position: Tensor, key: int, n: Any) -> Tensor:
    """Integers of 64 bits in [0, n): the upper half of the product of n and 64 random bits.

    n: an int up to 2^64, or a tensor of int64; results from 2^63 on are the int64 of the same bits.
    """
    low, high, _, _ = philox(position, key)
    if isinstance(n, int) and n == 1 << 64:
        return (high << 32) | low
    n_low, n_high = n & _MASK, n >> 32
    middle = _product(n_low, low)[0]
    (h0, l0), (h1, l1), (h2, l2) = _product(n_low, high), _product(n_high, low), _product(n_high, high)
    carried = h0 + h1 + l2 + ((middle + l0 + l1) >> 32)
    return ((h2 + (carried >> 32)) << 32) | (carried & _MASK)


def normal(position: Tensor, key: int, dtype: Any, step: int = 0) -> Tensor:
    """Numbers of the standard normal distribution, by Box and Muller's formula in float64."""
    words = philox(position, key, step)
    radius = ((words[0] >> 5) * (1 << 26) + (words[1] >> 6)).to(_C.float64).add(1).mul(2.0**-53)
    angle = ((words[2] >> 5) * (1 << 26) + (words[3] >> 6)).to(_C.float64).mul(2 * math.pi * 2.0**-53)
    return (radius.log().mul(-2).sqrt() * angle.cos()).to(dtype)
