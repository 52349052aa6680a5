"""Tensors from Python objects, arrays and buffers."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING

from .. import _C
from .._calls.once import warn_once_of
from .._calls.overrides import seen_by_modes
from .._objects import storage

if TYPE_CHECKING:
    from .._typing import Any, Device, DType, Number, Tensor

__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "scalar_tensor", "tensor"]

_f = _C.functions
_CPU = _C.device("cpu")
_default_device = _f["_default_device"]  # None: where the data is


def _check(op, dtype, device):
    if dtype is not None and not _C.is_dtype(dtype):
        raise TypeError(f"{op}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if device is not None and not _C.is_device(device):
        raise TypeError(f"{op}(): argument 'device' must be torch.device, not {type(device).__name__}")


def _asarray(value):
    return sys.modules["numpy"].asarray(value)


_C.set_hook("asarray", _asarray)


def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested sequences of numbers, an array or a tensor.

    Args:
        data: sequences must be regular: ValueError otherwise. Of a tensor, UserWarning: ``clone`` keeps its gradient.
        dtype: inferred from the data if None: bool, int64, the default float, or complex; arrays keep theirs.
        device: where to make it; None is the default device if there is one (``set_default_device``), else that of
            `data` if it is a tensor, else the CPU.
        requires_grad: whether autograd should record operations on it; floating-point and complex dtypes only.
        pin_memory: whether its memory is page-locked, for faster copies to a CUDA device; RuntimeError without one.

    >>> strided.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    _check("tensor", dtype, device)
    _C.warn_of_copy(data, "torch.tensor", 2)
    if hasattr(type(data), "_values_are_elsewhere"):
        made = data.detach().clone() if dtype is None else data.detach().clone().to(dtype)
    elif dtype is not None and isinstance(data, _C.UntypedStorage):
        made = _C.storage_as_tensor(data, dtype).clone()
    else:
        made = _C.tensor_from_object(data, dtype)
    device = _default_device() if device is None else device
    if device is not None:
        made = _f["_convert"](made, None, device, False)
    if pin_memory:
        made = made.pin_memory()
    if requires_grad:
        made.requires_grad = True
    return made


tensor = seen_by_modes(tensor, _f["_tensor"])


@seen_by_modes
def scalar_tensor(
    value: Number,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of the default dtype (or `dtype`) from a number."""
    dtype = dtype or _f["get_default_dtype"]()
    value = value.item() if isinstance(value, _C.Tensor) else value
    return tensor(value, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


@seen_by_modes
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: writes show on both sides. Strides, also negative ones, carry over.

    A read-only array gives a read-only tensor. TypeError for other objects and dtypes, ValueError for foreign byte
    order or strides that are no multiple of the item size.
    """
    return _C.from_numpy(ndarray)


def _shared(data):
    """`data` as a tensor on the same memory, or None if it has no memory to share."""
    if isinstance(data, _C.Tensor):
        return data
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, numpy.ndarray):
        return _C.from_numpy(data)
    if numpy is not None and isinstance(data, numpy.generic):  # its buffer would be read as bytes
        return _C.from_numpy(numpy.array(data))
    if isinstance(data, _C.UntypedStorage):
        return _C.storage_as_tensor(data, _C.uint8)
    if isinstance(data, type):  # has the methods of its objects
        return None
    if hasattr(data, "__dlpack__") or type(data).__name__ == "PyCapsule":
        return from_dlpack(data)
    if hasattr(data, "__cuda_array_interface__"):
        from ..cuda._interop import from_cuda_array_interface

        return from_cuda_array_interface(data)
    return None


@seen_by_modes
def as_tensor(data: Any, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """`data` as a tensor, without a copy where memory, dtype and device allow.

    >>> strided.as_tensor([1, 2])
    tensor([1, 2])
    """
    _check("as_tensor", dtype, device)
    if isinstance(data, _C.UntypedStorage) and dtype is not None:
        data = _C.storage_as_tensor(data, dtype)
    t = _shared(data)
    if t is None:
        return tensor(data, dtype=dtype, device=device)
    return _f["_convert"](t, dtype, _default_device() if device is None else device, False)


@seen_by_modes
def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor (Array API): shares memory unless copy=True or a conversion is needed; with copy=False the
    latter raises ValueError.

    Args:
        requires_grad: that of obj, unless it is given; False detaches.
    """
    _check("asarray", dtype, device)
    if isinstance(obj, _C.UntypedStorage) and dtype is not None:
        obj = _C.storage_as_tensor(obj, dtype)
    numpy = sys.modules.get("numpy")
    if copy is False and numpy is not None and isinstance(obj, numpy.generic):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
    t = _shared(obj)
    if requires_grad is None:
        requires_grad = isinstance(obj, _C.Tensor) and obj.requires_grad
        if requires_grad:
            warn_once_of(
                "asarray",
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                "requires_grad=False explicitly to get the old behavior and silence this warning.",
            )
    if t is None and not isinstance(obj, (int, float, complex, list, tuple)):
        try:
            view = memoryview(obj)
        except TypeError:
            view = None
        if view is not None:
            t = frombuffer(obj, dtype=dtype or _f["get_default_dtype"]())
    if t is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    made = _f["_convert"](t, dtype, _default_device() if device is None else device, bool(copy))
    if copy is False and made is not t:
        if made.device != t.device:
            raise ValueError(f"can't alias tensor from device '{t.device}' to '{made.device}'.")
        names = t.dtype._cpp_name, made.dtype._cpp_name
        raise ValueError(f"can't alias tensor with dtype '{names[0]}' into dtype '{names[1]}'.")
    if not requires_grad:
        return made.detach() if made.requires_grad else made
    if made.requires_grad:
        return made
    if made is t:
        made = t.detach()
    made.requires_grad = True
    return made


def _whole(name, value):
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"frombuffer(): argument '{name}' must be int, not {type(value).__name__}") from None
    if not -(2**63) <= number < 2**63:
        raise RuntimeError(f"frombuffer(): {name} {number} does not fit 64 bits")
    return number


@seen_by_modes
def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor on the memory of an object with the buffer protocol (read-only if that is).

    Args:
        count: elements to take; -1 takes all that is left, which must be a whole number.
        offset: bytes to skip.

    >>> strided.frombuffer(bytearray([1, 0, 2, 0]), dtype=strided.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    try:
        memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    made = _C.from_buffer(buffer, dtype, _whole("count", count), _whole("offset", offset))
    if requires_grad:
        made.requires_grad = True
    return made


@seen_by_modes
def from_dlpack(ext_tensor: Any, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of any object with ``__dlpack__`` (or a capsule); read-only memory stays read-only.

    BufferError if the memory is on a device that this build cannot use.
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        return _C.from_dlpack_capsule(ext_tensor)
    if device is not None and (device if isinstance(device, _C.device) else _C.device(device)) != _CPU:
        raise RuntimeError(f"from_dlpack: strided has no backend for device '{device}'. Use device='cpu'.")
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 0), copy=copy)
    except TypeError:  # an exporter older than DLPack 1.0
        capsule = ext_tensor.__dlpack__()
        made = _C.from_dlpack_capsule(capsule)
        return made.clone() if copy else made
    return _C.from_dlpack_capsule(capsule)


_C.set_hook("from_dlpack", from_dlpack)


# ---------------------------------------------------------------- torch.Tensor(...) and FloatTensor(...)


def _is_size(x):
    """An integer of Python's or NumPy's, or a NumPy array that is one."""
    if isinstance(x, _C.Tensor) or not hasattr(x, "__index__"):
        return False
    try:
        operator.index(x)
    except TypeError:  # another array
        return False
    return True


def _legacy(dtype, args, kwargs, device=_CPU):
    """device: where tensors of the type are; device= may only say which one of its kind."""
    asked = kwargs.pop("device", None)
    if not args and "size" in kwargs:
        args = (_f["empty"](kwargs.pop("size"), device="meta").shape,)
    if kwargs:
        raise TypeError(f"new() got an unexpected keyword argument '{next(iter(kwargs))}'")
    _check("new", None, asked)
    if asked is not None:
        asked = _C.device(asked)
        if asked.type != device.type:
            raise RuntimeError(
                f"legacy constructor expects device type: {device.type} but device type: {asked.type} was passed"
            )
        device = asked
    wanted, dtype = dtype, dtype or _f["get_default_dtype"]()
    if not args:
        made = _f["empty"]((0,), dtype=dtype, device=_CPU)
    elif len(args) == 1 and not _is_size(args[0]):
        if isinstance(args[0], _C.UntypedStorage):
            made = _C.storage_as_tensor(args[0], dtype)
        elif isinstance(args[0], _C.Tensor):
            if wanted is not None and args[0].dtype != wanted:  # torch.Tensor itself takes any
                raise TypeError(f"expected {wanted} (got {args[0].dtype})")
            made = args[0].as_subclass(_C.Tensor)
        elif isinstance(args[0], tuple) and type(args[0]).__name__ == "Size":
            made = _f["empty"](args[0], dtype=dtype, device=_CPU)
        elif hasattr(args[0], "untyped"):
            made = _C.storage_as_tensor(storage.memory_for(args[0], dtype), dtype)
        elif isinstance(args[0], dict) or not (hasattr(args[0], "__len__") and hasattr(args[0], "__getitem__")):
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        else:
            made = _C.tensor_from_object(args[0], dtype)
    else:
        made = _f["empty"](args, dtype=dtype, device=_CPU)
    return _f["_convert"](made, None, device, False)


_C.set_hook("legacy_constructor", lambda *args, **kwargs: _legacy(None, args, kwargs))


class _TypedMeta(type):
    def __instancecheck__(cls, obj):
        return (
            isinstance(obj, _C.Tensor) and obj.dtype == cls.dtype and obj.device.type == cls.kind and not obj.is_sparse
        )

    def __call__(cls, *args, **kwargs):
        return _legacy(cls.dtype, args, kwargs, _C.device(cls.kind))

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def typed(kind: str) -> dict[str, Any]:
    """The legacy types of tensors on a kind of device, by their names: FloatTensor and the others."""
    made = {}
    for dtype in _C.dtypes:
        name = f"{dtype._cpp_name}Tensor"
        members = {"dtype": dtype, "kind": kind, "is_cuda": kind == "cuda", "is_sparse": False,
                   "__module__": "torch" if kind == "cpu" else f"torch.{kind}",
                   "__doc__": f"{name}(sizes or list): legacy constructor of {dtype} tensors."}  # fmt: skip
        made[name] = _TypedMeta(name, (), members)
    return made


globals().update(typed("cpu"))
__all__ += [name for name in globals() if name.endswith("Tensor") and isinstance(globals()[name], _TypedMeta)]
_tensor_classes = {globals()[name] for name in __all__ if isinstance(globals()[name], _TypedMeta)}  # PyTorch's name
