"""Steps that run as one chain, a strip at a time: the bits of the plain function at every length, layout and dtype."""

import random

import pytest
import strided as torch

INT = {torch.float32: torch.int32, torch.float64: torch.int64}
DTYPES = [torch.float32, torch.float64]
# Around the strips of each instruction set (from 16 to 256 elements), the blocks of a chain and its chunks.
LENGTHS = [1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 511, 513, 1000, 1025, 16384, 16385, 65535, 65536, 65537]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum"]
OTHER = ["neg", "abs", "relu", "sqrt", "sin", "lt", "cast"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), 1e-40, 3e38, 5e-324, 1e308]


def same_bits(a, b):
    """Equal in dtype, shape, strides and bits, also of zeros; a NaN equals a NaN."""
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same_bits(x, y)
        return
    assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
    assert torch.equal(a.isnan(), b.isnan())
    x, y = a.contiguous(), b.contiguous()
    if x.is_floating_point():
        x, y = x.nan_to_num(0.0, float("inf"), -float("inf")), y.nan_to_num(0.0, float("inf"), -float("inf"))
        x, y = x.view(INT[x.dtype]), y.view(INT[y.dtype])
    assert torch.equal(x, y)


def check(f, *args):
    compiled = torch.compile(f)
    expected = f(*args)
    same_bits(compiled(*args), expected)
    same_bits(compiled(*args), expected)
    assert compiled.explain(*args).groups


def numbers(shape, dtype, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def chain(a, b, p):
    return (a * b + p) * a - b


def every_operation(a, b, p):
    c = (a - b) * (b - a) / (p / a)
    d = torch.maximum(c, p).neg() + torch.minimum(p, c).abs()
    e = torch.relu(d - torch.maximum(b, d)).square() + torch.reciprocal(d) * torch.sqrt(c)
    return c, e, (e + e) * (e * e) - 3 / (2 - d)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n, dtype):
    args = [numbers(n, dtype, seed) for seed in range(3)]
    check(chain, *args)
    check(every_operation, *args)
    check(lambda a, b, p: chain(a, b, p).sum(), *args)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_special_values_meet_each_other(dtype):
    x = torch.tensor(SPECIAL, dtype=dtype)
    a, b, p = (t.reshape(-1).contiguous() for t in torch.meshgrid(x, x, x, indexing="ij"))
    check(chain, a, b, p)
    check(every_operation, a, b, p)
    for value in SPECIAL:
        check(lambda a, b: torch.maximum(a * value, b) - torch.minimum(b, a + value) / value, a, b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (40, 15), (5, 256), (7, 300), (3, 70000), (2, 3, 257), (0, 300)], ids=str)
def test_broadcasts_and_layouts(shape, dtype):
    a, row = numbers(shape, dtype), numbers(shape[-1:], dtype, 1)
    column, one = numbers((*shape[:-1], 1), dtype, 2), numbers((), dtype, 3)
    turned = numbers(shape[::-1], dtype, 4).permute([*reversed(range(len(shape)))])
    gaps = numbers((*shape[:-1], shape[-1] + 3), dtype, 5)[..., 1:-2]
    every_second = numbers((*shape[:-1], 2 * shape[-1]), dtype, 6)[..., ::2]
    layouts = [a, row, column, one, turned, gaps, every_second, a.flip(-1), row.expand(shape)]
    choose = random.Random(str(shape))
    for args in [(a, row, column), (column, one, a), (turned,) * 3, (gaps, row, one), (every_second, a, column)]:
        if 0 not in shape:
            check(chain, *args)
    for _ in range(12 if 0 not in shape else 0):
        check(every_operation, *(choose.choice(layouts) for _ in range(3)))
    f = torch.compile(chain)
    same_bits(f(a, row, column), chain(a, row, column))


@pytest.mark.parametrize("shape", [(50, 7), (9, 64), (6, 256), (5, 1000), (3, 9000)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_chains_between_reductions_of_rows(shape, dtype):
    def f(x, w, b):
        d = (x - x.mean(-1, keepdim=True)) * w - b
        r = (d * d + d).sum(-1, keepdim=True)
        return (d * r + w) * r - d, d + 1, (d - r).exp() * b + x

    check(f, numbers(shape, dtype), numbers(shape[-1:], dtype, 1), numbers(shape, dtype, 2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, dtype):
    """Values are read once, often, late, twice by one step; other steps and casts stand between the chains."""
    choose = random.Random(seed)
    steps = tuple(
        (choose.choice(BINARY * 2 + OTHER), choose.choice([1, 2, 30]), choose.choice([1, 2, 30]))
        for _ in range(choose.choice([6, 30, 60]))
    )
    kept = tuple(choose.sample(range(len(steps)), 3))

    def f(*leaves):
        values = list(leaves)
        for op, i, j in steps:
            x, y = values[-min(i, len(values))], values[-min(j, len(values))]
            if op == "lt":
                values.append(torch.where(x < y, x, y))
            elif op == "cast":
                values.append(x.half().to(dtype) + 0.5)
            elif op in ("neg", "abs", "relu", "sqrt", "sin"):
                values.append(getattr(x, op)())
            else:
                values.append(getattr(torch, op)(x, y))
        return tuple(values[len(leaves) + k] for k in kept) + (values[-1],)

    for n in (5, 300, 5000):
        check(f, *(numbers(n, dtype, seed) for seed in range(3)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_threads(dtype):
    args = [numbers(300_001, dtype, seed) for seed in range(3)]
    rows = [numbers((700, 401), dtype), numbers((401,), dtype, 1), numbers((700, 1), dtype, 2)]
    before = torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        check(every_operation, *args)
        check(chain, *rows)
    torch.set_num_threads(before)


def sub_of(a, b):
    return (a - b) * 2, a + 1


def smooth(a, b):
    return a.sigmoid() * (a * b).exp() + torch.relu(b).sqrt() / a.tanh()


def broadcast(a, b):
    return (a + b[:1]) * b - torch.where(a > b, a, 2.0)


def powers(a, b):
    return (a**2 + b**3).abs().pow(0.5).float() * torch.nn.functional.silu(b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("f", [sub_of, smooth, broadcast, powers, lambda a, b: chain(a, b, b), lambda a, b: a + b * 1])
def test_gradients(f, dtype):
    """The first pass runs formulas and is noted; the next ones run what was noted, on other values."""
    compiled = torch.compile(f)
    for seed in (0, 3, 6):
        a, b, w = (numbers(1000, dtype, seed + k) for k in range(3))
        a.requires_grad_()
        b.requires_grad_()
        for inputs, weight in (((a, b), w), ((b,), w), ((a, b), a.detach()), ((a, b), w[:1].expand(1000))):
            outs = [o if isinstance(o, tuple) else (o,) for o in (compiled(a, b), f(a, b))]
            for only in (slice(None), slice(1)):
                weights = [weight.to(o.dtype) for o in outs[0][only]]
                got, expected = (
                    torch.autograd.grad(o[only], inputs, weights, retain_graph=True, allow_unused=True) for o in outs
                )
                for x, y in zip(got, expected):
                    assert (x is None) == (y is None)
                    if y is not None:
                        same_bits(x, y)


def test_gradients_of_inputs_that_are_the_same_tensor_or_become_so():
    f = torch.compile(smooth)
    a, b = (numbers(300, torch.float64, k).requires_grad_() for k in range(2))
    for x, y in ((a, b), (a, b), (a, a), (b, b), (b, a), (a, a)):
        got, expected = (torch.autograd.grad(g(x, y).sum(), (x, y)) for g in (f, smooth))
        for p, q in zip(got, expected):
            same_bits(p, q)


def test_gradients_of_gradients_after_noted_ones():
    f = torch.compile(smooth)
    a, b = (numbers(50, torch.float64, k).abs().requires_grad_() for k in range(2))
    for _ in range(3):
        f(a, b).sum().backward()
    results = []
    for g in (f, smooth):
        first = torch.autograd.grad(g(a, b).sum(), (a, b), create_graph=True)
        results.append(torch.autograd.grad((first[0] * first[1]).sum(), (a, b)))
    for x, y in zip(*results):
        torch.testing.assert_close(x, y, rtol=1e-13, atol=0)
