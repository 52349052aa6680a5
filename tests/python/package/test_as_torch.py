"""strided in PyTorch's place: install_as_torch, `python -m strided run`, and the version that programs compare."""

import os
import py_compile
import shutil
import subprocess
import sys

import pytest
import strided

TorchVersion = strided.torch_version.TorchVersion


def run(*words, status=0, cwd=None):
    """What `python -m strided run ...` prints."""
    command = [sys.executable, "-m", "strided", "run", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=cwd)
    assert done.returncode == status, done.stderr[-2000:]
    return done.stdout


def test_it_is_never_there_by_itself():
    program = (
        "import sys, strided, strided.utils.benchmark; assert not any(n.split('.')[0] == 'torch' for n in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert strided.__name__ == "strided" and strided.Tensor.__module__ == "strided"


def test_modules_are_the_same_objects():
    run(
        "-c",
        """
import torch, torch.linalg, torch.autograd.forward_ad as forward_ad
from torch.utils.benchmark import Timer
from torch import Tensor, float32
from torch.autograd import *
import strided, strided.linalg, strided.autograd.forward_ad, strided.utils.benchmark
assert torch is strided and torch.linalg is strided.linalg and forward_ad is strided.autograd.forward_ad
assert torch.torch is torch  # kornia writes torch.torch.Tensor
import torch.distributions.multivariate_normal as mvn, torch.fx.node, torch.nn.parallel.scatter_gather
assert mvn.MultivariateNormal is torch.distributions.MultivariateNormal is strided.distributions.MultivariateNormal
assert Timer is strided.utils.benchmark.Timer and Tensor is strided.Tensor and float32 is strided.float32
assert forward_ad.__spec__.name == "strided.autograd.forward_ad"
strided.install_as_torch()  # once more
assert sum(getattr(f, "__module__", "").endswith("_as_torch") for f in __import__("sys").meta_path) == 1
""",
    )


def test_results_of_functions_are_nodes_of_trees():
    run(
        "-c",
        """
import os, torch
from torch.utils import _pytree
found = torch.ones(2, 3).max(1)
leaves, spec = _pytree.tree_flatten({"a": found})
assert len(leaves) == 2 and type(_pytree.tree_unflatten(leaves, spec)["a"]) is type(found) is torch.return_types.max
assert len(_pytree.tree_leaves(os.stat_result(range(10)))) == 1
q, r = torch.vmap(torch.linalg.qr)(torch.ones(2, 3, 3))
assert q.shape == (2, 3, 3)
""",
    )


def test_sparse_tensors_are_saved():
    run(
        "-c",
        """
import io, torch
for made in (torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr()):
    f = io.BytesIO()
    torch.save([made, made.layout], f)
    f.seek(0)
    loaded, layout = torch.load(f)
    assert layout is loaded.layout is made.layout
    assert torch.equal(loaded.to_dense(), torch.eye(2))
""",
    )


def test_modules_that_come_with_torch_are_there():
    run(
        "-c",
        """
import concurrent, importlib, multiprocessing, urllib
import torch
multiprocessing.connection.Connection, importlib.util.find_spec, importlib.metadata.version
concurrent.futures.ThreadPoolExecutor, urllib.request.urlopen
""",
    )


def test_what_there_is_not_is_an_import_error():
    run(
        "-c",
        """
import importlib.util, torch
for name in ("torch.no_such", "torch.linalg.no_such", "torch.no_such.deep"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert name.startswith(error.name), error.name
        assert error.name in str(error)
    else:
        raise AssertionError(name)
try:
    from torch.linalg import no_such
except ImportError as error:
    assert "from 'torch.linalg'" in str(error), error
assert importlib.util.find_spec("torch.no_such") is None
import sys, types
sys.modules["torch.made_up"] = types.ModuleType("torch.made_up")  # a program's own
sys.modules["torch.made_up"].__path__ = []
try:
    import torch.made_up.inner
except ModuleNotFoundError as error:
    assert error.name == "torch.made_up.inner", error.name
""",
    )


def test_what_libraries_ask():
    run(
        "-c",
        """
import importlib.metadata, importlib.util, torch
assert torch.__name__ == "torch" and torch.linalg.__name__ == "torch.linalg"
assert importlib.util.find_spec("torch") is not None
assert importlib.metadata.version("torch") == torch.__version__ == torch.version.__version__
assert importlib.metadata.version("pytest")
assert torch.__version__.startswith("2.13.0+strided.") and torch.__version__ >= (2, 4) and torch.__version__ < "3"
for kind in (torch.Tensor, torch.device, torch.dtype, torch.Size, torch.finfo):
    assert kind.__module__ == "torch", kind
assert torch.no_grad.__module__ == "torch.autograd.grad_mode"
""",
    )


def test_pickles_and_copies():
    run(
        "-c",
        """
import copy, pickle, torch
x = torch.arange(6.0).view(2, 3)
things = [torch.Tensor, torch.float32, torch.device("cpu"), torch.Size([2]), torch.no_grad, torch.finfo]
for thing in things:
    assert pickle.loads(pickle.dumps(thing)) == thing
    assert copy.deepcopy(thing) == thing
assert (pickle.loads(pickle.dumps(x)) == x).all() and (copy.deepcopy(x) == x).all()
""",
    )


def test_scripts_modules_and_their_arguments(tmp_path):
    (tmp_path / "beside.py").write_text("import torch\nname = torch.__name__\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, beside, torch\n"
        "print(__name__, beside.name, sys.argv[1:], __file__.endswith('script.py'))\n"
        "if __name__ == '__main__': sys.exit(3)\n"
    )
    assert run(str(script), "-m", "x", status=3).strip() == "__main__ torch ['-m', 'x'] True"
    assert run("-m", "script", "-c", "x", status=3, cwd=tmp_path).strip() == "__main__ torch ['-c', 'x'] True"
    assert run("-c", "import sys; print(sys.argv, __name__)", "1") == "['-c', '1'] __main__\n"


def test_a_script_is_what_it_is_without_the_command(tmp_path):
    """Its file is named in full, and its annotations are no texts."""
    (tmp_path / "script.py").write_text(
        "import sys\ndef f(x: int): pass\n"
        "print(__file__, sys.argv, f.__annotations__, sys.modules['__main__'].f is f)\n"
    )
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("print(__name__)\n")
    expected = f"{tmp_path}/script.py ['script.py', '1'] {{'x': <class 'int'>}} True\n"
    assert run("script.py", "1", cwd=tmp_path) == expected
    assert run("-c", "def f(x: int): pass\nprint(f.__annotations__)") == "{'x': <class 'int'>}\n"
    shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path / "folder")
    py_compile.compile(str(tmp_path / "folder" / "__main__.py"), str(tmp_path / "compiled.pyc"))
    for program in ("folder", "archive.zip", "compiled.pyc"):
        assert run(program, cwd=tmp_path) == "__main__\n"


def test_modules_below_torch_run_as_programs():
    assert "--nproc-per-node" in run("-m", "torch.distributed.run", "--help")


def test_ranks_that_a_program_starts_have_it_too(tmp_path):
    (tmp_path / "rank.py").write_text("import strided, torch\nassert torch is strided\n")
    program = """
import sys, strided
strided.install_as_torch()
from torch.distributed.run import parse_args, run
sys.exit(run(parse_args(["--nproc-per-node=2", "rank.py"])))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, cwd=tmp_path)


@pytest.mark.parametrize("words", [(), ("-m",), ("-x",)])
def test_nothing_to_run(words):
    assert run(*words, status=2) == ""


def test_tests_run_in_it(tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import torch\ndef test_it():\n    assert torch.__file__.split('/')[-2] == 'strided'\n"
    )
    assert "1 passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path))


def test_a_torch_that_is_there_already_is_left_alone():
    program = """
import sys, types, strided
sys.modules["torch"] = types.ModuleType("torch")
try:
    strided.install_as_torch()
except RuntimeError as error:
    print(error)
assert strided.__name__ == "strided"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "torch is imported already" in done.stdout, done.stderr


def test_libraries_find_their_backend():
    pytest.importorskip("einops")
    pytest.importorskip("opt_einsum")
    run(
        "-c",
        """
import torch, einops, opt_einsum
x = torch.arange(6.0).view(2, 3)
assert (einops.rearrange(x, "a b -> b a") == x.t()).all()
assert (einops.reduce(x, "a b -> a", "sum") == x.sum(1)).all()
assert (opt_einsum.contract("ab,cb->ac", x, x) == x @ x.t()).all()
""",
    )


# In ascending order; what stands in one row is equal.
ORDER = [
    ["1.0.dev1"], ["1.0a1"], ["1.0rc2", "1.0.RC.2", "1.0c2"], ["1", "1.0", "1.0.0", "v1.0"], ["1.0+cpu"],
    ["1.0+cpu.2"], ["1.0+2"], ["1.0.post1.dev2"], ["1.0.post1", "1.0-1"], ["1.9"], ["1.10.0a0"], ["1.10"], ["2.13"],
]  # fmt: skip


def test_versions_are_ordered():
    flat = [(row, text) for row, texts in enumerate(ORDER) for text in texts]
    for row, text in flat:
        a = TorchVersion(text)
        for other_row, other in flat:
            assert (a == other) == (row == other_row) and (a != other) == (row != other_row), (text, other)
            assert (a < other) == (row < other_row) and (a > other) == (row > other_row), (text, other)
            assert (a <= other) == (row <= other_row) and (a >= other) == (row >= other_row), (text, other)
    assert TorchVersion("2.13.0") == (2, 13) and TorchVersion("2.13.0") > (2, 9, 5) and TorchVersion("2.1") <= (2, 1)
    assert TorchVersion("2.0") != "parrot" and TorchVersion("2.0") < "parrot"
    assert hash(TorchVersion("2.0")) == hash("2.0") and isinstance(TorchVersion("2.0"), str)


def test_versions_of_the_library_packaging():
    packaging = pytest.importorskip("packaging.version")
    flat = [text for texts in ORDER for text in texts]
    for a in flat:
        for b in flat:
            assert (TorchVersion(a) < packaging.Version(b)) == (packaging.Version(a) < packaging.Version(b))


def test_functorch_is_strided_s_too():
    run(
        "-c",
        """
import functorch, torch, warnings
from functorch import make_functional, vmap
from torch._functorch import apis
for function in (functorch.grad, vmap, functorch.make_functional_with_buffers):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(torch.nn.Linear(1, 1))
    assert [w.category for w in caught] == [FutureWarning] and "integrated functorch" in str(caught[0].message)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    apis.vmap(torch.sin)(torch.ones(2))
net = torch.nn.Linear(2, 1)
f, parameters = make_functional(net)
x = torch.ones(3, 2)
assert torch.equal(f(parameters, x), net(x)) and torch.equal(vmap(f, (None, 0))(parameters, x), net(x))
grads = functorch.grad(lambda p: f(p, x).sum())(parameters)
assert [g.tolist() for g in grads] == [[[3.0, 3.0]], [3.0]]
norm = torch.nn.BatchNorm1d(2)
try:
    make_functional(norm)
except RuntimeError as error:
    assert "has buffers" in str(error)
f, parameters, buffers = functorch.make_functional_with_buffers(norm.eval(), disable_autograd_tracking=True)
assert torch.equal(f(parameters, buffers, x), norm(x)) and not parameters[0].requires_grad and len(buffers) == 3
f, parameters, buffers = functorch.combine_state_for_ensemble([net, net])
assert parameters[0].shape == (2, 1, 2) and vmap(f, (0, 0, None))(parameters, buffers, x).shape == (2, 3, 1)
from functorch import functionalize, make_fx
from functorch.experimental import chunk_vmap, replace_all_batch_norm_modules_
assert [n.op for n in make_fx(torch.sin)(x).graph.nodes] == ["placeholder", "call_function", "output"]
for chunks in (1, 2, 5):
    assert torch.equal(chunk_vmap(torch.sin, chunks=chunks)(x), x.sin())
""",
    )


def test_functorch_compile_has_what_needs_no_compiler():
    run(
        "-c",
        """
from functorch.compile import config, make_boxed_compiler, make_boxed_func, nop
from torch._functorch import aot_autograd
assert aot_autograd.make_boxed_func is make_boxed_func
boxed = make_boxed_func(max)
assert boxed([1, 3]) == 3 and boxed._boxed_call and boxed.__name__ == "max"
compiled = make_boxed_compiler(nop)(min, [])
assert compiled([1, 3]) == 1 and compiled._boxed_call
try:
    from functorch.compile import aot_function
except ImportError as error:
    assert "aot_function" in str(error)
else:
    raise AssertionError
""",
    )


def test_torch_xla_is_there_only_where_it_is_asked_for(monkeypatch):
    monkeypatch.delenv("STRIDED_PJRT_PLUGIN", raising=False)
    monkeypatch.delenv("PJRT_DEVICE", raising=False)
    monkeypatch.setattr(os.path, "exists", lambda path, exists=os.path.exists: path != "/dev/accel0" and exists(path))
    from strided._as_torch import _is_wanted

    assert not _is_wanted("torch_xla") and _is_wanted("torch") and not _is_wanted("numpy")
    monkeypatch.setenv("PJRT_DEVICE", "CPU")
    assert _is_wanted("torch_xla")


def test_spawned_processes_have_it_too(tmp_path):
    (tmp_path / "program.py").write_text("""
import torch, torch.multiprocessing as mp

def inner(queue):
    import torch
    queue.put(torch.__file__.split("/")[-2])

def work(rank, queue):
    import torch
    queue.put((torch.__file__.split("/")[-2], float(torch.ones(2).sum())))
    process = mp.get_context("spawn").Process(target=inner, args=(queue,))
    process.start()
    process.join()

if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, args=(queue,), nprocs=1)
    print(queue.get(), queue.get())
""")
    assert run(str(tmp_path / "program.py")) == "('strided', 2.0) strided\n"


def test_tensors_under_vmap_are_of_torch_too():
    """Libraries take the package of a tensor's class for the name of its backend."""
    program = "import torch; torch.vmap(lambda x: print(type(x).__module__) or x)(torch.ones(2))"
    assert run("-c", program) == "torch\n"


def test_classes_name_the_public_module_of_torch():
    printed = run(
        "-c",
        """
import torch, torch.nn.utils.prune as prune, torch.distributions, torch.optim.lr_scheduler
for c in (prune.L1Unstructured, torch.optim.lr_scheduler.StepLR, torch.nn.MultiheadAttention, torch.nn.Linear,
          torch.Generator, torch.distributions.AbsTransform, torch.distributions.Normal, torch.autograd.Function):
    print(c.__module__, c.__name__)
import sys, types
for name, module in list(sys.modules.items()):
    if name.startswith("strided.") and isinstance(module, types.ModuleType):
        assert module.__name__.startswith("torch."), name
        for value in vars(module).values():
            assert not isinstance(value, type) or not str(value.__module__).startswith("strided."), (name, value)
""",
    )
    assert printed.splitlines() == [
        "torch.nn.utils.prune L1Unstructured",
        "torch.optim.lr_scheduler StepLR",
        "torch.nn.modules.activation MultiheadAttention",
        "torch.nn.modules.linear Linear",
        "torch._C Generator",
        "torch.distributions.transforms AbsTransform",
        "torch.distributions.normal Normal",
        "torch.autograd.function Function",
    ]


def test_compile_takes_named_results(tmp_path):
    (tmp_path / "program.py").write_text(
        """
import torch

@torch.compile
def f(x):
    return torch.sort(torch.sin(x) + 1)

f(torch.rand(9))
print(f(torch.rand(9)).values.shape)
print(f.explain(torch.rand(9)))
"""
    )
    printed = run(str(tmp_path / "program.py"))
    assert "[9]" in printed and "fused: sin, add" in printed, printed
