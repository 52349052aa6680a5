"""Module: parameters, state dicts, hooks, containers; small networks beside NumPy."""

import copy
import pickle

import numpy as np
import pytest
import strided
from strided import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Linear(4, 2, bias=False)
        self.register_buffer("count", strided.zeros(1))

    def forward(self, x):
        return self.b(self.a(x).relu())


def test_values_are_those_of_numpy():
    net, x = Net(), strided.randn(5, 3)
    w, b, v = (p.detach().numpy() for p in net.parameters())
    want = np.maximum(x.numpy() @ w.T + b, 0) @ v.T
    np.testing.assert_allclose(net(x).detach().numpy(), want, rtol=1e-5, atol=1e-6)


def test_names_and_state():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["a.weight", "a.bias", "b.weight"]
    assert list(net.state_dict()) == ["count", "a.weight", "a.bias", "b.weight"]
    other = Net()
    assert not strided.equal(other.a.weight, net.a.weight)
    assert str(other.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    assert strided.equal(other.a.weight, net.a.weight) and other.a.weight is not net.a.weight


def test_what_a_state_dict_lacks_or_has_too_much():
    net, state = Net(), Net().state_dict()
    state["c"] = state.pop("a.bias")
    with pytest.raises(RuntimeError, match='Missing key.s. in state_dict: "a.bias"(.|\n)*Unexpected.*"c"'):
        net.load_state_dict(state)
    keys = net.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["a.bias"] and keys.unexpected_keys == ["c"]
    with pytest.raises(RuntimeError, match="size mismatch for a.weight"):
        net.load_state_dict({**Net().state_dict(), "a.weight": strided.ones(1, 1)})


def test_copies_are_independent_and_keep_what_is_shared():
    net = Net()
    net.c = net.a
    made = copy.deepcopy(net)
    assert made.c is made.a and isinstance(made.a.weight, nn.Parameter)
    made.a.weight.data.zero_()
    assert bool((net.a.weight != 0).any())
    again = pickle.loads(pickle.dumps(nn.Linear(2, 1)))
    assert isinstance(again.weight, nn.Parameter) and again.weight.requires_grad


def test_a_parameter_is_the_memory_it_was_given():
    for dtype in (strided.float32, strided.float64, strided.bfloat16, strided.complex64):
        x = strided.ones(3, dtype=dtype)
        p = nn.Parameter(x)
        assert p.dtype == dtype and p.data_ptr() == x.data_ptr() and p.is_leaf and p.requires_grad
    with pytest.raises(TypeError):
        nn.Parameter([1.0])
    with pytest.raises(RuntimeError):
        nn.Parameter(strided.arange(3))


def test_hooks_come_and_go():
    net, log = nn.Linear(2, 1), []
    with net.register_forward_hook(lambda m, a, y: log.append(1)):
        net(strided.ones(1, 2))
    net(strided.ones(1, 2))
    assert log == [1]
    handle = net.register_full_backward_hook(lambda m, gi, go: log.append([tuple(g.shape) for g in gi + go]))
    net(strided.ones(3, 2, requires_grad=True)).sum().backward()
    handle.remove()
    assert log[1] == [(3, 2), (3, 1)]


def test_to_another_dtype_keeps_the_parameters():
    net = Net()
    before = list(net.parameters())
    net.double()
    assert all(a is b and a.dtype == strided.float64 for a, b in zip(net.parameters(), before))
    assert net(strided.ones(1, 3, dtype=strided.float64)).dtype == strided.float64
    with pytest.raises(TypeError, match="only accepts floating point"):
        net.to(strided.int64)


def test_import_of_the_package_does_not_load_networks():
    import subprocess
    import sys

    code = "import sys, strided; assert not any(m.startswith('strided.nn') for m in sys.modules); strided.nn.Linear"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_same_seed_same_parameters():
    strided.manual_seed(1)
    a = nn.Linear(3, 2).weight
    strided.manual_seed(1)
    assert strided.equal(a, nn.Linear(3, 2).weight)
    # What PyTorch 2.13 has after manual_seed(1).
    np.testing.assert_allclose(
        a.detach().numpy().ravel(), [0.2975, -0.2548, -0.1119, 0.2710, -0.5435, 0.3462], atol=6e-5
    )


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(p):
    layer, x = nn.Dropout(p), strided.ones(2000)
    y = layer(x).numpy()
    kept = y != 0
    assert abs(kept.mean() - (1 - p)) < 0.05
    if p < 1:
        np.testing.assert_allclose(y[kept], 1 / (1 - p), rtol=1e-6)
    assert layer.eval()(x) is x


def test_batch_norm_follows_the_batches():
    m, x = nn.BatchNorm1d(3), strided.randn(50, 3) * 2 + 1
    y, a = m(x).detach().numpy(), x.numpy()
    np.testing.assert_allclose(y, (a - a.mean(0)) / np.sqrt(a.var(0) + 1e-5), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(m.running_mean.numpy(), 0.1 * a.mean(0), rtol=1e-4)
    np.testing.assert_allclose(m.running_var.numpy(), 0.9 + 0.1 * a.var(0, ddof=1), rtol=1e-4)
    z = m.eval()(x).detach().numpy()
    np.testing.assert_allclose(
        z, (a - m.running_mean.numpy()) / np.sqrt(m.running_var.numpy() + 1e-5), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("make", [lambda: nn.LayerNorm(4), lambda: nn.BatchNorm1d(4), lambda: nn.GroupNorm(2, 4)])
def test_gradients_of_normalisation_of_both_orders(make):
    m = make().double()
    x = strided.randn(5, 4, dtype=strided.float64, requires_grad=True)
    assert strided.autograd.gradcheck(m, x)
    assert strided.autograd.gradgradcheck(m, x)


def test_cross_entropy_of_classes_and_of_probabilities():
    x, y = strided.randn(6, 4), strided.tensor([0, 1, 2, 3, 1, 1])
    a = x.numpy()
    logs = a - np.log(np.exp(a).sum(1, keepdims=True))
    want = -logs[np.arange(6), y.numpy()].mean()
    assert abs(float(nn.functional.cross_entropy(x, y)) - want) < 1e-5
    assert abs(float(nn.functional.cross_entropy(x, nn.functional.one_hot(y, 4).float())) - want) < 1e-5
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        nn.functional.cross_entropy(x, strided.tensor([0, 1, 2, 3, 1, 4]))


@pytest.mark.parametrize("options", [{}, {"padding_idx": 0}, {"scale_grad_by_freq": True}, {"sparse": True}])
def test_the_node_of_an_embedding_is_called_as_in_pytorch(options):
    result = strided.nn.Embedding(5, 3, **options)(strided.tensor([0, 1]))
    node = result.grad_fn
    assert type(node).__name__ == node.name() == "EmbeddingBackward0"


def test_an_embedding_leaves_out_the_gradient_of_its_padding():
    m = nn.Embedding(4, 2, padding_idx=1)
    m(strided.tensor([0, 1, 1, 3])).sum().backward()
    assert m.weight.grad.sum(1).tolist() == [2.0, 0.0, 0.0, 2.0] and m.weight[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("padding", [None, 1, -3])
@pytest.mark.parametrize("dtype", [strided.int32, strided.int64])
def test_an_embedding_is_one_step_of_the_graph_and_differentiable_twice(padding, dtype):
    ids = strided.tensor([[0, 1, 1], [3, 0, 2]], dtype=dtype)
    w = strided.randn(4, 2, dtype=strided.float64, requires_grad=True)
    made = nn.functional.embedding(ids, w, padding)
    assert made.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert (made == w[ids.long()]).all()
    counts = strided.tensor([2.0, 0.0 if padding else 2.0, 1.0, 1.0], dtype=strided.float64).unsqueeze(1)
    (first,) = strided.autograd.grad((made**3).sum(), w, create_graph=True)
    assert strided.allclose(first, 3 * w**2 * counts)
    (second,) = strided.autograd.grad(first.sum(), w)
    assert strided.allclose(second, 6 * w * counts)
    strided.vmap(lambda rows: nn.functional.embedding(ids, rows, padding))(strided.stack([w, w]))


def test_functions_of_networks_can_be_pickled():
    functional = strided.nn.functional
    for function in (functional.relu, functional.conv2d, functional.max_pool2d, strided.rms_norm):
        assert pickle.loads(pickle.dumps(function)) is function
    layer = strided.nn.TransformerEncoderLayer(4, 2, 8)
    assert pickle.loads(pickle.dumps(layer)).activation is functional.relu


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_batch_of_linear_cross_entropy_in_parts(reduction):
    x, w = strided.randn(5, 3, dtype=strided.float64), strided.randn(4, 3, dtype=strided.float64)
    y, factors = strided.tensor([0, 3, -100, 1, 2]), strided.tensor([0.5, 1.0, 2.0, 3.0], dtype=strided.float64)
    x.requires_grad_(), w.requires_grad_()
    found = []
    for options in (None, strided.nn.LinearCrossEntropyOptions(batch_chunk_size=2)):
        loss = strided.nn.functional.linear_cross_entropy(
            x, w, y, weight=factors, reduction=reduction, label_smoothing=0.1, options=options
        )
        found.append((loss, *strided.autograd.grad(loss.square().sum(), (x, w))))
    for whole, parts in zip(*found):
        strided.testing.assert_close(whole, parts)
    with pytest.raises(ValueError, match="different chunk sizes"):
        options = strided.nn.LinearCrossEntropyOptions(batch_chunk_size=3, chunking_method="aspect_ratio")
        strided.nn.functional.linear_cross_entropy(x, w, y, options=options)


class Marked(strided.Tensor):
    """A class of the user's own."""


def test_parameters_of_a_users_class_stay_of_it():
    data = strided.ones(2, 3).as_subclass(Marked)
    p = nn.Parameter(data)
    assert type(p) is Marked and isinstance(p, nn.Parameter) and p.requires_grad and p.is_leaf
    assert not isinstance(data, nn.Parameter) and not data.requires_grad and p.data_ptr() == data.data_ptr()
    assert type(nn.Parameter(strided.arange(3).as_subclass(Marked), requires_grad=False)[0]) is Marked
    layer = nn.Linear(3, 2)
    layer.weight = p
    assert dict(layer.named_parameters())["weight"] is p
    layer(strided.ones(1, 3)).sum().backward()
    assert p.grad.tolist() == [[1.0] * 3] * 2
    copied = copy.deepcopy(layer).double().weight
    assert type(copied) is Marked and isinstance(copied, nn.Parameter) and copied.dtype == strided.float64
    assert type(nn.Parameter(nn.Parameter(strided.ones(2)))) is nn.Parameter


def test_a_class_whose_detach_loses_it_makes_no_parameter():
    class Lost(strided.Tensor):
        __torch_function__ = strided._C._disabled_torch_function_impl

    with pytest.raises(RuntimeError, match="detach.. returns an instance of the same type"):
        nn.Parameter(strided.ones(2).as_subclass(Lost))


def test_backward_hooks_are_not_called_by_derivatives_of_the_backward_pass():
    loss, calls = nn.MSELoss(), []
    loss.register_full_backward_hook(lambda m, gi, go: calls.append((gi[0].tolist(), go[0].item())))
    x = strided.tensor([1.0, 2.0], requires_grad=True)
    (g,) = strided.autograd.grad(loss(x, strided.zeros(2)), x, create_graph=True)
    (twice,) = strided.autograd.grad((g * strided.tensor([1.0, 3.0])).sum(), x)
    assert twice.tolist() == [1, 3] and calls == [([1, 2], 1)]


def test_backward_hooks_leave_tensors_without_gradients_alone():
    class Rows(nn.Module):
        def forward(self, table, index, unused, factor):
            self.seen = [t.requires_grad for t in (table, index, unused, factor)]
            return table[index] * factor, factor

    module, calls = Rows(), []
    module.register_full_backward_hook(lambda m, gi, go: calls.append((gi, go)))
    table, unused = strided.ones(2, requires_grad=True), strided.ones(2, requires_grad=True)
    factor = strided.full((2,), 3.0)
    made, same = module(table, strided.tensor([0, 1]), unused, factor)
    assert module.seen == [True, False, True, False] and made.requires_grad and not same.requires_grad
    made.sum().backward()
    ((given, taken),) = calls
    assert [g.tolist() for g in given] == [[3, 3], [0, 0], [0, 0], [0, 0]]  # zeros where nothing comes, as PyTorch's
    assert given[1].dtype == strided.int64 and taken[0].tolist() == [1, 1] and taken[1] is None
    assert table.grad.tolist() == [3, 3] and unused.grad.tolist() == [0, 0] and factor.grad is None


def test_the_state_of_a_module_is_a_copy():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.call = nn.Parameter(strided.ones(2)), lambda x: x

        def __getstate__(self):
            state = super().__getstate__()
            del state["call"]
            return state

    made = Own()
    states = [made.__getstate__() for _ in range(2)]
    assert made.call(3) == 3 and all("call" not in s and s["_parameters"]["weight"] is made.weight for s in states)
    again = copy.deepcopy(made)
    assert not hasattr(again, "call") and again.weight is not made.weight


def test_a_backward_hook_may_return_the_none_that_it_was_given():
    layer, seen = strided.nn.Linear(2, 3), []
    layer.register_full_backward_hook(lambda m, given, gained: seen.append(given) or given)
    layer(strided.ones(1, 2)).sum().backward()
    assert seen == [(None,)]
    other = strided.nn.Linear(2, 3)
    other.register_full_backward_hook(lambda m, given, gained: (strided.ones(1, 2),))
    with pytest.raises(RuntimeError, match="where no input requires gradient"):
        other(strided.ones(1, 2)).sum().backward()


def test_backward_hooks_of_a_module_that_returns_a_dict_or_a_list_warn_and_stay_silent():
    class Wrapped(nn.Module):
        def __init__(self, wrap):
            super().__init__()
            self.wrap = wrap

        def forward(self, x):
            return self.wrap(x * 2)

    x, seen = strided.ones(2, requires_grad=True), []
    for wrap in (lambda t: {"a": t}, lambda t: [t]):
        module = Wrapped(wrap)
        module.register_full_backward_pre_hook(lambda m, go: seen.append(go))
        module.register_full_backward_hook(lambda m, gi, go: seen.append(go))
        with pytest.warns(UserWarning, match="output should be a Tensor or a tuple of Tensors but received <class"):
            (made,) = module(x).values() if wrap(1) == {"a": 1} else module(x)
        made.sum().backward()
    assert seen == [] and x.grad.tolist() == [4, 4]


def test_names_of_hooks_that_libraries_read():
    module = nn.modules.module
    with nn.modules.module.register_module_forward_hook(lambda *a: None, with_kwargs=True, always_call=True) as handle:
        assert list(module._global_forward_hooks_always_called) == [handle.id]
        assert list(module._global_forward_hooks_with_kwargs) == [handle.id]
        assert handle.hooks_dict_ref() is module._global_forward_hooks
        assert handle.extra_dict_ref[0]() is module._global_forward_hooks_always_called
    assert not module._global_forward_hooks_always_called and not module._global_forward_hooks_with_kwargs
    layer = nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="Output 0 of BackwardHookFunction is a view and is being modified inplace"):
        layer(strided.ones(1, 1)).add_(1)


def test_loading_with_swapped_parameters_keeps_the_objects_and_takes_the_class_of_module_load():
    class Held(strided.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is strided.Tensor.module_load:
                calls.append(kwargs)
                return args[1] if broken else args[1].detach().as_subclass(strided.Tensor)
            return super().__torch_function__(func, types, args, kwargs or {})

    calls, broken = [], False
    strided.__future__.set_swap_module_params_on_conversion(True)
    try:
        with strided.device("meta"):
            net = nn.BatchNorm1d(2)
        weight, mean = net.weight, net.running_mean
        state = nn.BatchNorm1d(2).state_dict()
        net.load_state_dict(state, assign=True)
        assert net.weight is weight and net.running_mean is mean and weight.tolist() == [1, 1] and not weight.is_meta
        assert type(weight) is nn.Parameter and type(mean) is strided.Tensor
        state["weight"] = strided.full((2,), 3.0).as_subclass(Held)
        net.load_state_dict(state)
        assert calls == [{"assign": False}] and net.weight is weight and weight.tolist() == [3, 3]
        broken = True
        with pytest.raises(RuntimeError, match='While swapping the parameter named "weight".*module_load returned one'):
            net.load_state_dict(state)
    finally:
        strided.__future__.set_swap_module_params_on_conversion(False)


def test_swapped_parameters_have_the_attributes_of_the_new_tensor():
    class Packed(strided.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            made = super().__torch_function__(func, types, args, kwargs or {})
            if type(made) is cls and made is not args[0]:
                made.note = args[0].note if func is strided.Tensor.detach else str(made.dtype)
            return made

    net = nn.Linear(2, 2)
    packed = strided.ones(2, 2).as_subclass(Packed)
    packed.note = "old"
    net.weight = nn.Parameter(packed)
    strided.__future__.set_swap_module_params_on_conversion(True)
    try:
        net.double()
    finally:
        strided.__future__.set_swap_module_params_on_conversion(False)
    assert net.weight.dtype is strided.float64 and net.weight.note == "torch.float64"


def test_a_convolution_without_channels_has_a_bias_of_zeros():
    strided.full((64,), 7.0)  # whose memory an uninitialised bias might get
    with pytest.warns(UserWarning, match="zero-element"):
        layer = nn.Conv1d(0, 64, 2)
    assert not layer.bias.any() and layer(strided.ones(2, 0, 5)).shape == (2, 64, 4)


def test_a_replica_shares_members_and_has_no_parameters():
    held = nn.ParameterList([strided.ones(1), strided.zeros(2)])
    replica = held._replicate_for_data_parallel()
    assert not list(replica.parameters()) and len(list(held.parameters())) == 2 and len(replica) == 2
    setattr(replica, "0", held[0] * 2)
    assert replica[0].tolist() == [2] and held[0].tolist() == [1]


def test_to_makes_no_copies():
    m = strided.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="does not accept copy argument"):
        m.to("cpu", copy=True)
    assert m.to("cpu", copy=False) is m


@pytest.mark.parametrize(
    ("forward", "inputs", "text"),
    [
        (lambda xs: xs[0].clone(), ([0, 1],), "does not take as input a single Tensor or a tuple of Tensors"),
        (lambda a, b: [a.clone(), b.clone()], (0, 1), "does not return a single Tensor or a tuple of Tensors"),
        (lambda a, b: (a.clone(), b.clone()), (0, 1), "outputs are generated by different autograd Nodes"),
        (lambda a: a.clone().clone(), (0,), "the forward contains multiple autograd Nodes"),
    ],
)
def test_old_backward_hooks_say_what_they_do_not_see(forward, inputs, text):
    tensors = [strided.rand(2, requires_grad=True) for _ in range(2)]
    module = strided.nn.Module()
    module.forward = forward
    module.register_backward_hook(lambda *_: None)
    with pytest.warns(FutureWarning, match=text):
        module(*([tensors[k] for k in i] if isinstance(i, list) else tensors[i] for i in inputs))


def test_old_backward_hooks_that_see_everything_are_quiet(recwarn):
    module = strided.nn.Sigmoid()
    module.register_backward_hook(lambda *_: None)
    module(strided.rand(2, requires_grad=True) * 1)
    assert not [w for w in recwarn if w.category is FutureWarning]
