"""A graph is run through again without retain_graph where no step of it saved a tensor, as in PyTorch."""

import pytest
import strided as torch

INDEX = torch.tensor([0, 1])
MASK = torch.tensor([[True, False, True]] * 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.unbind()[0], lambda x: x[0], lambda x: x[1:3], lambda x: x.view(12), lambda x: x.t(),
        lambda x: x.permute(1, 0), lambda x: x[None].expand(2, 4, 3), lambda x: x.split(2)[1], lambda x: x + 1,
        lambda x: x.sum(), lambda x: x.mean(0), lambda x: torch.cat([x, x]), lambda x: torch.stack([x, x]),
        lambda x: x.repeat(2, 1), lambda x: x.flip(0), lambda x: x.roll(1, 0), lambda x: x.tril(), lambda x: x.trace(),
        lambda x: torch.einsum("ij->i", x), lambda x: torch.addmm(x, torch.ones(4, 2), torch.ones(2, 3)),
        lambda x: x.clone(), lambda x: x.double(),
    ],
)  # fmt: skip
def test_again(function):
    x = torch.rand(4, 3, requires_grad=True)
    y = function(x)
    y.sum().backward()
    once = x.grad.clone()
    y.sum().backward()
    assert torch.equal(x.grad, 2 * once)
    y = function(x).sum()
    for _ in range(2):
        y.backward()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[INDEX], lambda x: x[MASK], lambda x: x.exp(), lambda x: x * x, lambda x: x @ x.t(),
        lambda x: x.index_select(0, INDEX), lambda x: torch.where(MASK, x, 0.0), lambda x: x.var(),
        lambda x: x.max(0)[0], lambda x: x.sort()[0], lambda x: x.softmax(0), lambda x: x.cumprod(0),
    ],
)  # fmt: skip
def test_saved_tensors_were_freed(function):
    y = function(torch.rand(4, 3, requires_grad=True))
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_two_halves_of_one_split():
    x = torch.rand(4, 3, requires_grad=True)
    a, b = x.split(2)
    (a * a).sum().backward()
    (b * b).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


F = torch.nn.functional


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.pad(x, (1, 2), mode="reflect"), lambda x: F.pad(x, (1, 1, 2, 1), mode="replicate"),
        lambda x: F.rrelu(x, training=True), lambda x: F.adaptive_max_pool1d(x, 2),
        lambda x: F.adaptive_max_pool2d(x, (2, 3)), lambda x: F.fractional_max_pool2d(x, 2, output_size=2),
        lambda x: F.grid_sample(x[None], torch.zeros(1, 2, 2, 2, dtype=x.dtype), mode="nearest", align_corners=False),
    ],
)  # fmt: skip
def test_gradients_that_choose_elements_have_second_derivatives_of_zero(function):
    x = torch.randn(2, 4, 4, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    y = function(x)
    w = torch.rand_like(y).requires_grad_()
    (g,) = torch.autograd.grad((y * w).sum(), x, create_graph=True)
    by_x, by_w = torch.autograd.grad(g.sum(), (x, w))
    assert by_x.shape == x.shape and not by_x.any() and by_w.any()
