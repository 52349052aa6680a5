"""Operands that are contiguous along different axes: they are transposed in pieces on their way through a loop."""

import numpy as np
import pytest
import strided as torch

SIDES = [(15, 40), (16, 16), (17, 33), (31, 65), (33, 300), (257, 32), (64, 129), (300, 310)]
DTYPES = ["bool", "uint8", "int16", "float16", "float32", "int64", "float64", "complex128"]


def array(rng, dtype, *shape):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    made = rng.integers(1, 50, shape)
    return (made + 1j * rng.integers(1, 50, shape) if dtype == "complex128" else made).astype(dtype)


def same(ours, expected):
    assert ours.shape == expected.shape
    np.testing.assert_array_equal(ours.resolve_conj().numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows, columns", SIDES)
def test_layouts(rows, columns, dtype):
    rng = np.random.default_rng(0)
    a, b = array(rng, dtype, rows, columns), array(rng, dtype, columns, rows)
    x, y = torch.tensor(a), torch.tensor(b)
    op, reference = (torch.logical_xor, np.logical_xor) if dtype == "bool" else (torch.mul, np.multiply)
    same(op(x, y.T), reference(a, b.T))
    same(op(y.T, x), reference(b.T, a))
    same(op(x, y.T.flip(0)), reference(a, b.T[::-1]))
    same(op(x, y.T.flip(1)), reference(a, b.T[:, ::-1]))
    same(op(x[1:, 2:], y.T[1:, 2:]), reference(a[1:, 2:], b.T[1:, 2:]))
    same(op(x[:, ::2], y[::2].T), reference(a[:, ::2], b[::2].T))
    same(op(x[:, :1].expand(rows, columns), y.T), reference(np.broadcast_to(a[:, :1], a.shape), b.T))
    out = torch.empty(columns, rows, dtype=x.dtype).T
    op(x, y.T, out=out)
    same(out, reference(a, b.T))
    into = torch.empty(columns + 3, rows, dtype=x.dtype)[3:].T
    assert into.copy_(op(x, x)).equal(op(x, x))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_in_place(dtype):
    rng = np.random.default_rng(0)
    a, b = array(rng, dtype, 300, 70), array(rng, dtype, 70, 300)
    x, y = torch.tensor(a), torch.tensor(b)
    x.T.add_(y)
    same(x, a + b.T)
    square = array(rng, dtype, 100, 100)
    z = torch.tensor(square)
    z += z.T.clone()
    same(z, square + square.T)


def test_four_operands_all_turned_and_in_part():
    rng = np.random.default_rng(0)
    a, b, c = (array(rng, "complex128", 90, 200) for _ in range(3))
    x, y, z = (torch.tensor(v.T.copy()).T for v in (a, b, c))
    made = torch.addcmul(torch.tensor(a), y, z, value=2)
    same(made, a + 2 * b * c)
    out = torch.empty(200, 90, dtype=torch.complex128)
    torch.addcmul(x.T, torch.tensor(b).T, z.T, value=2, out=out)
    same(out.T, a + 2 * b * c)


@pytest.mark.parametrize("rows, columns", SIDES)
def test_casts_and_masks(rows, columns):
    rng = np.random.default_rng(0)
    a, b, m = (
        array(rng, "float32", rows, columns),
        array(rng, "int32", columns, rows),
        array(rng, "bool", columns, rows),
    )
    x, y, mask = torch.tensor(a), torch.tensor(b), torch.tensor(m)
    same(x + y.T, (a + b.T).astype("float32"))
    same(y.T.double(), b.T.astype("float64"))
    same(y.T.to(torch.bool) ^ mask.T, (b.T != 0) ^ m.T)
    same(torch.where(mask.T, x, y.T.float()), np.where(m.T, a, b.T).astype("float32"))
    same(torch.where(mask.T, x, 0.0), np.where(m.T, a, 0).astype("float32"))
    same(x < y.T, a < b.T)
    out = torch.empty(columns, rows, dtype=torch.float64).T
    torch.add(x, y.T, out=out)
    same(out, (a + b.T).astype("float64"))
    kept = torch.tensor(a)
    kept.masked_fill_(mask.T, -1.0)
    same(kept, np.where(m.T, -1, a).astype("float32"))


def test_more_axes_and_threads():
    rng = np.random.default_rng(0)
    a, b = array(rng, "float32", 3, 120, 5, 90), array(rng, "float32", 5, 90, 120, 3)
    x, y = torch.tensor(a), torch.tensor(b)
    expected = a + b.transpose(3, 2, 0, 1)
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            same(x + y.permute(3, 2, 0, 1), expected)
            same(y.permute(3, 2, 0, 1) + x, expected)
            same(x.transpose(1, 3) + torch.tensor(a).transpose(1, 3).contiguous(), 2 * a.swapaxes(1, 3))
    finally:
        torch.set_num_threads(threads)


def test_bytes_of_a_bool_view():
    bytes_ = torch.arange(0, 40 * 50, dtype=torch.int64).to(torch.uint8).reshape(40, 50)
    mask = bytes_.view(torch.bool)
    same(mask.T.logical_not(), (bytes_.numpy() == 0).T)
    same(torch.where(mask.T, torch.ones(50, 40), torch.zeros(50, 40)), (bytes_.numpy() != 0).T.astype("float32"))
