"""A rank that raises, exits, returns early or is killed ends the job on all ranks, with one message that names it and
the call. On real processes, where mpiexec and mpi4py are."""

import importlib.util
import os
import subprocess
import sys
import time

import pytest
from strided import _launch

MPIEXEC = _launch.find_mpiexec(os.environ)
pytestmark = pytest.mark.skipif(
    not (MPIEXEC and importlib.util.find_spec("mpi4py")), reason="no mpiexec or no mpi4py: pip install 'strided[mpi]'"
)

PROGRAM = """\
import os, signal, sys, time
import strided
from strided import distributed as dist
dist.init_process_group()
rank = dist.get_rank()
x = strided.ones(3)
dist.all_reduce(x)
{fault}
dist.all_reduce(x)
dist.barrier()
"""
BY_ITSELF = "if rank == 1: {}"
FROM_OUTSIDE = """\
pids = [None] * dist.get_world_size()
dist.all_gather_object(pids, os.getpid())
if rank == 0:
    time.sleep(0.5)  # rank 1 waits in the barrier by now
    os.kill(pids[1], signal.SIGKILL)
    time.sleep(60)
dist.barrier()"""
AFTER = "after all_reduce, call 1 on the default group"
WAITS = "rank 1 of the default group ended (returned, or called sys.exit), while rank 0 waits in all_reduce, call 2"
# fault: (code, status by launch, its message, the message by mpiexec alone; None where MPI's own is all there is)
FAULTS = {
    "raises": (BY_ITSELF.format("raise ValueError('no data')"), 1, f"raised ValueError: no data, {AFTER}",
               f"rank 1 of 3 ended the job, {AFTER}: ValueError: no data"),
    "exits": (BY_ITSELF.format("sys.exit(3)"), 3, f"called sys.exit(3), {AFTER}", WAITS),
    "returns": (BY_ITSELF.format("sys.exit()"), 1, WAITS, WAITS),
    "killed": (BY_ITSELF.format("os.kill(os.getpid(), signal.SIGKILL)"), 137, f"was killed by SIGKILL, {AFTER}", None),
    "killed while it waits": (FROM_OUTSIDE, 137, "was killed by SIGKILL, in barrier, call", None),
}  # fmt: skip


def run(words, timeout="60"):
    """Returns (status, seconds, output, errors); STRIDED_DISTRIBUTED_TIMEOUT is more than a job may take."""
    begin = time.monotonic()
    environment = os.environ | {"STRIDED_DISTRIBUTED_TIMEOUT": timeout, "STRIDED_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=90, env=environment)
    return done.returncode, time.monotonic() - begin, done.stdout, done.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_under_launch(fault, tmp_path):
    code, expected, text, _ = FAULTS[fault]
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(fault=code))
    status, seconds, out, err = run([sys.executable, "-m", "strided", "launch", "-n", "3", str(script)])
    assert status == expected and seconds < 30, err
    said = [line for line in err.splitlines() if line.startswith("strided launch:")]
    assert len(said) == 1 and text in said[0]
    assert ("rank 0 of 3" if fault == "returns" else "rank 1 of 3") in said[0]
    assert "BAD TERMINATION" not in out + err and err.count("Traceback") == (fault in ("raises", "returns"))


@pytest.mark.parametrize("fault", FAULTS)
def test_under_mpiexec_alone(fault):
    code, _, _, text = FAULTS[fault]
    words = [MPIEXEC, "-n", "3", sys.executable, "-c", PROGRAM.format(fault=code)]
    status, seconds, out, err = run(words)
    assert status != 0 and seconds < 30
    if text is None:
        assert "KILLED" in (out + err).upper()
    else:
        assert err.count("ended the job") == 1 and text in err


def test_a_rank_that_does_not_come_runs_into_the_time_limit():
    fault = "if rank == 1: time.sleep(60)"
    status, seconds, _, err = run([MPIEXEC, "-n", "2", sys.executable, "-c", PROGRAM.format(fault=fault)], "2")
    assert status != 0 and seconds < 30
    assert "rank 0 waited 2.0 s in all_reduce on the default group (call 2)" in err


def test_ranks_may_end_at_different_times():
    """The work of one rank after the last call is not disturbed by the end of the others."""
    program = PROGRAM.format(fault="pass") + "if rank == 1:\n    time.sleep(1.5)\n    print('written')\n"
    status, _, out, err = run([MPIEXEC, "-n", "3", sys.executable, "-c", program])
    assert (status, out, err) == (0, "written\n", "")


def test_mismatched_calls_are_told_once_under_launch(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(fault="x = strided.ones(3 + (rank == 2))"))
    status, seconds, _, err = run([sys.executable, "-m", "strided", "launch", "-n", "3", str(script)])
    assert status == 1 and seconds < 30 and err.count("strided launch:") == 1
    assert "MismatchError" in err and "rank" in err
