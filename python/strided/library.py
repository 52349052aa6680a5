"""Operations of the user's own under registered names (``strided.library``): called as ``ops.namespace.name``.

>>> import strided
>>> @strided.library.custom_op("mine::double", mutates_args=())
... def double(x: strided.Tensor) -> strided.Tensor:
...     return x * 2
>>> double.register_autograd(lambda ctx, grad: grad * 2)
>>> x = strided.ones(1, requires_grad=True)
>>> y = strided.ops.mine.double(x)
>>> y.backward(); x.grad
tensor([2.])
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import strided

from . import ops
from .autograd import Function

if TYPE_CHECKING:
    from ._typing import Callable

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "impl", "opcheck", "register_autograd", "register_fake",
    "register_kernel",
]  # fmt: skip

_registered: dict[str, CustomOpDef] = {}
# Shapes of operations that are registered later, or never: torchvision gives them without its compiled library.
_waiting: dict[str, Callable[..., Any]] = {}


class CustomOpDef:
    """An operation that :func:`custom_op` made: a callable, with rules for gradients, devices and ``meta`` tensors."""

    def __init__(self, name: str, function: Callable[..., Any], mutates_args: Any = ()) -> None:
        self._qualname, self._function, self._mutates = name, function, mutates_args
        self._name = self.__name__ = name.partition("::")[2]
        self._signature = inspect.signature(function)
        self._kernels: dict[str, Callable[..., Any]] = {}
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._node = self._function_with_gradient()

    @property
    def default(self) -> CustomOpDef:
        """The one form of the operation: itself."""
        return self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def _run(self, args):
        """The function for the device of the tensors."""
        kinds = {a.device.type for a in args if isinstance(a, strided.Tensor)}
        names = list(self._signature.parameters.values())
        words = {p.name: a for p, a in zip(names, args) if p.kind is p.KEYWORD_ONLY}
        args = args[: len(args) - len(words)]
        kernel = next((self._kernels[kind] for kind in kinds if kind in self._kernels), self._function)
        if "meta" in kinds and self._fake is not None:
            kernel = self._fake
        return kernel(*args, **words)

    def _function_with_gradient(self):
        op = self

        class Registered(Function):
            @staticmethod
            def forward(*args):
                return op._run(args)

            @staticmethod
            def setup_context(ctx, inputs, output):
                if op._setup is not None:
                    op._setup(ctx, inputs, output)

            @staticmethod
            def backward(ctx, *grads):
                if op._backward is None:
                    raise NotImplementedError(f"{op._qualname}: no gradient was registered (register_autograd)")
                found = op._backward(ctx, *grads)
                return found if isinstance(found, tuple) else (found,)

        return Registered

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = (*bound.args, *bound.kwargs.values())
        if strided.is_grad_enabled() and any(isinstance(a, strided.Tensor) and a.requires_grad for a in given):
            return self._node.apply(*given)
        return self._run(given)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """What gives shape and dtype of the result for tensors on device ``meta``. A decorator."""
        self._fake = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The gradient: ``backward(ctx, *grads)``; ``setup_context(ctx, inputs, output)`` keeps what that reads."""
        self._backward, self._setup = backward, setup_context

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Another function for tensors on these devices (a name or several). A decorator if `fn` is None."""
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        for kind in [device_types] if isinstance(device_types, str) else device_types or ["cpu", "cuda"]:
            self._kernels[kind] = fn
        return fn


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Registers a function as ``ops.namespace.name``. A decorator if `fn` is None.

    Args:
        name: "namespace::name". mutates_args: the names of arguments that it writes to, or "unknown" (``opcheck``).
        device_types: a device, or several, that it is for; all if None. schema, tags: accepted, without effect.

    Raises:
        ValueError: the name has no namespace.
    """
    if fn is None:
        return lambda function: custom_op(name, function, mutates_args=mutates_args, device_types=device_types)
    namespace, _, short = name.partition("::")
    if not namespace or not short:
        raise ValueError(f"custom_op: the name must be 'namespace::name', got {name!r}")
    made = CustomOpDef(name, fn, mutates_args)
    if device_types is not None:
        made.register_kernel(device_types, fn)
    if name in _waiting:
        made.register_fake(_waiting.pop(name))
    _registered[name] = made
    setattr(getattr(ops, namespace), short, made)
    return made


def _found(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _registered:
        raise RuntimeError(f"library: no operation {op!r} was registered by custom_op")
    return _registered[op]


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """:meth:`CustomOpDef.register_fake` of an operation or its name. A decorator if `func` is None.

    A name that custom_op has not registered yet takes the function when it does.
    """
    if func is None:
        return lambda function: register_fake(op, function)
    if isinstance(op, str) and op not in _registered:
        _waiting[op] = func
        return func
    return _found(op).register_fake(func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """:meth:`CustomOpDef.register_autograd` of an operation or its name."""
    _found(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """:meth:`CustomOpDef.register_kernel` of an operation or its name."""
    return _found(op).register_kernel(device_types, func)


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: Any = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Whether an operation of :func:`custom_op` was registered as it behaves, for one call.

    Args:
        op: the operation. args, kwargs: of the call.
        test_utils: one of these names or several.
            "test_schema": it writes to the arguments that mutates_args names, and its results share no memory with
            arguments. "test_autograd_registration": there is a gradient, if an argument wants one. "test_faketensor":
            ``register_fake`` gives the shapes and dtypes of the results. "test_aot_dispatch_dynamic": a second call
            gives the same results, and gradients have the shapes of the arguments.
        raise_exception: whether the first failure is raised; else it is the value in the dict.
        atol, rtol: how near results of two calls are.

    Returns:
        {name: "SUCCESS"}

    >>> @strided.library.custom_op("mine::triple", mutates_args=())
    ... def triple(x: strided.Tensor) -> strided.Tensor:
    ...     return x * 3
    >>> _ = triple.register_fake(lambda x: strided.empty_like(x))
    >>> strided.library.opcheck(triple, (strided.ones(2),), test_utils="test_faketensor")
    {'test_faketensor': 'SUCCESS'}
    """
    from ._opcheck import run

    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    return run(_found(op), args, kwargs or {}, names, raise_exception, atol, rtol)


class Library:
    """PyTorch's older way to register operations: NotImplementedError, see :func:`custom_op`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("library.Library: strided registers operations with library.custom_op")


def define(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("library.define: strided registers operations with library.custom_op")


def impl(*args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError("library.impl: strided registers operations with library.custom_op")
