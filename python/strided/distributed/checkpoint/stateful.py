"""What ``save`` and ``load`` ask objects in a state dict for (``strided.distributed.checkpoint.stateful``)."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """An object with a state dict, as modules and optimizers are.

    >>> isinstance(strided.nn.Linear(1, 1), strided.distributed.checkpoint.stateful.Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """Its state, which ``save`` writes."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the state that ``load`` has read."""
        ...
