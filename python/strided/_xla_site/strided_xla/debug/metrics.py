"""What was compiled and run, by the names of ``torch_xla.debug.metrics``.

>>> import strided_xla.debug.metrics as met
>>> met.counter_names()
['UncachedCompile', 'ExecuteComputation', 'CachedCompile']
"""

from __future__ import annotations

from strided._C import functions as _functions

__all__ = ["clear_all", "clear_counters", "counter_names", "counter_value", "metrics_report", "short_metrics_report"]

_NAMES = ["UncachedCompile", "ExecuteComputation", "CachedCompile"]
_start = [0, 0, 0]


def counter_names() -> list[str]:
    """Programs compiled, programs run, and of these those that had been compiled before."""
    return list(_NAMES)


def counter_value(name: str) -> int | None:
    """A counter since the process began, or since `clear_counters`; None for a name that is no counter."""
    if name not in _NAMES:
        return None
    at = _NAMES.index(name)
    return _functions["_xla_counters"]()[at] - _start[at]


def clear_counters() -> None:
    """Counts from 0 again."""
    _start[:] = _functions["_xla_counters"]()


def clear_all() -> None:
    """Counts from 0 again: all that there is are counters."""
    clear_counters()


def metrics_report() -> str:
    """All counters, each as ``torch_xla`` prints one; no times are taken."""
    return "".join(f"Counter: {name}\n  Value: {counter_value(name)}\n" for name in _NAMES)


def short_metrics_report() -> str:
    """All counters, one in each line."""
    return "\n".join(f"{name}: {counter_value(name)}" for name in _NAMES)
