"""XLA devices, by the names of ``torch_xla``: operations are recorded, compiled by XLA and run by a PJRT plugin.

>>> import strided, strided_xla
>>> strided_xla.device_count() >= 0
True

The devices need a plugin: ``pip install 'strided[xla]'`` brings one for the CPU, ``libtpu`` one for TPUs, and
``STRIDED_PJRT_PLUGIN`` names another by its path. ``docs/xla.md`` in the sources tells how programs come about.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import strided as _strided
from strided._C import functions as _functions

from .graphs import Graph

__all__ = ["Graph", "compile", "device", "device_count", "devices", "real_devices", "sync"]


def device_count() -> int:
    """Number of XLA devices; 0 without a plugin."""
    return _functions["_xla_device_count"]()


def _require() -> int:
    if (n := device_count()) == 0:
        why = _functions["_xla_why_none"]() or "the PJRT plugin finds no device"
        raise RuntimeError(f"XLA is not available: {why}")
    return n


def device(index: int | None = None) -> _strided.device:
    """The XLA device of that number, the first one for None; RuntimeError where there is none."""
    n = _require()
    index = 0 if index is None else int(index)
    if not 0 <= index < n:
        raise RuntimeError(f"there is no device xla:{index}: there are {n}")
    return _strided.device("xla", index)


def devices() -> list[_strided.device]:
    """All XLA devices; RuntimeError where there is none."""
    return [device(i) for i in range(_require())]


def real_devices() -> list[str]:
    """What the plugin calls them: ``["CPU:0"]``."""
    return [f"{_functions['_xla_platform']().upper()}:{i}" for i in range(_require())]


def sync(wait: bool = False) -> None:
    """Compiles what is recorded for every device and starts it.

    Args:
        wait: returns when the devices have run it, and raises what went wrong. Else who reads a result waits for it.
    """
    for i in range(device_count()):
        _functions["_xla_run"](i, wait)


def compile(
    f: Callable[..., Any] | None = None,
    full_graph: bool = False,
    name: str | None = None,
    num_different_graphs_allowed: int | None = None,
) -> Callable[..., Any]:
    """A function whose operations are one step: what was recorded before is started first, and then what it records.

    Args:
        f: the function; None gives a decorator.
        full_graph: RuntimeError where something in the function made a program run before its end.
        name: accepted, and without effect.
        num_different_graphs_allowed: RuntimeError where the function led to more programs than that.
    """
    if f is None:
        return functools.partial(
            compile, full_graph=full_graph, name=name, num_different_graphs_allowed=num_different_graphs_allowed
        )
    called = f
    new = 0

    @functools.wraps(called)
    def step(*args: Any, **kwargs: Any) -> Any:
        nonlocal new
        sync()
        compiled, executed, _ = _functions["_xla_counters"]()
        result = called(*args, **kwargs)
        if full_graph and _functions["_xla_counters"]()[1] != executed:
            raise RuntimeError("strided_xla.compile: with full_graph=True, but a value was read before the step's end")
        sync()
        new += _functions["_xla_counters"]()[0] - compiled
        if num_different_graphs_allowed is not None and new > num_different_graphs_allowed:
            raise RuntimeError(f"strided_xla.compile: {new} programs, {num_different_graphs_allowed} were allowed")
        return result

    return step
