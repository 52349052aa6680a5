"""Parametrizations that are often needed (``strided.nn.utils.parametrizations``)."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

import strided

from .. import functional as F
from ..modules.module import Module
from . import parametrize

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / strided.norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return strided.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """A weight as direction and length, for each index of `dim` (None: for all) (Salimans and Kingma, "Weight
    Normalization", 2016)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict, prefix, *rest):
        """Takes the names that ``nn.utils.weight_norm`` saves under, too."""
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        axes = weight.ndim
        if dim >= axes or dim < -axes:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{axes}, {axes - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim if dim >= 0 else dim + axes, eps
        if axes > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight.detach())
            h, w = matrix.size()
            self.register_buffer("_u", F.normalize(matrix.new_empty(h).normal_(0, 1), dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(matrix.new_empty(w).normal_(0, 1), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @strided.no_grad()
    def _iterate(self, matrix, count):
        for _ in range(count):
            self._u = F.normalize(strided.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
            self._v = F.normalize(strided.mv(matrix.mH, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / strided.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def _axis_of_outputs(module, dim):
    from ..modules.conv import _ConvTransposeNd

    return (1 if isinstance(module, _ConvTransposeNd) else 0) if dim is None else dim


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """A weight divided by its largest singular value, which power iterations follow (Miyato et al., "Spectral
    Normalization for Generative Adversarial Networks", 2018)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, strided.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, _axis_of_outputs(module, dim), eps)
    return parametrize.register_parametrization(module, name, made)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        n, k = X.size(-2), X.size(-1)
        turned = n < k
        if turned:
            X, n, k = X.mT, k, n
        if self.orthogonal_map == _OrthMaps.householder:
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = strided.orgqr(A + strided.eye(n, k, dtype=X.dtype, device=X.device), tau)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            Q = self._exponential(X.tril(), n, k)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if turned else Q

    def _exponential(self, A, n, k):
        if n != k:
            A = strided.cat([A, A.new_zeros(n, n - k).expand(*A.shape[:-2], -1, -1)], dim=-1)
        A = A - A.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            Q = strided.linalg.matrix_exp(A)
        else:
            identity = strided.eye(n, dtype=A.dtype, device=A.device)
            Q = strided.linalg.solve(identity - 0.5 * A, identity + 0.5 * A)
        return Q[..., :k] if n != k else Q

    @strided.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        turned = Q.size(-2) < Q.size(-1)
        Q = Q.mT if turned else Q
        n, k = Q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            A, tau = strided.geqrf(Q)
            A.diagonal(dim1=-2, dim2=-1).sign_()
            A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
            return A.mT if turned else A
        if n != k:  # completed to a square orthogonal matrix
            Q = strided.cat([Q, strided.randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)], dim=-1)
        Q, R = strided.linalg.qr(Q)
        Q = Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
        self.base = Q
        # What forward takes to the identity: zeros, or for reflections, minus the identity.
        start = strided.zeros(*Q.shape[:-2], n, k, dtype=Q.dtype, device=Q.device)
        if self.orthogonal_map == _OrthMaps.householder:
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start.mT if turned else start


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """A weight with orthogonal columns (or rows), by the exponential of a skew matrix, its Cayley transform, or
    products of reflections (Lezcano-Casado, "Trivializations for Gradient-Based Optimization on Manifolds", 2019)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, strided.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    found: Any = getattr(_OrthMaps, orthogonal_map, None)
    if found is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, found, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)
