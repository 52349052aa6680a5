"""Values that record what is done with them (``strided.fx.proxy``)."""

from __future__ import annotations

import dis
import functools
import inspect
import operator
from collections.abc import Iterator
from typing import Any

import strided

from ..overrides import is_tensor_method_or_property, resolve_name
from .graph import Graph
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


# Functions of nn.functional that are compiled in PyTorch, which hands the arguments of these on as they are given.
_AS_GIVEN = frozenset(
    "adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc "
    "conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ leaky_relu_ "
    "linear logsigmoid native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ "
    "rrelu_ scaled_dot_product_attention selu_ softplus softshrink threshold_".split()
)


@functools.lru_cache(None)
def _options(function):
    """The names of the arguments that have no default, and the options with their defaults; None: as they are given."""
    name = resolve_name(function) or ""
    home, _, word = name.rpartition(".")
    if home != "torch.nn.functional" or word in _AS_GIVEN:
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return [p.name for p in parameters if p.default is p.empty], {
        p.name: p.default for p in parameters if p.default is not p.empty
    }


def _by_name(function, args, kwargs):
    """The arguments of a call as steps have them: options by name, with those that have their defaults.

    PyTorch's functions that are written in Python hand them on so, and programs on graphs look them up by name.
    """
    known = _options(function)
    if known is None:
        return args, kwargs
    required, options = known
    given = dict(zip([*required, *options], args))
    wrong = len(args) > len(required) + len(options) or given.keys() & kwargs.keys()
    given |= kwargs
    if wrong or not given.keys() >= set(required):  # an error of the call, which is the function's to report
        return args, kwargs
    return tuple(given.pop(name) for name in required), options | given


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
        proxy = proxy_in(args, kwargs)
        assert proxy is not None
        tracer = proxy.tracer
        if is_tensor_method_or_property(func):
            return tracer.create_proxy("call_method", func.__name__, args, kwargs)
        if func is strided.einsum and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])  # PyTorch hands the operands on one by one, which programs on graphs rely on
        args, kwargs = _by_name(func, args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs)


def proxy_in(*values: Any) -> Proxy | None:
    """The first proxy in values and the containers among them, None if there is none."""
    found: list[Proxy] = []
    map_aggregate(values, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found[0] if found else None


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
