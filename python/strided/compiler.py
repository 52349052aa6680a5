"""Compilation of Python functions (``strided.compiler``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "get_default_backend", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_default_backend",
    "set_stance", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

_default: str | Callable[..., Any] | None = None


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
    name: str | None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """`model`, a function or a module, with chains of elementwise operations in it fused; without one a decorator.

    The first call of each kind (dtypes, shapes, other arguments) is traced while it runs. Elementwise operations,
    casts, ``where``, and reductions of the last axis or at the end of a chain become programs that go over blocks of
    elements in the cache, by the same loops as the single operations: results are the same bits. Everything else runs
    as before, and so does a function that looks at values, or that reads what cannot be checked. Gradients of every
    order work. ``explain(*args)`` of the result says what became of such a call.

    fullgraph: that Python, or a shape, depends on the values of a tensor is an error (``_dynamo.exc.Unsupported``);
    what cannot be followed for other reasons runs as it is. backend: "eager" compiles nothing; all other names are the
    one compiler there is, and a callable is a NotImplementedError; None: what ``set_default_backend`` set. disable:
    `model` itself. recompile_limit: the most traces that are kept of a function, 64 by default; further kinds of calls
    run as they are. The other arguments change nothing: each shape has a trace of its own.

    >>> @torch.compile
    ... def f(a, b):
    ...     return (a * b + a).exp()
    >>> f(torch.zeros(2), torch.ones(2))
    tensor([1., 1.])
    """
    backend = get_default_backend() if backend is None else backend
    if model is None:
        return lambda function: compile(
            function,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
            recompile_limit=recompile_limit,
        )
    if not callable(model):
        raise TypeError(f"compile: a callable is required, got {type(model).__name__}")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if disable or backend == "eager":
        return model
    if not isinstance(backend, str):
        raise NotImplementedError("compile: strided has one compiler, and takes no backend of the user's own")
    from .nn import Module

    if isinstance(model, Module):
        from ._compile._module import OptimizedModule

        return OptimizedModule(model, fullgraph, recompile_limit)
    from ._compile import CompiledFunction

    return CompiledFunction(model, fullgraph, recompile_limit)


def get_default_backend() -> str | Callable[..., Any]:
    """What ``set_default_backend`` set: the backend of `compile` where a call names none."""
    return _default or "inductor"


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Sets the backend of `compile` where a call names none; None: "inductor" again.

    >>> torch.compiler.set_default_backend("eager")
    >>> torch.compiler.get_default_backend()
    'eager'
    >>> torch.compiler.set_default_backend(None)
    """
    global _default
    if not (backend is None or isinstance(backend, str) or callable(backend)):
        raise TypeError(f"set_default_backend: a name, a callable or None is required, got {type(backend).__name__}")
    _default = backend


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """`fn` itself, which is not compiled; without one a decorator."""
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    if isinstance(fn, FunctionType):  # libraries look at these attributes
        fn.__dict__.update(
            _torchdynamo_disable=True, _torchdynamo_disable_recursive=recursive, _torchdynamo_disable_msg=reason
        )
    return fn


def _same(function: Any) -> Any:
    return function


def allow_in_graph(fn: Any) -> Any:
    """`fn` itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """`fn` itself, which is called each time."""
    return fn


def wrap_numpy(fn: Any) -> Any:
    """A function of tensors that gives `fn` arrays of NumPy, and makes tensors of the arrays it returns.

    >>> torch.compiler.wrap_numpy(lambda a: a * 2)(torch.ones(2))
    tensor([2., 2.])
    """
    import functools

    import numpy

    from . import Tensor, from_numpy
    from .utils._pytree import tree_map_only

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, lambda t: t.numpy(), (args, kwargs))
        return tree_map_only(numpy.ndarray, from_numpy, fn(*args, **kwargs))

    return wrapped


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing: calls are traced, not code."""
    return _same


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The backends of compilation: there is one, whose name is that of PyTorch's default."""
    return ["inductor"]


def reset() -> None:
    """Drops the traces of all compiled functions."""
    from ._compile._function import forget_all

    forget_all()


def cudagraph_mark_step_begin() -> None:
    """Nothing: no graph is recorded."""


class set_stance(contextlib.ContextDecorator):
    """Context, decorator or plain call: with "force_eager" compiled functions run as they are, and the traces stay;
    the other stances of PyTorch count as "default". ValueError for a name that is no stance."""

    _current = "default"

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if stance not in ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile"):
            raise ValueError(f"set_stance: {stance!r} is no stance")
        self._before, self._stance = set_stance._current, stance
        self._take(stance)

    @staticmethod
    def _take(stance: str) -> None:
        from ._compile._function import set_enabled

        set_stance._current = stance
        set_enabled(stance != "force_eager")

    def __enter__(self) -> None:
        self._take(self._stance)

    def __exit__(self, *exc: object) -> None:
        self._take(self._before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self._take(self._before)  # only while the function runs
        return super().__call__(function)
