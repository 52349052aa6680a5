"""What a report of a bug should say of the machine: ``python -m strided.utils.collect_env``."""

from __future__ import annotations

import io
import platform
import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = [
    "get_clang_version", "get_cmake_version", "get_cpu_info", "get_gcc_version", "get_gpu_info", "get_libc_version",
    "get_nvidia_driver_version", "get_platform", "get_pretty_env_info", "get_python_platform", "main", "run",
    "run_and_parse_first_match", "run_and_read_all",
]  # fmt: skip


def run(command: str | list[str]) -> tuple[int, str, str]:
    """Exit status, output and errors of a command: of the shell where it is a text.  127: there is no such program.

    >>> run("echo 3")
    (0, '3', '')
    """
    try:
        done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, check=False)
    except FileNotFoundError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout.decode(errors="replace").strip(), done.stderr.decode(errors="replace").strip()


def run_and_read_all(run_lambda: Callable[..., Any], command: Any) -> str | None:
    """The output of a command, None where it failed; ``run_lambda`` is ``run``, or stands in for it."""
    status, out, _ = run_lambda(command)
    return out if status == 0 else None


def run_and_parse_first_match(run_lambda: Callable[..., Any], command: Any, regex: str) -> str | None:
    """The first group of the regular expression in the output of a command; None where there is none."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return found.group(1) if found else None


def get_gcc_version(run_lambda: Callable[..., Any]) -> str | None:
    """Version of gcc, or None."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: Callable[..., Any]) -> str | None:
    """Version of clang, or None."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: Callable[..., Any]) -> str | None:
    """Version of CMake, or None."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_nvidia_driver_version(run_lambda: Callable[..., Any]) -> str | None:
    """Version of NVIDIA's driver, or None."""
    query = "nvidia-smi --query-gpu=driver_version --format=csv,noheader"
    return (run_and_read_all(run_lambda, query) or "").partition("\n")[0] or None


def get_gpu_info(run_lambda: Callable[..., Any]) -> str | None:
    """The CUDA devices, one line each; None where there are none."""
    import strided

    names = [strided.cuda.get_device_name(i) for i in range(strided.cuda.device_count())]
    return "\n".join(f"GPU {i}: {name}" for i, name in enumerate(names)) or None


def get_cpu_info(run_lambda: Callable[..., Any]) -> str:
    """What lscpu says, or the name of the processor."""
    return run_and_read_all(run_lambda, "lscpu") or platform.processor()


def get_platform() -> str:
    """The operating system: linux, darwin, win32."""
    return sys.platform


def get_python_platform() -> str:
    """System and machine in one text."""
    return platform.platform()


def get_libc_version() -> str:
    """Name and version of the C library on Linux, N/A elsewhere."""
    return "-".join(platform.libc_ver()) if sys.platform == "linux" else "N/A"


def get_pretty_env_info() -> str:
    """The report of ``python -m strided info``, without the self-test.

    >>> "python" in get_pretty_env_info()
    True
    """
    import strided

    from .._commands.info import info
    from .._commands.terminal import Screen

    out = io.StringIO()
    info(strided, Screen(out))
    return out.getvalue().partition("\nSelf-test")[0].strip() + "\n"


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info(), end="")


if __name__ == "__main__":
    main()
