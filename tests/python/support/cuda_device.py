"""Which device the CUDA tests run on: a GPU; else emulated devices, if their library was built; else none, and they
skip."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def has_gpu() -> bool:
    """Whether this machine has one; its first need not have the number 0 in a container."""
    return any(re.fullmatch(r"nvidia\d+|dxg", p.name) for p in Path("/dev").iterdir())


def choose() -> None:
    """Called before strided is imported."""
    library = os.environ.get("STRIDED_TEST_CUDA_LIBRARY")
    if has_gpu() or "STRIDED_EMULATE_CUDA" in os.environ or not (library and Path(library).exists()):
        return
    os.environ["STRIDED_CUDA_LIBRARY"] = library
    os.environ["STRIDED_EMULATE_CUDA"] = "2"
    os.environ["STRIDED_EMULATE_CUDA_CLOSED"] = "1"  # the host cannot touch device memory, as it could not on a GPU
    os.environ.setdefault("STRIDED_EMULATE_LATE", "1")  # and streams are as far behind as those of a GPU may be


def lend_lapack() -> None:
    """Called after strided is imported: the emulated devices' cuSOLVER is made of the LAPACK that strided finds."""
    import strided

    os.environ.setdefault("STRIDED_TEST_LAPACK", strided.linalg._lapack.find())


def emulated() -> bool:
    return "STRIDED_EMULATE_CUDA" in os.environ


def needs(devices=1):
    """The mark of tests that need so many devices."""
    import strided

    have = strided.cuda.device_count()
    why = strided._C.functions["_cuda_why_none"]() or f"there are {have}"
    return pytest.mark.skipif(have < devices, reason=f"needs {devices} CUDA device{'s' * (devices > 1)}: {why}")


def run(code, **environment):
    """What a program prints, with these variables in its environment."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
