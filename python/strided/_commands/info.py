"""``python -m strided info``: what was built, what it found here, and whether it computes correctly."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Callable
from typing import Any

from .terminal import Screen

__all__ = ["info", "self_test"]


def _gradient_of_squares(xp: Any) -> list[float]:
    x = xp.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    return x.grad.tolist()


def _write_through_view(xp: Any) -> list[float]:
    t = xp.zeros(2, 3)
    t.t()[2, 0] = 7.0
    return t.reshape(-1).tolist()


def _seeded(xp: Any) -> float:
    # The first number of MT19937 seeded with 0, as PyTorch makes a float32 of it; the user's state is put back.
    state = xp.get_rng_state()
    try:
        xp.manual_seed(0)
        return round(xp.rand(1).item(), 6)
    finally:
        xp.set_rng_state(state)


def _numpy_round_trip(xp: Any) -> list[float]:
    import numpy

    a = numpy.arange(4.0)
    xp.from_numpy(a)[1] = 9.0
    return a.tolist()


# What is computed, how, and what must come out.  It is exact, or rounded so far that no
# ISA may differ.
_CHECKS: tuple[tuple[str, Callable[[Any], Any], Any], ...] = (
    ("add, broadcast", lambda xp: (xp.tensor([[1.0], [2.0]]) + xp.tensor([10.0, 20.0])).tolist(),
     [[11.0, 21.0], [12.0, 22.0]]),
    ("sum of 100000 integers", lambda xp: xp.arange(100001).sum().item(), 5000050000),
    ("exp and log", lambda xp: round(xp.arange(1.0, 81.0).exp().log().sum().item(), 1), 3240.0),
    ("matmul", lambda xp: (xp.tensor([[1.0, 2.0], [3.0, 4.0]]) @ xp.tensor([[5.0, 6.0], [7.0, 8.0]])).tolist(),
     [[19.0, 22.0], [43.0, 50.0]]),
    ("linalg.solve", lambda xp: xp.linalg.solve(xp.tensor([[2.0, 0.0], [0.0, 4.0]]), xp.tensor([2.0, 8.0])).tolist(),
     [1.0, 2.0]),
    ("linalg.det", lambda xp: xp.linalg.det(xp.tensor([[0.0, 2.0], [4.0, 8.0]])).item(), -8.0),
    ("sort", lambda xp: xp.sort(xp.tensor([3, 1, 2])).indices.tolist(), [1, 2, 0]),
    ("mask", lambda xp: (lambda x: x[x > 2].tolist())(xp.arange(5)), [3, 4]),
    ("bfloat16", lambda xp: xp.tensor(1.01).to(xp.bfloat16).item(), 1.0078125),
    ("views share memory", _write_through_view, [0.0, 0.0, 7.0, 0.0, 0.0, 0.0]),
    ("gradient", _gradient_of_squares, [2.0, 4.0, 6.0]),
    ("rand after manual_seed(0)", _seeded, 0.496257),
    ("memory shared with NumPy", _numpy_round_trip, [0.0, 9.0, 2.0, 3.0]),
    ("printing", lambda xp: repr(xp.tensor([1.5, 10.0])), "tensor([ 1.5000, 10.0000])"),
)  # fmt: skip


def self_test(xp: Any) -> list[tuple[str, bool, str]]:
    """Computes small things with known results.

    Args:
        xp: the module to test, with PyTorch's names.

    Returns:
        For each check its name, whether it passed, and else what came out.

    >>> all(passed for _, passed, _ in self_test(torch))
    True
    """
    results = []
    for name, compute, expected in _CHECKS:
        try:
            got = compute(xp)
        except Exception as error:  # noqa: BLE001  (the report must go on, and show any of them)
            results.append((name, False, f"{type(error).__name__}: {error}"))
        else:
            results.append((name, got == expected, "" if got == expected else f"got {got}, expected {expected}"))
    return results


def _package(name: str, module: str, purpose: str) -> str:
    """Version of an optional neighbour, found without importing it."""
    if importlib.util.find_spec(module) is None:
        return f"not installed ({purpose})"
    try:
        return f"{importlib.metadata.version(name)} ({purpose})"
    except importlib.metadata.PackageNotFoundError:
        return f"found, version unknown ({purpose})"


def _devices(xp: Any) -> list[str]:
    found = ["cpu"]
    if xp.cuda.is_available():
        found += [f"cuda:{i} {xp.cuda.get_device_name(i)}" for i in range(xp.cuda.device_count())]
    return found


def info(xp: Any, screen: Screen) -> int:
    """Prints the report.

    Args:
        xp: this package.

    Returns:
        0 if every check of :func:`self_test` passed, else 1: the exit status of the command.
    """
    rows: list[tuple[str, Any]] = [
        ("version", xp.__version__),
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]
    rows += list(xp._C.build_info().items())
    rows += [
        ("threads", xp.get_num_threads()),
        ("devices", ", ".join(_devices(xp))),
        ("numpy", _package("numpy", "numpy", "NumPy arrays, both ways")),
        ("lapack", _package("scipy-openblas32", "scipy_openblas32", "svd, eig, eigh, qr, lstsq")),
        ("ml_dtypes", _package("ml_dtypes", "ml_dtypes", "bfloat16 in NumPy")),
    ]
    screen.title("strided")
    wide = max(len(name) for name, _ in rows)
    for name, value in rows:
        screen.write(f"{name:<{wide}}  {value}")

    screen.title("Self-test")
    results = self_test(xp)
    for name, passed, detail in results:
        word = screen.paint("pass", "good") if passed else screen.paint("FAIL", "bad")
        screen.write(f"{word}  {name}" + (f": {detail}" if detail else ""))
    failed = sum(not passed for _, passed, _ in results)
    screen.write(f"{len(results) - failed} of {len(results)} passed")
    return 1 if failed else 0
