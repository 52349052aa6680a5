"""Seeding and state of the default generator."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any, Generator, Iterator, Tensor

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

default_generator = _C.default_generator()


def _restored(device, state):
    return _C.Generator(device).set_state(state)


# Copies and pickles go on where the generator stands.
_C.Generator.__reduce__ = lambda generator: (_restored, (str(generator.device), generator.get_state()))


def manual_seed(seed: int) -> Generator:
    """Seeds the default generators of all devices (on the CPU PyTorch's numbers for the same seed); returns the CPU's.

    >>> _ = strided.manual_seed(0)
    >>> strided.rand(1)
    tensor([0.4963])
    """
    seed = int(seed)
    generator = default_generator.manual_seed(seed)  # looks at the number first
    _C.seed_accelerators(seed)
    return generator


def seed() -> int:
    """Seeds the default generator from the operating system, and returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that was last set."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state, a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Puts the default generator into a state that get_rng_state gave."""
    default_generator.set_state(new_state)


class States:
    """Where the default generators of all devices stand, to draw the same numbers again."""

    def __init__(self) -> None:
        self._of = [(g, g.get_state()) for g in _C.default_generators()]

    def moved(self) -> bool:
        """Whether a number was drawn since then."""
        kept = {g.device: state for g, state in self._of}
        return any(g.device not in kept or not g.get_state().equal(kept[g.device]) for g in _C.default_generators())

    def put_back(self) -> None:
        known = {g.device for g, _ in self._of}
        for generator, state in self._of:
            generator.set_state(state)
        for generator in _C.default_generators():
            if generator.device not in known:  # made since then, at the beginning of its numbers
                generator.manual_seed(generator.initial_seed())

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Context that begins at these states, and after which the generators stand where they stood before."""
        now = States()
        self.put_back()
        try:
            yield
        finally:
            now.put_back()


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Context after which the default generator is in the state it had before."""
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
