"""autograd.Functions of the user's own under vmap."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..autograd.function import Function
from ..utils._pytree import tree_flatten, tree_unflatten
from ._batched import BatchedTensor, Tensor, batched, expanded, outside, union
from ._vmap import enter, leave

if TYPE_CHECKING:
    from .._typing import Any


class VmapInfo(NamedTuple):
    """What ``vmap(info, in_dims, *args)`` of a Function is told."""

    batch_size: int
    randomness: str


class _Context:
    """The ctx that forward and backward of the user see."""

    saved_tensors: tuple[Any, ...] = ()

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Unused, as in the ctx outside vmap: what save_for_backward kept stays."""

    def mark_dirty(self, *tensors: Any) -> None:
        raise RuntimeError("vmap: an autograd.Function that writes to its inputs has no batching rule")

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        pass


def _by_own_rule(cls, args, kwargs):
    """``cls.vmap(info, in_dims, *args)``: in_dims are built like the arguments, out_dims like the results."""
    if any(isinstance(a, Tensor) for a in kwargs.values()):
        raise NotImplementedError(f"vmap: {cls.__name__}.apply with kwarg-only Tensor args: make them positional")
    leaves, structure = tree_flatten(args)
    level = union([a for a in leaves if isinstance(a, Tensor)])[-1]
    dims = [0 if type(a) is BatchedTensor and level in a._levels else None for a in leaves]
    plain = tree_unflatten([a if d is None else leave(a, 0, level) for a, d in zip(leaves, dims)], structure)
    in_dims = tree_unflatten(dims, structure)
    with outside(level):
        returned = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *plain, **kwargs)
    if not isinstance(returned, tuple) or len(returned) != 2:
        found = len(returned) if isinstance(returned, tuple) else 1
        raise RuntimeError(f"Expected {cls.__name__}.vmap to have two returns, the results and out_dims, got {found}")
    made, out_dims = returned
    results, shape = tree_flatten(made)
    wanted = _dims_like(made, out_dims)
    if wanted is None:
        raise RuntimeError(f"{cls.__name__}.vmap returned an incompatible out_dims: {out_dims} for {shape}")
    return tree_unflatten([enter(y, d, level) for y, d in zip(results, wanted)], shape)


def _dims_like(made, dims):
    """The dim of each leaf, where `dims` is built like `made`, or is one for all; else None."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_flatten(made)[0])
    if not isinstance(made, (tuple, list)) or type(dims) is not type(made) or len(dims) != len(made):
        return None
    parts = [_dims_like(y, d) for y, d in zip(made, dims)]
    return None if None in parts else [d for part in parts for d in part]


def _of_input(grad: Tensor, input: Tensor, levels: Any) -> Tensor:
    """The plain gradient of what an argument holds: the sum over samples that it does not vary with, and over the axes
    in front that the backward pass has left to be added up, as outside of vmap."""
    own = input._levels if type(input) is BatchedTensor else ()
    value, k = expanded(grad, levels), len(levels)
    left = max(value.ndim - k - input.ndim, 0)
    axes = [i for i, level in enumerate(levels) if level not in own] + list(range(k, k + left))
    return value.sum(axes) if axes else value


def apply(cls: Any, args: Any, kwargs: Any) -> Any:
    """cls.apply(*args) where some arguments vary: by its own rule, ``cls.vmap``, or with forward and backward that see
    one sample each, as every function under vmap does."""
    levels = union(tree_flatten(args)[0])
    if not levels:
        types = sorted({type(a).__name__ for a in args if hasattr(type(a), "__strided_function__")})
        raise NotImplementedError(f"{cls.__name__}.apply of {types}: apply it to plain tensors, such as x.to_local()")
    if cls.vmap is not Function.vmap:
        if cls.generate_vmap_rule:
            raise RuntimeError(
                f"vmap: {cls.__name__} has both generate_vmap_rule=True and a vmap staticmethod; one of them must go"
            )
        return _by_own_rule(cls, args, kwargs)
    own = [a._levels if type(a) is BatchedTensor else () for a in args]
    several = []

    class OfBatch(Function):
        @staticmethod
        def forward(ctx, *values):
            inside = [batched(v, ls) if ls else v for v, ls in zip(values, own)]
            ctx.user = _Context(ctx.needs_input_grad)
            if cls.setup_context is Function.setup_context:
                made = cls.forward(ctx.user, *inside, **kwargs)
            else:
                made = cls.forward(*inside, **kwargs)
                cls.setup_context(ctx.user, tuple(inside), made)
            several.append(isinstance(made, tuple))
            results = made if isinstance(made, tuple) else (made,)
            found = tuple(expanded(y, levels) if isinstance(y, Tensor) else y for y in results)
            constant = getattr(ctx.user, "constant", ())
            ctx.mark_non_differentiable(*(y for y, r in zip(found, results) if any(r is c for c in constant)))
            return found

        @staticmethod
        def backward(ctx, *grads):
            found = cls.backward(ctx.user, *(g if g is None else batched(g, levels) for g in grads))
            found = found if isinstance(found, tuple) else (found,)
            return tuple(_of_input(g, a, levels) if isinstance(g, Tensor) else g for g, a in zip(found, args))

    OfBatch.__name__ = cls.__name__
    made = OfBatch.apply(*(a._value if type(a) is BatchedTensor else a for a in args))
    results = tuple(batched(y, levels) if isinstance(y, Tensor) else y for y in made)
    return results if several[0] else results[0]
