"""``python -m strided launch``: a program on several ranks, started by mpiexec or srun."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import local as _local
from . import rank as _rank

__all__ = ["launch"]

GRACE = 10.0  # seconds between a signal that asks the job to end and the one that ends it
HELP = """\
Starts a program on several ranks. Each rank finds RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE in its
environment, and uses its share of the machine's cores. When one rank fails, all end, and one line says which rank,
why, and in which call. The exit status is that of the rank that failed."""
EPILOG = """\
In an allocation of Slurm (salloc, sbatch) the number of ranks is Slurm's, unless -n is given. Where srun or mpiexec has
started this command already, it runs the program as the rank that it is: srun python -m strided launch script.py"""


class LaunchError(Exception):
    """What keeps a job from being started; its text is for the user."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m strided launch", description=HELP, epilog=EPILOG,
        usage="%(prog)s [-n RANKS] [options] (script.py | -m module | -c code) ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("-n", "--ranks", type=int, help="how many ranks")
    add("--threads", type=int, help="threads for each rank (default: the cores of the machine, shared by its ranks)")
    add(
        "--with",
        dest="starter",
        metavar="PROGRAM",
        help="mpiexec, srun, or a path (default: the one that fits); tcp: processes of this machine, without MPI",
    )
    add("--mpi-args", default="", metavar="WORDS", help="words for that program, before the ranks' command")
    add("--label", action="store_true", help="each line of output begins with its rank")
    add("--as-torch", action="store_true", help="`import torch` gives strided, as in `python -m strided run`")
    add("--simulate", action="store_true", help="ranks as threads of one process, which need no MPI and take turns")
    add("--dry-run", action="store_true", help="print the command, do not run it")
    return parser


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of this command, and those of the program: from the first that is no option on, or from -m or -c."""
    valued = ("-n", "--ranks", "--threads", "--with", "--mpi-args")
    k = 0
    while k < len(words) and words[k].startswith("-") and words[k] not in ("-m", "-c", "--"):
        k += 2 if words[k] in valued else 1
    own, program = list(words[:k]), list(words[k:])
    return own, program[1:] if program[:1] == ["--"] else program


# ---------------------------------------------------------------- what starts the ranks


def find_mpiexec(environment: Mapping[str, str]) -> str | None:
    """mpiexec beside this Python (of ``strided[mpi]``), else the cluster's in PATH; None if there is none."""
    beside = os.pathsep.join([os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin")])
    for name in ("mpiexec", "mpirun"):
        found = shutil.which(name, path=beside) or shutil.which(name, path=environment.get("PATH", ""))
        if found:
            return found
    return None


def find_starter(asked: str | None, environment: Mapping[str, str]) -> str:
    """The program that starts ranks: the one asked for; in Slurm srun, unless MPI is that of the extra; else mpiexec.

    The mpiexec of the extra knows Slurm, and brings its own way for ranks to find each other; srun may lack it.

    Raises:
        LaunchError: there is none.
    """
    if asked == "tcp":
        return asked
    if asked not in (None, "mpiexec", "srun"):
        found = shutil.which(str(asked), path=environment.get("PATH", ""))
        if found is None:
            raise LaunchError(f"--with {asked}: there is no such program")
        return found
    mpiexec = find_mpiexec(environment)
    srun = shutil.which("srun", path=environment.get("PATH", ""))
    if asked == "srun" or asked is None and srun and "SLURM_JOB_ID" in environment:
        ours = mpiexec is not None and os.path.dirname(mpiexec) == os.path.dirname(sys.executable)
        if srun and (asked == "srun" or not ours):
            return srun
        if asked == "srun":
            raise LaunchError("--with srun: there is no srun in PATH")
    if mpiexec is None:
        raise LaunchError(
            "there is no mpiexec: pip install 'strided[mpi]', or load the cluster's MPI (module load ...). "
            "Without MPI, --with tcp starts processes of this machine, and --simulate runs the ranks in one process"
        )
    return mpiexec


def flavour(starter: str) -> str:
    """'srun', 'hydra' (MPICH and what is made of it), 'openmpi', 'tcp' (no MPI), or 'other'."""
    if starter == "tcp":
        return "tcp"
    if os.path.basename(starter) == "srun":
        return "srun"
    try:
        text = subprocess.run([starter, "--version"], capture_output=True, text=True, timeout=30).stdout.lower()
    except (OSError, subprocess.SubprocessError) as problem:
        raise LaunchError(f"{starter} does not run: {problem}") from None
    if "hydra" in text or "intel(r) mpi" in text:
        return "hydra"
    return "openmpi" if "open mpi" in text or "openrte" in text or "open-mpi" in text else "other"


def command(starter: str, kind: str, ranks: int, options: Any, program: Sequence[str]) -> list[str]:
    """The words that start the job."""
    import shlex

    words = [starter, "-n", str(ranks)]
    if kind == "tcp":
        if options.label or options.mpi_args:
            raise LaunchError("--label and --mpi-args are for programs of MPI, not --with tcp")
        words[:1] = [sys.executable, str(_local.__file__)]
    if kind == "srun":
        words.append("--kill-on-bad-exit=1")
    if options.label:
        words += {"srun": ["--label"], "hydra": ["-prepend-pattern", "[%r] "], "openmpi": ["--tag-output"]}.get(
            kind, []
        )
    words += shlex.split(options.mpi_args)
    rank = [sys.executable, str(_rank.__file__), str(options.threads or 0), str(int(options.as_torch)), str(ranks)]
    return words + rank + list(program)


def outside(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what a starter left in it: a second one would take itself for a part of the first."""
    prefixes = (
        "STRIDED_LOCAL_",
        "PMI_",
        "PMIX_",
        "HYDI_",
        "HYDRA_",
        "MPI_LOCAL",
        "OMPI_COMM_",
        "SLURM_PROCID",
        "SLURM_LOCALID",
    )
    return {name: value for name, value in environment.items() if not name.startswith(prefixes)}


# ---------------------------------------------------------------- the job


def _without_banner(line: bytes, state: dict[str, bool]) -> bool:
    """Whether a line of mpiexec's output is to be shown; not that of its own text about a process that ended badly."""
    if line.startswith(b"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"):
        state["banner"] = True
        return False
    if state.get("banner"):
        known = (
            b"=   ",
            b"=====",
            b"YOUR APPLICATION TERMINATED",
            b"This typically refers",
            b"Please see the FAQ",
            b"[",
        )
        state["banner"] = line.startswith(known) or not line.strip()
        return not state["banner"]
    return True


def _copy_output(stream: Any, to: Any) -> None:
    """Hands the job's output on as it comes, a line at a time where a banner may begin."""
    state: dict[str, bool] = {}
    held: list[bytes] = []  # the empty line and the rule that come before the banner
    while True:
        line = stream.readline()
        if held and line.startswith(b"=   BAD TERMINATION"):
            held = []
        if line and not held and line.startswith(b"=" * 60) or line == b"\n" and not state.get("banner"):
            held.append(line)
            continue
        if held and line.startswith(b"=" * 60):
            held.append(line)
            continue
        shown = [x for x in [*held, line] if x and _without_banner(x, state)]
        held = []
        if shown:
            to.write(b"".join(shown))
            to.flush()
        if not line:
            return


def supervise(words: Sequence[str], environment: dict[str, str]) -> int:
    """Runs the job: hands signals on to it, waits for it, and gives its exit status."""
    with tempfile.TemporaryDirectory(prefix="strided-launch-") as folder:
        verdict = os.path.join(folder, "first")
        environment = environment | {_rank.VERDICT: verdict}
        job = subprocess.Popen(
            words,
            env=environment,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_rank.bound_to_parent(signal.SIGTERM),
        )
        ending: list[float] = []

        def pass_on(number: int, frame: Any) -> None:
            if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                if ending:
                    os.killpg(job.pid, signal.SIGKILL)
                ending.append(time.monotonic())
                signal.setitimer(signal.ITIMER_REAL, GRACE)
            job.send_signal(number)

        def give_up(number: int, frame: Any) -> None:
            os.killpg(job.pid, signal.SIGKILL)

        before = {number: signal.signal(number, pass_on) for number in map(signal.Signals.__getitem__, _rank.PASSED_ON)}
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, give_up)
        try:
            _copy_output(job.stdout, sys.stdout.buffer)
            status = job.wait()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
        if os.path.exists(verdict):
            with open(verdict, encoding="utf-8") as f:
                first = json.load(f)
            sys.stdout.flush()
            print(first["text"], end="", file=sys.stderr, flush=True)
            return int(first["status"])
    return status if status >= 0 else 128 - status


def launch(words: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Runs the command.

    Args:
        words: what follows ``python -m strided launch``.
        environment: this process's if None.

    Returns:
        The exit status: that of the first rank that failed, 128 + the signal's number for one that was killed, 2 if
        nothing was started.
    """
    environment = os.environ if environment is None else environment
    own, program = _split(words)
    parser = _parser()
    options = parser.parse_args(own)
    if not program or program[0] in ("-m", "-c") and len(program) < 2:
        parser.print_usage(sys.stderr)
        return 2
    try:
        return _launch(options, program, environment)
    except LaunchError as problem:
        print(f"strided launch: {problem}", file=sys.stderr)
        return 2


def _launch(options: Any, program: list[str], environment: Mapping[str, str]) -> int:
    if not hasattr(os, "fork"):
        raise LaunchError("ranks are started on POSIX systems only")
    if options.ranks is not None and options.ranks < 1:
        raise LaunchError(f"-n must be 1 or more, got {options.ranks}")
    if program[0] not in ("-m", "-c") and not os.path.isfile(program[0]):
        raise LaunchError(f"there is no file {program[0]!r}")
    if options.simulate:
        if options.ranks is None:
            raise LaunchError("how many ranks? Say -n 4")
        from .simulated import run

        return run(options.ranks, program, options.as_torch)
    here = _rank.place(environment)
    if here is not None and (here.size > 1 or options.ranks in (None, 1)):  # this is a rank already
        if options.ranks not in (None, here.size):
            raise LaunchError(f"-n {options.ranks} differs from the {here.size} ranks that were started already")
        words = command("", "", here.size, options, program)[3:]
        if options.dry_run:
            return _show(words)
        os.execve(words[0], words, dict(environment))
    slurm = environment.get("SLURM_NTASKS", "")
    ranks = options.ranks or (int(slurm) if slurm.isdigit() else None)
    if ranks is None:
        raise LaunchError("how many ranks? Say -n 4")
    starter = find_starter(options.starter, environment)
    words = command(starter, flavour(starter), ranks, options, program)
    return _show(words) if options.dry_run else supervise(words, outside(environment))


def _show(words: Sequence[str]) -> int:
    import shlex

    print(shlex.join(words))
    return 0
