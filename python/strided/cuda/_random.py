"""Random numbers of the devices.  Philox makes them from a seed and a position: the same on every device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import _C
from ._device import current_device, device_count, index_of

if TYPE_CHECKING:
    from .._typing import Device, Iterable, Tensor


def _generator(device=None):
    index = index_of(device)
    return _C.default_generator(_C.device("cuda", current_device() if index < 0 else index))


def manual_seed(seed: int) -> None:
    """Seeds the generator of the current device; of all, if none was used yet."""
    if _C.functions["_cuda_is_open"]():
        _generator().manual_seed(int(seed))
    else:
        manual_seed_all(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices, also of ones that nobody has used yet.  Does not ask for a device."""
    _C.seed_accelerators(int(seed))


def seed() -> None:
    """Seeds the current device's generator from the operating system."""
    manual_seed(int.from_bytes(os.urandom(8), "little"))


def seed_all() -> None:
    """Seeds the generators of all devices from the operating system, with the same seed."""
    manual_seed_all(int.from_bytes(os.urandom(8), "little"))


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _generator().initial_seed()


def get_rng_state(device: Device = "cuda") -> Tensor:
    """Seed and position of a device's generator, as 16 bytes in a tensor of the CPU."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state(new_state: Tensor, device: Device = "cuda") -> None:
    """Sets seed and position of a device's generator."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the states of all devices."""
    for i, state in enumerate(new_states):
        set_rng_state(state, i)
