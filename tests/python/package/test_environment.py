"""No test depends on the environment of the shell that starts it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import environment
import pytest

TESTS = Path(__file__).resolve().parents[1]
BENCH = TESTS.parents[1] / "bench"
HOSTILE = {
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "3",
    "OMP_NUM_THREADS": "3",
    "MKL_NUM_THREADS": "3",
    "STRIDED_NUM_THREADS": "1",
    "PYTHONWARNINGS": "default",
    "PYTHONHASHSEED": "7",
    "PYTHONUNBUFFERED": "1",
    "COLUMNS": "30",
    "LINES": "5",
    "NO_COLOR": "1",
    "FORCE_COLOR": "1",
}


def test_what_is_left_out():
    kept = {"PATH": "/bin", "HOME": "/", "STRIDED_ISA": "v2", "STRIDED_TEST_CUDA_LIBRARY": "x.so", "PYTHONPATH": "y"}
    everything = kept | HOSTILE
    environment.clean(everything)
    assert everything == kept


def test_what_tests_ask_for_is_kept():
    """A name that a test reads and does not set would be left out: the test would skip, whatever the shell says."""
    asked = set()
    for path in TESTS.parent.rglob("*.py"):
        text = path.read_text()
        read = re.findall(r'environ(?:\.get\(|\[)"(STRIDED_\w+)"', text)
        asked |= {n for n in read if not re.search(rf'"{n}"\] = |"{n}": |set(?:env|item__)\("{n}"', text)}
    assert asked <= environment.ASKED_FOR
    assert {"STRIDED_TEST_CUDA_LIBRARY", "STRIDED_ARRAY_API_TESTS"} <= asked


def test_tests_that_start_processes_or_print_pass_in_a_hostile_environment():
    chosen = [
        "ops/test_decompositions.py::test_it_is_opened_when_needed_and_never_imported",
        "package/test_tour_info.py",
        "package/test_printing.py",
        "package/test_examples.py",
    ]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            *(str(TESTS / c) for c in chosen),
        ],
        env=os.environ | HOSTILE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


@pytest.mark.parametrize("script", ["compare.py"])
def test_benchmarks_leave_it_out_before_they_load_a_library(script):
    code = f"""
import runpy, sys
sys.path.insert(0, {str(BENCH)!r})
sys.argv = [{script!r}, "--only", "no such case"]
import environment, os
clean = environment.clean
def look(*args):
    assert not {{"numpy", "torch", "strided"}} & set(sys.modules)
    clean(*args)
    print(sorted(n for n in os.environ if n.startswith(("OPENBLAS_", "MKL_", "OMP_"))), os.environ["OMP_NUM_THREADS"])
environment.clean = look
runpy.run_path({str(BENCH / script)!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | HOSTILE, capture_output=True, text=True)
    first = done.stdout.split("\n")[0]
    assert first == "['MKL_NUM_THREADS', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'OPENBLAS_THREAD_TIMEOUT'] 1", (
        done.stdout + done.stderr
    )
    assert "OPENBLAS_CORETYPE=Haswell is left out" in done.stderr


def test_an_instruction_set_that_is_not_there_is_an_error():
    import_it = [sys.executable, "-c", "import strided"]
    done = subprocess.run(import_it, env=os.environ | {"STRIDED_ISA": "v9"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "STRIDED_ISA=v9 in the environment: expected v2, v3 or v4" in done.stderr
    done = subprocess.run(import_it, env=os.environ | {"STRIDED_PRODUCTS": "fast"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "STRIDED_PRODUCTS=fast in the environment: expected plain, dots or tiles" in done.stderr
    done = subprocess.run(import_it, env=os.environ | {"STRIDED_STREAM_BYTES": "1MB"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "STRIDED_STREAM_BYTES=1MB in the environment: expected a number of bytes" in done.stderr
    done = subprocess.run(import_it, env=os.environ | {"STRIDED_ISA": ""}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
