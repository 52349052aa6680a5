"""Names that libraries import for training: wrappers, ranks, workers, optimizers, attention."""

import collections.abc
import functools
import typing
from collections import namedtuple

import pytest
import strided
from strided.nn.parallel import DataParallel, data_parallel, gather, scatter
from strided.nn.parallel.scatter_gather import scatter_kwargs


def test_names_of_training_on_ranks():
    import strided.distributed._composable.fsdp as older
    import strided.distributed._tensor.experimental as experimental
    from strided.distributed import rpc
    from strided.distributed.tensor import placement_types
    from strided.distributed.tensor._utils import compute_local_shape_and_global_offset as where

    assert not rpc.is_available() and older.FSDPModule is strided.distributed.fsdp.FSDPModule
    assert experimental.implicit_replication is strided.distributed.tensor.implicit_replication
    assert strided.distributed._tensor.DTensor is strided.distributed.DTensor
    assert not isinstance(strided.nn.Linear(1, 1), strided.distributed.fsdp.FullyShardedDataParallel)

    def program():
        mesh = strided.distributed.init_device_mesh("cpu", (2,))
        shard = [placement_types.Shard(0)]
        return (
            where((3, 2), mesh, shard),
            where((1, 2), mesh, shard),
            where((3, 2), mesh, [placement_types.Replicate()]),
        )

    first, second = strided.distributed.simulate(2, program)
    assert first == (((2, 2), (0, 0)), ((1, 2), (0, 0)), ((3, 2), (0, 0)))
    assert second == (((1, 2), (2, 0)), ((0, 2), (1, 0)), ((3, 2), (0, 0)))


def test_what_an_optimizer_takes_as_an_annotation():
    from strided.optim.optimizer import ParamsT

    kinds = typing.get_args(ParamsT)
    assert len(kinds) == 3 and all(typing.get_origin(kind) is collections.abc.Iterable for kind in kinds)


def test_data_parallel_without_devices():
    if strided.cuda.device_count():
        pytest.skip("there are devices")
    net = strided.nn.Linear(2, 3)
    x = strided.ones(4, 2)
    assert DataParallel(net)(x).equal(net(x)) and data_parallel(net, x).equal(net(x))
    assert list(DataParallel(net).state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(NotImplementedError, match="several devices"):
        DataParallel(net, [0, 1])


def test_scatter_and_gather():
    Pair = namedtuple("Pair", "a b")
    x = strided.arange(5)
    parts = scatter({"x": Pair(x, "s"), "y": [x]}, ["cpu", "cpu"])
    assert [p["x"].a.tolist() for p in parts] == [[0, 1, 2], [3, 4]]
    assert all(type(p["x"]) is Pair and p["x"].b == "s" for p in parts)
    back = gather([p["x"].a for p in parts], "cpu")
    assert back.equal(x)
    assert gather([{"l": strided.tensor(1.0)}, {"l": strided.tensor(2.0)}], "cpu")["l"].tolist() == [1, 2]
    assert gather([None, None], "cpu") is None
    with pytest.raises(ValueError, match="same number of keys"):
        gather([{}, {"a": x}], "cpu")
    positional, keywords = scatter_kwargs((x,), {}, ["cpu", "cpu"])
    assert len(positional) == len(keywords) == 2 and keywords[0] == {}


def test_switches_of_attention():
    from strided.backends import cuda

    assert cuda.flash_sdp_enabled() and cuda.math_sdp_enabled() and not cuda.is_flash_attention_available()
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        getattr(cuda, f"enable_{name}_sdp")(False)
        assert getattr(cuda, f"{name}_sdp_enabled")() is False
        getattr(cuda, f"enable_{name}_sdp")(True)


def test_the_main_function_of_a_worker(tmp_path, monkeypatch):
    import json

    from strided.distributed.elastic.multiprocessing.errors import record

    @record
    def main(x):
        return 1 / x

    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    assert main(2) == 0.5 and main.__name__ == "main"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    with pytest.raises(ZeroDivisionError):
        main(0)
    said = json.loads((tmp_path / "error.json").read_text())["message"]
    assert said["message"] == "ZeroDivisionError: division by zero" and "1 / x" in said["extraInfo"]["py_callstack"]


def test_policies_of_wrapping():
    from strided.distributed.fsdp import wrap

    linear, large = strided.nn.Linear(2, 2), strided.nn.Linear(10, 10)
    which = wrap.ModuleWrapPolicy({strided.nn.Linear})
    assert which(linear, False, 6) and which(strided.nn.ReLU(), True) and not which(strided.nn.ReLU(), False)
    assert wrap.transformer_auto_wrap_policy(linear, False, 6, {strided.nn.Linear})
    by_size = wrap.size_based_auto_wrap_policy
    assert by_size(large, False, 110, min_num_params=100) and not by_size(linear, False, 6, min_num_params=100)
    assert not by_size(strided.nn.ModuleList([large]), False, 110, min_num_params=100)
    assert not by_size(strided.nn.MultiheadAttention(4, 1), True, 1000, min_num_params=100)
    either = [lambda module, **_: False, lambda module, **_: module is large]
    assert wrap._or_policy(large, False, 0, either) and not wrap._or_policy(linear, False, 0, either)
    assert wrap.CustomPolicy(lambda m: {"a": 1})(linear, False) == {"a": 1}
    assert wrap.lambda_auto_wrap_policy(linear, False, 0, lambda m: m is linear)
    assert wrap.wrap(linear) is linear
    with wrap.enable_wrap(wrapper_cls=lambda module, **options: (module, options), a=1, b=2):
        assert wrap.wrap(linear, b=3) == (linear, {"a": 1, "b": 3})
    assert wrap.wrap(linear) is linear


def test_modules_are_wrapped_from_the_inside_out():
    from strided.distributed.fsdp.wrap import ModuleWrapPolicy, _recursive_wrap, always_wrap_policy

    class Wrapper(strided.nn.Module):
        def __init__(self, module, tag):
            super().__init__()
            self.module, self.tag = module, tag

    def net():
        return strided.nn.Sequential(strided.nn.Linear(2, 3), strided.nn.Sequential(strided.nn.Linear(3, 4)))

    linears = ModuleWrapPolicy({strided.nn.Linear})
    made, elements = _recursive_wrap(net(), linears, Wrapper, set(), set(), tag=7)
    assert type(made) is strided.nn.Sequential and elements == 9 + 16
    assert [type(m).__name__ for m in (made[0], made[1], made[1][0])] == ["Wrapper", "Sequential", "Wrapper"]
    assert made[0].tag == 7
    one = net()
    made, elements = _recursive_wrap(one, always_wrap_policy, Wrapper, {one[1]}, {one[0].bias}, tag=0)
    assert isinstance(made, Wrapper) and isinstance(one[0], Wrapper) and type(one[1]) is strided.nn.Sequential
    assert elements == 6 + 16
    made, elements = _recursive_wrap(net(), always_wrap_policy, Wrapper, set(), set(), only_wrap_children=True, tag=0)
    assert type(made) is strided.nn.Sequential and isinstance(made[1], Wrapper) and elements == 25


def test_arguments_of_the_older_wrapper_stand_in_their_module():
    from strided.distributed.fsdp import ShardingStrategy, api

    assert api.ShardingStrategy is ShardingStrategy and not hasattr(api, "FullyShardedDataParallel")


def test_how_workers_failed(tmp_path):
    import json

    from strided.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

    (tmp_path / "error.json").write_text(
        json.dumps({"message": {"message": "ValueError: x", "extraInfo": {"timestamp": "5"}}})
    )
    raised = ProcessFailure(1, 11, 1, str(tmp_path / "error.json"))
    assert (raised.message, raised.timestamp, raised.signal_name()) == ("ValueError: x", 5, "<N/A>")
    ended = ProcessFailure(0, 10, -9, "")
    assert ended.message == "Signal 9 (SIGKILL) received by PID 10" and ended.signal_name() == "SIGKILL"
    error = ChildFailedError("train.py", {0: ended, 1: raised})
    assert error.get_first_failure() == (1, raised) and error.name == "train.py"
    assert str(error).splitlines()[1] == "  rank 1 (local_rank 1, pid 11) exit code 1: ValueError: x"
    with pytest.raises(AssertionError, match="no failure"):
        ChildFailedError("train.py", {})


def test_steps_record_where_an_optimizer_is_to_be_differentiable():
    from strided.optim import optimizer

    class Plain(optimizer.Optimizer):
        def __init__(self, params, differentiable):
            super().__init__(params, {"differentiable": differentiable})

        @optimizer._use_grad_for_differentiable
        def step(self, closure=None):
            """One step."""
            return strided.is_grad_enabled()

    p = strided.ones(2, requires_grad=True)
    assert Plain([p], True).step() and not Plain([p], False).step() and strided.is_grad_enabled()
    assert optimizer._default_to_fused_or_foreach([p, None], False, True) == (False, False)
    assert optimizer._default_to_fused_or_foreach([], True) == (False, False)
    assert "cuda" in optimizer._get_capturable_supported_devices(False)
    assert optimizer._params_t is optimizer.ParamsT


def test_which_kernels_attention_has():
    from strided.backends import cuda

    x = strided.ones(1, 2, 3, 4)
    params = cuda.SDPAParams(x, x, x, None, 0.0, True, False)
    assert params.is_causal and params.query is x
    for name in ("flash", "efficient", "cudnn"):
        ask = getattr(cuda, f"can_use_{name}_attention")
        assert ask(params) is False
        with pytest.warns(UserWarning, match="scaled_dot_product_attention: strided has no"):
            assert ask(params, True) is False


@pytest.mark.parametrize("way", ["REENTRANT", "NO_REENTRANT"])
def test_modules_that_are_computed_again(way):
    from strided.distributed.algorithms._checkpoint import checkpoint_wrapper as names

    calls = []

    class Layer(strided.nn.Linear):
        def forward(self, x, *, scale=1.0):
            calls.append(scale)
            return super().forward(x).tanh() * scale

    def network():
        strided.manual_seed(0)
        return strided.nn.Sequential(Layer(3, 4), strided.nn.ReLU(), Layer(4, 1))

    plain, wrapped = network(), network()
    names.apply_activation_checkpointing(
        wrapped,
        lambda m: names.checkpoint_wrapper(m, names.CheckpointImpl[way]),
        check_fn=lambda m: isinstance(m, Layer),
    )
    assert isinstance(wrapped[0], names.CheckpointWrapper) and isinstance(wrapped[1], strided.nn.ReLU)
    assert list(wrapped.state_dict()) == list(plain.state_dict()) and wrapped[0].in_features == 3
    assert [name for name, _ in wrapped[0].named_parameters()] == ["weight", "bias"]
    wrapped.load_state_dict(plain.state_dict())
    x = strided.randn(5, 3, requires_grad=True)
    found = []
    for net in (plain, wrapped):
        x.grad = None
        net(x).sum().backward()
        found.append(x.grad)
    assert found[0].equal(found[1]) and len(calls) == 2 + 4
    for one, other in zip(wrapped.parameters(), plain.parameters()):
        assert one.grad.equal(other.grad)
    assert wrapped[0](x, scale=2.0).equal(plain[0](x, scale=2.0))


def test_a_policy_says_which_modules_are_computed_again():
    from strided.distributed.algorithms._checkpoint import checkpoint_wrapper as names
    from strided.distributed.fsdp.wrap import size_based_auto_wrap_policy

    net = strided.nn.Sequential(
        strided.nn.Sequential(strided.nn.Linear(10, 10), strided.nn.Linear(10, 3)),  # 110 and 33
        strided.nn.Sequential(strided.nn.Linear(6, 6), strided.nn.Linear(6, 6), strided.nn.Linear(6, 6)),  # 126
    )
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=100)
    names.apply_activation_checkpointing(net, auto_wrap_policy=policy)
    is_wrapped = [isinstance(m, names.CheckpointWrapper) for m in (net, net[0], net[0][0], net[0][1], net[1])]
    assert is_wrapped == [False, False, True, False, True]  # 33 elements of net[0] are left


def test_modules_whose_saved_tensors_wait_on_the_cpu():
    from strided.distributed.algorithms._checkpoint.checkpoint_wrapper import offload_wrapper

    layer = strided.nn.Linear(3, 2)
    x = strided.randn(4, 3, requires_grad=True)
    wanted = strided.autograd.grad(layer(x).sum(), x)[0]
    assert strided.autograd.grad(offload_wrapper(layer)(x).sum(), x)[0].equal(wanted)
