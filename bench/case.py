"""What a benchmark is: a name, data, one expression for each library, and what the machine must at least do for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class Case:
    """One line of the table.

    text: the expression for strided and PyTorch, of xp (the module) and the names in data. numpy: NumPy's spelling (""
    where it is the same, None where NumPy has none). jax: likewise, by default NumPy's. scipy: SciPy's,
    by default none.
    data: makes NumPy's arrays; called when the case runs. moved, flops: the least bytes read and written, and the
    floating-point operations, of one call; 0: the case is measured against no limit. size: the place on a curve.
    rested: each call that is timed comes after a pause, in which threads fall asleep.
    """

    name: str
    data: Callable[[], Mapping[str, Any]]
    text: str
    numpy: str | None = ""
    jax: str | None = ""
    scipy: str | None = None
    moved: float = 0
    flops: float = 0
    setup: str = ""  # statements for strided and PyTorch alone, before the expression is timed
    size: int = 0
    double: bool = False  # flops are float64's
    rested: bool = False
    compiled: bool = False  # strided's function goes through strided.compile

    def expression(self, library: str) -> str | None:
        if library in ("strided", "torch"):
            return self.text
        if library == "scipy":
            return self.scipy
        numpy = self.text if self.numpy == "" else self.numpy
        return numpy if library == "numpy" or self.jax == "" else self.jax


def arrays(seed: int = 0, /, **shapes: tuple[Any, ...]) -> Callable[[], dict[str, Any]]:
    """Makes random data, for each name (dtype, *shape): floats of a normal distribution, integers below 1000, bool."""

    def make() -> dict[str, Any]:
        import numpy as np

        rng = np.random.default_rng(seed)
        made = {}
        for name, (dtype, *shape) in shapes.items():
            kind = np.dtype(dtype).kind
            if kind == "f":
                made[name] = rng.standard_normal(shape, "f4").astype(dtype)
            elif kind == "c":
                made[name] = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
            elif kind == "b":
                made[name] = rng.random(shape) < 0.5
            else:
                made[name] = rng.integers(0, 1000, shape).astype(dtype)
        return made

    return make
