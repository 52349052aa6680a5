"""Programs recorded as graphs, and graphs run as modules (``strided.fx``).

``symbolic_trace`` runs a function or module on proxies and keeps what was called; ``Graph`` is that list, which may be
changed; ``GraphModule`` runs it. Recording is by Python's means alone: there is no compiler.

>>> net = strided.fx.symbolic_trace(strided.nn.Sequential(strided.nn.Linear(2, 2), strided.nn.ReLU()))
>>> [node.op for node in net.graph.nodes]
['placeholder', 'call_module', 'call_module', 'output']
"""

from __future__ import annotations

from typing import Any

from . import graph, graph_module, interpreter, node, proxy, subgraph_rewriter
from ._symbolic_trace import ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer",
    "graph", "graph_module", "has_side_effect", "interpreter", "map_arg", "node", "proxy", "replace_pattern",
    "subgraph_rewriter", "symbolic_trace", "wrap",
]  # fmt: skip


def has_side_effect(fn: Any) -> Any:
    """The function itself: only ``eliminate_dead_code`` leaves calls out."""
    return fn
