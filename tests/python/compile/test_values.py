"""Compiled functions give the bits of the plain ones: dtypes, layouts, broadcasts, reductions, random expressions."""

import pytest
import strided as torch
import strided.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st


def same(a, b):
    """Equal in dtype, shape, strides and bits (a NaN equals a NaN)."""
    if isinstance(a, (tuple, list)):
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
        return
    assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
    if a.is_floating_point() or a.is_complex():
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
    else:
        assert torch.equal(a, b)


def check(f, *args, fused=True):
    """The first call, which is traced, and the second one, which runs the trace, against the function."""
    compiled = torch.compile(f)
    expected = f(*args)
    same(compiled(*args), expected)
    same(compiled(*args), expected)
    explained = compiled.explain(*args)
    assert bool(explained.groups) == fused, str(explained)
    return explained


def numbers(shape, dtype=torch.float32, seed=0):
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=g) > 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(0 if dtype == torch.uint8 else -9, 9, shape, generator=g, dtype=dtype)
    return torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)


def chain(a, b, p):
    return (a * b + p) * a - b


DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8,
          torch.int8, torch.complex64]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 7, 5000])
def test_a_chain_in_every_dtype(dtype, n):
    explained = check(chain, numbers(n, dtype), numbers(n, dtype, 1), numbers(n, dtype, 2))
    assert explained.groups == [["mul", "add", "mul", "sub"]]


def test_dtypes_mix():
    def f(a, b, c):
        d = a * b
        return d, (d > c) * 2, (a + c).to(torch.float16), torch.where(d > 0, c, a)

    check(f, numbers(100), numbers(100, torch.float64), numbers(100, torch.int32))
    check(f, numbers(100, torch.int64), numbers(100, torch.bool), numbers((), torch.float64))


LAYOUTS = {
    "transposed": lambda x: x.t(),
    "steps": lambda x: x[::2, 1::3],
    "flipped": lambda x: x.flip(0)[:, 2:],
    "expanded": lambda x: x[:1].expand(40, 50),
    "one": lambda x: x[:1, :1],
    "empty": lambda x: x[:0],
    "scalar": lambda x: x[3, 3],
    "column": lambda x: x[:, :1],
    "row": lambda x: x[1],
    "three": lambda x: x.reshape(10, 4, 50).permute(2, 0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    a, b, p = (LAYOUTS[layout](numbers((40, 50), seed=i)) for i in range(3))
    check(chain, a, b, p, fused=layout != "empty")
    check(chain, a, b.contiguous(), p, fused=layout != "empty")


@pytest.mark.parametrize(
    "shapes",
    [((40, 50), (50,), ()), ((40, 1), (1, 50), (40, 50)), ((3, 1, 5), (4, 1), (5,)), ((0, 3), (3,), ()), ((), (), ())],
    ids=str,
)
def test_broadcasts(shapes):
    explained = check(chain, *(numbers(s, seed=i) for i, s in enumerate(shapes)), fused=0 not in shapes[0])
    assert len(explained.groups) <= 2


def softmax(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def layer_norm(x, w, b):
    mean = x.mean(-1, keepdim=True)
    d = x - mean
    return d * ((d * d).mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x * 0.7071067811865476))


@pytest.mark.parametrize("shape", [(7, 5), (3, 4, 100), (2, 9000), (33,), (2, 17000)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_formulas_of_networks(shape, dtype):
    x, w, b = numbers(shape, dtype), numbers(shape[-1:], dtype, 1), numbers(shape[-1:], dtype, 2)
    one = shape[-1] <= 16384
    for f, args in ((softmax, (x,)), (layer_norm, (x, w * 2, b)), (gelu, (x,))):
        assert (len(check(f, *args).groups) == 1) == (one or f is gelu)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "prod", "var", "std"])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_reductions_of_the_last_axis(name, keepdim, dtype):
    if dtype == torch.int64 and name in ("mean", "var", "std"):
        pytest.skip("no integers")
    x = numbers((6, 70), dtype)
    check(lambda x: getattr(x * 2, name)(-1, keepdim=keepdim) + 1, x)
    check(lambda x: getattr(x.abs() + x, name)(0, keepdim=keepdim), x)


@pytest.mark.parametrize("n", [1, 2, 1000, 16384, 16385, 100000])
def test_reductions_of_everything(n):
    x, y = numbers(n), numbers(n, seed=1)
    for f in (
        lambda x, y: ((x - y) ** 2).sum(),
        lambda x, y: (x * y + y).mean(),
        lambda x, y: (x + y).exp().amax(),
        lambda x, y: ((x * y + 1).prod(), x * y),
    ):
        explained = check(f, x, y)
        assert explained.graph_break_count == 0
    if n > 2:
        check(lambda x, y: (x * y).sum(), x.reshape(-1, n)[:, : n // 2], y.reshape(n)[: n // 2])


def test_reductions_give_the_same_on_one_thread_and_two():
    x = numbers((300, 500))
    before = torch.get_num_threads()
    f = torch.compile(lambda x: ((x * 3).sin().sum(), softmax(x)))
    results = []
    for threads in (1, 2, 2):
        torch.set_num_threads(threads)
        results.append(f(x))
    torch.set_num_threads(before)
    same(results[0], results[1])
    same(results[0], results[2])


def test_functions_of_the_package_are_taken_apart():
    x = numbers((9, 11))
    explained = check(lambda x: F.silu(F.relu(x) + 1).clamp(0.5, 2) ** 2 / 3 + torch.where(x > 0, x, -1.0), x)
    assert len(explained.groups) == 1
    explained = check(lambda x: torch.add(x, x, alpha=2).pow(3).lerp(x, 0.3).addcmul(x, x, value=2), x)
    assert explained.groups


def test_integer_division_by_zero_is_still_an_error():
    f = torch.compile(lambda a, b: (a + 1) // b)
    a = torch.tensor([1, 2])
    assert f(a, torch.tensor([1, 2])).tolist() == [2, 1]
    with pytest.raises(RuntimeError, match="ZeroDivision"):
        f(a, torch.tensor([1, 0]))


# ---------------------------------------------------------------- random expressions

UNARY = ["exp", "sin", "abs", "neg", "tanh", "sigmoid", "square", "floor", "isfinite", "sign"]
BINARY = ["add", "sub", "mul", "maximum", "minimum", "atan2", "lt", "eq", "logical_or"]
SHAPES = [(4, 6), (6,), (4, 1), (1, 6), ()]


def expressions():
    leaf = st.integers(0, 3)
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(UNARY), inner),
            st.tuples(st.sampled_from(BINARY), inner, inner),
            st.tuples(st.just("where"), inner, inner, inner),
            st.tuples(st.sampled_from(["amax", "sum", "half"]), inner),
            st.tuples(st.just("scale"), inner, st.sampled_from([2, 0.5, -1])),
        ),
        max_leaves=12,
    )


def evaluate(tree, leaves):
    if isinstance(tree, int):
        return leaves[tree]
    name, *parts = tree
    if name == "scale":
        return evaluate(parts[0], leaves) * parts[1]
    x, *rest = (evaluate(p, leaves) for p in parts)
    if name == "where":
        return torch.where(x > 0, *rest)
    if name in ("amax", "sum"):
        return getattr(x, name)(-1, keepdim=True) if x.ndim else x
    if name == "half":
        return x.to(torch.float64).to(torch.float32)
    if name == "sub" and torch.bool in (x.dtype, rest[0].dtype) or name in ("neg", "sign") and x.dtype == torch.bool:
        return x
    return getattr(torch, name)(x, *rest)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(expressions(), st.lists(st.sampled_from(range(5)), min_size=4, max_size=4), st.booleans())
def test_random_expressions(tree, shapes, turned):
    leaves = [numbers(SHAPES[s], torch.int32 if i == 3 else torch.float32, i) for i, s in enumerate(shapes)]
    if turned:
        leaves = [x.flip(-1) if x.ndim else x for x in leaves]

    def evaluate_fixed(*leaves):
        return evaluate(tree, leaves)

    # A function whose tree is a tuple of a closure is traced: tuples cannot change.
    compiled = torch.compile(evaluate_fixed)
    expected = evaluate(tree, leaves)
    same(compiled(*leaves), expected)
    same(compiled(*leaves), expected)
    assert compiled.explain(*leaves).reason is None
