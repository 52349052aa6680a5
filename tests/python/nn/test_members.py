"""Parameters and modules by their paths, and hooks that see what becomes part of a module."""

import pytest
import strided
from strided import nn
from strided.nn.modules import module as home
from strided.nn.utils._named_member_accessor import NamedMemberAccessor, set_tensor, swap_submodule, swap_tensor


@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.BatchNorm1d(2)))


def test_tensors_by_path(net):
    at = NamedMemberAccessor(net)
    weight, one = net[0].weight, strided.ones(2, 1)
    assert at.swap_tensor("0.weight", one) is weight and net[0].weight is one and at.get_tensor("0.weight") is one
    at.set_tensors(["0.weight", "1.0.running_mean"], [weight, strided.full((2,), 3.0)])
    assert net[1][0].running_mean.tolist() == [3, 3] and "weight" in net[0]._parameters
    missing, unexpected = at.check_keys(["0.weight", "other"])
    assert "0.bias" in missing and "0.weight" not in missing and unexpected == ["other"]
    before, missing = at.swap_tensors_dict({"0.bias": one, "0.new": one}, allow_missing=True)
    assert missing == ["0.new"] and net[0].new is one
    at.swap_tensors_dict(before, allow_missing=True)
    assert not hasattr(net[0], "new") and isinstance(net[0].bias, nn.Parameter)
    with pytest.raises(RuntimeError, match="Missing key.*'0.new'"):
        at.swap_tensors_dict({"0.bias": one, "0.new": one})
    assert isinstance(net[0].bias, nn.Parameter) and not hasattr(net[0], "new")
    at.del_tensors(["0.bias"])
    assert not hasattr(net[0], "bias") and [name for name, _ in at.named_parameters()][0] == "0.weight"
    with pytest.raises(ValueError, match="same length"):
        at.set_tensors(["0.weight"], [])
    with pytest.raises(AttributeError):
        at.del_tensor("0.bias")
    with pytest.raises(TypeError, match="is not an instance of torch.nn.Module"):
        at.get_submodule("0.weight")
    with pytest.raises(TypeError, match="is not an instance of torch.Tensor"):
        at.get_tensor("1.0")


def test_modules_by_path(net):
    at, new = NamedMemberAccessor(net), nn.ReLU()
    inner = at.get_submodule("1.0")
    assert inner is net[1][0] and at.swap_submodule("1.0", new) is inner and at.get_submodule("1.0") is new
    assert swap_submodule(net, "0", new).weight.shape == (2, 1) and net[0] is new
    with pytest.raises(AttributeError):
        swap_submodule(net, "7", new)
    with pytest.raises(TypeError):
        swap_submodule(net, "0", 3)


def test_one_tensor_of_a_module(net):
    set_tensor(net[0], "extra", strided.ones(1))
    assert net[0].extra.item() == 1
    for wrong, name, value in ((KeyError, "a.b", None), (KeyError, "", None), (TypeError, "weight", 3)):
        with pytest.raises(wrong):
            swap_tensor(net[0], name, value)
    with pytest.raises(AttributeError, match="no attribute `none`"):
        swap_tensor(net[0], "none", strided.ones(1))


def test_hooks_of_what_is_registered():
    log = []

    def note(kind):
        return lambda module, name, value: log.append((kind, name, value is None))

    handles = [home.register_module_parameter_registration_hook(note("parameter")),
               home.register_module_buffer_registration_hook(note("buffer")),
               home.register_module_module_registration_hook(note("module"))]  # fmt: skip
    try:
        net = nn.Sequential(nn.Linear(1, 1, bias=False))
        net.a = nn.ReLU()
        net.a = None
        net.register_buffer("b", None)
        net.b = strided.ones(1)
        net.c = nn.Buffer(strided.ones(1))
        net.register_parameter("d", None)
    finally:
        for handle in handles:
            handle.remove()
    assert log == [
        ("parameter", "weight", False), ("module", "0", False), ("module", "a", False), ("module", "a", True),
        ("buffer", "b", True), ("buffer", "b", False), ("buffer", "c", False),
    ]  # fmt: skip
    assert not home._global_parameter_registration_hooks and not home._global_buffer_registration_hooks


def test_hooks_replace_what_is_registered():
    handle = home.register_module_module_registration_hook(lambda m, name, below: nn.Identity())
    try:
        net = nn.Sequential(nn.Linear(1, 1))
        net.other = nn.ReLU()
    finally:
        handle.remove()
    assert isinstance(net[0], nn.Identity) and isinstance(net.other, nn.Identity)
    handle = home.register_module_buffer_registration_hook(lambda m, name, value: value * 2)
    try:
        net.register_buffer("b", strided.ones(1))
    finally:
        handle.remove()
    assert net.b.item() == 2


def test_inner_names_of_init():
    from strided.nn import init

    weight = strided.nn.Linear(3, 2).weight
    for name, args in (("uniform_", (-1.0, 1.0)), ("normal_", (0.0, 2.0)), ("trunc_normal_", (0.0, 1.0, -1.0, 1.0))):
        made = []
        for function in (getattr(init, name), getattr(init, f"_no_grad_{name}")):
            strided.manual_seed(0)
            made.append(function(weight, *args).detach().clone())
        assert made[0].equal(made[1])
    assert init._no_grad_fill_(weight, 2.0) is weight and weight.tolist() == [[2, 2, 2]] * 2
    assert init._no_grad_zero_(weight) is weight and not weight.any() and weight.requires_grad


class Like:
    """No tensor, but PyTorch's functions are handed over to it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError


def test_tensors_of_other_kinds_can_be_buffers():
    net, like, other = nn.Module(), Like(), Like()
    net.register_buffer("b", like)
    assert net.b is like
    net.b = other
    assert net.b is other and dict(net.named_buffers()) == {"b": other}
    with pytest.raises(TypeError, match="cannot assign 'int' object to buffer 'c'"):
        net.register_buffer("c", 5)
    with pytest.raises(TypeError, match="cannot assign 'int' as buffer 'b'"):
        net.b = 5


def test_a_buffer_takes_no_name_that_is_there():
    net = nn.Module()
    net.size = 5
    with pytest.raises(KeyError, match="attribute 'size' already exists"):
        net.size = nn.Buffer(strided.ones(1))
    assert net.size == 5
    net.b = nn.Buffer(strided.ones(1))
    net.b = nn.Buffer(strided.zeros(1))
    assert net.b.item() == 0


def test_gradients_of_a_generator_that_is_used_up():
    net = nn.Linear(1, 1)
    parameters = net.parameters()
    list(parameters)
    with pytest.warns(UserWarning, match="`parameters` is an empty generator, no gradient clipping will occur."):
        assert nn.utils.clip_grad_norm_(parameters, 1.0).item() == 0
