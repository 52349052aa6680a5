"""Finding the forward operation behind an error of the backward pass."""

from __future__ import annotations

import traceback
import warnings

from .. import _C

__all__ = ["detect_anomaly", "is_anomaly_enabled", "is_anomaly_check_nan_enabled", "set_detect_anomaly"]

_mode = (False, True)


def _trace():
    return "".join(traceback.format_stack()[:-1])


def _report(name, trace):
    if trace is None:
        text = (
            f"Error detected in {name}. No forward pass information available. Enable detect anomaly during forward pass "
            "for more information."
        )
    else:
        text = f"Error detected in {name}. Traceback of forward call that caused the error:\n{trace}"
    warnings.warn(text, UserWarning, stacklevel=3)


_C.set_hook("anomaly_trace", _trace)
_C.set_hook("anomaly_report", _report)


def _switch(on, check_nan):
    global _mode
    before, _mode = _mode, (bool(on), bool(check_nan))
    _C.set_anomaly_mode(*_mode)
    return before


class set_detect_anomaly:
    """Switches anomaly detection at once; as a context, until its end.  For all threads."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _switch(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        _switch(*self._before)


class detect_anomaly:
    """Context: every operation remembers where it was called, an error in its backward step is preceded by a warning
    with that place, and a gradient that is NaN is an error (unless check_nan is False).  Slow: for debugging.

    >>> with strided.autograd.detect_anomaly():
    ...     y = strided.ones(1, requires_grad=True).exp()
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = _switch(True, self._check_nan)

    def __exit__(self, *exc: object) -> None:
        _switch(*self._before)


def is_anomaly_enabled() -> bool:
    """True while anomaly detection is on."""
    return _mode[0]


def is_anomaly_check_nan_enabled() -> bool:
    """True if anomaly detection, while on, takes NaN for an error."""
    return _mode[1]
