"""What sharded tensors move, and where they lie (``strided.distributed.tensor.debug``)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ... import _comm, _move
from ..._explain import Explanation, Moved
from ..._functional_collectives import OPS
from ..._sharded import ShardedTensor

if TYPE_CHECKING:
    from ...._typing import Any

__all__ = ["CommDebugMode", "visualize_sharding"]

_NAMES = {call: name for name, call in OPS.items()}


class CommDebugMode:
    """Context that counts the calls between ranks, those of backward too.

    Calls have the names of ``ops.c10d_functional`` (``all_to_all_single``, ``all_reduce`` ...). What moves between two
    placements is not always the call that PyTorch makes: each rank gets what it lacks by one ``all_to_all_single``.
    ``strided.distributed.explain`` has the same of one function, with bytes.

    >>> def program():
    ...     from strided.distributed import Shard, init_device_mesh, zeros
    ...     from strided.distributed.tensor.debug import CommDebugMode
    ...     x = zeros(4, 4, mesh=init_device_mesh("cpu", (2,)), placements=[Shard(0)])
    ...     with CommDebugMode() as mode:
    ...         x.cumsum(0)
    ...     return mode.get_total_counts(), mode.get_comm_counts()[strided.ops.c10d_functional.all_to_all_single]
    >>> strided.distributed.simulate(2, program)[0]
    (1, 1)
    """

    def __init__(self) -> None:
        self._open: list[Any] = []
        self._begin()

    def _begin(self) -> None:
        self.comm_counts: defaultdict[Any, int] = defaultdict(int)
        self._moved: list[Moved] = []

    def _listen(self, comm: Any, transfer: Any) -> None:
        why, comm.why = comm.why, None
        function, what = why if why is not None else (_move.call_state().function, "")
        self.comm_counts[_NAMES.get(transfer.call, transfer.call)] += 1
        self._moved.append(Moved(function, what, transfer.call, transfer.sent, transfer.received))

    def __enter__(self) -> CommDebugMode:
        self._begin()
        self._open.append(_comm.rank_state().setdefault("listeners", []))
        self._open[-1].append(self._listen)
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.pop().remove(self._listen)

    def get_comm_counts(self) -> dict[Any, int]:
        """How often each call was made; 0 for others."""
        return self.comm_counts

    def get_total_counts(self) -> int:
        """How many calls there were."""
        return sum(self.comm_counts.values())

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """A table of the calls: for which function, how many bytes, from which layout to which."""
        return repr(Explanation(None, self._moved))

    def log_comm_debug_tracing_table_to_file(self, file_name: str = "comm_mode_log.txt", noise_level: int = 3) -> None:
        """Adds the table to a file."""
        with open(file_name, "a", encoding="utf-8") as f:
            f.write(self.generate_comm_debug_tracing_table(noise_level) + "\n")


def visualize_sharding(dtensor: ShardedTensor, header: str = "", use_rich: bool = False) -> None:
    """Prints which rank owns which block of a tensor of one or two axes, on the first rank: ``mesh.show``.

    Args:
        header: a line before it. use_rich: accepted, without effect.
    """
    if not isinstance(dtensor, ShardedTensor):
        raise TypeError(f"visualize_sharding: a sharded tensor is required, got {type(dtensor).__name__}")
    picture = dtensor.device_mesh.show(dtensor)
    if dtensor.device_mesh.comm.rank == 0:
        if header:
            print(header)
        print(picture)
