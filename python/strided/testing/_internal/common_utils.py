"""A TestCase that compares tensors, and tests over parameters (``strided.testing._internal.common_utils``)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
import platform
import random
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import strided

from .._comparison import assert_close
from .._creation import make_tensor

__all__ = [
    "IS_ARM64", "IS_CI", "IS_FBCODE", "IS_LINUX", "IS_MACOS", "IS_WINDOWS", "IS_X86", "TEST_CUDA", "TEST_HPU",
    "TEST_MPS", "TEST_MULTIGPU", "TEST_NUMPY", "TEST_SCIPY", "TEST_WITH_ASAN", "TEST_WITH_ROCM",
    "TEST_WITH_TORCHDYNAMO", "TEST_XPU", "TemporaryDirectoryName", "TemporaryFileName", "TestCase", "freeze_rng_state",
    "instantiate_parametrized_tests", "load_tests", "make_tensor", "noncontiguous_like", "parametrize", "run_tests",
    "set_default_dtype", "set_rng_seed", "skipIfRocm", "skipIfTorchDynamo", "skipIfNoSciPy", "slowTest", "subtest",
]  # fmt: skip

IS_LINUX, IS_WINDOWS, IS_MACOS = (sys.platform.startswith(s) for s in ("linux", "win32", "darwin"))
IS_X86 = platform.machine() in ("x86_64", "AMD64", "i386", "i686")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_CI, IS_FBCODE = bool(os.environ.get("CI")), False
TEST_CUDA = strided.cuda.is_available()
TEST_MULTIGPU = TEST_CUDA and strided.cuda.device_count() > 1
TEST_XPU = TEST_MPS = TEST_HPU = TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TORCHDYNAMO = False


def _found(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


TEST_NUMPY, TEST_SCIPY = _found("numpy"), _found("scipy")
load_tests = None  # unittest asks a module for it; None: all tests
SEED = 1234


def set_rng_seed(seed: int = SEED) -> None:
    """Seeds strided's generators, Python's, and NumPy's where it is loaded."""
    strided.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


def _plain(x: Any) -> Any:
    """A value as what assert_close compares: NumPy's arrays as tensors, or as lists where no tensor has their dtype."""
    if type(x).__module__ == "numpy":
        try:
            return strided.as_tensor(x)
        except TypeError:  # texts, dates, objects
            return x.tolist()
    if isinstance(x, strided.nn.Parameter):
        return x.detach()
    return x


def _beside(x: Any, y: Any) -> Any:
    """A sequence beside a tensor as a tensor of its dtype."""
    if isinstance(y, strided.Tensor) and isinstance(x, Sequence):
        return strided.as_tensor(x, dtype=y.dtype, device=y.device)
    return x


class TestCase(unittest.TestCase):
    """unittest's TestCase, whose ``assertEqual`` takes tensors, and whose tests begin with the same random numbers.

    Attributes:
        precision, rel_tol: the least tolerances of ``assertEqual``.
    """

    __test__ = False  # pytest collects classes that are made of it, not this one
    precision: float = 0
    rel_tol: float = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__test__" not in cls.__dict__:
            cls.__test__ = True

    def setUp(self) -> None:
        set_rng_seed(SEED)

    def assertEqual(  # type: ignore[override]
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """AssertionError unless values are close: tensors, arrays and numbers by assert_close(), others equal.

        Args:
            x, y: also sequences and mappings of such values. A number may stand for a tensor of no axes, a sequence of
                numbers for a tensor.
            msg: a text that is added, or a function of the text of the failure.
            atol, rtol: tolerances; of the dtype if None.
        """
        options = {"equal_nan": equal_nan, "check_device": exact_device, "check_layout": exact_layout,
                   "check_stride": exact_stride}  # fmt: skip
        try:
            self._compare(_beside(x, y), _beside(y, x), atol, rtol, exact_dtype, options)
        except AssertionError as failure:
            if msg is None:
                raise
            text = msg(str(failure)) if callable(msg) else f"{failure}\n{msg}"
            raise AssertionError(text) from None

    assertEquals = assertEqual

    def _compare(self, x, y, atol, rtol, exact_dtype, options, path=""):
        x, y = _plain(x), _plain(y)
        at = f" at {path}" if path else ""
        tensors = isinstance(x, strided.Tensor), isinstance(y, strided.Tensor)
        numeric = tuple(isinstance(v, (bool, int, float, complex)) for v in (x, y))
        if any(tensors) and all(t or n for t, n in zip(tensors, numeric)) or all(numeric):
            if not all(tensors):
                exact_dtype = False
                x, y = (v if t else strided.as_tensor(v) for v, t in zip((x, y), tensors))
            rtol, atol = self._tolerances(x, y, rtol, atol)
            assert_close(x, y, rtol=rtol, atol=atol, check_dtype=exact_dtype, msg=lambda text: text + at, **options)
        elif isinstance(x, (str, bytes)) or isinstance(y, (str, bytes)):
            super().assertEqual(x, y, at or None)
        elif isinstance(x, Mapping) and isinstance(y, Mapping):
            if set(x) != set(y):
                raise AssertionError(f"The keys of the mappings do not match{at}: {list(x)} and {list(y)}")
            for key in x:
                self._compare(x[key], y[key], atol, rtol, exact_dtype, options, f"{path}[{key!r}]")
        elif isinstance(x, Sequence) and isinstance(y, Sequence):
            if len(x) != len(y):
                raise AssertionError(f"The length of the sequences mismatch{at}: {len(x)} != {len(y)}")
            for i, (a, b) in enumerate(zip(x, y)):
                self._compare(a, b, atol, rtol, exact_dtype, options, f"{path}[{i}]")
        elif any(tensors):
            raise AssertionError(f"A tensor and a value of another kind{at}: {type(x).__name__}, {type(y).__name__}")
        else:
            super().assertEqual(x, y, at or None)

    def _tolerances(self, x, y, rtol, atol):
        if rtol is not None or atol is not None:
            return rtol or 0.0, atol or 0.0
        if not self.precision and not self.rel_tol:
            return None, None
        from .._comparison import get_tolerances

        rtol, atol = get_tolerances(x, y, rtol=None, atol=None)
        return max(rtol, self.rel_tol), max(atol, self.precision)

    def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **options: Any) -> None:  # type: ignore[override]
        """AssertionError if ``assertEqual`` finds no difference."""
        try:
            self.assertEqual(x, y, **options)
        except AssertionError:
            return
        raise AssertionError(msg or f"{x!r} == {y!r}")


def run_tests(argv: Any = None) -> None:
    """Runs the tests of the program."""
    unittest.main(argv=argv)


# ------------- tests over parameters


class subtest:
    """Values of one test of ``parametrize``, with a name and decorators of its own."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Sequence[Any] | None = None) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators or ())


def _named(value: Any, name: str, index: int) -> str:
    if isinstance(value, (int, float, str, type(None))):
        return f"{name}_{value}".replace(".", "_")
    if isinstance(value, (strided.dtype, strided.device)):
        return f"{name}_{str(value).rpartition('.')[2]}"
    return f"{name}{index}"


class parametrize:
    """A test for each of some values, once ``instantiate_parametrized_tests`` has seen its class.

    Args:
        arg_str: names of arguments, with commas between them, or a list of them.
        arg_values: for each test a value, or as many as there are names; or a ``subtest``.
        name_fn: from the values to the end of the test's name.
    """

    def __init__(self, arg_str: Any, arg_values: Any, name_fn: Callable[..., str] | None = None) -> None:
        self.names = [s.strip() for s in arg_str.split(",")] if isinstance(arg_str, str) else list(arg_str)
        self.names = [name for name in self.names if name]
        self.values, self.name_fn = arg_values, name_fn

    def __call__(self, fn: Any) -> Any:
        fn._parametrized = [*getattr(fn, "_parametrized", ()), self]
        return fn

    def cases(self) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
        for index, given in enumerate(self.values):
            case = given if isinstance(given, subtest) else subtest(given)
            values = (case.arg_values,) if len(self.names) == 1 else tuple(case.arg_values)
            if len(values) != len(self.names):
                raise RuntimeError(f"Expected # values == # arg names, but got: {len(values)} values and {self.names}")
            if case.name is not None:
                name = case.name
            elif self.name_fn is not None:
                name = self.name_fn(*values)
            else:
                name = "_".join(_named(v, n, index) for v, n in zip(values, self.names))
            yield name, dict(zip(self.names, values)), case.decorators


def cases_of(fn: Any) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """All combinations of what stands above a test: end of the name, arguments, decorators."""
    for parts in itertools.product(*(p.cases() for p in getattr(fn, "_parametrized", ()))):
        names, arguments, decorators = "", {}, []
        for name, values, more in parts:
            names += f"_{name}"
            arguments.update(values)
            decorators += more
        yield names, arguments, decorators


def bound(fn: Any, name: str, arguments: dict[str, Any], decorators: Sequence[Any]) -> Any:
    """A test with arguments, under a name."""

    @functools.wraps(fn)
    def test(self: Any, *args: Any) -> Any:
        return fn(self, *args, **arguments)

    for decorator in decorators:
        test = decorator(test)
    test.__name__ = name
    test.__qualname__ = f"{fn.__qualname__.rpartition('.')[0]}.{name}"
    test.__dict__.pop("_parametrized", None)
    taken = {"self", *arguments}
    parameters = [p for p in inspect.signature(fn).parameters.values() if p.name not in taken]
    del test.__wrapped__  # pytest looks for the arguments there
    test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters]
    )
    return test


def instantiate_parametrized_tests(generic_cls: Any) -> Any:
    """Puts a test into a class for each combination of values; a decorator, or a call."""
    for name, fn in list(vars(generic_cls).items()):
        if not hasattr(fn, "_parametrized"):
            continue
        delattr(generic_cls, name)
        for end, arguments, decorators in cases_of(fn):
            if hasattr(generic_cls, name + end):
                raise RuntimeError(f"two tests of the name {name + end}")
            setattr(generic_cls, name + end, bound(fn, name + end, arguments, decorators))
    return generic_cls


# ------------- tests that are left out


def skipIfTorchDynamo(msg: Any = "") -> Any:
    """Leaves no test out: no test runs under a compiler."""
    return msg if callable(msg) else lambda fn: fn


def skipIfRocm(func: Any = None, *, msg: str = "") -> Any:
    """Leaves no test out: there are no AMD devices."""
    return (lambda fn: fn) if func is None else func


def skipIfNoSciPy(fn: Any) -> Any:
    """Leaves a test out without SciPy."""
    return unittest.skipUnless(TEST_SCIPY, "test require SciPy, but SciPy not found")(fn)


def slowTest(fn: Any) -> Any:
    """Leaves a test out unless the environment has PYTORCH_TEST_WITH_SLOW."""
    slow = os.environ.get("PYTORCH_TEST_WITH_SLOW", "0") not in ("", "0")
    return unittest.skipUnless(slow, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")(fn)


# ------------- places and states


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The name of a file that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, "file" + kwargs.get("suffix", ""))


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    """The name of a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(suffix=suffix) as folder:
        yield folder


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """A context after which random numbers go on as if nothing had been drawn."""
    with strided.random.fork_rng():
        yield


@contextlib.contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    """A context with another default dtype."""
    before = strided.get_default_dtype()
    strided.set_default_dtype(dtype)
    try:
        yield
    finally:
        strided.set_default_dtype(before)


def noncontiguous_like(t: Any) -> Any:
    """A tensor of the same values whose memory has gaps; the tensor itself where it is not contiguous."""
    if not t.is_contiguous():
        return t
    wide = strided.repeat_interleave(t.detach().unsqueeze(-1), 2, -1)
    made = wide[..., 1]
    return made.requires_grad_(t.requires_grad)
