"""Every test starts from the same state: a clean environment, seed 0, default dtype and number of threads as were."""

import gc
import os

import cuda_device
import environment
import pytest

environment.clean(os.environ)
cuda_device.choose()

import strided  # noqa: E402

cuda_device.lend_lapack()
strided._C.check_counts(True)  # a handle of a tensor that is changed without the interpreter's lock ends the process


def pytest_collection_modifyitems(items):
    """Marks what `make parity` runs: the tests of parity/, and scenarios, whose recorded answers are asked for anew."""
    for item in items:
        if item.path.parent.name == "parity" or hasattr(item.module, "scenario"):
            item.add_marker("parity")


def pytest_collection_finish():
    """Tests ask the garbage collector hundreds of times. It need not look at the thousands of tests each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _same_state():
    dtype, threads = strided.get_default_dtype(), strided.get_num_threads()
    strided.manual_seed(0)
    yield
    strided.set_default_dtype(dtype)
    strided.set_num_threads(threads)
