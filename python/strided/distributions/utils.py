"""What distributions share: parameters of one shape, probabilities and their logarithms, properties computed once."""

from __future__ import annotations

from functools import update_wrapper
from numbers import Number
from typing import TYPE_CHECKING

import strided
from strided.overrides import is_tensor_like

if TYPE_CHECKING:
    from .._typing import Any, Callable, Tensor

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape.  Numbers take dtype and device of the first tensor, or the default dtype.

    Raises ValueError for what is neither number nor tensor, RuntimeError where the shapes do not broadcast.

    >>> from strided.distributions.utils import broadcast_all
    >>> broadcast_all(0, strided.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if not all(is_tensor_like(v) for v in values):
        first = next((v for v in values if isinstance(v, strided.Tensor)), None)
        options = (
            {"dtype": strided.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
        )
        values = tuple(v if is_tensor_like(v) else strided.tensor(v, **options) for v in values)
    return tuple(strided.broadcast_tensors(*values))


def numbers(*values: Any) -> bool:
    """True if all values are numbers of Python."""
    return all(isinstance(v, Number) for v in values)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return strided.normal(
        strided.zeros(shape, dtype=dtype, device=device), strided.ones(shape, dtype=dtype, device=device)
    )


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` axes."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log-odds (``is_binary``) or from logarithms along the last axis, which need not sum to 1."""
    return strided.sigmoid(logits) if is_binary else strided.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """The probabilities, at least eps and at most 1 - eps of their dtype."""
    eps = strided.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds (``is_binary``) or logarithms of probabilities, which are clamped first and so finite."""
    clamped = clamp_probs(probs)
    return strided.log(clamped) - strided.log1p(-clamped) if is_binary else strided.log(clamped)


class lazy_property:
    """A property that is computed when first asked for, with gradients, and kept as an attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with strided.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class says of its lazy property: documentation tools see a property."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of (..., n, n), row by row, up to diagonal ``diag``: shape (..., m).

    >>> from strided.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(strided.arange(4).view(2, 2))
    tensor([0, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    row, column = strided.tril_indices(n, n, diag, device=mat.device)
    return mat[..., row, column]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of :func:`tril_matrix_to_vec`; zero above the diagonal ``diag``.

    >>> from strided.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(strided.tensor([1., 2., 3.]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    m = vec.shape[-1]
    # m elements up to diagonal d of an n x n triangle: 2 m = n^2 + (1 + 2 d) n + d (d + 1), solved for n.
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * m + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if abs(round(n) - n) > 1e-6:
        raise ValueError(
            f"The size of last dimension is {m} which cannot be expressed as the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    matrix = vec.new_zeros(vec.shape[:-1] + (n, n))
    row, column = strided.tril_indices(n, n, diag, device=vec.device)
    matrix[..., row, column] = vec
    return matrix
