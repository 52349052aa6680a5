"""Elements that only change places: every size of item, over the edges of tiles, blocks and vectors, against NumPy."""

import numpy as np
import pytest
import strided

ITEMS = ["int8", "int16", "float32", "float64", "complex128", "bool"]


def values(dtype, *shape):
    count = np.arange(int(np.prod(shape)))
    if dtype == "bool":
        return (count * 7 % 3 == 0).reshape(shape)
    return (count * 7919 % 20011 - 100).astype(dtype).reshape(shape)


def same(result, expected):
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("shape", [(8, 130), (16, 64), (33, 47), (160, 18)])
def test_transposed(dtype, shape):
    a = values(dtype, 2, *shape)
    same(strided.from_numpy(a).permute(0, 2, 1).contiguous(), a.transpose(0, 2, 1))
    same(strided.from_numpy(a).permute(2, 1, 0).contiguous(), a.transpose(2, 1, 0))
    wide = a[0][:, 1:-1]  # rows that do not follow each other
    same(strided.from_numpy(a)[0][:, 1:-1].t().contiguous(), wide.T)


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 15, 16])
@pytest.mark.parametrize("rows", [15, 16, 300])
def test_short_rows(dtype, length, rows):
    a = values(dtype, rows, length)
    t = strided.from_numpy(a)
    same(t.repeat_interleave(length, 1), np.repeat(a, length, 1))
    same(t.t().contiguous(), a.T)
    same(t.t().contiguous().t().contiguous(), a)
    room = strided.zeros(rows, length + 2, dtype=t.dtype)
    room[:, 1:-1] = t
    same(room[:, 1:-1].clone(), a)
    same(room[:, [0, -1]].to(strided.int64), np.zeros((rows, 2), np.int64))
    if dtype != "bool":
        same(room[:, 1:-1] + t, a + a)
        room[:, 1:-1] += t
        same(room.sum(1), (a + a).sum(1, dtype=room.sum(1).numpy().dtype))


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("shape", [(37,), (3, 5000), (2, 3, 7)])
def test_stacked_innermost(dtype, parts, shape):
    arrays = [values(dtype, *shape) + np.asarray(k).astype(dtype) for k in range(parts)]
    same(strided.stack([strided.from_numpy(a) for a in arrays], -1), np.stack(arrays, -1))
    lengths = [1, 2, 0][:parts]
    narrow = [a.reshape(-1, 1).repeat(n, 1) for a, n in zip(arrays, lengths)]
    same(strided.cat([strided.from_numpy(a) for a in narrow], 1), np.concatenate(narrow, 1))


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("step", [2, -2, 3, -1])
def test_steps(dtype, step):
    a = values(dtype, 40, 1100)
    t = strided.from_numpy(a)
    index = list(range(a.shape[1]))[::step]
    view = t[:, ::step] if step > 0 else t.flip(1)[:, ::-step]
    same(view.clone(), a[:, index])
    same(view == t[:, : len(index)], a[:, index] == a[:, : len(index)])
    room = strided.zeros(40, 2200, dtype=t.dtype)
    room[:, ::2] = t
    same(room[:, ::2].clone(), a)
    assert not room[:, 1::2].any()


@pytest.mark.parametrize("n", [300, 512, 513, 1100])
def test_a_number_for_each_row(n):
    a, column = values("float32", 5, n), values("float32", 5, 1)
    same(strided.from_numpy(a) + strided.from_numpy(column), a + column)
    same(strided.from_numpy(column) - strided.from_numpy(a), column - a)
    same(strided.from_numpy(a[:1]) * strided.from_numpy(column), a[:1] * column)


@pytest.mark.parametrize(
    ("shifts", "axes"),
    [((2, 3), (0, 1)), ((1, -4, 2), (2, 0, 1)), ((5, 5), (1, 1)), ((0, 0), (0, 1)), ((1, 1, 1, 1), (0, 1, 2, 0))],
)
def test_rolled_along_several_axes(shifts, axes):
    a = values("float32", 4, 5, 6)
    t = strided.from_numpy(a).requires_grad_()
    rolled = strided.roll(t, shifts, axes)
    same(rolled.detach(), np.roll(a, shifts, axes))
    weight = values("float32", 4, 5, 6)[::-1].copy()
    (rolled * strided.from_numpy(weight)).sum().backward()
    same(t.grad, np.roll(weight, [-s for s in shifts], axes))


@pytest.mark.parametrize("dtype", ITEMS)
def test_rows_of_every_length(dtype):
    """Rows contiguous on both sides go as parts of 4 to 64 bytes, the last of which overlaps the one before."""
    item = np.dtype(dtype).itemsize
    lengths = {*range(1, 36), *(n // item for b in (64, 128, 192, 512, 4096) for n in (b - item, b, b + item)), 1000}
    for length in sorted(lengths - {0}):
        a = values(dtype, 3, 5, length)
        t = strided.from_numpy(a)
        same(t.permute(1, 0, 2).contiguous(), a.transpose(1, 0, 2))
        same(t[::-1, ::2].clone(), a[::-1, ::2])
        if length > 2:
            same(t[:, :, 1:-1].contiguous(), a[:, :, 1:-1])
        room, wide = strided.ones(5, 3, length + 2, dtype=t.dtype), np.ones((5, 3, length + 2), dtype)
        room[:, :, 1:-1] = t.permute(1, 0, 2)
        wide[:, :, 1:-1] = a.transpose(1, 0, 2)
        same(room, wide)
        room[1:, :, 1:-1] = t[0, 0]  # one row, again and again
        wide[1:, :, 1:-1] = a[0, 0]
        same(room, wide)


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("rows", [2, 31, 32, 33, 47, 48, 100])
def test_rows_of_less_than_a_vector(dtype, rows):
    for length in range(1, 17 // np.dtype(dtype).itemsize + 2):
        a = values(dtype, rows, length)
        t = strided.from_numpy(a)
        same(t.flip(0), a[::-1])
        for steps in (slice(None, None, 2), slice(None, None, -1), slice(None, None, -3), slice(1, -1, 2)):
            same(t[steps].contiguous(), np.ascontiguousarray(a[steps]))
        same(t.flip((0, 1)), a[::-1, ::-1])
        image = t.repeat(3, 1, 1)
        same(image.flip(1), np.repeat(a[None, ::-1], 3, 0))
        same(image.flip((0, 1)), np.repeat(a[None, ::-1], 3, 0))
        same(image.transpose(0, 1).contiguous(), np.repeat(a[:, None], 3, 1))


@pytest.mark.parametrize("n", [1, 4095, 4096, 4097, 69631, 69632, 69633, 300000])
def test_equal_looks_at_every_element(n):
    a = strided.arange(n, dtype=strided.float32)
    assert a.equal(a.clone()) and a.equal(a.double())
    for i in {0, n // 2, n - 1, min(n - 1, 4095), min(n - 1, 4096)}:
        b = a.clone()
        b[i] = -1
        assert not a.equal(b) and not b.equal(a)
        apart = strided.stack([b, b], 1)[:, 0]
        assert not a.equal(apart) and apart.equal(b)
    b[n - 1] = float("nan")
    assert not b.equal(b)


@pytest.mark.parametrize("floating", ["float32", "float64"])
def test_int64_of_32_bits_as_floats(floating):
    """Rows of numbers of 32 bits, rounded as others are, and with one that has more at each place."""
    g = np.random.default_rng(7)
    edges = np.array([-(2**31), 2**31 - 1, 0, -1, 1, 2**24 + 1, -(2**24) - 3, 2**30 + 33])
    for n in (8, 31, 32, 33, 64, 100):
        a = np.where(g.random(n) < 0.5, g.choice(edges, n), g.integers(-(2**31), 2**31, n))
        for at in range(n):
            for large in (2**31, -(2**31) - 1, 2**32, 2**32 - 1, 2**63 - 1):
                b = a.copy()
                b[at] = large
                got = strided.from_numpy(b).to(getattr(strided, floating)).numpy()
                assert np.array_equal(got, b.astype(floating)), (n, at, large)
        assert np.array_equal(strided.from_numpy(a).to(getattr(strided, floating)).numpy(), a.astype(floating))


@pytest.mark.parametrize("floating", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 3, 4, 5, 4096, 4099])
def test_int64_and_floats(floating, length):
    """Rounded once, to even; back toward zero, and to the minimum where it does not fit."""
    g = np.random.default_rng(length)
    shifts = 2 ** g.integers(0, 63, 4096)
    near = np.concatenate([shifts * s + d for s in (1, -1) for d in (-1, 0, 1)])
    ties = (g.integers(-(2**24), 2**24, 4096) * 2 + 1) * 2 ** g.integers(0, 38, 4096)  # halfway between two floats
    wide = g.integers(-(2**63), 2**63 - 1, 8192)
    a = np.concatenate([near, ties - 1, ties, ties + 1, wide, wide >> 20, [-(2**63), 2**63 - 1, 0, 2**53, -(2**53)]])
    for i in range(0, len(a) - length, max(length, 997)):
        t = strided.from_numpy(a[i : i + length])
        want = a[i : i + length].astype(floating)
        assert np.array_equal(t.to(getattr(strided, floating)).numpy(), want)
        assert np.array_equal(t[::2].to(getattr(strided, floating)).numpy(), want[::2])
    f = np.concatenate([a.astype(floating), a.astype(floating) / 2**10, g.standard_normal(4096).astype(floating)])
    f = np.concatenate(
        [f, np.array([0.0, -0.0, 0.5, -0.5, 1e-320, -1e-40, 1e30, -1e30, np.inf, -np.inf, np.nan], floating)]
    )
    inside = (f >= -(2.0**63)) & (f < 2.0**63)
    want = np.where(inside, np.where(inside, f, 0).astype("int64"), -(2**63))
    for i in range(0, len(f) - length, max(length, 997)):
        t = strided.from_numpy(f[i : i + length])
        assert np.array_equal(t.to(strided.int64).numpy(), want[i : i + length])
    assert np.array_equal(strided.from_numpy(f).to(strided.int64).numpy(), want)
