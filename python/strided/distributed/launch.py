"""The older name of ``strided.distributed.run`` (``python -m strided.distributed.launch``).

    python -m strided.distributed.launch --nproc-per-node=2 program.py

Without ``--use-env`` the program gets ``--local-rank=N`` before its own arguments, as PyTorch's has it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import run as _run

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_SHIM = (
    "import os, runpy, sys\n"
    "sys.argv[:] = [sys.argv[1], '--local-rank=' + os.environ['LOCAL_RANK'], *sys.argv[2:]]\n"
    "sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))\n"
    "runpy.run_path(sys.argv[0], run_name='__main__')\n"
)


def main(args: Sequence[str] | None = None) -> None:
    """The command; exits with its status."""
    import sys

    parser = _run.get_args_parser()
    parser.prog = "python -m strided.distributed.launch"
    parser.add_argument("--use-env", "--use_env", action="store_true", help="no --local-rank: LOCAL_RANK says it")
    options = parser.parse_args(args)
    if options.use_env or options.module or not os.path.isfile(options.training_script):
        sys.exit(_run.run(options))
    options.training_script_args = [_SHIM, options.training_script, *options.training_script_args]
    options.training_script = "-c"
    sys.exit(_run.run(options))


if __name__ == "__main__":
    main()
