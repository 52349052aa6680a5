"""The libraries that are compared, each at its best: its own kernels, threads, and compiler where it has one."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

NAMES = ("strided", "torch", "numpy", "jax", "scipy")


class Peer:
    """One library. A case's expression sees xp (the main module), lib (the library) and the case's arrays."""

    def __init__(self, name: str, threads: int):
        self.name, self.lib = name, importlib.import_module(name)
        self.xp = self.lib
        if name == "jax":
            self.lib.config.update("jax_enable_x64", True)
            self.xp = importlib.import_module("jax.numpy")
        elif name == "scipy":
            for part in ("fft", "linalg", "special"):
                importlib.import_module(f"scipy.{part}")
        elif name in ("strided", "torch"):
            self.lib.set_num_threads(threads)

    @property
    def version(self) -> str:
        return self.lib.__version__

    def array(self, values: Any) -> Any:
        """Of NumPy's array, in memory of this library's own; what is no array (a shape, a number) stays."""
        if not hasattr(values, "dtype"):
            return values
        if self.name in ("strided", "torch"):
            return self.lib.from_numpy(values).clone()
        return self.xp.asarray(values) if self.name == "jax" else values.copy()

    def work(
        self, expression: str, arrays: Mapping[str, Any], setup: str = "", compiled: bool = False
    ) -> Callable[[], object]:
        """A function without arguments that computes the expression once, its result ready when it returns. compiled:
        strided's by strided.compile, as JAX compiles everything."""
        values = {name: self.array(value) for name, value in arrays.items()}
        scope = {"xp": self.xp, "lib": self.lib, **values}
        if setup:
            exec(setup, scope)
            values = {k: v for k, v in scope.items() if k not in ("xp", "lib", "__builtins__")}
        if self.name == "strided" and compiled:
            operands = tuple(values.values())
            fused = self.lib.compile(eval(f"lambda {', '.join(values)}: {expression}", scope))
            return lambda: fused(*operands)
        if self.name != "jax":
            arguments = ", ".join(f"{name}={name}" for name in ("xp", "lib", *values))
            return eval(f"lambda {arguments}: {expression}", scope)
        numbers = {k: v for k, v in values.items() if hasattr(v, "dtype")}
        compiled = self.lib.jit(eval(f"lambda {', '.join(numbers)}: {expression}", scope))
        ready, operands = self.lib.block_until_ready, tuple(numbers.values())
        return lambda: ready(compiled(*operands))


def installed(threads: int, wanted: tuple[str, ...] = NAMES) -> tuple[list[Peer], list[str]]:
    """strided and those of its peers that are installed; and the names of those that are not."""
    here = [name for name in wanted if importlib.util.find_spec(name) is not None]
    return [Peer(name, threads) for name in here], [name for name in wanted if name not in here]
