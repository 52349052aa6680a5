"""Matrix products against NumPy in float64 (or exactly, for the integers)."""

import itertools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import strided as torch
from product_cases import FLOATING, INTEGER, check, sample, wide

# ---------------------------------------------------------------- matmul: dtypes, shapes, layouts

SHAPES = [
    ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
    ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)),
    ((6, 5, 2, 3), (3,)), ((3,), (6, 5, 3, 4)),
    ((2, 1, 2, 3), (2, 5, 3, 4)), ((6, 5, 2, 3), (3, 4)), ((1, 1), (1, 1)), ((17, 33), (33, 9)), ((130, 70), (70, 65)),
    ((9, 4, 4), (9, 4, 4)), ((9, 1, 5), (9, 5, 1)),
    # without elements, or without terms
    ((0,), (0,)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)), ((0, 2, 3), (0, 3, 4)), ((0, 2, 3), (3, 4)),
    ((0, 2, 3), (1, 3, 4)), ((4, 2, 0), (4, 0, 3)),
    ((2, 0), (0,)), ((0,), (0, 3)), ((0, 3), (3,)), ((5, 1, 0, 3), (4, 3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATING + INTEGER + ["bool"])
def test_matmul(shapes, dtype):
    (a, na), (b, nb) = sample(shapes[0], dtype, 1), sample(shapes[1], dtype, 2)
    check(a @ b, np.matmul(na, nb), dtype, shapes[0][-1])


# Many rows by few columns, either way round: sums along vectors, of whole and of broken ones, of parts of 8192 steps.
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("k", [64, 71, 128, 300, 8192 + 40])
def test_few_columns(dtype, k):
    dtype, rng = getattr(torch, dtype), np.random.default_rng(0)
    made = lambda *shape: torch.tensor(rng.standard_normal(shape)).to(dtype)
    eps = torch.finfo(dtype).eps
    for m, n in [(1, 2), (4, 3), (17, 2), (18, 4), (33, 5), (50, 7), (21, 12), (40, 31)]:
        wide, few, plus = made(m, k + 3)[:, 1 : k + 1], made(n, k), made(m, n)
        for a, b in (
            (wide, few.T),
            (wide, few.T.contiguous()),
            (wide, made(k, 2 * n)[:, ::2]),
            (wide[:, 2:], few[:, 2:].T),
        ):
            right = a.double() @ b.double()
            bound = 4 * eps * (a.double().abs() @ b.double().abs())
            assert ((a @ b).double() - right).abs().le(bound).all()
            assert ((b.T @ a.T).double() - right.T).abs().le(bound.T).all()
            added = torch.addmm(plus, a, b, beta=2, alpha=-3).double() - (2 * plus.double() - 3 * right)
            assert added.abs().le(4 * bound + 8 * eps * plus.double().abs()).all()
            into = torch.full((n, m), torch.nan, dtype=dtype).T
            torch.mm(a, b, out=into)
            assert torch.equal(into, a @ b)
        wide[m // 2, k - 1], few[n - 1, 5] = torch.inf, torch.nan
        product = wide @ few.T
        assert product[:, n - 1].isnan().all()
        assert (product[m // 2, : n - 1].isinf() | product[m // 2, : n - 1].isnan()).all()
        assert product[: m // 2, : n - 1].isfinite().all() and product[m // 2 + 1 :, : n - 1].isfinite().all()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        alone = wide @ few.T
        torch.set_num_threads(threads)
        assert torch.equal(alone.nan_to_num(1), product.nan_to_num(1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_steps(dtype):
    for m, k, n in [(1, 1, 1), (2, 1, 70), (70, 1, 2), (33, 1, 130), (9, 2, 67), (40, 3, 33), (5, 4, 64), (7, 5, 70)]:
        (a, wide_a), (b, wide_b), (c, wide_c) = (sample(s, dtype, i) for i, s in enumerate([(m, k), (k, n), (m, n)]))
        check(a @ b, wide_a @ wide_b, dtype)
        check(b.T @ a.T, (wide_a @ wide_b).T, dtype)
        check(torch.addmm(c, a, b, beta=2, alpha=-3), 2 * wide_c - 3 * (wide_a @ wide_b), dtype, 9)
        check(torch.addmm(c * torch.nan, a, b, beta=0), wide_a @ wide_b, dtype)
        check(a[::2] @ b[:, ::2], wide_a[::2] @ wide_b[:, ::2], dtype)
    big, small = torch.full((5, 2), 1e30, dtype=getattr(torch, dtype)), torch.full((2, 70), 1e-30)
    product = torch.addmm(torch.zeros(5, 70).to(big), big, small.to(big), beta=0, alpha=1e30)  # alpha times the sum
    assert product.isfinite().all()


def test_integers_wrap():
    a = torch.full((2, 300), 100, dtype=torch.int8)
    assert (a @ a.t()).tolist() == [[np.int64(300 * 10000).astype(np.int8)] * 2] * 2
    big = torch.full((1, 1), 2**63 + 5, dtype=torch.uint64)
    assert (big @ big).tolist() == [[(2**63 + 5) ** 2 % 2**64]]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "int16", "uint8"])
@pytest.mark.parametrize("m, k, n", [(1, 40, 1), (3, 5, 4), (30, 40, 1), (70, 65, 33), (19, 600, 50), (130, 64, 9)])
def test_integers_of_all_bits_wrap(dtype, m, k, n):
    bits = np.iinfo(dtype)
    rng = np.random.default_rng(m)
    a, b = (rng.integers(bits.min, bits.max, shape, dtype, endpoint=True) for shape in ((m, k), (k, n)))
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    with np.errstate(over="ignore"):
        want = np.matmul(a, b)
    assert np.array_equal((x @ y).numpy(), want)
    assert np.array_equal(torch.addmm(torch.from_numpy(want), x, y, beta=-1, alpha=3).numpy(), want * 3 - want)


# A row ends anywhere in a vector, and what lies behind it is not read as a part of it.
@pytest.mark.parametrize("dtype", FLOATING + ["int64", "int16"])
@pytest.mark.parametrize(
    "m, k",
    [(1, 1), (2, 3), (3, 5), (4, 7), (5, 8), (6, 9), (7, 15), (8, 16), (9, 17), (13, 31), (32, 32), (33, 33), (64, 100),
     (3, 523), (523, 3), (67, 513)],
)  # fmt: skip
def test_matrices_within_others_times_vectors(dtype, m, k):
    outside = 77 if dtype.startswith("int") else float("nan")
    (a, na), (v, nv), (w, nw) = sample((m, k), dtype, 5), sample((k,), dtype, 6), sample((m,), dtype, 7)
    around = torch.full((m + 2, k + 7), outside, dtype=a.dtype)
    inner = around[1:-1, 3:-4]
    inner.copy_(a)
    for x in (inner, around.t().contiguous().t()[1:-1, 3:-4]):
        check(x @ v, na @ nv, dtype, k)
        check(w @ x, nw @ na, dtype, m)
        check(x @ v[:, None], na @ nv[:, None], dtype, k)
    batch = torch.stack([inner, inner + 1]) @ torch.stack([v, v])[..., None]
    check(batch[0, :, 0], na @ nv, dtype, k)


# B is read where it lies while it is small enough; its rows are whole vectors, or not.
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, k, n", [(100, 130, 208), (180, 180, 180), (97, 300, 144), (300, 150, 256)])
def test_middle_sizes(dtype, m, k, n):
    (a, na), (b, nb) = sample((m, k), dtype, 8), sample((k, n), dtype, 9)
    check(a @ b, na @ nb, dtype, k)
    outside = torch.full((k, n + 24), float("nan"), dtype=a.dtype)
    outside[:, 8 : n + 8] = b
    check(a @ outside[:, 8 : n + 8], na @ nb, dtype, k)


# Blocks of threads end in the middle of panels, whose columns are then written one by one.
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, k, n", [(520, 200, 333), (90, 70, 1000), (64, 300, 41)])
def test_sums_of_products_have_the_same_bits_for_any_number_of_threads(dtype, m, k, n):
    a, b, c = (sample(shape, dtype, i)[0] for i, shape in enumerate([(m, k), (k, n), (m, n)]))
    a = a.t().contiguous().t()
    threads = torch.get_num_threads()
    results = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        results.append(torch.addmm(c, a, b, alpha=0.3, beta=0.7))
    torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
    narrow = torch.addmm(c[:, :1], a, b[:, :1], alpha=0.3, beta=0.7)
    check(narrow, 0.7 * wide(c)[:, :1] + 0.3 * (wide(a) @ wide(b)[:, :1]), dtype, k)


def layouts(x):
    """Views with the values of x, laid out in every way there is."""
    yield "contiguous", x
    if x.ndim >= 2:
        yield "transposed", x.transpose(-1, -2).clone(memory_format=torch.contiguous_format).transpose(-1, -2)
        yield "columns apart", torch.stack([x, x], -1).flatten(-2)[..., ::2]
    yield "reversed", x.flip(-1)[..., ::-1]
    if x.ndim >= 2:
        yield "rows reversed", x.flip(-2)[..., ::-1, :]
    yield "offset", torch.cat([x.new_zeros(3), x.flatten(), x.new_zeros(2)])[3:-2].view(x.shape)
    if x.ndim == 3:
        yield "batch last", x.permute(1, 2, 0).contiguous().permute(2, 0, 1)
        yield "batch middle", x.permute(1, 0, 2).contiguous().permute(1, 0, 2)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int32", "bfloat16", "bool"])
@pytest.mark.parametrize(
    "shapes",
    [
        ((4, 6), (6, 5)),
        ((3, 4, 6), (3, 6, 5)),
        ((4, 6), (6,)),
        ((6,), (6, 5)),
        ((37, 70), (70, 41)),
        ((3, 4, 6), (6, 5)),
        ((3, 4, 6), (6,)),
    ],
    ids=str,
)
def test_layouts(shapes, dtype):
    (a, na), (b, nb) = sample(shapes[0], dtype, 3), sample(shapes[1], dtype, 4)
    want = np.matmul(na, nb)
    for (name_a, va), (name_b, vb) in itertools.product(layouts(a), layouts(b)):
        np.testing.assert_array_equal(wide(va), na, err_msg=name_a)
        np.testing.assert_array_equal(wide(vb), nb, err_msg=name_b)
        check(va @ vb, want, dtype, shapes[0][-1])


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_expanded_operands(dtype):
    (a, na), (b, nb) = sample((4, 6), dtype), sample((6, 5), dtype, 1)
    check(a.expand(7, 4, 6) @ b.expand(7, 6, 5), np.broadcast_to(na @ nb, (7, 4, 5)), dtype, 6)
    check(a[:1].expand(4, 6) @ b, np.broadcast_to(na[:1], (4, 6)) @ nb, dtype, 6)
    check(a @ b[:, :1].expand(6, 5), na @ np.broadcast_to(nb[:, :1], (6, 5)), dtype, 6)
    v = a[0, :1].expand(6)
    check(v @ v, np.full(6, na[0, 0]) @ np.full(6, na[0, 0]), dtype, 6)
    check(v @ b, np.full(6, na[0, 0]) @ nb, dtype, 6)


def test_stepped_and_broadcast_batches():
    x, nx = sample((4, 3, 5, 2, 6), "float64")
    y, ny = sample((5, 6, 3), "float64", 1)
    check(x[::2, ::-1, ::3] @ y[::3], nx[::2, ::-1, ::3] @ ny[::3], "float64", 6)
    check(x.transpose(0, 2) @ y[0], np.swapaxes(nx, 0, 2) @ ny[0], "float64", 6)
    check(x[:, :1] @ y[None, None], nx[:, :1] @ ny, "float64", 6)


def test_operators_and_rmatmul():
    a, na = sample((3, 3), "float32")
    assert (
        torch.equal(a @ a, torch.matmul(a, a))
        and torch.equal(a @ a, a.matmul(a))
        and torch.equal(a @ a, torch.linalg.matmul(a, a))
    )
    b = a.clone()
    b @= a
    check(b, na @ na, "float32", 3)
    for other in (2, 2.0, "x", None, [1, 2, 3]):
        with pytest.raises(TypeError):
            a @ other


# ---------------------------------------------------------------- the named products


def test_mm_bmm_mv_dot():
    (a, na), (b, nb), (v, nv), (w, nw) = (sample(s, "complex64", i) for i, s in enumerate([(3, 4), (4, 5), (4,), (4,)]))
    check(torch.mm(a, b), na @ nb, "complex64", 4)
    check(torch.mv(a, v), na @ nv, "complex64", 4)
    check(torch.dot(v, w), nv @ nw, "complex64", 4)
    check(torch.vdot(v, w), np.vdot(nv, nw), "complex64", 4)
    check(torch.linalg.vecdot(a, a), (na.conj() * na).sum(-1), "complex64", 4)
    check(torch.linalg.vecdot(a, a, dim=0), (na.conj() * na).sum(0), "complex64", 4)
    (x, nx), (y, ny) = sample((2, 3, 4), "float64"), sample((2, 4, 5), "float64", 1)
    check(torch.bmm(x, y), nx @ ny, "float64", 4)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,)),
        ((2, 3), (4, 3)),
        ((2, 3), (3,)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((), ()),
        ((2, 3, 5), (4, 5)),
        ((2, 0), (3, 0)),
    ],
    ids=str,
)
def test_inner(shapes):
    (a, na), (b, nb) = sample(shapes[0], "float64"), sample(shapes[1], "float64", 1)
    check(torch.inner(a, b), np.inner(na, nb), "float64", 5)


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool", "complex64", "float16"])
def test_outer(dtype):
    (a, na), (b, nb) = sample((3,), dtype), sample((4,), dtype, 1)
    for f in (torch.outer, torch.ger, torch.linalg.outer, torch.Tensor.outer):
        check(f(a, b), np.outer(na, nb), dtype)
    assert torch.outer(a, b[:0]).shape == (3, 0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "complex64"])
@pytest.mark.parametrize("beta, alpha", [(1, 1), (0, 1), (2, 3), (1, 0), (0, 0), (3, -1)])
def test_scaled_and_added(dtype, beta, alpha):
    (m, nm), (a, na), (b, nb), (v, nv), (w, nw) = (
        sample(s, dtype, i) for i, s in enumerate([(3, 5), (3, 4), (4, 5), (4,), (5,)])
    )
    scale = dict(beta=beta, alpha=alpha)
    check(torch.addmm(m, a, b, **scale), (beta * nm + alpha * (na @ nb)).astype(nm.dtype), dtype, 40)
    check(torch.addmm(m[0], a, b, **scale), (beta * nm[0] + alpha * (na @ nb)).astype(nm.dtype), dtype, 40)
    check(torch.addmm(m[0, 0], a, b, **scale), (beta * nm[0, 0] + alpha * (na @ nb)).astype(nm.dtype), dtype, 40)
    check(torch.addmv(m[:, 0], a, v, **scale), (beta * nm[:, 0] + alpha * (na @ nv)).astype(nm.dtype), dtype, 40)
    check(torch.addr(m, m[:, 0], w, **scale), (beta * nm + alpha * np.outer(nm[:, 0], nw)).astype(nm.dtype), dtype, 40)
    (c, nc), (x, nx), (y, ny) = (sample(s, dtype, i) for i, s in enumerate([(2, 3, 5), (2, 3, 4), (2, 4, 5)]))
    check(torch.baddbmm(c, x, y, **scale), (beta * nc + alpha * (nx @ ny)).astype(nc.dtype), dtype, 40)
    check(torch.addbmm(m, x, y, **scale), (beta * nm + alpha * (nx @ ny).sum(0)).astype(nc.dtype), dtype, 80)
    into = m.clone()
    assert into.addmm_(a, b, **scale) is into
    check(into, (beta * nm + alpha * (na @ nb)).astype(nm.dtype), dtype, 40)


def test_beta_zero_ignores_the_input():
    nan = torch.full((2, 2), float("nan"))
    one = torch.ones(2, 2)
    for out in (
        torch.addmm(nan, one, one, beta=0),
        torch.addmv(nan[0], one, one[0], beta=0),
        torch.addr(nan, one[0], one[0], beta=0),
    ):
        assert not torch.isnan(out).any()
    batch = one.expand(3, 2, 2)
    assert torch.baddbmm(nan, batch, batch, beta=0).tolist() == [[[2.0, 2.0]] * 2] * 3
    assert torch.addbmm(nan, batch, batch, beta=0).tolist() == [[6.0, 6.0]] * 2
    # but NaN in the product stays, also times zero
    assert torch.isnan(torch.addmm(one, nan, one, alpha=0)).all()
    assert torch.isnan(nan @ torch.zeros(2, 2)).all()


def test_in_place_on_its_own_operand():
    a, na = sample((4, 4), "float64")
    a.addmm_(a, a)
    check(a, na + na @ na, "float64", 8)
    b, nb = sample((4, 4), "float64")
    b.addmm_(b.t(), b, beta=2, alpha=0.5)
    check(b, 2 * nb + 0.5 * nb.T @ nb, "float64", 8)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "complex64", "int64"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (40, 7, 33), (1, 9, 40), (40, 9, 1), (6, 0, 5), (0, 4, 5)])
def test_in_place_into_a_view(dtype, shape):
    m, k, n = shape
    dtype = getattr(torch, dtype)
    a, b = (torch.arange(float(p * q)).view(p, q).remainder(5).sub(2).to(dtype) for p, q in ((m, k), (k, n)))
    for view in (
        lambda t: t[:m, 2 : n + 2],
        lambda t: t[: 2 * m : 2, :n],
        lambda t: t.t()[:m, :n],
        lambda t: t[::-1][:m, 1 : n + 1],
        lambda t: t[:m, : 2 * n : 2],
    ):
        for beta, alpha in ((1, 1), (1, -1), (0, 2), (3, -2)):
            memory = torch.arange(float(90 * 90)).view(90, 90).remainder(7).to(dtype)
            wanted, into = memory.clone(), view(memory)
            view(wanted).copy_(torch.addmm(into.clone(), a, b, beta=beta, alpha=alpha))
            version = memory._version
            assert into.addmm_(a, b, beta=beta, alpha=alpha) is into and memory._version > version
            assert torch.equal(memory, wanted)
    batch = torch.zeros(2, m, n + 3, dtype=dtype)
    batch[..., 1 : n + 1].baddbmm_(a.expand(2, m, k), b.expand(2, k, n), alpha=-1)
    assert torch.equal(batch[1, :, 1 : n + 1], -(a @ b)) and not batch[..., 0].any() and not batch[..., n + 1 :].any()


def test_in_place_on_neighbours_in_one_memory():
    a, na = sample((8, 8), "float64")
    a[4:, 4:].addmm_(a[4:, :4], a[:4, 4:], alpha=-1)
    na[4:, 4:] -= na[4:, :4] @ na[:4, 4:]
    check(a, na, "float64", 8)


@pytest.mark.parametrize(
    "into",
    [
        lambda: torch.ones(1, 5).expand(3, 5),
        lambda: torch.ones(5),
        lambda: torch.ones(3, 4),
        lambda: torch.ones(3, 5).int(),
    ],
    ids=["expanded", "row", "columns", "int"],
)
def test_in_place_refusals(into):
    t = into()
    with pytest.raises(RuntimeError):
        t.addmm_(torch.ones(3, 2), torch.ones(2, 5))
    assert bool((t == 1).all())
    leaf = torch.ones(3, 5, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.addmm_(torch.ones(3, 2), torch.ones(2, 5))


# ---------------------------------------------------------------- out=


def test_out():
    (a, na), (b, nb) = sample((3, 4), "float32"), sample((4, 5), "float32", 1)
    out = torch.empty(3, 5)
    assert torch.matmul(a, b, out=out) is out
    check(out, na @ nb, "float32", 4)
    strided_out = torch.zeros(5, 6)[:, ::2].t()
    torch.mm(a, b, out=strided_out)
    check(strided_out, na @ nb, "float32", 4)
    empty = torch.empty(0)
    torch.mm(a, b, out=empty)
    check(empty, na @ nb, "float32", 4)
    wider = torch.empty(3, 5, dtype=torch.float64)
    torch.matmul(a, b, out=wider)
    np.testing.assert_allclose(wider.numpy(), na @ nb, atol=1e-5)
    square, ns = sample((3, 3), "float32", 2)
    torch.mm(square, square.t(), out=square)
    check(square, ns @ ns.T, "float32", 3)
    with pytest.raises(RuntimeError):
        torch.mm(a, b, out=torch.empty(3, 5, dtype=torch.int64))
    with pytest.raises(RuntimeError):
        torch.mm(a, b, out=torch.zeros(1).expand(3, 5))


# ---------------------------------------------------------------- another dtype of the result


def halves(shape, dtype, seed=0):
    """A tensor of 16-bit floats, and its values in float64."""
    x = torch.tensor(np.random.default_rng(seed).standard_normal(shape)).to(getattr(torch, dtype))
    return x, x.double().numpy()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("m, k, n", [(3, 4, 5), (1, 40, 1), (33, 70, 17), (60, 1100, 50), (4, 0, 3), (1, 300, 90)])
def test_float32_products_of_16_bit_floats_are_not_rounded(dtype, m, k, n):
    (a, na), (b, nb) = halves((m, k), dtype), halves((k, n), dtype, 1)
    (c, nc), (batch, n_batch) = halves((m, n), dtype, 2), halves((3, m, k), dtype, 3)
    near = lambda got, want: np.testing.assert_allclose(got.numpy(), want, rtol=2e-6, atol=1e-5 * max(k, 1) ** 0.5)
    got = torch.mm(a, b, out_dtype=torch.float32)
    assert got.dtype is torch.float32
    near(got, na @ nb)
    near(torch.mm(a, b, torch.float32), na @ nb)
    near(torch.mm(a, b.t().contiguous().t(), out_dtype=torch.float32), na @ nb)
    near(torch.addmm(c, a, b, out_dtype=torch.float32, beta=2, alpha=0.5), 2 * nc + na @ nb / 2)
    near(torch.addmm(c.float() / 3, a, b, torch.float32), nc / 3 + na @ nb)
    many = b.expand(3, k, n)
    near(torch.bmm(batch, many, out_dtype=torch.float32), n_batch @ nb)
    near(torch.baddbmm(c, batch, many, out_dtype=torch.float32, alpha=2), nc + 2 * (n_batch @ nb))
    out = torch.empty(n, m).t()
    assert torch.mm(a, b, torch.float32, out=out) is out
    near(out, na @ nb)
    assert torch.equal(torch.mm(a, b, out_dtype=a.dtype), torch.mm(a, b))
    vmapped = torch.func.vmap(lambda x: torch.mm(x, b, out_dtype=torch.float32))(batch)
    assert vmapped.dtype is torch.float32
    near(vmapped, n_batch @ nb)
    near(torch.func.vmap(lambda x: torch.addmm(c, x, b, out_dtype=torch.float32))(batch), nc + n_batch @ nb)


@pytest.mark.parametrize("function, shapes", [
    (lambda a, b, c: torch.mm(a, b, out_dtype=torch.float32), ((4, 5), (5, 3), (4, 3))),
    (lambda a, b, c: torch.bmm(a, b, out_dtype=torch.float32), ((2, 4, 5), (2, 5, 3), (4, 3))),
    (lambda a, b, c: torch.addmm(c, a, b, out_dtype=torch.float32, beta=3, alpha=2), ((4, 5), (5, 3), (4, 3))),
    (lambda a, b, c: torch.baddbmm(c, a, b, out_dtype=torch.float32), ((2, 4, 5), (2, 5, 3), (4, 3))),
])  # fmt: skip
def test_gradients_of_float32_products_have_the_dtype_of_the_factors(function, shapes):
    narrow = [halves(s, "bfloat16", i)[0].requires_grad_() for i, s in enumerate(shapes)]
    wide = [x.detach().float().requires_grad_() for x in narrow]
    g = torch.tensor(np.random.default_rng(9).standard_normal(function(*narrow).shape), dtype=torch.float32)
    a, b, c = wide
    product = a @ b
    exact = {"mm": product, "bmm": product, "addmm": 3 * c + 2 * product, "baddbmm": c + product}
    name = function.__code__.co_names[1]
    used = 2 if name in ("mm", "bmm") else 3
    got = torch.autograd.grad(function(*narrow), narrow[:used], g)
    want = torch.autograd.grad(exact[name], wide[:used], g)
    for x, y in zip(got, want):
        assert x.dtype is torch.bfloat16 and torch.equal(x, y.bfloat16())


def test_results_of_other_dtypes_are_refused():
    x, wide_x = torch.ones(2, 2).half(), torch.ones(2, 2)
    for code in (
        "torch.mm(x, x, out_dtype=torch.float64)", "torch.mm(w, w, out_dtype=torch.float16)",
        "torch.bmm(x[None], x[None], torch.bfloat16)", "torch.addmm(x, x, x, out_dtype=torch.int32)",
        "torch.baddbmm(x, x[None], x[None], out_dtype=torch.float64)",
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
            eval(code, {"torch": torch, "x": x, "w": wide_x})
    with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype"):
        torch.addmm(x.double(), x, x, out_dtype=torch.float32)
    with pytest.raises(TypeError):
        x.mm(x, torch.float32)  # a function only


def test_modes_are_given_the_operation_with_a_dtype():
    from strided.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    a, seen = torch.ones(1, 2, 2).half(), []
    with Mode():
        made = torch.addmm(a[0], a[0], a[0], out_dtype=torch.float32)
        made = torch.bmm(made[None].half(), a, torch.float32)
        torch.bmm(a, a, torch.float32, out=made)
    assert [name for name in seen if "mm" in name] == ["aten.addmm.dtype", "aten.bmm.dtype", "aten.bmm.dtype_out"]
    assert made.tolist() == [[[2, 2], [2, 2]]] and made.dtype is torch.float32


def test_products_of_int8_in_int32():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (37, 300), dtype="i1"), rng.integers(-128, 128, (300, 21), dtype="i1")
    got = torch._int_mm(torch.tensor(a), torch.tensor(b.T.copy()).t())
    assert got.dtype is torch.int32
    np.testing.assert_array_equal(got.numpy(), a.astype("i4") @ b.astype("i4"))
    low = torch.full((1, 70000), -128, dtype=torch.int8)
    assert torch._int_mm(low, low.t()).item() == 70000 * 128 * 128
    for code, words in [
        ("torch._int_mm(x[0], x)", "Expected self to be of dimension 2 but got 1"),
        ("torch._int_mm(x, x[0])", "Expected mat2 to be of dimension 2 but got 1"),
        ("torch._int_mm(x, x)", r"self.size\(1\) needs to match mat2.size\(0\) but got 3 and 2"),
        ("torch._int_mm(x.long(), x.t())", "Expected self dtype to be of type int8 but got long"),
        ("torch._int_mm(x, x.t().float())", "Expected mat2 dtype to be of type int8 but got float"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            eval(code, {"torch": torch, "x": torch.zeros(2, 3, dtype=torch.int8)})


# ---------------------------------------------------------------- errors

ERRORS = [
    ("torch.tensor(1.) @ x", r"both arguments to matmul need to be at least 1D, but they are 0D and 2D"),
    ("x @ torch.tensor(1.)", r"both arguments to matmul need to be at least 1D, but they are 2D and 0D"),
    ("x @ x", r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
    ("torch.mm(x, x)", r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
    ("x[0] @ x", r"mat1 and mat2 shapes cannot be multiplied \(1x3 and 2x3\)"),
    ("x @ x[:, 0]", r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
    ("x[0] @ x[:, 0]",
     r"inconsistent tensor size, expected tensor \[3\] and src \[2\] to have the same number of elements, but got 3 and 2 elements respectively"),
    ("x.expand(4, 2, 3) @ x", r"mat1 and mat2 shapes cannot be multiplied \(8x3 and 2x3\)"),
    ("x.expand(4, 2, 3) @ x.expand(4, 2, 3)",
        r"Expected size for first two dimensions of batch2 tensor to be: \[4, 3\] but got: \[4, 2\]\."),
    ("x.expand(4, 2, 3) @ x.t().expand(3, 3, 2)",
        r"The size of tensor a \(4\) must match the size of tensor b \(3\) at non-singleton dimension 0"),
    ("x @ x.t().double()", r"expected m1 and m2 to have the same dtype, but got: float != double"),
    ("x[None] @ x.t().double()[None]", r"expected scalar type Float but found Double"),
    ("torch.bmm(x[None], x.t().double()[None])", r"expected scalar type Float but found Double"),
    ("torch.mv(x, x[0].double())", r"addmv input tensors must have the same dtype, but got Double, Float, and Double"),
    ("torch.addmm(x[:, :2], x.double(), x.t())", r"mat1 and mat2 must have the same dtype, but got Double and Float"),
    ("torch.addmm(x[:, :2].double(), x.double(), x.t())",
        r"self and mat2 must have the same dtype, but got Double and Float"),
    ("torch.nn.functional.linear(x.double(), x, x[:, 0])",
        r"mat1 and mat2 must have the same dtype, but got Double and Float"),
    ("torch.baddbmm(x[None, :, :2], x.double()[None], x.t()[None])",
        r"Input dtypes must be the same, got: input float, batch1: double, batch2: float"),
    ("torch.mm(x, x[0])", r"mat2 must be a matrix"),
    ("torch.mm(x[0], x)", r"self must be a matrix"),
    ("torch.bmm(x, x)", r"batch1 must be a 3D tensor"),
    ("torch.bmm(x[None], x)", r"batch2 must be a 3D tensor"),
    ("torch.bmm(x[None], x[None])",
        r"Expected size for first two dimensions of batch2 tensor to be: \[1, 3\] but got: \[1, 2\]\."),
    ("torch.mv(x[0], x)", r"vector \+ matrix @ vector expected, got 1, 1, 2"),
    ("torch.dot(x, x)", r"1D tensors expected, but got 2D and 2D tensors"),
    ("torch.dot(x[0], x[0].double())", r"dot : expected both vectors to have same dtype, but found Float and Double"),
    ("torch.addmm(x, x, x.t())",
        r"The expanded size of the tensor \(2\) must match the existing size \(3\) at non-singleton dimension 1\.  Target sizes: \[2, 2\]\.  Tensor sizes: \[2, 3\]"),
    ("torch.addmm(x.long()[:, :2], x.long(), x.long().t(), beta=0.5)",
        r"For integral input tensors, argument beta must not be a floating point number\."),
    ("torch.outer(x, x)", r"outer: Expected 1-D argument self, but got 2-D"),
    ("torch.inner(x, x.t())",
        r"inner\(\) the last dimension must match on both input tensors but got shapes \[2, 3\] and \[3, 2\]"),
    ("torch.trace(x[0])", r"trace: expected a matrix, but got tensor with dim 1"),
    ("torch.tensordot(x, x, dims=1)",
        r"contracted dimensions need to match, but first has size 3 in dim -1 and second has size 2 in dim 0"),
    ("torch.tensordot(x, x, dims=-1)", r"tensordot expects dims >= 0, but got dims=-1"),
    ("torch.tensordot(x, x, dims=([0], [0, 1]))", r"both dimension lists should have same length"),
    ("torch.linalg.cross(x, x[:, :2])", r"linalg.cross: inputs dimension -1 must have length 3\. Got 3 and 2"),
    ("torch.linalg.cross(x, x, dim=0)", r"linalg.cross: inputs dimension 0 must have length 3\. Got 2 and 2"),
    ("torch.einsum('ij,jk', x)", r"einsum\(\): fewer operands were provided than specified in the equation"),
    ("torch.einsum('ij', x, x)", r"einsum\(\): more operands were provided than specified in the equation"),
    ("torch.einsum('ijk', x)",
        r"einsum\(\): the number of subscripts in the equation \(3\) does not match the number of dimensions \(2\) for operand 0"),
    ("torch.einsum('ij->k', x)",
        r"einsum\(\): output subscript k does not appear in the equation for any input operand"),
    ("torch.einsum('ij->ii', x)", r"einsum\(\): output subscript i appears more than once in the output"),
    ("torch.einsum('ii', x)", r"einsum\(\): subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
    ("torch.einsum('ij,jk', x, x)",
        r"einsum\(\): subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3"),
    ("torch.einsum('i.j', x)", r"einsum\(\): found '\.' for operand 0 that is not part of any ellipsis"),
    ("torch.einsum('ij->i..', x)", r"einsum\(\): found '\.' for output"),
    ("torch.einsum('i1', x)",
        r"einsum\(\): invalid subscript given at index 1 in the equation string, subscripts must be in \[a-zA-Z\]"),
]  # fmt: skip


@pytest.mark.parametrize("code, words", ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(code, words):
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    with pytest.raises((RuntimeError, IndexError), match=words):
        eval(code, {"torch": torch, "x": x})


@pytest.mark.parametrize("code", [
    "torch.einsum('ij->...ij...', x)", "torch.einsum('...i...', x)", "torch.einsum('', x)", "torch.einsum('->', x)",
    "torch.einsum('ij->ij->ij', x)", "torch.einsum('ij-ij', x)",
    "torch.einsum('ij')", "torch.einsum(x)", "torch.einsum(x, [0, 99])", "torch.einsum(x, [0, -1])",
    "torch.einsum('ij', [])", "torch.einsum('ij', None)", "torch.einsum('....', x)",
    "torch.einsum('\\0j', x)", "torch.einsum('ij->\\0', x)", "torch.einsum('é', x)",
    "torch.tensordot(x, x, dims=([0, 0], [0, 0]))", "torch.tensordot(x, x, dims=([5], [0]))",
    "torch.tensordot(x, x, dims=3)", "torch.tensordot(x, x, dims='a')",
    "torch.zeros(2**40, 0) @ torch.zeros(0, 2**40)", "torch.ones(1).expand(2**31).outer(torch.ones(1).expand(2**33))",
    "torch.kron(torch.ones(1).expand(2**40), torch.ones(1).expand(2**40))",
    "torch.cross(torch.tensor(1.), torch.tensor(1.))", "torch.linalg.cross(x[0], x)", "torch.mm(None, x)",
    "torch.matmul(x)", "x.addmm_(x, x.t())",
])  # fmt: skip
def test_hostile_input_raises(code):
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError, MemoryError)):
        eval(code, {"torch": torch, "x": x})


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
def test_many_products_of_numbers(dtype):
    a, b = (torch.arange(1, 101).to(getattr(torch, dtype)).reshape(100, 1, 1) for _ in range(2))
    expected = (a * b).tolist()
    assert torch.bmm(a, b).tolist() == expected
    out = torch.empty(100, 1, 1, dtype=a.dtype)
    assert torch.bmm(a, b.flip(0).flip(0), out=out) is out
    assert out.tolist() == expected
    assert torch.matmul(a.reshape(100, 1), b[:1, 0]).flatten().tolist() == a.flatten().tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_sums_of_products_in_place_keep_their_dtype(dtype):
    whole = torch.ones(2, 2, dtype=torch.int64)
    vector, batch = torch.full((2,), 0.5, dtype=dtype), torch.full((1, 2, 2), 0.5, dtype=dtype)
    for call in (lambda: whole.addr_(vector, vector), lambda: whole.addbmm_(batch, batch)):
        with pytest.raises(RuntimeError, match="result type .* can't be cast to the desired output type Long"):
            call()
    assert whole.tolist() == [[1, 1], [1, 1]]
    assert torch.ones(2, 2).addr_(torch.ones(2), torch.ones(2)).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_addr_of_a_complex_input_takes_complex_factors():
    c, a, b = torch.ones(2, 3, dtype=torch.complex64), torch.arange(2.0, requires_grad=True), torch.arange(3.0)
    made = torch.addr(c, a, b, beta=2, alpha=1j)
    assert made.dtype == torch.complex64 and made.tolist() == [[2, 2, 2], [2, 2 + 1j, 2 + 2j]]
    made.imag.sum().backward()
    assert a.grad.tolist() == [3, 3]
    half = torch.ones(2, 3, dtype=torch.float64)
    assert torch.addr(half, a.detach(), b, alpha=0.1).tolist()[1][2] == 1 + 0.1 * 2


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
@pytest.mark.parametrize("m, n, k", [(17, 300, 64), (33, 130, 96), (100, 257, 128), (128, 129, 32), (96, 200, 2112)])
def test_few_rows_times_a_transposed_matrix(m, n, k, dtype):
    """A processor with tiles reads the matrix where it lies, and finds the result by columns."""
    rng = np.random.default_rng(0)
    a, w, c = (rng.integers(-3, 4, shape) for shape in ((m, k), (n, k), (m, n)))
    exact = a @ w.T
    ours, weights, added = (torch.tensor(x).to(getattr(torch, dtype)) for x in (a, w, c))
    rounded = lambda x: torch.tensor(x).to(getattr(torch, dtype))
    assert torch.equal(ours @ weights.T, rounded(exact))
    assert torch.equal((weights @ ours.T).T, rounded(exact))
    assert torch.equal(ours.repeat(1, 2)[:, :k] @ weights.T, rounded(exact))
    out = torch.empty(n, m, dtype=ours.dtype).T
    torch.mm(ours, weights.T, out=out)
    assert torch.equal(out, rounded(exact))
    assert torch.equal(torch.addmm(added, ours, weights.T, beta=2, alpha=-1), rounded(2 * c - exact))
    if dtype == "bfloat16":
        assert torch.equal(torch.mm(ours, weights.T, out_dtype=torch.float32), torch.tensor(exact).float())


# Products of bfloat16 and bytes have loops for what the processor has beside x86-64-v4. The state that tiles need
# belongs to a thread, and the permission to use it to the process.
@pytest.mark.parametrize("products", ["plain", "dots", "tiles"])
def test_products_of_narrow_dtypes_by_each_kind_of_loop_in_threads_and_forked_children(products):
    code = """
        import os, threading
        import numpy as np
        import strided as torch

        assert torch._C.build_info()["products of bfloat16 and bytes"] == os.environ["STRIDED_PRODUCTS"]
        rng = np.random.default_rng(0)
        values = rng.integers(-9, 9, (2, 150, 150))
        exact = values[0] @ values[1]
        rounded = torch.tensor(exact).bfloat16()

        def right():
            a, b = torch.tensor(values).bfloat16()
            assert torch.equal(a @ b, rounded) and torch.equal(torch.nn.functional.linear(a, b.T.contiguous()), rounded)
            assert torch.equal(torch.mm(a, b, out_dtype=torch.float32), torch.tensor(exact).float())
            a, b = torch.tensor(values).to(torch.int8)
            assert torch.equal(a @ b, torch.tensor(exact.astype(np.int8)))
            return True

        assert right()
        results = []
        threads = [threading.Thread(target=lambda: results.append(right())) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert results == [True] * 4
        child = os.fork()
        if child == 0:
            os._exit(0 if right() else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    environment = os.environ | {"STRIDED_PRODUCTS": products}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
    )
    if "this processor lacks them" in done.stderr:
        pytest.skip(f"no {products} here")
    assert done.returncode == 0, done.stderr
