"""Modules of PyTorch whose contents are kept elsewhere, and small modules that libraries import."""

import importlib
import os
import subprocess
import sys

import pytest
import strided
from strided._as_torch.places import PLACES


@pytest.mark.parametrize("place", sorted(PLACES))
def test_every_place_has_its_names(place):
    module = importlib.import_module(f"strided.{place}")
    home, names = PLACES[place]
    home = importlib.import_module(f"strided.{home}")
    home_names = home.__all__ if names == "*" else names.split()
    assert dir(module) == sorted(home_names)
    for name in home_names:
        assert getattr(module, name) is getattr(home, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def test_places_answer_in_pytorchs_place_and_others_stay_missing():
    program = (
        "from torch.optim.adagrad import Adagrad\n"
        "import torch, torch.cuda.memory as m\n"
        "assert Adagrad is torch.optim.Adagrad and m.memory_allocated() == 0 and torch.cuda.random.seed_all\n"
        "try:\n    import torch.optim.adaline\n"
        "except ModuleNotFoundError as e:\n    assert 'torch.optim.adaline' in str(e)\n"
        "else:\n    raise AssertionError\n"
    )
    code = f"import strided; strided.install_as_torch(); exec({program!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_small_names_of_the_compiler(recwarn):
    from strided._dynamo.utils import warn_once
    from strided._ops import HigherOrderOperator

    for _ in range(3):
        warn_once("this is said once", stacklevel=2)
    assert [str(w.message) for w in recwarn.list] == ["this is said once"]
    assert not isinstance(strided.ops.aten.add, HigherOrderOperator)
    with pytest.raises(NotImplementedError, match="HigherOrderOperator: strided has no such objects"):
        HigherOrderOperator("mine")
    assert strided.profiler.profiler.profile is strided.profiler.profile


def test_what_workers_know_is_looked_up_anew(monkeypatch):
    from strided.utils.data import _worker
    from strided.utils.data._utils import worker

    assert worker._worker_info is None
    monkeypatch.setattr(_worker, "_worker_info", 7)
    assert worker._worker_info == 7 and worker.get_worker_info() == 7


def test_cuda_names_without_a_device():
    if strided.cuda.is_available():
        pytest.skip("there is a device")
    called = []
    strided.cuda._lazy_call(lambda: called.append(1))
    assert called == [] and strided.cuda.OutOfMemoryError is strided.OutOfMemoryError
    assert strided.cuda.memory_cached() == strided.cuda.max_memory_cached() == 0
    assert strided.cuda.memory_summary().count("\n") == 2 and strided.cuda.ipc_collect() is None
    assert not strided.cuda.is_current_stream_capturing()
    assert strided.cuda._initialized is False
    for begin in (strided.cuda.init, strided.cuda._lazy_init):
        with pytest.raises(RuntimeError):
            begin()


def test_sdp_kernel_is_a_context():
    cuda = strided.backends.cuda
    with cuda.sdp_kernel(enable_flash=False, enable_math=True):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()


def test_extensions_are_not_built():
    from strided.utils import cpp_extension

    for call in (
        lambda: cpp_extension.load("a", ["a.cpp"]),
        lambda: cpp_extension.load_inline("a", ""),
        lambda: cpp_extension.CppExtension("a", []),
        lambda: cpp_extension.CUDAExtension("a", []),
        cpp_extension.BuildExtension.with_options(use_ninja=False),
        cpp_extension.include_paths,
    ):
        with pytest.raises(NotImplementedError, match="strided builds no extensions"):
            call()


def test_contexts_as_decorators():
    from strided.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager, context_decorator

    log = []

    class Named(_DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *exc):
            log.append(-self.name)

        def clone(self):
            return Named(self.name + 1)

    @Named(1)
    def twice(x):
        return 2 * x

    @Named(4)
    def steps():
        """Steps."""
        got = yield 1
        try:
            yield got
        except KeyError:
            yield 9
        return 3

    assert twice(5) == 10 and log == [2, -2]
    run = steps()
    assert [next(run), run.send(6), run.throw(KeyError())] == [1, 6, 9]
    with pytest.raises(StopIteration, match="3"):
        next(run)
    assert log[2:] == [5, -5] * 4 and steps.__doc__ == "Steps."
    waiting = steps()
    next(waiting)
    waiting.close()
    assert log[10:] == [5, -5] * 2

    class Plain(_NoParamDecoratorContextManager):
        def __enter__(self):
            log.append("in")

        def __exit__(self, *exc):
            log.append("out")

    @Plain
    def none():
        return log[-1]

    assert none() == "in" and log[-1] == "out"
    with pytest.raises(RuntimeError, match="classes"):
        context_decorator(lambda: Plain(), Named)


def test_module_tracker_names_what_runs():
    from strided.utils.module_tracker import ModuleTracker

    tracker, log = ModuleTracker(), []

    class Tell(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            log.append((sorted(tracker.parents), tracker.is_bw))
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            log.append((sorted(tracker.parents), tracker.is_bw))
            return g

    class Leaf(strided.nn.Module):
        def forward(self, x):
            return Tell.apply(x)

    net = strided.nn.Sequential(strided.nn.Linear(2, 2), strided.nn.Sequential(Leaf()))
    names = ["Global", "Sequential", "Sequential.1", "Sequential.1.0"]
    with tracker:
        net(strided.ones(1, 2, requires_grad=True)).sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    net(strided.ones(1, 2))
    assert log == [(names, False), (names, True), (["Global"], False)]


def test_arguments_of_a_checkpoint_become_leaves():
    from strided.utils.checkpoint import check_backward_validity, detach_variable

    x = strided.ones(2, requires_grad=True) * 2
    found = detach_variable((x, 3, strided.ones(1)))
    assert found[0].is_leaf and found[0].requires_grad and found[1] == 3 and not found[2].requires_grad
    with pytest.raises(RuntimeError, match="Only tuple"):
        detach_variable([x])
    check_backward_validity([x, 1])
    with pytest.warns(UserWarning, match="requires_grad=True"):
        check_backward_validity([x.detach()])


def test_copies_between_devices():
    from strided.cuda import comm

    x, cpus = strided.arange(6.0).view(3, 2), ["cpu", "cpu"]
    assert [t.tolist() for t in comm.broadcast(x, cpus)] == [x.tolist()] * 2
    assert comm.broadcast(x, out=[strided.empty(3, 2)])[0].tolist() == x.tolist()
    assert [[t.tolist() for t in ts] for ts in comm.broadcast_coalesced([x, x[0]], cpus)] == [[x.tolist(), [0, 1]]] * 2
    total = comm.reduce_add([x, x, x], "cpu")
    assert total.tolist() == (3 * x).tolist() and x[0].tolist() == [0, 1]
    assert [t.tolist() for t in comm.reduce_add_coalesced([[x[0], x[1]], [x[1], x[2]]], -1)] == [[2, 4], [6, 8]]
    assert [t.tolist() for t in comm.scatter(x, cpus, dim=1)] == [[[0], [2], [4]], [[1], [3], [5]]]
    assert [t.shape[0] for t in comm.scatter(x, cpus, [1, 2])] == [1, 2]
    into = [strided.empty(2, 2), strided.empty(1, 2)]
    assert [t.tolist() for t in comm.scatter(x, out=into)] == [[[0, 1], [2, 3]], [[4, 5]]]
    assert comm.gather(into, destination="cpu").tolist() == x.tolist()
    assert comm.gather(into, out=strided.empty(3, 2)).tolist() == x.tolist()
    with pytest.raises(ValueError, match="invalid size"):
        comm.reduce_add([x, x[0]], "cpu")
    with pytest.raises(RuntimeError, match="exactly one"):
        comm.broadcast(x)


def test_hub_has_tqdm_also_where_it_is_not_installed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    from strided.hub import tqdm

    assert list(tqdm([1, 2], total=2)) == [1, 2]
    assert capsys.readouterr().err == "\r50.0%\r100.0%\n"
    with tqdm(unit="B") as bar:
        bar.update(3)
    assert capsys.readouterr().err == "\r3.0 B\n"
    assert list(tqdm([1], disable=True)) == [1] and capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "tqdm", type(sys)("tqdm"))
    sys.modules["tqdm"].tqdm = 7
    assert strided.hub.tqdm == 7


def test_without_a_library_for_cuda():
    """As a PyTorch built without CUDA: what asks for a device raises AssertionError, which is a RuntimeError too."""
    code = """if True:
        import warnings
        import strided as torch
        for ask in (
            lambda: torch.ones(1).cuda(),
            lambda: torch.zeros(1, device="cuda"),
            lambda: torch.nn.Linear(1, 1).to("cuda:0"),
            torch.cuda.current_device,
            torch.cuda.synchronize,
            lambda: torch.cuda.get_device_properties(0),
        ):
            try:
                ask()
            except AssertionError as error:
                assert isinstance(error, RuntimeError)
                assert str(error).startswith("Torch not compiled with CUDA enabled: "), error
            else:
                raise SystemExit("no error")
        warnings.simplefilter("ignore")
        try:
            torch.set_default_tensor_type("torch.cuda.FloatTensor")
        except TypeError as error:
            print(torch.ones(1), str(error).partition(" not available")[0])
        """
    environment = {**os.environ, "STRIDED_CUDA_LIBRARY": "/no/such/library.so"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == "tensor([1.]) type torch.cuda.FloatTensor\n", done.stderr
