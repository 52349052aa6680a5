"""Scenarios: functions that take the module, strided or torch, and return plain values.

A scenario must return the same under both. What PyTorch 2.13 returned stands in torch_compare_expected.json, so the
tests mean something without PyTorch; where it is installed, it is asked again. `python torch_compare.py` records the
answers anew, given PyTorch.
"""

import importlib
import json
import math
import pathlib
import sys
import warnings

import strided

RECORD = pathlib.Path(__file__).with_name("torch_compare_expected.json")
MODULES = [
    "test_autograd_engine",
    "test_autograd_function",
    "test_autograd_function_context",
    "test_autograd_graph",
    "test_autograd_hooks",
    "test_autograd_inplace",
    "test_autograd_modes",
    "test_autograd_undefined",
    "test_autograd_views",
    "test_forward_ad",
]
_expected = {}


def outcome(call, *args, **kwargs):
    """What the call returns; [kind, text] of what it raises."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        return [type(error).__name__, str(error)]


def kind(call, *args, **kwargs):
    """What the call returns; the kind of what it raises. Where the texts differ on purpose."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        return type(error).__name__


def warned(call, *args, **kwargs):
    """The texts of the warnings that the call gives, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    return sorted({str(w.message) for w in caught})


def numbers(x):
    """A tensor's values, or None."""
    return None if x is None else x.tolist()


def leaf(t, *values, **options):
    """A vector that wants a gradient."""
    return t.tensor(values or (1.0, 2.0, 3.0), requires_grad=True, **options)


def grid(t, *shape, start=1.0, **options):
    """start, start + 1, ... in that shape, wanting a gradient; a leaf that is no view."""
    count = math.prod(shape)
    return (t.arange(float(count), **options) + start).reshape(shape).clone().requires_grad_()


def name_of(node):
    """As strided has it: PyTorch puts the namespace before the names of some."""
    return None if node is None else node.name().split("::")[-1]


def grads(t, loss, *inputs):
    """The gradients of a loss as numbers; the graph stays."""
    return [numbers(g) for g in t.autograd.grad(loss, inputs, allow_unused=True, retain_graph=True)]


def name(x):
    """Of the node that made a tensor."""
    return name_of(x.grad_fn)


def kind_of(x):
    """The same without its number: a write has another than the same without one (FillBackward2)."""
    return name(x).rstrip("0123456789")


def plain(value, t):
    """As JSON keeps it. A tensor becomes its shape, dtype, requires_grad and values."""
    if isinstance(value, t.Tensor):
        return [
            list(value.shape),
            str(value.dtype).split(".")[-1],
            value.requires_grad,
            plain(value.detach().tolist(), t),
        ]
    if isinstance(value, (tuple, list)):
        return [plain(v, t) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v, t) for k, v in value.items()}
    if isinstance(value, complex):
        return [plain(value.real, t), plain(value.imag, t)]
    if isinstance(value, float):
        return str(value) if math.isinf(value) or math.isnan(value) else value
    if isinstance(value, str):
        return value.replace("strided", "torch")
    assert value is None or isinstance(value, (bool, int)), type(value)
    return value


def same(got, want, where=""):
    if isinstance(want, float) or isinstance(got, float):
        assert isinstance(want, (int, float)) and isinstance(got, (int, float)), (where, got, want)
        assert math.isclose(got, want, rel_tol=1e-5, abs_tol=1e-6), (where, got, want)
    elif isinstance(want, list) and isinstance(got, list):
        assert len(got) == len(want), (where, got, want)
        for i, (a, b) in enumerate(zip(got, want)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(want, dict) and isinstance(got, dict):
        assert list(got) == list(want), (where, got, want)
        for k in want:
            same(got[k], want[k], f"{where}[{k}]")
    else:
        assert type(got) is type(want) and got == want, (where, got, want)


def run(function, t):
    grad, dtype = t.is_grad_enabled(), t.get_default_dtype()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(function(t), t)
    finally:
        t.set_grad_enabled(grad)
        t.set_default_dtype(dtype)


class Scenarios:
    """The scenarios of one file: a decorator. `names` are for pytest.mark.parametrize, `check` runs one."""

    def __init__(self, name):
        self.name, self.functions = name, {}

    def __call__(self, function):
        assert function.__name__ not in self.functions, function.__name__
        self.functions[function.__name__] = function
        return function

    @property
    def names(self):
        return list(self.functions)

    def check(self, name):
        got = run(self.functions[name], strided)
        try:
            torch = importlib.import_module("torch")
        except ImportError:
            torch = None
        if torch is not None:
            same(got, run(self.functions[name], torch))
        if not _expected:
            _expected.update(json.loads(RECORD.read_text()))
        same(got, _expected[self.name][name])


def check_same_error(ours, theirs, same_words=True):
    """Both calls raise, errors of one kind, with the same first line unless their words differ on purpose."""
    import pytest

    with pytest.raises(Exception) as expected:
        theirs()
    with pytest.raises(Exception) as raised:
        ours()
    ours, theirs = raised.value, expected.value
    if type(theirs).__name__ in ("LinAlgError", "_LinAlgError"):
        assert type(ours).__name__ == "LinAlgError"
    else:
        assert isinstance(ours, type(theirs))
    if same_words:
        assert str(ours).partition("\n")[0] == str(theirs).partition("\n")[0]


def main():
    import torch

    sys.path.insert(0, str(RECORD.parents[1] / "autograd"))
    files = {}
    for name in MODULES:
        scenarios = importlib.import_module(name).scenario
        files[name] = {k: run(f, torch) for k, f in scenarios.functions.items()}
    text = []
    for name, answers in files.items():
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in answers.items())
        text.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
    RECORD.write_text("{\n" + ",\n".join(text) + "\n}\n")


if __name__ == "__main__":
    main()
