"""Layer and group normalisation in one operation, beside the formula, on rows around the block edges."""

import math

import numpy as np
import pytest
import strided as torch

F = torch.nn.functional


def reference(x, g, w, b, eps):
    """The result and the gradients of x, weight and bias, in float64."""
    mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    scale = 1 / np.sqrt(var + eps)
    y = (x - mean) * scale
    h = g * w
    to_x = scale * (h - h.mean(1, keepdims=True) - y * (h * y).mean(1, keepdims=True))
    return y * w + b, to_x, (g * y).sum(0), g.sum(0)


@pytest.mark.parametrize("dtype, digits", [("float32", 3e-6), ("float64", 1e-13)])
@pytest.mark.parametrize("n", [1, 2, 15, 31, 32, 33, 63, 64, 65, 1000, 4095, 4096, 4097, 9000])
@pytest.mark.parametrize("rows", [1, 3, 17])
def test_against_float64(dtype, digits, n, rows):
    rng = np.random.default_rng(n * rows)
    x, g = (rng.standard_normal((rows, n)).astype(dtype) for _ in range(2))
    w, b = (rng.standard_normal(n).astype(dtype) for _ in range(2))
    x = x * 3 + 2
    leaves = [torch.tensor(t).requires_grad_() for t in (x, w, b)]
    made = F.layer_norm(leaves[0], (n,), leaves[1], leaves[2])
    found = [made, *torch.autograd.grad(made, leaves, torch.tensor(g))]
    want = reference(*(t.astype("f8") for t in (x, g, w, b)), 1e-5)
    for got, right in zip(found, want):
        error = np.abs(got.detach().numpy().astype("f8") - right).max()
        assert error <= digits * max(1.0, np.abs(right).max()) * (10 if n < 3 else 1)


@pytest.mark.parametrize("given", [(False, False), (True, False), (False, True)])
def test_without_weight_or_bias(given):
    torch.manual_seed(0)
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    w, b = (torch.randn(7, dtype=torch.float64, requires_grad=True) if yes else None for yes in given)
    leaves = tuple(t for t in (x, w, b) if t is not None)

    def norm(*leaves):
        rest = list(leaves[1:])
        return F.layer_norm(leaves[0], (7,), rest.pop(0) if given[0] else None, rest.pop(0) if given[1] else None)

    assert torch.autograd.gradcheck(norm, leaves) and torch.autograd.gradgradcheck(norm, leaves)


def check_gradients(norm, shape, n, given):
    """Of both orders, for x of this shape, and n weights and n biases where these are given; x."""
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    rest = [torch.randn(n, dtype=torch.float64, requires_grad=True) for yes in given if yes]

    def call(x, *rest):
        rest = list(rest)
        return norm(x, *(rest.pop(0) if yes else None for yes in given))

    assert torch.autograd.gradcheck(call, (x, *rest)) and torch.autograd.gradgradcheck(call, (x, *rest))
    return x


@pytest.mark.parametrize("shape", [(2, 6, 5), (3, 6), (1, 6, 1, 1), (2, 6, 3, 11)])
@pytest.mark.parametrize("given", [(True, True), (False, False), (True, False), (False, True)])
def test_group_norm(shape, given):
    check_gradients(lambda x, weight, bias: F.group_norm(x, 3, weight, bias), shape, 6, given)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 8, 7), (2, 8, 40, 3), (9, 8), (5, 8, 1), (2, 8, 130, 70)])
@pytest.mark.parametrize("groups", [1, 2, 4, 8])
def test_group_norm_beside_double(dtype, shape, groups):
    torch.manual_seed(0)
    x, w, b = torch.randn(shape), torch.randn(8), torch.randn(8)
    g = torch.randn(shape).double()
    leaves = [t.to(dtype).requires_grad_() for t in (x, w, b)]
    doubles = [t.double().requires_grad_() for t in (x, w, b)]
    rows = doubles[0].view(shape[0], groups, -1)
    rows = (rows - rows.mean(-1, True)) / (rows.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    along = [8, *[1] * (len(shape) - 2)]
    wanted = rows.view(shape) * doubles[1].view(along) + doubles[2].view(along)
    found = F.group_norm(leaves[0], groups, *leaves[1:])
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype is torch.float32 else {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(found.double(), wanted, **tolerance)
    for one, other in zip(torch.autograd.grad(found, leaves, g.to(dtype)), torch.autograd.grad(wanted, doubles, g)):
        size = max(1.0, float(other.abs().max()))
        torch.testing.assert_close(one.double() / size, other / size, **tolerance)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 7), (2, 3, 4, 5)])
@pytest.mark.parametrize("given", [(True, True), (False, False), (True, False), (False, True)])
def test_batch_norm(shape, given):
    x = check_gradients(lambda x, weight, bias: F.batch_norm(x, None, None, weight, bias, True), shape, 3, given)
    plain = (x - x.mean([d for d in range(len(shape)) if d != 1], keepdim=True)).detach()
    plain = plain / (plain.square().mean([d for d in range(len(shape)) if d != 1], keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(F.batch_norm(x, None, None, None, None, True), plain)


def test_layouts_and_rows_that_are_not_numbers():
    torch.manual_seed(0)
    base = torch.randn(8, 12)
    want = F.layer_norm(base[:, ::2].contiguous(), (6,))
    assert torch.equal(F.layer_norm(base[:, ::2], (6,)), want)
    assert torch.equal(F.layer_norm(base.t().contiguous().t()[:, ::2], (6,)), want)
    assert torch.equal(F.layer_norm(base[:1, :6].expand(3, 6), (6,))[2], F.layer_norm(base[0, :6], (6,)))
    assert F.layer_norm(torch.empty(0, 6), (6,)).shape == (0, 6)
    base[3, 4], base[5, 0] = float("nan"), float("inf")
    made = F.layer_norm(base, (12,))
    assert made[[3, 5]].isnan().all() and made[[0, 1, 2, 4, 6, 7]].isfinite().all()


def test_sums_over_rows_do_not_depend_on_threads():
    torch.manual_seed(0)
    x, w, b = torch.randn(3000, 70), torch.randn(70, requires_grad=True), torch.randn(70, requires_grad=True)
    made, before = [], torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        made.append(torch.autograd.grad((F.layer_norm(x, (70,), w, b) ** 3).sum(), (w, b)))
    torch.set_num_threads(before)
    for other in made[1:]:
        assert all(torch.equal(a, c) for a, c in zip(made[0], other))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape, axes", [((7, 40), 1), ((3, 5, 6), 2), ((2, 0), 1), ((0, 3), 1), ((4, 3, 1), 1)])
def test_roots_of_means_of_squares_with_and_without_gradients(dtype, shape, axes):
    torch.manual_seed(0)
    dtype = getattr(torch, dtype)
    x, weight = torch.randn(shape).to(dtype), torch.randn(shape[-axes:]).to(dtype)
    for given in (None, weight):
        for eps in (None, 0.5):
            made = F.rms_norm(x, shape[-axes:], given, eps)
            recorded = F.rms_norm(x.clone().requires_grad_(), shape[-axes:], given, eps)
            assert recorded.requires_grad and not made.requires_grad and made.dtype is dtype
            torch.testing.assert_close(made, recorded.detach())
    if dtype is torch.float64 and x.numel():
        functions = [lambda t: F.rms_norm(t, shape[-axes:], weight), lambda t: F.rms_norm(t, shape[-axes:])]
        for function in functions:
            _, tangent = torch.func.jvp(function, (x,), (weight.expand(shape),))
            exact = torch.autograd.functional.jacobian(function, x).flatten(len(shape)) @ weight.expand(shape).flatten()
            torch.testing.assert_close(tangent, exact)


def test_roots_of_means_of_squares_that_overflow():
    x = torch.tensor([[1e30, 1.0], [math.inf, 1.0], [math.nan, 1.0], [1e-30, 1e-30], [0.0, 0.0]])
    made = F.rms_norm(x, (2,))
    assert made[0].tolist() == [0, 0] and made[1].isnan().tolist() == [True, False] and made[2].isnan().all()
    torch.testing.assert_close(made, F.rms_norm(x.clone().requires_grad_(), (2,)).detach(), equal_nan=True)


def test_groups_of_a_single_value_are_refused():
    for groups, shape in ((4, (1, 4)), (10, (1, 10, 1)), (1, (1, 1))):
        with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
            F.group_norm(torch.rand(shape), groups)
        assert F.group_norm(torch.rand(2, *shape[1:]), groups).shape == (2, *shape[1:])


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_a_batch_without_elements_leaves_the_statistics(name):
    mean, var = torch.zeros(5), torch.ones(5)
    made = getattr(F, name)(torch.ones(2, 5, 0), mean, var, None, None, True)
    assert made.shape == (2, 5, 0)
    assert (mean.tolist(), var.tolist()) == ([0] * 5, [1] * 5)
