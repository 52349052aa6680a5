"""Classes of tensors with a ``__torch_dispatch__``: their operations arrive there, below autograd.

The core asks such a class last (Note [Who takes a call] in ``csrc/python/overrides.h``). ``take`` (``subclass_calls``)
says of which operations of ``ops.aten`` the call consists, as for modes, and each of them goes to ``run``: to the modes
that are on, then to the classes of its arguments. What has a gradient is recorded by a node of its own
(``subclass_gradients``), whose formula is made of operations as well (``gradients``), so a backward pass arrives at the
classes too.

A wrapper (``_make_wrapper_subclass``) has its values in attributes. What the core holds is a tensor of its shape,
strides and dtype on the device ``meta``; the device it stands for is an attribute.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any

from .. import _C, is_grad_enabled
from ..autograd.grad_mode import _set as _set_grad
from ..autograd.grad_mode import no_grad
from ..overrides import _names
from . import _compute, _layer, watch_operations
from . import state as modes

if TYPE_CHECKING:
    from .._typing import Callable, Iterator, Tensor

_Tensor = _C.Tensor
_DEVICE = "_strided_device"  # the attribute of a wrapper
_VIEW = "_strided_view"  # the attribute of a view: a _View
_WRITES = "_strided_writes"  # the attribute of a tensor that was written to with a gradient: how often
_META = _C.device("meta")


class _State(threading.local):
    def __init__(self) -> None:
        self.disabled = False  # no class is asked
        self.below = False  # a __torch_dispatch__ runs: nothing is recorded
        self.taken = False  # a public call is taken apart: what it does with plain tensors is recorded as well
        self.function = 0  # the state of __torch_function__ where the program made its call
        self.running: list[Any] = []  # (function, arguments) that are being taken apart


state = _State()


# ---------------------------------------------------------------- classes and their objects


def adopt(cls: Any) -> None:
    """Makes the core ask a class that has a ``__torch_dispatch__``."""
    if "__strided_dispatch__" in cls.__dict__:
        return
    # What C++ keeps of an object that comes back is its __dict__: attributes in slots go there too.
    names = cls.__dict__.get("__slots__", ())
    for name in (names,) if isinstance(names, str) else names:
        name = f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        if type(cls.__dict__.get(name)).__name__ == "member_descriptor":
            delattr(cls, name)
    usual = getattr(_Tensor.__torch_function__, "__func__", None)
    if getattr(cls.__torch_function__, "__func__", None) is usual:  # as in PyTorch: results are what the class gives
        cls.__torch_function__ = _C._disabled_torch_function_impl
    from .subclass_calls import take

    cls.__strided_dispatch__ = staticmethod(take)
    watch_operations(sys.modules[__name__])
    _C._set_dispatches()


_SHAPES_IN_PLACE = frozenset("t_ transpose_ squeeze_ unsqueeze_ as_strided_ swapdims_ swapaxes_ resize_".split())


def reshape_in_place(op: Any, args: Any, kwargs: Any) -> None:
    """What a write that changes a shape does to the shape of a wrapper."""
    name = op.overloadpacket.__name__
    if name in _SHAPES_IN_PLACE and args and is_wrapper(args[0]):
        with _functions(2), no_grad():
            _C._call_base(getattr(_Tensor, name), tuple(args), kwargs)


def _own_gradient(grad: Any, leaf: Any, copies: bool) -> Any:
    """The first gradient of a leaf, of such a class: laid out as the leaf is, and nobody else's."""
    strides = tuple(leaf.stride())
    dense = _is_dense(leaf)
    if not copies and (tuple(grad.stride()) == strides if dense else grad.is_contiguous()):
        return grad.detach()
    if dense:
        return grad.new_empty_strided(tuple(leaf.shape), strides).copy_(grad)
    import strided

    return grad.clone(memory_format=strided.contiguous_format)


_C.set_hook("own_gradient", _own_gradient)


def _is_dense(x: Any) -> bool:
    """Is each place between the first and the last element an element, once?"""
    size = 1
    for n, s in sorted(zip(x.shape, x.stride()), key=lambda p: p[1]):
        if n > 1 and s != size:
            return False
        size *= n
    return True


def is_dispatched(x: Any) -> bool:
    """Is it an object of a class with a ``__torch_dispatch__``?"""
    return hasattr(type(x), "__strided_dispatch__")


def is_wrapper(x: Any) -> bool:
    """Are the values of a tensor in its attributes?"""
    return is_dispatched(x) and _DEVICE in x.__dict__


def make_wrapper(
    cls: Any, size: Any, strides: Any, storage_offset: Any, memory_format: Any, dtype: Any, layout: Any, device: Any,
    requires_grad: bool,
) -> Any:  # fmt: skip
    """``Tensor._make_wrapper_subclass``."""
    import strided

    if not hasattr(cls, "__torch_dispatch__") or cls.__torch_dispatch__ is _C._disabled_torch_dispatch_impl:
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__ to be made by _make_wrapper_subclass")
    if layout not in (None, strided.strided):
        raise NotImplementedError(f"_make_wrapper_subclass: layout {layout}, only torch.strided")
    adopt(cls)
    size = tuple(size)
    dtype = strided.get_default_dtype() if dtype is None else dtype
    device = _C.device("cpu" if device is None else device)
    with _functions(2):
        if strides is not None:
            shell = strided.empty_strided(size, tuple(strides), dtype=dtype, device=_META)
        else:
            options = {} if memory_format is None else {"memory_format": memory_format}
            shell = strided.empty(size, dtype=dtype, device=_META, **options)
        if storage_offset:
            need = 1 + sum((n - 1) * s for n, s in zip(shell.shape, shell.stride())) if shell.numel() else 0
            whole = strided.empty(storage_offset + need, dtype=dtype, device=_META)
            shell = whole.as_strided(shell.shape, shell.stride(), storage_offset)
        made = _Tensor._make_subclass(cls, shell, bool(requires_grad))
    made.__dict__[_DEVICE] = device
    return made


def another(x: Any) -> Any:
    """Another object for the same tensor, without its history."""
    with _functions(2):
        made = _Tensor._make_subclass(type(x), _base(_Tensor.detach, x))
    made.__dict__.update(x.__dict__)
    return made


def shell(x: Tensor, requires_grad: bool = False) -> Tensor:
    """A tensor of the same shape, strides and dtype without values."""
    made = _C.functions["empty_strided"](
        tuple(_base(_Tensor.size, x)), tuple(_base(_Tensor.stride, x)), dtype=x.dtype, device=_META
    )
    made.__dict__[_DEVICE] = device_of(x)
    if requires_grad:
        made.requires_grad = True
    return made


def device_of(x: Any) -> Any:
    """The device that a tensor stands for."""
    return x.__dict__.get(_DEVICE) or _base(type(_Tensor.device).__get__, _Tensor.device, x)


def _attributes(x: Any) -> dict[str, Any]:
    return {k: v for k, v in x.__dict__.items() if k not in (_DEVICE, _VIEW, _WRITES)}


def _base(func: Callable[..., Any], *args: Any) -> Any:
    return _C._call_base(func, args, None)


class _functions:
    """A context with this state of ``__torch_function__``."""

    __slots__ = ("_before", "_value")

    def __init__(self, value: int) -> None:
        self._value = value

    def __enter__(self) -> None:
        self._before = _C._set_torch_function_state(self._value)

    def __exit__(self, *exc: object) -> None:
        _C._set_torch_function_state(self._before)


def objects(args: Any, kwargs: Any) -> list[Any]:
    """The arguments, also in lists, whose class has a ``__torch_dispatch__``: one of each class, subclasses first."""
    found: list[Any] = []
    _collect(args, found)
    if kwargs:
        _collect(kwargs.values(), found)
    return found


def _collect(values: Any, found: list[Any]) -> None:
    for a in values:
        kind = type(a)
        if kind is _Tensor:
            continue
        if isinstance(a, (list, tuple)):
            _collect(a, found)
        elif hasattr(kind, "__strided_dispatch__"):
            for at, o in enumerate(found):
                if issubclass(kind, type(o)):
                    if kind is not type(o):
                        found.insert(at, a)
                    break
            else:
                found.append(a)


def _flat(values: Any) -> Iterator[Any]:
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from _flat(v)
        else:
            yield v


def _called(func: Any) -> str:
    return _names().get(func) or getattr(func, "__qualname__", None) or repr(func)


def _as_plain(func: Any, args: Any, kwargs: Any) -> Any:
    """A call with the tensors that the objects hold."""
    found: dict[int, Any] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(plain, value)) if type(value) in (list, tuple) else value
        if not is_dispatched(value):
            return value
        if is_wrapper(value):
            raise RuntimeError(f"{_called(func)}: a {type(value).__name__} has no values of its own")
        made = _base(_Tensor.detach, value)
        found[id(made)] = value
        return made

    made = func(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
    return found.get(id(made), made)


# ---------------------------------------------------------------- operations


def run(op: Any, args: Any, kwargs: Any, found: list[Any]) -> Any:
    """An operation with objects of such classes (`found`) among its arguments."""
    if state.disabled:
        return _as_plain(op._run, args, kwargs)
    given, before = state.function, _C._get_torch_function_state()
    if before < 2:  # the program calls the operation
        state.function = before
    _C._set_torch_function_state(2)
    try:
        return _run(op, args, kwargs, found)
    finally:
        state.function = given
        _C._set_torch_function_state(before)


@functools.cache
def _tables() -> tuple[Any, Any]:
    """Modules that import this one: an import in each call would take as long as a short operation."""
    from . import subclass_gradients, table

    return subclass_gradients, table


def _run(op: Any, args: Any, kwargs: Any, found: list[Any]) -> Any:
    nodes, table = _tables()
    name = op.overloadpacket.__name__
    if name in nodes._IMPLICIT:
        return table.COMPOSED[name](None, args, kwargs)
    writes = op._schema.is_mutable and op._overload != "out"
    if not found and table.rule_of(name) is None:
        return _compute(op, args, kwargs)
    recorded = False
    if not state.below and modes.grad is None:
        for x in found:
            nodes._refresh(x)
        if is_grad_enabled() and name not in nodes._CONSTANT:
            tensors = [t for t in _flat((*args, *kwargs.values())) if isinstance(t, _Tensor)]
            recorded = any(t.requires_grad for t in tensors)
    made = nodes._recorded(op, name, writes, args, kwargs, found, tensors) if recorded else ask(op, args, kwargs, found)
    if writes:
        if not recorded:
            nodes._written(args[0])
        return args[0]
    if name in nodes._VIEWS and not state.below:
        for r in _flat([made]):
            if is_dispatched(r):
                nodes._mark_view(r, op, args, kwargs, made)
    return made


def ask(op: Any, args: Any, kwargs: Any, found: list[Any]) -> Any:
    """What the mode that was entered last, else the classes make of an operation."""
    types = tuple(type(o) for o in found)
    below, state.below = state.below, True
    running, state.running = state.running, []
    taken, state.taken = state.taken, False
    grad = modes.grad
    if modes.modes and grad is None:
        modes.grad = False
    computes, modes.computes = modes.computes, False
    functions, recorded = _C._set_torch_function_state(state.function), is_grad_enabled()
    try:
        _set_grad(False)
        if modes.modes:
            mode = modes.modes.pop()
            given = (op, types, tuple(args), dict(kwargs))
            try:
                if modes.modes and grad is None:
                    with _layer:
                        made = mode.__torch_dispatch__(*given)
                else:
                    made = mode.__torch_dispatch__(*given)
            finally:
                modes.modes.append(mode)
            if made is not NotImplemented:
                return made
        if not found:
            return _compute(op, args, kwargs)
        for o in found:
            made = type(o).__torch_dispatch__(op, types, tuple(args), dict(kwargs))
            if made is not NotImplemented:
                return made
    finally:
        _set_grad(recorded)
        _C._set_torch_function_state(functions)
        state.below, state.running, state.taken = below, running, taken
        modes.grad, modes.computes = grad, computes
    lines = "".join(f"\n  - tensor subclass {t}" for t in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{op}'; all __torch_dispatch__ handlers returned NotImplemented:\n{lines}"
    )
