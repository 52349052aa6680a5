"""Names that programs need to get past their imports, and what they do."""

import collections
import copy
import importlib
import sys
import typing
import warnings

import pytest
import strided as torch

# ---------------------------------------------------------------- compilation


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("torch.jit.script", lambda f: torch.jit.script(f)),
        ("torch.jit.trace", lambda f: torch.jit.trace(f, torch.ones(2))),
        ("torch.jit.freeze", lambda f: torch.jit.freeze(f)),
    ],
)
def test_functions_come_back_with_one_warning(name, call):
    def f(x):
        return x + 1

    torch.set_warn_always(True)  # another test may have been told already
    with pytest.warns(UserWarning, match=name) as caught:
        assert call(f) is f
    torch.set_warn_always(False)
    assert caught[0].filename == __file__ or "compiler.py" in caught[0].filename
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call(f) is f


def test_errors_of_scripted_modules_are_jit_errors():
    class Checked(torch.nn.Module):
        def forward(self, x):
            torch._assert(x.shape[-1] == 3, "bad shape")
            return x[..., 2]

    plain = Checked()
    with pytest.raises(AssertionError) as caught:
        plain(torch.ones(2))
    assert not isinstance(caught.value, torch.jit.Error)
    for make in (torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(3))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = make(Checked())
        assert isinstance(module, Checked) and module(torch.arange(3)) == 2 and not module.state_dict()
        with pytest.raises(torch.jit.Error, match="^bad shape$") as caught:
            torch.nn.Sequential(copy.copy(module))(torch.ones(2))
        assert isinstance(caught.value, AssertionError) and isinstance(caught.value.__cause__, AssertionError)
        with pytest.raises(AttributeError, match="no attribute 'save'; strided has no TorchScript"):
            module.save("module.pt")
    with pytest.raises(AttributeError, match="no attribute 'save'$"):
        plain.save("module.pt")


def test_decorators_change_nothing():
    def f(x):
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit, compiler = torch.jit, torch.compiler
        plain = [jit.export, jit.unused, jit.ignore, jit.script_method, jit.interface, jit.script_if_tracing,
                 jit._overload, jit._overload_method, compiler.allow_in_graph, compiler.assume_constant_result,
                 compiler.disable, jit.ignore(drop=True), compiler.disable(recursive=False)]  # fmt: skip
        assert all(decorate(f) is f for decorate in plain)
        assert torch.compile(f, disable=True) is f
        assert not (jit.is_scripting() or jit.is_tracing() or compiler.is_compiling() or compiler.is_exporting())
        assert jit.annotate(int, 3) == 3 and jit.isinstance(3, int) and not isinstance(f, jit.ScriptModule)
        fits = [([1], list[int]), ((1, "a"), tuple[int, str]), ({"a": [1]}, dict[str, list[int]]), ([], list[str]),
                ([None, 1], list[int | None]), (None, int | None), (3, (str, int)),
                ((1, 2), tuple[int, ...])]  # fmt: skip
        assert [jit.isinstance(*p) for p in fits] == [True] * len(fits)
        others = [([1.0], list[int]), ((1, 2), tuple[int, str]), ((1,), tuple[int, int]), ({"a": 1}, dict[str, str]),
                  (3, list[int]), ("a", int | list[str])]  # fmt: skip
        assert [jit.isinstance(*p) for p in others] == [False] * len(others)
        for bare in (list, tuple, dict, typing.List):  # noqa: UP006
            with pytest.raises(RuntimeError, match="Attempted to use .* without"):
                jit.isinstance([1], bare)
        assert jit.fork(torch.add, 1, torch.ones(1)).wait() == 2
    with pytest.raises(NotImplementedError, match="ScriptModule"):
        jit.ScriptModule()
    with pytest.raises(TypeError):
        torch.compile(3)
    from strided import _dynamo, onnx

    _dynamo.reset()
    before = _dynamo.config.cache_size_limit
    with _dynamo.config.patch(cache_size_limit=4, of_a_test=True), _dynamo.config.patch("of_a_test", False):
        assert _dynamo.config.cache_size_limit == 4 and not _dynamo.config.of_a_test
    assert _dynamo.config.cache_size_limit == before and not hasattr(_dynamo.config, "of_a_test")
    assert _dynamo.config.patch({"of_a_test": True})(lambda: _dynamo.config.of_a_test)()
    assert _dynamo.disable(f) is f and not isinstance(f, _dynamo.OptimizedModule) and not onnx.is_in_onnx_export()
    with pytest.raises(NotImplementedError, match="ONNX"):
        onnx.export(f, ())


def test_settings_of_compilers():
    import strided._dynamo.config as dynamo
    import strided._functorch.config as functorch
    import strided._inductor.config as inductor

    assert torch._inductor.config is inductor and torch._functorch.config is functorch
    assert dynamo.cache_size_limit == 8 and functorch.activation_memory_budget == 1.0
    before = inductor.triton.cudagraphs
    with inductor.patch({"triton.cudagraphs": True}, max_autotune=True), inductor.patch("a_new_one", 3):
        assert inductor.triton.cudagraphs and inductor.max_autotune and inductor.a_new_one == 3
        assert dynamo.patch(suppress_errors=True)(lambda: dynamo.suppress_errors)()
    assert (inductor.triton.cudagraphs, inductor.max_autotune, dynamo.suppress_errors) == (before, False, False)
    with pytest.raises(AttributeError, match="a_new_one"):
        inductor.a_new_one
    with pytest.raises(AttributeError), inductor.patch("nobody.knows", 1):
        pass


# ---------------------------------------------------------------- devices and parts that are not there


ABSENT = "mps xpu mtia backends.mkl backends.mkldnn backends.openmp backends.opt_einsum backends.cudnn"


@pytest.mark.parametrize("name", ABSENT.split())
def test_what_is_not_there_says_so(name):
    assert importlib.import_module(f"strided.{name}").is_available() is False


@pytest.mark.parametrize("name", ["xpu", "mps"])
def test_nothing_is_done_for_devices_that_are_not_there(name):
    device = importlib.import_module(f"strided.{name}")
    state = torch.get_rng_state()
    device.manual_seed(3)
    device.empty_cache()
    assert torch.equal(torch.get_rng_state(), state) and device.device_count() == 0


def test_rules_for_onnx_files_are_left_as_they_are():
    from strided import onnx
    from strided.onnx import symbolic_helper, symbolic_opset11

    def rule(g, x):
        return x

    assert symbolic_helper.parse_args("v", "i")(rule) is rule and not hasattr(symbolic_opset11, "squeeze")
    assert onnx.register_custom_op_symbolic("tests::rule", rule, 11) is None


def test_older_names_of_downloads_and_of_peaks(monkeypatch):
    import sys
    import types

    from strided.utils import model_zoo

    with pytest.raises(NotImplementedError, match="load_state_dict_from_url"):
        model_zoo.load_url("https://a/b.pth")
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=lambda x, total: (list(x), total)))
    assert model_zoo.tqdm("ab", total=2) == (["a", "b"], 2)
    if not torch.cuda.is_available():
        with pytest.raises(Exception) as older:
            torch.cuda.reset_max_memory_allocated()
        with pytest.raises(type(older.value)):
            torch.cuda.reset_peak_memory_stats()


def test_a_context_of_cudnn_changes_nothing():
    with torch.backends.cudnn.flags(enabled=False, benchmark=True):
        assert not torch.backends.cudnn.benchmark


def test_a_library_of_pytorch_is_not_there():
    with pytest.raises(NotImplementedError, match="compiled for PyTorch"):
        torch.ops.load_library("_C.so")
    with pytest.raises(OSError, match="compiled for PyTorch"):
        torch.ops.load_library("_C.so")


def test_the_accelerator_is_cuda():
    accelerator = torch.accelerator
    assert accelerator.is_available() == torch.cuda.is_available()
    assert accelerator.device_count() == torch.cuda.device_count()
    assert (accelerator.current_accelerator(True) is None) == (not torch.cuda.is_available())
    accelerator.synchronize()
    with accelerator.device_index(None):
        pass
    assert torch.get_device_module("cpu") is torch.cpu and torch.cpu.current_device() == "cpu"
    assert torch.get_device_module("cuda:0") is torch.cuda
    with pytest.raises(RuntimeError, match=r"torch\.meta"):
        torch.get_device_module("meta")


def test_nothing_is_downloaded(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert torch.hub.get_dir() == "/somewhere/hub" and torch.hub._get_torch_home() == "/somewhere"
    for call in (torch.hub.load, torch.hub.load_state_dict_from_url, torch.hub.download_url_to_file):
        with pytest.raises(NotImplementedError, match=f"hub.{call.__name__}"):
            call("a", "b")


def test_files_that_were_downloaded_before_are_read(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    (tmp_path / "hub/checkpoints").mkdir(parents=True)
    torch.save({"w": torch.ones(2)}, tmp_path / "hub/checkpoints/net-0123abcd.pth")
    url = "https://example.org/models/net-0123abcd.pth?x=1"
    assert torch.hub.load_state_dict_from_url(url, progress=False, check_hash=True)["w"].tolist() == [1, 1]
    (tmp_path / "hub/checkpoints/net-0123abcd.pth").rename(tmp_path / "other.pth")
    assert torch.hub.load_state_dict_from_url(url, tmp_path, "cpu", file_name="other.pth")["w"].tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match=r"downloads nothing.*net-0123abcd\.pth: get it from https"):
        torch.hub.load_state_dict_from_url(url)


# ---------------------------------------------------------------- switches


def test_set_default_tensor_type():
    with pytest.warns(UserWarning, match="deprecated"):
        torch.set_default_tensor_type(torch.DoubleTensor)
    assert torch.ones(1).dtype == torch.float64
    with pytest.warns(UserWarning, match="deprecated"):
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.get_default_dtype() == torch.float32
    for wrong in (torch.float32, "torch.NoTensor", "xpu.FloatTensor", 3, torch.LongTensor):
        with pytest.warns(UserWarning, match="deprecated"), pytest.raises(TypeError):
            torch.set_default_tensor_type(wrong)


def test_switches_answer():
    assert torch.set_flush_denormal(False) and not torch.set_flush_denormal(True)
    torch.set_num_interop_threads(1)
    with pytest.raises(RuntimeError):
        torch.set_num_interop_threads(0)
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    torch.set_anomaly_enabled(True, False)
    assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(False)
    assert not torch.is_autocast_enabled() and torch.get_autocast_gpu_dtype() == torch.float16
    torch.set_autocast_dtype("cpu", torch.float16)
    assert torch.get_autocast_cpu_dtype() == torch.float16
    torch.set_autocast_dtype("cpu", torch.bfloat16)


# ---------------------------------------------------------------- mixed precision


def test_autocast_by_its_old_names():
    with torch.autocast("cpu", enabled=False), torch.amp.autocast("cpu", torch.bfloat16, False):
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype == torch.float32
    with pytest.warns(FutureWarning, match=r"use `torch.amp.autocast\('cpu', args...\)` instead"):
        old = torch.cpu.amp.autocast(dtype=torch.float16)
    with old:
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype == torch.float16
    with pytest.raises(RuntimeError, match="Expected one of"):
        torch.autocast("tpu")
    if not torch.cuda.is_available():
        with (
            pytest.warns(UserWarning, match="CUDA is not available"),
            pytest.warns(FutureWarning, match="'cuda', args"),
        ):
            torch.cuda.amp.autocast()
        with (
            pytest.warns(UserWarning, match="^torch.cuda.amp.GradScaler is enabled, but CUDA is not available"),
            pytest.warns(FutureWarning, match="'cuda', args"),
        ):
            assert not torch.cuda.amp.GradScaler().is_enabled()
    for name in ("custom_fwd", "custom_bwd"):
        with pytest.warns(FutureWarning, match=rf"torch.amp.{name}\(args..., device_type='cuda'\)"):
            assert getattr(torch.cuda.amp, name)(abs)
    with pytest.warns(FutureWarning, match="'cpu', args"):
        torch.cpu.amp.GradScaler()


class Descent:
    """An optimizer."""

    def __init__(self, *parameters):
        self.param_groups, self.steps = [{"params": parameters}], 0

    def step(self):
        self.steps += 1


def test_grad_scaler():
    x = torch.tensor([2.0], requires_grad=True)
    scaler, step = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2), Descent(x)
    for expected in (4.0, 8.0):
        x.grad = None
        scaler.scale(x * 3).sum().backward()
        assert x.grad == 3 * (4.0 if expected == 4.0 else 4.0)
        scaler.unscale_(step)
        assert x.grad == 3
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.unscale_(step)
        scaler.step(step)
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.step(step)
        scaler.update()
        assert scaler.get_scale() == expected
    assert step.steps == 2
    state = scaler.state_dict()
    x.grad = torch.tensor([float("inf")])
    scaler.step(step)
    scaler.update()
    assert step.steps == 2 and scaler.get_scale() == 4.0
    scaler.load_state_dict(state)
    assert scaler.get_scale() == 8.0
    with pytest.raises(AssertionError):
        scaler.update()
    off = torch.amp.GradScaler("cpu", enabled=False)
    assert off.scale(x) is x and off.get_scale() == 1.0 and off.state_dict() == {}
    off.step(step)
    assert step.steps == 3


# ---------------------------------------------------------------- trees of containers

Point = collections.namedtuple("Point", "x y")

TREES = [
    1, None, (), [], {}, (1, [2, {"a": 3, "b": (4,)}]), Point(1, [2]), collections.OrderedDict(b=1, a=2),
    collections.defaultdict(list, {"k": [1, 2]}), collections.deque([1, 2], maxlen=3),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_trees_come_apart_and_together(tree):
    pytree = torch.utils._pytree
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec == pytree.tree_structure(tree) and spec.num_leaves == len(leaves)
    assert [leaf for _, leaf in pytree.tree_leaves_with_path(tree)] == leaves
    for path, leaf in pytree.tree_leaves_with_path(tree):
        assert pytree.key_get(tree, path) is leaf


def test_results_of_functions_are_nodes_of_trees():
    """They keep their class, though they are no named tuples of Python's."""
    pytree = torch.utils._pytree
    found = torch.tensor([[1.0, 3.0], [5.0, 4.0]]).max(1)
    leaves, spec = pytree.tree_flatten([found])
    assert [t.tolist() for t in leaves] == [[3.0, 5.0], [1, 0]]
    made = pytree.tree_unflatten([t * 2 for t in leaves], spec)[0]
    assert type(made) is type(found) and made.values.tolist() == [6.0, 10.0]
    assert [str(path[-1]) for path, _ in pytree.tree_flatten_with_path([found])[0]] == [".values", ".indices"]


def test_trees_that_do_not_fit():
    pytree = torch.utils._pytree
    assert pytree.tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, {"b": 20, "a": 10}) == {"a": 11, "b": 22}
    for other, message in (([1], "arity"), ({"a": 1}, "type"), (3, "type")):
        with pytest.raises(ValueError, match=f"Node {message} mismatch"):
            pytree.tree_map(lambda a, b: a, [1, 2], other)
    with pytest.raises(ValueError, match="holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))
    assert pytree._broadcast_to_and_flatten(0, pytree.tree_structure([1, (2, 3)])) == [0, 0, 0]
    assert pytree._broadcast_to_and_flatten([0], pytree.tree_structure([1, 2])) is None


def test_classes_of_the_users_own():
    pytree = torch.utils._pytree

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    assert pytree.tree_leaves([Pair(1, 2)]) == [1, 2]
    assert pytree.arg_tree_leaves(Pair(1, 2), [3], key={"a": 4}) == [1, 2, 3, 4]
    assert pytree.tree_map(lambda x: -x, Pair(1, 2)).b == -2
    assert pytree.tree_leaves(Pair(1, 2), is_leaf=lambda x: isinstance(x, Pair))[0].a == 1
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, None, None)


# ---------------------------------------------------------------- memory


def test_set():
    x = torch.zeros(2)
    base = torch.arange(6.0)
    assert x.set_(base) is x and x.data_ptr() == base.data_ptr() and x.shape == (6,)
    x.set_(base.untyped_storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]]
    x.set_(base.storage(), 4)
    assert x.tolist() == [4, 5]
    x.set_(torch.zeros(2).storage(), 0, (5,))
    assert x.shape == (5,) and x.untyped_storage().nbytes() == 20
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="torch.int8"):
        x.set_(torch.ones(1, dtype=torch.int8))
    with pytest.raises(RuntimeError, match="offset"):
        x.set_(base.untyped_storage(), -1, (1,))
    with pytest.raises(TypeError):
        x.set_(3)
    with pytest.raises(RuntimeError):
        x.set_(torch.ones(1, device="meta"))
    with pytest.raises(RuntimeError, match="gradient"):
        torch.ones(2, requires_grad=True).set_(base)


def test_questions_about_memory():
    x = torch.ones(2, 3, 4).permute(2, 0, 1)
    assert x.dim_order() == (1, 2, 0) and x.const_data_ptr() == x.data_ptr() and x.grad_dtype == torch.float32
    assert x.storage_type() is torch.FloatStorage and x.name is None and not x.volatile
    assert x.new(2, 3).shape == (2, 3) and x.to(torch.int8).new([1, 2]).dtype == torch.int8
    with pytest.raises(RuntimeError):
        torch.ones(2, 2).expand(2, 2, 2).dim_order(ambiguity_check=True)
    assert torch.ones(2, 2).expand(2, 2, 2).dim_order() == (0, 1, 2)
    with pytest.warns(UserWarning, match="resize"):
        assert x.resize(24).shape == (24,)
    with pytest.warns(UserWarning, match="resize"), pytest.raises(RuntimeError, match="requested resize to 3"):
        x.resize(3)
    y = torch.zeros(2, requires_grad=True)
    with torch.no_grad():
        assert y.module_load(torch.ones(2)).tolist() == [1, 1] and y.tolist() == [1, 1]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 1000])
def test_hash_tensor(n):
    x = torch.arange(n) * 12345678901 - 5
    expected = 0
    for v in x.tolist():
        expected ^= v % 2**64
    assert torch.hash_tensor(x).item() == expected
    assert torch.hash_tensor(x.flip(0)).item() == expected
    assert torch.hash_tensor(x.repeat(3, 1), 0, keepdim=True).tolist() == [[v % 2**64 for v in x.tolist()]]


def test_the_error_of_singular_matrices_has_its_old_name():
    with pytest.raises(torch._C._LinAlgError):
        torch.linalg.inv(torch.zeros(2, 2))


def test_legacy_types_tell_devices_apart():
    x = torch.ones(2)
    assert isinstance(x, torch.FloatTensor) and not isinstance(x, (torch.cuda.FloatTensor, torch.DoubleTensor))
    assert not isinstance(x.to("meta"), torch.FloatTensor) and not isinstance(x.to_sparse(), torch.FloatTensor)
    assert (
        repr(torch.cuda.ByteTensor) == "<class 'torch.cuda.ByteTensor'>"
        and repr(torch.ByteTensor)[8:-2] == "torch.ByteTensor"
    )
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError):
            torch.cuda.FloatTensor([1.0])


def test_samplers_without_a_distribution():
    a = torch.tensor([0.5, 2.0, 30.0], requires_grad=True)
    for sample in (torch._standard_gamma, torch._sample_dirichlet):
        torch.manual_seed(3)
        got = sample(a)
        got.sum().backward()
        assert got.shape == a.shape and (got >= 0).all() and a.grad is not None
    assert torch.isclose(got.sum(), torch.tensor(1.0))
    torch.manual_seed(3)
    assert torch.equal(torch._sample_dirichlet(a), got)


def test_sizes_are_trees():
    from strided.utils import _pytree as trees

    leaves, spec = trees.tree_flatten({"a": torch.Size([2, 3])})
    assert leaves == [2, 3] and trees.tree_unflatten([4, 5], spec) == {"a": (4, 5)}
    assert trees.tree_map(str, torch.Size([2])) == ("2",)


def test_tensors_as_seeds_and_tensor_as_a_type():
    torch.manual_seed(torch.tensor(3))
    assert torch.initial_seed() == 3
    torch.manual_seed(2**64 - 1)
    assert torch.initial_seed() == 2**64 - 1
    assert torch.ones(2, dtype=torch.int32).type(torch.Tensor).dtype is torch.float32


def test_keys_of_the_dispatcher_are_names_in_sets():
    key, keys = torch._C.DispatchKey, torch._C.DispatchKeySet
    both = keys(key.AutocastCPU) | keys(key.CUDA)
    assert both.has(key.CUDA) and not both.has(key.CPU) and both == keys(key.CUDA, key.AutocastCPU)
    assert both & keys(key.CUDA) == keys(key.CUDA) == both.remove(key.AutocastCPU) == both - keys(key.AutocastCPU)
    assert str(key.CPU) == "DispatchKey.CPU" and repr(both) == "DispatchKeySet(AutocastCPU, CUDA)"
    a = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch._C._ExcludeDispatchKeyGuard(both):
            assert (a @ a).dtype == torch.float32
        assert (a @ a).dtype == torch.bfloat16
        with torch._C._ExcludeDispatchKeyGuard(keys(key.CUDA)):
            assert (a @ a).dtype == torch.bfloat16


def test_stubs_of_quantization_are_identities():
    from strided.ao.quantization import DeQuantStub, QuantStub, fuse_modules, prepare

    x = torch.ones(3)
    assert QuantStub()(x) is x and DeQuantStub("config").qconfig == "config" and not hasattr(QuantStub(), "qconfig")
    for refused in (fuse_modules, prepare):
        with pytest.raises(NotImplementedError, match=refused.__name__):
            refused(torch.nn.Linear(1, 1))


def test_observers_and_graphs_of_traces_that_libraries_import():
    from strided.ao.quantization import FakeQuantizeBase, ObserverBase
    from strided.jit import _get_trace_graph

    assert not isinstance(torch.nn.Linear(1, 1), (FakeQuantizeBase, ObserverBase))
    with pytest.raises(NotImplementedError, match="_get_trace_graph"):
        _get_trace_graph(torch.nn.Linear(1, 1), torch.ones(1))


def test_switches_of_pytorch_s_libraries_on_a_gpu():
    cuda = torch.backends.cuda
    names = [
        "allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
    ]
    for name in names:
        before = getattr(cuda.matmul, name)
        setattr(cuda.matmul, name, not before)
        assert getattr(cuda.matmul, name) is not before
        setattr(cuda.matmul, name, before)
        with pytest.raises(TypeError, match=name):
            setattr(cuda.matmul, name, 3)
    with pytest.raises(AttributeError, match="Unknown attribute other"):
        cuda.matmul.other = True
    assert cuda.matmul.fp32_precision == "none" and not cuda.matmul.allow_tf32
    try:
        cuda.matmul.fp32_precision = "tf32"
        assert cuda.matmul.allow_tf32 and cuda.matmul.fp32_precision == "tf32"
    finally:
        cuda.matmul.fp32_precision = "none"
    assert not cuda.matmul.allow_tf32
    assert str(cuda.preferred_linalg_library()) == "_LinalgBackend.Default" and torch.cuda.is_tf32_supported() in (
        True,
        False,
    )
    assert cuda.preferred_linalg_library("magma") == cuda.preferred_linalg_library()
    cuda.preferred_linalg_library("default")
    for choose in (cuda.preferred_linalg_library, cuda.preferred_blas_library):
        with pytest.raises(RuntimeError, match="Choose from: default"):
            choose("other")
    cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert cuda.fp16_bf16_reduction_math_sdp_allowed()
    cuda.allow_fp16_bf16_reduction_math_sdp(False)


def test_capabilities_of_the_processor():
    found = torch.cpu.get_capabilities()
    assert found["architecture"] == __import__("platform").machine() and len(found) > 10
    assert all(type(has) is bool for name, has in found.items() if name != "architecture")
    with pytest.raises(TypeError):
        found["avx2"] = True


def test_names_of_namespaces_can_be_imported_together():
    for name in ("fft", "special"):
        module = importlib.import_module(f"{torch.__name__}.{name}")
        assert len(module.__all__) > 15 and all(callable(getattr(module, n)) for n in module.__all__)
        space = {}
        exec(f"from {module.__name__} import *", space)
        assert set(module.__all__) <= set(space)


def test_dir_names_what_is_there():
    x = torch.ones(2, 2)
    assert all(hasattr(x, name) for name in dir(x) if name != "imag") and "shape" in dir(x)


def test_a_function_of_a_hubconf_in_a_folder(tmp_path):
    (tmp_path / "parts_of_hubconf.py").write_text("SIZE = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['strided']\n"
        "import strided\n"
        "from parts_of_hubconf import SIZE\n"
        "def net(out=1, **kwargs):\n"
        "    return strided.nn.Linear(SIZE, out, **kwargs)\n"
        "number = 3\n"
    )
    before = list(sys.path)
    net = torch.hub.load(tmp_path, "net", 2, source="local", bias=False)
    assert net.weight.shape == (2, 3) and net.bias is None and sys.path == before
    for name in ("nothing", "number"):
        with pytest.raises(RuntimeError, match=f"Cannot find callable {name} in hubconf"):
            torch.hub.load(tmp_path, name, source="local")
    with pytest.raises(ValueError, match="string of function name"):
        torch.hub.load(tmp_path, 3, source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        torch.hub.load(tmp_path, "net", source="elsewhere")
    with pytest.raises(NotImplementedError, match="source='local'"):
        torch.hub.load("owner/name", "net")
    (tmp_path / "hubconf.py").write_text("dependencies = ['not_a_package_at_all', 'sys']\ndef net(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: not_a_package_at_all$"):
        torch.hub.load(tmp_path, "net", source="local")
    assert sys.path == before
