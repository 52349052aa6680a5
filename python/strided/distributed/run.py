"""PyTorch's ``torchrun`` (``python -m strided.distributed.run``): ``python -m strided launch`` with its options.

    python -m strided.distributed.run --standalone --nproc-per-node=4 program.py

starts four ranks on this machine.  Ranks find each other by MPI where it is, else by TCP: addresses, ports and
rendezvous are read, and told to the program in MASTER_ADDR and MASTER_PORT.  Several machines are mpiexec's and srun's,
which launch asks.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from .._as_torch import is_installed

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def _machines(text: str) -> int:
    """The least number of machines of "2" and "1:4"."""
    return int(text.partition(":")[0])


def _ranks(text: str) -> int:
    if text in ("cpu", "auto", "gpu"):
        from ..cuda import device_count

        found = device_count() if text != "cpu" else 0
        if text == "gpu" and not found:
            raise ValueError("torchrun: --nproc-per-node=gpu, and there is no GPU")
        return found or os.cpu_count() or 1
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"Unsupported nproc_per_node value: {text}") from None


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m strided.distributed.run",
        description="Starts a program on several ranks of this machine, as python -m strided launch does.",
    )

    def add(name: str, *others: str, **options: object) -> None:
        both = [name, *others, name.replace("-", "_").replace("__", "--", 1)]
        parser.add_argument(*dict.fromkeys(both), **options)  # type: ignore[arg-type]

    add("--nproc-per-node", default="1", help="ranks: a number, cpu, gpu or auto (default: 1)")
    add("--nnodes", default="1", help="machines; only 1: for more there are srun and mpiexec")
    add("--standalone", action="store_true", help="accepted: every job is one of this machine")
    add("--module", "-m", action="store_true", help="the program is a module, as in python -m")
    add("--no-python", action="store_true", help="not there: programs are Python's")
    add("--master-addr", default="127.0.0.1", help="told to the program in MASTER_ADDR (default: 127.0.0.1)")
    add("--master-port", default="29500", help="told to the program in MASTER_PORT (default: 29500)")
    add("--node-rank", default="0", help="0")
    add("--max-restarts", default="0", help="accepted, without effect: a job that fails is not started again")
    for name in ("rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "monitor-interval", "start-method", "role",
                 "log-dir", "redirects", "tee", "local-addr", "local-ranks-filter", "logs-specs"):  # fmt: skip
        add(f"--{name}", help="accepted, without effect")
    add("--run-path", action="store_true", help="accepted, without effect")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The command line, read; that of the process if None."""
    return get_args_parser().parse_args(args)


def run(args: argparse.Namespace) -> int:
    """Runs the program; the exit status of the rank that failed, else 0."""
    from importlib.util import find_spec

    from .._launch import find_mpiexec, launch

    try:
        ranks, machines = _ranks(args.nproc_per_node), _machines(args.nnodes)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    if machines != 1 or args.no_python:
        what = "--no-python" if args.no_python else f"--nnodes={args.nnodes}"
        print(
            f"strided.distributed.run: {what}: srun or mpiexec starts ranks on several machines, "
            "and python -m strided launch asks them to",
            file=sys.stderr,
        )
        return 2
    environment = {**os.environ, "MASTER_ADDR": args.master_addr, "MASTER_PORT": str(args.master_port)}
    without: list[str] = []
    if find_mpiexec(environment) is None or find_spec("mpi4py") is None:
        print("strided.distributed.run: there is no MPI here; the ranks connect by TCP", file=sys.stderr)
        without = ["--with", "tcp"]
    as_torch = ["--as-torch"] if is_installed() else []
    words = [
        "-n",
        str(ranks),
        *without,
        *as_torch,
        *(["-m"] if args.module else []),
        args.training_script,
        *args.training_script_args,
    ]
    return launch(words, environment)


def main(args: Sequence[str] | None = None) -> None:
    """The command; exits with its status."""
    sys.exit(run(parse_args(args)))


if __name__ == "__main__":
    main()
