"""Shapes and dtypes of all steps of a graph, by running it (``strided.fx.passes.shape_prop``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import strided

from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a step's result was."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _described(x: Any) -> Any:
    if not isinstance(x, strided.Tensor):
        return x
    formats = [strided.contiguous_format, strided.channels_last, strided.channels_last_3d]
    axes = {strided.channels_last: 4, strided.channels_last_3d: 5}
    fits = [f for f in formats if axes.get(f, x.ndim) == x.ndim and x.is_contiguous(memory_format=f)]
    return TensorMetadata(x.shape, x.dtype, x.requires_grad, x.stride(), fits[0] if fits else None, False, {})


class ShapeProp(Interpreter):
    """Runs a graph, and notes in ``node.meta`` what each step gave: ``tensor_meta`` where it has tensors, and ``type``.

    >>> from strided.fx.passes.shape_prop import ShapeProp
    >>> gm = strided.fx.symbolic_trace(lambda x: x.sum(1))
    >>> _ = ShapeProp(gm).propagate(strided.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in gm.graph.nodes]
    [(2, 3), (2,), (2,)]
    """

    def run_node(self, n: Node) -> Any:
        """The step's result, after the notes about it."""
        result = super().run_node(n)
        seen = []

        def note(x: Any) -> Any:
            seen.append(isinstance(x, strided.Tensor))
            return _described(x)

        meta = map_aggregate(result, note)
        if any(seen):
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph on these inputs."""
        return self.run(*args)
