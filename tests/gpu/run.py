"""The tests of the CUDA backend on this machine's GPU, as bench/gpu.sh runs them.

    python tests/gpu/run.py first                the device, and a few operations
    python tests/gpu/run.py kernels PROGRAM      the kernel tests of tests/cpp (the target cuda_device_tests)
    python tests/gpu/run.py python               tests/gpu
    python tests/gpu/run.py sanitize PROGRAM     the kernel tests under compute-sanitizer

The sanitizer's tools are memcheck (addresses outside of allocations, misaligned ones), racecheck (hazards in shared
memory) and synccheck (barriers that not all threads reach).

--seconds N: what was not begun by then is named and left out (exit status 3 if nothing failed).

A kernel that reads where it must not breaks the context of its process: every later test in it fails too. So each suite
of kernel tests has a process of its own, and what fails is run again alone: the tests that fail then are the ones to
look at.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AGAIN = 30  # tests that are run alone, at most


class Clock:
    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.left_out: list[str] = []

    def left(self) -> float:
        return self.end - time.monotonic()

    def has_time_for(self, what: str) -> bool:
        if self.left() > 1:
            return True
        self.left_out.append(what)
        return False


def run(command: list[str], seconds: float) -> tuple[int, str]:
    """Exit status (124: it took too long) and what was said."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds
        )
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
        return 124, said.decode(errors="replace") if isinstance(said, bytes) else said
    return done.returncode, done.stdout


def tail(text: str, lines: int = 40) -> str:
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


# ---------------------------------------------------------------- kernels
def suites_of(program: str) -> dict[str, list[str]]:
    code, text = run([program, "--gtest_list_tests"], 60)
    if code:
        raise SystemExit(f"{program} does not start (exit status {code})\n{tail(text)}")
    suites: dict[str, list[str]] = {}
    suite = ""
    for line in text.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            suites[suite].append(word)
        elif re.fullmatch(r"[\w/]+\.", word):
            suite = word
            suites[suite] = []
    return suites


def kernels(program: str, clock: Clock) -> int:
    bad = 0
    for suite, tests in suites_of(program).items():
        if not clock.has_time_for(suite + "*"):
            continue
        begin = time.monotonic()
        code, text = run([program, "--gtest_brief=1", f"--gtest_filter={suite}*"], clock.left())
        print(f"{suite:24} {len(tests):4} tests {time.monotonic() - begin:7.1f} s  {'ok' if code == 0 else 'FAILS'}")
        if code == 0:
            continue
        bad += 1
        print(f"  exit status {code}{' (it took too long)' if code == 124 else ''}\n{tail(text)}")
        for test in tests:
            if not clock.has_time_for(suite + test):
                continue
            code, text = run([program, "--gtest_brief=1", f"--gtest_filter={suite}{test}"], min(30, clock.left()))
            if code:
                print(f"  alone, too, {suite}{test} fails (exit status {code})\n{tail(text, 15)}")
    return bad


def sanitize(program: str, clock: Clock) -> int:
    tool_path = shutil.which("compute-sanitizer")
    if not tool_path:
        print("compute-sanitizer is not installed, so the kernels were not checked by it")
        return 1
    suites = suites_of(program)
    bad = 0
    for tool in ("memcheck", "racecheck", "synccheck"):
        for suite in suites:
            if not clock.has_time_for(f"{tool} of {suite}*"):
                continue
            begin = time.monotonic()
            # (A call of the run time that fails raises an exception here, which the tests are about.)
            command = [tool_path, "--tool", tool, "--error-exitcode", "9", "--report-api-errors", "no", program]
            code, text = run([*command, "--gtest_brief=1", f"--gtest_filter={suite}*"], clock.left())
            if code == 124:
                clock.left_out.append(f"the rest of {tool} of {suite}*")
            said = "ok" if code == 0 else "not done in time" if code == 124 else "FAILS"
            print(f"{tool:10} {suite:24} {time.monotonic() - begin:7.1f} s  {said}")
            if code not in (0, 124):
                bad += 1
                found = [line for line in text.splitlines() if "=========" in line]
                print(tail("\n".join(found[:40] or text.splitlines())))
    return bad


# ---------------------------------------------------------------- Python
def python(clock: Clock) -> int:
    cache = ROOT / "build" / "gpu_tests_cache"
    shutil.rmtree(cache, ignore_errors=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-o", f"cache_dir={cache}", "-p", "no:randomly"]
    several = ["-n", "4"] if importlib.util.find_spec("xdist") else []  # a worker that dies is replaced
    code, text = run([*pytest, *several, str(ROOT / "tests" / "gpu")], max(clock.left() * 0.8, 1))
    print(text.rstrip())
    if code == 0:
        return 0
    if code == 124:
        clock.left_out.append("the rest of tests/gpu")
    failed = cache / "v" / "cache" / "lastfailed"
    names = list(json.loads(failed.read_text())) if failed.exists() else []
    for name in names[:AGAIN]:
        if not clock.has_time_for(name):
            continue
        alone, text = run([*pytest, name], min(60, clock.left()))
        print(f"  alone {name} {'passes' if alone == 0 else 'fails, too'}")
    return 1


# ---------------------------------------------------------------- the first operations
def first() -> int:
    import strided as torch

    if not torch.cuda.is_available():
        print("no device can be used:", torch._C.functions["_cuda_why_none"]())
        return 1
    properties = torch.cuda.get_device_properties(0)
    print(f"strided {torch.__version__} of {Path(torch.__file__).parent}")
    print(os.environ.get("STRIDED_CUDA_LIBRARY", "the CUDA library beside the extension"))
    print(properties)
    x = torch.arange(6.0).reshape(2, 3)
    y = x.cuda()
    large = torch.arange(1 << 16, device="cuda")
    a = torch.randn(130, 70)
    checks = {
        "a copy there and back": lambda: (y.cpu(), x),
        "a launch": lambda: (y + 1, x + 1),
        "strides": lambda: (y.t()[::2] * 2, x.t()[::2] * 2),
        "a reduction": lambda: (large.sum(), torch.tensor((1 << 16) * ((1 << 16) - 1) // 2)),
        "a scan": lambda: (large.cumsum(0)[-1], torch.tensor((1 << 16) * ((1 << 16) - 1) // 2)),
        "a sort": lambda: (large.flip(0).sort().values[:3], torch.tensor([0, 1, 2])),
        "a product of float32": lambda: (a.cuda() @ a.cuda().t(), a @ a.t()),
        "a product of bfloat16": lambda: ((a.cuda().bfloat16() @ a.cuda().bfloat16().t()).float(), a @ a.t()),
        "a linear system": lambda: (
            torch.linalg.solve(torch.eye(70).cuda() * 9 + a[:70].cuda(), a[:70].cuda()),
            torch.linalg.solve(torch.eye(70) * 9 + a[:70], a[:70]),
        ),
        "an index": lambda: (y[torch.tensor([1, 0]).cuda()], x[[1, 0]]),
        "random numbers": lambda: (torch.rand(1000, device="cuda").lt(1).all(), torch.tensor(True)),
    }
    for name, check in checks.items():
        try:
            got, want = check()
            torch.cuda.synchronize()
            good = torch.allclose(got.cpu().double(), want.double(), rtol=2e-2, atol=0.2)
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {error}")
            return 1
        print(f"  {name}: {'ok' if good else f'WRONG, {got} instead of {want}'}")
        if not good:
            return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("first", "kernels", "python", "sanitize"))
    parser.add_argument("program", nargs="?", help="of kernels and sanitize: the tests' program")
    parser.add_argument("--seconds", type=float, default=86400)
    arguments = parser.parse_args()
    if arguments.what in ("kernels", "sanitize") and not arguments.program:
        parser.error(f"{arguments.what} needs the program")
    sys.stdout.reconfigure(line_buffering=True)
    if arguments.what == "first":
        return first()
    clock = Clock(arguments.seconds)
    if arguments.what == "python":
        bad = python(clock)
    else:
        bad = {"kernels": kernels, "sanitize": sanitize}[arguments.what](arguments.program, clock)
    if clock.left_out:
        print("left out for want of time:", ", ".join(clock.left_out))
    return 1 if bad else 3 if clock.left_out else 0


if __name__ == "__main__":
    sys.exit(main())
