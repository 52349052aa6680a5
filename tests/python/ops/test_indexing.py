"""Reading and writing by index and by mask, against NumPy and literal values."""

import itertools
import random

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
