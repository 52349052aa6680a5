"""Errors of assert_close, character by character, beside PyTorch's."""

import inspect
import math
import operator
import warnings

import numpy
import pytest
import strided

torch = pytest.importorskip("torch")

CASES = [
    "T([1., 2.]), T([1., 3.])", "T([[1., 2.], [3, 4]]), T([[1., 3.], [3, 9]])", "T(1.), T(2.)", "1, 2", "1., 1.1",
    "1, 1.", "True, False", "1 + 1j, 2.", "1., 2., rtol=0.1, atol=0.2", "1., 2., rtol=0.1",
    "T([1.]), T([1.]), atol=0.1", "T([1.]), T([[1.]])", "T([1.]), T([1])", "T([1.]), T([1]), check_dtype=False",
    "torch.ones(2, device='meta'), torch.ones(2)", "torch.ones(2, 3).t(), torch.ones(3, 2), check_stride=True",
    "T([nan]), T([nan])", "T([nan]), T([nan]), equal_nan=True", "T([inf, 1.]), T([1., 1.])", "T([inf]), T([-inf])",
    "[1, 2], [1, 3]", "[1], [1, 2]", "[[1, T([1., 2.])]], [[1, T([1., 5.])]]", "{'a': 1}, {'a': 2}",
    "{'a': 1, 'c': 1}, {'b': 1, 'c': 1}", "{'a': [1, {'b': T(2.)}]}, {'a': [1, {'b': T(3.)}]}", "'a', 'a'",
    "None, None", "None, 1", "[1], 1", "T([1.]), [1.]", "numpy.array([1., 2.]), numpy.array([1., 3.])",
    "numpy.array([1.]), T([1.])", "numpy.float32(1.), numpy.float32(2.)", "T([1, 2, 3]), T([1, 5, 3])",
    "T([True, False]), T([True, True])", "T([1 + 1j]), T([2 + 1j])",
    "T([1], dtype=torch.uint8), T([255], dtype=torch.uint8)", "T([1.]), T([2.]), msg='custom'",
    "[T([1.])], [T([2.])], msg=lambda m: 'HEAD: ' + m", "T([1.], dtype=torch.half), T([1.01], dtype=torch.half)",
    "T([1.], dtype=torch.bfloat16), T([1.02], dtype=torch.bfloat16)",
    "T([1.], dtype=torch.half), T([1.0009]), check_dtype=False",
    "T([1.], dtype=torch.double), T([1. + 1e-6], dtype=torch.double)",
    "T([1.]).to(torch.float8_e4m3fn), T([1.25]).to(torch.float8_e4m3fn)", "torch.empty(0), torch.empty(0)", "{1}, {1}",
    "T([[1., 2.], [3, nan]]), T([[1., 2.], [3, 4]])", "T([0.]), T([1.])", "T([1.]), T([0.])", "1., 0.", "nan, 1.",
    "nan, nan, equal_nan=True", "T(1), 1", "1, T(1)", "torch.arange(10.), torch.arange(10.) * 2, rtol=0.1, atol=0.5",
    "T([1, 10]), T([2, 20]), rtol=0, atol=1", "T([complex(nan, 0)]), T([complex(0, nan)]), equal_nan=True",
    "T([1.], requires_grad=True), T([2.], requires_grad=True)", "int, int", "[T([1.]), [2]], [T([1.]), 2]",
    "torch.ones(0, 3), torch.ones(0, 4)", "(1, 2), [1, 2]",
]  # fmt: skip


def outcome(module, case):
    names = {"T": module.tensor, "torch": module, "numpy": numpy, "nan": math.nan, "inf": math.inf}
    try:
        eval(f"f({case})", {**names, "f": module.testing.assert_close})
    except Exception as error:  # noqa: BLE001
        return type(error), str(error).replace("strided.", "torch.")
    return None


@pytest.mark.parametrize("case", CASES)
def test_the_same_errors(case):
    assert outcome(strided, case) == outcome(torch, case)


@pytest.mark.parametrize("a", ["1.0.dev1", "1.0a1", "1.0", "1.10.0a0+git1", "2.13.0+cpu", "2.1.0", "2.13"])
@pytest.mark.parametrize("b", ["1.0", (1, 10), [2, 13], "2.9.1", (2, 13, 0), "1.0rc1", "nonsense", "2.13.0"])
def test_versions_compare_as_there(a, b):
    from torch.torch_version import TorchVersion

    ours, theirs = strided.torch_version.TorchVersion(a), TorchVersion(a)
    for compare in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"):
        assert getattr(ours, compare)(b) == getattr(theirs, compare)(b), compare


@pytest.mark.parametrize(
    "options",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 2, "active": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 3},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 1, "skip_first": 3, "skip_first_wait": 1},
        {"wait": 2, "warmup": 0, "active": 1, "repeat": 2, "skip_first_wait": 1},
    ],
)
def test_schedules_are_the_same(options):
    ours, theirs = strided.profiler.schedule(**options), torch.profiler.schedule(**options)
    assert [ours(i).name for i in range(20)] == [theirs(i).name for i in range(20)]


@pytest.mark.parametrize("ambiguity_check", [False, True])
@pytest.mark.parametrize(
    "layout",
    [((2, 3), (3, 1)), ((2, 3), (1, 2)), ((2, 2, 2), (0, 2, 1)), ((2, 1, 3), (3, 3, 1)), ((3, 3, 2), (0, 0, 1)),
     ((), ()), ((0, 3), (3, 1)), ((3, 1), (1, 1)), ((2, 2), (2, 2)), ((2, 3, 4), (1, 8, 2))],
)  # fmt: skip
def test_orders_of_dimensions_are_the_same(layout, ambiguity_check):
    def order(module):
        try:
            return module.empty_strided(*layout).dim_order(ambiguity_check=ambiguity_check)
        except RuntimeError:
            return "ambiguous"

    assert order(strided) == order(torch)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool", "float32", "float64", "float16"])
@pytest.mark.parametrize("options", [{}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"dim": (0, 2)}])
def test_hashes_are_the_same(dtype, options):
    values = (numpy.arange(24).reshape(2, 3, 4) * 7919 % 100 - 30).astype("float64")
    ours = strided.tensor(values).to(getattr(strided, dtype))
    theirs = torch.tensor(values).to(getattr(torch, dtype))
    assert ours.hash_tensor(**options).tolist() == theirs.hash_tensor(**options).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda t, x: t.tensor(x),
        lambda t, x: t.tensor(x, dtype=t.int64),
        lambda t, x: t.tensor([x, x]),
        lambda t, x: t.tensor(data=t.nn.Parameter(x)),
        lambda t, x: x.new_tensor(x),
        lambda t, x: x.new_tensor([x]),
        lambda t, x: t.as_tensor(x),
        lambda t, x: t.asarray(x, copy=True),
        lambda t, x: t.scalar_tensor(x),
    ],
)
def test_warnings_of_copies_are_the_same(make):
    def warned(module):
        x = module.ones(())
        with pytest.warns() as found:
            warnings.warn("one", stacklevel=1)
            value = make(module, x).tolist()
        return value, [(w.category, str(w.message), w.filename) for w in found]

    assert warned(strided) == warned(torch)


@pytest.mark.parametrize("name", ["Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"])
def test_item_methods_of_containers_have_the_same_arguments(name):
    def arguments(module):
        methods = (getattr(getattr(module.nn, name), m, None) for m in ("__getitem__", "__setitem__", "__delitem__"))
        return [m and list(inspect.signature(m).parameters) for m in methods]

    assert arguments(strided) == arguments(torch)


@pytest.mark.parametrize(
    "method", ["AdaptiveLogSoftmaxWithLoss.forward", "Transformer.generate_square_subsequent_mask"]
)
def test_methods_of_modules_have_the_same_arguments(method):
    def arguments(module):
        return list(inspect.signature(operator.attrgetter(method)(module.nn)).parameters)

    assert arguments(strided) == arguments(torch)
