"""What programs ask of sizes that may be symbols (``torch.fx.experimental.symbolic_shapes``). Here they are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._as_torch.core_names import absent

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "GuardOnDataDependentSymNode", "free_symbols", "free_unbacked_symbols", "guard_bool", "guard_float", "guard_int",
    "guard_or_false", "guard_or_true", "guard_size_oblivious", "has_free_symbols", "hint_int", "is_concrete_bool",
    "is_concrete_int", "statically_known_true",
]  # fmt: skip

GuardOnDataDependentSymNode = absent("GuardOnDataDependentSymNode", __name__)


def guard_or_false(a: Any) -> bool:
    """``bool(a)``: the value is always known."""
    return bool(a)


guard_or_true = guard_size_oblivious = statically_known_true = guard_bool = guard_or_false


def guard_int(a: Any) -> int:
    """``int(a)``."""
    return int(a)


def guard_float(a: Any) -> float:
    """``float(a)``."""
    return float(a)


def hint_int(a: Any, fallback: int | None = None) -> int:
    """``int(a)``."""
    return int(a)


def is_concrete_int(a: Any) -> bool:
    """True: there are no other ones."""
    return True


is_concrete_bool = is_concrete_int


def free_symbols(val: Any) -> set[Any]:
    """None: an empty set."""
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val: Any) -> bool:
    """False."""
    return False
