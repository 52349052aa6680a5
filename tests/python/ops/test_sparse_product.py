"""Products with matrices given by their entries, beside dense ones in float64."""

import numpy as np
import pytest
import strided
from strided import _C
from strided._functions.entries import times_dense

sparse_product, sampled_product = (_C.functions[f"_{name}_product"] for name in ("sparse", "sampled"))
WIDTHS = [0, 1, 3, 15, 16, 17, 63, 64, 65, 80, 200]


def made(rows, columns, entries, width, dtype, seed=0, least_row=0):
    rng = np.random.default_rng(seed)
    row, column = rng.integers(least_row, rows, entries), rng.integers(0, columns, entries)
    if seed % 2:
        row = np.sort(row)  # runs of one row, whose sums stay in registers
    value, dense = rng.standard_normal(entries), rng.standard_normal((columns, width))
    return row, column, value.astype(dtype), dense.astype(dtype)


def reference(rows, row, column, value, dense):
    matrix = np.zeros((rows, len(dense)))
    kept = row >= 0
    np.add.at(matrix, (row[kept], column[kept]), value[kept].astype("f8"))
    return matrix @ dense.astype("f8")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", [0, 1])
def test_product(dtype, width, seed):
    data = made(37, 29, 300, width, dtype, seed, least_row=-5)
    found = sparse_product(37, *map(strided.from_numpy, data))
    np.testing.assert_allclose(found, reference(37, *data), rtol=0, atol=2e-4 if dtype == "f4" else 1e-12)
    row, column, value, dense = data
    found = sparse_product(37, *map(strided.from_numpy, (row, column)), None, strided.from_numpy(dense))
    ones = np.ones_like(value)
    np.testing.assert_allclose(found, reference(37, row, column, ones, dense), atol=2e-4 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("width", WIDTHS)
def test_sampled(dtype, width):
    row, column, _, b = made(37, 29, 300, width, dtype, least_row=-5)
    a = np.random.default_rng(1).standard_normal((37, width)).astype(dtype)
    found = sampled_product(*map(strided.from_numpy, (row, column, a, b)))
    wanted = np.where(row >= 0, (a[row].astype("f8") * b[column]).sum(1), 0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-4 if dtype == "f4" else 1e-12)


def test_layouts_and_threads():
    row, column, value, dense = map(strided.from_numpy, made(500, 400, 20000, 70, "f4", seed=1))
    whole = sparse_product(500, row, column, value, dense)
    apart = [strided.stack([t, t], -1)[..., 0] for t in (row, column, value)]
    assert not apart[0].is_contiguous()
    assert sparse_product(500, *apart, dense.T.contiguous().T).equal(whole)
    before = strided.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            strided.set_num_threads(threads)
            assert sparse_product(500, row, column, value, dense).equal(whole)
    finally:
        strided.set_num_threads(before)


def test_infinities_stay_in_their_rows():
    row, column = strided.tensor([0, 1, -1]), strided.tensor([0, 1, 2])
    dense = strided.tensor([[1.0], [float("inf")], [float("nan")]])
    assert sparse_product(2, row, column, strided.ones(3), dense).tolist() == [[1.0], [float("inf")]]


def test_nothing():
    none = strided.zeros(0, dtype=strided.int64)
    assert sparse_product(3, none, none, strided.zeros(0), strided.ones(2, 4)).equal(strided.zeros(3, 4))
    assert sparse_product(0, none, none, None, strided.ones(0, 4)).shape == (0, 4)
    assert sampled_product(none, none, strided.ones(2, 3), strided.ones(4, 3)).shape == (0,)


def test_gradients_of_both_orders():
    row, column = strided.tensor([0, 2, 2, -1, 1, 0]), strided.tensor([1, 0, 3, 2, 2, 1])
    value, dense, a = (strided.randn(*n, dtype=strided.float64, requires_grad=True) for n in ((6,), (4, 3), (3, 3)))
    products = [
        (lambda v, d: sparse_product(3, row, column, v, d), (value, dense)),
        (lambda d: sparse_product(3, row, column, None, d), (dense,)),
        (lambda a, b: sampled_product(row, column, a, b), (a, dense)),
    ]
    for function, inputs in products:
        assert strided.autograd.gradcheck(function, inputs, check_forward_ad=True)
        assert strided.autograd.gradgradcheck(function, inputs)


def test_errors():
    one, two = strided.tensor([0]), strided.tensor([0, 1])
    dense = strided.ones(2, 3)
    for column in (-1, 2, 2**62, -(2**63)):
        with pytest.raises(IndexError, match="out of"):
            sparse_product(2, one, strided.tensor([column]), None, dense)
        with pytest.raises(IndexError, match="out of"):
            sampled_product(one, strided.tensor([column]), dense, dense)
    for row in (2, 2**62):
        with pytest.raises(IndexError, match="out of"):
            sparse_product(2, strided.tensor([row]), one, None, dense)
    for given in ((two, one, None, dense), (one, one.int(), None, dense), (one, one, strided.ones(2), dense),
                  (one, one, one, dense), (one, one, None, dense.long()), (one, one, None, dense[0])):  # fmt: skip
        with pytest.raises(RuntimeError):
            sparse_product(2, *given)
    with pytest.raises(RuntimeError, match="rows of the same length"):
        sampled_product(one, one, dense, dense.T)
    with pytest.raises(RuntimeError):
        sparse_product(-1, one, one, None, dense)


def test_the_composed_product_is_the_same():
    row, column, value, dense = map(strided.from_numpy, made(20, 30, 100, 5, "f8"))
    complex_ = times_dense(20, row, column, value.to(strided.complex128), dense.to(strided.complex128))
    strided.testing.assert_close(complex_.real, times_dense(20, row, column, value, dense))
