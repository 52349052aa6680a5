"""Backward passes under vmap, through a graph that was made outside of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C
from ._batched import BatchedTensor, Tensor, batched, expanded, union
from ._rules import COMPOSED, rule

if TYPE_CHECKING:
    from .._typing import Any

_zeros_like = _C.functions["zeros_like"]


def _list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, (tuple, list)) else [tensors]


@rule("grad", COMPOSED)
def grad(func: Any, args: Any, kwargs: Any) -> Any:
    """``autograd.grad(outputs, inputs, grad_outputs)``.  Where only grad_outputs vary it is what is_grads_batched=True
    does: a backward pass for each sample."""

    def call(outputs: Any, inputs: Any, grad_outputs: Any = None, *rest: Any, **named: Any) -> Any:
        plain = func.__wrapped__
        known = inputs.values() if isinstance(inputs, dict) else _list(inputs)
        if any(type(t) is BatchedTensor for t in (*_list(outputs), *known)):
            return plain(outputs, inputs, grad_outputs, *rest, **named)
        given = _list(grad_outputs)
        levels = union(given)
        sizes = tuple(level.size for level in levels)
        if any(not isinstance(g, Tensor) for g in given) or len(rest) > 4 or named.get("is_grads_batched"):
            raise RuntimeError(
                "vmap: grad() takes one tensor in grad_outputs for every output, without is_grads_batched"
            )
        rows = [expanded(g, levels).reshape(math.prod(sizes), *g.shape) for g in given]
        zeros = named.pop("materialize_grads", False)
        if zeros:  # of one sample: they do not vary
            named["allow_unused"] = True
        found = plain(outputs, inputs, rows, *rest, **named | {"is_grads_batched": True})

        def apart(x: Any, g: Any) -> Any:
            if g is None:
                return _zeros_like(x) if zeros else None
            return batched(g.reshape(*sizes, *g.shape[1:]), levels)

        if isinstance(found, dict):
            return {k: apart(inputs[k], g) for k, g in found.items()}
        return tuple(map(apart, known, found))

    return call(*args, **kwargs)
