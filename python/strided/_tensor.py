"""Methods of Tensor that are written in Python: conversions, other libraries, copying, printing."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING

from . import _C
from ._calls.overrides import overridable_method, shown_as
from ._objects import printing
from ._objects import storage as _storage
from ._objects.layouts import contiguous_format, preserve_format
from ._objects.states import slots_of, state_of

if TYPE_CHECKING:
    from numpy import ndarray

    from ._typing import Any, Callable, Device, DType, Tensor, UntypedStorage

_f = _C.functions
_CPU = _C.device("cpu")


# The compiled functions that take the place of methods in their usual calls, and what stands behind the arguments.
_USUAL = {"to": (_f["_to"], None), "cpu": (_f["_to"], _CPU)}


# ---------------------------------------------------------------- dtype and device


def _converted(self, dtype, device, copy, non_blocking, memory_format):
    """What to() and its short forms come down to; the last step brings the axes into the order of memory_format."""
    made = _f["_convert"](self, dtype, device, copy, non_blocking)
    if memory_format is None or memory_format is preserve_format:
        return made
    # Strides of axes of one element tell the formats apart: a copy gets those of the format, and the tensor itself is
    # given only where its strides look like the format.
    if made is self:
        odd = _f["_has_channels_last"](self) is (memory_format is contiguous_format)
    else:
        odd = made.stride() != _strides_in(memory_format, made.shape)
    made = made.clone(memory_format=memory_format) if odd else made.contiguous(memory_format)
    return _C._shown_as("ToCopyBackward0", made, self)


def _strides_in(memory_format, shape):
    return _f["empty"](shape, device="meta", memory_format=memory_format).stride()


def to(
    self,
    *args: Any,
    dtype: DType | None = None,
    device: Device | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    other: Tensor | None = None,
) -> Tensor:
    """The tensor with another dtype and/or on another device; itself when nothing changes and copy is False.

    Called as ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other_tensor)``, or with keywords.

    >>> strided.ones(2).to(strided.int16)
    tensor([1, 1], dtype=torch.int16)
    """
    if len(args) == 1 and type(args[0]) is _C.Tensor and dtype is device is other is None and copy is False:
        return _converted(self, args[0].dtype, args[0].device, False, bool(non_blocking), memory_format)
    named, args = (dtype, device, other), list(args)
    if args and isinstance(args[0], _C.Tensor):
        other = args.pop(0)
    elif args and _C.is_dtype(args[0]):
        dtype = args.pop(0)
    else:
        if args and (args[0] is None or _C.is_device(args[0])):
            device = args.pop(0)
        if args and (args[0] is None or _C.is_dtype(args[0])):
            dtype = args.pop(0)
    if args and isinstance(args[0], bool):
        non_blocking = args.pop(0)
    if args and isinstance(args[0], bool):
        copy = args.pop(0)
    if args:
        raise TypeError(f"to(): cannot make a dtype, device or tensor of {type(args[0]).__name__}")
    for name, before, now in zip(("dtype", "device", "other"), named, (dtype, device, other)):
        if before is not None and now is not before:
            raise TypeError(f"to() got multiple values for argument '{name}'")
    if not isinstance(copy, bool):
        raise TypeError(f"to(): argument 'copy' must be bool, not {type(copy).__name__}")
    if other is not None:
        if not isinstance(other, _C.Tensor):
            raise TypeError(f"to(): argument 'other' must be Tensor, not {type(other).__name__}")
        dtype, device = other.dtype, other.device
    if dtype is not None and not _C.is_dtype(dtype):
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return _converted(self, dtype, device, copy, bool(non_blocking), memory_format)


def type_(self, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without dtype the type's name, as ``'torch.FloatTensor'`` or ``'torch.cuda.FloatTensor'``; else the tensor cast
    to it (a dtype, or such a name, which says where too)."""
    if dtype is None:
        return f"torch.{'' if self.is_cpu else self.device.type + '.'}{self.dtype._cpp_name}Tensor"
    if isinstance(dtype, str):
        module, _, name = dtype.rpartition(".")
        for d in _C.dtypes:
            if name == f"{d._cpp_name}Tensor" and module in ("torch", "strided"):
                return _f["_convert"](self, d, _CPU, False)
            if name == f"{d._cpp_name}Tensor" and module in ("torch.cuda", "strided.cuda"):
                return _f["_convert"](
                    self, d, self.device if self.is_cuda else _C.device("cuda"), False, bool(non_blocking)
                )
        raise ValueError(f"invalid type: '{dtype}'")
    if dtype is _C.Tensor:  # torch.Tensor names the default dtype
        dtype = _f["get_default_dtype"]()
    return _f["_convert"](self, getattr(dtype, "dtype", dtype), None, False)


def type_as(self, other: Tensor) -> Tensor:
    """The tensor cast to other's dtype, on other's device."""
    if type(other) is _C.Tensor:
        return _f["_convert"](self, other.dtype, other.device, False)
    return self.to(other)


def _caster(dtype, name):
    def cast(self, memory_format: Any = None) -> Tensor:
        return _converted(self, dtype, None, False, False, memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor as {dtype}; itself if it is."
    return cast


def cpu(self, memory_format: Any = None) -> Tensor:
    """The tensor in the memory of the CPU; itself if it is there."""
    return _converted(self, None, _CPU, False, False, memory_format)


def cuda(self, device: Device | None = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor in the memory of a CUDA device."""
    device = _C.device("cuda") if device is None else _C.device(device)
    return _converted(self, None, device, False, bool(non_blocking), memory_format)


def new_tensor(
    self,
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of data, and self's dtype and device unless given. UserWarning where data is a tensor."""
    _C.warn_of_copy(data, "tensor.new_tensor", 2)
    made = _C.tensor_from_object(data, dtype or self.dtype)
    made = _f["_convert"](made, None, device or self.device, False)
    if pin_memory:
        made = made.pin_memory()
    if requires_grad:
        made.requires_grad = True
    return made


# ---------------------------------------------------------------- memory


def untyped_storage(self) -> UntypedStorage:
    """The bytes the tensor views."""
    return _C.untyped_storage(self)


def storage(self) -> _storage.TypedStorage:
    """The memory the tensor views, as a list of numbers of its dtype."""
    _storage.warn_of_typed(2)
    return _storage.typed(_C.untyped_storage(self), self.dtype)


def record_stream(self, stream: Any) -> None:
    """Keeps the memory, once the tensor is gone, until what is in the stream by then is done.

    To be called when a stream that the tensor was not made on uses it.  RuntimeError if it is not on a CUDA device.
    """
    _f["_cuda_record_stream"](self, stream.cuda_stream)


def is_set_to(self, tensor: Tensor) -> bool:
    """True if both are the same view of the same storage."""
    return _C.is_set_to(self, tensor)


# ---------------------------------------------------------------- NumPy, buffers, DLPack


def numpy(self, *, force: bool = False) -> ndarray[Any, Any]:
    """An ndarray on the same memory: writes show on both sides, strides carry over, read-only stays read-only.

    RuntimeError if the tensor requires grad, TypeError if it is not on the CPU; force=True detaches and copies instead.
    """
    force = bool(force)
    return _C.to_numpy(self.detach() if force else self, force)


def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray[Any, Any]:
    array = _C.to_numpy(self, False)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__: {self.dtype} cannot become {dtype} without a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What a function of NumPy that was given tensors returns: the result as a tensor."""
    return _C.from_numpy(array) if array.shape else _C.tensor_from_object(array, None)


def __dlpack__(
    self,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the memory; versioned when max_version allows.  On a CUDA device `stream` is the consumer's,
    which waits
    for what was queued here: an int, None or 1 for the default stream, -1 for no waiting."""
    if stream is not None and not isinstance(stream, int):
        raise TypeError(f"__dlpack__: stream must be an int or None, not {type(stream).__name__}")
    if self.is_meta:
        raise BufferError("Cannot pack tensors on meta")
    if self.is_cuda:
        from .cuda._interop import dlpack_wait

        dlpack_wait(self, stream)
    elif stream is not None:
        raise BufferError("__dlpack__: a tensor on the CPU has no stream; stream must be None")
    if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
        raise BufferError(
            f"__dlpack__: cannot export to device {tuple(dl_device)}, the tensor is on {self.__dlpack_device__()}"
        )
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    source = self.clone() if copy else self
    return _C.to_dlpack(source, max_version is not None and bool(max_version[0] >= 1), bool(copy))


def __dlpack_device__(self) -> tuple[int, int]:
    return (2, self.device.index) if self.is_cuda else (1, 0)


def _cuda_array_interface(self):
    from .cuda._interop import cuda_array_interface

    return cuda_array_interface(self)


# ---------------------------------------------------------------- copying


def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage."
        )
    if id(self) in memo:
        return memo[id(self)]
    # Tensors that share a storage share its copy too.
    source = _C.untyped_storage(self)
    key = ("strided storage", hash(source))
    if key not in memo:
        memo[key] = _C.storage_as_tensor(source, _C.uint8).clone()
    whole = _C.storage_as_tensor(_C.untyped_storage(memo[key]), self.dtype)
    made = whole.as_strided(self.size(), self.stride(), self.storage_offset())
    made = _as_type(made, type(self), self.requires_grad)
    if self.grad is not None:
        made.grad = self.grad.__deepcopy__(memo)
    memo[id(self)] = made
    if attributes := self.__dict__:
        made.__dict__.update(copy.deepcopy(attributes, memo))
    if type(self) is not _C.Tensor:
        for name, value in slots_of(self).items():
            setattr(made, name, copy.deepcopy(value, memo))
    return made


def _as_type(made, kind, requires_grad):
    """A new tensor as an object of `kind`, that wants a gradient if asked."""
    if kind is not _C.Tensor:
        return _C.Tensor._make_subclass(kind, made, requires_grad)
    if requires_grad:
        made.requires_grad = True
    return made


def __copy__(self) -> Tensor:
    made = _as_type(self.detach(), type(self), self.requires_grad)
    if attributes := self.__dict__:
        made.__dict__.update(attributes)
    if type(self) is not _C.Tensor:
        for name, value in slots_of(self).items():
            setattr(made, name, value)
    return made


def _rebuild(data, dtype, size, stride, requires_grad, device="cpu"):
    made = _C.from_buffer(data, dtype, -1, 0) if 0 not in size else _f["empty"]((0,), dtype=dtype, device=_CPU)
    made = _f["_convert"](made.as_strided(size, stride, 0).clone(), None, _C.device(device), False)
    return _as_type(made, _C.Tensor, requires_grad)


def _rebuild_type(kind, attributes, *args):
    from .files._constructors import restore_state

    made = _rebuild(*args)
    made = _as_type(made, kind, made.requires_grad)
    restore_state(made, attributes)
    return made


def _rebuild_meta(size, stride, dtype, requires_grad):
    return _f["empty_strided"](size, stride, dtype=dtype, device=_C.device("meta"), requires_grad=requires_grad)


def _rebuild_from_type_v2(func, new_type, args, state):
    """For pickles of PyTorch: the tensor that `func` makes, as an object of a class, with its attributes."""
    from .files._constructors import restore_state

    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    restore_state(made, state)
    return made


def _bytes_of(t, protocol):
    """All elements of a tensor without gaps. From protocol 5 on the pickler reads them where they are."""
    whole = t.as_strided((t.numel(),), (1,), 0).view(_C.uint8)
    return pickle.PickleBuffer(whole) if protocol >= 5 else bytes(memoryview(whole))


def __reduce_ex__(self, protocol):
    if self.is_meta:
        described = tuple(self.size()), tuple(self.stride()), self.dtype, self.requires_grad
        if type(self) is _C.Tensor and not self.__dict__:
            return _rebuild_meta, described
        return _rebuild_from_type_v2, (_rebuild_meta, type(self), described, state_of(self))
    # A result of an operation comes back as a leaf. The copy has no gaps, and keeps the order of dimensions.
    c = self.detach().cpu().clone()  # also because memory that is given out is not resized any more
    args = (
        _bytes_of(c, protocol) if c.numel() else b"",
        self.dtype,
        tuple(self.size()),
        tuple(c.stride()),
        self.requires_grad,
        str(self.device),
    )
    if type(self) is _C.Tensor and not self.__dict__:
        return _rebuild, args
    return _rebuild_type, (type(self), state_of(self), *args)


# ---------------------------------------------------------------- autograd


def requires_grad_(self, requires_grad: bool = True) -> Tensor:
    """Sets requires_grad in place, and returns the tensor."""
    if not (requires_grad is True and self.requires_grad):  # which the attribute refuses for what is no leaf
        self.requires_grad = requires_grad
    return self


# ---------------------------------------------------------------- small things


def __repr__(self, *, tensor_contents: Any = None) -> str:
    if tensor_contents is not None:
        from ._tensor_str import _str_intern

        return _str_intern(self, tensor_contents=tensor_contents)
    return printing.tensor_repr(self)


def __format__(self, spec: str) -> str:
    return printing.tensor_format(self, spec)


def __contains__(self, element: object) -> bool:
    if isinstance(element, (_C.Tensor, int, float, complex)):
        return bool((self == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def __bytes__(self) -> bytes:
    """One byte for each number, as of a list of integers; of a single integer, so many zero bytes."""
    if self.numel() == 1 and not (self.dtype.is_floating_point or self.dtype.is_complex):
        return bytes(self.item())
    return bytes(self.tolist() if self.ndim == 1 else [row.__index__() for row in self])


def __reversed__(self) -> Tensor:
    return self if self.ndim == 0 else self.flip(0)


def get_device(input: Tensor) -> int:
    """Index of the device; -1 where there are not several."""
    return -1 if input.device.index is None else input.device.index


def sum_to_size(self, *size: Any) -> Tensor:
    """The sum over the dimensions that broadcasting `size` to self's shape would repeat: size is the result's shape.

    >>> strided.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    lead = self.ndim - len(size)
    if lead < 0 or any(n not in (1, self.shape[lead + i]) for i, n in enumerate(size)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    if not size:
        return self.sum()
    dims = [d for d in range(self.ndim) if d < lead or (size[d - lead] == 1 and self.shape[d] != 1)]
    if not dims:
        return self
    summed = self.sum(dims, keepdim=True)
    return summed.reshape(size) if lead else summed


def _mapped(function, self, *others):
    """self with each element replaced by function of it and of others', broadcast: for a few elements, by a Python
    loop."""
    if not self.is_cpu:
        raise TypeError(
            f"{function}: only tensors on the CPU can be mapped by a Python function, got device {self.device}"
        )
    if any(t.requires_grad for t in (self, *others)):
        raise RuntimeError(f"the Python function {function} has no derivative, but a tensor requires grad: detach() it")
    lists = [t.expand_as(self).flatten().tolist() for t in (self.detach(), *others)]
    made = [function(*row) for row in zip(*lists)]
    for value in made:
        if not (isinstance(value, complex) or hasattr(value, "__float__")):
            raise TypeError(f"{function}: must give real numbers, not {type(value).__name__}")
    return self.copy_(_C.tensor_from_object(made, self.dtype).reshape(self.shape))


def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces each element by callable(element), a Python function: slow, and on the CPU only."""
    return _mapped(callable, self)


def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element by callable(element, that of tensor), which broadcasts; on the CPU only."""
    return _mapped(callable, self, tensor)


def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replaces each element by callable(element, that of x, that of y), which broadcast; on the CPU only."""
    return _mapped(callable, self, x, y)


def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:  # noqa: N807  (the standard's name)
    """The namespace of the Array API standard: :mod:`strided.array_api`.  ValueError for a version it does not have.

    >>> strided.ones(2).__array_namespace__().__name__
    'strided.array_api'
    """
    from . import array_api

    return array_api._of_version(api_version)


def to_device(self, device: Device, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device (Array API); itself if it is there.  ValueError for a stream: copies wait."""
    if stream is not None:
        raise ValueError("to_device(): copies wait for what was queued before them; stream must be None")
    return _f["_convert"](self, None, _C.device(device), False)


@shown_as("ConjBackward0")
def conj(self) -> Tensor:
    """Complex conjugate (a copy); the tensor itself if it is real."""
    return _f["conj_physical"](self) if self.dtype.is_complex else self


def _dir(self: Tensor) -> list[str]:
    """What the tensor has: the memory for other CUDA libraries on such a device only."""
    return sorted(n for n in object.__dir__(self) if n != "__cuda_array_interface__" or self.device.type == "cuda")


def install(Tensor) -> None:
    """Puts the methods of this file onto the Tensor type: its public functions, and those of operators."""
    own = {
        name: value
        for name, value in globals().items()
        if getattr(value, "__module__", None) == __name__
        and callable(value)
        and (name.startswith("__") or not name.startswith("_"))
        and value not in (install, type_)
    }
    for name, value in own.items():
        usual, last = _USUAL.get(name, (None, None))
        setattr(Tensor, name, overridable_method(value, usual, last))
    Tensor.type = overridable_method(type_)
    for dtype in _C.dtypes:
        if name := dtype._traits["method"]:
            setattr(Tensor, name, overridable_method(_caster(dtype, name), _f["_to"], dtype))
    Tensor.__cuda_array_interface__ = property(_cuda_array_interface, doc="The memory for other CUDA libraries.")
    Tensor.__dir__ = _dir
    Tensor.names = property(lambda self: (None,) * self.ndim)
    for name in "ipu maia mkldnn mps mtia nested quantized sparse sparse_csr vulkan xpu".split():
        setattr(
            Tensor, f"is_{name}", property(lambda self: False, doc=f"False: there are no {name} tensors of this type.")
        )
    Tensor.__repr__ = overridable_method(__repr__)
    Tensor.__format__ = overridable_method(__format__)
    Tensor.__array_priority__ = (
        1000  # NumPy's operators leave the work to ours: array + tensor is tensor.__radd__(array)
    )
    Tensor.__div__, Tensor.__rdiv__, Tensor.__idiv__ = Tensor.__truediv__, Tensor.__rtruediv__, Tensor.__itruediv__
    Tensor.__module__ = "strided"
