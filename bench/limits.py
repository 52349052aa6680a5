"""The machine's limits, from bench/limits.cpp, and the part of them that a case reaches."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LEVELS = {"L1": 32 << 10, "L2": 512 << 10, "L3": 8 << 20}  # where this many bytes find room; the rest is memory


def measure(threads: int) -> dict[str, float] | None:
    """Bytes and operations a second, by name; None where no C++ compiler is found."""
    named = shlex.split(os.environ.get("CXX", ""))  # perhaps with a launcher before it
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    compiler = named or ([found] if found else [])
    if not compiler:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program, source = f"{folder}/limits", Path(__file__).with_name("limits.cpp")
        command = [*compiler, "-O3", "-march=native", "-std=c++17", "-pthread", str(source), "-o", program]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode:
            print(f"limits.cpp was not compiled: {built.stderr.splitlines()[:1]}", file=sys.stderr)
            return None
        return json.loads(subprocess.run([program, str(threads)], capture_output=True, text=True, check=True).stdout)


def text(machine: dict[str, float]) -> str:
    rates = [f"{level} {machine[f'copy_{level}'] / 1e9:.0f}" for level in ("L1", "L2", "L3", "memory")]
    work = f"{machine['flops_f4'] / 1e9:.0f} GFLOP/s in float32, {machine['flops_f8'] / 1e9:.0f} in float64"
    return f"copies at {', '.join(rates)} GB/s; {work}"


def reached(case, seconds: float, machine: dict[str, float]) -> float | None:
    """The larger part: of the bandwidth of the level that the case's bytes fit in, or of the operations."""
    parts = []
    if case.moved:
        level = next((name for name, room in LEVELS.items() if case.moved <= room), "memory")
        parts.append(case.moved / seconds / machine[f"copy_{level}"])
    if case.flops:
        parts.append(case.flops / seconds / machine["flops_f8" if case.double else "flops_f4"])
    return max(parts, default=None)
