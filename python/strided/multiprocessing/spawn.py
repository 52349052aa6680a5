"""Processes that run one function (``strided.multiprocessing.spawn``)."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from typing import Any

__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn",
    "start_processes",
]  # fmt: skip


class ProcessException(Exception):
    """A process ended badly.

    Attributes:
        error_index: its number.
        error_pid: its id.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid
        self.error_pid = pid


class ProcessRaisedException(ProcessException):
    """By an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """By a signal, or with an exit status."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent has it too
    except Exception:
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes of :func:`start_processes`."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors

    def pids(self) -> list[int]:
        """Their ids."""
        return [p.pid for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until all have ended (True), one has ended badly, or the time is over (False).

        Raises:
            ProcessRaisedException: one raised an exception; the others are ended.
            ProcessExitedException: one ended otherwise than with status 0; the others are ended.
        """
        from multiprocessing.connection import wait

        open_ = [p for p in self.processes if p.exitcode is None]
        ended = {p.sentinel: p for p in open_}
        if open_:
            wait(list(ended), timeout=timeout)
        codes = [p.exitcode for p in self.processes]  # once: a process may end, and badly, between two looks
        failed = next((i for i, code in enumerate(codes) if code not in (None, 0)), None)
        if failed is None:
            return None not in codes
        for p in self.processes:
            if p.is_alive():
                p.terminate()
        for p in self.processes:
            p.join(grace_period)
            if p.is_alive():
                p.kill()
                p.join()
        self._raise(failed)
        return False

    def _raise(self, i: int) -> None:
        process = self.processes[i]
        try:
            text = self._errors[i].recv() if self._errors[i].poll() else None
        except EOFError:  # it ended without a word
            text = None
        if text is not None:
            raise ProcessRaisedException(
                f"\n\n-- Process {i} terminated with the following error:\n{text}", i, process.pid
            )
        code = process.exitcode
        if code < 0:
            import signal

            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {i} terminated with signal {name}", i, process.pid, code, name)
        raise ProcessExitedException(f"process {i} terminated with exit code {code}", i, process.pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(i, *args)`` in processes number i = 0 ... nprocs - 1.

    Args:
        fn: a function at the top level of a module.
        args: for it.
        nprocs: how many.
        join: whether to wait until all have ended; else the ProcessContext is returned.
        daemon: whether they end with this process.
        start_method: "spawn", "fork" or "forkserver".

    Raises:
        ProcessException: one ended badly, where this call waits.
    """
    context = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, send), daemon=daemon)
        process.start()
        send.close()
        processes.append(process)
        errors.append(receive)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """start_processes() with new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
