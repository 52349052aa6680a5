"""The array of the namespace, and which results are arrays of it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from .. import _C
from .._C import Tensor

if TYPE_CHECKING:
    from .._typing import Any, Device

_f = _C.functions
NUMBERS = (bool, int, float, complex)


class Count(int):
    """The number of elements.  Called, it is PyTorch's method: the shape, or the size of one dimension."""

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or its entry `dim`."""
        return self._of.shape if dim is None else Tensor.size(self._of, dim)


class Array(Tensor):
    """A tensor whose operators follow the Array API standard where PyTorch's do not.

    Differences from :class:`strided.Tensor`, of which it is a subclass:

    - a 0-d operand takes part in promotion as every other one: int8 of shape (3,) plus int64 of shape () is int64;
    - ``//`` and ``%`` of infinities and zeros: ``inf // 2`` is inf, ``-0.0 % 2`` is 0.0;
    - ``size`` is the number of elements, which can be called as PyTorch's method;
    - ``@`` promotes.

    Functions and operators give an Array if an operand is one, so no program gets one unless it asked the namespace
    for it; ``as_tensor(x)`` makes a plain tensor of it, on the same memory.

    >>> x = strided.array_api.asarray([1, 2, 3], dtype=strided.int8)
    >>> (x + strided.array_api.asarray(1)).dtype, int(x.size)
    (torch.int64, 3)
    """

    __torch_function__ = _C._disabled_torch_function_impl  # what is an Array is decided here, by `array`

    @property
    def size(self) -> Count:
        """The number of elements; called, PyTorch's ``size()``."""
        count = Count(self.numel())
        count._of = self
        return count

    @property
    def T(self) -> Array:  # noqa: N802  (the standard's name)
        """The transpose of a matrix.  ValueError for another number of dimensions."""
        if self.ndim != 2:
            raise ValueError(f"T: needs two dimensions, got {self.ndim}; mT transposes stacks of matrices")
        return array(_f["transpose"](self, 0, 1))

    @property
    def mT(self) -> Array:  # noqa: N802  (the standard's name)
        """The matrices of the last two dimensions, transposed.  ValueError for fewer than two dimensions."""
        if self.ndim < 2:
            raise ValueError(f"mT: needs two dimensions or more, got {self.ndim}")
        return array(_f["transpose"](self, -2, -1))

    def __getitem__(self, key: Any, /) -> Array:
        if isinstance(key, Tensor) and key.dtype == _C.bool and key.ndim <= self.ndim and key.numel() == 0:
            # A mask may be empty along any dimension: it selects nothing (PyTorch: an IndexError).
            if all(a in (0, b) for a, b in zip(key.shape, self.shape)):
                return array(self.new_empty((0, *self.shape[key.ndim :])))
        return array(Tensor.__getitem__(self, key))

    def __pos__(self, /) -> Array:
        return array(_f["clone"](self))

    def to_device(self, device: Device, /, *, stream: Any = None) -> Array:
        """The array on another device; itself if it is there.  ValueError for a stream: copies wait by themselves."""
        return array(Tensor.to_device(self, device, stream=stream))

    def __copy__(self) -> Array:
        return array(Tensor.__copy__(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return array(Tensor.__deepcopy__(self, memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return array, (self.as_tensor(),)

    def as_tensor(self) -> Tensor:
        """A plain tensor on the same memory, with PyTorch's rules."""
        return Tensor.view_as(self, self)


def array(x: Any) -> Any:
    """A result that nobody else holds, as an Array.  What is no tensor, or is one of a class of its own, stays."""
    if type(x) is Tensor:
        x.__class__ = Array  # the same object: its history and its memory stay as they are
        return x
    if isinstance(x, tuple):
        return tuple.__new__(type(x), map(array, x))  # named ones too
    return x


def _holds_array(args: Any) -> bool:
    return any(isinstance(a, Array) or isinstance(a, (list, tuple)) and _holds_array(a) for a in args)


def _apart(made: Any, args: Any) -> Any:
    """`made`, or a view of it where it is itself an argument, whose class must not change."""
    if isinstance(made, tuple):
        return tuple.__new__(type(made), [_apart(part, args) for part in made])
    given = (b for a in args for b in (a if isinstance(a, (list, tuple)) else (a,)))
    return made.view_as(made) if type(made) is Tensor and any(made is b for b in given) else made


def standard(function: Any) -> Any:
    """Decorator: the result is an Array if an operand is one, else a plain tensor."""

    @functools.wraps(function)
    def call(*args, **options):
        made = function(*args, **options)
        everything = (*args, *options.values())
        return array(_apart(made, everything)) if _holds_array(everything) else made

    return call


def creates(function: Any) -> Any:
    """Decorator: the result is new, and an Array."""

    @functools.wraps(function)
    def call(*args, **options):
        return array(function(*args, **options))

    return call


def promoted(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors in their common dtype, whatever their numbers of dimensions."""
    common = tensors[0].dtype
    for t in tensors[1:]:
        common = _f["promote_types"](common, t.dtype)
    return tuple(t if t.dtype == common else t.to(common) for t in tensors)


def operands(name: str, x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Both operands as tensors of one dtype; a number takes part with its kind only.  TypeError for two numbers."""
    one, two = isinstance(x1, Tensor), isinstance(x2, Tensor)
    if one and two:
        return promoted(x1, x2)
    if not one and not two or not isinstance(x1 if two else x2, NUMBERS):
        kinds = f"{type(x1).__name__} and {type(x2).__name__}"
        raise TypeError(f"{name}(): needs two arrays, or an array and a number, got {kinds}")
    tensor, number = (x1, x2) if one else (x2, x1)
    dtype = _f["result_type"](tensor, number)
    made = _C.tensor_from_object(number, dtype)
    if tensor.device != made.device:
        made = made.to(tensor.device)
    tensor = tensor if tensor.dtype == dtype else tensor.to(dtype)
    return (tensor, made) if one else (made, tensor)


def _install_operators() -> None:
    from . import _elementwise, _linear

    def install(name, function, reflected=True, in_place=False):
        def operator(this, other, swap, plain):
            if isinstance(other, (Tensor, *NUMBERS)):
                return function(other, this) if swap else function(this, other)
            return array(plain(this, other))  # what PyTorch takes beside: NumPy's arrays and numbers

        def add(method, swap):
            plain = getattr(Tensor, method)

            def call(self, other, /):
                return operator(self, other, swap, plain)

            call.__name__, call.__qualname__, call.__doc__ = method, f"Array.{method}", plain.__doc__
            setattr(Array, method, call)

        add(f"__{name}__", False)
        if reflected:
            add(f"__r{name}__", True)
        if in_place:

            def write(self, other, /):
                made = function(self, other)
                if made.dtype != self.dtype:
                    raise TypeError(f"__i{name}__: a result of {made.dtype} does not fit an array of {self.dtype}")
                return self.copy_(made)

            write.__name__, write.__qualname__ = f"__i{name}__", f"Array.__i{name}__"
            setattr(Array, f"__i{name}__", write)

    functions = vars(_elementwise)
    for name, function in _elementwise.OPERATORS.items():
        comparison = name in ("lt", "le", "gt", "ge", "eq", "ne")
        install(name, functions[function], not comparison, name in ("floordiv", "mod"))
    install("matmul", _linear.matmul)
    for name in ("neg", "abs", "invert"):
        plain = getattr(Tensor, f"__{name}__")
        setattr(Array, f"__{name}__", lambda self, /, plain=plain: array(plain(self)))
    Array.__hash__ = Tensor.__hash__  # a class that defines __eq__ has none of its own
