"""Names of ``torch.fx``, which records what a function does as a graph.  Nothing is recorded here (``strided.fx``)."""

from __future__ import annotations

from typing import Any

from .._core_names import absent
from ..nn import Module

__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer",
    "has_side_effect", "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip

Graph = absent("Graph", __name__)
Interpreter = absent("Interpreter", __name__)
Node = absent("Node", __name__)
Proxy = absent("Proxy", __name__)
Tracer = absent("Tracer", __name__)
Transformer = absent("Transformer", __name__)


class GraphModule(Module):
    """A module made of a graph: NotImplementedError, there are no graphs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("fx.GraphModule: strided records no graphs of functions")


ProxyableClassMeta = type  # classes made with it are ordinary ones


def wrap(fn_or_name: Any) -> Any:
    """The function or the name itself: no function is recorded, so none has to be kept whole."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name


def has_side_effect(fn: Any) -> Any:
    """The function itself: no call of it is left out."""
    return fn


def symbolic_trace(root: Any, concrete_args: Any = None) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("fx.symbolic_trace: strided records no graphs of functions")


def replace_pattern(gm: Any, pattern: Any, replacement: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("fx.replace_pattern: strided records no graphs of functions")


# Where PyTorch defines these names, and programs import them from.
from . import graph, graph_module, interpreter, node, proxy  # noqa: E402, F401
