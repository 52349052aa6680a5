"""Averages of parameters over ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .... import _C
from ....autograd.grad_mode import no_grad
from ... import _groups

if TYPE_CHECKING:
    from ...._typing import Any, Iterable, Iterator

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]

_f = _C.functions


@no_grad()
def average_parameters(params: Iterable[Any], process_group: Any) -> None:
    """Parameters become their averages over the ranks of a group; those of a dtype in one call."""
    pg = _groups.resolve(process_group)
    if pg is None:
        return
    kinds: dict[Any, list[Any]] = {}
    for p in params:
        kinds.setdefault((p.dtype, p.device), []).append(p.detach())
    for some in kinds.values():
        flat = _f["cat"]([t.reshape(-1) for t in some])
        pg.communicator.all_reduce(flat, "avg")
        for t, mean in zip(some, flat.split([t.numel() for t in some])):
            t.copy_(mean.view(t.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """Parameters, or those in groups, that have gradients."""
    found: list[Any] = []

    def flat() -> Iterator[Any]:
        for p in params:
            if isinstance(p, dict):
                yield from p["params"]
            elif isinstance(p, _C.Tensor):
                yield p
            else:
                raise NotImplementedError(f"Parameter input of type {type(p)} is not supported")

    for p in flat():
        if p.grad is not None:
            found.append(p)
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """average_parameters of those that have gradients."""
    average_parameters(get_params_to_average(params), process_group)
