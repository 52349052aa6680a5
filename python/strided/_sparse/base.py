"""What the sparse layouts share: a tensor that has indices and values, and no storage of its own.

A layout is a subclass of `SparseTensor` with a table of functions: `registry` makes both ends of it. The base tensor
is on device meta and gives shape and dtype; every function of the table is made of functions of dense tensors, so
gradients reach the values. A function that is not in the table says that it is missing.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING

import strided

from .. import _C
from .._calls.overrides import DisableTorchFunctionSubclass
from .._objects.printing import _contents, _options

if TYPE_CHECKING:
    from .._typing import Any, Size, Tensor

_META = _C.device("meta")
# What a base tensor on device meta answers correctly: shape and dtype.
_METADATA = frozenset((
    "shape", "dtype", "size", "dim", "ndim", "ndimension", "numel", "nelement", "is_floating_point", "is_complex",
    "is_signed", "element_size", "itemsize", "__len__", "__hash__", "__format__", "result_type", "is_same_size",
))  # fmt: skip
# Functions of one element that keep zero.
UNARY = (
    "abs", "neg", "negative", "sqrt", "square", "sin", "sinh", "asin", "asinh", "tan", "tanh", "atan", "atanh",
    "expm1", "log1p", "relu", "sign", "sgn", "signbit", "floor", "ceil", "round", "trunc", "erf", "erfinv",
    "deg2rad", "rad2deg", "nan_to_num", "isnan", "isinf", "isposinf", "isneginf", "conj", "conj_physical", "real",
    "positive", "frac", "fix", "arcsin", "arcsinh", "arctan", "arctanh",
)  # fmt: skip


class SparseTensor(_C.Tensor):
    """A tensor of which only some elements are stored."""

    _functions: dict[str, Any]  # name of a function or method -> what computes it
    _own: Tensor  # the values
    _size: Size

    _values_are_elsewhere = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", str(func))
        if name in ("__get__", "__set__"):
            if func.__self__.__name__ == "grad":  # of a dense tensor, set to a sparse one
                with DisableTorchFunctionSubclass():
                    return func(*args)
            name = func.__self__.__name__
        made = cls._functions.get(name)
        if made is not None and kwargs and kwargs.get("out") is not None:
            kwargs = dict(kwargs)
            return _written(name, kwargs.pop("out"), made(*args, **kwargs))
        if made is not None:
            return made(*args, **(kwargs or {}))
        if name in _METADATA:
            return super().__torch_function__(func, types, args, kwargs or {})
        raise NotImplementedError(cls._missing(name, args))

    @classmethod
    def _missing(cls, name: str, args: Any) -> str:
        return f"{name}: strided has no such function of sparse tensors; to_dense() makes a dense one"

    def _parts(self) -> dict[str, Tensor]:
        """The tensors that it is made of, by the names that ``assert_close`` gives them."""
        raise NotImplementedError

    def _text(self) -> str:
        raise NotImplementedError

    def _saved(self) -> tuple[Any, ...]:
        """What a file holds, beside the layout."""
        raise NotImplementedError

    def __repr__(self, **options: Any) -> str:
        return ("Parameter containing:\n" if getattr(self, "_is_param", False) else "") + self._text()

    __str__ = __repr__

    def _with(self, values: Tensor) -> Any:
        """Other values at the same places."""
        raise NotImplementedError

    def _moved(self, values: Tensor) -> Any:
        """`_with`, and the indices on the device of the values."""
        raise NotImplementedError

    def _merged(self) -> Any:
        """The tensor with each place once."""
        return self

    # What every function asks, without a call of __torch_function__.
    shape = property(lambda self: self._size)
    ndim = property(lambda self: len(self._size))
    dtype = property(lambda self: self._own.dtype)

    def dim(self) -> int:
        return len(self._size)

    _base, _version, output_nr = None, 0, 0  # of no view; `_own` counts what is written into it
    is_meta = False
    device = property(lambda self: self._own.device)
    is_cuda = property(lambda self: self._own.is_cuda)
    is_cpu = property(lambda self: self._own.is_cpu)
    requires_grad = property(lambda self: self._own.requires_grad, lambda self, value: self.requires_grad_(value))
    is_leaf = property(lambda self: self._own.is_leaf)
    grad_fn = property(lambda self: self._own.grad_fn)
    T = mT = property(lambda self: self._functions["transpose"](self, -2, -1) if self.ndim > 1 else self)
    nbytes = property(lambda self: self.numel() * self.element_size())

    @property
    def data(self) -> Any:
        """The tensor without its history; written, this one has the parts of another of its layout."""
        return self._with(self._own.detach())

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, SparseTensor) or value.layout != self.layout:
            raise RuntimeError(f"data of a tensor of layout {self.layout} must have this layout, got {value.layout}")
        own, before = value._own.detach(), self._own
        if before.requires_grad:
            own.requires_grad_()
            if before.grad is not None and before.grad.shape == own.shape and before.grad.dtype is own.dtype:
                own.grad = before.grad
        take(self, value, own)

    @property
    def grad(self) -> Any:
        """The gradient of the values, at their places, and what was assigned with places of its own."""
        made, apart = self._own.grad, vars(self).get("_grad_apart")
        if made is None or apart is None:
            return apart if made is None else self._with(made)
        return self._with(made) + apart

    @grad.setter
    def grad(self, value: Any) -> None:
        vars(self).pop("_grad_apart", None)
        if not isinstance(value, SparseTensor):
            self._own.grad = value
            return
        if value.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
        if value.dtype == self.dtype and value.layout == self.layout and self._lies_like(value):
            self._own.grad = value._own
        else:
            self._own.grad, vars(self)["_grad_apart"] = None, value

    def _lies_like(self, other: Any) -> bool:
        """Whether the elements of both stand at the same places, in the same order."""
        mine, its = ([t for t in some._parts().values() if t is not some._own] for some in (self, other))
        return self._own.shape == other._own.shape and all(map(strided.equal, mine, its))

    def __copy__(self) -> Any:
        return self._with(self._own)

    def __deepcopy__(self, memo: Any) -> Any:
        memo[id(self)] = made = self._with(self._own)
        vars(made).update(copy.deepcopy(vars(self), memo))
        return made


def base(kind: Any, size: Any, dtype: Any) -> Any:
    """A tensor of a class, with shape and dtype; the caller sets its parts."""
    made = _C.Tensor._make_subclass(kind, _shell(size, dtype))
    made._size = _C.Size(size)
    return made


def _shell(size: Any, dtype: Any) -> Tensor:
    return strided.empty((), dtype=dtype, device=_META).expand(tuple(size))


_set_data = _C.Tensor.data.__set__


def take(s: SparseTensor, made: SparseTensor, own: Tensor) -> SparseTensor:
    """Gives a tensor the shape and the parts of another one of its layout, and values."""
    with DisableTorchFunctionSubclass():
        _set_data(s, _shell(made.shape, own.dtype))
    vars(s).update({name: part for name, part in vars(made).items() if name != "_is_param"}, _own=own)
    return s


def text(s: SparseTensor, parts: list[str], apart: bool) -> str:
    """The text of a tensor; what stands behind the values begins a line if `apart`, and where a line is full."""
    made = "tensor(" + ",\n       ".join(parts)
    room = -1 if apart else _options.linewidth - (len(made) - made.rfind("\n") + 1)
    for suffix in suffixes(s):
        room -= len(suffix) + 2
        made += (", " if room >= 0 else ",\n       ") + suffix
        if room < 0:
            room = _options.linewidth - 7 - len(suffix)
    return made + ")"


def as_part(t: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """What a constructor is given, as a tensor. (One that need not change is taken as it is: under vmap, for one.)"""
    kept = isinstance(t, _C.Tensor) and dtype in (None, t.dtype) and device in (None, t.device)
    return t if kept else strided.as_tensor(t, dtype=dtype, device=device)


def part(name: str, t: Tensor) -> str:
    """The text of indices or values."""
    if t.numel() == 0:
        return f"{name}=tensor([], size={tuple(t.shape)})"
    return f"{name}=tensor({_contents(t.detach(), len(name) + 15)})"


def replaced(own: Tensor, made: Tensor) -> Tensor:
    """The values that a tensor with values `own` has after a write: those of a leaf stay a leaf."""
    if not (own.requires_grad and own.is_leaf):
        return made
    if strided.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    return made.detach().requires_grad_()


def suffixes(s: SparseTensor) -> list[str]:
    """What the text of a tensor says after the values."""
    default = strided.get_default_dtype()
    numbers = strided.complex128 if default is strided.float64 else strided.complex64
    plain = (default, numbers, strided.int64, strided.bool)
    said = [] if s.device.type == "cpu" else [f"device='{s.device}'"]
    said += [f"size={tuple(s.shape)}", f"nnz={s._nnz()}"]
    said += [] if s.dtype in plain else [f"dtype={s.dtype}"]
    said.append(f"layout={s.layout}")
    if s.grad_fn is not None:
        said.append(f"grad_fn=<{type(s.grad_fn).__name__}>")
    elif s.requires_grad:
        said.append("requires_grad=True")
    return said


_OPERATORS = frozenset(f"__{i}{name}__" for name in ("add", "sub", "mul", "truediv", "matmul") for i in ("", "i"))


def put(kind: Any, name: str, made: Any) -> None:
    """Puts a function into the table of a class and onto the class, under a name."""
    kind._functions[name] = made = _in_users_terms(made)
    setattr(kind, name, _operator(made) if name in _OPERATORS else made)


def _in_users_terms(made: Any) -> Any:
    """The function; where an argument lacks an attribute, the error names the argument."""
    if hasattr(made, "__wrapped__"):
        return made

    @functools.wraps(made)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return made(*args, **options)
        except AttributeError as error:
            refusal = _refusal(made.__name__, error, args, options)
            if refusal is None:
                raise
            raise refusal from None

    return call


def _refusal(name: str, error: AttributeError, args: Any, options: Any) -> Exception | None:
    """What to raise in place of an AttributeError of an argument, or of an element of one."""
    given = error.obj
    if error.name is None or isinstance(given, SparseTensor):
        return None
    for which, value in [*enumerate(args), *options.items()]:
        place = f"argument {which + 1}" if isinstance(which, int) else f"argument '{which}'"
        if value is given and isinstance(given, _C.Tensor):
            return RuntimeError(f"{name}: {place} must be a sparse tensor, got a dense one")
        if value is given:
            return TypeError(f"{name}(): {place} must be Tensor, not {type(given).__name__}")
        if isinstance(value, (list, tuple)) and any(x is given for x in value):
            return TypeError(f"{name}(): {place} must be tuple of Tensors, but holds {type(given).__name__}")
    return None


def _operator(made: Any) -> Any:
    """A function of two operands that leaves foreign ones to their own class: a tracer's, for one."""

    def operator(a: Any, b: Any) -> Any:
        foreign = hasattr(type(b), "__torch_function__") and not isinstance(b, _C.Tensor)
        return NotImplemented if foreign else made(a, b)

    operator.__name__ = made.__name__
    return operator


def registry(kind: Any) -> Any:
    """Makes the table of a class. The result puts a function into it, and onto the class as a method of each name."""
    kind._functions = {}

    def function(made: Any, *names: str) -> Any:
        for name in (made.__name__, *names):
            put(kind, name, made)
        return made

    for made in (backward, detach, detach_, requires_grad_, is_inference, _is_view, to, cpu, cuda, type_as,
                 get_device, is_pinned, register_hook, retain_grad):  # fmt: skip
        function(made)
    for name in ("indices", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices"):
        kind._functions[f"{name}_copy"] = _copy_of(name)
    kind._functions["grad"] = grad  # of autograd; the attribute is another
    for name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat",
                 "cdouble"):  # fmt: skip
        function(_cast(name))
    for name in UNARY:
        function(of_values(name))
    function(kind._functions["abs"], "absolute", "__abs__")
    function(kind._functions["neg"], "__neg__")
    return function


def _copy_of(name):
    return lambda s: getattr(s, name)().clone()


def _written(name, out, made):
    """The result of a function with ``out=``."""
    if not isinstance(made, _C.Tensor):
        raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
    if not isinstance(out, _C.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if isinstance(made, SparseTensor):
        if type(out) is not type(made):
            raise RuntimeError("Tensor should be sparse")
        if not strided.can_cast(made.dtype, out.dtype):
            names = [x._own.type().split(".")[-1].removesuffix("Tensor") for x in (made, out)]
            raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")
        return take(out, made, made._own.to(out.dtype))
    if isinstance(out, SparseTensor):
        raise RuntimeError(f"{name}: the result is dense, and out is sparse")
    if out.shape != made.shape:
        out.resize_(made.shape)
    return out.copy_(made)


def _values_of(tensors):
    """The values of sparse tensors, and other objects as they are."""
    if isinstance(tensors, (list, tuple)):
        return [_values_of(t) for t in tensors]
    return tensors._own if isinstance(tensors, SparseTensor) else tensors


def grad(outputs, inputs, grad_outputs=None, *more, **options):
    """``autograd.grad``: gradients of sparse inputs are sparse."""
    from ..autograd import grad as of_dense

    given = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    wanted = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(given)
    own = [_at_places(s, g) for s, g in zip(given, wanted)]
    made = of_dense(_values_of(given), _values_of(inputs), own, *more, **options)
    return tuple(_as_input(s, g) for s, g in zip(inputs if isinstance(inputs, (list, tuple)) else [inputs], made))


def _as_input(s, g):
    return s._with(g) if isinstance(s, SparseTensor) and g is not None else g


def backward(tensors, gradient=None, retain_graph=None, create_graph=False, inputs=None, **options):
    """``Tensor.backward`` and ``autograd.backward``: of the values; of gradients the elements at their places count."""
    from ..autograd import backward as of_dense

    gradient = options.pop("grad_tensors", gradient)
    given = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    wanted = list(gradient) if isinstance(gradient, (list, tuple)) else [gradient] * len(given)
    own = [_at_places(s, g) for s, g in zip(given, wanted)]
    for s, g in zip(given, wanted):
        if g is None and s.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
    of_dense(_values_of(given), own, retain_graph, create_graph, inputs=_values_of(inputs), **options)


def _at_places(s, gradient):
    """The elements of a gradient at the places of a tensor, all of them if it is dense."""
    if gradient is None or not isinstance(s, SparseTensor):
        return gradient.to_dense() if isinstance(gradient, SparseTensor) else gradient
    if gradient.shape != s.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and output[0] has a shape of {s.shape}."
        )
    return (gradient.to_dense() if isinstance(gradient, SparseTensor) else gradient).sparse_mask(s)._own


def register_hook(s, hook):
    def of_values(g):
        made = hook(g if g is None else s._with(g))
        return made if made is None else made._merged()._own

    return s._own.register_hook(of_values)


def retain_grad(s):
    s._own.retain_grad()


def get_device(s):
    return s._own.get_device()


def is_pinned(s, device=None):
    return s._own.is_pinned()


def detach(s):
    return s._with(s._own.detach())


def detach_(s):
    s._own = s._own.detach()  # which is a view, maybe
    return s


def requires_grad_(s, requires_grad=True):
    s._own.requires_grad_(requires_grad)
    return s


def is_inference(s):
    return s._own.is_inference()


def _is_view(s):
    return False


def to(s, *args, **options):
    args = tuple(a._own if isinstance(a, SparseTensor) else a for a in args)
    own = s._own.to(*args, **options)
    return s if own is s._own else s._moved(own)


def cpu(s):
    return to(s, "cpu")


def cuda(s, device=None, **options):
    return to(s, "cuda" if device is None else device)


def type_as(s, other):
    return to(s, other.dtype)


def _cast(name):
    def made(s):
        return s._with(getattr(s._own, name)())

    made.__name__ = name
    return made


def of_values(name):
    """The function of a name, applied to the values."""

    def made(s, *args, **options):
        s = s._merged()
        return s._with(getattr(strided, name)(s._own, *args, **options))

    made.__name__ = name
    return made
