"""Loaders that move batches to a device, by the names of ``torch_xla.distributed.parallel_loader``.

>>> import strided_xla.distributed.parallel_loader as pl
>>> len(pl.MpDeviceLoader([1, 2, 3], "xla"))
3
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import strided as _strided

import strided_xla as _xla

__all__ = ["MpDeviceLoader", "ParallelLoader"]


def _moved(value: Any, device: _strided.device) -> Any:
    if isinstance(value, _strided.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)((k, _moved(v, device)) for k, v in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(v, device) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(v, device) for v in value)
    return value


class MpDeviceLoader:
    """The batches of a loader, their tensors on a device; the step ends after each of them.

    Args:
        loader: gives batches: tensors, and lists, tuples and dictionaries of them.
        device: where they go.
        batches_per_execution: how many batches make one step.
        kwargs: how many threads load, and what else tunes ``torch_xla``: accepted, and without effect.
    """

    def __init__(
        self, loader: Iterable[Any], device: str | _strided.device, batches_per_execution: int = 1, **kwargs: Any
    ) -> None:
        if batches_per_execution < 1:
            raise ValueError(f"MpDeviceLoader: batches_per_execution must be positive, got {batches_per_execution}")
        self._loader, self._device, self._each = loader, _strided.device(device), batches_per_execution

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        waiting = 0
        try:
            for batch in self._loader:
                if waiting == self._each:
                    _xla.sync()
                    waiting = 0
                waiting += 1
                yield _moved(batch, self._device)
        finally:
            _xla.sync()


class ParallelLoader:
    """Batches of a loader on devices.

    Args:
        loader: gives batches: tensors, and lists, tuples and dictionaries of them.
        devices: one device.
        batches_per_execution: how many batches make one step.
        kwargs: accepted, and without effect.

    Raises:
        NotImplementedError: there are several devices.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        devices: Iterable[str | _strided.device],
        batches_per_execution: int = 1,
        **kwargs: Any,
    ) -> None:
        self._devices = [_strided.device(d) for d in devices]
        if len(self._devices) != 1:
            raise NotImplementedError(f"strided_xla: ParallelLoader for {len(self._devices)} devices: give one")
        self._loader, self._each = loader, batches_per_execution

    def per_device_loader(self, device: str | _strided.device) -> MpDeviceLoader:
        """The loader of one of the devices; ValueError for another one."""
        if _strided.device(device) not in self._devices:
            raise ValueError(f"ParallelLoader: {device} is not among {[str(d) for d in self._devices]}")
        return MpDeviceLoader(self._loader, device, self._each)

    def close(self) -> None:
        """Nothing is left to stop."""
