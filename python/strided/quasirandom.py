"""Points that fill a cube evenly (``strided.quasirandom``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

from ._functions.sobol_numbers import BITS, DIMENSIONS, directions

if TYPE_CHECKING:
    from ._typing import DType, Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """The Sobol sequence in [0, 1)^dimension, scrambled or not; the points are those of PyTorch.

    Args:
        dimension: 1 to ``MAXDIM``, which is 1111.
        scramble: whether the digits are scrambled (linear matrices and a shift, of Matousek, "On the L2-discrepancy for
            anchored boxes", 1998), with random bits.
        seed: of these bits; they come from the default generator if None.

    Raises:
        ValueError: dimension out of range.

    The sequence is that of Sobol, "On the distribution of points in a cube and the approximate evaluation of
    integrals", 1967, in the order of Antonov and Saleev, 1979; its direction numbers are those of Joe and Kuo, 2008.

    >>> strided.quasirandom.SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = strided.tensor(directions(dimension), device="cpu", dtype=strided.int64)
        if scramble:
            self._scramble()
        else:
            self.shift = strided.zeros(dimension, device="cpu", dtype=strided.int64)
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None if self.seed is None else strided.Generator().manual_seed(self.seed)
        bits, d = self.MAXBIT, self.dimension
        weights = 2 ** strided.arange(bits, device="cpu")
        ones = strided.randint(2, (d, bits), device="cpu", generator=generator)
        matrices = strided.randint(2, (d, bits, bits), device="cpu", generator=generator).tril()
        self.shift = (ones * weights).sum(-1)
        matrices.diagonal(dim1=-2, dim2=-1).fill_(1)
        highest_first = weights.flip(0)
        digits = (self.sobolstate.unsqueeze(1) & highest_first.unsqueeze(-1)).ne(0).long()  # (d, digits, numbers)
        digits = (matrices @ digits) & 1
        self.sobolstate = (digits * highest_first.unsqueeze(-1)).sum(1)

    def _after(self, counts: Tensor) -> Tensor:
        """The numbers after so many points, beginning from those of now, (n, dimension)."""
        now = max(self.num_generated - 1, 0)
        steps = counts + now
        changed = (steps ^ (steps >> 1)) ^ (now ^ (now >> 1))  # Gray codes: one digit a point
        numbers = self.quasi.expand(len(counts), -1)
        for j in range(int(changed.max()).bit_length() if len(counts) else 0):
            numbers = numbers ^ ((changed >> j & 1).unsqueeze(-1) * self.sobolstate[:, j])
        return numbers

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next n points, (n, dimension).

        Args:
            out: a tensor that is resized and written. dtype: floating-point; the default dtype if None.
        """
        dtype = strided.get_default_dtype() if dtype is None else dtype
        first = 0 if self.num_generated == 0 else 1
        if n + self.num_generated > 2**self.MAXBIT:
            raise RuntimeError(f"SobolEngine.draw: the sequence has 2^{self.MAXBIT} points")
        numbers = self._after(strided.arange(first, n + first, device="cpu"))
        self.quasi = numbers[-1].clone() if n else self.quasi
        self.num_generated += n
        points = numbers.to(dtype) * 2.0**-self.MAXBIT
        if out is None:
            return points
        return out.resize_(points.shape).copy_(points)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next 2^m points. ValueError unless that makes 2^k points, for some k: there the sequence is balanced."""
        if m > self.MAXBIT:  # 2^m may be a number that no memory holds
            raise RuntimeError(f"SobolEngine.draw: the sequence has 2^{self.MAXBIT} points")
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out the next n points."""
        if n:
            self.quasi = self._after(strided.tensor([n - (self.num_generated == 0)], device="cpu"))[0].clone()
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts: list[Any] = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
