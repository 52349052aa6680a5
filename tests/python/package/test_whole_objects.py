"""`torch.save(model)` in PyTorch's place: a process reads whole objects back, and a file cannot make it do more."""

import operator
import pickle
import subprocess
import sys
import zipfile

import pytest
import strided

CLASSES = """
import collections, enum, functools, io, pickle, sys
import torch
import torch.nn.functional as F
from torch import nn

class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

class Store(dict):
    pass

class Words(list):
    pass

def hook(module, arguments, result):
    return 2 * result

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
        self.cell = nn.LSTM(2, 2)
        self.act, self.squash = F.relu, torch.tanh
        self.leak = functools.partial(F.leaky_relu, negative_slope=0.1)
        self.more = self.double
        self.mode, self.kind = Mode.SLOW, nn.LayerNorm
        self.counts = collections.defaultdict(list, {"a": [1]})
        self.store, self.words = Store(x=1), Words("ab")
        self.store.name = "s"
        self.parts = nn.ParameterList([torch.ones(2)])
        self.register_forward_hook(hook)

    def double(self, x):
        return x * 2

    def forward(self, x):
        return self.more(self.leak(self.squash(self.cell(self.act(self.layers(x)))[0]))) + self.parts[0]

class Sub(torch.Tensor):
    pass

def trip(x, **options):
    f = io.BytesIO()
    torch.save(x, f)
    f.seek(0)
    return torch.load(f, **options)

def refusal():
    try:
        torch.load("hostile.pt", weights_only=False)
    except pickle.UnpicklingError as problem:
        return str(problem)
"""


def run(program, cwd):
    """A program in PyTorch's place; what it prints."""
    (cwd / "program.py").write_text(program)
    command = [sys.executable, "-m", "strided", "run", "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_process_reads_back_what_it_wrote(tmp_path):
    run(
        CLASSES
        + """
net = Net()
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(2, 3)).sum().backward()
optimizer.step()
loaded = trip({"net": net, "optimizer": optimizer}, weights_only=False)
same, other = loaded["net"], torch.randn(5, 3)
assert type(same) is Net and torch.equal(net.eval()(other), same.eval()(other))
assert same.mode is Mode.SLOW and same.kind is nn.LayerNorm and same.act is F.relu and same.squash is torch.tanh
assert same.more.__self__ is same and same.counts == {"a": [1]} and same.counts["b"] == []
assert type(same.store) is Store and same.store == {"x": 1} and same.store.name == "s"
assert type(same.words) is Words and same.words == ["a", "b"]
assert loaded["optimizer"].param_groups[0]["params"][0] is same.layers[0].weight
assert loaded["optimizer"].state[same.layers[0].weight]["step"] == 1

normal = trip(torch.distributions.Normal(torch.zeros(2), torch.ones(2)), weights_only=False)
assert normal.loc.tolist() == [0, 0]
assert type(trip([torch.ones(2).as_subclass(Sub)], weights_only=False)[0]) is Sub
""",
        tmp_path,
    )


def test_weights_only_refuses_them_still(tmp_path):
    run(
        CLASSES
        + """
for options in ({}, {"weights_only": True}):
    try:
        trip(Net(), **options)
    except pickle.UnpicklingError as problem:
        assert "__main__.Net" in str(problem)
    else:
        raise AssertionError
""",
        tmp_path,
    )


def test_modules_of_imported_classes_are_read_by_other_processes(tmp_path):
    (tmp_path / "network.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layer, self.act = torch.nn.Linear(2, 2), torch.tanh\n"
        "    def forward(self, x):\n        return self.act(self.layer(x))\n"
    )
    run("import torch, network\ntorch.save(network.Net(), 'net.pt')\n", tmp_path)
    read = (
        "import torch\nnet = torch.load('net.pt', weights_only=False)\n"
        "print(type(net).__name__, net(torch.ones(2)).shape)\n"
    )
    assert run("import network\n" + read, tmp_path) == "Net torch.Size([2])\n"
    # A class that the program has not imported stays unknown: the file's name imports nothing.
    refused = f"import pickle, sys\ntry:\n    exec({read!r})\nexcept pickle.UnpicklingError as e:\n    print(e)\n"
    assert "Unsupported global: network.Net" in run(refused + "assert 'network' not in sys.modules\n", tmp_path)


def test_types_and_slots(tmp_path):
    # Layers that inspect their methods hold annotations.
    run(
        CLASSES
        + """
import dataclasses, operator, typing
from typing import Any, Callable, Dict, Generic, List, Literal, Optional, Tuple, TypeVar, Union

T = TypeVar("T")

class Pair(Generic[T]):
    pass

@dataclasses.dataclass
class Slotted:
    __slots__ = ("a",)
    a: int

@functools.lru_cache
def remembered(x):
    return x

forms = [Optional[torch.Tensor], Union[int, str, None], Tuple[int, ...], Callable[[int], str], List[int], Any, Dict,
         Literal["a"], T, Pair[int], Pair, list[int], dict[str, list[int]], int | None, type(None), type(...)]
held = [..., NotImplemented, Slotted(3), remembered, len]
for one in forms + held + [forms]:
    same = trip(one, weights_only=False)
    assert same == one, one
    assert type(one) in (list, Slotted) or type(same) is type(one) or one == int | None, one
    try:
        trip([one])
    except pickle.UnpicklingError:
        pass
    else:
        raise AssertionError(one)
""",
        tmp_path,
    )


def test_objects_of_compiled_classes(tmp_path):
    # Their classes are made by functions that are no Python code, which belong to the same package.
    run(
        CLASSES
        + """
import array
import numpy as np

for made in (np.random.default_rng(3), np.random.RandomState(3), np.random.Generator(np.random.PCG64(1))):
    same = trip(made, weights_only=False)
    assert type(same) is type(made) and same.normal() == made.normal()
seeds = trip(np.random.SeedSequence(4), weights_only=False)
assert seeds.generate_state(2).tolist() == np.random.SeedSequence(4).generate_state(2).tolist()

masked = trip(np.ma.array([1, 2], mask=[False, True]), weights_only=False)
assert type(masked) is np.ma.MaskedArray and masked.tolist() == [1, None]
records = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
for made in (np.array(["a", None, 3], dtype=object), np.array(["ab", "c"]), np.array(["2020-01-01"], dtype="M8[D]"),
             records, np.rec.array(records), np.matrix([[1, 2]]), np.array([1, 2]), np.ones((2, 3), order="F")):
    same = trip({"one": made, "two": np.arange(3)}, weights_only=False)
    assert type(same["one"]) is type(made) and same["one"].dtype == made.dtype and same["one"].tolist() == made.tolist()
    assert same["two"].tolist() == [0, 1, 2]
held = trip(np.array([{"a": torch.ones(2)}], dtype=object), weights_only=False)
assert held[0]["a"].tolist() == [1, 1]
for made in (np.dtype("O"), np.dtype([("a", "f4")]), np.datetime64("2020-01-01"), array.array("d", [1, 2]), np.ndarray):
    same = trip([made], weights_only=False)[0]
    assert type(same) is type(made) and same == made
""",
        tmp_path,
    )


@pytest.mark.parametrize("function", ["numpy._core.multiarray.fromfile", "numpy._core.multiarray.scalar"])
def test_compiled_functions_of_a_package_stay_unknown(tmp_path, function):
    # ... unless an object of its classes was made of them.
    import numpy

    module, _, name = function.rpartition(".")
    archive(tmp_path / "hostile.pt", [Call(getattr(sys.modules[module], name), numpy.dtype("O"), b"12345678")])
    told = run(
        CLASSES
        + """
import numpy as np

trip(np.random.default_rng(3), weights_only=False)
trip(np.array([None]), weights_only=False)
print("refused" if refusal() else "read")
""",
        tmp_path,
    )
    assert told == "refused\n"


class Call:
    def __init__(self, function, *args):
        self.parts = function, args

    def __reduce__(self):
        return self.parts


def archive(path, obj):
    content = pickle.dumps(obj, protocol=2).replace(b"c__builtin__\n", b"cbuiltins\n")  # as save names builtins
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("archive/data.pkl", content)


@pytest.mark.parametrize(
    "call",
    [
        Call(eval, "print('ran')"),
        Call(getattr, "text", "format"),
        Call(exec, "print('ran')"),
        Call(operator.getitem, {"a": 1}, "a"),
    ],
    ids=["eval", "getattr", "exec", "getitem"],
)
def test_files_call_nothing_else(tmp_path, call):
    archive(tmp_path / "hostile.pt", [call])
    told = run(
        CLASSES
        + """
trip(Net(), weights_only=False)  # now getattr is a name that files may have: of methods
trip(list[int] | None, weights_only=False)  # ... and operator.getitem: of types
trip([print], weights_only=False)
print("refused" if refusal() else "read")
""",
        tmp_path,
    )
    assert told == "refused\n"


def test_a_function_that_is_held_is_not_called(tmp_path):
    archive(tmp_path / "hostile.pt", [Call(print, "ran")])
    told = run(
        CLASSES
        + """
assert trip([print], weights_only=False) == [print]
print("refused:", refusal())
""",
        tmp_path,
    )
    assert told.startswith("refused:") and "is called" in told


def test_local_classes_are_refused(tmp_path):
    run(
        CLASSES
        + """
def made():
    class Local:
        pass
    return Local()

for bad in (made(), lambda x: x, io.StringIO, open(__file__)):
    try:
        trip(bad, weights_only=False)
    except pickle.PicklingError:
        assert bad is not io.StringIO
    else:
        assert bad is io.StringIO
""",
        tmp_path,
    )


def test_elsewhere_nothing_changes():
    import io

    with pytest.raises(pickle.PicklingError, match="Linear"):
        strided.save(strided.nn.Linear(1, 1), io.BytesIO())
