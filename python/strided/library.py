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

import contextlib
import weakref
from typing import TYPE_CHECKING, Any

import strided

from ._calls import operator_schemas as _schemas
from ._calls.registered_ops import CustomOpDef, add, registered, take_off, waiting, waiting_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._typing import Callable

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip


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
        device_types: a device, or several, that it is for; all if None. schema: ``(Tensor x) -> Tensor``; read off
            the type hints if None. tags: kept as the attribute ``tags``.

    Raises:
        ValueError: the name has no namespace, or mutates_args names what is no argument.
    """
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    namespace, _, short = name.partition("::")
    if not namespace or not short:
        raise ValueError(f"custom_op: the name must be 'namespace::name', got {name!r}")
    made = CustomOpDef(name, fn, mutates_args, schema)
    unknown = set() if isinstance(mutates_args, str) else set(mutates_args) - set(made._signature.parameters)
    if unknown:
        raise ValueError(f"custom_op: {unknown} in mutates_args were not found in the custom op's signature.")
    made.tags = list(tags) if isinstance(tags, (list, tuple)) else [] if tags is None else [tags]
    if device_types is not None:
        made.register_kernel(device_types, fn)
        made._function = None
    return add(made)


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    schema: str | None = None,
    opaque_triton_kernels: Any = None,
) -> Any:
    """:func:`custom_op`; PyTorch's compiler looks into such an operation."""
    if fn is None:
        return lambda function: custom_op(name, function, mutates_args=mutates_args, schema=schema)
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """The kernel itself; PyTorch's compiler looks for this call."""
    return triton_kernel


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None, tags: Any = ()
) -> str:
    """The schema of a function, from its type hints; ValueError where one is missing, or is none of an operation.

    Args:
        prototype_function: a function with type hints. mutates_args: the names of arguments that it writes to, or
            "unknown". op_name: written in front. tags: accepted, without effect.

    >>> def scaled(x: strided.Tensor, factor: float = 2.0) -> strided.Tensor:
    ...     return x * factor
    >>> strided.library.infer_schema(scaled, mutates_args=(), op_name="scaled")
    'scaled(Tensor x, float factor=2.0) -> Tensor'
    """
    return _schemas.infer(prototype_function, mutates_args, op_name)


def _found(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, str) and op.endswith(".default"):
        op = op.removesuffix(".default")
    if op not in registered:
        raise RuntimeError(f"library: no operation {op!r} was registered by custom_op or Library.define")
    return registered[op]


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """:meth:`CustomOpDef.register_fake` of an operation or its name. A decorator if `func` is None.

    A name that custom_op has not registered yet takes the function when it does.
    """
    if func is None:
        return lambda function: register_fake(op, function)
    if isinstance(op, str) and op not in registered:
        waiting[op] = func
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
    from ._calls.opcheck import run

    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    return run(_found(op), args, kwargs or {}, names, raise_exception, atol, rtol)


class Library:
    """Operations of a namespace by their schemas: ``define`` names one, ``impl`` says what computes it.

    Args:
        ns: the namespace. kind: "DEF" or "FRAGMENT", which define and implement, or "IMPL", which implements.
        dispatch_key: what impl is for where it is not told.

    >>> mine = strided.library.Library("mine", "FRAGMENT")
    >>> mine.define("shifted(Tensor x, float by=1.) -> Tensor")
    'shifted'
    >>> mine.impl("shifted", lambda x, by: x + by, "CPU")
    >>> strided.ops.mine.shifted(strided.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" or (ns == "aten" and kind == "DEF"):
            raise ValueError(f"{ns} is a reserved namespace, please use a different one")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._names: list[str] = []
        self._finalizer = weakref.finalize(self, take_off, self._names)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Names an operation: ``name(Tensor x, int n=1) -> Tensor``.

        Args:
            schema: the schema. alias_analysis: accepted, without effect. tags: the attribute ``tags``.

        Returns:
            the name

        Raises:
            RuntimeError: the text is no schema, or there is an operation of that name.
        """
        if self.kind == "IMPL":
            raise RuntimeError("library.define: a Library of the kind 'IMPL' defines nothing")
        parsed = _schemas.parse(schema)
        short = parsed.name.removeprefix(f"{self.ns}::")
        name = f"{self.ns}::{short}" + (f".{parsed.overload_name}" if parsed.overload_name else "")
        if name in registered:
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{schema}) with the same name and overload name multiple times."
            )
        made = CustomOpDef(name, None, tuple(a.name for a in parsed.arguments if a.is_write), schema)
        made.tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        add(made)
        self._names.append(name)
        return name.partition("::")[2]

    def _op(self, op_name: Any) -> CustomOpDef:
        if isinstance(op_name, CustomOpDef):
            return op_name
        name = str(op_name).removeprefix(f"{self.ns}::")
        if self.ns == "aten":
            raise NotImplementedError(f"library.impl: aten::{name} is strided's own, and keeps its kernels")
        return _found(f"{self.ns}::{name}")

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Says what computes an operation.

        Args:
            op_name: its name, or the operation. fn: the function. dispatch_key: the device that it is for, "CPU" or
                "CUDA"; "Meta" for shapes; "CompositeExplicitAutograd" for all devices;
                "CompositeImplicitAutograd", or nothing, if it is made of operations with gradients; "Autograd" if
                it is asked before the others. An operation may be defined later.
            with_keyset: NotImplementedError if True. allow_override: accepted; the last function counts.

        Raises:
            TypeError: `fn` is no function.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("library.impl: there are no sets of dispatch keys (with_keyset)")
        key = dispatch_key or self.dispatch_key
        if fn is fallthrough_kernel:
            return
        name = f"{self.ns}::{str(op_name).removeprefix(f'{self.ns}::')}"
        if isinstance(op_name, CustomOpDef) or name in registered or self.ns == "aten":
            self._op(op_name)._implement(key, fn)
        else:
            waiting_kernels.setdefault(name, []).append((key, fn))

    def _register_fake(self, op_name: Any, fn: Callable[..., Any], _stacklevel: int = 1, **options: Any) -> None:
        self._op(op_name).register_fake(fn)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """NotImplementedError: no function takes all operations."""
        raise NotImplementedError("library.fallback: a function for all operations of a device is not supported")

    def _destroy(self) -> None:
        """Forgets the operations that were defined here."""
        self._finalizer()


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def fallthrough_kernel() -> None:
    """Given to :meth:`Library.impl`: nothing for this key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def define(qualname: Any, schema: Any, *args: Any, lib: Library | None = None, tags: Any = ()) -> Any:
    """Names an operation, as :meth:`Library.define` does.

    Args:
        qualname: "namespace::name"; or a Library, and the result is a decorator for what computes the operation.
        schema: ``(Tensor x) -> Tensor``; for a Library with the name in front. lib: which keeps it: else it stays.
        tags: the attribute ``tags``.

    Raises:
        ValueError: the name has no namespace, or the schema has a name.
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, *args, tags=tags)

        def computed_by(function: Any) -> Any:
            qualname.impl(name, function)
            return function

        return computed_by
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, _, short = qualname.partition("::")
    if not namespace or not short:
        raise ValueError(f"Expected `qualname` to be of the form 'namespace::name', got {qualname!r}")
    if not schema.startswith("(") or ") -> " not in schema:
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        lib._finalizer.detach()
    lib.define(short + schema, tags=tags)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """Says what computes an operation on devices. A decorator if `func` is None.

    Args:
        qualname: "namespace::name"; or a Library, and `types` is then the name, `func` the dispatch key.
        types: a device or several, as in :meth:`CustomOpDef.register_kernel`; "default" for all of them; or dispatch
            keys, as in :meth:`Library.impl`.
        func: the function. lib: accepted, without effect.
    """
    if isinstance(qualname, Library):

        def computed_by(function: Any) -> Any:
            qualname.impl(types, function, func or "")
            return function

        return computed_by
    if func is None:
        return lambda function: impl(qualname, types, function, lib=lib)
    op = _found(qualname)
    for kind in (types,) if isinstance(types, str) else types:
        if kind == "default":
            op._function = func
        elif kind[:1].isupper():
            op._implement(kind, func)
        else:
            op._kernels[strided.device(kind).type] = func
    return None


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """:meth:`CustomOpDef.register_vmap` of an operation or its name. A decorator if `func` is None."""
    return _found(op).register_vmap(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """:meth:`CustomOpDef.register_autocast` of an operation or its name."""
    _found(op).register_autocast(device_type, cast_inputs)


def impl_abstract(qualname: Any, func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """The older name of :func:`register_fake`."""
    return register_fake(qualname, func, **options)


def get_ctx() -> Any:
    """RuntimeError: sizes of results on device ``meta`` are numbers, none depends on data."""
    raise RuntimeError("library.get_ctx: there is no fake tensor mode, and no size that depends on data")
