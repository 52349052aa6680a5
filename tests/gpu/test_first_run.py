"""What the first run on a GPU is made of goes on behind a kernel that breaks the device for its process."""

import json
import subprocess
import sys
from pathlib import Path

import cuda_device
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    cuda_device.needs(1),
    pytest.mark.skipif(not cuda_device.emulated(), reason="a launch breaks the device on purpose"),
]


def run(monkeypatch, *command, fault):
    monkeypatch.setenv("STRIDED_EMULATE_FAULT", str(fault))
    done = subprocess.run(
        [sys.executable, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )
    return done.returncode, done.stdout


TESTS = """
import os
import pytest
import strided as torch

def launches():  # two of them
    return torch.ones(3, device="cuda") + 1

def test_good():
    assert launches().tolist() == [2.0] * 3
def test_breaks():
    launches()
def test_behind_it():
    assert launches().tolist() == [2.0] * 3
@pytest.mark.skip(reason="left out")
def test_left_out():
    pass
def test_wrong():
    assert False
def test_dies():
    os._exit(9)
def test_last():
    assert launches().shape == (3,)
"""


def test_tests_go_on_in_another_process(tmp_path, monkeypatch):
    file = tmp_path / "test_some.py"
    file.write_text(TESTS)
    # (Where there is a device, watch.py adds launches only after a failure.)
    code, said = run(monkeypatch, ROOT / "tests" / "gpu" / "run.py", "python", file, fault=4)
    assert code == 1
    assert "3 passed, 1 failed, 1 broke, 1 ended, 1 skipped in 3 processes" in said, said
    bad = [line.split("::")[1] for line in said.splitlines() if line.startswith("did not pass:")]
    assert bad == ["test_breaks", "test_wrong", "test_dies"], said


def test_first_operations_do_not_spoil_each_other(monkeypatch):
    code, said = run(monkeypatch, ROOT / "tests" / "gpu" / "run.py", "first", fault=12)
    assert code == 1
    assert "a launch: ok" in said and "functions of elements: FAILS" in said and "a file: ok" in said, said
    assert "unspecified launch failure" in said


def test_figures_go_on_in_another_process(tmp_path, monkeypatch):
    file = tmp_path / "figures.json"
    options = ("--smoke", "--libraries", "", "--only", "float", "--json", file)
    code, said = run(monkeypatch, ROOT / "bench" / "gpu.py", *options, fault=60)
    found = json.loads(file.read_text())
    assert code == 1 and 1 <= len(found["failed"]) < 8, said
    assert said.count("the device no longer answers") == len(found["failed"])
    assert "begun" not in found
    names = {c["name"] for c in found["cases"]} | {c["name"] for c in found["failed"]}
    assert {"copy", "float32 to float64", "float64 64 x 64 @ 64 x 64"} <= {n.split(" of ")[0] for n in names}, names


def test_figures_go_on_behind_a_case_that_did_not_end(tmp_path, monkeypatch):
    file = tmp_path / "figures.json"
    options = ("--smoke", "--libraries", "", "--only", "float32 to", "--json", file)
    file.write_text(json.dumps({"cases": [], "done": ["submitting"], "begun": "copy of 1 MB"}))
    code, said = run(monkeypatch, ROOT / "bench" / "gpu.py", *options, "--resume", fault=0)
    found = json.loads(file.read_text())
    assert code == 1 and found["failed"] == [{"name": "copy of 1 MB", "error": "the process was stopped in it"}], said
    assert [c["name"] for c in found["cases"]] == ["float32 to float64"] and "submit" not in found, said
