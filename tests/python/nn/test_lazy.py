"""Modules and parameters that get their shapes from the first input, or from a state dict."""

import copy

import pytest
import strided
from strided import nn

pytestmark = pytest.mark.filterwarnings("error")  # PyTorch 2.13 gives no warning any more


def net():
    return nn.Sequential(nn.LazyConv2d(4, 3, padding=1), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))


def test_the_first_call_gives_the_shapes():
    m = nn.LazyLinear(3)
    assert repr(m.weight) == "<UninitializedParameter>" and m.has_uninitialized_params()
    assert m(strided.ones(5, 2)).shape == (5, 3)
    assert type(m) is nn.Linear and type(m.weight) is nn.Parameter and m.weight.shape == (3, 2)
    assert repr(m) == "Linear(in_features=2, out_features=3, bias=True)" and m.weight.abs().max() <= 2**-0.5
    assert not m._forward_pre_hooks and not m._load_state_dict_pre_hooks
    m(strided.ones(5, 2)).sum().backward()
    assert m.bias.grad.tolist() == [5, 5, 5]


def test_a_network():
    m = net()
    optimizer = strided.optim.SGD(m.parameters(), lr=0.1)
    other = copy.deepcopy(m).double()
    assert other[0].weight.dtype == strided.float64 and other[1].running_mean.dtype == strided.float64
    assert m(strided.ones(2, 3, 4, 4)).shape == (2, 3)
    assert [type(x).__name__ for x in m] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert m[1].running_mean.shape == (4,) and int(m[1].num_batches_tracked) == 1
    other.load_state_dict(m.state_dict())
    assert strided.equal(other[0].weight, m[0].weight.double())
    assert other(strided.ones(1, 3, 4, 4).double()).dtype == strided.float64
    assert type(other[3]) is nn.Linear and other[3].in_features == 64
    assert sum(len(g["params"]) for g in optimizer.param_groups) == 6


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_every_layer(axes):
    x = strided.ones(2, 6, *[4] * axes)
    assert getattr(nn, f"LazyConv{axes}d")(4, 3, groups=2)(x).shape == (2, 4, *[2] * axes)
    transposed = getattr(nn, f"LazyConvTranspose{axes}d")(4, 3, 2, 1, 0, 2, False)
    assert transposed(x).shape == (2, 4, *[7] * axes) and transposed.bias is None
    assert transposed.weight.shape == (6, 2, *[3] * axes)
    norm = getattr(nn, f"LazyInstanceNorm{axes}d")()
    assert norm(x).shape == x.shape and norm.weight.tolist() == [1] * 6
    assert getattr(nn, f"LazyBatchNorm{axes}d")(affine=False)(x).shape == x.shape
    with pytest.raises(RuntimeError, match=rf"Expected {axes + 1}D \(unbatched\)"):
        getattr(nn, f"LazyConv{axes}d")(4, 3)(strided.ones(3))


def test_only_casts_and_moves_before():
    w = nn.UninitializedParameter(dtype=strided.float16)
    assert w.dtype == strided.float16 and w.requires_grad and isinstance(w, nn.Parameter)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        w.shape  # noqa: B018
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        w + 1
    w.materialize((2, 3), dtype=strided.float64)
    assert w.shape == (2, 3) and w.dtype == strided.float64 and type(w) is nn.Parameter and w.requires_grad
    b = nn.UninitializedBuffer()
    b.materialize((2,))
    assert type(b) is strided.Tensor and b.shape == (2,)


def test_what_is_not_initialized():
    class Forgets(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="module Forgets has not been fully initialized"):
        Forgets()(strided.ones(1))
    a, b = nn.LazyLinear(2), nn.LazyLinear(2)
    a.load_state_dict(b.state_dict())
    assert a.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        nn.Linear(2, 2).load_state_dict(b.state_dict())
