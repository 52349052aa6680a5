"""Tensors that a module owns: parameters and buffers (``strided.nn.parameter``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _C
from .._objects import printing as _printing
from ..autograd._leaf import leaf_of

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]  # fmt: skip

_empty = _C.functions["empty"]
_make_subclass = _C.Tensor._make_subclass


class _ParameterMeta(type):
    def __instancecheck__(cls, obj: Any) -> bool:
        if type.__instancecheck__(cls, obj):
            return True
        return cls is Parameter and isinstance(obj, _C.Tensor) and getattr(obj, "_is_param", False)


class Parameter(_C.Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the module it is assigned to.

    Args:
        data: the values, on whose memory the parameter is (not a copy); an empty tensor if None.  Data of a
            user's own class, derived from Tensor, make a parameter of that class: an instance of Parameter too.
        requires_grad: whether gradients are collected.

    >>> strided.nn.Parameter(strided.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    # Results of functions of parameters are plain tensors.
    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        data = _empty((0,)) if data is None else data
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, got {type(data).__name__}")
        if type(data) is not _C.Tensor and cls is Parameter:
            if _is_of_users(type(data)) or hasattr(data, "_parts") or hasattr(data, "placements"):
                return _of_class(data, requires_grad)  # (parts: a sparse tensor; placements: a sharded one)
            if hasattr(data, "_levels"):  # one sample of a batch, under vmap
                made = leaf_of(data, requires_grad)
                made._is_param = True
                return made
        return _make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + _printing.tensor_repr(self)

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.detach(), self.requires_grad), self.__dict__ or None


def _is_of_users(kind: type) -> bool:
    """Whether tensors of this class stay of it as parameters; the package's own classes decide for themselves."""
    # In PyTorch's place classes of the package say that they are torch's.
    own = (__name__.partition(".")[0], "torch")
    return kind is not _C.Tensor and not issubclass(kind, Parameter) and kind.__module__.partition(".")[0] not in own


def _of_class(data: Any, requires_grad: bool) -> Any:
    """A parameter of the class of data, which detach() must keep."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(made).__name__} was found instead."
        )
    made._is_param = True
    return made


class _BufferMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor) and getattr(obj, "_is_buffer", False)


class Buffer(metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to.

    Args:
        data: the values, whose memory is shared; an empty tensor if None.
        persistent: whether the state dict of the module has it.

    >>> m = strided.nn.Module()
    >>> m.total = strided.nn.Buffer(strided.zeros(1))
    >>> dict(m.state_dict())
    {'total': tensor([0.])}
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        made = (_empty((0,)) if data is None else data).detach()
        made.requires_grad = getattr(data, "requires_grad", False)
        made._is_buffer, made.persistent = True, persistent
        return made


# ---------------------------------------------------------------- without a shape yet

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
    "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters "
    "before accessing their attributes."
)
_ALLOWED = frozenset(
    "__hash__ size copy_ is_complex is_floating_point half float double char short int long cuda cpu to get_device "
    "_has_compatible_shallow_copy_type".split()
)


class UninitializedTensorMixin:
    """A tensor of a dtype, on a device, that gets its shape later; until then only casts and moves are allowed."""

    cls_to_become: type
    data: Any
    dtype: Any
    device: Any
    requires_grad: bool

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives the tensor a shape, and memory of any content; it is of the usual class from then on.

        Args:
            shape: the sizes.
            device, dtype: by default those that it was made with.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        self.data = _empty(sizes, device=device or self.data.device, dtype=dtype or self.data.dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        raise RuntimeError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in _ALLOWED or type(func).__name__ == "method-wrapper":
            return _C._disabled_torch_function_impl(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `torch.nn.parameter.{}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch functions".format(
                cls.__name__
            )
        )


def is_lazy(param: Any) -> bool:
    """Whether it is a parameter or buffer without a shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter that gets its shape later, by ``materialize``.

    Args:
        requires_grad: whether gradients are collected.
        device, dtype: of the values.

    >>> w = strided.nn.UninitializedParameter()
    >>> w.materialize((2, 3))
    >>> type(w), w.shape
    (<class 'strided.nn.parameter.Parameter'>, torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Parameter.__new__(cls, _empty((0,), device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, _C.Tensor):  # type: ignore[misc]
    """A buffer that gets its shape later, by ``materialize``.

    Args:
        requires_grad: whether gradients are collected.
        device, dtype: of the values.
        persistent: whether the state dict of the module has it.
    """

    cls_to_become = _C.Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        made = _C.Tensor.__new__(cls)
        made.data = _empty((0,), device=device, dtype=dtype)
        made.requires_grad = requires_grad
        made._is_buffer, made.persistent = True, persistent
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = super().__torch_function__(func, types, args, kwargs)
        if isinstance(made, _C.Tensor) and func.__name__ in _ALLOWED and not isinstance(made, cls):
            return cls(made.requires_grad, made.device, made.dtype)  # of a cast: it has no shape either
        return made
