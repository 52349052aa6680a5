"""Functions that move elements by index or by mask: gather, scatter, take, put, where, nonzero, and their kin."""

import itertools

import numpy as np
import pytest
import strided as torch
from indexing_cases import grid, layouts, same

T = torch.tensor

# ---------------------------------------------------------------- functions


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_gather_and_scatter(dim):
    rng = np.random.default_rng(3)
    a = rng.random((4, 5, 6))
    index_shape = [3, 4, 5]
    index_shape[dim] = 7
    i = rng.integers(0, a.shape[dim], index_shape)
    cut = tuple(slice(None) if k == dim % 3 else slice(0, s) for k, s in enumerate(index_shape))
    src = rng.random([8, 8, 8])
    for x in layouts(a):
        same(torch.gather(x, dim, T(i)), np.take_along_axis(a[cut], i, dim))
        same(x.gather(dim, T(np.ascontiguousarray(i.T)).permute(2, 1, 0)), np.take_along_axis(a[cut], i, dim))
        for name in ("assign", "sum", "prod", "amax", "amin", "mean"):
            for include in (True, False):
                expected = a.copy()
                groups = {}
                for at in np.ndindex(*index_shape):
                    to = list(at)
                    to[dim] = i[at]
                    groups.setdefault(tuple(to), []).append(src[at])
                for to, values in groups.items():
                    values = ([a[to]] if include else []) + values
                    expected[to] = {
                        "assign": values[-1],
                        "sum": sum(values),
                        "prod": np.prod(values),
                        "amax": max(values),
                        "amin": min(values),
                        "mean": sum(values) / len(values),
                    }[name]
                got = (
                    x.scatter(dim, T(i), T(src))
                    if name == "assign"
                    else x.scatter_reduce(dim, T(i), T(src), name, include_self=include)
                )
                np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
        added = x.scatter_add(dim, T(i), T(src))
        np.testing.assert_allclose(added.numpy(), x.scatter_reduce(dim, T(i), T(src), "sum").numpy(), rtol=1e-12)
        np.testing.assert_allclose(x.scatter(dim, T(i), T(src), reduce="add").numpy(), added.numpy(), rtol=1e-12)
        same(x.scatter(dim, T(i), 0.5), x.scatter(dim, T(i), torch.full((8, 8, 8), 0.5, dtype=torch.float64)).numpy())
        same(x, a)


def test_scatter_literals():
    x = grid(2, 3, dtype=torch.float32)
    i = T([[0, 1, 1], [1, 0, 1]])
    same(x.scatter(0, i, x, reduce="add"), [[0, 5, 2], [6, 5, 12]])
    same(x.scatter(0, i, 2.0, reduce="multiply"), [[0, 2, 2], [6, 8, 20]])
    same(x.scatter(0, T([[0]]), value=4), [[4, 1, 2], [3, 4, 5]])
    assert x.long().scatter_reduce(0, i, -x.long(), "mean").tolist() == [[0, -2, 2], [0, 1, -1]]
    same(x.scatter(0, torch.empty(0, dtype=torch.long), x), x.numpy())
    same(T(1.0).scatter(0, T(0), 3.0), 3.0)
    same(T(1.0).gather(0, T([0, 0])), [1, 1])
    same(x.gather(0, T([[0]], dtype=torch.int32)), [[0]])
    nan = float("nan")
    y = T([1.0, nan, 3.0]).scatter_reduce(0, T([0, 1, 2]), T([nan, 0.0, 5.0]), "amax")
    assert np.isnan(y.numpy()).tolist() == [True, True, False] and y[2].item() == 5
    out = torch.empty(0)
    assert torch.gather(x, 1, T([[2], [0]]), out=out) is out
    same(out, [[2], [3]])


def test_axis_functions():
    rng = np.random.default_rng(4)
    a = rng.random((4, 5, 6))
    for dim in range(3):
        n = a.shape[dim]
        i = rng.integers(0, n, 7)
        unique = rng.permutation(n)[:3]
        shape = list(a.shape)
        shape[dim] = 7
        src = rng.random(shape)
        few = np.take(src, range(3), dim)
        for x in layouts(a):
            same(x.index_select(dim, T(i)), np.take(a, i, dim))
            same(x.index_select(dim, T(i.astype(np.int32))), np.take(a, i, dim))
            at = (slice(None),) * dim
            b = a.copy()
            np.add.at(b, at + (i,), 2 * src)
            np.testing.assert_allclose(x.index_add(dim, T(i), T(src), alpha=2).numpy(), b, rtol=1e-13)
            b = a.copy()
            b[at + (unique,)] = few
            same(x.index_copy(dim, T(unique), T(few)), b)
            b[at + (unique,)] = 3
            y = x.clone()
            assert y.index_copy_(dim, T(unique), T(few)) is y
            same(y.index_fill_(dim, T(unique - n), 3), b)
            for name, f in [("prod", np.multiply), ("amax", np.maximum), ("amin", np.minimum)]:
                b = a.copy()
                f.at(b, at + (i,), src)
                np.testing.assert_allclose(x.index_reduce(dim, T(i), T(src), name).numpy(), b, rtol=1e-13)
            b = a.copy()
            for k in set(i.tolist()):
                b[at + (k,)] = np.take(src, np.flatnonzero(i == k), dim).mean(dim)
            np.testing.assert_allclose(
                x.index_reduce(dim, T(i), T(src), "mean", include_self=False).numpy(), b, rtol=1e-13
            )
    s = T(1.0)
    same(s.index_select(0, T([0])), 1.0)
    same(s.index_add(0, T(0), T(2.0)), 3.0)
    same(s.index_copy(0, T([0]), T([3.0])), 3.0)
    same(s.index_fill(0, T([0]), 4.0), 4.0)
    x = grid(2, 3)
    same(x.index_select(0, T(1)), [[3, 4, 5]])
    same(x.index_fill(0, T([0]), T(5.0)), [[5, 5, 5], [3, 4, 5]])
    assert x.long().index_add(0, T([0, 1]), x.long(), alpha=3).tolist() == [[0, 4, 8], [12, 16, 20]]


def test_flat_functions():
    a = np.arange(12.0).reshape(3, 4)
    i = np.array([[0, -1], [5, 5]])
    for x in layouts(a):
        same(x.take(T(i)), a.take(i))
        y = x.clone() if x.is_contiguous() else x
        expected = a.copy()
        np.put(expected, [0, -1, 5], [10, 20, 30])
        assert y.put_(T([0, -1, 5]), T([10.0, 20.0, 30.0], dtype=torch.float64)) is y
        same(y, expected)
    x = grid(6)
    same(x.put(T([0, 0]), T([1.0, 2.0], dtype=torch.float64), accumulate=True), [3, 1, 2, 3, 4, 5])
    same(torch.take_along_dim(x.reshape(2, 3), T([[0]]), 1), [[0], [3]])
    same(torch.take_along_dim(x.reshape(2, 3), T([[0]]), 0), [[0, 1, 2]])
    same(torch.take_along_dim(x.reshape(2, 3), T([5])), [5])


@pytest.mark.parametrize("dtype", ["int64", "float64", "float32", "complex64"])
def test_where_of_rows(dtype):
    """Rows of every length up to a few vectors, apart; single elements; conditions of bytes that are not 0 and 1."""
    rng = np.random.default_rng(1)
    for n in range(20):
        a, b = (rng.standard_normal((2, 3, n)) * 100).astype(dtype)
        flags = rng.choice(np.array([0, 0, 0, 1, 2, 128, 255], "uint8"), (3, n + 2))[:, 1 : n + 1]
        x, y, c = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(flags).view(torch.bool)
        for p, q in ((x, y), (x, y[:1, :1]), (x[1:2, :1], y), (x[:1, :1], y[1:2, :1]), (x, y[1])):
            same(torch.where(c, p, q), np.where(flags != 0, p.numpy(), q.numpy()))


def test_where():
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 7)), rng.random((5, 7))
    for x, y in zip(layouts(a), layouts(b)):
        same(torch.where(x > y, x, y), np.where(a > b, a, b))
        same(torch.where(x > 0.5, x, 0), np.where(a > 0.5, a, 0))
        same(torch.where(x > 0.5, 1.0, y), np.where(a > 0.5, 1, b))
        same(x.where(x > 0.5, 0), np.where(a > 0.5, a, 0))
    same(torch.where(T([[True], [False]]), T([1.0, 2.0]), T([[3.0], [4.0]])), [[1, 2], [4, 4]])
    x = grid(2, 3, dtype=torch.float32)
    types = [
        ((x.long(), 0.5), torch.float32),
        ((1, 0), torch.int64),
        ((1.0, 0), torch.float32),
        ((x, T(1j)), torch.complex64),
        ((x.double(), T(1.0)), torch.float64),
        ((x.to(torch.int8), T(1)), torch.int8),
        ((T(1.0, dtype=torch.float64), x), torch.float32),
        ((x.to(torch.int8), x), torch.float32),
        ((True, False), torch.bool),
        ((x.half(), x), torch.float32),
        ((x.to(torch.uint8), x.to(torch.int8)), torch.int16),
    ]
    for (p, q), dtype in types:
        r = torch.where(x > 2, p, q)
        assert r.dtype == dtype and r.shape == (2, 3), (p, q)
    assert torch.where(x > 2, x.long(), 0.5).tolist() == [[0.5, 0.5, 0.5], [3, 4, 5]]
    same(torch.where(x.to(torch.uint8), x, -1), [[-1, 1, 2], [3, 4, 5]])
    rows, columns = torch.where(x > 2)
    assert rows.tolist() == [1, 1, 1] and columns.tolist() == [0, 1, 2]
    assert torch.where(x.t() > 2, x.t(), 0).stride() == (1, 3)
    big = T(rng.random(100_003).astype(np.float32))
    same(torch.where(big > 0.5, big, 0), np.where(big.numpy() > 0.5, big.numpy(), np.float32(0)))
    half = torch.arange(100_003, dtype=torch.int16)
    same(torch.where(half > 9, half, -half)[5000:], np.where(half.numpy() > 9, half.numpy(), -half.numpy())[5000:])


def test_masked_functions():
    a = np.arange(6.0).reshape(2, 3)
    m = np.array([True, False, True])
    for x in layouts(a):
        same(x.masked_select(T(m)), a[:, m].reshape(-1))
        same(x.masked_fill(T(m), 9), np.where(m, 9, a))
        same(x.masked_scatter(T(m), T([10.0, 20.0, 30.0, 40.0, 50.0], dtype=torch.float64)), [[10, 1, 20], [30, 4, 40]])
        assert x.masked_fill_(T([[True], [False]]), T(7.0)) is x
        same(x, [[7, 7, 7], [3, 4, 5]])
        x.masked_scatter_(x > 6, T([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64))
        same(x, [[1, 2, 3], [3, 4, 5]])
    x = T(a)
    assert x.masked_fill(torch.ones(4, 2, 3, dtype=torch.bool), 5).shape == (4, 2, 3)
    assert x.long().masked_fill(T(m), 1.5).tolist() == [[1, 1, 1], [1, 4, 1]]
    same(T(5.0).masked_select(T(True)), [5.0])
    same(T(5.0).masked_select(T([True, True])), [5.0, 5.0])
    b = T([True, False])
    b.masked_fill_(b, False)
    assert b.tolist() == [False, False]


def test_nonzero():
    rng = np.random.default_rng(0)
    for shape in [(), (7,), (3, 4), (2, 3, 4), (0, 3), (200, 500)]:
        a = (rng.random(shape) < 0.4) * rng.random(shape)
        x = T(np.asarray(a))
        same(torch.nonzero(x), np.argwhere(a))
        same(torch.argwhere(x), np.argwhere(a))
        same(
            x.nonzero() if len(shape) < 2 else x.transpose(0, 1).nonzero(),
            np.argwhere(a if len(shape) < 2 else a.swapaxes(0, 1)),
        )
        if shape:
            for t, c in zip(torch.nonzero(x, as_tuple=True), np.nonzero(a)):
                same(t, c)
    assert torch.nonzero(T(1.0)).shape == (1, 0) and torch.nonzero(T(0.0)).shape == (0, 0)
    assert [t.tolist() for t in torch.nonzero(T(1.0), as_tuple=True)] == [[0]]
    same(torch.nonzero(T([float("nan"), 0.0, -0.0, 1.0])), [[0], [3]])
    same(torch.nonzero(T([0j, 1j])), [[1]])


def test_unravel_index():
    for shape in [(7,), (2, 3), (4, 1, 5)]:
        i = np.arange(int(np.prod(shape)))
        for t, c in zip(torch.unravel_index(T(i), shape), np.unravel_index(i, shape)):
            same(t, c)
    assert [t.item() for t in torch.unravel_index(T(3), (2, 3))] == [1, 0]
    assert [t.tolist() for t in torch.unravel_index(T([-1, 7]), (2, 3))] == [[1, 0], [2, 1]]
    assert torch.unravel_index(T([5]), 10)[0].tolist() == [5]
    assert torch.unravel_index(T([5]), ()) == ()


@pytest.mark.parametrize(
    "shape", [(2**31, 2**31), (2**62, 2), (2**63 - 1,), (3, 2**62, 4), (2**61, 2**61, 7), (2, 2**63 - 1)]
)
def test_unravel_index_where_the_product_of_the_sizes_does_not_fit(shape):
    positions = [0, 5, 2**31 + 3, 2**62, 2**62 + 3, 2**63 - 1, -1]
    expected = []
    for position in positions:
        rest, coordinates = position, []
        for size in reversed(shape):
            rest, coordinate = divmod(rest, size)
            coordinates.append(coordinate)
        expected.append(coordinates[::-1])
    same(torch.stack(torch.unravel_index(T(positions), shape), 1), expected)


def test_unravel_index_of_no_index_takes_any_shape():
    for shape in [(2**62, 0), (0, 3)]:
        assert [t.shape for t in torch.unravel_index(torch.empty(0, dtype=torch.int64), shape)] == [(0,), (0,)]
        with pytest.raises(ValueError, match="has no elements, got 1 indices"):
            torch.unravel_index(T([5]), shape)


def test_fill_diagonal():
    for shape, wrap in itertools.product([(3, 3), (2, 5), (7, 3), (9, 2), (4, 4, 4)], (False, True)):
        a = np.zeros(shape)
        np.fill_diagonal(a, 9, wrap=wrap)
        x = torch.zeros(*shape, dtype=torch.float64)
        assert x.fill_diagonal_(9, wrap) is x
        same(x, a)
    x = torch.zeros(3, 4)
    x.t().fill_diagonal_(2)
    same(x, np.eye(3, 4) * 2)


def test_index_put():
    x = torch.zeros(2, 3)
    i = T([0, 0])
    same(x.index_put((i,), T([1.0, 2.0, 3.0]), accumulate=True), [[2, 4, 6], [0, 0, 0]])
    same(x.index_put([i, T([2])], T(1.0)), [[0, 0, 1], [0, 0, 0]])
    same(x.index_put((x == 0,), T(1.0)), np.ones((2, 3)))
    same(x.index_put((T([[0, 1], [1, 0]]), T([0, 1])), T([1.0, 2.0])), [[1, 2, 0], [1, 2, 0]])
    assert x.index_put_((T([1]), T([1])), T([4.0])) is x
    same(x, [[0, 0, 0], [0, 4, 0]])


@pytest.mark.parametrize("dim", [0, 1, None])
def test_take_along_dim_counts_negative_indices_from_the_end(dim):
    a = np.arange(12.0).reshape(3, 4)
    size = a.size if dim is None else a.shape[dim]
    i = np.arange(-size, size)
    i = i if dim is None else i.reshape([-1, 1] if dim == 0 else [1, -1])
    for x in layouts(a):
        same(torch.take_along_dim(x, T(i), dim), np.take_along_axis(a, np.broadcast_to(i, i.shape), dim))
    for bad in (size, -size - 1):
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
            torch.take_along_dim(T(a), torch.full_like(T(i), bad), dim)
    x = T(a).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: torch.take_along_dim(x, T(i), dim), x)
    assert torch.autograd.gradgradcheck(lambda x: torch.take_along_dim(x, T(i), dim), x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.int16, torch.float32, torch.int64])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_an_empty_index_may_have_any_dtype(dtype, shape):
    x, i = torch.arange(6.0).reshape(2, 3).requires_grad_(), torch.empty(shape, dtype=dtype)
    out = torch.gather(x, 1, i)
    assert out.shape == shape and out.dtype == x.dtype
    assert torch.autograd.grad(out.sum(), x)[0].tolist() == torch.zeros(2, 3).tolist()
    same(torch.scatter(x, 1, i, 5).detach(), x.detach())
    same(torch.scatter(x, 1, i, x).detach(), x.detach())
    same(torch.scatter_add(x, 1, i, x).detach(), x.detach())
    same(torch.scatter_reduce(x, 1, i, x, "sum").detach(), x.detach())
    if dtype != torch.int64:
        with pytest.raises(RuntimeError, match="Expected dtype int32/int64 for index"):
            torch.gather(x, 1, torch.zeros(1, 1, dtype=dtype))


@pytest.mark.parametrize("n", [7, 8, 9, 12, 20])
def test_any_number_of_index_tensors(n):
    shape = (2,) * (n - 2) + (1, 3)
    a = np.arange(float(np.prod(shape))).reshape(shape)
    rng = np.random.default_rng(n)
    indices = [rng.integers(-s, s, (2, 3)[k % 2 :]) for k, s in enumerate(shape)]
    for x in [T(a), T(np.ascontiguousarray(a.T)).permute([*range(n - 1, -1, -1)]), T(a)[::-1]]:
        b = x.numpy()
        same(x[tuple(T(i) for i in indices)], b[tuple(indices)])
        same(x[(slice(None), *(T(i) for i in indices[1:]))], b[(slice(None), *indices[1:])])
        put = x.clone()
        values = rng.random((2, 3))
        put[tuple(T(i) for i in indices)] = T(values)
        expected = b.copy()
        for at in np.ndindex(2, 3):
            expected[tuple(np.broadcast_to(i, (2, 3))[at] for i in indices)] = values[at]
        same(put, expected)
        added = x.index_put(tuple(T(i) for i in indices), T(values), accumulate=True)
        expected = b.copy()
        np.add.at(expected, tuple(indices), values)
        same(added, expected)
    for k in (0, n - 1):
        bad = [T(i) for i in indices]
        bad[k] = torch.full_like(bad[k], 5)
        with pytest.raises(IndexError, match=f"index 5 is out of bounds for dimension {k} with size {shape[k]}"):
            T(a)[tuple(bad)]


def test_an_index_out_of_range_is_an_error_where_nothing_is_read():
    empty = torch.zeros(3, 0)
    for call in (
        lambda i: empty[i],
        lambda i: torch.index_select(empty, 0, i),
        lambda i: torch.zeros(3, 0).index_fill_(0, i, 1.0),
        lambda i: torch.zeros(3, 0).index_add_(0, i, torch.zeros(1, 0)),
    ):
        call(T([2]))
        with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
            call(T([3]))
    assert torch.zeros(3, 4)[T([], dtype=torch.int64), T([9])].shape == (0,)  # the indices together name no place


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (3, 0), (70, 1), (1, 70), (64, 8), (7, 5, 3), (2, 1, 3, 9)])
def test_places_along_each_axis(shape):
    mask = (torch.arange(int(np.prod(shape))) * 7 % 5 > 1).reshape(shape)
    if shape:
        want = np.argwhere(mask.numpy())
        assert np.array_equal(torch.nonzero(mask).numpy(), want) and np.array_equal(mask.int().nonzero().numpy(), want)
        assert [t.tolist() for t in torch.nonzero(mask, as_tuple=True)] == [list(column) for column in want.T]
        places = torch.arange(mask.numel())
        for found, exact in zip(torch.unravel_index(places, shape), np.unravel_index(np.arange(mask.numel()), shape)):
            assert np.array_equal(found.numpy(), exact)
    far = torch.tensor([0, 2**31 + 5, 2**32 - 1, 2**32, 2**40 + 3])
    for inner in (1, 2, 3, 4095, 2**31 - 1, 2**31 + 11):
        first, second = torch.unravel_index(far, (2**62 // inner, inner))
        assert first.tolist() == [p // inner for p in far.tolist()]
        assert second.tolist() == [p % inner for p in far.tolist()]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128", "int8", "int64", "bool"])
@pytest.mark.parametrize("n", [0, 1, 7, 33, 100])
def test_where_of_elements_and_single_values(dtype, n):
    many = (torch.arange(2 * n) % 7).to(getattr(torch, dtype))[::2]
    other, one, two = many.flip(0), torch.tensor(1).to(many.dtype), torch.tensor(0).to(many.dtype)
    mask = torch.arange(n) * 5 % 3 > 0
    for a in (many, many.clone(), one, one.expand(n)):
        for b in (other, other.clone(), two, two.expand(n)):
            want = np.where(mask.numpy(), a.numpy(), b.numpy())
            for condition in (mask, torch.stack([mask, mask], -1)[:, 1], mask.flip(0).flip(0)):
                made = torch.where(condition, a, b)
                assert made.dtype == many.dtype and np.array_equal(made.numpy(), want)


@pytest.mark.parametrize("accumulate", [True, False])
def test_nothing_that_is_put_has_a_gradient(accumulate):
    x, source = torch.ones(3, requires_grad=True), torch.ones(0, requires_grad=True)
    made = x.put(torch.zeros(0, dtype=torch.int64), source, accumulate)
    grads = torch.autograd.grad(made.sum(), (x, source))
    assert [g.tolist() for g in grads] == [[1, 1, 1], []]
