"""Whether encoders may leave padding out, as PyTorch's do in evaluation (``strided.backends.mha``)."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether ``nn.TransformerEncoder`` gives zeros at the padding where PyTorch does.

    >>> strided.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Sets it."""
    global _enabled
    _enabled = value
