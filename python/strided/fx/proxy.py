"""Values that record what is done with them (``strided.fx.proxy``)."""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Iterator
from typing import Any

import strided

from ..overrides import is_tensor_method_or_property
from .graph import Graph
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """A program asks for what only the values decide, while it is recorded without them."""


class TracerBase:
    """Makes steps of a graph, and proxies of their results."""

    graph: Graph
    proxy_buffer_attributes = False
    root: Any = None

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """A step at the place of the graph where new ones go."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """A proxy of the result of a step."""
        return Proxy(node, self)

    def create_arg(self, a: Any) -> Any:
        """The argument as it stands in a graph: nodes for proxies."""
        return map_aggregate(a, self._leaf)

    def _leaf(self, a):
        return a.node if isinstance(a, Proxy) else a

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        """A step, and the proxy of its result."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def to_bool(self, obj: Proxy) -> bool:
        """TraceError: the truth of a value is not known."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """TraceError: the length of a value is not known."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument."
        )

    def keys(self, obj: Proxy) -> Any:
        """What ``**proxy`` asks for."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that appends to a graph which is there."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for the result of a step. Operators, methods, attributes and functions of tensors become further steps.

    >>> graph = strided.fx.Graph()
    >>> x = strided.fx.Proxy(graph.placeholder("x"))
    >>> (strided.relu(x) + 1).sum().node.op
    'call_method'
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in ("node", "tracer", "__deepcopy__", "__getstate__", "__setstate__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        if caller is not None:
            at = next((i for i in dis.get_instructions(caller.f_code) if i.offset == caller.f_lasti), None)
            if at is not None and at.opname == "UNPACK_SEQUENCE":  # `a, b = proxy`
                return (self[i] for i in range(at.argval))
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing: the length of a value is not known")

    def keys(self) -> Any:
        """What ``**proxy`` asks for."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        tracer = found[0].tracer
        if is_tensor_method_or_property(func):
            return tracer.create_proxy("call_method", func.__name__, args, kwargs)
        if func is strided.einsum and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])  # PyTorch hands the operands on one by one, which programs on graphs rely on
        return tracer.create_proxy("call_function", func, args, kwargs)


class Attribute(Proxy):
    """An attribute of a value: a step if it is used as a value, part of the next step if it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _install() -> None:
    def plain(function):
        def method(*args: Any, **kwargs: Any) -> Any:
            return args[0].tracer.create_proxy("call_function", function, args, kwargs)

        return method

    def reflected(function):
        def method(self: Proxy, other: Any) -> Any:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return method

    both = "add sub mul floordiv truediv mod pow lshift rshift and or xor matmul".split()
    for name in both:
        word = f"{name}_" if name in ("and", "or") else name
        setattr(Proxy, f"__{name}__", plain(getattr(operator, word)))
        setattr(Proxy, f"__r{name}__", reflected(getattr(operator, word)))
    for name in "eq ne lt le gt ge pos neg invert abs getitem".split():
        setattr(Proxy, f"__{name}__", plain(getattr(operator, name)))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_install()
