"""Names that libraries import or ask for: there, and honest about what there is not."""

import importlib
import typing
import warnings
from collections import namedtuple

import pytest
import strided


@pytest.mark.parametrize(
    "text",
    [
        "_C.Value()", "_C.Graph()", "_C.ScriptFunction()", "_C.ScriptMethod()", "fx.Transformer(None)",
        "PyTorchFileReader('x')",
        "distributed.optim.DistributedOptimizer([])", "distributed.nn.RemoteModule('worker/cpu', object)",
        "decomp.core_aten_decompositions()",
        "autograd.profiler.emit_nvtx()",
        "export.draft_export(None, ())", "export.save(None, 'a')", "export.load('a')",
        "export.unflatten(None)", "export.default_decompositions()",
        "nvtx.range_push('a')", "nvtx.range_pop()", "nvtx.mark('a')", "nvtx.range('a').__enter__()",
        "cuda_profiler.init('a')", "cuda_profiler.start()", "cuda_profiler.stop()",
        "cuda_profiler.profile().__enter__()",
    ],
)  # fmt: skip
def test_what_there_is_not_says_so(text):
    with pytest.raises(NotImplementedError, match=r"\w+: strided"):
        eval(
            text,
            vars(strided)
            | {
                "fx": strided.fx,
                "sparse": strided.sparse,
                "decomp": importlib.import_module("strided._decomp"),
                "distributed": strided.distributed,
                "export": importlib.import_module("strided.export"),
                "nvtx": importlib.import_module("strided.cuda.nvtx"),
                "cuda_profiler": importlib.import_module("strided.cuda.profiler"),
                "dispatch": importlib.import_module("strided.utils._python_dispatch"),
            },
        )


def test_names_of_annotations():
    """Symbolic functions for ONNX name the types of their arguments."""

    def symbolic(g: strided.Graph, x: strided.Value) -> strided.Value:
        return g.op("Relu", x)

    assert strided.Graph is strided._C.Graph and not isinstance(symbolic, strided.ScriptFunction | strided.ScriptMethod)


def test_the_size_of_blocks_has_the_name_that_transformers_imports():
    from strided.nn.attention.flex_attention import _DEFAULT_SPARSE_BLOCK_SIZE, create_block_mask

    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 300, 300, device="cpu")
    assert mask.BLOCK_SIZE == (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE) == (128, 128)


def test_the_older_name_of_quantization():
    from strided.quantization import QuantStub

    assert QuantStub is strided.quantization.QuantStub is strided.ao.quantization.QuantStub


def test_names_of_the_compiler():
    from strided._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    assert strided._dynamo.list_backends() == ["inductor"] and strided._dynamo.eval_frame.is_dynamo_supported()
    with TransformGetItemToIndex():  # what attention masks of transformers do: indices of a batch
        table = strided.arange(6).view(2, 3)
        rows = strided.vmap(lambda i: table[i, 1])(strided.arange(2))
    assert rows.tolist() == [1, 4]


def test_what_is_built():
    assert "USE_CUDA=" in strided.__config__.show() and "threads" in strided.__config__.parallel_info()


def test_no_object_is_one():
    for kind in (strided._C.Value, strided._C.ScriptMethod, strided.fx.Transformer):
        assert not isinstance(strided.ones(1), kind)
    assert issubclass(strided.fx.GraphModule, strided.nn.Module)

    class Mine(strided.fx.Transformer):  # libraries derive classes that they may never use
        pass

    assert not strided.masked.is_masked_tensor(strided.ones(1))


def test_nothing_is_traced():
    from strided._subclasses.functional_tensor import FunctionalTensor

    assert not isinstance(strided.ones(1), FunctionalTensor)
    assert strided._guards.active_fake_mode() is None and strided._guards.detect_fake_mode([strided.ones(1)]) is None
    assert strided._guards.TracingContext.try_get() is None


def test_fake_tensors():
    from strided._subclasses.fake_tensor import FakeTensor, is_fake
    from strided.fx.experimental.proxy_tensor import get_proxy_mode

    meta = strided.ones(2, device="meta")
    assert not is_fake(meta) and not isinstance(meta, FakeTensor) and get_proxy_mode() is None


def test_names_of_the_core():
    C = strided._C
    assert C._get_tracing_state() is None and C._is_tracing() is False and C._mps_is_available() is False
    assert isinstance(strided.ones(1), C._TensorBase) and isinstance(C._TensorBase, C._TensorMeta)
    assert C._VariableFunctions.add is strided.add and C._get_default_device() == "cpu"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        C._VariableFunctions.nothing
    seen = []
    strided.vmap(lambda x: (seen.append(C._are_functorch_transforms_active()), x)[1])(strided.ones(2))
    t = strided.arange(4)
    assert [C._is_alias_of(t, y) for y in (t, t[1:], t.view(2, 2), t.clone())] == [True, True, True, False]
    assert seen == [True] and not C._are_functorch_transforms_active()
    assert C._nn._parse_to("cpu", strided.float64)[:2] == (strided.device("cpu"), strided.float64)
    assert strided.functional.einsum is strided.einsum
    assert strided.fx.wrap("len") == "len" and strided.fx.wrap(len) is len
    with pytest.raises(RuntimeError, match="Unsupported type"):
        strided.fx.wrap(3)


def test_named_tuples_in_the_table_of_nodes():
    from strided.utils import _pytree

    Pair = namedtuple("Pair", "a b")
    kind = _pytree._get_node_type(Pair(1, 2))
    leaves, context = _pytree.SUPPORTED_NODES[kind].flatten_fn(Pair(1, 2))
    spec = _pytree.TreeSpec(kind, context, [_pytree.LeafSpec(), _pytree.LeafSpec()])
    assert _pytree.tree_unflatten(leaves, spec) == Pair(1, 2)


def test_there_is_one_layout():
    import copy
    import pickle

    x = strided.ones(1)
    assert copy.deepcopy(x.layout) is pickle.loads(pickle.dumps(x.layout)) is strided.strided


def test_numbers_before_the_tensors_that_they_scale():
    a, b, m = strided.ones(2), strided.full((2,), 3.0), strided.ones(2, 2)
    strided.set_warn_always(True)  # each call warns, as often as it is made
    try:
        for _ in range(2):
            with pytest.warns(UserWarning, match=r"This overload of addcmul_ is deprecated: write .*value=2"):
                assert a.clone().addcmul_(2, b, b).tolist() == [19, 19]
    finally:
        strided.set_warn_always(False)
    assert strided.add(a, 2, b).tolist() == a.clone().add_(2, b).tolist() == [7, 7]
    assert a.sub(2, b).tolist() == [-5, -5] and a.clone().addcdiv_(2, b, b).tolist() == [3, 3]
    assert strided.addmm(2, m, 3, m, m).tolist() == m.addmm(2, 3, m, m).tolist() == [[8, 8], [8, 8]]
    assert strided.addmv(2, a, m, a).tolist() == [4, 4]
    for wrong in (lambda: a.add_(a, 2, b), lambda: strided.add(a, b, 2), lambda: strided.mul(a, 2, b)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(RuntimeError):
        strided.addmm(2, m, 3, m, strided.ones(3, 3))


def test_the_gradient_by_its_inner_name():
    x = strided.ones(2, requires_grad=True)
    assert x._grad is None
    (2 * x).sum().backward()
    assert x._grad is x.grad and x._grad.tolist() == [2, 2]


def test_tolerances_of_dtypes():
    from strided.testing._comparison import get_tolerances

    assert get_tolerances(strided.ones(1), strided.float16, rtol=None, atol=None) == (1e-3, 1e-5)
    assert get_tolerances(strided.ones(1), rtol=1.0, atol=2.0) == (1.0, 2.0)
    with pytest.raises(ValueError, match="but got no atol"):
        get_tolerances(strided.ones(1), rtol=1.0, atol=None)


def test_functions_in_classes_take_no_self():
    """As PyTorch's, which are builtins: ``operation = torch.add`` in a class is called without the object."""
    x = strided.arange(-1.0, 2.0)

    class Layer:
        add, gelu, drop = strided.add, strided.nn.functional.gelu, strided.dropout
        method = strided.Tensor.abs

    layer = Layer()
    assert layer.add(x, 1).tolist() == [0, 1, 2]
    assert layer.gelu(x).shape == (3,) and layer.drop(x, 0.5, False).tolist() == x.tolist()
    with pytest.raises(TypeError):
        layer.method()  # a method is bound: its self is not a tensor
    assert x.abs().tolist() == [1, 0, 1] and x.conj().tolist() == x.tolist()

    class Mine(strided.Tensor):
        pass

    assert type(x.as_subclass(Mine).abs()) is Mine
    found = [
        n
        for n in dir(strided.Tensor)
        if type(getattr(strided.Tensor, n)) in (strided._C.Function, strided._C.OverridableFunction)
    ]
    assert found == [], "these do not bind"


def test_arithmetic_of_two_numbers():
    assert strided.add(2, 3).item() == 5 and strided.mul(5, 5).dtype == strided.int64
    assert strided.div(3, 2).item() == 1.5 and strided.sub(3, 2).item() == 1
    assert strided.floor_divide(7, 2).item() == 3 and strided.mul(1j, 2).item() == 2j
    for name in ("maximum", "pow", "atan2", "remainder"):
        with pytest.raises(TypeError):
            getattr(strided, name)(2, 3)
    with pytest.raises(TypeError, match="str"):
        strided.add("2", 3)


def test_helpers_of_utils():
    utils = strided._utils
    tensors = [strided.arange(6.0).reshape(2, 3), strided.ones(()), strided.empty(0, 2)]
    flat = utils._flatten_dense_tensors(tensors)
    assert flat.shape == (7,)
    back = utils._unflatten_dense_tensors(flat, tensors)
    assert [b.shape for b in back] == [t.shape for t in tensors] and strided.equal(back[0], tensors[0])
    groups = list(utils._take_tensors([*tensors, strided.ones(3, dtype=strided.int64)], 24))
    assert [len(g) for g in groups] == [1, 2, 1]
    assert utils._get_device_index(3) == 3 and utils._get_device_index("cuda:1") == 1
    assert utils._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="cpu"):
        utils._get_device_index("cpu")
    with pytest.raises(ValueError, match="index"):
        utils._get_device_index("cuda")


def test_compressed_indices():
    rows, columns = strided.tensor([0, 0, 2, 3]), strided.tensor([1, 4, 0, 2])
    begin = strided._convert_indices_from_coo_to_csr(rows, 5, out_int32=True)
    assert begin.tolist() == [0, 2, 2, 3, 4, 4] and begin.dtype == strided.int32
    both = strided._convert_indices_from_csr_to_coo(begin, columns)
    assert both.tolist() == [rows.tolist(), columns.tolist()] and both.dtype == strided.int32
    assert strided._convert_indices_from_csr_to_coo(begin, columns, transpose=True)[0].tolist() == columns.tolist()
    assert strided._convert_indices_from_coo_to_csr(rows[:0], 2).tolist() == [0, 0, 0]
    assert strided._segment_reduce(strided.ones(4), "sum", lengths=strided.tensor([3, 1])).tolist() == [3, 1]
    assert strided.sparse_coo_tensor(size=(2, 3)).to_dense().tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(TypeError, match="size"):
        strided.sparse_coo_tensor()


def test_helpers_that_libraries_import():
    from strided.autograd import functional
    from strided.utils import _pytree, model_zoo

    assert model_zoo.load_url is strided.hub.load_state_dict_from_url
    from strided.optim.lbfgs import _cubic_interpolate, _strong_wolfe

    assert _cubic_interpolate(0.0, 1.0, -2.0, 3.0, 4.0, 4.0) == pytest.approx(1.0)  # of (x - 1) ** 2
    x, d = strided.tensor([3.0]), strided.tensor([-6.0])
    f, g, t, calls = _strong_wolfe(
        lambda x, t, d: (float((x + t * d) ** 2), 2 * (x + t * d)), x, 1.0, d, 9.0, -d, -36.0
    )
    assert f < 9 and abs(float(g)) <= 0.9 * 6 and f == pytest.approx(float((x + t * d) ** 2)) and calls >= 1
    found = strided.ones(2, 3).max(0)
    assert (found.n_fields, type(found).n_sequence_fields, found.n_unnamed_fields) == (2, 2, 0)
    Point = namedtuple("Point", "x y")
    for value, flatten, unflatten in (
        (Point(1, 2), _pytree._namedtuple_flatten, _pytree._namedtuple_unflatten),
        ((1, 2), _pytree._tuple_flatten, _pytree._tuple_unflatten),
    ):
        leaves, context = flatten(value)
        again = unflatten(leaves, context)
        assert leaves == [1, 2] and again == value and type(again) is type(value)
    x, y = strided.ones(1), strided.ones(2, dtype=strided.float64)
    a, b = functional._construct_standard_basis_for((x, y), (1, 2))
    assert a.tolist() == [[1], [0], [0]] and b.tolist() == [[0, 0], [1, 0], [0, 1]] and b.dtype == strided.float64
    assert functional._as_tuple(x, "inputs", "f") == (False, (x,)) and functional._as_tuple([x, y]) == (x, y)
    with pytest.raises(TypeError, match="inputs given to f must be either a Tensor"):
        functional._as_tuple(3, "inputs", "f")
    z = x.clone().requires_grad_() * 2
    ((cut,),) = functional._grad_postprocess(((z,),), False)
    assert not cut.requires_grad and functional._grad_postprocess((z,), True)[0] is z
    assert functional._tuple_postprocess(((x,), (y,)), (True, False)) == (x, y)
    assert functional._tuple_postprocess((x,), False) is x


def test_what_monai_asks_for():
    assert strided.meshgrid.__kwdefaults__ == {"indexing": None} and strided.neg.__kwdefaults__ == {"out": None}
    assert strided.Tensor.t.__kwdefaults__ is None
    assert strided.backends.flags_frozen() is False


def test_names_that_libraries_import_and_do_not_call():
    from strided._dynamo.utils import is_compile_supported
    from strided.jit.annotations import BroadcastingList1, BroadcastingList2

    assert is_compile_supported("cpu") and not is_compile_supported("cuda:0")
    assert typing.get_args(BroadcastingList2[int]) == (int,) == typing.get_args(BroadcastingList1[int])


def test_questions_about_subclasses_and_modes():
    from strided.utils import _python_dispatch as dispatch

    class Pair(strided.Tensor):
        @staticmethod
        def __new__(cls, a, b):
            made = strided.Tensor._make_subclass(cls, a)
            made.a, made.b = a, b
            return made

        def __tensor_flatten__(self):
            return ["a", "b"], "context"

        @classmethod
        def __tensor_unflatten__(cls, inner, context, size, stride):
            assert (context, tuple(size)) == ("context", (2,))
            return cls(inner["a"], inner["b"])

    pair = Pair(strided.zeros(2), strided.ones(2))
    assert dispatch.is_traceable_wrapper_subclass(pair) and dispatch.is_traceable_wrapper_subclass_type(Pair)
    assert not dispatch.is_traceable_wrapper_subclass(strided.zeros(2))
    assert not dispatch.is_traceable_wrapper_subclass_type(strided.nn.Parameter)
    made = dispatch.transform_subclass(pair, lambda name, inner: inner + (3 if name == "b" else 1))
    assert type(made) is Pair and made.a.tolist() == [1, 1] and made.b.tolist() == [4, 4]
    assert not dispatch.is_in_torch_dispatch_mode() and dispatch._get_current_dispatch_mode() is None
    with dispatch._disable_current_modes() as modes:
        assert modes == dispatch._get_current_dispatch_mode_stack() == []


def test_names_that_tensordict_imports():
    import os

    from strided._utils import _get_available_device_type, _get_device_module
    from strided.utils._pytree import is_structseq, is_structseq_class, is_structseq_instance
    from strided.utils.data._utils.worker import _generate_state

    found = strided.ones(2, 2).max(0)
    assert is_structseq_instance(found) and is_structseq_class(type(found)) and is_structseq(found)
    assert is_structseq(os.stat_result) and not is_structseq((1, 2)) and not is_structseq_instance(type(found))
    assert not is_structseq(namedtuple("P", "a")(1))
    assert _generate_state(123456789012, 3) == [769313048, 1460814176, 2980110427, 1364817390]  # PyTorch's
    assert _get_device_module("cuda") is strided.cuda
    assert _get_available_device_type() == ("cuda" if strided.cuda.is_available() else None)
    with pytest.raises(RuntimeError, match="'nowhere' does not have"):
        _get_device_module("nowhere")
    assert not isinstance(strided.ones(2).shape[0], strided.SymInt)
    assert isinstance(strided.ones(1).untyped_storage(), strided.StorageBase)
    assert not isinstance(strided.ones(1).storage(), strided.StorageBase)
    assert strided.autograd.forward_ad._current_level == -1
    with strided.autograd.forward_ad.dual_level():
        assert strided.autograd.forward_ad._current_level == 0
    assert strided.autograd.forward_ad._current_level == -1
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        strided.autograd.forward_ad.nothing  # noqa: B018
    with pytest.raises(NotImplementedError, match="SymInt: strided"):
        strided.SymInt()


def test_sizes_that_may_change():
    from strided.export import Dim, dims

    one, two = dims("batch", "length", min=1, max=8)
    assert (one.__name__, one.min, one.max) == ("batch", 1, 8) and two.__name__ == "length"
    assert Dim("n").max == float("inf")
    with pytest.raises(ValueError, match="inconsistent"):
        Dim("n", min=3, max=2)
    with pytest.raises(ValueError, match="identifier"):
        Dim("a b")


def test_types_of_scripts_are_for_annotations():
    def function(x: strided.TensorType, device: "str | strided.DeviceObjType" = "cpu") -> strided.FloatType:
        return x

    assert typing.get_type_hints(function)["return"] is strided.FloatType
    assert isinstance(str | strided.DeviceObjType, type(str | int))
    assert not isinstance(strided.ones(1), strided.TensorType)
    with pytest.raises(NotImplementedError, match="DeviceObjType: strided has no such objects"):
        strided.DeviceObjType()


def test_one_function_of_two():
    from strided import _jit_internal

    def both(x, both=True):
        """Twice."""
        return x, x

    chosen = _jit_internal.boolean_dispatch("both", 1, False, both, lambda x, both=False: x, __name__, "chosen")
    assert (chosen(3), chosen(3, True), chosen(3, both=True), chosen(3, both=False)) == (3, (3, 3), (3, 3), 3)
    assert chosen.__name__ == "chosen" and chosen.__doc__ == "Twice."
    assert _jit_internal.boolean_dispatched[chosen]["if_true"] is both
    assert _jit_internal._copy_to_script_wrapper(both) is both


def test_names_of_modules_that_libraries_import():
    from strided.cuda.amp.common import amp_definitely_not_available
    from strided.nn.modules.conv import _ConvTransposeMixin, _ConvTransposeNd
    from strided.nn.utils.clip_grad import _no_grad, _tensor_or_tensors
    from strided.utils._pytree import _is_leaf
    from strided.utils.data import dataloader, dataset

    assert amp_definitely_not_available() is not strided.cuda.is_available()
    assert issubclass(_ConvTransposeMixin, _ConvTransposeNd)
    assert (
        not _no_grad(strided.is_grad_enabled)()
        and strided.is_grad_enabled()
        and strided.Tensor in _tensor_or_tensors.__args__
    )
    assert _is_leaf(3) and not _is_leaf([3])
    assert dataset.Dataset.__parameters__ == (dataset._T_co,) and dataloader._T_co.__covariant__


def test_a_device_by_its_keywords():
    for given in ("cuda:1", strided.device("cuda", 1)):
        assert strided.device(device=given) == strided.device(type="cuda", index=1) == strided.device(given)
    for wrong in ({}, {"index": 0}, {"device": None}, {"device": "cpu", "index": 0}, {"device": "cpu", "type": "cpu"}):
        with pytest.raises(TypeError, match=r"^device\(\)|device\(\)$|^'device'"):
            strided.device(**wrong)
    with pytest.raises(TypeError, match="device"):
        strided.device("cpu", device="cpu")


@pytest.mark.parametrize("name", ["mps", "xpu", "hpu", "mtia", "privateuseone", "vulkan", "ipu"])
def test_devices_that_have_a_name_only(name):
    device = strided.device(name, 1)
    assert device.type == name and device.index == 1 and str(device) == f"{name}:1"
    assert device == strided.device(f"{name}:1") and device != strided.device(name) and device != strided.device("cpu")
    assert repr(strided.device(name)) == f"device(type='{name}')" and hash(device) == hash(strided.device(f"{name}:1"))
    x = strided.ones(2)
    for call in (
        lambda: strided.zeros(2, device=name), lambda: x.to(name), lambda: strided.randn(2, device=device),
        lambda: strided.tensor([1], device=name), lambda: x.new_zeros(2, device=name),
        lambda: strided.empty_like(x, device=name), lambda: strided.arange(3, device=name),
        lambda: strided.as_tensor([1.0], device=name), lambda: strided.nn.Linear(2, 2, device=name),
        lambda: strided.nn.Linear(2, 2).to(name), lambda: strided.empty_strided((2,), (1,), device=name),
        lambda: strided.eye(2, device=name), lambda: strided.linspace(0, 1, 3, device=name),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"strided has no backend for device '{name}"):
            call()
    with pytest.raises(RuntimeError, match="no backend"), device:
        strided.zeros(2)
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)):
        strided.Generator(device=name).manual_seed(0)


def test_sizes_are_numbers():
    from strided.fx.experimental import symbolic_shapes

    assert strided.sym_max(3, 1.0) == 3.0 and type(strided.sym_max(3, 1.0)) is float and strided.sym_min(3, 4) == 3
    assert strided.sym_int(-2.7) == -2 and strided.sym_float(2) == 2.0 and strided.sym_not(False) is True
    assert strided.sym_sum([1, 2, 3]) == 6 and strided.sym_ite(True, 1, 2) == 1 and strided.sym_sqrt(9) == 3.0
    with pytest.raises(TypeError):
        strided.sym_ite(1, 2, 3)
    assert symbolic_shapes.guard_or_false(3 > 2) and not symbolic_shapes.statically_known_true(False)
    assert symbolic_shapes.free_symbols(3) == set() and symbolic_shapes.guard_int(4) == 4
    assert not isinstance(ValueError(), symbolic_shapes.GuardOnDataDependentSymNode)


def test_conditions_of_all_elements():
    strided._check_tensor_all(strided.ones(3) > 0)
    with pytest.raises(RuntimeError, match="not all"):
        strided._check_tensor_all(strided.tensor([True, False]), lambda: "not all")
    with pytest.raises(ValueError):
        strided._check_tensor_all_with(ValueError, strided.tensor([False]))
    for bad in (True, strided.ones(2)):
        with pytest.raises(TypeError):
            strided._check_tensor_all(bad)


def test_tensors_are_built_again():
    utils, storage = strided._utils, strided.arange(6.0).storage()
    made = utils._rebuild_tensor_v2(storage, 1, (2, 2), (2, 1), True, None)
    assert made.tolist() == [[1.0, 2.0], [3.0, 4.0]] and made.requires_grad
    assert utils._rebuild_tensor(storage, 0, (3,), (2,)).tolist() == [0.0, 2.0, 4.0]
    assert isinstance(utils._rebuild_parameter(made.detach(), False, None), strided.nn.Parameter)
    assert utils._element_size(strided.float64) == 8


def test_what_reports_of_bugs_ask_of_the_machine():
    import sys

    from strided.utils import collect_env

    assert collect_env.run("echo 3; echo 4 >&2; exit 5") == (5, "3", "4")
    assert collect_env.run([sys.executable, "-c", "print(6)"]) == (0, "6", "")
    assert collect_env.run(["no-such-program-at-all"])[0] == 127
    gone, gcc = (lambda command: (127, "", "")), (lambda command: (0, "gcc (Some 1) 12.2.0\nmore", ""))
    assert collect_env.get_gcc_version(gcc) == "(Some 1) 12.2.0"
    assert collect_env.get_gcc_version(gone) is None and collect_env.get_cmake_version(gone) is None
    assert collect_env.get_nvidia_driver_version(gone) is None
    assert collect_env.get_nvidia_driver_version(lambda command: (0, "570.1\n570.1", "")) == "570.1"
    assert collect_env.get_cpu_info(lambda command: (0, "Vendor: A", "")) == "Vendor: A"
    assert collect_env.get_platform() == sys.platform and collect_env.get_python_platform()


def test_switches_of_the_script_compiler_remember_what_was_set():
    for name in ("_jit_set_profiling_executor", "_jit_set_profiling_mode"):
        switch = getattr(strided._C, name)
        assert switch(False) is True and switch(True) is False
    assert strided._C._show_config() == strided.__config__.show()
    assert strided._C._parallel_info() == strided.__config__.parallel_info()


@pytest.mark.parametrize(
    "name", ["is_sparse", "is_quantized", "is_mps", "is_nested", "is_mkldnn", "is_vulkan", "is_xpu"]
)
def test_what_no_tensor_is_can_be_asked_of_the_class(name):
    assert getattr(strided.Tensor, name).__get__(strided.ones(2)) is False and getattr(strided.ones(2), name) is False


def test_sparse_tensors_are_sparse():
    x = strided.eye(2)
    assert x.to_sparse().is_sparse and not x.to_sparse_csr().is_sparse and x.to_sparse_csr().is_sparse_csr
    assert not x.is_sparse_csr


@pytest.mark.parametrize("name", ["has_cuda", "has_cudnn", "has_mkldnn", "has_mps"])
def test_older_questions_are_answered_with_a_warning(name):
    with pytest.warns(UserWarning, match=f"'{name}' is deprecated, please use 'torch.backends") as caught:
        assert getattr(strided, name) is False or name == "has_cuda"
    assert caught[0].filename == __file__


@pytest.mark.parametrize("kind", ["Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"])
def test_casts_by_older_names(kind):
    x = strided.tensor([1.5, 2.0], requires_grad=True)
    made = getattr(strided, f"_cast_{kind}")(x, False)
    assert made.dtype == getattr(x, kind.lower())().dtype and made.requires_grad == made.is_floating_point()


def test_products_of_matrices_that_may_be_none():
    from strided import _linalg_utils as utils

    a, x = strided.tensor([[2.0, 1.0], [1.0, 3.0]]), strided.tensor([[1.0, 0.0], [2.0, 1.0]])
    assert utils.matmul(None, x) is x and utils.matmul(a, x).tolist() == (a @ x).tolist()
    assert utils.matmul(a.to_sparse(), x).tolist() == (a @ x).tolist() and utils.is_sparse(a.to_sparse())
    assert (
        utils.bform(x, None, a).tolist() == (x.mT @ a).tolist()
        and utils.qform(a, x).tolist() == (x.mT @ a @ x).tolist()
    )
    q = utils.basis(x)
    assert strided.allclose(q.mT @ q, strided.eye(2), atol=1e-6)
    values, vectors = utils.symeig(a, largest=True)
    assert values[0] > values[1] and strided.allclose(a @ vectors, vectors * values, atol=1e-5)
    assert utils.get_floating_dtype(strided.ones(1, dtype=strided.int64)) == strided.float32


def test_spans_of_the_profiler_in_two_calls():
    with strided.autograd.profiler.profile() as profile:
        for enter in (strided.ops.profiler._record_function_enter, strided.ops.profiler._record_function_enter_new):
            span = enter("a part")
            strided.ones(2).add(1)
            strided.ops.profiler._record_function_exit(span)
    assert [e.name for e in profile.function_events].count("a part") == 2


def test_private_modules_and_functions_that_import_torch_brings():
    for name in "_custom_ops _export _higher_order_ops _jit_internal _linalg_utils _vmap_internals".split():
        assert getattr(strided, name).__name__ == f"strided.{name}"
    assert strided.FloatTensor in strided._tensor_classes and len(strided._tensor_classes) > 8
    assert not any(t.is_sparse or t.is_cuda for t in strided._tensor_classes)
    m = strided.tensor([[1.0, -2.0]])
    a, b = strided.tensor([[1.0]]), strided.tensor([[1.0, 1.0]])
    assert strided._addmm_activation(m, a, b, beta=2, alpha=3).tolist() == [[5, 0]]
    out = strided.empty(0)
    strided._addmm_activation(m, a, b, use_gelu=True, out=out)
    assert strided.equal(out, strided.nn.functional.gelu(m + 1))


def test_numbers_of_reductions():
    from strided.nn import _reduction

    assert [_reduction.get_enum(r) for r in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.warns(UserWarning, match="^reduction='elementwise_mean' is deprecated"):
        assert _reduction.get_enum("elementwise_mean") == 1
    with pytest.raises(ValueError, match="^max is not a valid value for reduction$"):
        _reduction.get_enum("max")
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert _reduction.legacy_get_enum(False, None) == 2
    assert _reduction.legacy_get_enum(None, False, emit_warning=False) == 0


def test_a_recorded_tensor_as_a_float_warns():
    x = strided.tensor(1.5, requires_grad=True)
    strided.set_warn_always(True)
    try:
        for made in (x, x * 2):
            with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar") as found:
                assert float(made) == made.item()
            assert [w.filename for w in found] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (int(x), bool(x), x.item(), x.tolist(), float(x.detach())) == (1, True, 1.5, 1.5, 1.5)
            with strided.no_grad():  # as optimizers do with the loss of a closure
                assert float(x) == 1.5
    finally:
        strided.set_warn_always(False)


def test_numbers_of_tensors():
    x = strided.ones(2)
    y = strided.nn.Parameter(x)
    assert isinstance(x._cdata, int) and x._cdata == x._cdata
    others = [y, x.detach(), x.view(2)]
    assert len({t._cdata for t in [x, *others]}) == 4
    held = {"x": y}
    assert held["x"]._cdata == y._cdata


def test_names_of_positions_in_module_lists():
    layers = strided.nn.ModuleList([strided.nn.ReLU(), strided.nn.Tanh()])
    assert (layers._get_abs_string_index(-1), layers._get_abs_string_index(0)) == ("1", "0")
    with pytest.raises(IndexError, match="index 2 is out of range"):
        layers._get_abs_string_index(2)


def test_accelerator_of_the_core():
    assert (
        strided._C._get_accelerator().type == (strided.accelerator.current_accelerator() or strided.device("cpu")).type
    )
    with pytest.raises(AttributeError, match="has no attribute '_nothing'"):
        strided._C._nothing
