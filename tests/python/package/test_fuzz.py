"""No call may crash: every function and method is called with wrong kinds, shapes, dtypes, axes, sizes and memory.

The calls are those of hostile_calls.py: they should fit, or have one or two arguments replaced by something hostile. A
call must return or raise an ordinary exception, must not write to read-only memory, nor to anything if it is refused,
and whatever it returns must be readable. The calls are made in processes of their own, with a limit on memory and time,
so that a crash is reported with the call that did it. The calls are the same in every run.

`python tests/python/package/test_fuzz.py add 17` repeats one call, in this process.
"""

import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))  # for the processes, which run this file
from hostile_calls import all_targets, describe, method_targets, perform, untyped_targets  # noqa: E402

CALLS = 80  # of each overload
CALLS_OF_PYTHON = 25  # of each function and class written in Python
MEMORY = 1 << 30  # address space beyond what the process had at its start
SECONDS = 20  # for one call
SHARES = 8  # of the calls: tests that run side by side
MOST_CRASHES = 8  # of one worker, before it gives up


def every_target(strided):
    return all_targets(strided) + untyped_targets(strided) + method_targets(strided)


def all_calls(strided):
    """(name, signature, number) of every call."""
    compiled = strided._C.functions
    return [
        (name, signature, k)
        for name, signature in every_target(strided)
        for k in range(CALLS if signature is None or name in compiled else CALLS_OF_PYTHON)
    ]


# ---------------------------------------------------------------- processes


def work(share, of, skip, progress):
    """Makes this worker's calls from position `skip` on; writes the position before each, and prints the problems."""
    import strided

    strided.set_num_threads(2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    calls = all_calls(strided)[share::of]
    problems = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some methods print
    with open(progress, "r+b", buffering=0) as file:
        for position in range(skip, len(calls)):
            os.pwrite(file.fileno(), f"{position:12d}".encode(), 0)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            if problem := perform(strided, *calls[position]):
                print(json.dumps([position, problem]), file=problems, flush=True)
    faulthandler.cancel_dump_traceback_later()


def run_share(share):
    """All calls of one worker, restarted after each crash: the problems as (position, text)."""
    problems, crashes, skip = [], 0, 0
    while True:
        # (In a folder of its own: some functions write files.)
        with tempfile.NamedTemporaryFile() as progress, tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(Path(__file__).resolve()), "--work", str(share), str(SHARES), str(skip)]
            command.append(progress.name)
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder)
            position = Path(progress.name).read_text().strip()
        problems += [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode == 0:
            return problems
        if not position:
            return [*problems, (-1, f"the worker did not start: {done.stderr[-2000:]}")]
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit status {done.returncode}"
        problems.append((int(position), f"{how}\n{done.stderr[-1500:]}"))
        crashes, skip = crashes + 1, int(position) + 1
        if crashes >= MOST_CRASHES:
            return [*problems, (-1, f"worker {share} gave up after {crashes} crashes")]


@pytest.mark.parametrize("share", range(SHARES))
def test_no_call_crashes(share):
    import strided

    calls = all_calls(strided)[share::SHARES]
    found = []
    for position, text in run_share(share):
        if position < 0:
            found.append(text)
            continue
        name, signature, number = calls[position]
        found.append(f"{name} {number}: {text}\n  {describe(name, signature, number)}")
    if found:
        pytest.fail(f"{len(found)} calls ended badly:\n\n" + "\n\n".join(found), pytrace=False)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        import strided

        faulthandler.enable()
        for name, signature in every_target(strided):
            if name == sys.argv[1]:
                print(describe(name, signature, int(sys.argv[2])), flush=True)
                print(perform(strided, name, signature, int(sys.argv[2])) or "ended well")
