"""The conformance suite of the Array API standard, where STRIDED_ARRAY_API_TESTS names its checkout.

    git clone --recursive https://github.com/data-apis/array-api-tests
    pip install -r array-api-tests/requirements.txt
    STRIDED_ARRAY_API_TESTS=array-api-tests pytest tests/python/package/test_array_api_suite.py

All tests must pass: there is no list of expected failures.  STRIDED_ARRAY_API_EXAMPLES says how many examples each test
draws (20).
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import strided

CHECKOUT = os.environ.get("STRIDED_ARRAY_API_TESTS")
PACKAGE = str(Path(strided.__file__).parents[1])


@pytest.mark.skipif(
    not CHECKOUT, reason="STRIDED_ARRAY_API_TESTS does not name a checkout of data-apis/array-api-tests"
)
@pytest.mark.parametrize("part", range(4))
def test_suite(part):
    for needed in ("hypothesis", "ndindex", "pytest_jsonreport"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"the suite needs {needed}, which is not installed")
    root = Path(CHECKOUT).resolve()
    assert (root / "array-api" / "spec").is_dir(), f"{root} has no submodule array-api: git submodule update --init"
    files = sorted(f"array_api_tests/{f.name}" for f in (root / "array_api_tests").glob("test_*.py"))[part::4]
    assert files
    names = os.environ | {
        "ARRAY_API_TESTS_MODULE": "strided.array_api",
        "ARRAY_API_TESTS_VERSION": strided.array_api.__array_api_version__,
        "PYTHONPATH": PACKAGE,
    }
    command = [sys.executable, "-m", "pytest", "-q", "--disable-deadline", "-p", "no:cacheprovider", "--tb=short"]
    command += ["--max-examples", os.environ.get("STRIDED_ARRAY_API_EXAMPLES", "20"), *files]
    done = subprocess.run(command, cwd=root, env=names, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1:]
    print(*last)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "xfailed" not in last[0] and "passed" in last[0]
