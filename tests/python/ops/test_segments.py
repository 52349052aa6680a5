"""segment_reduce against loops, its arguments; constant_pad_nd; axes of gradient and sum_to_size."""

import math

import numpy as np
import pytest
import strided as torch

REDUCE = {
    "sum": lambda v, start: sum(v, start),
    "prod": lambda v, start: math.prod(v, start=start),
    "mean": lambda v, start: sum(v, start or 0) / len(v) if len(v) else start,
    "max": lambda v, start: max([start, *v]),
    "min": lambda v, start: min([start, *v]),
}
EMPTY = {"sum": 0, "prod": 1, "mean": math.nan, "max": -math.inf, "min": math.inf}


@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize("initial", [None, 3.0])
@pytest.mark.parametrize("layout", [False, True])
def test_segments(reduce, initial, layout):
    data = np.random.default_rng(0).normal(size=(2, 6, 3))
    x = torch.tensor(data)
    x = x.transpose(0, 2).contiguous().transpose(0, 2) if layout else x
    lengths = [[2, 0, 4], [1, 5, 0]]
    want = np.empty((2, 3, 3))
    for b, row in enumerate(lengths):
        at = 0
        for s, n in enumerate(row):
            for c in range(3):
                values = data[b, at : at + n, c].tolist()
                start = EMPTY[reduce] if initial is None and not (reduce == "mean" and n) else initial
                want[b, s, c] = REDUCE[reduce](values, start)
            at += n
    got = torch.segment_reduce(x, reduce, lengths=torch.tensor(lengths), axis=1, initial=initial)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-14, atol=1e-15)
    offsets = torch.tensor([[0, 2, 2, 6], [0, 1, 6, 6]], dtype=torch.int32)
    got = torch.segment_reduce(x, reduce, offsets=offsets, axis=1, initial=initial)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize("shape", [(7,), (7, 2), (7, 2, 3)])
@pytest.mark.parametrize("unsafe", [False, True])
def test_segments_without_an_empty_one(reduce, shape, unsafe):
    """Pieces of the first axis, all of which have elements; with `unsafe` some elements belong to none."""
    data = np.random.default_rng(1).normal(size=shape)
    lengths, at, want = [2, 1, 3] if unsafe else [2, 1, 4], 0, []
    for n in lengths:
        piece, start = data[at : at + n], None if reduce == "mean" else EMPTY[reduce]
        want.append(np.apply_along_axis(lambda v, start=start: REDUCE[reduce](v.tolist(), start), 0, piece))
        at += n
    x = torch.tensor(data, requires_grad=True)
    call = lambda x: torch.segment_reduce(x, reduce, lengths=torch.tensor(lengths), unsafe=unsafe)
    np.testing.assert_allclose(call(x).detach().numpy(), np.array(want), rtol=1e-14)
    assert torch.autograd.gradcheck(call, (x,))


def test_segment_arguments():
    x, lengths = torch.tensor([1.0, 2.0, math.nan]), torch.tensor([2, 1])
    assert torch.segment_reduce(x, "max", lengths=lengths).tolist()[0] == 2
    assert torch.segment_reduce(x, "max", lengths=lengths)[1].isnan()
    assert torch.segment_reduce(x, "sum", lengths=torch.tensor([2]), unsafe=True).tolist() == [3]
    assert torch.segment_reduce(x[:0], "sum", lengths=torch.tensor([0, 0])).tolist() == [0, 0]
    for arguments, text in (
        ({"lengths": torch.tensor([2])}, "to sum to data.size"),
        ({"lengths": torch.tensor([4])}, "to sum to data.size"),
        ({"lengths": torch.tensor([4, -1])}, "negative"),
        ({"lengths": lengths, "axis": 1}, "Expected axis to be the last dimension of lengths"),
        ({"lengths": lengths, "indices": lengths}, "indices based reduction"),
        ({}, "Either lengths or offsets"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.segment_reduce(x, "sum", **arguments)
    with pytest.raises(RuntimeError, match="reduce argument must be either"):
        torch.segment_reduce(x, "median", lengths=lengths)
    with pytest.raises(NotImplementedError, match="not implemented for"):
        torch.segment_reduce(torch.ones(3, dtype=torch.int64), "sum", lengths=lengths)


def test_constant_pad():
    x = torch.arange(6).reshape(2, 3)
    assert torch.constant_pad_nd(x, (1, -1), 9).tolist() == [[9, 0, 1], [9, 3, 4]]
    assert torch.constant_pad_nd(x, (0, 0, 1, 0)).tolist() == [[0, 0, 0], [0, 1, 2], [3, 4, 5]]
    with pytest.raises(RuntimeError):
        torch.constant_pad_nd(x, (1,))


def test_axes():
    x = torch.ones(3, 3)
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        torch.gradient(x, dim=(1, -1))
    assert torch.tensor(True).sum_to_size(()).dtype == torch.int64


def test_axes_count_from_the_end():
    x = torch.arange(6.0).reshape(2, 3)
    lengths = torch.tensor([[1, 2], [3, 0]])
    assert torch.segment_reduce(x, "sum", lengths=lengths, axis=-1).tolist() == [[0, 3], [12, 0]]
    assert torch.segment_reduce(x[0], "max", lengths=lengths[0], axis=-1).tolist() == [0, 2]


def test_the_gradient_of_a_product_with_one_nan():
    nan = math.nan
    x = torch.tensor([2.0, nan, 3.0, nan, nan, 5.0, 4.0], requires_grad=True)
    y = torch.segment_reduce(x, "prod", lengths=torch.tensor([2, 3, 2]), initial=2.0)
    y.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), [nan, nan, 40])
    np.testing.assert_array_equal(x.grad.numpy(), [nan, 4, nan, nan, nan, 8, 10])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments_warn_of_nothing(reduce):
    x = torch.tensor([2.0, math.nan, 3.0], requires_grad=True)
    torch.segment_reduce(x, reduce, lengths=torch.tensor([2, 1])).sum().backward()
