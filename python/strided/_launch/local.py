"""Starts ranks on this machine without MPI, as ``mpiexec`` would: ``local.py -n 4 command ...``.  They connect by TCP.

It stands alone, on the standard library.  When a rank fails, the others are ended; signals go to all.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

GRACE = 5.0  # seconds that ranks have to end after SIGTERM
PASSED_ON = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def free_port() -> int:
    """A port of this machine that nobody listens at now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _send(ranks: list[Any], number: int) -> None:
    for rank in ranks:
        if rank.poll() is None:
            rank.send_signal(number)


def main(words: list[str]) -> int:
    """Runs the ranks; the exit status of the first that failed, else 0."""
    count, command = int(words[1]), words[2:]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())} | dict(os.environ)
    ranks: list[Any] = []
    for name in PASSED_ON:
        signal.signal(getattr(signal, name), lambda number, frame: _send(ranks, number))
    for r in range(count):
        own = {"STRIDED_LOCAL_RANK": str(r), "STRIDED_LOCAL_SIZE": str(count)}
        ranks.append(subprocess.Popen(command, env=shared | own))
    status, limit = 0, None
    while any(rank.poll() is None for rank in ranks):
        failed = [rank.returncode for rank in ranks if rank.returncode]
        if failed and limit is None:
            status, limit = failed[0], time.monotonic() + GRACE
            _send(ranks, signal.SIGTERM)
        if limit is not None and time.monotonic() > limit:
            _send(ranks, signal.SIGKILL)
        time.sleep(0.02)
    status = status or next((rank.returncode for rank in ranks if rank.returncode), 0)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
