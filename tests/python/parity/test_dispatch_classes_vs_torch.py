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


CALLS = {
    "add": lambda lib, x, y: x + y,
    "add of a plain tensor": lambda lib, x, y: x + lib.ones(4),
    "cat": lambda lib, x, y: lib.cat([x, y]),
    "item": lambda lib, x, y: x[0].item(),
    "split": lambda lib, x, y: x.split(2),
    "add_": lambda lib, x, y: x.add_(y),
    "data": lambda lib, x, y: x.data,
}


@pytest.mark.parametrize("name", CALLS)
def test_handing_on_to_the_base(name):
    """super().__torch_dispatch__ computes with the values that the objects have of their own."""
    found = []
    for lib in (strided, torch):
        seen = []

        class Logged(lib.Tensor):
            @staticmethod
            def __new__(cls, values, lib=lib):
                return lib.Tensor._make_subclass(cls, values)

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None, seen=seen):
                seen.append(str(func))
                return super().__torch_dispatch__(func, types, args, kwargs)

        result = CALLS[name](lib, Logged(lib.arange(4.0)), Logged(lib.ones(4)))
        parts = result if isinstance(result, (list, tuple)) else [result]
        values = [r.as_subclass(lib.Tensor).tolist() if isinstance(r, lib.Tensor) else r for r in parts]
        seen = [s for s in seen if not any(word in s for word in LEFT_OUT)]
        found.append((seen, [type(r).__name__ for r in parts], values))
    assert found[0] == found[1]
