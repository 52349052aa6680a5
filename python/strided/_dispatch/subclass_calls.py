"""What becomes of public calls with objects of a class that has a ``__torch_dispatch__``."""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

from .. import _C
from .._objects.states import slots_of, state_of
from ..autograd.grad_mode import no_grad
from ..overrides import _names
from .subclass_gradients import _refresh
from .subclasses import (
    _as_plain,
    _attributes,
    _base,
    _called,
    _functions,
    _Tensor,
    device_of,
    is_dispatched,
    is_wrapper,
    make_wrapper,
    objects,
    state,
)

if TYPE_CHECKING:
    from .._typing import Callable


def take(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A public call with an object of such a class among its arguments."""
    kwargs = kwargs or {}
    if state.disabled and _handler(func)[0] is not _plainly and not _is_about_places(func):
        return _as_plain(func, args, kwargs)
    before = _C._set_torch_function_state(2)
    given, taken = state.function, state.taken
    state.function, state.taken = before, False
    try:
        handler, seen = _handler(func)
        if not seen:
            return handler(func, types, args, kwargs)
        key = (func, tuple(map(id, args)))
        if key in state.running:
            if hasattr(func, "__wrapped__"):
                return _through(func, types, args, kwargs)
            raise NotImplementedError(
                f"{_called(func)}: these arguments are not taken apart into operations for a __torch_dispatch__"
            )
        state.running.append(key)
        state.taken = True
        try:
            return handler(func, types, args, kwargs)
        finally:
            state.running.pop()
    finally:
        state.function, state.taken = given, taken
        _C._set_torch_function_state(before)


def _is_about_places(func: Any) -> bool:
    return _names().get(func, "").rpartition(".")[0].endswith((".device", ".is_cpu", ".is_cuda", ".is_meta"))


def _plainly(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """The function itself: a question that the tensor answers."""
    with _functions(state.function):
        return _C._call_base(func, tuple(args), kwargs)


@functools.lru_cache(None)
def _handler(func: Any) -> tuple[Callable[..., Any], bool]:
    """What takes a function, and whether it takes it apart."""
    from .overloads import _SILENT, handlers

    full = _names().get(func, "")
    name = full.removeprefix("torch.").rpartition(".")[2]
    if name in ("__get__", "__set__"):
        name = full.rpartition(".")[0].rpartition(".")[2] + name
    name = name or getattr(func, "__name__", "")
    special = _SPECIAL.get(name)
    if special is not None:
        return special, False
    if name in _SILENT or name in _PRIVATE:
        return _plainly, False
    handler = handlers().get(func)
    if handler is not None:
        return handler, True
    if hasattr(func, "__wrapped__"):
        return _through, False
    if name.startswith("__"):
        return _plainly, False
    return _refuse, False


def _through(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A function written in Python: the functions it calls are taken."""
    with _functions(max(1, state.function)):
        return func.__wrapped__(*args, **kwargs)


def _refuse(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    raise NotImplementedError(f"{_called(func)}: not an operation that a __torch_dispatch__ can be handed")


# Functions of the core without values in them.
_PRIVATE = frozenset(
    (
        "_backward _has_record _at_edge _leads_elsewhere _pass_number _bump_version _mark_dirty _is_view "
        "_set_grad_enabled __len__ __hash__ __dir__ _save_archive _save_stream"
    ).split()
)
_SPECIAL: dict[str, Callable[..., Any]] = {}


def _special(*names: str) -> Callable[..., Any]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _SPECIAL[name] = lambda func, types, args, kwargs: f(*args, **kwargs)
        return f

    return add


_special("device__get__")(device_of)
_special("is_cpu__get__")(lambda x: device_of(x).type == "cpu")
_special("is_cuda__get__")(lambda x: device_of(x).type == "cuda")
_special("is_meta__get__")(lambda x: device_of(x).type == "meta")
_special("is_xla__get__")(lambda x: device_of(x).type == "xla")
_special("get_device")(lambda x: -1 if device_of(x).index is None else device_of(x).index)
_special("positive", "resolve_neg", "resolve_conj")(lambda x: x)


def _data_of(name: str, text: str, error: Any = RuntimeError) -> None:
    """What needs the memory: an error for wrappers."""

    def of(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if is_wrapper(args[0]):
            raise error(text.format(type(args[0]).__name__))
        return _plainly(func, types, args, kwargs)

    _SPECIAL[name] = of


_data_of("numpy", ".numpy() is not supported for tensor subclasses.")
_data_of("__array__", ".numpy() is not supported for tensor subclasses.")
_data_of("tolist", ".tolist() is not supported for tensor subclasses, got {}")
_data_of("__dlpack__", "__dlpack__: a wrapper of tensors has no memory of its own", BufferError)


@_special("type")
def _type(x: Any, dtype: Any = None, **other: Any) -> Any:
    if dtype is not None:
        import strided

        named = isinstance(dtype, str) and next((d for d in vars(strided).values() if _type_name(d) == dtype), None)
        return x.to(named or dtype)
    return _type_name(x.dtype)


def _type_name(dtype: Any) -> str | None:
    import strided

    return strided.empty(0, dtype=dtype).type() if isinstance(dtype, _C.dtype) else None


@_special("data_ptr")
def _data_ptr(x: Any) -> int:
    return 0 if is_wrapper(x) else _base(_Tensor.data_ptr, x)


@_special("conj")
def _conj(x: Any) -> Any:
    from . import call

    return call("_conj", x) if x.dtype.is_complex else x


@_special("tensor", "as_tensor", "asarray")
def _as_tensor(data: Any, dtype: Any = None, device: Any = None, **other: Any) -> Any:
    if not isinstance(data, _Tensor):
        raise NotImplementedError("tensor: of a list with objects of a class with a __torch_dispatch__")
    options = {k: v for k, v in (("dtype", dtype), ("device", device)) if v is not None}
    return data.to(**options) if options else data


@_special("__deepcopy__")
def _deepcopy(x: Any, memo: Any) -> Any:
    if id(x) in memo:
        return memo[id(x)]
    if not x.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage."
        )
    with no_grad():
        made = x.clone()
    if type(made) is not type(x):
        raise RuntimeError(
            f"The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
            f"properly implement clone(): clone() of {type(x).__name__} returned {type(made).__name__}"
        )
    if x.requires_grad:
        made.requires_grad_()
    if x.grad is not None:
        made.grad = copy.deepcopy(x.grad, memo)
    memo[id(x)] = made
    made.__dict__.update(copy.deepcopy(_attributes(x), memo))
    for name, value in slots_of(x).items():
        setattr(made, name, copy.deepcopy(value, memo))
    return made


def _made_again(cls: Any, size: Any, strides: Any, offset: int, dtype: Any, device: str, requires_grad: bool) -> Any:
    return make_wrapper(cls, size, strides, offset, None, dtype, None, device, requires_grad)


def _reduce(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    if not is_wrapper(x):
        return _through(func, types, args, kwargs)
    given = (tuple(x.size()), tuple(x.stride()), x.storage_offset(), x.dtype, str(x.device), x.requires_grad)
    return _made_again, (type(x), *given), state_of(x)


_SPECIAL["__reduce_ex__"] = _reduce
_SPECIAL["data__set__"] = _plainly


def _ones_for(tensors: Any, grads: Any) -> Any:
    """Gradients to begin with, of the class of the result."""
    from . import call

    return [
        call("ones_like", t) if g is None and is_dispatched(t) and t.numel() == 1 and t.requires_grad else g
        for t, g in zip(tensors, grads)
    ]


def _backward(func: Any, types: Any, args: Any, kwargs: Any) -> None:
    x, *rest = args
    _refresh(x)
    if not rest and kwargs.get("gradient") is None:
        kwargs = {**kwargs, "gradient": _ones_for([x], [None])[0]}
    _plainly(func, types, (x, *rest), kwargs)


def _several(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``autograd.backward`` and ``autograd.grad``."""
    names = ("tensors", "grad_tensors") if func.__name__ == "backward" else ("outputs", "inputs", "grad_outputs")
    given = {**dict(zip(names, args)), **kwargs}
    made = given[names[0]]
    made = [made] if isinstance(made, _Tensor) else list(made)
    for x in objects(made, {}):
        _refresh(x)
    grads = given.get(names[-1])
    grads = [None] * len(made) if grads is None else [grads] if isinstance(grads, _Tensor) else list(grads)
    if len(grads) == len(made):
        given[names[-1]] = _ones_for(made, grads)
    return _plainly(func, types, args[len(names) :], given) if len(args) <= len(names) else _through(
        func, types, args, kwargs
    )  # fmt: skip


def _backward_of_either(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return (_backward if _names().get(func) else _several)(func, types, args, kwargs)


_SPECIAL["backward"], _SPECIAL["grad"] = _backward_of_either, _several
