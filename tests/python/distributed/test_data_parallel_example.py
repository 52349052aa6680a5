"""examples/data_parallel.py has the same losses with one process, with simulated ranks, and with ranks of mpiexec."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from strided import _launch
from strided import distributed as dist

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "examples" / "data_parallel.py"
HAS_MPI = bool(_launch.find_mpiexec(os.environ) and importlib.util.find_spec("mpi4py"))
OPTIONS = ["--epochs", "2", "--batch", "84"]


def losses(text):
    found = [line for line in text.splitlines() if line.startswith("epoch")]
    assert len(found) == 2
    return found


def simulated(n, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("data_parallel", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    monkeypatch.setattr(sys, "argv", ["data_parallel.py", *OPTIONS])
    dist.simulate(n, program.main)
    return capsys.readouterr().out


@pytest.mark.parametrize("n", [2, 3, 4, 6, 7])
def test_simulated_ranks(n, monkeypatch, capsys):
    if n == 7:  # 84 / 7 points of each rank; 960 points do not go into 7 ranks, so some count twice
        assert len(losses(simulated(7, monkeypatch, capsys))) == 2
        return
    one = simulated(1, monkeypatch, capsys)
    assert losses(simulated(n, monkeypatch, capsys)) == losses(one)


@pytest.mark.skipif(not HAS_MPI, reason="no mpiexec or no mpi4py: pip install 'strided[mpi]'")
@pytest.mark.parametrize("n", [1, 4])
def test_ranks_of_mpiexec(n, monkeypatch, capsys):
    one = losses(simulated(1, monkeypatch, capsys))
    words = [sys.executable, "-m", "strided", "launch", "-n", str(n), str(PROGRAM), *OPTIONS]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert losses(done.stdout) == one and done.stdout.endswith(f"{n} rank(s)\n")
