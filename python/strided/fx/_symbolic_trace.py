"""Programs recorded by running them on proxies (``strided.fx.symbolic_trace``)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import strided

from ..nn import Module, Parameter, Sequential
from ._compatibility import compatibility
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Proxy, TracerBase, proxy_in

# Tracers of programs with a `trace` of their own take the parts of Tracer.trace from here, by PyTorch's names.
__all__ = [
    "FunctionType", "ProxyableClassMeta", "Tracer", "compatibility", "is_fx_symbolic_tracing", "is_fx_tracing",
    "symbolic_trace", "wrap",
]  # fmt: skip

_kept_whole: list[tuple[dict[str, Any], str]] = []  # (globals of a module, name of a function there)

_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__


class ScriptObject:
    """Objects of TorchScript, which programs ask for: nothing is one."""


_is_fx_tracing_flag = False


@contextlib.contextmanager
def _tracing():
    global _is_fx_tracing_flag
    before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
    try:
        yield
    finally:
        _is_fx_tracing_flag = before


def is_fx_symbolic_tracing() -> bool:
    """Whether a program is being recorded by running it on proxies."""
    return _is_fx_tracing_flag


is_fx_tracing = is_fx_symbolic_tracing


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
        proxy = proxy_in(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        step = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        step.node.meta["is_wrapped"] = True  # code of the graph says so again, for those who record that code
        return step

    return call


class _Patcher:
    """Puts functions in the place of others, in classes and in dictionaries, for the time of a ``with`` block."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()

    def patch(
        self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Puts a function into a dictionary. deduplicate: not where one was put already."""
        if name in frame_dict:
            original = frame_dict[name]
            if deduplicate and hasattr(original, "_in_place_of"):
                return
            self._undo.append(lambda: frame_dict.__setitem__(name, original))
        else:
            self._undo.append(lambda: frame_dict.__delitem__(name))
        self._mark(new_fn)
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """The same in a class."""
        original = getattr(cls, name)
        if deduplicate and hasattr(original, "_in_place_of"):
            return
        own = name in cls.__dict__
        self._undo.append(lambda: setattr(cls, name, original) if own else delattr(cls, name))
        self._mark(new_fn)
        setattr(cls, name, new_fn)

    @staticmethod
    def _mark(function):
        function._in_place_of = True

    def visit_once(self, thing: Any) -> bool:
        """True at the first call for an object."""
        is_new = id(thing) not in self._visited
        self._visited.add(id(thing))
        return is_new

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *_: Any) -> None:
        while self._undo:
            self._undo.pop()()
        self._visited.clear()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Has the functions given to ``wrap`` recorded as steps."""
    for space, name in _kept_whole:
        if name in space:
            patcher.patch(space, name, _as_a_step(space[name]))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: Iterable[int]) -> None:
    """Has the functions of these ids recorded as steps where a dictionary has them."""
    if function_ids and patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _as_a_step(value))


def _all_by_position(function, flags, count):
    """The function of as many arguments by position: what `*args` and `**kwargs` collect is one argument each."""
    code = function.__code__.replace(
        co_flags=function.__code__.co_flags & ~flags, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0
    )
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


class Tracer(TracerBase):
    """Records modules and functions as graphs. Subclasses say which modules stay whole (``is_leaf_module``)."""

    submodule_paths: dict[Module, str] | None = None
    traced_func_name = "forward"  # which method of a module is recorded

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        """
        Args:
            autowrap_modules: modules whose functions are recorded as steps, also where others imported them.
            autowrap_functions: more such functions.
            param_shapes_constant: accepted.
        """
        found = [f for m in autowrap_modules for name, f in vars(m).items() if not name.startswith("_") and callable(f)]
        self._autowrap_function_ids = {id(f) for f in (*found, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.tensor_attrs: dict[Any, str] = {}

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a module is one step: those of ``nn`` are, except Sequential."""
        home = m.__module__
        return home.startswith(("strided.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Any) -> str:
        """Where the root has a module. NameError if it has not."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is not None:
                return path
        for path, found in self.root.named_modules():
            if found is mod:
                return path
        raise NameError("module is not installed as a submodule")

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that the root has not yet: `prefix` and a number."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def call_module(self, m: Any, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What a call of a module becomes: a step, or what its forward does."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a module, which is no ordinary one, is for the program: proxies stand for parameters
        (with ``proxy_buffer_attributes`` for buffers too), one for each."""
        if isinstance(attr_val, Parameter) or (self.proxy_buffer_attributes and isinstance(attr_val, strided.Tensor)):
            path = self._path_of_tensor(attr_val)
            if path is not None:
                if path not in parameter_proxy_cache:
                    parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {})
                return parameter_proxy_cache[path]
        return attr_val

    def _module_getattr(self, attr, attr_val, parameter_proxy_cache):
        return self.getattr(attr, attr_val, parameter_proxy_cache)

    def _path_of_tensor(self, t):
        """Where the root has a parameter, a buffer, or a tensor as an ordinary attribute; None."""
        if getattr(self, "_paths_of", None) is not self.root:
            self._paths_of = self.root
            self._paths = {id(t): path for path, t in [*self.root.named_buffers(), *self.root.named_parameters()]}
        path = self._paths.get(id(t))
        return self.tensor_attrs.get(t) if path is None else path

    def _leaf(self, a):
        if isinstance(a, Proxy):
            return a.node
        if not isinstance(a, strided.Tensor):
            return a
        path = self._path_of_tensor(a)
        if path is None and isinstance(a, Parameter):
            raise NameError("parameter is not a member of this module")
        if path is None:
            path = self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, path, a)
        return self.create_node("get_attr", path, (), {})

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function.

        Args:
            concrete_args: values of arguments that are no inputs of the graph, by name.

        Raises:
            TraceError: the program branches on a value, or loops over one.
        """
        if isinstance(root, Module):
            self.root, function = root, getattr(type(root), self.traced_func_name)
            self.submodule_paths = {module: path for path, module in root.named_modules()}
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self._paths_of = None
        self.tensor_attrs = {
            t: f"{path}.{name}" if path else name
            for path, module in self.root.named_modules()
            for name, t in vars(module).items()
            if isinstance(t, strided.Tensor)
        }
        space = getattr(inspect.unwrap(function), "__globals__", {})
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        proxies: dict[str, Any] = {}
        patcher, ids, tracer = _Patcher(), self._autowrap_function_ids, self

        def recorded_call(module, *args, **kwargs):
            if module is tracer.root:
                return _orig_module_call(module, *args, **kwargs)
            _autowrap_check(patcher, getattr(getattr(module, "forward", module), "__globals__", {}), ids)
            return tracer.call_module(module, functools.partial(_orig_module_call, module), args, kwargs)

        def recorded_get(module, name):
            return tracer.getattr(name, _orig_module_getattr(module, name), proxies)

        with _tracing(), patcher:
            patcher.patch_method(Module, "__call__", recorded_call, deduplicate=False)
            patcher.patch_method(Module, "__getattr__", recorded_get, deduplicate=False)
            _patch_wrapped_functions(patcher)
            for where in (space, *(vars(module) for module in self._autowrap_search)):
                _autowrap_check(patcher, where, ids)
            result = function(*args)
            self.create_node("output", "output", (self.create_arg(result),), {})
        self.submodule_paths = None
        return self.graph

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Proxies for the arguments of a function, and the function that takes them: by position only.

        Args:
            is_module: the first argument is ``root``.
            concrete_args: values of arguments that are no inputs, by name.
        """
        if isinstance(root_fn, FunctionType) and not hasattr(root_fn, "__wrapped__"):
            flags = root_fn.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
            if flags and is_module and not root_fn.__code__.co_argcount:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            if flags:
                args, _ = self._inputs(root_fn, is_module, concrete_args or {}, True)
                return _all_by_position(root_fn, flags, len(args)), args
        args, kwargs = self._inputs(root_fn, is_module, concrete_args or {}, False)
        return (functools.partial(root_fn, **kwargs) if kwargs else root_fn), args

    def _inputs(self, function, bound, concrete, by_position):
        args: list[Any] = [self.root] if bound else []
        kwargs: dict[str, Any] = {}
        parameters = list(inspect.signature(function).parameters.values())[bound:]
        if by_position:  # as the variables of its code stand
            parameters.sort(key=lambda p: (p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD), p.kind))
        for p in parameters:
            if p.name in concrete:
                value = concrete[p.name]
            elif p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                if not by_position:
                    continue
                stars = "*" if p.kind is p.VAR_POSITIONAL else "**"
                value = self.create_proxy("placeholder", stars + p.name, (), {}, p.name)
            else:
                default = () if p.default is p.empty else (p.default,)
                kind = None if p.annotation is p.empty else p.annotation
                value = self.create_proxy("placeholder", p.name, default, {}, p.name, kind)
            if p.kind is p.KEYWORD_ONLY and not by_position:
                kwargs[p.name] = value
            else:
                args.append(value)
        return args, kwargs


class ProxyableClassMeta(type):
    """The type of classes whose objects are made within a recorded program, too: where a proxy is among the arguments,
    the call is a step of the program, and ``__init__`` runs when the program does.

    >>> class Pair(metaclass=strided.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> net = strided.fx.symbolic_trace(lambda x: Pair(x, x + 1).right)
    >>> net(strided.tensor([1.]))
    tensor([2.])
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = proxy_in(args, kwargs)
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


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
