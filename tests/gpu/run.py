"""The tests of the CUDA backend on this machine's GPU, as bench/gpu.sh runs them.

    python tests/gpu/run.py first                the device, and an operation of each family (first.py)
    python tests/gpu/run.py python [FILE...]     tests/gpu
    python tests/gpu/run.py kernels PROGRAM      the kernel tests of tests/cpp (the target cuda_device_tests)
    python tests/gpu/run.py sanitize PROGRAM     the kernel tests under compute-sanitizer

The sanitizer's tools are memcheck (addresses outside of allocations, misaligned ones), racecheck (hazards in shared
memory) and synccheck (barriers that not all threads reach).

--seconds N: what was not begun by then is named and left out (exit status 3 if nothing failed).

A kernel that reads where it must not breaks the context of its process: every later test in it fails too. So each of
the first operations, each suite of kernel tests and each file of tests has a process of its own, several at a time, and
says what it found when it ends. A suite of kernel tests that fails is run again test by test. A file's process ends
behind the test that broke it, and another one goes on with the next test (watch.py).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from first import BASIC, CHECKS
from first import run as run_check

ROOT = Path(__file__).resolve().parents[2]
AT_A_TIME = 4  # processes
TEST_SECONDS = 120  # of one test in Python, at most
SUITE_SECONDS = 90  # of a suite of kernel tests


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


def kernel_suite(program: str, suite: str, tests: list[str], clock: Clock) -> tuple[bool, str]:
    if not clock.has_time_for(suite + "*"):
        return True, ""
    begin = time.monotonic()
    code, text = run([program, "--gtest_brief=1", f"--gtest_filter={suite}*"], min(SUITE_SECONDS, clock.left()))
    if code == 124 and clock.left() <= 1:
        clock.left_out.append(f"the rest of {suite}*")
        return True, ""
    said = [f"{suite:24} {len(tests):4} tests {time.monotonic() - begin:7.1f} s  {'ok' if code == 0 else 'FAILS'}"]
    if code == 0:
        return True, said[0]
    said.append(f"  exit status {code}{' (it took too long)' if code == 124 else ''}\n{tail(text)}")
    for test in tests:
        if not clock.has_time_for(suite + test):
            continue
        code, text = run([program, "--gtest_brief=1", f"--gtest_filter={suite}{test}"], min(30, clock.left()))
        if code:
            said.append(f"  alone, too, {suite}{test} fails (exit status {code})\n{tail(text, 15)}")
    return False, "\n".join(said)


def kernels(program: str, clock: Clock) -> int:
    find_libraries()
    bad = 0
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        suites = suites_of(program).items()
        for done in as_completed([pool.submit(kernel_suite, program, *suite, clock) for suite in suites]):
            good, text = done.result()
            bad += not good
            if text:
                print(text)
    return bad


def find_libraries() -> None:
    """cuSOLVER and cuFFT where strided finds them: the program of the kernel tests has only the loader to ask."""
    import strided

    for name in ("cusolver", "cufft"):
        path = next(filter(None, (strided.cuda._nvidia.find(name, cuda) for cuda in (13, 12))), "")
        if path:
            os.environ.setdefault(f"STRIDED_{name.upper()}_LIBRARY", path)


def sanitize(program: str, clock: Clock) -> int:
    tool_path = shutil.which("compute-sanitizer")
    if not tool_path:
        print("compute-sanitizer is not installed, so the kernels were not checked by it")
        return 1
    find_libraries()
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
class Record:
    """What watch.py wrote of one file's tests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text("")

    def outcomes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self.path.read_text().splitlines():
            outcome, name = line.split(" ", 1)
            found[name] = outcome
        return found

    def stopped_in(self) -> str | None:
        """The test that has begun and has no outcome."""
        return next((name for name, outcome in self.outcomes().items() if outcome == "begins"), None)

    def write(self, outcome: str, name: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{outcome} {name}\n")


def watched(command: list[str], record: Record, clock: Clock) -> tuple[int, str]:
    """Runs it until it ends, time is up (124), or one test has taken too long (125)."""
    environment = dict(os.environ, STRIDED_WATCH=str(record.path), PYTHONPATH=str(ROOT / "tests" / "gpu"))
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(
            command, stdout=said, stderr=subprocess.STDOUT, env=environment, cwd=ROOT, start_new_session=True
        )
        size, since, code = -1, time.monotonic(), None
        while code is None:
            try:
                code = process.wait(0.2)
            except subprocess.TimeoutExpired:
                now = record.path.stat().st_size
                if now != size:
                    size, since = now, time.monotonic()
                slow = time.monotonic() - since > TEST_SECONDS
                if slow or clock.left() <= 0:
                    os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started
                    process.wait()
                    code = 125 if slow else 124
        said.seek(0)
        return code, said.read()


def test_file(path: Path, folder: Path, clock: Clock) -> tuple[list[str], str]:
    """A line for the table with what follows it; and the tests that did not pass."""
    record, begin, said, runs, broke = Record(folder / path.name), time.monotonic(), [], 0, 0
    plugins = ("watch", "no:randomly", "no:cacheprovider")
    pytest = [sys.executable, "-m", "pytest", "-q", "--tb=short", *(part for p in plugins for part in ("-p", p))]
    while clock.has_time_for(f"{'the rest of ' if runs else ''}{path.name}"):
        code, text = watched([*pytest, str(path)], record, clock)
        runs += 1
        stopped = record.stopped_in()
        if code != 0:
            said.append(tail(text, 150))
        if code == 124:
            clock.left_out.append(f"the rest of {path.name}" + (f", in {stopped}" if stopped else ""))
            break
        if stopped:  # it ended the process, or took too long
            said.append(
                f"    {stopped} {'took too long' if code == 125 else f'ended its process (exit status {code})'}"
            )
            record.write("ended", stopped)
        before, broke = broke, list(record.outcomes().values()).count("broke")
        if not stopped and broke == before:
            break
    outcomes = record.outcomes()
    names = [name for name, outcome in outcomes.items() if outcome not in ("passed", "skipped", "begins")]
    count = {o: list(outcomes.values()).count(o) for o in ("passed", "failed", "broke", "ended", "skipped")}
    counts = ", ".join(f"{n} {o}" for o, n in count.items() if n) or "no test"
    if runs and code not in (0, 5) and not names:
        names = [path.name]  # it could not be read, say
    head = f"{path.name:32} {time.monotonic() - begin:7.1f} s  {counts}{f' in {runs} processes' if runs > 1 else ''}"
    return names, "\n".join([head, *said])


def python(paths: list[str], clock: Clock) -> int:
    files = [Path(p).resolve() for p in paths] or sorted((ROOT / "tests" / "gpu").glob("test_*.py"))
    # What takes longest begins first.
    files.sort(key=lambda path: "host_access" not in path.name)
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        for done in as_completed([pool.submit(test_file, path, Path(folder), clock) for path in files]):
            names, text = done.result()
            bad += names
            print(text)
    for name in bad:
        print("did not pass:", name)
    return len(bad)


# ---------------------------------------------------------------- the first operations
def one_of_the_first(name: str, clock: Clock) -> tuple[str, int | None, str]:
    if not clock.has_time_for(name):
        return name, None, ""
    return name, *run([sys.executable, __file__, "check", name], min(120, clock.left()))


def first(clock: Clock) -> int:
    """2 where nothing else has a meaning."""
    code, text = run([sys.executable, __file__, "device"], 120)
    print(text.rstrip())
    if code:
        return 2
    failed = []
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for done in as_completed([pool.submit(one_of_the_first, name, clock) for name in CHECKS]):
            name, code, text = done.result()
            if code is None:
                continue
            print(f"  {name}: {'ok' if code == 0 else f'FAILS (exit status {code})'}")
            if code:
                failed.append(name)
                print(tail(text, 12))
    return 2 if any(name in failed for name in BASIC) else 1 if failed else 0


def device() -> int:
    import strided as torch

    if not torch.cuda.is_available():
        print("no device can be used:", torch._C.functions["_cuda_why_none"]())
        return 1
    print(f"strided {torch.__version__} of {Path(torch.__file__).parent}")
    print(os.environ.get("STRIDED_CUDA_LIBRARY", "the CUDA library beside the extension"))
    print(torch.cuda.get_device_properties(0))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("first", "kernels", "python", "sanitize", "device", "check"))
    parser.add_argument("names", nargs="*", help="the tests' program; files of tests; a check")
    parser.add_argument("--seconds", type=float, default=86400)
    arguments = parser.parse_args()
    what, names = arguments.what, arguments.names
    if what in ("kernels", "sanitize", "check") and len(names) != 1:
        parser.error(f"{what} needs one name")
    sys.stdout.reconfigure(line_buffering=True)
    if what == "device":
        return device()
    if what == "check":
        return run_check(names[0])
    clock = Clock(arguments.seconds)
    if what == "first":
        status = first(clock)
    elif what == "python":
        status = min(python(names, clock), 1)
    else:
        status = min({"kernels": kernels, "sanitize": sanitize}[what](names[0], clock), 1)
    if clock.left_out:
        print("left out for want of time:", ", ".join(clock.left_out))
    return status or (3 if clock.left_out else 0)


if __name__ == "__main__":
    sys.exit(main())
