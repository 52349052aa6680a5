"""One rank of ``python -m strided launch``: this file is what mpiexec and srun start.

It stands alone, on the standard library, in a folder without modules that hide the standard library's: the number of
threads must be in the environment before anything computes.
Two processes make a rank. The child runs the program; the parent waits for it, so that somebody is left to say which
rank was killed, and in which call (:data:`NOTE`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

NOTE = "STRIDED_RANK_NOTE"  # "descriptor:process" of a file where the program writes which call it is in
VERDICT = "STRIDED_RANK_VERDICT"  # a file that the first rank to fail makes; launch reads it
ROOM = 512  # bytes of the note
PIPE = 65_536  # bytes that a pipe takes at once
THREADS = ("STRIDED_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PASSED_ON = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
PATIENCE = 3.0  # seconds that a rank which fails because of another one leaves the first word to that one


class Place(NamedTuple):
    """Where a process stands in its job: its number of all, and its number on this machine."""

    rank: int
    size: int
    local_rank: int
    local_size: int


# What the starters set: rank, size, rank on the machine, number on the machine. The first whose rank is there counts.
_STARTERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("STRIDED_LOCAL_RANK", "STRIDED_LOCAL_SIZE", "STRIDED_LOCAL_RANK", "STRIDED_LOCAL_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdigit() else otherwise


def _tasks_here(environment: Mapping[str, str]) -> int | None:
    """How many ranks srun started on this machine. ``4(x2),3`` is four on each of two machines, then three."""
    node, counts = _number(environment.get("SLURM_NODEID"), 0), environment.get("SLURM_STEP_TASKS_PER_NODE", "")
    for part in counts.split(",") if counts else ():
        count, _, times = part.partition("(x")
        node -= _number(times.rstrip(")"), 1)
        if node < 0:
            return _number(count, 1)
    return None


def _in_a_step(environment: Mapping[str, str]) -> bool:
    """Whether srun started this process, as a rank: no batch script, no interactive shell."""
    return _number(environment.get("SLURM_STEP_ID"), 2**32) < 0xFFFFFFF0


def place(environment: Mapping[str, str]) -> Place | None:
    """The place of this process in a job of mpiexec or srun; None where it was started otherwise.

    The environment of a batch script and of an interactive shell of Slurm is no job: they start one.
    """
    for rank, size, local_rank, local_size in _STARTERS:
        if rank not in environment or size not in environment:
            continue
        if rank == "SLURM_PROCID" and not _in_a_step(environment):
            continue
        me, n = _number(environment[rank], 0), _number(environment[size], 1)
        if local_rank in environment and local_size in environment:
            return Place(me, n, _number(environment[local_rank], me), _number(environment[local_size], n))
        if "SLURM_LOCALID" in environment and _in_a_step(environment):  # srun, which may set PMI's variables too
            return Place(me, n, _number(environment["SLURM_LOCALID"], me), _tasks_here(environment) or n)
        return Place(me, n, me, n)
    return None


def variables(here: Place, environment: Mapping[str, str], threads: int | None, cores: int) -> dict[str, str]:
    """What a rank's environment gets: PyTorch's variables of its place, and the threads it may use.

    Args:
        here: the rank's place.
        environment: what is there; settings of threads by the user stay.
        threads: how many each rank may use; None shares the cores among the ranks of the machine.
        cores: how many this process may run on.
    """
    given = {
        "RANK": here.rank, "WORLD_SIZE": here.size, "LOCAL_RANK": here.local_rank, "LOCAL_WORLD_SIZE": here.local_size,
    }  # fmt: skip
    found = {name: str(value) for name, value in given.items()}
    if threads is not None:
        return found | dict.fromkeys(THREADS, str(threads))
    mine = _number(environment.get("SLURM_CPUS_PER_TASK"), 0)
    share = min(mine, cores) if mine else max(1, cores // max(1, here.local_size))
    return found | {name: str(share) for name in THREADS if name not in environment}


def cores() -> int:
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---------------------------------------------------------------- the child


def execute(program: list[str], as_torch: bool = False) -> None:
    """Runs ``script.py args``, ``-m module args`` or ``-c code args`` as Python does."""
    import pkgutil
    import runpy
    from types import ModuleType

    if as_torch:
        import strided

        strided.install_as_torch()
    if program[0] == "-m":
        sys.argv[:] = program[1:]  # run_module puts the file's name first
        sys.path[0] = os.getcwd()
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        return
    main = ModuleType("__main__")
    if program[0] == "-c":
        sys.argv[:] = ["-c", *program[2:]]
        sys.path[0] = ""
        code = compile(program[1], "<string>", "exec", dont_inherit=True)  # not this file's __future__
    else:
        sys.argv[:] = program
        path = os.path.abspath(program[0])
        if path.endswith(".pyc") or pkgutil.get_importer(path):  # compiled; a folder or an archive with a __main__
            runpy.run_path(program[0], run_name="__main__")
            return
        sys.path[0] = os.path.dirname(path)
        with open(path, "rb") as f:
            code = compile(f.read(), path, "exec", dont_inherit=True)
        main.__file__ = path
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _own_part(problem: BaseException) -> Any:
    """The traceback from the program on: without the frames of this file."""
    frames = problem.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return frames


def _follows(problem: BaseException) -> bool:
    """Whether the program failed because another rank had ended."""
    distributed = sys.modules.get("strided.distributed")
    return distributed is not None and isinstance(problem, distributed.RankError)


def _end_with(status: int, report: int, what: str, trace: str = "", follows: bool = False) -> NoReturn:
    # Not through MPI's own end, which waits for the other ranks, and those wait for this one.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
    os.write(report, json.dumps([what[:1500], trace[-9000:], follows], ensure_ascii=False).encode("utf-8", "replace"))
    os._exit(status)


def run_child(program: list[str], as_torch: bool, report: int) -> None:
    """Runs the program; what ends it early goes to the descriptor `report` as text. Does not return then."""
    for stream in (sys.stdout, sys.stderr):  # so that lines of several ranks stay whole
        stream.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]
    try:
        execute(program, as_torch)
    except SystemExit as end:
        if end.code is None or end.code == 0:
            return
        if isinstance(end.code, int):
            _end_with(end.code & 0xFF or 1, report, f"called sys.exit({end.code})")
        _end_with(1, report, f"called sys.exit with: {end.code}")
    except BaseException as problem:
        trace = "".join(traceback.format_exception(type(problem), problem, _own_part(problem)))
        what = "raised " + traceback.format_exception_only(type(problem), problem)[-1].strip()
        _end_with(130 if isinstance(problem, KeyboardInterrupt) else 1, report, what, trace, _follows(problem))


# ---------------------------------------------------------------- the parent


def tell(here: Place, status: int, text: str) -> None:
    """Says why the job ends. On the machine of launch the first rank to fail says it to launch, and the others, which
    fail because of it, say nothing. Elsewhere it goes to the rank's own output."""
    path = os.environ.get(VERDICT)
    if path and os.path.isdir(os.path.dirname(path)):
        made = f"{path}.{here.rank}"
        with open(made, "w", encoding="utf-8") as f:
            json.dump({"rank": here.rank, "status": status, "text": text}, f)
        try:
            os.link(made, path)  # whole, and only once
        except FileExistsError:
            pass
    else:
        os.write(2, text.encode())
    time.sleep(0.1)  # what the rank wrote is on its way through mpiexec, which drops it when the job is ended


def _await_verdict(seconds: float) -> None:
    """Waits until a rank on the machine of launch has said why the job ends, or the time is over."""
    path = os.environ.get(VERDICT)
    limit = time.monotonic() + seconds
    while path and not os.path.exists(path) and time.monotonic() < limit:
        time.sleep(0.02)


def end_the_job(status: int) -> NoReturn:
    """Leaves so that the starter ends the other ranks with it.

    srun (with --kill-on-bad-exit) and Open MPI do at any status but 0. MPICH's mpiexec waits for the others where MPI
    was not started yet; the message "abort" of the PMI protocol, version 1, tells it not to.
    """
    port = os.environ.get("PMI_FD", "")
    if port.isdigit() and "MPI_LOCALRANKID" in os.environ:  # MPICH's: the port of srun may speak another version
        try:
            os.write(int(port), f"cmd=abort exitcode={status}\n".encode())
            time.sleep(5)  # mpiexec ends this process as well
        except OSError:
            pass
    os._exit(status)


def watch(child: int, here: Place, note: int, report: int) -> int:
    """Waits for the child; says what ended it, unless it ended well.

    Returns:
        0; otherwise this does not return.
    """
    stopped = []

    def pass_on(number: int, frame: Any) -> None:
        stopped.append(number)
        try:
            os.kill(child, number)
        except ProcessLookupError:
            pass

    for name in PASSED_ON:
        signal.signal(getattr(signal, name), pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {getattr(signal, name) for name in PASSED_ON})
    _, ended = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(ended)
    if status == 0:
        return 0
    if -status in stopped:  # from outside: the job is being ended
        os._exit(128 - status)
    what, trace, follows = json.loads(os.read(report, PIPE) or '["", "", false]')
    if follows:
        _await_verdict(PATIENCE)
    if status < 0:
        what = f"was killed by {signal.Signals(-status).name}"
    where = os.pread(note, ROOM, 0).rstrip(b"\0").decode("utf-8", "replace")
    line = f"strided launch: rank {here.rank} of {here.size} (process {child} on {os.uname().nodename}) "
    line += (what or f"ended with status {status}") + (f", {where}" if where and where not in what else "") + "\n"
    status = status if status > 0 else 128 - status
    tell(here, status, trace + line)
    end_the_job(status)


def bound_to_parent(number: int) -> Callable[[], Any] | None:
    """What a child calls to get that signal when its parent is killed; None where the system does not promise it."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, number, 0, 0, 0)  # PR_SET_PDEATHSIG


def main(words: list[str]) -> int:
    """``rank.py THREADS AS_TORCH SIZE program ...``: runs the program as a rank; THREADS 0 shares the cores."""
    threads, as_torch, size, program = int(words[0]), words[1] == "1", int(words[2]), words[3:]
    here = place(os.environ) or Place(0, 1, 0, 1)
    if here.size != size:
        print(f"strided launch: {size} ranks were asked for, this starter has {here.size}", file=sys.stderr)
        return 2
    os.environ.update(variables(here, os.environ, threads or None, cores()))
    note, (reading, writing) = _shared_file(), os.pipe()
    bind = bound_to_parent(signal.SIGKILL)
    passed_on = {getattr(signal, name) for name in PASSED_ON}
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)  # until the parent can hand them on, and the child is itself
    child = os.fork()
    if child:
        os.close(writing)
        return watch(child, here, note, reading)
    os.close(reading)
    os.environ[NOTE] = f"{note}:{os.getpid()}"  # processes that the program starts do not have the descriptor
    if bind is not None:
        bind()
        os.setpgid(0, 0)  # what mpiexec sends to its group, the parent hands on; once is enough
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
    run_child(program, as_torch, writing)
    return 0


def _shared_file() -> int:
    """A file without a name, for both processes."""
    import tempfile

    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("strided-rank")
    else:
        fd, path = tempfile.mkstemp()
        os.unlink(path)
    os.ftruncate(fd, ROOM)
    return fd


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
