"""Reading and writing by index and by mask, against NumPy and literal values."""

import itertools
import math
import random
import warnings

import numpy as np
import pytest
import strided as torch
from indexing_cases import T, grid, layouts, same

# ---------------------------------------------------------------- basic keys

BASIC = [
    0,
    -1,
    2,
    np.int64(1),
    slice(None),
    slice(1, 3),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(-1, None, -2),
    slice(3, 0, -1),
    slice(5, 1),
    slice(-100, 100),
    slice(None, -1),
    slice(2**70, None),
    slice(None, -(2**70), -1),
    None,
    Ellipsis,
    (),
    (0, 1),
    (0, slice(1, 3)),
    (Ellipsis, 0),
    (Ellipsis, slice(None, None, -1)),
    (None, 0),
    (0, None),
    (slice(None), None, 1),
    (Ellipsis, None),
    (None, Ellipsis, None),
    (0, Ellipsis, 1),
    (slice(1, None), slice(None, None, -1), slice(None, None, 3)),
    (1, 2, 3),
    (Ellipsis, 1, 2, 3),
    (1, 2, 3, Ellipsis),
    (slice(None), -1),
    (slice(None, None, -2), slice(3, None, -1)),
]


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic_keys_are_views(key):
    a = np.arange(4 * 5 * 6, dtype=np.float64).reshape(4, 5, 6)
    for x in layouts(a):
        same(x[key], a[key])
    x = T(a)
    view = x[key]
    assert view.untyped_storage() == x.untyped_storage()
    if view.numel():
        b = a.copy()
        b[key] = -1.0
        view.fill_(-1.0)
        same(x, b)


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic_assignment(key):
    a = np.arange(4 * 5 * 6, dtype=np.float64).reshape(4, 5, 6)
    for x in layouts(a):
        b = a.copy()
        b[key] = 7
        x[key] = 7
        same(x, b)
        values = np.random.default_rng(0).random(b[key].shape)
        b[key] = values
        x[key] = T(values)
        same(x, b)
        x[key] = values.tolist() if values.size > 1 else values  # a list of no lists would not tell its shape
        same(x, b)


def test_negative_step_is_a_view():
    x = grid(3, 4)
    r = x[::-1, ::2]
    assert r.stride() == (-4, 2) and r.storage_offset() == 8
    r[0, 1] = 100
    assert x[2, 2].item() == 100
    assert x[::-1][::-1].stride() == x.stride()
    assert torch.zeros(0)[::-1].shape == (0,)


def test_index_of_other_kinds():
    x = grid(3, 4)
    same(x[T(1)], x.numpy()[1])
    same(x[T(1), T(2)], x.numpy()[1, 2])
    same(x[T(1) : T(3)], x.numpy()[1:3])
    same(x[np.int32(1) : np.uint8(3)], x.numpy()[1:3])
    same(x[np.array(2)], x.numpy()[2])

    class Two:
        def __index__(self):
            return 2

    same(x[Two()], x.numpy()[2])
    same(x[:, Two() :], x.numpy()[:, 2:])


def test_bool_keys():
    a = np.arange(6.0).reshape(2, 3)
    x = T(a)
    for key in [True, False, (0, True), (True, 0), (True, True), (Ellipsis, True), (slice(None), False), np.True_]:
        expected = a[np.newaxis] if key is True or key is np.True_ else a[key] if not isinstance(key, tuple) else None
        if expected is None:
            expected = a[
                tuple(np.asarray(k) if isinstance(k, bool) else slice(k, k + 1) if type(k) is int else k for k in key)
            ]
            ints = [i for i, k in enumerate(key) if type(k) is int]
            if ints:
                expected = expected.reshape((1, 3))
        same(x[key], expected)
    same(x[T(True)], a[None])
    same(x[T(False)], a[:0][None].reshape(0, 2, 3))
    x[False] = 5
    same(x, a)
    x[True] = 5
    same(x, np.full((2, 3), 5.0))
    s = T(3.0)
    same(s[True], [3.0])
    same(s[...], 3.0)
    same(s[None], [3.0])
    s[...] = 4
    s[()] = s + 1
    assert s.item() == 5


# ---------------------------------------------------------------- advanced keys


def reference(a, key):
    """PyTorch's reading of a mixed key in terms of NumPy: ints and slices first, then the index arrays."""
    basic, advanced = [], []
    for k in key:
        if isinstance(k, np.ndarray):
            axes = k.ndim if k.dtype == bool else 1
            basic += [slice(None)] * axes
            advanced.append(k)
        elif k is Ellipsis:
            basic.append(k)
            advanced.append(k)
        else:
            basic.append(k)
            if not isinstance(k, int):
                advanced.append(slice(None))
    if Ellipsis not in basic:  # so that NumPy gives a view even when only ints are there
        basic.append(Ellipsis)
    return a[tuple(basic)], tuple(advanced)


def random_key(rng, shape):
    key, axis = [], 0
    count = int(rng.integers(1, len(shape) + 1))
    common = [(), (3,), (2, 3), (1, 3), (2, 1)][int(rng.integers(5))]
    while axis < count:
        n = shape[axis]
        kind = int(rng.integers(7))
        if kind == 0:
            key.append(int(rng.integers(-n, n)))
        elif kind == 1:
            start, stop = sorted(int(v) for v in rng.integers(-n, n + 1, 2))
            key.append(slice(start, stop, int(rng.integers(1, 3))))
        elif kind == 2:
            key.append(slice(None, None, -1))
        elif kind == 3:
            key.append(None)
            axis -= 1
        elif kind == 4 and axis + 1 < len(shape) and not any(isinstance(k, np.ndarray) for k in key):
            mask = rng.random(shape[axis : axis + 2]) < 0.4
            flat = np.flatnonzero(mask)
            if len(flat) > 3:  # so that it broadcasts against the other indices
                mask.flat[flat[3:]] = False
            else:
                mask.flat[:] = False
                mask.flat[rng.choice(mask.size, 3, replace=False)] = True
            key.append(mask)
            axis += 1
        elif kind >= 4:
            size = [s if rng.random() < 0.7 else 1 for s in common]
            key.append(np.asarray(rng.integers(-n, n, size)) if size else np.asarray(rng.integers(-n, n, (1,))))
        axis += 1
    if rng.random() < 0.3:
        key.append(Ellipsis)
    return key


@pytest.mark.parametrize("seed", range(150))
def test_random_mixtures(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(v) for v in rng.integers(2, 6, int(rng.integers(1, 5))))
    a = rng.random(shape)
    key = random_key(rng, shape)
    view, rest = reference(a, key)
    try:
        expected = view[rest]
    except IndexError:
        with pytest.raises(IndexError):
            T(a)[tuple(T(k) if isinstance(k, np.ndarray) else k for k in key)]
        return
    for x in layouts(a):
        with_tensors = tuple(T(k) if isinstance(k, np.ndarray) else k for k in key)
        same(x[with_tensors], expected)
        same(x[tuple(key)], expected)
        b = a.copy()
        target, rest = reference(b, key)
        # Distinct values only where the index does not repeat itself: NumPy leaves the winner open, here the last wins.
        values = rng.random(expected.shape[-1:]) if expected.ndim and rng.random() < 0.5 else rng.random()
        seen = np.zeros(shape, int)
        counts, _ = reference(seen, key)
        np.add.at(counts, rest, 1)
        if counts.size and counts.max() > 1:
            values = 0.25
        target[rest] = values
        x[with_tensors] = T(values) if not np.isscalar(values) else values
        same(x, b)


def test_placement_of_index_axes():
    x = torch.zeros(2, 3, 4, 5)
    i = T([[0, 1], [1, 0], [0, 0]])
    assert x[i].shape == (3, 2, 3, 4, 5)
    assert x[:, i].shape == (2, 3, 2, 4, 5)
    assert x[:, i, i].shape == (2, 3, 2, 5)
    assert x[i, :, i].shape == (3, 2, 3, 5)
    assert x[:, i, :, i].shape == (3, 2, 2, 4)
    assert x[..., i].shape == (2, 3, 4, 3, 2)
    assert x[i, None].shape == (3, 2, 1, 3, 4, 5)
    assert x[i, None, i].shape == (3, 2, 1, 4, 5)
    assert x[0, :, i].shape == (3, 3, 2, 5)  # an int is no advanced index, unlike NumPy's
    assert x[torch.ones(2, 3, dtype=torch.bool)].shape == (6, 4, 5)
    assert x[:, torch.ones(3, 4, dtype=torch.bool)].shape == (2, 12, 5)


def test_lists_and_arrays():
    a = np.arange(12.0).reshape(3, 4)
    x = T(a)
    same(x[[2, 0]], a[[2, 0]])
    same(x[[]], a[[]])
    same(x[[], []], a[[], []])
    same(x[:, []], a[:, []])
    same(x[[True, False, True]], a[[0, 2]])
    same(x[[0, 1], [1, 2]], a[[0, 1], [1, 2]])
    same(x[[[0, 1], [1, 0]], :], a[[[0, 1], [1, 0]], :])
    same(x[range(2)], a[:2])
    same(x[np.array([1, 2], dtype=np.int16)], a[1:])
    same(x[np.array([])], a[:0])
    same(x[a > 5], a[a > 5])
    same(x[np.array([[1], [0]]), np.array([0, 1])], a[[[1], [0]], [0, 1]])
    same(x[T([1, 2], dtype=torch.int32)], a[1:])
    with pytest.warns(UserWarning, match="uint8"):
        same(x[T([1, 0, 1], dtype=torch.uint8)], a[[0, 2]])
    with pytest.warns(UserWarning, match="uint8"):
        same(x[np.array([1, 0, 1], dtype=np.uint8)], a[[0, 2]])
    with pytest.warns(UserWarning, match="non-tuple"):
        same(x[[[0, 1], [1, 2]]], a[[0, 1], [1, 2]])


def test_large_gather_and_masks():
    rng = np.random.default_rng(1)
    a = rng.random(300_000).astype(np.float32)
    x = T(a)
    i = rng.integers(-len(a), len(a), 400_000)
    same(x[T(i)], a[i])
    for p in (0.0, 0.01, 0.5, 0.99, 1.0):
        mask = rng.random(len(a)) < p
        same(x[T(mask)], a[mask])
        same(torch.nonzero(T(mask))[:, 0], np.flatnonzero(mask))
        b, y = a.copy(), x.clone()
        b[mask] = a[mask] * 2
        y[T(mask)] = T(a[mask] * 2)
        same(y, b)
        y[T(mask)] = 0.5
        b[mask] = 0.5
        same(y, b)
    m = rng.random((700, 300))
    y = T(m)
    rows = rng.integers(0, 700, 2000)
    same(y[T(rows)], m[rows])
    columns = rng.integers(0, 300, 2000)
    same(y[:, T(columns)], m[:, columns])
    same(y.t()[T(columns)], m.T[columns])
    same(y[T(rows), T(columns)], m[rows, columns])
    mask2 = rng.random((700, 300)) < 0.3
    same(y[T(mask2)], m[mask2])
    same(y.t()[T(mask2.T.copy())], m.T[mask2.T])


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "uint8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
def test_every_item_size(dtype):
    t = getattr(torch, dtype)
    x = (torch.arange(24) % 7).to(t).reshape(4, 6)
    values = x.tolist()
    i, mask = T([3, 0, 3]), torch.arange(24).reshape(4, 6) % 3 == 0
    assert x[i].tolist() == [values[3], values[0], values[3]]
    assert x[:, i].tolist() == [[row[3], row[0], row[3]] for row in values]
    assert x[mask].tolist() == [v for k, v in enumerate(itertools.chain(*values)) if k % 3 == 0]
    assert x.t()[mask.t()].tolist() == x.t().contiguous()[mask.t().contiguous()].tolist()
    assert torch.where(mask, x, x[0, 1]).tolist() == [
        [v if (6 * r + c) % 3 == 0 else values[0][1] for c, v in enumerate(row)] for r, row in enumerate(values)
    ]
    y = x.clone()
    y[i] = x[1]
    assert y.tolist() == [values[1], values[1], values[2], values[1]]
    y[mask] = 1
    assert y[mask].tolist() == [torch.ones(1, dtype=t).item()] * 8
    assert torch.zeros(2, dtype=t).index_add(0, T([1, 1]), torch.ones(2, dtype=t)).tolist() == [
        0,
        1 if dtype == "bool" else 2,
    ]


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


def test_empty_dimensions():
    x = torch.zeros(0, 3)
    with pytest.raises(IndexError, match="index is out of bounds for dimension with size 0"):
        x[T([0])]
    with pytest.raises(IndexError):
        x[0]
    assert x[torch.empty(0, dtype=torch.long)].shape == (0, 3)
    assert x[:, T([0, 1])].shape == (0, 2)
    with pytest.raises(IndexError):
        x[:, T([5])]
    assert torch.zeros(2, 0)[T([1, 1, 1])].shape == (3, 0)
    assert x[torch.zeros(0, 3, dtype=torch.bool)].shape == (0,)
    assert torch.nonzero(x).shape == (0, 2)
    assert torch.zeros(3)[torch.zeros(3, dtype=torch.bool)].shape == (0,)
    x[torch.empty(0, dtype=torch.long)] = 3.0
    y = torch.ones(2)
    y[[]] = 5.0
    same(y, [1, 1])


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


def test_fuzz_of_slices():
    rng = random.Random(0)
    for _ in range(2000):
        n = rng.randrange(0, 6)
        a = np.arange(n)
        bound = [None, 0, 1, -1, 5, -7, 100, -100, 2**62, -(2**63), 2**63 - 1, 2**80, -(2**80)]
        key = slice(
            rng.choice(bound),
            rng.choice(bound),
            rng.choice([None, 1, 2, -1, -2, 7, -7, 2**62, -(2**63), 2**80, -(2**80)]),
        )
        same(T(a)[key], a[key])


@pytest.mark.parametrize("item", ["bool", "int8", "int16", "float32", "float64", "complex128"])
def test_lines_of_indices(item):
    """Reads and writes whose loops have steps of an item, of nothing, and of other sizes; with negative indices."""
    rng = np.random.default_rng(3)
    dtype = getattr(torch, item)
    a = (rng.integers(0, 100, (7, 9)) % (2 if item == "bool" else 100)).astype(item)
    for n in (1, 2, 7, 64, 1025):
        rows, columns = rng.integers(-7, 7, n), rng.integers(-9, 9, n)
        every = rng.permutation(np.arange(9)) - 9
        for x in layouts(a):
            same(x[T(rows), 0], a[rows, 0])
            same(x[2, T(columns)], a[2, columns])
            same(x[T(rows), T(columns)], a[rows, columns])
            same(x.gather(1, T(np.tile(columns % 9, (7, 1)))), np.tile(a[:, columns % 9], 1))
            b, value = a.copy(), a[0, 0]
            x[3, T(every)] = T(a[4])
            b[3, every] = a[4]
            x[T(rows), T(columns)] = T(value)
            b[rows, columns] = value
            x[T(rows), 1] = T(value)
            b[rows, 1] = value
            same(x, b)
            if item != "bool":
                x.index_put_((T(rows), T(columns)), torch.ones(n, dtype=dtype), accumulate=True)
                np.add.at(b, (rows, columns), np.ones((), item))
                same(x, b)


def test_places_just_before_the_first_element():
    """A reversed view of bytes, where the place of an index is -1."""
    x = torch.arange(6, dtype=torch.uint8).reshape(2, 3)[::-1, ::-1]
    at = (T([0, 1]), T([1, 2]))
    same(x[at], [4, 0])
    x[at] = T([70, 80], dtype=torch.uint8)
    same(x, [[5, 70, 3], [2, 1, 80]])
    x.index_put_(at, T([1, 2], dtype=torch.uint8), accumulate=True)
    same(x, [[5, 71, 3], [2, 1, 82]])


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


def test_bool_elements_that_are_not_0_or_1_are_true():
    """Bytes viewed as bool, which merging writes read as well."""
    base = torch.arange(6, dtype=torch.uint8)
    b = base.view(torch.bool)
    b.index_put_((torch.tensor([0, 2, 2]),), torch.tensor([False, False, True]), accumulate=True)
    assert b.tolist() == [False, True, True, True, True, True]
    added = torch.zeros(2, dtype=torch.bool).index_add(0, torch.tensor([0, 1]), b[[2, 5]])
    assert added.tolist() == [True, True]


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
