"""What is under a registered name: an operation of the user's own (``strided.library``)."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from typing import TYPE_CHECKING, Any

import strided

from .. import ops
from .._as_torch.dispatch_keys import is_below_autograd
from ..autograd import Function
from . import operator_schemas as _schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._typing import Callable

__all__ = ["CustomOpDef", "add", "registered", "take_off", "waiting", "waiting_kernels"]

registered: dict[str, CustomOpDef] = {}
# Shapes of operations that are registered later, or never: torchvision gives them without its compiled library.
waiting: dict[str, Callable[..., Any]] = {}
waiting_kernels: dict[str, list[tuple[str, Callable[..., Any]]]] = {}
_COMPOSITE = ("", "CompositeImplicitAutograd", "CompositeExplicitAutograd")


def _tensors(args: Any) -> list[Any]:
    """The tensors among arguments, and in lists of them."""
    found = []
    for a in args:
        if isinstance(a, (list, tuple)):
            found += [t for t in a if isinstance(t, strided.Tensor)]
        elif isinstance(a, strided.Tensor):
            found.append(a)
    return found


def _is_list_of_tensors(a: Any) -> bool:
    return isinstance(a, (list, tuple)) and any(isinstance(t, strided.Tensor) for t in a)


def _apart(values: Any, sizes: Any) -> list[Any]:
    """The values, those of lists (where there is a size) each for itself."""
    found: list[Any] = []
    for value, n in zip(values, sizes):
        found.extend(value) if n is not None else found.append(value)
    return found


def _together(flat: Any, sizes: Any) -> list[Any]:
    """The inverse of _apart."""
    rest = iter(flat)
    return [next(rest) if n is None else list(itertools.islice(rest, n)) for n in sizes]


class _Form:
    """Where the arguments and results of a call are lists of tensors, and how many are in each."""

    def __init__(self, given: tuple[Any, ...]) -> None:
        self.taken = [len(a) if _is_list_of_tensors(a) else None for a in given]
        self.made: list[int | None] | None = None  # of the results; None: as they are
        self.is_list = False  # the result is one list

    def flat_arguments(self, given: Any) -> list[Any]:
        return _apart(given, self.taken)

    def arguments(self, flat: Any) -> tuple[Any, ...]:
        return tuple(_together(flat, self.taken))

    def flat_results(self, made: Any) -> Any:
        self.is_list = isinstance(made, list)
        parts = (made,) if self.is_list else made
        if not isinstance(parts, tuple) or not any(isinstance(y, list) for y in parts):
            return made
        self.made = [len(y) if isinstance(y, list) else None for y in parts]
        return tuple(_apart(parts, self.made))

    def results(self, flat: Any) -> Any:
        if self.made is None:
            return flat
        parts = _together(flat, self.made)
        return parts[0] if self.is_list else tuple(parts)

    def gradients(self, flat: Any) -> list[Any]:
        """Of the results."""
        return list(flat) if self.made is None else _together(flat, self.made)

    def flat_gradients(self, found: tuple[Any, ...]) -> list[Any]:
        """Of the arguments: None or a list for a list."""
        found = (
            tuple(
                None if n is None and isinstance(g, (list, tuple)) and not _is_list_of_tensors(g) else g
                for g, n in zip(found, self.taken)
            )
            + found[len(self.taken) :]
        )
        for g, n in zip(found, self.taken):
            if n is not None and g is not None and not (isinstance(g, (list, tuple)) and len(g) == n):
                raise RuntimeError(
                    "Expected the return from backward to be of the same structure as the inputs: a list of "
                    f"{n} gradients, got {type(g).__name__}"
                )
        sizes = [*self.taken, *[None] * (len(found) - len(self.taken))]
        return _apart([[None] * n if n is not None and g is None else g for g, n in zip(found, sizes)], sizes)

    @contextlib.contextmanager
    def wants_seen(self, ctx: Any) -> Iterator[None]:
        """A context in which the function of the user's own sees ``needs_input_grad`` for its arguments."""
        before = ctx.needs_input_grad
        ctx.needs_input_grad = self.arguments(before[1:])
        try:
            yield
        finally:
            ctx.needs_input_grad = before


class CustomOpDef:
    """An operation under a registered name: a callable, with rules for gradients, devices and ``meta`` tensors.

    :func:`custom_op` makes it of a function, :meth:`Library.define` of a schema.
    """

    def __init__(
        self, name: str, function: Callable[..., Any] | None, mutates_args: Any = (), schema: str | None = None
    ) -> None:
        self._qualname, self._function, self._mutates = name, function, mutates_args
        self.namespace, _, self._name = name.partition("::")
        self.__name__ = self._name
        self._overload = self._overloadname = self._name.partition(".")[2] or "default"
        self._text, self._hinted = schema, function  # the schema, or the function whose hints say it
        self._signature = inspect.signature(function) if function is not None else self._schema.signature()
        self._kernels: dict[str, Callable[..., Any]] = {}  # by device, and "autograd"
        self._off: set[str] = set()
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self._casts: dict[str, Any] = {}
        self._is_composite = False  # made of recorded operations
        self._others: dict[str, CustomOpDef] = {}  # overloads beside this one
        self.tags: list[Any] = []
        self._node = self._function_with_gradient()

    @property
    def default(self) -> CustomOpDef:
        """The one form of the operation: itself."""
        return self

    _opoverload = overloadpacket = _overloadpacket = default

    @property
    def _schema(self) -> Any:
        text = self._text
        if text is None:
            text = _schemas.infer(self._hinted, self._mutates)  # type: ignore[arg-type]
        short = self._qualname.partition(".")
        schema = _schemas.parse(text)
        schema.name, schema.overload_name = short[0], short[2]
        return schema

    def name(self) -> str:
        """``namespace::name``."""
        return self._qualname

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._name.partition('.')[0]}.{self._overload}"

    def _run(self, args: Any) -> Any:
        """What a mode or a class makes of the call, below gradients; else the function for the tensors' device."""
        names = list(self._signature.parameters.values())
        words = {p.name: a for p, a in zip(names, args) if p.kind is p.KEYWORD_ONLY}
        args = args[: len(args) - len(words)]
        if ops._taken is not None:  # there is a mode, or a class of tensors, that is to be asked
            from .. import _dispatch

            made = _dispatch.dispatch_registered(self, args, words)
            if made is not NotImplemented:
                return made
        kinds = {t.device.type for t in _tensors((*args, *words.values()))}
        there = [self._kernels[kind] for kind in kinds if kind in self._kernels and kind not in self._off]
        kernel = there[0] if there else self._function
        if "meta" in kinds:
            kernel = self._shapes() or kernel
        if kernel is None and not kinds and self._kernels:  # no tensor says which
            kernel = next(iter(self._kernels.values()))
        if kernel is None:
            if "meta" in kinds:
                raise NotImplementedError(
                    f"There was no fake impl registered for {self!r}. This is necessary for it to work with tensors on "
                    "device 'meta'. Please use register_fake to add one."
                )
            backend = ", ".join(sorted(kinds)).upper()
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the '{backend}' backend. It has kernels for: "
                f"{sorted(self._kernels)}."
            )
        return kernel(*args, **words)

    def _function_with_gradient(self) -> Any:
        op = self

        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            form, *flat = inputs
            ctx._form = form
            if op._setup is not None:
                with form.wants_seen(ctx):
                    op._setup(ctx, **op._for_setup(form.arguments(flat), form.results(output)))

        def backward(ctx: Any, *grads: Any) -> Any:
            if op._backward is None:
                raise NotImplementedError(
                    f"Trying to backward through {op} but no autograd formula was registered. Please use "
                    "register_autograd to add one."
                )
            form = ctx._form
            with form.wants_seen(ctx):
                found = op._backward(ctx, *form.gradients(grads))
            found = found if isinstance(found, tuple) else (found,)
            return (None, *form.flat_gradients(found + (None,) * op._n_keywords()))

        name = f"GeneratedBackwardFor_{self.namespace}_{self._name.partition('.')[0]}_{self._overload}"
        parts = {
            "forward": staticmethod(lambda form, *flat: form.flat_results(op._run(form.arguments(flat)))),
            "setup_context": staticmethod(setup_context), "backward": staticmethod(backward), "__module__": __name__,
        }  # fmt: skip
        return type(name, (Function,), parts)

    def _apply(self, given: tuple[Any, ...]) -> Any:
        """The call with its gradient; lists of tensors are taken apart for the Function."""
        form = _Form(given)
        return form.results(self._node.apply(form, *form.flat_arguments(given)))

    def _n_keywords(self) -> int:
        return sum(p.kind is p.KEYWORD_ONLY for p in self._signature.parameters.values())

    def _for_setup(self, inputs: tuple[Any, ...], output: Any) -> dict[str, Any]:
        """What setup_context is told; keywords apart, where there are some."""
        names = [p.name for p in self._signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        if not names:
            return {"inputs": inputs, "output": output}
        n = len(inputs) - len(names)
        return {"inputs": inputs[:n], "keyword_only_inputs": dict(zip(names, inputs[n:])), "output": output}

    def __deepcopy__(self, memo: Any) -> CustomOpDef:
        return self  # a key of tables, which programs copy

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            other = _fitting(self._others, args, kwargs)
            if other is not None:
                return other(*args, **kwargs)
            raise RuntimeError(f"{self._qualname}(): {error}. Declaration: {self._qualname}{self._signature}") from None
        bound.apply_defaults()
        given = (*bound.args, *bound.kwargs.values())
        tensors = _tensors(given)
        for kind, dtype in self._casts.items():
            if strided.is_autocast_enabled(kind) and any(t.device.type == kind for t in tensors):
                given = tuple(self._cast(a, kind, dtype) for a in given)
                with strided.autocast(kind, enabled=False):
                    return self._call(given, _tensors(given))
        return self._call(given, tensors)

    @staticmethod
    def _cast(a: Any, kind: str, dtype: Any) -> Any:
        is_ours = isinstance(a, strided.Tensor) and a.device.type == kind and a.is_floating_point()
        return a.to(dtype) if is_ours and a.dtype != strided.float64 else a

    def _call(self, given: tuple[Any, ...], tensors: list[Any]) -> Any:
        if "autograd" in self._kernels and not is_below_autograd():
            words = self._n_keywords()
            names = list(self._signature.parameters)[len(given) - words :]
            return self._kernels["autograd"](
                *given[: len(given) - words], **dict(zip(names, given[len(given) - words :]))
            )
        if self._is_composite and not any(t.device.type in self._kernels for t in tensors):
            return self._run(given)
        versions = [(t, 0 if t.is_inference() else t._version) for t in self._written(given)]
        if self._vmap is not None and any(hasattr(type(t), "__strided_function__") for t in tensors):
            made = self._apply(given)
        elif strided.is_grad_enabled() and any(t.requires_grad for t in tensors):
            made = self._apply(given)
        else:
            made = self._run(given)
        for t, version in versions:
            if (
                t.is_inference() or t._version == version
            ):  # written to behind the back of autograd, through NumPy for one
                strided.autograd.graph.increment_version(t)
        return made

    def _written(self, given: tuple[Any, ...]) -> list[Any]:
        """The tensors that the call says it writes to."""
        if self._mutates == "unknown":  # perhaps to all of them
            return _tensors(given)
        if not self._mutates or isinstance(self._mutates, str):
            return []
        return _tensors([a for a, name in zip(given, self._signature.parameters) if name in self._mutates])

    def _shapes(self) -> Callable[..., Any] | None:
        """What gives shapes and dtypes of the results: what was registered, or nothing for what only writes."""
        if self._fake is None and self._mutates and not self._schema.returns:
            return lambda *args, **kwargs: None
        return self._fake

    def _implement(self, key: str, function: Callable[..., Any]) -> None:
        """Takes a function for one of PyTorch's dispatch keys."""
        if key in _COMPOSITE:
            self._function, self._is_composite = function, key != "CompositeExplicitAutograd"
        elif key == "Meta":
            self._fake = function
        else:
            self._kernels["autograd" if key.startswith("Autograd") else key.lower()] = function

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

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """The rule for a batch: ``func(info, in_dims, *args)`` gives the results and their axes of samples.

        ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` the axis of samples of each argument, None where
        there is none. A decorator if `func` is None.
        """
        if func is None:
            return self.register_vmap
        self._vmap = func

        def vmap(info: Any, in_dims: Any, form: Any, *flat: Any) -> Any:
            made, dims = func(info, form.arguments(in_dims[1:]), *form.arguments(flat))
            lists = isinstance(made, list) or (isinstance(made, tuple) and any(isinstance(y, list) for y in made))
            return form.flat_results(made), form.flat_results(dims) if lists else dims

        self._node.vmap = staticmethod(vmap)
        return func

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Where autocast is on for this device, floating-point arguments are cast to the dtype `cast_inputs`."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda"):
            raise RuntimeError(f"register_autocast: there is no autocast for the device {device_type!r}")
        self._casts[device_type] = cast_inputs

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A context in which the kernel for a device is used, or not: then the function of custom_op is."""
        before = set(self._off)
        (self._off.discard if enabled else self._off.add)(device_type)
        try:
            yield
        finally:
            self._off = before


def _fitting(overloads: dict[str, CustomOpDef], args: Any, kwargs: Any) -> CustomOpDef | None:
    """The first overload that takes these arguments."""
    for op in overloads.values():
        try:
            op._signature.bind(*args, **kwargs)
        except TypeError:
            continue
        return op
    return None


class _Overloads:
    """``ops.namespace.name`` of operations that were defined with overloads: they are its attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = self._name = name
        self._others: dict[str, CustomOpDef] = {}

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._others)

    def __deepcopy__(self, memo: Any) -> _Overloads:
        return self  # a key of tables, which programs copy

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        op = _fitting(self._others, args, kwargs)
        if op is None:
            raise TypeError(f"{self._name}: no overload takes these arguments; there are {self.overloads()}")
        return op(*args, **kwargs)


def add(made: CustomOpDef) -> CustomOpDef:
    if made._qualname in waiting:
        made.register_fake(waiting.pop(made._qualname))
    for key, function in waiting_kernels.pop(made._qualname, ()):
        made._implement(key, function)
    registered[made._qualname] = made
    space = getattr(ops, made.namespace)
    short, _, overload = made._name.partition(".")
    if overload:
        packet = vars(space).get(short)
        if packet is None:
            packet = _Overloads(short)
            setattr(space, short, packet)
        packet._others[overload] = made
        setattr(packet, overload, made)
    else:
        before = vars(space).get(short)
        for name, other in getattr(before, "_others", {}).items():
            made._others[name] = other
            setattr(made, name, other)
        setattr(space, short, made)
    return made


def take_off(names: list[str]) -> None:
    """Forgets operations: their Library is gone."""
    for name in names:
        made = registered.pop(name, None)
        if made is not None:
            space, (short, _, overload) = getattr(ops, made.namespace), made._name.partition(".")
            packet = vars(space).get(short)
            if packet is made:
                delattr(space, short)
            elif overload and getattr(packet, "_others", {}).pop(overload, None) is not None:
                delattr(packet, overload)
                if isinstance(packet, _Overloads) and not packet._others:
                    delattr(space, short)
