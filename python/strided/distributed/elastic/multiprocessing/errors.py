"""How a worker tells its launcher why it ended (``strided.distributed.elastic.multiprocessing.errors``)."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
import os
import signal
import time
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...._typing import Callable

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]


@dataclasses.dataclass
class ProcessFailure:
    """How a worker ended: its number on this host, its process, its exit code (a signal's, negated), and the file that
    its ErrorHandler wrote, of which `message` and `timestamp` are taken.

    >>> ProcessFailure(local_rank=0, pid=17, exitcode=-9, error_file="").message
    'Signal 9 (SIGKILL) received by PID 17'
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str = ""
    error_file_data: dict[str, Any] = dataclasses.field(init=False)
    message: Any = dataclasses.field(init=False)
    timestamp: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.timestamp = {}, int(time.time())
        self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        if self.exitcode >= 0:
            self.message = (
                f"exit code {self.exitcode}; decorate the main function with record() to see its traceback here"
            )
        if self.error_file and os.path.isfile(self.error_file):
            with open(self.error_file, encoding="utf-8") as f:
                self.error_file_data = json.load(f)
            self.message = self.error_file_data.get("message", self.message)
            if isinstance(self.message, dict):
                self.timestamp = int(self.message.get("extraInfo", {}).get("timestamp", self.timestamp))
                self.message = self.message.get("message")

    def signal_name(self) -> str:
        """The name of the signal that ended it, or "<N/A>"."""
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"

    def timestamp_isoformat(self) -> str:
        """When it ended, in ISO's form."""
        return datetime.datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Workers of a launcher failed.

    Args:
        name: of the program.
        failures: by the number of the worker.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        if not failures:
            raise AssertionError("ChildFailedError: no failure")
        self.name, self.failures = name, failures
        lines = [
            f"  rank {rank} (local_rank {f.local_rank}, pid {f.pid}) exit code {f.exitcode}: {f.message}"
            for rank, f in sorted(failures.items(), key=lambda item: item[1].timestamp)
        ]
        super().__init__("\n".join([f"{name} FAILED", *lines]))

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The number of the worker that failed first, and how."""
        return min(self.failures.items(), key=lambda item: item[1].timestamp)


class ErrorHandler:
    """Writes the error of a worker into the file that the variable ``TORCHELASTIC_ERROR_FILE`` names, if it is set."""

    def initialize(self) -> None:
        """Turns on the stacks that Python prints for signals, where standard error allows it."""
        import faulthandler

        try:
            faulthandler.enable(all_threads=True)
        except (OSError, ValueError, RuntimeError, AttributeError):
            pass  # standard error is no file

    def record_exception(self, e: BaseException) -> None:
        """Writes message, stack and time of an exception, as JSON.

        Args:
            e: the exception.
        """
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if not path:
            return
        stack = "".join(traceback.format_exception(type(e), e, e.__traceback__))
        extra = {"py_callstack": stack, "timestamp": str(int(time.time()))}
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": extra}}, f)


def get_error_handler() -> ErrorHandler:
    """An ErrorHandler."""
    return ErrorHandler()


def record(fn: Callable[..., Any], error_handler: ErrorHandler | None = None) -> Callable[..., Any]:
    """Decorator of the main function of a worker: what it raises is recorded, and raised.

    Args:
        fn: the function.
        error_handler: records; by default get_error_handler().

    Returns:
        A function with the arguments and the result of fn.
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        handler = error_handler or get_error_handler()
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except BaseException as error:
            handler.record_exception(error)
            raise

    return call
