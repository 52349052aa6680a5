"""examples/large_system.py solves its system on simulated ranks, and no rank has more of the matrix than its share."""

import importlib.util
import pathlib
import re
import sys

import pytest
from strided import distributed as dist

PROGRAM = pathlib.Path(__file__).resolve().parents[3] / "examples" / "large_system.py"


@pytest.mark.parametrize("n", [1, 4, 6])
def test_simulated_ranks(n, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("large_system", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    monkeypatch.setattr(sys, "argv", ["large_system.py", "--n", "60"])
    dist.simulate(n, program.main)
    said = capsys.readouterr().out
    whole, share = re.search(r"the matrix has (\d+) bytes, a rank at most (\d+)", said).groups()
    assert int(whole) == 60 * 60 * 8 and int(share) == int(whole) // n
    backward, error = map(float, re.search(r"backward error (\S+), largest error of x (\S+)", said).groups())
    assert backward < 1e-14 and error < 1e-9
    assert ("30:60" in said) == (n == 6)  # the picture of a grid of 2 x 3
