"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import strided

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril, one_matrix
from .utils import lazy_property, numbers

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of mvlgamma."""
    return strided.digamma(x.unsqueeze(-1) - strided.arange(p, dtype=x.dtype, device=x.device).div(2)).sum(-1)


class Wishart(ExponentialFamily):
    """Distribution of sums of ``df`` outer products of normal vectors, of p x p matrices: the scale matrix is
    ``covariance_matrix``, its inverse ``precision_matrix``, or its Cholesky factor ``scale_tril``.

    Samples by Bartlett's decomposition ("On the theory of statistical regression", 1933).

    >>> strided.distributions.Wishart(strided.tensor(3.), covariance_matrix=strided.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite  # type: ignore[assignment]
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril, AssertionError)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = strided.tensor(df, dtype=matrix.dtype, device=matrix.device) if numbers(df) else df
        batch_shape = strided.broadcast_shapes(matrix.shape[:-2], df.shape)
        event_shape = matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self._batch_dims = list(range(-len(batch_shape), 0))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(event_shape[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = strided.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._chi2 = self._make_chi2()

    def _make_chi2(self) -> Chi2:
        """For the squares of the diagonal: df, df - 1, ... degrees of freedom."""
        p = self._event_shape[-1]
        return Chi2(df=self.df.unsqueeze(-1) - strided.arange(p, dtype=self.df.dtype, device=self.df.device))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        matrices = {"covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
        new = self._expanded(Wishart, batch_shape, _instance, {"df": 0} | matrices)
        new._batch_dims = list(range(-len(new._batch_shape), 0))
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._chi2 = new._make_chi2()
        return new

    def _matrix(self, value: Tensor) -> Tensor:
        return value.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the scale matrix."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The scale matrix."""
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the scale matrix."""
        return self._matrix(strided.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = strided.where(factor <= 0, strided.nan, factor)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view(self._batch_shape + (1, 1)) * (V.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape: Any = strided.Size()) -> Tensor:
        p = self._event_shape[-1]
        tiny = strided.finfo(self._unbroadcasted_scale_tril.dtype).tiny
        diagonal = self._chi2.rsample(sample_shape).clamp(min=tiny).sqrt().diag_embed(dim1=-2, dim2=-1)
        row, column = strided.tril_indices(p, p, offset=-1)
        below = strided.randn(
            strided.Size(sample_shape) + self._batch_shape + (int(p * (p - 1) / 2),),
            dtype=diagonal.dtype,
            device=diagonal.device,
        )
        diagonal[..., row, column] = below
        factor = self._unbroadcasted_scale_tril @ diagonal
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = strided.Size(), max_try_correction: int | None = None) -> Tensor:
        """Samples with gradients; those that rounding made singular are drawn again, at most so many times."""
        if max_try_correction is None:
            max_try_correction = 10
        sample_shape = strided.Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        bad = ~self.support.check(sample)
        if bad.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(max_try_correction):
                again = self._bartlett_sampling(sample_shape)
                sample = strided.where(bad[..., None, None], again, sample)
                bad = ~self.support.check(sample)
                if not bad.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        trace = strided.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (p * math.log(2) / 2 + half_log_det) - strided.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * strided.linalg.slogdet(value).logabsdet - trace / 2
        )  # fmt: skip

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + half_log_det) + strided.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p) + nu * p / 2
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        nu, p = self.df, self._event_shape[-1]
        return -self.precision_matrix / 2, (nu - p - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        a = y + (p + 1) / 2
        return a * (-strided.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + strided.mvlgamma(a, p=p)
