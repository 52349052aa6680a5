"""PyTorch's helpers of this name, as far as libraries call them: tensors in one, and numbers of devices."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

import strided

from .files._constructors import _sparse as sparse_of_parts
from .files._constructors import restore_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._typing import Any, Device, Tensor


def _rebuild_tensor(storage: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """The tensor with this layout of a typed storage."""
    made = strided.empty(0, dtype=storage.dtype, device=storage.device)
    return made.set_(storage.untyped(), storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """The same, with requires_grad; the hooks belong to the other process and are left. What PyTorch notes in
    `metadata` (the values are to be conjugated, or negated) is done."""
    return _noted(_rebuild_tensor(storage, storage_offset, size, stride), metadata).requires_grad_(requires_grad)


def _noted(made: Tensor, metadata: Any) -> Tensor:
    for name in ("conj", "neg"):
        if metadata and metadata.get(name):
            made = getattr(made, name)()
    return made


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """The same on a storage of bytes, for dtypes without a typed storage in PyTorch (``uint16``)."""
    made = strided.empty(0, dtype=dtype, device=storage.device)
    made = made.set_(storage.untyped(), storage_offset, size, stride)
    return _noted(made, metadata).requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """The parameter with this data."""
    return strided.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    """The parameter with this data and these attributes."""
    made = strided.nn.Parameter(data, requires_grad)
    restore_state(made, state)
    return made


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """The sparse tensor with these indices, values and size; indices that are not within the size are an error."""
    return sparse_of_parts(layout, data)


def _rebuild_meta_tensor_no_storage(
    dtype: Any, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> Tensor:
    """A tensor without data, on device ``meta``."""
    return strided.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _element_size(dtype: Any) -> int:
    """The bytes of an element."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of tensors of one dtype, one after the other, in a new tensor of one axis.

    >>> strided._utils._flatten_dense_tensors([strided.ones(2, 1), strided.zeros(1)])
    tensor([1., 1., 0.])
    """
    return strided.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of what ``_flatten_dense_tensors`` made, in the shapes of `tensors`."""
    sizes = [t.numel() for t in tensors]
    return tuple(part.view(t.shape) for part, t in zip(flat[: sum(sizes)].split(sizes), tensors))


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """The tensors in groups of one dtype and about `size_limit` bytes, each group when it is full; the rest last."""
    groups: dict[Any, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        held, size = groups.get(tensor.dtype, ([], 0))
        added = tensor.numel() * tensor.element_size()
        if held and size + added > size_limit:
            yield held
            held, size = [], 0
        groups[tensor.dtype] = ([*held, tensor], size + added)
    for held, _ in groups.values():
        if held:
            yield held


def _get_device_index(device: Device | int | None, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; of the current one where it has none and `optional`; -1 for the CPU if that may be."""
    if isinstance(device, int):
        return device
    if device is not None:
        device = strided.device(device)
        if device.type == "cpu":
            if allow_cpu:
                return -1
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a device with a specified index or an integer, but got: {device}")
    return strided.cuda.current_device()


def _get_available_device_type() -> str | None:
    """``'cuda'`` where there is such a device, else None."""
    return "cuda" if strided.cuda.is_available() else None


def _get_device_module(device_type: str) -> Any:
    """The module of a type of device: ``strided.cuda`` of ``'cuda'``. RuntimeError if there is none."""
    module = getattr(strided, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module


class KeyErrorMessage(str):
    """A text whose repr is the text, as KeyError shows the repr of its argument."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception of another thread or process: its class, and its traceback as a text, which can be sent."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        info: Any = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = info[0], where
        self.exc_msg = "".join(traceback.format_exception(*info))

    def reraise(self) -> None:
        """Raises an exception of that class, with that text; RuntimeError if the class is not made from a text."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error
