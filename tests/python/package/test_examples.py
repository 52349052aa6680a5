"""The programs in examples/ run, and give with strided what they give with PyTorch."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_digits(tmp_path):
    for needed in ("sklearn", "matplotlib"):
        pytest.importorskip(needed)
    program, picture = str(EXAMPLES / "digits.py"), tmp_path / "loss.png"
    text = run(program, "--epochs", "6", "--plot", str(picture))
    accuracy = [float(percent) for percent in re.findall(r"([\d.]+)%", text)]
    assert len(accuracy) == 2 and min(accuracy) > 85
    assert picture.read_bytes().startswith(b"\x89PNG")
    if importlib.util.find_spec("torch"):
        theirs = run(program, "--epochs", "6", "--plot", "", "--lib", "torch")
        assert re.findall(r"last loss [\d.]+|[\d.]+%", theirs) == re.findall(r"last loss [\d.]+|[\d.]+%", text)
