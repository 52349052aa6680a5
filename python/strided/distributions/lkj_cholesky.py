"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import strided

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors of ``dim`` x ``dim`` correlation matrices M with density proportional to
    det(M)^(concentration - 1).

    (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method",
    2009; the onion method samples.)

    >>> strided.distributions.LKJCholesky(3, 0.5).event_shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}  # type: ignore[assignment]
    support = constraints.corr_cholesky  # type: ignore[assignment]

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of each row's part before the diagonal has a beta distribution.
        below = strided.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        below = strided.cat([below.new_zeros((1,)), below])
        rest = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(0.5 * below + 0.5, rest.unsqueeze(-1) - 0.5 * below)
        super().__init__(self.concentration.size(), strided.Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = strided.Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        super(LKJCholesky, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Any = strided.Size()) -> Tensor:
        with strided.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            directions = strided.randn(shape, dtype=y.dtype, device=y.device).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0
            w = strided.sqrt(y) * directions
            tiny = strided.finfo(w.dtype).tiny
            return w + strided.diag_embed(strided.clamp(1 - (w**2).sum(-1), min=tiny).sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.dim - 1
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        row = strided.arange(2, self.dim + 1, device=self.concentration.device)
        exponent = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        unnormalized = (exponent * diagonal.log()).sum(-1)
        alpha = self.concentration + 0.5 * n
        norm = 0.5 * n * math.log(math.pi) + strided.mvlgamma(alpha - 0.5, n) - n * strided.lgamma(alpha)
        return unnormalized - norm
