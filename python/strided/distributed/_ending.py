"""How a job of several processes ends: which call a rank was in, and what the others hear of a rank that has gone."""

from __future__ import annotations

import atexit
import mmap
import os
import time
from typing import TYPE_CHECKING

from ._checks import RankError

if TYPE_CHECKING:
    from .._typing import Any

LEAVING = 0.5  # seconds that a rank waits for others to end too, before it tells them that it has ended
GRACE = 1.0  # seconds that a call may go on after one of its ranks has ended: what that rank gave may be on its way


class _Note:
    """The call that this process is in, for errors, and where ``python -m strided launch`` reads it if it is killed."""

    def __init__(self) -> None:
        self.text = ""
        self._map: mmap.mmap | None = None
        self._opened = False

    def _open(self) -> None:
        self._opened = True
        fd, _, process = os.environ.get("STRIDED_RANK_NOTE", "").partition(":")
        if fd.isdigit() and process == str(os.getpid()):  # else the variable is that of the process that started this
            self._map = mmap.mmap(int(fd), 0)

    def write(self, text: str) -> None:
        self.text = text
        if not self._opened:
            self._open()
        if self._map is not None:
            data = text.encode()[: len(self._map)]
            self._map[:] = data.ljust(len(self._map), b"\0")


note = _Note()


class ExitNotices:
    """Messages of ranks that end to ranks that still run, which would wait for them for ever.

    At its end each rank joins a barrier. If the others do not join within LEAVING seconds, it sends each of them one.
    """

    def __init__(self, mpi: Any) -> None:
        self._mpi, self._comm = mpi, mpi.COMM_WORLD.Dup()
        self._ended: set[int] = set()
        if self._comm.Get_size() > 1:
            atexit.register(self._leave)

    def _leave(self) -> None:
        if self._mpi.Is_finalized():
            return
        end, sent = self._comm.Ibarrier(), []
        begin = time.monotonic()
        while not end.Test():
            waited = time.monotonic() - begin
            if not sent and waited > LEAVING:
                others = (r for r in range(self._comm.Get_size()) if r != self._comm.Get_rank())
                sent = [self._comm.Isend([bytearray(1), 1, self._mpi.BYTE], r) for r in others]
            time.sleep(1e-4 if waited < 0.05 else 2e-3)
        self.ended_ranks()  # takes what came meanwhile

    def ended_ranks(self) -> set[int]:
        """Ranks whose notices have come, by their numbers in MPI's world."""
        status = self._mpi.Status()
        while self._comm.Iprobe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status):
            self._comm.Recv([bytearray(1), 1, self._mpi.BYTE], status.Get_source(), status.Get_tag())
            self._ended.add(status.Get_source())
        return self._ended


def ended(comm: Any, ranks: list[int]) -> RankError:
    """The error of a rank that waits for others that have ended."""
    who = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
    made = RankError(
        f"{who} of {comm.name} ended (returned, or called sys.exit), while rank {comm.rank} waits in {comm.current}, call "
        f"{comm._number} on {comm.name}"
    )
    made.rank = ranks[0]
    return made
