"""Transforms of vectors and matrices, and of several parts of a tensor at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import strided
from strided.nn.functional import logsigmoid, pad, softplus

from . import constraints
from ._transform import Transform
from ._transforms_elementwise import clipped_sigmoid
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

if TYPE_CHECKING:
    from .._typing import Sequence, Tensor


def _axes(shape: Any, n: int) -> None:
    if len(shape) < n:
        raise ValueError("Too few dimensions on input")


class SoftmaxTransform(Transform):
    """y = softmax(x) along the last axis; the inverse is the logarithm.  For optimisation: it has no jacobian."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return strided.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _axes(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """Vectors of n numbers to the simplex of n + 1: each takes its part, a sigmoid, of what the ones before it left.

    x = 0 gives equal parts (Stan Reference Manual, "Unit simplex").
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = object.__hash__

    @staticmethod
    def _left(like: Tensor) -> Tensor:
        """log of how many parts are still to come at each place."""
        n = like.shape[-1]
        return strided.arange(n, 0, -1, dtype=like.dtype, device=like.device).log()

    def _call(self, x: Tensor) -> Tensor:
        z = clipped_sigmoid(x - self._left(x))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        taken = y[..., :-1]
        rest = strided.clamp(1 - taken.cumsum(-1), min=strided.finfo(y.dtype).tiny)
        return taken.log() - rest.log() + self._left(taken)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._left(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _axes(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _axes(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of n x n correlation matrices.

    tanh of the numbers are partial correlations (Lewandowski, Kurowicka and Joe, "Generating random correlation
    matrices based on vines and extended onion method", 2009; Stan Reference Manual, "Cholesky factors of correlation
    matrices").
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = strided.tanh(x)
        eps = strided.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial * partial).sqrt().cumprod(-1)  # of the length of the row, behind each column
        partial = partial + strided.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    @staticmethod
    def _squares_left(y: Tensor) -> Tensor:
        return 1 - (y * y).cumsum(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        before = pad(self._squares_left(y)[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = tril_matrix_to_vec(self._squares_left(y), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _axes(shape, 1)
        m = shape[-1]
        n = round((0.25 + 2 * m) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != m:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        _axes(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return shape[:-2] + (n * (n - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones with a positive diagonal: the exponential of theirs."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones: L L^T with the L of :class:`LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(strided.linalg.cholesky(y))


class _PartsTransform(Transform):
    """Several transforms, each for a part of a tensor along an axis."""

    transforms: list[Any]

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_PartsTransform):
    """``lengths[i]`` elements along ``dim`` through the transform ``tseq[i]``."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("CatTransform: all parts must be Transforms")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"CatTransform: {len(self.transforms)} transforms, but {len(self.lengths)} lengths")
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """How many elements the axis has."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x: Tensor) -> Any:
        if not -x.dim() <= self.dim < x.dim() or x.size(self.dim) != self.length:
            raise AssertionError(f"CatTransform: axis {self.dim} must have {self.length} elements, shape {x.shape}")
        return x.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return strided.cat([t(part) for t, part in zip(self.transforms, self._parts(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return strided.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for t, a, b in zip(self.transforms, self._parts(x), self._parts(y)):
            term = t.log_abs_det_jacobian(a, b)
            axes = self.event_dim - t.event_dim
            terms.append(term.reshape(term.shape[: term.dim() - axes] + (-1,)).sum(-1) if axes else term)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return strided.cat(terms, dim=dim)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """One place along ``dim`` through each transform."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("StackTransform: all parts must be Transforms")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, z: Tensor) -> list[Tensor]:
        if not -z.dim() <= self.dim < z.dim() or z.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"StackTransform: axis {self.dim} must have {len(self.transforms)} elements, shape {z.shape}"
            )
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _call(self, x: Tensor) -> Tensor:
        return strided.stack([t(part) for t, part in zip(self.transforms, self._slice(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return strided.stack([t.inv(part) for t, part in zip(self.transforms, self._slice(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slice(x), self._slice(y))
        return strided.stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
