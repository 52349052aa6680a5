"""Sharing device memory with other libraries: ``__cuda_array_interface__`` (version 3) and DLPack's stream rules.

Work that another library queued on its stream may still write to the memory it hands over, and ours to what we hand
over; the protocols name a stream, and whoever takes the memory waits for the other side with an event.
"""

from __future__ import annotations

from .. import _C
from ._streams import Event, Stream, current_stream, device


def _typestr(dtype) -> str:
    if not dtype._traits["buffer_format"]:
        raise AttributeError(f"__cuda_array_interface__ has no type for {dtype}; use DLPack")
    kind = (
        "b"
        if dtype == _C.bool
        else "c"
        if dtype.is_complex
        else "f"
        if dtype.is_floating_point
        else "i"
        if dtype.is_signed
        else "u"
    )
    return ("|" if dtype.itemsize == 1 else "<") + kind + str(dtype.itemsize)


_DTYPES = {_typestr(d): d for d in _C.dtypes if d._traits["buffer_format"]}


def cuda_array_interface(t) -> dict:
    """The tensor for another library.  AttributeError on the CPU, so that hasattr tells."""
    if not t.is_cuda:
        raise AttributeError("Can't get __cuda_array_interface__ on non-CUDA tensor type: " + t.type())
    if t.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Tensor that requires grad. Use tensor.detach() first."
        )
    size = t.element_size()
    return {
        "typestr": _typestr(t.dtype),
        "shape": tuple(t.shape),
        "strides": None if t.is_contiguous() else tuple(s * size for s in t.stride()),
        "data": (t.data_ptr() if t.numel() else 0, t.is_read_only),
        "version": 3,
        # 1 names the default stream.
        "stream": current_stream(t.device.index).cuda_stream or 1,
    }


def from_cuda_array_interface(obj):
    """A tensor on the memory of an object that has the interface; it keeps the object."""
    info = obj.__cuda_array_interface__
    if not isinstance(info, dict):
        raise TypeError("`__cuda_array_interface__` must be a dict")
    for name in ("typestr", "shape", "data"):
        if name not in info:
            raise TypeError(f"attribute `{name}` must exist")
    typestr, shape = info["typestr"], tuple(info["shape"])
    if typestr.replace("=", "<") not in _DTYPES:
        raise TypeError(f"__cuda_array_interface__: no dtype for {typestr!r}")
    if info.get("mask") is not None:
        raise BufferError("__cuda_array_interface__: masked arrays are not supported")
    dtype = _DTYPES[typestr.replace("=", "<")]
    pointer, read_only = info["data"]
    strides = info.get("strides")
    if strides is not None:
        if any(s % dtype.itemsize for s in strides):
            raise ValueError(
                f"__cuda_array_interface__: strides {strides} are no multiples of the item size {dtype.itemsize}"
            )
        strides = tuple(s // dtype.itemsize for s in strides)
    made = _C.functions["_cuda_borrow"](obj, pointer, shape, strides, dtype, bool(read_only))
    stream = info.get("stream")
    if stream is not None:
        _wait_for(made.device.index, stream)
    return made


def _handle(stream: int) -> int:
    if stream == 0:
        raise BufferError("stream 0 is ambiguous: 1 is the legacy default stream, 2 the per-thread one")
    if stream == 2:
        raise BufferError("the per-thread default stream is not supported; use 1, or a stream of your own")
    return 0 if stream == 1 else stream


def _wait_for(index: int, stream: int) -> None:
    """Our current stream goes on when the other side's is done so far."""
    ours, theirs = current_stream(index), Stream(index, stream_ptr=_handle(stream))
    if ours != theirs:
        with device(index):
            event = Event()
            event.record(theirs)
            event.wait(ours)


def dlpack_wait(t, stream) -> None:
    """DLPack's rule for the producer: the consumer's stream waits for ours.  None is the default stream, -1 asks for
    nothing."""
    if stream == -1:
        return
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be int or none")
    theirs = Stream(t.device.index, stream_ptr=_handle(1 if stream is None else stream))
    ours = current_stream(t.device.index)
    if ours != theirs:
        with device(t.device.index):
            event = Event()
            event.record(ours)
            event.wait(theirs)
