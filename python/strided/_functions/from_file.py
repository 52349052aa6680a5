"""Files of numbers without a format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import _C

if TYPE_CHECKING:
    from .._typing import DType, Tensor

__all__ = ["from_file"]

_f = _C.functions


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one axis on the memory of a mapped file.

    Args:
        filename: a path.
        shared: whether writes go to the file, which is made, or made longer, if it is too short. Otherwise they stay in
            this process.
        size: number of elements.
        dtype: the default dtype if None.
        device: only the CPU.

    Raises:
        RuntimeError: the file has fewer elements, and is not shared.
        OSError: it cannot be opened.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     t = strided.from_file(os.path.join(folder, "x"), shared=True, size=2, dtype=strided.int32)
    >>> t
    tensor([0, 0], dtype=torch.int32)
    """
    dtype = _f["get_default_dtype"]() if dtype is None else dtype
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"from_file(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if isinstance(size, bool) or not (size is None or isinstance(size, int)):
        raise TypeError(f"from_file(): argument 'size' must be int, not {type(size).__name__}")
    if not isinstance(filename, (str, bytes, os.PathLike)):
        raise TypeError(f"from_file(): argument 'filename' must be str, not {type(filename).__name__}")
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"from_file: a file can be mapped for the CPU only, got device {device}")
    count = size or 0
    if count < 0 or count >= 2**59:
        raise RuntimeError(f"from_file: size must be a number of elements, got {count}")
    if shared:
        fd = os.open(filename, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if os.fstat(fd).st_size < count * dtype.itemsize:
                os.ftruncate(fd, count * dtype.itemsize)
        finally:
            os.close(fd)
    from ..files._reading import map_path, piece

    made = piece(map_path(filename, bool(shared)), 0, (count,), dtype)
    if pin_memory:
        made = made.pin_memory()
    if requires_grad:
        made.requires_grad = True
    return made
