"""The default generator of random numbers (``strided.random``)."""

from ._functions.random import (
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
    "thread_safe_generator",
]  # fmt: skip


def thread_safe_generator() -> None:
    """None, which draws from the default generator: it may be used by many threads at once, and workers that load data
    are processes, with one of their own."""
