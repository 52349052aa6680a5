"""Convolution against its definition, and its gradients as adjoint maps; products with folded matrices."""

import itertools
import random

import pytest
import strided as torch
from strided.nn import functional as F

CASES = [
    # batch, channels, sizes, out, kernel, stride, padding, dilation, groups
    (2, 3, (9,), 4, (3,), (1,), (1,), (1,), 1),
    (1, 1, (1,), 1, (1,), (1,), (0,), (1,), 1),
    (3, 4, (5, 6), 6, (3, 2), (1, 1), (1, 0), (1, 1), 2),
    (2, 5, (17, 40), 33, (3, 3), (1, 1), (1, 1), (1, 1), 1),  # whole and partial vectors of a row
    (2, 4, (19, 20), 8, (5, 3), (1, 2), (2, 1), (2, 1), 1),
    (2, 6, (11, 12), 6, (3, 3), (1, 1), (1, 1), (1, 1), 6),  # depthwise
    (2, 3, (20, 20), 9, (4, 4), (1, 1), (0, 3), (1, 1), 3),
    (2, 3, (8, 9), 5, (2, 2), (1, 1), (3, 2), (1, 1), 1),  # more padding than the kernel reaches
    (1, 2, (5, 6, 7), 3, (2, 3, 2), (1, 1, 1), (1, 1, 0), (1, 1, 2), 1),
    (2, 2, (4, 5, 6), 4, (2, 2, 2), (2, 1, 2), (0, 1, 1), (1, 2, 1), 2),
    (3, 70, (4, 4), 20, (3, 3), (1, 1), (1, 1), (1, 1), 1),  # more steps than a block of a product has
    (2, 3, (32, 32), 2, (16, 16), (16, 16), (0, 0), (1, 1), 1),
    (3, 9, (4, 5), 6, (4, 5), (1, 1), (0, 0), (1, 1), 1),  # one output
    (5, 11, (7, 9), 6, (4, 3), (2, 3), (1, 1), (1, 2), 1),  # few outputs, in several blocks with the next one
    (40, 64, (16, 16), 8, (4, 4), (2, 2), (1, 1), (1, 1), 1),
    (2, 12, (4, 6, 5), 3, (2, 3, 2), (2, 1, 2), (1, 0, 0), (1, 2, 1), 1),
    # larger steps: each phase of the input's gradient is a convolution
    (2, 3, (40, 41), 5, (3, 5), (2, 2), (1, 2), (1, 1), 1),
    (2, 3, (21, 23), 4, (2, 1), (3, 2), (0, 1), (1, 1), 1),  # elements that no window meets
    (2, 6, (20, 9), 6, (4, 3), (2, 2), (2, 1), (1, 1), 6),
    (3, 8, (33, 17), 4, (3, 4), (1, 2), (0, 3), (1, 1), 2),
    (2, 1, (9, 8, 7), 3, (3, 2, 4), (2, 2, 2), (1, 0, 1), (1, 1, 1), 1),
    (2, 2, (100,), 3, (7,), (5,), (3,), (1,), 1),
    (1, 1, (3, 20), 2, (2, 2), (4, 2), (0, 0), (1, 1), 1),  # a phase without elements of the input
    # channels one by one in steps of two: elements in even and odd places are taken apart for many taps
    (2, 6, (37, 43), 6, (5, 5), (2, 2), (2, 2), (1, 1), 6),
    (1, 3, (50, 34), 6, (3, 7), (1, 2), (1, 3), (2, 1), 3),
    (2, 4, (19, 70), 4, (1, 9), (3, 2), (0, 1), (1, 1), 4),
    (1, 2, (1100,), 2, (8,), (2,), (3,), (1,), 2),
    (1, 2, (9, 30), 2, (3, 3), (2, 2), (1, 1), (1, 2), 2),
]


def convolution(x, weight, stride, padding, dilation, groups):
    """The definition: one element of the kernel at a time."""
    n, c, *sizes = x.shape
    o, _, *kernel = weight.shape
    wide = torch.zeros(n, c, *(s + 2 * p for s, p in zip(sizes, padding)), dtype=torch.float64)
    wide[(..., *(slice(p, p + s) for p, s in zip(padding, sizes)))] = x
    out = [
        (s + 2 * p - d * (k - 1) - 1) // step + 1 for s, p, d, k, step in zip(sizes, padding, dilation, kernel, stride)
    ]
    made = torch.zeros(n, o, *out, dtype=torch.float64)
    for at in itertools.product(*map(range, kernel)):
        part = wide[(..., *(slice(i * d, i * d + s * (m - 1) + 1, s) for i, d, s, m in zip(at, dilation, stride, out)))]
        factor = weight[(slice(None), slice(None), *at)]
        for g in range(groups):
            mine, theirs = slice(g * o // groups, (g + 1) * o // groups), slice(g * c // groups, (g + 1) * c // groups)
            made[:, mine] += torch.tensordot(factor[mine], part[:, theirs], ([1], [1])).movedim(0, 1)
    return made


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution_is_its_definition_and_gradients_are_its_adjoints(case):
    n, c, sizes, o, kernel, stride, padding, dilation, groups = case
    torch.manual_seed(0)
    x = torch.randn(n, c, *sizes, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(o, c // groups, *kernel, dtype=torch.float64, requires_grad=True)
    function = getattr(F, f"conv{len(sizes)}d")
    made = function(x, weight, None, stride, padding, dilation, groups)
    expected = convolution(x.detach(), weight.detach(), stride, padding, dilation, groups)
    torch.testing.assert_close(made, expected, rtol=1e-12, atol=1e-11)
    y = torch.randn(*made.shape, dtype=torch.float64)
    of_x, of_weight = torch.autograd.grad(made, (x, weight), y)
    inner = (y * expected).sum()
    torch.testing.assert_close((of_x * x).sum(), inner, rtol=1e-10, atol=1e-9)
    torch.testing.assert_close((of_weight * weight).sum(), inner, rtol=1e-10, atol=1e-9)
    # float32, and inputs in another layout, with a gradient that repeats one element
    other = x.detach().float().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()
    made = function(other, weight.detach().float(), None, stride, padding, dilation, groups)
    torch.testing.assert_close(made.double(), expected, rtol=1e-4, atol=1e-4)
    (g,) = torch.autograd.grad(made.sum(), other)
    (of_x,) = torch.autograd.grad(function(x, weight, None, stride, padding, dilation, groups).sum(), x)
    torch.testing.assert_close(g.double(), of_x, rtol=1e-4, atol=1e-4)


def inner(x):
    """The same numbers between others of the same memory."""
    return torch.stack([torch.full_like(x, 1e6), x, torch.full_like(x, 1e6)])[1]


@pytest.mark.parametrize("transposed", ["", "_transpose"])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("c, o, groups", [(3, 4, 1), (4, 4, 2), (4, 4, 4), (3, 6, 3)])
@pytest.mark.parametrize("padding", [0, 1])
def test_operands_and_gradients_in_the_middle_of_larger_memory(transposed, axes, c, o, groups, padding):
    torch.manual_seed(0)
    function = getattr(F, f"conv{transposed}{axes}d")
    shape = (c, o // groups) if transposed else (o, c // groups)
    x, weight = torch.randn(2, c, *[5] * axes).double(), torch.randn(*shape, *[3] * axes).double()
    y = torch.randn(*function(x, weight, padding=padding, groups=groups).shape).double()

    def results(place):
        a, w, g = (place(t).detach().requires_grad_() for t in (x, weight, y))
        made = function(a, w, padding=padding, groups=groups)
        first = torch.autograd.grad(made, (a, w), g, create_graph=True)
        vectors = [place(t.detach() + 1) for t in (x, weight)]
        return made, *first, *torch.autograd.grad(first, (a, w, g), vectors)

    for got, expected in zip(results(inner), results(torch.clone)):
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


def test_infinity_and_nan_stay_where_the_kernel_sees_them():
    x, weight = torch.ones(1, 3, 6, 37), torch.ones(20, 3, 3, 3)
    x[0, 1, 2, 5], x[0, 2, 2, 30] = float("inf"), float("nan")
    made = F.conv2d(x, weight, padding=1)[0]
    rows = slice(1, 4)
    assert made[:, rows, 4:7].isinf().all() and made.isinf().sum() == 20 * 9
    assert made[:, rows, 29:32].isnan().all() and made.isnan().sum() == 20 * 9


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int64], ids=str
)
def test_products_with_folded_matrices(dtype):
    product, rng = torch._C.functions["_matmul_folded"], random.Random(1)
    for trial in range(30):
        torch.manual_seed(trial)
        batch = [rng.choice([1, 2, 3]) for _ in range(rng.choice([0, 1, 2]))]
        rows = [rng.choice([1, 2, 3, 5]) for _ in range(rng.choice([1, 2, 3]))]
        columns = [rng.choice([1, 3, 16, 20]) for _ in range(rng.choice([1, 2]))]
        axes = list(range(len(batch) + len(rows) + len(columns)))
        rng.shuffle(axes)
        sizes = [*batch, *rows, *columns]
        stored = [0] * len(axes)
        for to, axis in enumerate(axes):
            stored[axis] = sizes[to]
        b = torch.randint(-4, 5, stored).to(dtype).permute(axes)
        k, m = b[(0,) * len(batch)].numel(), rng.choice([1, 5, 17])
        for size in columns:
            k //= size
        a = torch.randint(-4, 5, (*batch, m, k)).to(dtype)
        exact = torch.complex128 if dtype.is_complex else torch.float64
        expected = a.to(exact) @ b.to(exact).reshape(*batch, k, -1)
        made = product(a, b, len(rows))
        torch.testing.assert_close(made, expected.to(dtype), rtol=0, atol=0)
        assert product(a, b, len(rows), made) is made
        torch.testing.assert_close(made, (2 * expected).to(dtype), rtol=0, atol=0)


def test_products_with_folded_matrices_check_sizes():
    product = torch._C.functions["_matmul_folded"]
    with pytest.raises(RuntimeError, match="sizes"):
        product(torch.ones(2, 3), torch.ones(2, 2, 5), 2)
    with pytest.raises(RuntimeError, match="dimensions"):
        product(torch.ones(2, 3), torch.ones(3, 5), 3)
    with pytest.raises(RuntimeError, match="expected scalar type"):
        product(torch.ones(2, 3), torch.ones(3, 5, dtype=torch.float64), 1)
    with pytest.raises(RuntimeError, match="sizes"):
        product(torch.ones(2, 3), torch.ones(3, 5), 1, torch.ones(2, 4))
    assert product(torch.ones(2, 0), torch.ones(0, 5), 1).tolist() == [[0.0] * 5] * 2


@pytest.mark.parametrize("shape", [(2, 3, 8, 9), (1, 2, 5, 40), (1, 2, 70, 70), (1, 2, 4, 1100)])
@pytest.mark.parametrize("times, kernel", [(1, (3, 3)), (2, (1, 1)), (1, (4, 5)), (2, (2, 7))])
def test_channels_one_by_one(shape, times, kernel):
    torch.manual_seed(0)
    channels = shape[1]
    for stride, padding, dilation in (
        (1, 1, 1), (2, 0, 1), ((1, 3), (2, 0), 1), ((2, 1), 1, (1, 2)), (1, 2, 2), ((1, 2), 1, 1), ((3, 2), 2, (2, 1)),
        (4, 1, 1),
    ):  # fmt: skip
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        w = torch.randn(channels * times, 1, *kernel, dtype=torch.float64, requires_grad=True)
        b = torch.randn(channels * times, dtype=torch.float64)
        options = (stride, padding, dilation)
        try:
            made = F.conv2d(x, w, b, *options, channels)
        except RuntimeError:  # the image is smaller than the kernel
            continue
        split = [
            F.conv2d(x[:, k : k + 1], w[k * times : (k + 1) * times], b[k * times : (k + 1) * times], *options)
            for k in range(channels)
        ]
        wanted = torch.cat(split, 1)
        torch.testing.assert_close(made, wanted, rtol=1e-12, atol=1e-12)
        g = torch.randn_like(made)
        for one, two in zip(torch.autograd.grad(made, (x, w), g), torch.autograd.grad(wanted, (x, w), g)):
            torch.testing.assert_close(one, two, rtol=1e-11, atol=1e-11)
        for y in (x.float(), x.float().transpose(2, 3).contiguous().transpose(2, 3), x.float().flip(3).flip(3)):
            found = F.conv2d(y, w.float(), b.float(), *options, channels)
            torch.testing.assert_close(found.double(), made, rtol=1e-4, atol=1e-4)
        line = F.conv1d(x[:, :, 0], w[:, :, 0], b, 2, 3, 1, channels)
        image = F.conv2d(x[:, :, :1], w[:, :, :1], b, (1, 2), (0, 3), 1, channels)
        torch.testing.assert_close(line, image[:, :, 0], rtol=1e-12, atol=1e-12)


def test_channels_keep_inf_to_themselves():
    x = torch.zeros(1, 2, 5, 6)
    x[0, 0, 0, 5], x[0, 1, 4, 0] = float("inf"), float("nan")
    made = F.conv2d(x, torch.ones(2, 1, 3, 3), padding=1, groups=2)[0]
    assert (made[0] == float("inf")).nonzero().tolist() == [[0, 4], [0, 5], [1, 4], [1, 5]]
    assert made[1].isnan().nonzero().tolist() == [[3, 0], [3, 1], [4, 0], [4, 1]]
    assert made.isfinite().sum() == 52


def test_dtypes_that_differ_are_named_as_in_pytorch():
    x, w, b = torch.zeros(1, 1, 4, 4, dtype=torch.float64), torch.zeros(1, 1, 2, 2), torch.zeros(1)
    conv2d, transposed = F.conv2d, F.conv_transpose2d
    for call in (lambda: conv2d(x, w), lambda: transposed(x, w), lambda: transposed(x, w, b)):
        with pytest.raises(RuntimeError, match="^expected scalar type Double but found Float$"):
            call()
    with pytest.raises(RuntimeError, match=r"^Input type \(double\) and bias type \(float\) should be the same$"):
        conv2d(x, w, b)
    with pytest.raises(RuntimeError, match="^expected scalar type Long but found ComplexFloat$"):
        conv2d(x.long(), w.to(torch.complex64))


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(9, 8), (33, 40)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_16_bits_are_rounded_once(dtype, size, stride, groups):
    """Sums over samples and elements of the kernel are float32, also where the products are those of 16 bits."""
    torch.manual_seed(0)
    x = torch.randn(5, 4, *size).to(dtype)
    w = torch.randn(8, 4 // groups, 3, 3).to(dtype)
    found = []
    for kind in (dtype, torch.float64):
        a, b = x.to(kind).requires_grad_(), w.to(kind).requires_grad_()
        out = torch.nn.functional.conv2d(a, b, None, stride, 1, 1, groups)
        torch.manual_seed(1)
        found.append((out, *torch.autograd.grad(out, (a, b), torch.randn(out.shape).to(dtype).to(kind))))
    for got, want in zip(*found, strict=True):
        error = (got.double() - want).abs().max() / want.abs().max()
        assert got.dtype == dtype and error < torch.finfo(dtype).eps * 0.6
