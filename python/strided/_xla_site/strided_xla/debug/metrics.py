"""What was compiled and run, by the names of ``torch_xla.debug.metrics``.

>>> import strided_xla.debug.metrics as met
>>> met.counter_names()
['UncachedCompile', 'ExecuteComputation', 'CachedCompile']
"""

from __future__ import annotations

from strided._C import functions as _functions

__all__ = ["counter_names", "counter_value", "short_metrics_report"]

_NAMES = ["UncachedCompile", "ExecuteComputation", "CachedCompile"]


def counter_names() -> list[str]:
    """Programs compiled, programs run, and of these those that had been compiled before."""
    return list(_NAMES)


def counter_value(name: str) -> int | None:
    """A counter since the process began; None for a name that is no counter."""
    return _functions["_xla_counters"]()[_NAMES.index(name)] if name in _NAMES else None


def short_metrics_report() -> str:
    """All counters, one in each line."""
    return "\n".join(f"{name}: {counter_value(name)}" for name in _NAMES)
