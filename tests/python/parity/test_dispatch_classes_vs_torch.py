"""Subclasses of Tensor with a ``__torch_dispatch__`` beside PyTorch: the same operations arrive, the same results."""

import math
import os
import sys

import pytest
import strided

torch = pytest.importorskip("torch")
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from dispatch_classes import Given  # noqa: E402
from dispatch_programs import PROGRAMS, VALUES_ONLY  # noqa: E402

# Copies of handles, which PyTorch makes for what a graph keeps.
LEFT_OUT = {"detach.default", "alias.default"}


def outcome(lib, name):
    given = Given(lib)
    result = given.described(PROGRAMS[name](given))
    return result, [entry for entry in given.log if not any(word in entry for word in LEFT_OUT)]


def same(a, b, where=""):
    if isinstance(a, (list, tuple)):
        assert isinstance(b, (list, tuple)) and len(a) == len(b), f"{where}: {a} {b}"
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{where}[{i}]")
    elif isinstance(a, float):
        assert math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5), f"{where}: {a} {b}"
    else:
        assert a == b, f"{where}: {a!r} {b!r}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    ours, seen = outcome(strided, name)
    theirs, expected = outcome(torch, name)
    same(ours, theirs, name)
    assert name in VALUES_ONLY or seen == expected
