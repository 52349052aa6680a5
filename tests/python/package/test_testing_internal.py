"""What tests of PyTorch's libraries take from ``torch.testing._internal``."""

import random
import unittest

import numpy as np
import pytest
import strided
from strided.testing._internal import common_cuda
from strided.testing._internal import common_utils as utils
from strided.testing._internal.common_device_type import (
    dtypes,
    dtypesIfCPU,
    instantiate_device_type_tests,
    onlyCPU,
    onlyCUDA,
    skipCPUIf,
)


class Case(utils.TestCase):
    __test__ = False

    def runTest(self):
        pass


@pytest.fixture
def case():
    return Case()


EQUAL = [
    ("tensors", strided.ones(2), strided.ones(2) + 1e-7, {}),
    ("arrays", strided.ones(2), np.ones(2, "float32"), {}),
    ("numbers", strided.tensor(2.0), 2, {}),
    ("python", 0.1 + 0.2, 0.3, {}),
    ("nan", float("nan"), strided.tensor(float("nan")), {}),
    ("tolerances", 1.0, 1.05, {"atol": 0.1, "rtol": 0}),
    ("trees", {"a": [strided.ones(1), "x"], "b": None}, {"b": None, "a": [strided.ones(1), "x"]}, {}),
    ("dtypes", strided.ones(2), strided.ones(2).double(), {"exact_dtype": False}),
    ("sizes", strided.zeros(2, 3).shape, (2, 3), {}),
    ("texts", "ab", "ab", {}),
    ("arrays of texts", np.array(["a", "b"]), np.array(["a", "b"]), {}),
    ("an array of dates", np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01"], "M8[D]").tolist(), {}),
    ("a sequence of numbers", [[1, 2]], strided.ones(1, 2) * strided.tensor([1, 2]), {}),
    ("a tensor and a sequence", strided.tensor([0.5, 1], dtype=strided.float64), (0.5, 1), {}),
    ("parameters", strided.nn.Parameter(strided.ones(2)), strided.ones(2), {}),
]
DIFFERENT = [
    ("values", strided.ones(2), strided.zeros(2), {}),
    ("dtype", strided.ones(2), strided.ones(2).double(), {}),
    ("shape", strided.ones(2), strided.ones(3), {}),
    ("length", [1, 2], [1], {}),
    ("keys", {"a": 1}, {"b": 1}, {}),
    ("deep", {"a": [1, strided.ones(1)]}, {"a": [1, strided.zeros(1)]}, {}),
    ("text and number", "1", 1, {}),
    ("arrays of texts", np.array(["a", "b"]), np.array(["a", "c"]), {}),
    ("a sequence of numbers", [1, 2], strided.ones(2), {}),
    ("tensor and None", strided.ones(1), None, {}),
    ("nan", float("nan"), float("nan"), {"equal_nan": False}),
    ("stride", strided.ones(2, 2), strided.ones(2, 2).t(), {"exact_stride": True}),
]


@pytest.mark.parametrize("x, y, options", [c[1:] for c in EQUAL], ids=[c[0] for c in EQUAL])
def test_equal(case, x, y, options):
    case.assertEqual(x, y, **options)
    with pytest.raises(AssertionError, match="mine"):
        case.assertNotEqual(x, y, "mine", **options)


@pytest.mark.parametrize("x, y, options", [c[1:] for c in DIFFERENT], ids=[c[0] for c in DIFFERENT])
def test_different(case, x, y, options):
    case.assertNotEqual(x, y, **options)
    with pytest.raises(AssertionError, match="(?s).*mine"):
        case.assertEqual(x, y, "mine", **options)
    with pytest.raises(AssertionError, match="^mine"):
        case.assertEqual(x, y, lambda text: "mine" + text, **options)


def test_precision_of_a_class(case):
    case.precision = 0.1
    case.assertEqual(strided.ones(1), strided.full((1,), 1.05))
    with pytest.raises(AssertionError, match=r"\['a'\]\[1\]"):
        case.assertEqual({"a": [1, strided.ones(1)]}, {"a": [1, strided.zeros(1)]})


def test_random_numbers_begin_anew(case):
    def drawn():
        case.setUp()
        return strided.rand(1).item(), random.random(), np.random.rand()

    assert drawn() == drawn()
    with utils.freeze_rng_state():
        first = strided.rand(1)
    assert strided.rand(1).equal(first)


def test_parametrized_tests_run():
    seen = []

    @utils.instantiate_parametrized_tests
    class Tests(utils.TestCase):
        @utils.parametrize("x", [1, 2.5, strided.float64, (1,)])
        @utils.parametrize("y,z", [(1, "a"), utils.subtest((2, "b"), name="named", decorators=[unittest.skip("no")])])
        def test_all(self, x, y, z):
            seen.append((x, y, z))

        @utils.parametrize("flag", [True, False], name_fn=lambda flag: "on" if flag else "off")
        def test_flag(self, flag):
            seen.append(flag)

        def test_plain(self):
            seen.append("plain")

    names = sorted(name for name in dir(Tests) if name.startswith("test"))
    assert names == sorted(
        [f"test_all_{yz}_{x}" for yz in ("y_1_z_a", "named") for x in ("x_1", "x_2_5", "x_float64", "x3")]
        + ["test_flag_off", "test_flag_on", "test_plain"]
    )
    result = unittest.TestResult()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Tests)
    assert suite.countTestCases() == 11  # testsRun of Python 3.12.1 is without the skipped ones
    suite.run(result)
    assert result.wasSuccessful() and len(result.skipped) == 4
    assert {s for s in seen if not isinstance(s, tuple)} == {True, False, "plain"}
    assert sorted(map(str, (s for s in seen if isinstance(s, tuple)))) == sorted(
        map(str, [(x, 1, "a") for x in (1, 2.5, strided.float64, (1,))])
    )
    with pytest.raises(RuntimeError, match="# values"):

        @utils.instantiate_parametrized_tests
        class Wrong:
            @utils.parametrize("a,b", [(1,)])
            def test(self, a, b):
                pass


def test_tests_over_devices_and_dtypes():
    seen = []

    class Base(utils.TestCase):
        def setUp(self):
            super().setUp()  # the class that the call needs is still there
            self.ready = True

        @dtypes(strided.float32, strided.int64)
        def test_dtypes(self, device, dtype):
            assert self.ready
            seen.append(strided.ones(1, device=device, dtype=dtype).dtype)

        @dtypes(strided.float32)
        @dtypesIfCPU((strided.float64, strided.int8))
        @utils.parametrize("n", [1, 2])
        def test_pairs(self, device, dtypes, n):
            seen.append((device, dtypes, n))

        @onlyCPU
        def test_cpu(self, device):
            seen.append(self.device_type)

        @onlyCUDA
        def test_cuda(self, device):
            raise AssertionError

        @skipCPUIf(True, "never")
        def test_skipped(self, device):
            raise AssertionError

    scope = {"Base": Base}
    instantiate_device_type_tests(Base, scope, only_for="cpu")
    assert list(scope) == ["BaseCPU"]
    result = unittest.TestResult()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(scope["BaseCPU"])
    assert suite.countTestCases() == 6
    suite.run(result)
    assert result.wasSuccessful() and result.skipped[0][1] == "never"
    assert {strided.float32, strided.int64, "cpu"} < set(seen)
    assert ("cpu", (strided.float64, strided.int8), 2) in seen and hasattr(
        scope["BaseCPU"], "test_pairs_n_1_cpu_float64_int8"
    )
    empty = {"Base": Base}
    instantiate_device_type_tests(Base, empty, except_for=("cpu", "cuda"))
    assert not empty


def test_states_and_names():
    x = strided.arange(6.0, requires_grad=True).view(2, 3)
    made = utils.noncontiguous_like(x)
    assert made.equal(x) and not made.is_contiguous() and made.requires_grad and utils.noncontiguous_like(made) is made
    with utils.set_default_dtype(strided.float64):
        assert strided.ones(1).dtype == strided.float64
    assert strided.ones(1).dtype == strided.float32
    with utils.TemporaryFileName() as name, open(name, "w") as file:
        file.write("a")
    assert common_cuda.TEST_CUDA == strided.cuda.is_available() and not utils.TEST_WITH_ROCM
    assert utils.skipIfTorchDynamo("why")(len) is len and utils.skipIfRocm(len) is len
