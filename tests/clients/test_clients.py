"""The test suites of libraries that are written for PyTorch, with strided in its place.

    pip install strided[clients]
    pytest tests/clients

They are no part of the ordinary tests: `pytest` alone leaves them out.  A library that is not installed is skipped.
What is left out of a suite stands in its row, with the reason.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import strided

PACKAGE = str(Path(strided.__file__).parents[1])


class Suite(NamedTuple):
    """One row: what pytest is given, in which environment, and what is left out."""

    library: str
    tests: tuple[str, ...]
    names: dict[str, str] = {}  # the environment
    without: dict[str, str] = {}  # parts of names of tests: why they are left out
    needs: tuple[str, ...] = ()


COMPILER = "asks for PyTorch's compiler"
ARRAY_API = {"SCIPY_ARRAY_API": '["torch"]', "SCIPY_DEVICE": "cpu"}

SUITES = [
    Suite(
        "einops",
        ("einops.tests",),
        {"EINOPS_TEST_BACKENDS": "numpy,torch"},
        {
            "torch_compile": COMPILER,
            "scripting": COMPILER,
            "einops_threading": "starts a process of its own, where torch is not strided",
        },
    ),
    Suite("opt_einsum", ("opt_einsum.tests.test_backends", "opt_einsum.tests.test_edge_cases")),
    Suite(
        "scipy",
        ("scipy._lib.tests.test_array_api", "scipy.special.tests.test_logsumexp", "scipy.cluster.tests.test_vq"),
        ARRAY_API,
        needs=("array_api_compat",),
    ),
    Suite(
        "sklearn",
        ("sklearn.utils.tests.test_array_api",),
        {"SCIPY_ARRAY_API": "1"},
        needs=("array_api_compat", "array_api_strict"),
    ),
]


@pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.library)
def test_suite(suite):
    for module in (suite.library, *suite.needs):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install strided[clients]")
    command = [sys.executable, "-m", "strided", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    if suite.without:
        command += ["-k", " and ".join(f"not {part}" for part in suite.without)]
    command += ["-W", "ignore", "--pyargs", *suite.tests]
    names = os.environ | suite.names | {"PYTHONPATH": PACKAGE}
    done = subprocess.run(command, env=names, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1]
    print(f"{suite.library}: {last}")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", last)[1]) > 0
