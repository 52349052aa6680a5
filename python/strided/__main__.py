"""``python -m strided``: the commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; without one, prints the usage.

    Args:
        arguments: the words after ``python -m strided``; those of this process if None.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m strided", description="Tensors in PyTorch's language.")
    commands = parser.add_subparsers(dest="command", metavar="command")
    commands.add_parser("info", help="version, build, devices, and a self-test")
    commands.add_parser(
        "run", help="a script, -m module or -c code, where `import torch` gives strided", add_help=False
    )
    commands.add_parser("launch", help="a program on several ranks, by mpiexec or srun", add_help=False)
    from .files._commands import add_commands, run_command

    add_commands(commands)
    commands.add_parser("tour", help="a guided run through views, fits, batches and errors; under a minute")
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["run"]:  # the rest is the program's
        from ._as_torch import run

        return run(words[1:])
    if words[:1] == ["launch"]:
        from ._launch import launch

        return launch(words[1:])
    parsed = parser.parse_args(words)
    command = parsed.command
    if command is None:
        parser.print_help()
        return 0
    if command in ("inspect", "convert"):
        return run_command(parsed)

    # Only now, so that the usage is there at once and whatever is broken below.
    import strided

    from ._commands.terminal import Screen

    if command == "info":
        from ._commands.info import info

        return info(strided, Screen())
    from ._commands.tour import tour

    try:
        tour(strided, Screen())
    except KeyboardInterrupt:
        print("\nstopped")
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
