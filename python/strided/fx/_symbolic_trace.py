"""Programs recorded by running them on proxies (``strided.fx.symbolic_trace``)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import strided

from ..nn import Module, Parameter, Sequential
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_kept_whole: list[tuple[dict[str, Any], str]] = []  # (globals of a module, name of a function there)


def wrap(fn_or_name: Any) -> Any:
    """Has a function of the calling module recorded as one step, not by what it calls. A decorator too.

    RuntimeError for what is neither a function nor a name, and outside the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    if callable(fn_or_name) and hasattr(fn_or_name, "__globals__"):
        _kept_whole.append((fn_or_name.__globals__, name))
    else:
        _kept_whole.append((frame.f_back.f_globals, name))
    return fn_or_name


def _as_a_step(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        if not found:
            return function(*args, **kwargs)
        step = found[0].tracer.create_proxy("call_function", function, args, kwargs)
        step.node.meta["is_wrapped"] = True  # code of the graph says so again, for those who record that code
        return step

    return call


class Tracer(TracerBase):
    """Records modules and functions as graphs. Subclasses say which modules stay whole (``is_leaf_module``)."""

    def __init__(self, autowrap_modules: Any = (), autowrap_functions: Any = (), **options: Any) -> None:
        self._functions = tuple(autowrap_functions)

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a module is one step: those of ``nn`` are, except Sequential."""
        home = m.__module__
        return home.startswith(("strided.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Any) -> str:
        """Where the root has a module. NameError if it has not."""
        for path, found in self.root.named_modules():
            if found is mod:
                return path
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Any, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What a call of a module becomes: a step, or what its forward does."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def _leaf(self, a):
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Parameter):
            path = self._paths.get(id(a))
            if path is None:
                raise NameError("parameter is not a member of this module")
            return self.create_node("get_attr", path, (), {})
        if isinstance(a, strided.Tensor):
            path = self._paths.get(id(a))
            if path is None:
                number = sum(p.startswith("_tensor_constant") for p in self._paths.values())
                path = self._paths[id(a)] = f"_tensor_constant{number}"
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return a

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function.

        Args:
            concrete_args: values of arguments that are no inputs of the graph, by name.

        Raises:
            TraceError: the program branches on a value, or loops over one.
        """
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self._paths = {id(t): path for path, t in [*self.root.named_buffers(), *self.root.named_parameters()]}
        args, kwargs = self._inputs(function, isinstance(root, Module), concrete_args or {})
        call, get = Module.__call__, Module.__getattr__
        proxies: dict[int, Any] = {}
        tracer = self

        def recorded_call(module, *args, **kwargs):
            if module is tracer.root:
                return call(module, *args, **kwargs)
            return tracer.call_module(module, functools.partial(call, module), args, kwargs)

        def recorded_get(module, name):
            value = get(module, name)
            if isinstance(value, Parameter) and id(value) in tracer._paths:
                if id(value) not in proxies:
                    proxies[id(value)] = tracer.create_proxy("get_attr", tracer._paths[id(value)], (), {})
                return proxies[id(value)]
            return value

        kept = [(space, name, space[name]) for space, name in _kept_whole if name in space]
        Module.__call__, Module.__getattr__ = recorded_call, recorded_get  # type: ignore[method-assign, assignment]
        try:
            for space, name, original in kept:
                space[name] = _as_a_step(original)
            result = function(*args, **kwargs)
        finally:
            Module.__call__, Module.__getattr__ = call, get  # type: ignore[method-assign]
            for space, name, original in kept:
                space[name] = original
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def _inputs(self, function, bound, concrete):
        args: list[Any] = [self.root] if bound else []
        kwargs: dict[str, Any] = {}
        for p in list(inspect.signature(function).parameters.values())[bound:]:
            if p.name in concrete:
                value = concrete[p.name]
            elif p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            else:
                default = () if p.default is p.empty else (p.default,)
                kind = None if p.annotation is p.empty else p.annotation
                value = self.create_proxy("placeholder", p.name, default, {}, p.name, kind)
            if p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            else:
                args.append(value)
        return args, kwargs


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Runs a module or function on proxies, and returns what it did as a module.

    Args:
        concrete_args: values of arguments that are no inputs, by name.

    Raises:
        TraceError: the program branches on a value, or loops over one.

    >>> net = strided.fx.symbolic_trace(lambda x: strided.relu(x) + 1)
    >>> net(strided.tensor([-1., 2.])), [node.op for node in net.graph.nodes]
    (tensor([1., 3.]), ['placeholder', 'call_function', 'call_function', 'output'])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
