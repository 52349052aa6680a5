"""``python -m strided launch --simulate``: the ranks of a program as threads of this process."""

from __future__ import annotations

import sys
import traceback
from types import CodeType, ModuleType

__all__ = ["run"]


def _code(program: list[str]) -> tuple[CodeType, dict[str, str]]:
    """The program's code, and what its module has beside its name. Sets sys.argv and sys.path as Python does."""
    if program[0] == "-c":
        sys.argv[:] = ["-c", *program[2:]]
        sys.path[0] = ""
        return compile(program[1], "<string>", "exec"), {}
    if program[0] == "-m":
        import importlib.util

        sys.argv[:] = program[1:]
        spec = importlib.util.find_spec(program[1])
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{program[1]}.__main__")
        code = None if spec is None else spec.loader.get_code(spec.name)  # type: ignore[union-attr]
        if code is None:
            raise ModuleNotFoundError(f"No module named {program[1]}")
        return code, {"__file__": spec.origin or "", "__package__": spec.parent or ""}  # type: ignore[union-attr]
    import os

    sys.argv[:] = program
    sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    with open(program[0], "rb") as f:
        return compile(f.read(), program[0], "exec"), {"__file__": program[0]}


def run(ranks: int, program: list[str], as_torch: bool) -> int:
    """Runs the program on that many simulated ranks; each has a module ``__main__`` of its own.

    Returns:
        The exit status, as with processes.
    """
    import strided

    if as_torch:
        strided.install_as_torch()
    code, named = _code(program)
    shared = sys.modules["__main__"] = ModuleType("__main__")  # what asks for __main__ by name finds that of rank 0
    shared.__dict__.update(named)

    def one() -> None:
        own = shared if strided.distributed.world().rank == 0 else ModuleType("__main__")
        own.__dict__.update(named)
        try:
            exec(code, own.__dict__)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise

    try:
        strided.distributed.simulate(ranks, one)
    except strided.distributed.DistError as error:
        return _failed(ranks, error)
    return 0


def _failed(ranks: int, error: BaseException) -> int:
    cause = error.__cause__
    if cause is None:  # a deadlock: no rank raised
        print(f"strided launch: {error}", file=sys.stderr)
        return 1
    at, status = getattr(error, "rank", 0), 1
    if isinstance(cause, SystemExit):
        status = cause.code & 0xFF if isinstance(cause.code, int) else 1
        what = f"called sys.exit({cause.code!r})"
    else:
        frames = cause.__traceback__
        while frames is not None and frames.tb_frame.f_globals.get("__name__") != "__main__":
            frames = frames.tb_next
        traceback.print_exception(type(cause), cause, frames)
        what = f"raised {traceback.format_exception_only(type(cause), cause)[-1].strip()}"
        status = 130 if isinstance(cause, KeyboardInterrupt) else 1
    print(f"strided launch: simulated rank {at} of {ranks} {what}", file=sys.stderr)
    return status or 1
