"""Names of ``torch.export``. No programs are exported: ``fx.symbolic_trace`` records them, ``compile`` fuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ._core_names import absent
from .utils._pytree import register_dataclass

__all__ = [
    "Dim", "ExportedProgram", "UnflattenedModule", "default_decompositions", "dims", "draft_export", "export", "load",
    "register_dataclass", "save", "unflatten",
]  # fmt: skip

ExportedProgram, UnflattenedModule = absent("ExportedProgram", __name__), absent("UnflattenedModule", __name__)


def _none(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: strided exports no programs; fx.symbolic_trace records them, and save keeps the weights"
    )


class Dim:
    """A size that may change from call to call, for tables of such sizes.

    Args:
        name: a name of Python. min, max: the least and the greatest size.

    Raises:
        ValueError: max is not greater than min, or the name is none of Python.
    """

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min = 0 if min is None else min
        self.max: float = float("inf") if max is None else max
        if self.max <= self.min:
            raise ValueError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise ValueError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}, max={self.max})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A ``Dim`` for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def export(mod: Any, args: Any, kwargs: Any = None, **options: Any) -> Any:
    """NotImplementedError: would give a program without Python."""
    _none("export")


def draft_export(mod: Any, args: Any, kwargs: Any = None, **options: Any) -> Any:
    """NotImplementedError: would give a program, and what is doubtful in it."""
    _none("draft_export")


def save(ep: Any, f: Any, **options: Any) -> None:
    """NotImplementedError: would write an exported program."""
    _none("export.save")


def load(f: Any, **options: Any) -> Any:
    """NotImplementedError: would read an exported program."""
    _none("export.load")


def unflatten(module: Any, flat_args_adapter: Callable[..., Any] | None = None) -> Any:
    """NotImplementedError: would make modules of an exported program."""
    _none("unflatten")


def default_decompositions() -> Any:
    """NotImplementedError: would give what operations of exported programs are made of."""
    _none("default_decompositions")
