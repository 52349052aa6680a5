"""Activations beside their op table: checks of arguments, constants, in-place forms, gradients, random slopes."""

import math

import pytest
import strided as torch

functional = {name[14:]: f for name, f in torch._C.functions.items() if name.startswith("nn.functional.")}


def test_exponential_units():
    x = torch.tensor([-2.0, -0.0, 0.0, 3.0], dtype=torch.float64)
    a, s = 1.6732632423543772, 1.0507009873554805
    assert torch.selu(x).tolist() == pytest.approx([s * a * math.expm1(-2), 0, 0, 3 * s], rel=1e-15)
    assert torch.celu(x, 0.5).tolist() == pytest.approx([0.5 * math.expm1(-4), 0, 0, 3], rel=1e-15)
    assert torch.celu(x, -0.5)[0].item() == pytest.approx(-0.5 * math.expm1(4))
    assert torch.signbit(torch.selu(x)).tolist() == [True, True, False, False]
    for in_place, plain in ((torch.selu_, torch.selu), (torch.celu_, torch.celu)):
        y = x.clone()
        assert in_place(y) is y and (y == plain(x)).all()
    with pytest.raises(RuntimeError, match="alpha cannot be 0 for CELU"):
        torch.celu(x, 0)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch.selu(torch.ones(2, dtype=torch.int64))
    assert not hasattr(torch.Tensor, "celu") and not hasattr(torch.Tensor, "threshold")


def test_gelu():
    gelu = functional["gelu"]
    x = torch.tensor([-30.0, -3.0, 0.0, 1.0, 40.0], dtype=torch.float64)
    want = [v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]
    assert gelu(x).tolist() == pytest.approx(want, rel=1e-12)
    near = gelu(x, approximate="tanh")
    assert (near - gelu(x)).abs().max() < 1e-3 and near[4] == 40 and near[0] <= 0
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
        gelu(x, approximate="Tanh")


def test_no_overflow():
    x = torch.tensor([-1e4, -89.0, 89.0, 1e4], dtype=torch.float32, requires_grad=True)
    for name in ("silu", "mish", "softplus", "logsigmoid", "gelu", "hardswish", "elu"):
        y = functional[name](x)
        (g,) = torch.autograd.grad(y.sum(), [x])
        assert y.isfinite().all() and g.isfinite().all(), name
    assert functional["mish"](x).tolist()[2:] == [89.0, 1e4] and functional["logsigmoid"](x)[0] == -1e4


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_bounds_are_not_rounded_to_16_bits(dtype):
    near = torch.tensor([0.1, 0.7], dtype=dtype)  # each on one side of the number
    for bound, value in ((0.1, near[0]), (0.7, near[1])):
        x = value.clone().requires_grad_()
        above, y = x.item() > bound, x.double()
        for name, f, is_kept in (
            ("threshold", lambda x: functional.get("threshold", torch.threshold)(x, bound, 0.0), above),
            ("hardtanh", lambda x: functional["hardtanh"](x, -1.0, bound), not above),
        ):
            (g,) = torch.autograd.grad(f(x), [x])
            assert y != bound and g.item() == is_kept, (name, bound)


def test_shrinking():
    shrink = functional["softshrink"]
    assert shrink(torch.tensor([-1.0, -0.5, 0.25, 2.0])).tolist() == [-0.5, 0.0, 0.0, 1.5]
    with pytest.raises(RuntimeError, match="lambda must be in range .* but found -1"):
        shrink(torch.ones(1), -1.0)
    z = functional["softsign"](torch.tensor([3 + 4j]))
    assert z.tolist() == pytest.approx([(3 + 4j) / 6])
    assert functional["softsign"](torch.tensor([3])).dtype == torch.float32


def test_pieces_of_integers():
    x = torch.tensor([-5, 0, 9])
    assert torch.threshold(x, 0, 7).tolist() == [7, 7, 9] and torch.threshold_(x.clone(), 0, 7).tolist() == [7, 7, 9]
    assert functional["relu6"](x).tolist() == [0, 0, 6] and functional["hardtanh"](x).tolist() == [-1, 0, 1]
    assert functional["hardtanh"](torch.tensor([0, 9], dtype=torch.uint8)).tolist() == [0, 1]
    y = x.clone()
    assert functional["relu6_"](y) is y and y.tolist() == [0, 0, 6]


def test_prelu():
    x = torch.tensor([[-1.0, 2.0, -3.0], [4.0, -5.0, -6.0]], requires_grad=True)
    w = torch.tensor([0.5, 0.25, 2.0], requires_grad=True)
    y = torch.prelu(x, w)
    assert y.tolist() == [[-0.5, 2.0, -6.0], [4.0, -1.25, -12.0]] and x.prelu(w).tolist() == y.tolist()
    gx, gw = torch.autograd.grad(y.sum(), [x, w])
    assert gx.tolist() == [[0.5, 1.0, 2.0], [1.0, 0.25, 2.0]] and gw.tolist() == [-1.0, -5.0, -9.0]
    for one in (torch.tensor([0.5]), torch.tensor(0.5)):
        assert torch.prelu(torch.tensor([-2.0]), one).tolist() == [-1.0] and torch.prelu(one, one).shape == one.shape
    images = torch.arange(-12.0, 12.0).reshape(2, 3, 2, 2)
    want = torch.where(images > 0, images, images * w.detach().reshape(3, 1, 1))
    assert (torch.prelu(images, w.detach()) == want).all()
    with pytest.raises(RuntimeError, match="Found parameter numbers = 3 and channel size = 1"):
        torch.prelu(torch.ones(3), w)
    with pytest.raises(RuntimeError, match="Not allow zero-dim input tensor"):
        torch.prelu(torch.tensor(1.0), w)
    with pytest.raises(RuntimeError, match="Expected `weight` to be a scalar or 1D tensor, but got: ndim = 2"):
        torch.prelu(x, x)
    with pytest.raises(RuntimeError, match="Type promoting not supported. Got Double and Float"):
        torch.prelu(x.double(), w)


def test_rrelu():
    x = torch.tensor([-1.0, 2.0, 0.0, float("nan"), -4.0], requires_grad=True)
    mean = torch.rrelu(x, 0.25, 0.75)
    assert mean.tolist()[:3] == [-0.5, 2.0, 0.0]
    torch.manual_seed(3)
    y = torch.rrelu(x, 0.25, 0.75, training=True)
    torch.manual_seed(3)
    slopes = torch.empty(3, dtype=torch.float64).uniform_(0.25, 0.75).float()
    (g,) = torch.autograd.grad(y[[0, 1, 4]].sum(), [x])
    assert g.tolist() == [slopes[0], 1.0, 0.0, 0.0, slopes[2]] and y[4].item() == -4 * slopes[2].item()
    again = x.detach().clone()
    torch.manual_seed(3)
    assert torch.rrelu_(again, 0.25, 0.75, True) is again and again[0] == y[0]
    generator = torch.Generator().manual_seed(3)
    assert torch.rrelu(x, 0.25, 0.75, True, generator)[4] == y[4]
    with pytest.raises(RuntimeError, match="Lower bound should be less than or equal to the upper bound"):
        torch.rrelu(x, 1.0, 0.5)
    with pytest.raises(RuntimeError, match="lower bound must be finite"):
        torch.rrelu(x, float("inf"), 0.5)
    with pytest.raises(RuntimeError, match="upper bound must be finite"):
        torch.rrelu(x, 0.5, float("inf"), True)
    with pytest.raises(NotImplementedError):
        torch.rrelu(torch.ones(2, dtype=torch.int64), training=True)


def test_backward_in_place():
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
    for name in ("elu", "silu", "mish", "leaky_relu", "hardtanh", "hardsigmoid", "hardswish"):
        y = x.clone()
        functional[name + "_"](y)
        (g,) = torch.autograd.grad(y.sum(), [x])
        (want,) = torch.autograd.grad(functional[name](x).sum(), [x])
        assert (g == want).all(), name


def test_gelu_of_float32_is_accurate_in_its_tail():
    x = torch.linspace(-13, 7, 4001).double()
    want = functional["gelu"](x)
    near = (functional["gelu"](x.float()).double() - want).abs() / want.abs().clamp(min=1e-37)
    assert near[x != 0].max() < 1e-6
