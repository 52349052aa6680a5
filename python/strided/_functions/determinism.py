"""PyTorch's switches for deterministic algorithms.  All algorithms here are, so the switches only remember how they
stand."""

from __future__ import annotations

from .. import _C

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
    "is_deterministic_algorithms_warn_only_enabled",
    "set_deterministic_debug_mode", "use_deterministic_algorithms",
]  # fmt: skip

_MODES = ("default", "warn", "error")
_mode = 0
_warn_only = False
_fill = True


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Makes ``empty`` and its like fill the memory (``utils.deterministic``).

    In any case every result is the same in every run, for any number of threads.
    """
    global _warn_only
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {name} must be bool, not {type(value).__name__}"
            )
    set_deterministic_debug_mode((1 if warn_only else 2) if mode else 0)
    _warn_only = warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Remembers "default", "warn" or "error", or 0, 1 or 2."""
    global _mode, _warn_only
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in _MODES:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    number = _MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _mode, _warn_only = number, number == 1
    _apply()


def _apply(fill: bool | None = None) -> bool:
    """Whether new memory is filled where determinism was asked for, after a change of it if any."""
    global _fill
    _fill = _fill if fill is None else fill
    _C.functions["_fill_new_memory"](_fill and _mode > 0)
    return _fill


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as it was set."""
    return _mode


def are_deterministic_algorithms_enabled() -> bool:
    """Whether it was asked for; they are in any case."""
    return _mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether a warning was asked for in place of an error; there is neither."""
    return _warn_only
