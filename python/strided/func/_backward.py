"""Backward passes of a batch of gradients, through a graph that was made outside of the batch.

The gradients go through the graph as BatchedTensors.  Functions of the user's own and hooks get these; a node of C++ is
applied to each sample (Note [Gradients whose values are elsewhere] in csrc/tensor/foreign.h).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C
from ._batched import BatchedTensor, Level, batched, entered, expanded, union
from ._rules import COMPOSED, rule
from ._vmap import enter, leave

if TYPE_CHECKING:
    from .._typing import Any

_f = _C.functions


def run(outputs: Any, grads: Any, *rest: Any) -> Any:
    """``_C.functions["_backward"]`` for gradients of which some are BatchedTensors."""
    given = [g._as_gradient() if type(g) is BatchedTensor else g for g in grads]
    return _C._call_base(_f["_backward"], (outputs, given, *rest), None)


def run_batch(outputs: Any, batches: Any, keep: bool, create_graph: bool, inputs: Any) -> Any:
    """What is_grads_batched=True does: the first axes of `batches` and of the results are those of the samples."""
    if any(g is None for g in batches):
        raise RuntimeError("grad: with is_grads_batched=True grad_outputs must be given for every output")
    sizes = {g.shape[0] if g.ndim else None for g in batches}
    if len(sizes) != 1 or None in sizes:
        raise ValueError(
            "grad: with is_grads_batched=True the first axis of each of grad_outputs is that of the batch, of one size for all"
        )
    for i, (g, y) in enumerate(zip(batches, outputs)):
        if hasattr(y, "shape") and g.shape[1:] != y.shape:  # not of an edge
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                f"The others must be those of the output, but grad_output[{i}] has a shape of {g.shape} and output[{i}] "
                f"has a shape of {y.shape}."
            )
    (n,) = sizes
    if n == 0:
        return [_f["zeros"]((0, *x.shape), dtype=x.dtype, device=x.device) for x in inputs]
    with entered(Level(n, "error")) as level:
        found = run(outputs, [enter(g, 0, level) for g in batches], keep, create_graph, inputs)
    return [None if g is None else leave(g, 0, level) for g in found]


@rule("grad", COMPOSED)
def grad(func: Any, args: Any, kwargs: Any) -> Any:
    """autograd.grad, which is made of calls that have rules of their own."""
    return func.__wrapped__(*args, **kwargs)


def samples(grads: Any) -> Any:
    """The gradients of each sample, in a list."""
    levels = union(grads)
    n = math.prod(level.size for level in levels)
    columns = [(None,) * n if g is None else expanded(g, levels).reshape(n, *g.shape).unbind() for g in grads]
    return list(zip(*columns))


def joined(grads: Any, rows: Any) -> Any:
    """The reverse: results of every sample as a batch with the levels of `grads`."""
    levels = union(grads)
    sizes = [level.size for level in levels]

    def join(column: Any) -> Any:
        like = next((g for g in column if g is not None), None)
        if like is None:
            return None
        made = _f["stack"]([_f["zeros_like"](like) if g is None else g for g in column])
        return batched(made.reshape(*sizes, *like.shape), levels)

    return tuple(map(join, zip(*rows)))


def fitted(grad: Any, shape: Any, dtype: Any) -> Any:
    """A gradient as one of a tensor of that shape and dtype: summed where the tensor had been broadcast."""
    if grad.shape != shape:
        lead = grad.ndim - len(shape)
        axes = [i for i, n in enumerate(grad.shape) if i < lead or (shape[i - lead] == 1 != n)]
        grad = grad.sum(axes, keepdim=True) if axes else grad
        grad = grad.reshape(grad.shape[max(lead, 0) :]).expand(shape)
    if grad.dtype != dtype:
        grad = (grad.real if grad.dtype.is_complex and not dtype.is_complex else grad).to(dtype)
    return grad


_C.set_hook("samples_of_gradients", samples)
_C.set_hook("joined_gradients", joined)
_C.set_hook("fitted_gradient", fitted)
