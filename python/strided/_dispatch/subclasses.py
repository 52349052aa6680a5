"""Classes of tensors with a ``__torch_dispatch__``: their operations arrive there, below autograd.

The core asks such a class last (Note [Who takes a call] in ``csrc/python/overrides.h``). ``take`` says of which
operations of ``ops.aten`` the call consists, as for modes, and each of them goes to ``run``: to the modes that are on,
then to the classes of its arguments. What has a gradient is recorded by a node of its own, whose formula is made of
operations as well (``gradients``), so a backward pass arrives at the classes too.

A wrapper (``_make_wrapper_subclass``) has its values in attributes. What the core holds is a tensor of its shape,
strides and dtype on the device ``meta``; the device it stands for is an attribute.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from typing import TYPE_CHECKING, Any

from .. import _C, is_grad_enabled, ops
from ..autograd.function import FunctionCtx
from ..autograd.grad_mode import no_grad
from ..overrides import _names

if TYPE_CHECKING:
    from .._typing import Callable, Iterator, Tensor

_Tensor = _C.Tensor
_DEVICE = "_strided_device"  # the attribute of a wrapper
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
    # What C++ keeps of an object that comes back is its __dict__: attributes in slots go there too.
    names = cls.__dict__.get("__slots__", ())
    for name in (names,) if isinstance(names, str) else names:
        name = f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        if type(cls.__dict__.get(name)).__name__ == "member_descriptor":
            delattr(cls, name)
    usual = getattr(_Tensor.__torch_function__, "__func__", None)
    if getattr(cls.__torch_function__, "__func__", None) is usual:  # as in PyTorch: results are what the class gives
        cls.__torch_function__ = _C._disabled_torch_function_impl
    if hasattr(cls, "__strided_dispatch__"):
        return
    cls.__strided_dispatch__ = staticmethod(take)
    from . import watch_operations

    watch_operations()
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
    with _functions(2), no_grad():
        if strides is not None:
            shell = strided.empty_strided(size, tuple(strides), dtype=dtype, device=_META)
        else:
            format = strided.contiguous_format if memory_format is None else memory_format
            shell = strided.empty(size, dtype=dtype, device=_META, memory_format=format)
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


@contextlib.contextmanager
def _functions(value: int) -> Iterator[None]:
    """A context with this state of ``__torch_function__``."""
    before = _C._set_torch_function_state(value)
    try:
        yield
    finally:
        _C._set_torch_function_state(before)


def objects(args: Any, kwargs: Any) -> list[Any]:
    """The arguments, also in lists, whose class has a ``__torch_dispatch__``: one of each class, subclasses first."""
    found: list[Any] = []
    for a in _flat((*args, *kwargs.values())):
        kind = type(a)
        if kind is _Tensor or not hasattr(kind, "__strided_dispatch__") or any(type(o) is kind for o in found):
            continue
        at = next((i for i, o in enumerate(found) if issubclass(kind, type(o))), len(found))
        found.insert(at, a)
    return found


def _flat(values: Any) -> Iterator[Any]:
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from _flat(v)
        else:
            yield v


# ---------------------------------------------------------------- public calls


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


def _is_about_places(func: Any) -> bool:
    return _names().get(func, "").rpartition(".")[0].endswith((".device", ".is_cpu", ".is_cuda", ".is_meta"))


def _called(func: Any) -> str:
    return _names().get(func) or getattr(func, "__qualname__", None) or repr(func)


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
        "_backward _has_record _at_edge _leads_elsewhere _pass_number _bump_version _is_view _set_grad_enabled __len__ "
        "__hash__ __dir__"
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
    return made


def _made_again(cls: Any, size: Any, strides: Any, offset: int, dtype: Any, device: str, requires_grad: bool) -> Any:
    return make_wrapper(cls, size, strides, offset, None, dtype, None, device, requires_grad)


def _reduce(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    if not is_wrapper(x):
        return _through(func, types, args, kwargs)
    given = (tuple(x.size()), tuple(x.stride()), x.storage_offset(), x.dtype, str(x.device), x.requires_grad)
    return _made_again, (type(x), *given), _attributes(x)


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


def _run(op: Any, args: Any, kwargs: Any, found: list[Any]) -> Any:
    from . import _compute
    from . import state as modes
    from .composites import COMPOSED
    from .gradients import rule_of

    name = op.overloadpacket.__name__
    if name in _IMPLICIT:
        return COMPOSED[name](None, args, kwargs)
    writes = op._schema.is_mutable and op._overload != "out"
    if not found and rule_of(name) is None:
        return _compute(op, args, kwargs)
    recorded = False
    if not state.below and modes.grad is None:
        for x in found:
            _refresh(x)
        tensors = [t for t in _flat((*args, *kwargs.values())) if isinstance(t, _Tensor)]
        recorded = is_grad_enabled() and name not in _CONSTANT and any(t.requires_grad for t in tensors)
    made = _recorded(op, name, writes, args, kwargs, found, tensors) if recorded else ask(op, args, kwargs, found)
    if writes:
        if not recorded:
            _written(args[0])
        return args[0]
    if name in _VIEWS and not state.below:
        for r in _flat([made]):
            if is_dispatched(r):
                _mark_view(r, op, args, kwargs, made)
    return made


def ask(op: Any, args: Any, kwargs: Any, found: list[Any]) -> Any:
    """What the mode that was entered last, else the classes make of an operation."""
    from . import _compute, _layer
    from . import state as modes

    types = tuple(type(o) for o in found)
    below, state.below = state.below, True
    running, state.running = state.running, []
    taken, state.taken = state.taken, False
    grad = modes.grad
    if modes.modes and grad is None:
        modes.grad = False
    computes, modes.computes = modes.computes, False
    try:
        with _functions(state.function), no_grad():
            if modes.modes:
                mode = modes.modes.pop()
                try:
                    with _layer if modes.modes and grad is None else contextlib.nullcontext():
                        made = mode.__torch_dispatch__(op, types, tuple(args), dict(kwargs))
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
        state.below, state.running, state.taken = below, running, taken
        modes.grad, modes.computes = grad, computes
    lines = "".join(f"\n  - tensor subclass {t}" for t in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{op}'; all __torch_dispatch__ handlers returned NotImplemented:\n{lines}"
    )


# ---------------------------------------------------------------- gradients

# Operations that PyTorch takes apart above the classes.
_IMPLICIT = frozenset(
    """
linear matmul einsum reshape reshape_as flatten unflatten contiguous chunk narrow expand_as view_as movedim broadcast_to
vstack hstack layer_norm batch_norm group_norm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
softmax log_softmax nll_loss max_pool2d scaled_dot_product_attention square dropout
""".split()
)
# Operations whose results have no gradient.
_CONSTANT = frozenset(
    """
detach ones_like zeros_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full
new_empty_strided argmax argmin argsort bernoulli multinomial _local_scalar_dense equal allclose is_same_size
""".split()
)
# Operations whose formula reads of these arguments shapes and dtypes only; of others it may read the values.
_SHAPES_ONLY = frozenset(
    """
add sub rsub neg view _unsafe_view t transpose permute expand squeeze unsqueeze select slice cat stack sum mean clone
alias _to_copy split split_with_sizes unbind repeat flip copy fill zero relu exp sqrt rsqrt reciprocal tanh sigmoid
_softmax _log_softmax tril triu cumsum floor ceil round trunc sign lift_fresh roll diagonal
unfold constant_pad_nd trace frac
""".split()
)
# Operations whose formula reads the values of these arguments.
_READS = {
    "masked_fill": (1,), "index_put": (1,), "scatter": (2,), "scatter_add": (2,), "index_add": (2,), "index_copy": (2,),
    "gather": (2,), "index_select": (2,), "index": (1,), "embedding": (1,), "where": (0,), "addmm": (1, 2),
    "baddbmm": (1, 2), "addcmul": (1, 2), "addcdiv": (1, 2), "mse_loss": (0, 1), "sort": (), "topk": (), "kthvalue": (),
    "mode": (), "fmod": (), "remainder": (), "tan": (), "erfinv": (), "exp2": (), "expm1": (), "native_dropout": (),
}  # fmt: skip
# Operations whose formula reads values of results.
_RESULTS = frozenset(
    """
relu exp sqrt rsqrt reciprocal tanh sigmoid _softmax _log_softmax native_layer_norm native_batch_norm native_group_norm
native_dropout nll_loss_forward nll_loss2d_forward max_pool2d_with_indices linalg_vector_norm max min amax amin pow
_scaled_dot_product_flash_attention_for_cpu logsumexp std dist hypot tan erfinv exp2 expm1 median nanmedian sort topk
kthvalue mode
""".split()
)


class _Hole:
    """The place of a tensor among the arguments that a node keeps."""

    def __init__(self, at: int) -> None:
        self.at = at


def _filled(value: Any, tensors: Any) -> Any:
    if isinstance(value, _Hole):
        return tensors[value.at]
    return [_filled(v, tensors) for v in value] if isinstance(value, list) else value


class Node(FunctionCtx):
    """The node of an operation of a class with a ``__torch_dispatch__``."""

    _name = _overload = ""

    def _backward(self, grads: Any) -> Any:
        with _functions(2):
            return self._formula(grads)

    def _formula(self, grads: Any) -> Any:
        from .gradients import Call, NoFormula, _fit, rule_of

        rule = rule_of(self._name)
        if rule is None:
            raise NotImplementedError(f"aten.{self._name}: no gradient for classes with a __torch_dispatch__")
        saved = _C.function_saved(self)
        n = len(self._shells)
        tensors = [t if t is not None else s for t, s in zip(saved, self._shells)]
        results = list(saved[n:])
        out = [s if t is None else t for t, s in zip(results, self._out)]
        made = Call(list(self._needs), out)
        made.overload = self._overload
        made.grads = tuple(grads) + (None,) * (len(out) - len(grads))
        first = next((i for i, g in enumerate(made.grads) if g is not None), None)
        if first is None:
            return (None,) * n
        made.grad = made.grads[0]
        if made.grad is None and self._name not in ("unbind", "split", "split_with_sizes"):
            made.grad = self._zeros(out[0], made.grads[first])
        args = [_filled(a, tensors) for a in self._args]
        found = rule(made, *args, **{k: _filled(v, tensors) for k, v in self._kwargs.items()})
        if found is None:
            raise NoFormula(f"aten.{self._name}: no gradient of these arguments for classes with a __torch_dispatch__")
        ends: list[Any] = [None] * n
        for place, g in zip(self._args, found):
            for hole, one in [(place, g)] if isinstance(place, _Hole) else zip(place, g) if isinstance(g, list) else ():
                if one is not None and isinstance(hole, _Hole) and self._wanted[hole.at]:
                    ends[hole.at] = self._as(_fit(one, tensors[hole.at]), tensors[hole.at])
        if any(w and g is None for w, g in zip(self._wanted, ends)):
            raise NoFormula(f"aten.{self._name}: no gradient of these arguments for classes with a __torch_dispatch__")
        return tuple(ends)

    @staticmethod
    def _as(grad: Any, x: Any) -> Any:
        from . import call

        if grad.dtype is x.dtype or not x.dtype.is_floating_point:
            return grad
        return call("_to_copy", grad, dtype=x.dtype)

    @staticmethod
    def _zeros(result: Any, like: Any) -> Any:
        from . import call

        return call("new_zeros", like, list(result.shape), dtype=result.dtype)


class _Slices(Node):
    """The node of a write to a view: for the tensor that it is a view of."""

    _steps: Any  # (not the view itself: it holds what holds this node)

    def _formula(self, grads: Any) -> Any:
        from . import call

        g = grads[0]
        if g is None:
            return (None,) * len(self._shells)
        first, *rest = super()._formula((_part(g, self._steps),))
        if first is not None:
            whole = call("clone", g)
            call("copy_", _part(whole, self._steps), first)
            first = whole
        return first, *rest


class _Region(FunctionCtx):
    """The node of a view of a tensor that was written to since."""

    _steps: Any
    _shape: Any

    def _backward(self, grads: Any) -> Any:
        from . import call

        if grads[0] is None:
            return (None,)
        with _functions(2):
            whole = call("new_zeros", grads[0], list(self._shape))
            call("copy_", _part(whole, self._steps), grads[0])
        return (whole,)


class _View:
    """What a result is a view of, and how."""

    def __init__(self, root: Any, steps: Any, recorded: bool, one_of_many: bool) -> None:
        self.root, self.steps, self.recorded, self.one_of_many = root, steps, recorded, one_of_many
        self.seen = _writes(root)

    def check_write(self, name: str) -> None:
        if self.root.requires_grad and self.root.is_leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if self.one_of_many:
            raise RuntimeError(
                f"{name}: this view is the output of a function that returns multiple views. Such functions do not "
                "allow the output views to be modified inplace. You should replace the inplace operation by an "
                "out-of-place one."
            )
        if not self.recorded:
            raise RuntimeError(
                "A view was created in no_grad mode and is being modified inplace with grad mode enabled. This is "
                "forbidden: move both the view and the write into the no_grad block, or both out of it."
            )


def _part(x: Any, steps: Any) -> Any:
    """The same view of another tensor."""
    from . import dispatch

    for op, args, kwargs, index in steps:
        x = dispatch(op, (x, *args), kwargs)
        x = x if index is None else x[index]
    return x


def _mark_view(r: Any, op: Any, args: Any, kwargs: Any, made: Any) -> None:
    source = args[0]
    if not is_dispatched(source) or r is source:
        return
    many = isinstance(made, (tuple, list))
    step = (op, tuple(args[1:]), kwargs, next(i for i, x in enumerate(made) if x is r) if many else None)
    before = source.__dict__.get(_VIEW)
    if before is None:
        r.__dict__[_VIEW] = _View(source, (step,), is_grad_enabled(), many)
    else:
        recorded = before.recorded and is_grad_enabled()
        r.__dict__[_VIEW] = _View(before.root, (*before.steps, step), recorded, many or before.one_of_many)
    _C._share_version(r, source)


def _writes(x: Any) -> int:
    return x.__dict__.get(_WRITES, 0)


def _refresh(x: Any) -> None:
    """Gives a view the history that its root got by writes since."""
    view = x.__dict__.get(_VIEW)
    if view is None or not view.recorded or view.seen == _writes(view.root) or not is_grad_enabled():
        return
    view.seen = _writes(view.root)
    if not view.root.requires_grad:
        return
    ctx = _region_class(view.steps[-1][0].overloadpacket.__name__)()
    ctx._steps, ctx._shape = view.steps, tuple(view.root.shape)
    with _functions(2):
        holder = _C.function_start(ctx, type(ctx).__name__, (view.root,))
        _C.function_output(ctx, x, 0, 1)
        _C.function_save(ctx, (), ())
    ctx._to_save = None
    del holder


@functools.lru_cache(None)
def _region_class(name: str) -> type[_Region]:
    return type(f"{_words(name)}Backward0", (_Region,), {"__module__": __name__})


def _words(name: str) -> str:
    return "".join(w.capitalize() for w in name.strip("_").split("_"))


@functools.lru_cache(None)
def _node_class(name: str, of_view: bool = False) -> type[Node]:
    if of_view:
        return type("CopySlices", (_Slices,), {"_name": name, "__module__": __name__})
    return type(f"{_words(name)}Backward0", (Node,), {"_name": name, "__module__": __name__})


def _recorded(op: Any, name: str, writes: bool, args: Any, kwargs: Any, found: Any, tensors: list[Any]) -> Any:
    from . import dispatch

    args = list(args)
    first = args[0] if args and isinstance(args[0], _Tensor) else None
    plain = name.removesuffix("_") if writes else name
    if writes and first is not None:
        if first.requires_grad and first.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    view = first.__dict__.get(_VIEW) if writes and first is not None else None
    root = first if view is None else view.root
    if view is not None:
        view.check_write(name)
    # the arguments, with holes where the tensors are
    kept: list[Any] = []
    needs: list[bool] = []

    def hole(value: Any) -> Any:
        if isinstance(value, _Tensor):
            kept.append(value)
            return _Hole(len(kept) - 1)
        return [hole(v) for v in value] if isinstance(value, (list, tuple)) else value

    places = [hole(a) for a in args]
    named = {k: hole(v) for k, v in kwargs.items()}
    wanted = [bool(t.requires_grad) for t in kept]
    for a in args:
        needs.append(any(t.requires_grad for t in _flat([a]) if isinstance(t, _Tensor)))
    reads = [_is_read(plain, places, needs, i) for i in range(len(kept))]
    with _functions(2):
        shells = [shell(t, w and _can_want(t)) for t, w in zip(kept, wanted)]
        ctx = _node_class(name, view is not None)()
        if view is not None:
            ctx._steps, wanted[0] = view.steps, bool(root.requires_grad)
            needs[0] = wanted[0]
        holder = _C.function_start(ctx, type(ctx).__name__, tuple(kept) if view is None else (root, *kept[1:]))
        saved = list(kept)
        if writes and first is not None and reads[0]:  # what it was, with its history
            saved[0] = dispatch(ops.aten.clone.default, (first,), {}) if is_dispatched(first) else first.clone()
    made = ask(op, args, kwargs, found)
    if writes:
        made = first
        _written(first)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    out: list[Any] = []
    for i, r in enumerate(results):
        if not isinstance(r, _Tensor):
            continue
        if not writes and any(r is t for t in tensors):
            results[i] = r = another(r) if is_dispatched(r) else r.detach()
    ctx._overload = op._overload
    ctx._args, ctx._kwargs, ctx._needs, ctx._wanted, ctx._shells = places, named, needs, wanted, shells
    with _functions(2):
        ctx._out = [shell(r) if isinstance(r, _Tensor) else r for r in results]
        at = [-1] * len(kept)
        for i, r in enumerate(results):
            differentiable = isinstance(r, _Tensor) and _can_want(r)
            if differentiable and view is None:
                _C.function_output(ctx, r, i, 1 if writes else 0)
            out.append(r if plain in _RESULTS and isinstance(r, _Tensor) else None)
            at.append(i if differentiable and view is None else -1)
        _C.function_save(ctx, (*(t if read else None for t, read in zip(saved, reads)), *out), tuple(at))
        if view is not None:
            _C.function_output(ctx, root, 0, 1)
        if writes and is_dispatched(root):
            root.__dict__[_WRITES] = _writes(root) + 1
            _refresh(first)
    ctx._to_save = None
    del holder
    if not isinstance(made, (tuple, list)):
        return results[0]
    return _same_kind(made, results)


def _written(x: Any) -> None:
    if is_wrapper(x):
        _base(_C.functions["_bump_version"], x)


def _can_want(t: Any) -> bool:
    return bool(t.dtype.is_floating_point or t.dtype.is_complex)


def _is_read(name: str, places: list[Any], needs: list[bool], at: int) -> bool:
    """Does a formula read the values of this tensor among the arguments?"""
    if name in _SHAPES_ONLY:
        return False
    if name in _READS:
        place = next(
            (i for i, p in enumerate(places) if any(isinstance(h, _Hole) and h.at == at for h in _flat([p]))), -1
        )
        return place in _READS[name]
    if name == "mul":  # each operand is read for the gradient of the other
        other = next((i for i, p in enumerate(places) if isinstance(p, _Hole) and p.at != at), None)
        return other is not None and needs[other]
    return True


def _same_kind(made: Any, results: list[Any]) -> Any:
    return type(made)._make(results) if hasattr(made, "_make") else type(made)(results)


_VIEW = "_strided_view"  # the attribute of a view: a _View
_WRITES = "_strided_writes"  # the attribute of a tensor that was written to with a gradient: how often
_VIEWS = frozenset(
    """
view t transpose permute expand squeeze unsqueeze select slice alias split split_with_sizes unbind as_strided diagonal
unfold narrow
""".split()
)
