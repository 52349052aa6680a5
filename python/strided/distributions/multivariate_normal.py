"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["MultivariateNormal"]


def _batch_mv(matrices: Tensor, vectors: Tensor) -> Tensor:
    """Products of matrices (..., n, m) and vectors (..., m)."""
    return strided.matmul(matrices, vectors.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """x^T M^-1 x for M = L L^T, of factors L (..., n, n) and vectors x (..., n)."""
    if factor.dim() == 2:  # one factor: all vectors are columns of one system
        columns = x.reshape(-1, x.shape[-1]).t()
        solved = strided.linalg.solve_triangular(factor, columns, upper=False)
        return solved.pow(2).sum(0).reshape(x.shape[:-1])
    batch = strided.broadcast_shapes(factor.shape[:-2], x.shape[:-1])
    x = x.expand(batch + x.shape[-1:])
    own = factor.shape[:-2]
    if len(own) < len(batch) and own == batch[len(batch) - len(own) :]:
        # Axes that the factors do not have become columns as well.
        extra = len(batch) - len(own)
        columns = x.permute(*range(extra, len(batch) + 1), *range(extra)).reshape(own + (x.shape[-1], -1))
        squares = strided.linalg.solve_triangular(factor, columns, upper=False).pow(2).sum(-2)
        squares = squares.reshape(own + batch[:extra])
        return squares.permute((*range(len(own), len(batch)), *range(len(own))))
    return strided.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of P, without forming the inverse: that of P with both orders
    reversed, inverted."""
    reversed_factor = strided.linalg.cholesky(strided.flip(P, (-2, -1)))
    upper = strided.flip(reversed_factor, (-2, -1)).mT
    identity = strided.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return strided.linalg.solve_triangular(upper, identity, upper=False)


class MultivariateNormal(Distribution):
    """Normal distribution of vectors, of a mean (..., n) and one of three matrices (..., n, n):
    ``covariance_matrix``, its inverse ``precision_matrix``, or its Cholesky factor ``scale_tril``.

    >>> strided.distributions.MultivariateNormal(strided.zeros(2), strided.eye(2)).log_prob(strided.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {  # type: ignore[assignment]
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector  # type: ignore[assignment]
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = strided.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = strided.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        matrices = {"covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
        new = self._expanded(MultivariateNormal, batch_shape, _instance, {"loc": 1} | matrices)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return strided.matmul(factor, factor.mT).expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        inverse = strided.cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = strided.Size()) -> Tensor:
        eps = _standard_normal(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det

    def entropy(self) -> Tensor:
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return entropy.expand(self._batch_shape)


def one_matrix(covariance_matrix: Any, precision_matrix: Any, scale_tril: Any, error: Any = ValueError) -> Any:
    """The name and the value of the one matrix that is given."""
    given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
    given = {name: matrix for name, matrix in given.items() if matrix is not None}
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return next(iter(given.items()))
