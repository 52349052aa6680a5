"""Writing by index and by mask, and gradients of reading and writing, against NumPy and literal values."""

import numpy as np
import pytest
import strided as torch
from indexing_cases import T, grid, same

# ---------------------------------------------------------------- assignment


def test_assignment_broadcasts_and_casts():
    x = torch.zeros(2, 3)
    x[0] = T([1, 2, 3])
    x[1] = T([[[4.5]]], dtype=torch.float64)
    same(x, [[1, 2, 3], [4.5, 4.5, 4.5]])
    x[T([0, 1])] = T([7.0, 8, 9])
    same(x, [[7, 8, 9]] * 2)
    x[:, 1] = np.array([1, 2], dtype=np.int8)
    x[T([1])] = np.array([[0.5, 1.5, 2.5]])
    same(x, [[7, 1, 9], [0.5, 1.5, 2.5]])
    x[x > 5] = -1
    same(x, [[-1, 1, -1], [0.5, 1.5, 2.5]])
    x[x < 0] = T([10.0, 20.0])
    same(x, [[10, 1, 20], [0.5, 1.5, 2.5]])
    x[x > 5] = T(0)
    same(x, [[0, 1, 0], [0.5, 1.5, 2.5]])
    x[T([True, False])] = [3, 2, 1]
    same(x, [[3, 2, 1], [0.5, 1.5, 2.5]])
    i = T([0, 5], dtype=torch.int64)
    i[1] = 3.7
    assert i.tolist() == [0, 3]
    x[..., None][0, 0] = 6
    assert x[0, 0].item() == 6
    x[1] += 1
    same(x[1], [1.5, 2.5, 3.5])
    x[T([0, 0])] += 1  # once, as in NumPy
    same(x[0], [7, 3, 2])


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 33])
def test_rows_of_16_bits_are_added_one_by_one(dtype, n):
    """Each sum is rounded, in the order of the index."""
    values, index = torch.randn(20, n).to(dtype), torch.randint(0, 3, (20,))
    for source in (values, values.mT.contiguous().mT, torch.cat([values, values], 1)[:, n:]):
        want = [torch.zeros(n, dtype=dtype) for _ in range(3)]
        for row, i in zip(source, index.tolist()):
            want[i] = want[i] + row
        assert torch.equal(torch.zeros(3, n, dtype=dtype).index_add(0, index, source), torch.stack(want))
        product = torch.ones(3, n, dtype=dtype).index_reduce(0, index, source, "prod")
        want = [torch.ones(n, dtype=dtype) for _ in range(3)]
        for row, i in zip(source, index.tolist()):
            want[i] = want[i] * row
        assert torch.equal(product, torch.stack(want))


SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 6e-8, -3e-6, 65504.0, 1.0]
MERGED = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "amax": lambda a, b: a if a != a or a >= b else b,
    "amin": lambda a, b: a if a != a or a <= b else b,
}


@pytest.mark.parametrize("reduce", MERGED)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_places_of_16_bits_are_merged_in_order(dtype, reduce):
    """Numbers that are not finite, zeros and subnormal ones too, over each layout that has a loop of its own."""
    torch.manual_seed(0)
    special = torch.tensor(SPECIAL, dtype=dtype)
    for size, n in ((1, 5), (6, 40), (50, 1100)):
        values = torch.randn(3, n).to(dtype)
        values[:, : len(SPECIAL)] = special[: min(n, len(SPECIAL))]
        index, start = torch.randint(0, size, (3, n)), torch.randn(3, size).to(dtype)
        for dim in (0, 1):
            sources = [values, values.mT.contiguous().mT, values[:, :1].expand(3, n), values.flip(1)]
            for source in sources if dim else [x.mT for x in sources]:
                at, to = (index, start) if dim else (index.mT, start.mT)
                want = to.float()
                for i in range(3):
                    for j in range(n):
                        place = (i, int(index[i, j])) if dim else (int(index[i, j]), i)
                        merged = MERGED[reduce](float(want[place]), float(source[(i, j) if dim else (j, i)]))
                        want[place] = torch.tensor(merged, dtype=torch.float32).to(dtype).float()
                got = to.scatter_reduce(dim, at, source, reduce)
                assert got.dtype == dtype and torch.equal(got.isnan(), want.isnan())
                numbers = ~want.isnan()
                assert torch.equal(got.float()[numbers], want[numbers])
                assert torch.equal(got.signbit()[numbers], want.signbit()[numbers])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float64])
def test_masks_of_views(dtype):
    x, mask = torch.randint(0, 100, (4, 5, 6)).to(dtype), torch.rand(4, 5, 6) > 0.5
    nx, nm = x.numpy(), mask.numpy()
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        for m, n in ((mask, nm), (mask.permute(order).contiguous(), None)):
            view = x.permute(order)
            if n is not None:
                m, n = m.permute(order), n.transpose(order)
            n = m.numpy() if n is None else n
            same(view[m], nx.transpose(order)[n])
    for small in (x[:1], x[:, :1], x[..., :1], x[0, 0], x[::-1]):
        wide = np.broadcast_to(small.numpy(), nm.shape)
        same(torch.masked_select(small, mask), wide[nm])


def test_assignment_from_itself():
    a = np.arange(10.0)
    for to, frm in [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        (slice(None, None, 2), slice(0, 5)),
    ]:
        x, b = T(a), a.copy()
        x[to] = x[frm]
        b[to] = a[frm]
        same(x, b)
    x = T(a)
    x[T([0, 1, 2, 3])] = x[3:7]
    same(x[:4], [3, 4, 5, 6])
    x = T(a)
    x[T([3, 2, 1, 0])] = x[:4]
    same(x[:4], [3, 2, 1, 0])
    i = T([1, 0, 3, 2])
    i[i] = i  # index and value are the tensor itself
    assert i.tolist() == [0, 1, 2, 3]
    m = T([True, False, True])
    m[m] = False
    assert m.tolist() == [False] * 3
    x = grid(3, 3)
    x[:] = x.t()
    same(x, np.arange(9.0).reshape(3, 3).T)


def test_version_counts_writes():
    x = torch.zeros(3)
    v = x._version
    x[0] = 1
    x[T([1])] = 2.0
    x[x > 0] = 3.0
    assert x._version == v + 3


def test_repeated_indices_are_deterministic():
    rng = np.random.default_rng(5)
    i = rng.integers(0, 50, 100_000)
    v = rng.random(100_000)
    x = torch.zeros(50, dtype=torch.float64)
    x[T(i)] = T(v)
    last = np.zeros(50)
    for k, value in zip(i, v):
        last[k] = value
    same(x, last)
    total = np.zeros(50)
    np.add.at(total, i, v)
    same(torch.zeros(50, dtype=torch.float64).index_put_((T(i),), T(v), True), total)
    same(torch.zeros(50, dtype=torch.float64).scatter_add_(0, T(i), T(v)), total)
    same(torch.zeros(50, dtype=torch.float64).index_add_(0, T(i), T(v)), total)
    # A matrix of indices is read row by row, whatever the strides of the values.
    same(torch.zeros(1).index_put_((T([[0, 0], [0, 0]]),), T([[1.0, 2.0], [3.0, 4.0]]).t()), [4.0])
    same(torch.zeros(1).index_put_((T([[0, 0], [0, 0]]).t(),), T([1.0, 2.0])), [2.0])
    same(torch.zeros(1).index_put_((T([[0, 0], [0, 0]]),), T([[1.0], [2.0]])), [2.0])
    same(torch.zeros(1).index_put_((T([[0, 0, 0], [0, 0, 0]]),), T([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).t()), [6.0])
    w = rng.random((100_000 // 100, 300))
    j = rng.integers(0, 7, len(w))
    total = np.zeros((7, 300))
    np.add.at(total, j, w)
    same(torch.zeros(7, 300, dtype=torch.float64).index_add_(0, T(j), T(w)), total)


# ---------------------------------------------------------------- gradients


def leaf(*shape):
    return torch.rand(*shape, dtype=torch.float64).requires_grad_()


def check_gradient(f, *inputs):
    """The gradient of sum(f * weights) against central differences."""
    out = f(*inputs)
    weights = torch.rand(*out.shape, dtype=torch.float64)
    (out * weights).sum().backward()
    for x in inputs:
        flat = x.detach().clone().reshape(-1)
        expected = []
        for k in range(flat.numel()):
            ends = []
            for step in (1e-6, -1e-6):
                moved = flat.clone()
                moved[k] += step
                args = [moved.reshape(x.shape) if y is x else y.detach() for y in inputs]
                ends.append((f(*args) * weights).sum().item())
            expected.append((ends[0] - ends[1]) / 2e-6)
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.reshape(-1).numpy(), expected, rtol=1e-6, atol=1e-8)


def written(x, key, v):
    y = x * 1
    y[key] = v
    return y


I, M = T([2, 0, 2]), T([[True, False, True, False]] * 3)


READS = {
    "int": lambda x: x[1],
    "slice": lambda x: x[1:, ::-2],
    "new axis": lambda x: x[None, :, 2, None],
    "ellipsis": lambda x: x[..., 0],
    "index": lambda x: x[I],
    "columns": lambda x: x[:, I],
    "pairs": lambda x: x[I, I],
    "mask": lambda x: x[M],
    "rows by mask": lambda x: x[M[:, 0]],
    "mixed": lambda x: x[1:, I],
    "index_select": lambda x: x.index_select(1, I),
    "gather": lambda x: x.gather(0, T([[2, 2, 0], [1, 1, 1]])),
    "take": lambda x: x.take(T([[0, -1], [3, 3]])),
    "masked_select": lambda x: x.masked_select(M[0]),
    "masked_fill": lambda x: x.masked_fill(M, 3.0),
    "index_fill": lambda x: x.index_fill(0, I, 2.0),
    "take_along_dim": lambda x: torch.take_along_dim(x, T([[1]]), 0),
    "scatter number": lambda x: x.scatter(1, T([[0], [3]]), 2.0),
    "where": lambda x: torch.where(M, x, 0),
    "where broadcast": lambda x: torch.where(T(True), 1.0, x) + x.where(M, -x),
}


@pytest.mark.parametrize("name", READS)
def test_gradient_of_reading(name):
    check_gradient(READS[name], leaf(3, 4))


WRITES = {
    "index_add": (lambda x, v: x.index_add(0, I, v, alpha=-2), (3, 4)),
    "index_copy": (lambda x, v: x.index_copy(0, T([2, 0]), v), (2, 4)),
    "scatter": (lambda x, v: x.scatter(1, T([[3, 1], [0, 2]]), v), (3, 3)),
    "scatter_add": (lambda x, v: x.scatter_add(0, T([[2, 2], [2, 0]]), v), (3, 3)),
    "index_put": (lambda x, v: x.index_put((T([0, 1]), T([1, 1])), v), (2,)),
    "index_put accumulate": (lambda x, v: x.index_put((I,), v, True), (1, 4)),
    "where": (lambda x, v: torch.where(M, x, v), (3, 1)),
    "masked_fill": (lambda x, v: x.masked_fill(M, v), ()),
    "index_fill": (lambda x, v: x.index_fill(1, T([0, 3]), v), ()),
    "masked_scatter": (lambda x, v: x.masked_scatter(M, v), (2, 4)),
    "x[1]": (lambda x, v: written(x, 1, v), (4,)),
    "x[1:]": (lambda x, v: written(x, slice(1, None), v), (1, 4)),
    "dropped axes": (lambda x, v: written(x, 0, v), (1, 1, 4)),
    "x[i]": (lambda x, v: written(x, T([1, 0]), v), (2, 4)),
    "x[mask]": (lambda x, v: written(x, M, v), (6,)),
    "x[mask] = 0-d": (lambda x, v: written(x, M, v), ()),
    "x[1:, i]": (lambda x, v: written(x, (slice(1, None), T([3, 0])), v), (2, 2)),
}


@pytest.mark.parametrize("name", WRITES)
def test_gradient_of_writing(name):
    f, shape = WRITES[name]
    check_gradient(f, leaf(3, 4), leaf(*shape) if shape else T(0.7, dtype=torch.float64).requires_grad_())


def test_gradient_through_a_fresh_tensor():
    v = leaf(3)
    x = torch.zeros(2, 3, dtype=torch.float64)
    x[1] = v
    assert x.requires_grad and not x.is_leaf
    (x * x).sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), 2 * v.detach().numpy())


def test_in_place_rules():
    x = leaf(3)
    for write in (
        lambda: x.__setitem__(0, 1.0),
        lambda: x.__setitem__(T([0]), 1.0),
        lambda: x.masked_fill_(T([True, False, False]), 1.0),
    ):
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            write()
    with torch.no_grad():
        x[0] = 1.0
    assert x[0].item() == 1


def test_saved_index_must_not_change():
    x, i = leaf(3), T([0, 1])
    y = x[i]
    i[0] = 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_bool_elements_that_are_not_0_or_1_are_true():
    """Bytes viewed as bool, which merging writes read as well."""
    base = torch.arange(6, dtype=torch.uint8)
    b = base.view(torch.bool)
    b.index_put_((torch.tensor([0, 2, 2]),), torch.tensor([False, False, True]), accumulate=True)
    assert b.tolist() == [False, True, True, True, True, True]
    added = torch.zeros(2, dtype=torch.bool).index_add(0, torch.tensor([0, 1]), b[[2, 5]])
    assert added.tolist() == [True, True]
