"""Indices, keys and values that are refused, by which error."""

import math
import warnings

import numpy as np
import pytest
import strided as torch
from indexing_cases import T, grid, same

# ---------------------------------------------------------------- errors

BIG = [3, -4, 2**31, -(2**31) - 1, 2**62, -(2**63), 2**63 - 1]


@pytest.mark.parametrize("bad", BIG)
def test_indices_out_of_range(bad):
    x = grid(3, 3)
    before = x.clone()
    text = f"index {bad} is out of bounds for dimension 0 with size 3"
    for read in (
        lambda: x[bad],
        lambda: x[T([0, bad])],
        lambda: x[[bad, 0]],
        lambda: x[T(bad)],
        lambda: x[T([bad]), T([0])],
        lambda: x.gather(0, T([[bad]])),
        lambda: x.index_select(0, T([1, bad])),
    ):
        with pytest.raises(IndexError, match=text):
            read()
    with pytest.raises(IndexError, match="out of bounds for dimension 1 with size 3"):
        x[T([0]), T([bad])]
    with pytest.raises(IndexError, match="out of bounds for dimension 1 with size 3"):
        x[:, bad]
    at = T([0, bad])
    ones = torch.ones(2, 3, dtype=torch.float64)
    for write in (
        lambda: x.__setitem__(at, 9.0),
        lambda: x.__setitem__((slice(None), at), 9.0),
        lambda: x.__setitem__((T([0, 1]), at), 9.0),
        lambda: x.index_put_((at,), T(9.0, dtype=torch.float64)),
        lambda: x.index_put_((at,), ones, True),
        lambda: x.index_add_(0, at, ones),
        lambda: x.index_copy_(0, at, ones),
        lambda: x.index_fill_(0, at, 9),
        lambda: x.index_reduce_(0, at, ones, "amax", include_self=False),
        lambda: x.scatter_(0, at[:, None], ones),
        lambda: x.scatter_(0, at[:, None], 9.0),
        lambda: x.scatter_add_(0, at[:, None], ones),
        lambda: x.scatter_reduce_(0, at[:, None], ones, "mean"),
        lambda: x.scatter_(1, at[None], 3.0),
    ):
        with pytest.raises(IndexError, match="out of bounds"):
            write()
        same(x, before.numpy())
    for flat in (lambda: x.take(T([0, 9])), lambda: x.put_(T([0, -10]), T([1.0, 2.0], dtype=torch.float64))):
        with pytest.raises(IndexError, match="out of range: tried to access index -?[0-9]+ on a tensor of 9 elements."):
            flat()
    same(x, before.numpy())


def test_negative_indices_of_functions():
    x = grid(3, 3)
    for f in (
        lambda i: x.gather(0, i[:, None]),
        lambda i: x.index_select(0, i),
        lambda i: x.scatter(0, i[:, None], 1.0),
        lambda i: x.index_add(0, i, x[:1]),
        lambda i: x.index_copy(0, i, x[:1]),
    ):
        with pytest.raises(IndexError, match="index -1 is out of bounds for dimension 0 with size 3"):
            f(T([-1]))
    same(x.take(T([-1])), [8.0])
    same(x.index_fill(0, T([-1]), 0.0)[2], [0.0, 0.0, 0.0])


ERRORS = [
    (lambda x: x[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
    (lambda x: x[T([0]), T([0]), T([0])], IndexError, "too many indices for tensor of dimension 2"),
    (lambda x: x[torch.ones(2, 3, 1, dtype=torch.bool)], IndexError, "too many indices for tensor of dimension 2"),
    (
        lambda x: T(1.0)[0],
        IndexError,
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++",
    ),
    (lambda x: T(1.0)[:], IndexError, "slice() cannot be applied to a 0-dim tensor."),
    (
        lambda x: x["a"],
        IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got str)",
    ),
    (lambda x: x[1.0], IndexError, "None and long or byte Variables are valid indices (got float)"),
    (lambda x: x[{}], IndexError, "valid indices (got dict)"),
    (lambda x: x[::0], ValueError, "slice step cannot be zero"),
    (lambda x: x[1:2.5], TypeError, "slice indices must be integers or None or have an __index__ method"),
    (lambda x: x[..., ...], IndexError, "single ellipsis"),
    (lambda x: x[T([1.0])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (
        lambda x: x[T([1], dtype=torch.int16)],
        IndexError,
        "tensors used as indices must be long, int, byte or bool tensors",
    ),
    (lambda x: x[[0.5]], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda x: x[np.array([0.0])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (
        lambda x: x[T([[0, 1]]), T([0, 1, 2])],
        IndexError,
        "shape mismatch: indexing tensors could not be broadcast together with shapes [1, 2], [3]",
    ),
    (
        lambda x: x[T([True, False, True])],
        IndexError,
        "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3] at index 0",
    ),
    (
        lambda x: x[:, T([True, False])],
        IndexError,
        "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [2, 3] at index 1",
    ),
    (lambda x: x[2**64], ValueError, "Overflow"),
    (lambda x: x.__delitem__(0), TypeError, "Tensor does not support deleting items"),
    (lambda x: x.__setitem__(0, "a"), TypeError, "can't assign a str to a torch.FloatTensor"),
    (lambda x: x.__setitem__(0, None), TypeError, "can't assign a NoneType to a torch.FloatTensor"),
    (lambda x: x.__setitem__(0, 1j), RuntimeError, "value cannot be converted to type float without overflow"),
    (
        lambda x: x.__setitem__(0, torch.zeros(4)),
        RuntimeError,
        "The expanded size of the tensor (3) must match the existing size (4) at non-singleton dimension 0",
    ),
    (
        lambda x: x.__setitem__(0, torch.zeros(2, 1, 3)),
        RuntimeError,
        "the number of sizes provided (1) must be greater or equal to the number of dimensions",
    ),
    (
        lambda x: x.__setitem__(T([0, 1]), torch.zeros(4)),
        RuntimeError,
        "shape mismatch: value tensor of shape [4] cannot be broadcast to indexing result of shape [2, 3]",
    ),
    (
        lambda x: x.__setitem__(x > 0, torch.zeros(3)),
        RuntimeError,
        "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [5]",
    ),
    (
        lambda x: x.index_put_((T([0]),), T(1)),
        RuntimeError,
        "Index put requires the source and destination dtypes match, got Float for the destination and Long",
    ),
    (lambda x: x.index_select(0, T([[0]])), IndexError, "index_select(): Index is supposed to be a vector"),
    (lambda x: x.index_select(0, T([0.0])), RuntimeError, "index_select(): Expected dtype int32 or int64 for index"),
    (
        lambda x: x.index_select(2, T([0])),
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    ),
    (
        lambda x: T(1.0).index_select(0, T([0, 0])),
        RuntimeError,
        "index_select(): Index to scalar can have only 1 value, got 2 value(s)",
    ),
    (
        lambda x: x.gather(0, T([0])),
        RuntimeError,
        "Index tensor must have the same number of dimensions as input tensor",
    ),
    (lambda x: x.gather(0, T([[0.0]])), RuntimeError, "gather(): Expected dtype int32/int64 for index"),
    (
        lambda x: x.gather(0, T([[0, 1, 2, 0], [0, 0, 0, 0]])),
        RuntimeError,
        "Size does not match at dimension 1 expected index [2, 4] to be no larger than self [2, 3] apart from dimension 0",
    ),
    (
        lambda x: x.scatter(0, T([[0]]), T([[1]])),
        RuntimeError,
        "scatter(): Expected self.dtype to be equal to src.dtype",
    ),
    (
        lambda x: x.scatter(0, T([[0, 1, 2, 2]]), 1.0),
        RuntimeError,
        "Expected index [1, 4] to be no larger than self [2, 3] apart from dimension 0",
    ),
    (lambda x: x.scatter(0, T([[0, 1]]), T([[1.0]])), RuntimeError, "and to be no larger size than src [1, 1]"),
    (
        lambda x: x.scatter(0, T([0, 1]), T([[1.0]])),
        RuntimeError,
        "Index tensor must have the same number of dimensions as self tensor",
    ),
    (
        lambda x: x.scatter(0, T([[0]]), 2.0, reduce="mul"),
        RuntimeError,
        "reduce argument must be either add or multiply.",
    ),
    (
        lambda x: x.scatter_reduce(0, T([[0]]), x, "add"),
        RuntimeError,
        "reduce argument must be either sum, prod, mean, amax or amin, got add",
    ),
    (
        lambda x: x.index_add(0, T([0]), x),
        RuntimeError,
        "Number of indices (1) should be equal to source.size(dim): (2), for dim: 0",
    ),
    (
        lambda x: x.index_add(0, T([0, 1]), x.double()),
        RuntimeError,
        "self (Float) and source (Double) must have the same scalar type",
    ),
    (
        lambda x: x.index_add(0, T([0, 1]), torch.ones(2, 4)),
        RuntimeError,
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = [2, 3] source.shape = [2, 4]",
    ),
    (
        lambda x: x.index_copy(0, T([0]), x),
        IndexError,
        "index_copy_(): Number of indices (1) should be equal to source.size(dim) (2)",
    ),
    (
        lambda x: x.index_copy(0, T([0, 1], dtype=torch.int32), x),
        RuntimeError,
        "index_copy_(): Expected a long tensor for index, but got Int",
    ),
    (
        lambda x: x.index_fill(0, T([0]), T([5.0])),
        RuntimeError,
        "index_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s).",
    ),
    (
        lambda x: x.index_reduce(0, T([0, 0]), x, "sum"),
        RuntimeError,
        "Expected reduce to be one of prod, mean, amax or amin but got sum.",
    ),
    (lambda x: x.take(T([0.0])), RuntimeError, "take(): Expected a long tensor for index, but got Float"),
    (lambda x: torch.empty(0).take(T([0])), IndexError, "take(): tried to take from an empty tensor"),
    (lambda x: x.put_(T([0, 1]), T([1.0, 2.0, 3.0])), IndexError, "source.numel() = 3, index.numel() = 2"),
    (
        lambda x: x.masked_select(T([True, False])),
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1",
    ),
    (lambda x: x.masked_select(T([1, 0, 1])), RuntimeError, "masked_select: expected BoolTensor for mask"),
    (lambda x: x.masked_fill(T([1, 0, 1]), 5), RuntimeError, "masked_fill_ only supports boolean masks"),
    (
        lambda x: x.masked_fill(T([True, False, True]), T([5.0])),
        RuntimeError,
        "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s).",
    ),
    (
        lambda x: x.masked_fill_(torch.ones(4, 2, 3, dtype=torch.bool), 5),
        RuntimeError,
        "output with shape [2, 3] doesn't match the broadcast shape [4, 2, 3]",
    ),
    (
        lambda x: x.masked_scatter(T([True, False, True]), T([1.0, 2.0, 3.0])),
        RuntimeError,
        "Number of elements of source < number of ones in mask",
    ),
    (
        lambda x: torch.where(x.long(), x, 0),
        RuntimeError,
        "where expected condition to be a boolean tensor, but got a tensor with dtype Long",
    ),
    (
        lambda x: torch.where(x > 2, x, T([1.0, 2.0])),
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1",
    ),
    (
        lambda x: torch.unravel_index(T([1.0]), (2, 3)),
        TypeError,
        "expected 'indices' to be integer dtype, but got torch.float32",
    ),
    (lambda x: torch.unravel_index(T([1]), (-2, 3)), ValueError, "'shape' cannot have negative values"),
    (lambda x: torch.unravel_index(T([1]), (0, 3)), ValueError, "no elements"),
    (lambda x: torch.zeros(2, 3, 3).fill_diagonal_(1), RuntimeError, "all dimensions of input must be of equal length"),
    (lambda x: torch.zeros(3).fill_diagonal_(1), RuntimeError, "dimensions must larger than 1"),
    (
        lambda x: torch.zeros(3).expand(2, 3).index_put_((T([0]),), T(1.0)),
        RuntimeError,
        "more than one element of the written-to tensor refers to a single memory location",
    ),
    (
        lambda x: torch.zeros(3).expand(2, 3).__setitem__(slice(None), 1.0),
        RuntimeError,
        "more than one element of the written-to tensor",
    ),
    (lambda x: (x + 0j).scatter_reduce(0, T([[0]]), x + 0j, "amax"), NotImplementedError, "amax"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    call, kind, text = ERRORS[case]
    x = grid(2, 3, dtype=torch.float32)
    with pytest.raises(kind) as e:
        call(x)
    assert text in str(e.value)
    same(x, np.arange(6).reshape(2, 3))


def test_numbers_that_do_not_fit():
    for dtype, bad in [
        ("uint8", 300),
        ("uint8", -300),
        ("int8", 200),
        ("int64", float("nan")),
        ("int64", float("inf")),
        ("int32", 1e30),
        ("float32", 1e300),
        ("float64", 1j),
    ]:
        x = torch.zeros(2, dtype=getattr(torch, dtype))
        for write in (
            lambda: x.__setitem__(0, bad),
            lambda: x.__setitem__(T([0]), bad),
            lambda: x.masked_fill_(T([True, False]), bad),
            lambda: x.scatter_(0, T([0]), bad),
            lambda: x.index_fill_(0, T([0]), bad),
        ):
            with pytest.raises(RuntimeError):
                write()
        same(x, [0, 0])
    x = torch.zeros(2, dtype=torch.uint8)
    x[0] = -1
    assert x.tolist() == [255, 0]
    x = torch.zeros(4, dtype=torch.int64)
    x[0], x[1], x[2] = -1.5, True, 1 + 0j
    assert x.tolist() == [-1, 1, 1, 0]


def test_read_only_memory():
    a = np.arange(6.0).reshape(2, 3)
    a.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.from_numpy(a)
    same(x[T([1, 0])], a[[1, 0]])
    for write in (
        lambda: x.__setitem__(0, 1.0),
        lambda: x.__setitem__((0, 0), 1.0),
        lambda: x.__setitem__(T([0]), 1.0),
        lambda: x.masked_fill_(x > 0, 1.0),
        lambda: x.fill_diagonal_(1.0),
        lambda: x.scatter_(0, T([[0]]), 1.0),
    ):
        with pytest.raises(RuntimeError, match="read-only"):
            write()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 1000])
def test_one_bad_index_among_good_ones(n):
    x = torch.arange(5.0)
    for place in {0, n // 2, n - 1}:
        for bad in (5, -6, 2**62, -(2**62), 2**63 - 1, -(2**63)):
            index = torch.arange(n) % 5
            index[place] = bad
            for call in (
                lambda i=index: x[i],
                lambda i=index: x.index_put_((i,), T(9.0)),
                lambda i=index: torch.zeros(5).index_put_((i,), torch.ones(n), accumulate=True),
            ):
                with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
                    call()
    same(x, np.arange(5.0))


def test_small_floats_take_every_number():
    """x[...] = number rounds to float16 and its like, to infinity where it must; wider dtypes refuse it."""
    for dtype in (torch.float16, torch.float8_e5m2):
        for key in (0, slice(0, 2), T([0, 2]), T([True, False, True])):
            x = torch.ones(3).to(dtype)
            x[key] = -1e9
            assert x.tolist()[0] == -math.inf and x.tolist().count(1.0) == 3 - x[key].numel()
    assert torch.ones(2, 2, dtype=torch.float16).fill_diagonal_(-1e9).tolist() == [[-math.inf, 1], [1, -math.inf]]
    x = torch.ones(3, dtype=torch.bfloat16)
    x[x > 0] = -1e300
    assert x.tolist() == [-math.inf] * 3
    for dtype, value in ((torch.float32, 1e300), (torch.complex64, 1e300), (torch.int8, 300), (torch.float16, 1j)):
        x = torch.ones(3, dtype=dtype)
        for key in (0, slice(0, 2), T([0, 2])):
            with pytest.raises(RuntimeError, match="without overflow"):
                x[key] = value
        assert x.tolist() == [1] * 3


def test_a_value_of_another_shape_and_dtype_is_refused_for_its_shape():
    x = torch.arange(4)
    for index in (x > -1, torch.tensor([0, 1, 2])):
        with pytest.raises(RuntimeError, match="shape mismatch"):
            x[index] = torch.ones(2, dtype=torch.float64)
