"""Methods of Tensor about its memory, and names that older programs use."""

from __future__ import annotations

import os
import warnings
import weakref
from typing import TYPE_CHECKING

from .. import _C
from .._calls.overrides import DisableTorchFunctionSubclass, overridable_method
from . import storage as _storage

if TYPE_CHECKING:
    from .._typing import Any, DType, Tensor

_f = _C.functions


def set_(self, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Makes self a view of other memory, and returns it: of a tensor's or a storage's, or of none (an empty tensor).

    Args:
        source: a tensor of self's dtype and device, or a storage.
        storage_offset: where the first element stands; only with a storage, as the next two.
        size: the shape; one axis of all elements if None.
        stride: contiguous if None.

    Raises:
        RuntimeError: another dtype or device, a recorded call on a tensor that gradients flow through, or such a view.

    >>> x = torch.zeros(2)
    >>> x.set_(torch.arange(6.).untyped_storage(), 1, (2, 2), (2, 1))
    tensor([[1., 2.],
            [3., 4.]])
    """
    with DisableTorchFunctionSubclass():  # types are not asked, as in PyTorch
        _set(self, source, storage_offset, size, stride)
    return self


def _set(self, source, storage_offset, size, stride):
    if self.requires_grad and (self._base is not None or _f["is_grad_enabled"]()):
        raise RuntimeError("set_: a tensor that wants a gradient cannot be given other memory; use detach() or no_grad")
    if source is None:
        made = _f["empty"]((0,), dtype=self.dtype, device=self.device)
    elif isinstance(source, _C.Tensor):
        made = source.detach()
        if size is not None:
            whole = _C.storage_as_tensor(_C.untyped_storage(made), made.dtype)
            made = _view_of(self, whole, size, stride, storage_offset)
    else:
        source = _storage.memory_for(source, self.dtype)
        if not isinstance(source, _C.UntypedStorage):
            raise TypeError(f"set_(): argument 'source' must be a Tensor or a storage, not {type(source).__name__}")
        made = _C.storage_as_tensor(source, self.dtype)
        size = (made.numel() - storage_offset,) if size is None else size
        made = _view_of(self, made, size, stride, storage_offset)
    if made.dtype != self.dtype:
        raise RuntimeError(f"Could not set tensor of type {made.dtype} to a tensor of type {self.dtype}")
    if made.device != self.device:
        raise RuntimeError(f"set_: the tensor is on device {self.device}, the source on {made.device}")
    _f["_set_memory"](self, made)


def _strides(size):
    strides, step = [], 1
    for n in reversed(tuple(size)):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def _view_of(self, whole, size, stride, offset):
    """A view of a storage, which grows where it does not reach, unless self had this size and these strides before."""
    size = tuple(size)
    grows = size != tuple(self.shape) or stride is not None and tuple(stride) != self.stride()
    given, stride = stride, tuple(_strides(size) if stride is None else stride)
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {stride} and {size}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    reach = 0 if 0 in size else offset + 1 + sum((n - 1) * s for n, s in zip(size, stride))
    if reach > whole.numel() and not grows:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(given or ())}, storage offset {offset}, and itemsize "
            f"{whole.itemsize} requiring a storage size of {reach * whole.itemsize} are out of bounds for storage of "
            f"size {whole.numel() * whole.itemsize}"
        )
    if reach > whole.numel():
        storage = _C.untyped_storage(whole)
        storage.resize_(reach * whole.itemsize)
        whole = _C.storage_as_tensor(storage, whole.dtype)
    return whole.as_strided(size, stride, offset)


def resize(self, *sizes: Any) -> Tensor:
    """A view of another shape with as many elements; RuntimeError for more or fewer. Deprecated in PyTorch."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return _resized(self, *sizes)


def _resized(self, *sizes: Any) -> Tensor:
    size = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    n = 1
    for s in size:
        n *= s
    if n != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, size))} ({n} elements in total), but the given tensor has a size "
            f"of {'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can only change the "
            "shape of a given tensor, while preserving the number of elements. "
        )
    return self.reshape(size)


def resize_as(self, tensor: Tensor) -> Tensor:
    """resize() to another tensor's shape."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
    return _resized(self, tuple(tensor.shape))


# ---------------------------------------------------------------- memory that processes share

_shared: dict[int, int] = {}  # address of shared memory -> its file descriptor


def _open_shared(fd: int, nbytes: int) -> Tensor:
    """The bytes of a shared file; the descriptor is closed with them."""
    import mmap

    block = mmap.mmap(fd, nbytes)
    whole = _C.from_buffer(block, _C.uint8, -1, 0)
    _shared[whole.data_ptr()] = fd
    weakref.finalize(block, _close_shared, whole.data_ptr())
    return whole


def _close_shared(address: int) -> None:
    os.close(_shared.pop(address))


def _reduce(t: Tensor) -> Any:
    """How a tensor goes to another process: the descriptor of shared memory, a copy of other memory."""
    from multiprocessing.reduction import DupFd

    storage = t.untyped_storage()
    fd = _shared.get(storage.data_ptr())
    if fd is None or (t.requires_grad and not t.is_leaf):
        return t.__reduce_ex__(2)
    place = tuple(t.size()), tuple(t.stride()), t.storage_offset()
    return _attach, (DupFd(fd), storage.nbytes(), t.dtype, *place, t.requires_grad)


def _attach(fd: Any, nbytes: int, dtype: DType, size: Any, stride: Any, offset: int, requires_grad: bool) -> Tensor:
    whole = _open_shared(fd.detach(), nbytes)
    made = _C.storage_as_tensor(_C.untyped_storage(whole), dtype).as_strided(size, stride, offset)
    return made.requires_grad_(requires_grad)


def new_shared(nbytes: int) -> Any:
    """A storage that other processes see; the standard library's ``multiprocessing`` sends tensors on it to them."""
    from multiprocessing.reduction import ForkingPickler

    ForkingPickler.register(_C.Tensor, _reduce)
    if nbytes == 0:  # no file is mapped then
        return _C.UntypedStorage(0)
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("strided")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, nbytes)
    return _C.untyped_storage(_open_shared(fd, nbytes))


def share_memory_(self) -> Tensor:
    """Moves the memory to where other processes see what either writes; returns self.

    Those are processes that are forked afterwards, and those that get the tensor through the standard library's
    ``multiprocessing``: as an argument, in a queue or a pipe. All tensors on one storage have to be shared one by one.
    RuntimeError for a tensor that is not on the CPU, unless it is on a device, where nothing changes.

    >>> torch.ones(2).share_memory_().is_shared()
    True
    """
    if not self.is_cpu or is_shared(self) or self.numel() == 0:
        return self
    storage = new_shared(self.untyped_storage().nbytes())
    whole = _C.storage_as_tensor(storage, _C.uint8)
    whole.copy_(_C.storage_as_tensor(self.untyped_storage(), _C.uint8))
    moved = _C.storage_as_tensor(storage, self.dtype)
    self.data = moved.as_strided(self.size(), self.stride(), self.storage_offset())
    return self


def is_shared(self) -> bool:
    """Whether other processes can see the memory: after share_memory_(); on a CUDA device always."""
    return bool(self.untyped_storage().is_shared())


# ---------------------------------------------------------------- questions


def dim_order(self, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the longest steps in memory to the one with the shortest.

    Args:
        ambiguity_check: True: RuntimeError where several orders fit, because of sizes or strides that are equal; a
            list of memory formats: only where they do not give one order.

    >>> torch.ones(2, 3, 4).permute(2, 0, 1).dim_order()
    (1, 2, 0)
    """
    there = [d for d in range(self.ndim) if self.stride(d) != 0]
    ordered = iter(sorted(there, key=lambda d: -self.stride(d)))
    order = tuple(next(ordered) if self.stride(d) else d for d in range(self.ndim))  # repeated axes keep their places
    if not isinstance(ambiguity_check, (bool, list)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is True:
        unique = len({self.stride(d) for d in there}) == self.ndim and 1 not in self.shape
    elif ambiguity_check:
        unique = sum(self.is_contiguous(memory_format=f) for f in ambiguity_check) == 1
    if ambiguity_check and not unique:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return order


def storage_type(self) -> Any:
    """The class of :meth:`storage`."""
    return type(self.storage())


def const_data_ptr(self) -> int:
    """data_ptr(): the address of the first element."""
    return self.data_ptr()


def new(self, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of self's dtype and device: of the given sizes, or with the numbers of a sequence. Use new_empty() or
    new_tensor()."""
    from .._functions.creation import _legacy

    return _legacy(self.dtype, args, kwargs, self.device)


def module_load(self, other: Tensor, assign: bool = False) -> Tensor:
    """What a module's ``load_state_dict`` puts in self's place: self with other's values, or other (assign)."""
    return other.detach() if assign else self.copy_(other).detach()


def reinforce(self, reward: Any, *args: Any, **kwargs: Any) -> None:
    """Removed from PyTorch in 0.4: RuntimeError."""
    raise RuntimeError("reinforce() was removed; make the loss of torch.distributions' log_prob(action) * reward")


def install(Tensor) -> None:
    """Puts the methods of this file onto the Tensor type."""
    Tensor.set_, Tensor.new, Tensor.reinforce = set_, new, reinforce
    for method in (resize, resize_as, share_memory_, is_shared, dim_order, storage_type, const_data_ptr):
        setattr(Tensor, method.__name__, overridable_method(method))
    Tensor.module_load = overridable_method(module_load)
    Tensor.name = property(lambda self: None, doc="None: tensors have no names.")
    Tensor.volatile = property(lambda self: False, doc="False: removed from PyTorch in 0.4.")
    Tensor.is_xla = property(lambda self: self.device.type == "xla", doc="True for a tensor on an XLA device.")
    Tensor.is_meta = property(lambda self: self.device.type == "meta", doc="True for a tensor without data.")


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether ``input.data = from_`` can be: both are dense, or both are sparse in the same way."""
    asked = [t for t in (input, from_) if not hasattr(t, "_parts")]  # (parts: a sparse tensor)
    if _C._has_torch_function(asked):
        return _C._handle_torch_function(_has_compatible_shallow_copy_type, asked, (input, from_), {})
    return input.layout == from_.layout and input.is_meta == from_.is_meta
