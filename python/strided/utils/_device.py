"""``with device:`` under PyTorch's names for it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import strided

from ..overrides import TorchFunctionMode
from ._contextlib import context_decorator

if TYPE_CHECKING:
    from .._typing import Any, Callable, Device

__all__ = ["DeviceContext", "device_decorator", "set_device"]

# What takes the default device; private functions are asked too, so the names stand here.
_NAMES = (
    "empty empty_permuted empty_strided ones arange bartlett_window blackman_window eye fft.fftfreq fft.rfftfreq full "
    "hamming_window hann_window kaiser_window linspace logspace nested.nested_tensor rand randn randint randperm range "
    "sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor "
    "sparse_bsc_tensor tril_indices triu_indices zeros asarray tensor as_tensor scalar_tensor"
)


@functools.lru_cache(1)
def _device_constructors() -> set[Any]:
    """The functions whose tensors go to the device of ``with device:``."""
    return {functools.reduce(getattr, name.split("."), strided) for name in _NAMES.split()}


class DeviceContext(TorchFunctionMode):
    """``with DeviceContext(device):`` is ``with device:``, as an object with a ``device``.

    >>> with strided.utils._device.DeviceContext("meta"):
    ...     strided.ones(2).device
    device(type='meta')
    """

    def __init__(self, device: Device) -> None:
        self.device = strided.device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.device.__exit__(*exception)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func`` within ``with device:``; the device may be a function that gives a context."""
    return context_decorator(device if callable(device) else lambda: device, func)


def set_device(device: Device) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function's tensors are made on the device.

    >>> @strided.utils._device.set_device("meta")
    ... def made():
    ...     return strided.ones(2)
    >>> made().device
    device(type='meta')
    """
    return lambda func: device_decorator(strided.device(device), func)
