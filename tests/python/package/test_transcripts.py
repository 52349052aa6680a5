"""The acceptance transcripts: sessions with PyTorch, replayed with strided. They stand beside the checkout, not in
it."""

import importlib.util
from pathlib import Path

import cuda_device
import pytest

RUNNER = Path(__file__).resolve().parents[4] / "shared" / "acceptance" / "run_transcripts.py"
if not RUNNER.is_file():
    pytest.skip(f"there are no acceptance transcripts beside this checkout: no {RUNNER}", allow_module_level=True)

_spec = importlib.util.spec_from_file_location("run_transcripts", RUNNER)
_runner = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_runner)
CASES = list(_runner.cases("strided"))


# These compare times of two pieces of code. What else the machine does at that moment can spoil one try, not three.
# This one says that a GPU is faster than the CPU, with matrices of 5000 rows; an emulated one is not.
ON_A_GPU = {"timing-matmul-gpu"}
TIMED = {"storage-sharing", "dtype-speed", "vectorized-timing", "vectorized-speedup", "linalg-solve-vs-inv"}


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.id, marks=[pytest.mark.alone] if case.id in TIMED else []) for case in CASES],
)
def test_transcript(case):
    if reason := case.skip_reason():
        pytest.skip(reason)
    if case.id in ON_A_GPU and cuda_device.emulated():
        pytest.skip("compares times of a GPU; the device here is emulated")
    for tries_left in (2, 1, 0) if case.id in TIMED else (0,):
        try:
            return case.check()
        except AssertionError:
            if not tries_left:
                raise


def test_list_names_transcripts_that_exist():
    assert TIMED | ON_A_GPU <= {case.id for case in CASES}
