"""Copies between several devices (``strided.cuda.comm``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from .._typing import Any, Device, Sequence, Tensor

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _device(device: Any) -> Any:
    """A number is one of a CUDA device; -1 is the CPU."""
    if isinstance(device, int):
        return strided.device("cpu") if device == -1 else strided.device("cuda", device)
    return strided.device(device)


def _one_of(out: Any, devices: Any, name: str) -> None:
    if (out is None) == (devices is None):
        raise RuntimeError(f"{name}: exactly one of 'devices' and 'out' must be given")


def broadcast(tensor: Tensor, devices: Sequence[Device] | None = None, *, out: Sequence[Tensor] | None = None) -> Any:
    """The tensor on each of the devices, the first time itself where it is there; or copied into each of ``out``.

    >>> strided.cuda.comm.broadcast(strided.ones(1), ["cpu", "cpu"])
    (tensor([1.]), tensor([1.]))
    """
    _one_of(out, devices, "broadcast")
    if out is not None:
        for t in out:
            t.copy_(tensor)
        return tuple(out)
    return tuple(tensor.to(_device(d)) for d in devices or ())


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[Device], buffer_size: int = 10485760) -> Any:
    """A tuple for each device, with all tensors."""
    return tuple(tuple(t.to(_device(d)) for t in tensors) for d in devices)


def reduce_add(inputs: Sequence[Tensor], destination: Device | None = None) -> Tensor:
    """The sum of tensors of one shape, on a device: the current CUDA device where it is None.

    >>> strided.cuda.comm.reduce_add([strided.ones(2), strided.ones(2)], "cpu")
    tensor([2., 2.])
    """
    if not inputs:
        raise RuntimeError("reduce_add expects at least one tensor to reduce")
    to = _device(strided.cuda.current_device() if destination is None else destination)
    total = inputs[0].to(to, copy=True)
    for i, t in enumerate(inputs[1:], 1):
        if t.shape != total.shape:
            raise ValueError(f"input {i} has invalid size: got {list(t.shape)}, but expected {list(total.shape)}")
        total += t.to(to)
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Device | None = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """:func:`reduce_add` of the first tensors of all lists, of the second ones, and so on."""
    return tuple(reduce_add(column, destination) for column in zip(*inputs, strict=True))


def scatter(
    tensor: Tensor,
    devices: Sequence[Device] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """Parts along ``dim`` for the devices: as ``chunk`` cuts them, or of ``chunk_sizes``; or copied into ``out``.

    >>> strided.cuda.comm.scatter(strided.arange(3), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2]))
    """
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError("'devices' and 'chunk_sizes' must not be specified when 'out' is specified")
        for t, part in zip(out, tensor.split([t.shape[dim] for t in out], dim)):
            t.copy_(part)
        return tuple(out)
    if devices is None:
        devices = range(strided.cuda.device_count())
    parts = tensor.split(list(chunk_sizes), dim) if chunk_sizes is not None else tensor.chunk(len(devices), dim)
    return tuple(part.to(_device(d)) for part, d in zip(parts, devices))


def gather(
    tensors: Sequence[Tensor], dim: int = 0, destination: Device | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The tensors joined along ``dim``, on a device (None: the current CUDA device; "cpu"), or copied into ``out``.

    >>> strided.cuda.comm.gather([strided.ones(1), strided.zeros(1)], destination="cpu")
    tensor([1., 0.])
    """
    if out is not None:
        if destination is not None:
            raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got {destination}")
        at = 0
        for t in tensors:
            out.narrow(dim, at, t.shape[dim]).copy_(t)
            at += t.shape[dim]
        return out
    to = _device(strided.cuda.current_device() if destination is None else destination)
    return strided.cat([t.to(to) for t in tensors], dim)
