"""What a program moves between ranks: ``explain``."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import TYPE_CHECKING

from . import _comm, _move

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["Explanation", "Moved", "explain"]

# function: the tensor function that needed it; what: from which layout to which; call: of the Communicator;
# sent, received: bytes of this rank.
Moved = namedtuple("Moved", "function what call sent received")


class Explanation:
    """What one call of a function moved.

    result: what it returned; transfers: a list of Moved; sent, received: bytes of this rank in total.  Printed, it is a
    table.
    """

    def __init__(self, result: Any, transfers: list[Moved]) -> None:
        self.result, self.transfers = result, transfers
        self.sent = sum(t.sent for t in transfers)
        self.received = sum(t.received for t in transfers)

    def __repr__(self) -> str:
        if not self.transfers:
            return "nothing is moved"
        rows = [("function", "call", "sent", "received", "what")]
        rows += [(t.function, t.call, str(t.sent), str(t.received), t.what) for t in self.transfers]
        rows.append(("total", "", str(self.sent), str(self.received), ""))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = []
        for row in rows:
            left = [row[0].ljust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2]), row[3].rjust(widths[3])]
            lines.append("  ".join([*left, row[4]]).rstrip())
        return "\n".join(lines)


def explain(fn: Callable[..., Any]) -> Callable[..., Explanation]:
    """A function that calls fn and tells each transfer that it made, with its bytes on this rank.

    Every rank calls it.  Gradients are explained by calling ``backward`` inside fn.

    >>> def program():
    ...     from strided.distributed import Shard, explain, init_device_mesh, zeros
    ...     x = zeros(4, 4, mesh=init_device_mesh("cpu", (2,)), placements=[Shard(0)])
    ...     return explain(lambda x: x.cumsum(0).exp())(x)
    >>> strided.distributed.simulate(2, program)[0]
    function  call        sent  received  what
    cumsum    all_to_all    16        16  (2, 1, 4) [Shard(dim=0)] -> (2, 1, 4) [Replicate()]
    total                   16        16
    """

    if not callable(fn):
        raise TypeError(f"explain: a function is required, got {type(fn).__name__}; explain(function)(arguments)")

    @functools.wraps(fn)
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        transfers: list[Moved] = []

        def listen(comm, transfer):
            why, comm.why = comm.why, None
            function, what = why if why is not None else (_move.call_state().function, "")
            transfers.append(Moved(function, what, transfer.call, transfer.sent, transfer.received))

        listeners = _comm.rank_state().setdefault("listeners", [])
        listeners.append(listen)
        try:
            result = fn(*args, **kwargs)
        finally:
            listeners.remove(listen)
        return Explanation(result, transfers)

    return explained
