"""Names of PyTorch's training on ranks with unequal numbers of batches: there is none."""

from __future__ import annotations

from ..._core_names import absent

__all__ = ["Join", "JoinHook", "Joinable"]

Join = absent("Join", __name__)
JoinHook = absent("JoinHook", __name__)
Joinable = absent("Joinable", __name__)
