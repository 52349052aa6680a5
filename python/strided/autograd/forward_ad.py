"""Forward-mode differentiation: dual tensors carry a tangent along (``strided.autograd.forward_ad``).

Forward mode by double backward: an operation on a dual tensor is recorded as for the backward pass, and the tangent of
a result is taken from the graph when it is asked for: the gradient ``J^T w`` is linear in ``w``, so its own gradient by
``w`` along the tangent is ``J t`` (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).  One
rule for each operation serves both directions; the price is the memory of the graph, and that nothing is tracked under
``no_grad``.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, NamedTuple

from .. import _C
from ._leaf import leaf_of

if TYPE_CHECKING:
    from .._typing import F, Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_dual, _run, _zeros_like = _C.functions["_dual"], _C.functions["_backward"], _C.functions["zeros_like"]
_place_of = _C.functions["_place_of"]
_levels = []  # of each open level: [(place of a dual tensor in the graph, tangent), ...]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, or None where it has none."""

    primal: _C.Tensor
    tangent: _C.Tensor | None


def __getattr__(name: str) -> int:
    if name == "_current_level":  # which libraries read: -1 outside
        return len(_levels) - 1
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def enter_dual_level() -> int:
    """Opens a level; its number.  Only one level may be open at a time."""
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append([])
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level; the dual tensors made in it have no tangents any more."""
    if not _levels:
        raise RuntimeError("Trying to exit a forward AD level that was not entered")
    if level not in (None, len(_levels) - 1):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _levels.pop()


class dual_level:
    """Context that opens a level for dual tensors.

    >>> import strided.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(strided.tensor([1., 2.]), strided.tensor([1., 0.]))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor([2., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with dual_level():
                return function(*args, **kwargs)

        return wrapped


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a tangent of its shape, that operations on it propagate in the tensor's dtype.

    RuntimeError for a tangent that this dtype does not hold: wider, or complex where the tensor is real.
    """
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.dtype.is_floating_point or tangent.dtype.is_complex):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if tangent.dtype != tensor.dtype:
        if _C.functions["promote_types"](tangent.dtype, tensor.dtype) != tensor.dtype:
            raise RuntimeError(
                f"Expected a tangent whose dtype the primal's holds without loss, but got {tangent.dtype} for {tensor.dtype}"
            )
        tangent = tangent.to(tensor.dtype)
    dual = _dual(tensor)
    # The place in the graph, not the tensor, which may be written to: its tangent is then another one.
    _levels[-1].append((_place_of(dual), tangent))
    return dual


_takes_tangent = threading.local()  # .on: a tangent is being taken from the graph


@functools.cache
def _primal_function():
    from . import Function

    class AliasBackward(Function):
        """The tensor without its tangent: gradients pass, but for those that a tangent is made of."""

        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return None if getattr(_takes_tangent, "on", False) else grad

    return AliasBackward.apply


def _primal(tensor: Tensor) -> Tensor:
    """The tensor (a tangent may depend on its dual tensor, too) without a tangent."""
    if not _C.functions["_has_record"](tensor):
        return tensor
    return _primal_function()(tensor) if tensor.requires_grad else tensor.detach()


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """(primal, tangent) of a tensor, the primal without the tangent; tangent None if no dual tensor of the open level
    leads to it."""
    if not _levels or not _C.functions["_has_record"](tensor):
        return UnpackedDualTensor(tensor, None)
    duals = [d for d, _ in _levels[-1]]
    w = leaf_of(_zeros_like(tensor.detach()))
    before, _takes_tangent.on = getattr(_takes_tangent, "on", False), True
    try:
        pairs = (
            [(g, t) for g, (_, t) in zip(_run([tensor], [w], True, True, duals), _levels[-1]) if g is not None]
            if duals
            else []
        )
        if not pairs:
            return UnpackedDualTensor(tensor, None)
        pairs = [(g, t) for g, t in pairs if _C.functions["_has_record"](g)]
        (tangent,) = _run([g for g, _ in pairs], [t for _, t in pairs], True, True, [w]) if pairs else (None,)
    finally:
        _takes_tangent.on = before
    return UnpackedDualTensor(_primal(tensor), _zeros_like(tensor.detach()) if tangent is None else _primal(tangent))
