"""How a worker tells its launcher why it ended (``strided.distributed.elastic.multiprocessing.errors``)."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import time
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...._typing import Any, Callable

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]


@dataclasses.dataclass
class ProcessFailure:
    """How a worker ended: its rank on this machine, process, exit status, and the file that it wrote."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str = ""


class ChildFailedError(Exception):
    """Workers of a launcher failed.

    Args:
        name: of the program. failures: a ProcessFailure by rank.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        if not failures:
            raise AssertionError("ChildFailedError: there are no failures")
        self.name, self.failures = name, failures
        super().__init__(
            f"{name} failed on "
            + ", ".join(f"rank {r} (process {f.pid}, status {f.exitcode})" for r, f in sorted(failures.items()))
        )


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
