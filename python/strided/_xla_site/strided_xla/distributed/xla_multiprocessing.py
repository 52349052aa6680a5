"""Starting a program, by the names of ``torch_xla.distributed.xla_multiprocessing``.

>>> import strided_xla.distributed.xla_multiprocessing as xmp
>>> xmp.spawn(print, args=("and its arguments",), nprocs=1)
0 and its arguments
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["MpModelWrapper", "MpSerialExecutor", "spawn"]


def spawn(
    fn: Callable[..., object],
    args: Sequence[Any] = (),
    nprocs: int | None = None,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> None:
    """``fn(0, *args)`` in this process, which has all the devices.

    Args:
        fn: the program; its first argument is the number of the process.
        args: its further arguments.
        nprocs: None or 1.
        join, daemon, start_method: accepted, and without effect: no process is started.

    Raises:
        NotImplementedError: `nprocs` is greater, or `join` is False.
    """
    if nprocs not in (None, 1):
        raise NotImplementedError(
            f"strided_xla: spawn with nprocs={nprocs}: one process has all devices, give None or 1"
        )
    if not join:
        raise NotImplementedError("strided_xla: spawn with join=False: the function runs in this process")
    fn(0, *args)


class MpModelWrapper:
    """A model that processes share; in a program of one process, the model."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def to(self, device: Any) -> Any:
        """The model, moved to `device`."""
        return self._model.to(device)


class MpSerialExecutor:
    """Runs a function in one process after another."""

    def run(self, fn: Callable[[], Any]) -> Any:
        """``fn()``."""
        return fn()
