"""Joining, repeating and rearranging, against NumPy and literal values; gradients; errors."""

import itertools

import numpy as np
import pytest
import strided as torch

RNG = np.random.default_rng(0)


def same(got, expected, dtype=None):
    expected = np.asarray(expected)
    assert tuple(got.shape) == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)
    if dtype is not None:
        assert got.dtype == dtype


def pair(*shape):
    a = RNG.integers(0, 100, shape).astype(np.float64)
    return a, torch.from_numpy(a.copy())


# ---------------------------------------------------------------- cat, stack and their forms


@pytest.mark.parametrize(
    "shape, axis", [((2, 3), 0), ((2, 3), 1), ((2, 3), -1), ((4,), 0), ((2, 0, 3), 1), ((2, 3, 4), 2)]
)
def test_cat_and_stack(shape, axis):
    a, x = pair(*shape)
    b, y = pair(*shape)
    same(torch.cat([x, y, x], axis), np.concatenate([a, b, a], axis))
    same(torch.concat((x, y), dim=axis), np.concatenate([a, b], axis))
    same(torch.concatenate((x, y), axis=axis), np.concatenate([a, b], axis))
    for k in range(-a.ndim - 1, a.ndim + 1):
        same(torch.stack([x, y, y], k), np.stack([a, b, b], k))


def test_cat_of_views():
    a, x = pair(4, 6)
    same(torch.cat([x.t(), x.t()[:, ::2]], 1), np.concatenate([a.T, a.T[:, ::2]], 1))
    same(torch.cat([x[:1].expand(3, 6), x]), np.concatenate([np.broadcast_to(a[:1], (3, 6)), a]))
    assert torch.cat([x.t(), x.t()]).stride() == (4, 1)


def test_cat_promotes():
    i, f = torch.tensor([1, 2]), torch.tensor([0.5])
    same(torch.cat([i, f]), [1, 2, 0.5], torch.float32)
    assert torch.cat([i, torch.tensor([True])]).dtype == torch.int64
    assert torch.cat([torch.zeros(1, dtype=torch.float16), torch.zeros(1, dtype=torch.bfloat16)]).dtype == torch.float32
    assert torch.stack([torch.tensor(1), torch.tensor(1.5)]).dtype == torch.float32
    assert torch.cat([i, torch.tensor([1j])]).dtype == torch.complex64


def test_cat_skips_empty_vectors():
    x = torch.ones(2, 3)
    same(torch.cat([torch.zeros(0), x, torch.zeros(0)], 1), np.ones((2, 3)))
    assert torch.cat([torch.zeros(0), torch.zeros(0)]).shape == (0,)
    assert torch.cat([torch.zeros(0, dtype=torch.float64), x]).dtype == torch.float64


def test_cat_into_out():
    out = torch.empty(0)
    x = torch.ones(2)
    assert torch.cat([x, x], out=out) is out
    assert out.tolist() == [1, 1, 1, 1]
    whole = torch.zeros(3, 2)
    torch.stack([x, x], out=whole[1:])
    assert whole.tolist() == [[0, 0], [1, 1], [1, 1]]


@pytest.mark.parametrize("name", ["hstack", "vstack", "row_stack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_stacks(name, shape):
    if name == "column_stack" and shape == ():
        same(torch.column_stack([torch.tensor(1), torch.tensor(2)]), [[1, 2]])
        return
    a, x = pair(*shape)
    b, y = pair(*shape)
    same(getattr(torch, name)([x, y]), getattr(np, "vstack" if name == "row_stack" else name)([a, b]))


def test_block_diag():
    same(
        torch.block_diag(torch.tensor([[1, 2], [3, 4]]), torch.tensor([5, 6]), torch.tensor(7)),
        [[1, 2, 0, 0, 0], [3, 4, 0, 0, 0], [0, 0, 5, 6, 0], [0, 0, 0, 0, 7]],
        torch.int64,
    )
    assert torch.block_diag(torch.zeros(0), torch.ones(1, 1)).tolist() == [[0], [1]]
    assert torch.block_diag(torch.ones(1), torch.tensor([[1.5]], dtype=torch.float64)).dtype == torch.float64


# ---------------------------------------------------------------- grids and choices


@pytest.mark.parametrize("indexing", ["ij", "xy"])
@pytest.mark.parametrize("lengths", [(3,), (2, 3), (4, 3, 2), (2, 0)])
def test_meshgrid(indexing, lengths):
    axes = [np.arange(n) * 10**k for k, n in enumerate(lengths)]
    got = torch.meshgrid(*map(torch.from_numpy, axes), indexing=indexing)
    for g, want in zip(got, np.meshgrid(*axes, indexing=indexing), strict=True):
        same(g, want)
    assert isinstance(got, tuple)
    for g, want in zip(torch.meshgrid(list(map(torch.from_numpy, axes)), indexing=indexing), got, strict=True):
        assert g.tolist() == want.tolist() and g.stride() == want.stride()


def test_meshgrid_gives_views():
    x = torch.arange(3)
    a, b = torch.meshgrid(x, torch.arange(2))
    assert a.stride() == (1, 0) and a.data_ptr() == x.data_ptr()


def test_products_and_combinations():
    a, b = [1, 2, 3], [4, 5]
    same(torch.cartesian_prod(torch.tensor(a), torch.tensor(b)), list(itertools.product(a, b)))
    x = torch.tensor(a)
    assert torch.cartesian_prod(x) is x
    for n, r in itertools.product(range(6), range(1, 5)):
        items = list(range(10, 10 + n))
        x = torch.tensor(items, dtype=torch.int64)
        for again, make in ((False, itertools.combinations), (True, itertools.combinations_with_replacement)):
            want = np.array(list(make(items, r)), dtype=np.int64).reshape(-1, r)
            same(torch.combinations(x, r, again), want)
    assert torch.combinations(torch.arange(3), 0).shape == (0,)


# ---------------------------------------------------------------- repeated


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (0, 2)])
@pytest.mark.parametrize("reps", [(2,), (1, 2), (3, 1, 2), (2, 2, 2), (0, 1, 2)])
def test_tile(shape, reps):
    a, x = pair(*shape)
    same(torch.tile(x, reps), np.tile(a, reps))
    same(x.tile(*reps), np.tile(a, reps))
    if len(reps) >= len(shape):
        same(x.repeat(reps), np.tile(a, reps))
        same(
            x.mT.repeat(reps) if len(shape) >= 2 else x.repeat(reps),
            np.tile(np.swapaxes(a, -1, -2) if len(shape) >= 2 else a, reps),
        )


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_repeat_interleave(axis):
    a, x = pair(2, 3)
    same(x.repeat_interleave(2, axis), np.repeat(a, 2, axis))
    same(torch.repeat_interleave(x, 0, dim=axis), np.repeat(a, 0, axis))
    n = 6 if axis is None else a.shape[axis]
    counts = RNG.integers(0, 4, n)
    same(x.repeat_interleave(torch.from_numpy(counts), axis), np.repeat(a, counts, axis))
    same(x.t().repeat_interleave(1, axis), np.repeat(a.T, 1, axis))
    assert not x.repeat_interleave(1, 0).data_ptr() == x.data_ptr()


def test_repeat_interleave_alone():
    same(torch.repeat_interleave(torch.tensor([1, 0, 2])), [0, 2, 2], torch.int64)
    same(torch.repeat_interleave(torch.tensor([1, 2], dtype=torch.int32), output_size=3), [0, 1, 1], torch.int32)
    same(torch.tensor([5.0]).repeat_interleave(torch.tensor(3)), [5, 5, 5])


# ---------------------------------------------------------------- rearranged


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (3, 0), (2, 3, 4)])
def test_roll(shape):
    a, x = pair(*shape)
    for shift in (-7, -1, 0, 1, 2, 2**40 + 1):
        same(x.roll(shift), np.roll(a, shift))
        for axis in range(len(shape)):
            same(torch.roll(x, shift, axis), np.roll(a, shift, axis))
    if len(shape) == 3:
        same(torch.roll(x, (1, -2, 3), (0, 2, 0)), np.roll(a, (1, -2, 3), (0, 2, 0)))


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 0), (2, 3, 4)])
def test_flip_and_rot90(shape):
    a, x = pair(*shape)
    for n in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), n):
            same(x.flip(axes), np.flip(a, axes))
    if len(shape) >= 2:
        same(torch.fliplr(x), np.fliplr(a))
        for k in range(-5, 6):
            same(torch.rot90(x, k), np.rot90(a, k))
            same(x.rot90(k, (-1, 0)), np.rot90(a, k, (-1, 0)))
    same(torch.flipud(x), np.flipud(a))
    y = x.flip(0)
    assert y.stride() == x.stride()
    if x.numel():
        assert y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.int8, torch.float16, torch.float32, torch.complex64, torch.complex128]
)
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (2, 3, 4), (0, 3), (3, 0), (2, 2, 3, 3)])
def test_triangles(shape, dtype):
    x = torch.arange(1, int(np.prod(shape)) + 1).reshape(shape).to(dtype)
    a = x.numpy()
    for k in (-100, -2, -1, 0, 1, 3, 2**62):
        small = max(min(k, 50), -50)
        same(torch.tril(x, k), np.tril(a, small), dtype)
        same(x.triu(diagonal=k), np.triu(a, small), dtype)
        y = x.clone()
        assert y.tril_(k) is y
        same(y, np.tril(a, small))
        y = x.clone().mT
        y.triu_(k)
        same(y, np.triu(np.swapaxes(a, -1, -2), small))
    base = torch.ones(4, 4)
    base[1:, 1:].triu_(1)
    assert base.tolist() == [[1, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 0, 0]]


def test_large_triangle():
    a, x = pair(700, 300)
    same(x.tril(5), np.tril(a, 5))
    same(x.t().triu(-7), np.triu(a.T, -7))


def test_diagonals():
    for k in (-2, 0, 1):
        same(torch.diag(torch.tensor([1, 2]), k), np.diag([1, 2], k))
        same(torch.diagflat(torch.tensor([[1, 2], [3, 4]]), k), np.diagflat([[1, 2], [3, 4]], k))
        a, x = pair(3, 4)
        same(x.diag(k), np.diag(a, k))
    assert x.diag().stride() == (1,) and x.diag().data_ptr() != x.data_ptr()
    y = torch.tensor([[1, 2], [3, 4]])
    same(torch.diag_embed(y), [[[1, 0], [0, 2]], [[3, 0], [0, 4]]])
    same(torch.diag_embed(y, 1, 0, 2), [[[0, 1, 0], [0, 3, 0]], [[0, 0, 2], [0, 0, 4]], [[0, 0, 0], [0, 0, 0]]])
    for d1, d2 in ((0, 1), (2, 0), (-1, 1)):
        same(torch.diag_embed(y, -1, d1, d2).diagonal(-1, d1, d2), y.numpy())


def test_replaced_in_part():
    x = torch.zeros(2, 3)
    same(x.select_scatter(torch.ones(3), 0, -1), [[0, 0, 0], [1, 1, 1]])
    same(x.slice_scatter(torch.ones(2, 2), 1, 0, 3, 2), [[1, 0, 1], [1, 0, 1]])
    same(x.slice_scatter(torch.ones(2, 3)), np.ones((2, 3)))
    same(x.diagonal_scatter(torch.ones(2), 1), [[0, 1, 0], [0, 0, 1]])
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert x.select_scatter(torch.ones(3, dtype=torch.int32), 0, 0).dtype == torch.float32


# ---------------------------------------------------------------- gradients: every function here moves elements

MOVES = {
    "cat": lambda x: torch.cat([x, x[:1], torch.zeros(0, dtype=torch.float64)], 0),
    "stack": lambda x: torch.stack([x, x], 1),
    "hstack": lambda x: torch.hstack([x, x]),
    "vstack": lambda x: torch.vstack([x[0], x[1]]),
    "dstack": lambda x: torch.dstack([x, x]),
    "column_stack": lambda x: torch.column_stack([x[0], x[1]]),
    "block_diag": lambda x: torch.block_diag(x, x[0], x[0, 0]),
    "meshgrid": lambda x: torch.meshgrid(x[0], x[:, 0])[0],
    "cartesian_prod": lambda x: torch.cartesian_prod(x[0], x[:, 0]),
    "combinations": lambda x: torch.combinations(x[0], 2),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "tile": lambda x: x.tile(2),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "repeat_interleave_tensor": lambda x: x.repeat_interleave(torch.tensor([1, 0, 2]), 1),
    "roll": lambda x: x.roll((1, -1), (0, 1)),
    "flip": lambda x: x.flip(0, 1),
    "rot90": lambda x: x.rot90(),
    "rot270": lambda x: x.rot90(3),
    "tril": lambda x: x.tril(),
    "triu": lambda x: x.triu(1),
    "tril_": lambda x: (x * 1).tril_(),
    "diag": lambda x: x.diag(1),
    "diag_matrix": lambda x: torch.diag(x[0], -1),
    "diagflat": lambda x: torch.diagflat(x),
    "diag_embed": lambda x: torch.diag_embed(x, 1, 0, 1),
    "select_scatter": lambda x: x.select_scatter(x[1] * 1, 0, 0),
    "slice_scatter": lambda x: x.slice_scatter(x[:, :2] * 1, 1, 1),
    "diagonal_scatter": lambda x: x.diagonal_scatter(x[0, :2] * 1),
}


@pytest.mark.parametrize("name", MOVES)
def test_gradient(name):
    """The functions are linear, with 0 or 1 as coefficients: their matrix is read off unit vectors. Second order
    through squares."""
    move = MOVES[name]
    units = [move(torch.from_numpy(np.eye(6)[i].reshape(2, 3))).numpy().ravel() for i in range(6)]
    matrix = np.array(units).T  # elements of the result x elements of the input
    rng = np.random.default_rng(0)
    a, u = rng.normal(size=6), rng.normal(size=6)
    x = torch.tensor(a).reshape(2, 3).requires_grad_()
    y = move(x)
    w = rng.normal(size=y.numel())
    weights = torch.tensor(w).reshape(y.shape)
    (g,) = torch.autograd.grad((y * y * weights).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy().ravel(), 2 * matrix.T @ (w * (matrix @ a)), atol=1e-12)
    (g * torch.tensor(u).reshape(2, 3)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy().ravel(), 2 * matrix.T @ (w * (matrix @ u)), atol=1e-12)


def test_gradients_reach_every_input():
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, dtype=torch.float64, requires_grad=True)
    z = torch.cat([x, torch.zeros(1), y])
    (z * torch.arange(6.0)).sum().backward()
    assert x.grad.tolist() == [0, 1] and x.grad.dtype == torch.float32
    assert y.grad.tolist() == [3, 4, 5] and y.grad.dtype == torch.float64
    s = torch.zeros(2, 2, requires_grad=True)
    src = torch.ones(2, requires_grad=True)
    s.select_scatter(src, 0, 1).sum().backward()
    assert s.grad.tolist() == [[1, 1], [0, 0]] and src.grad.tolist() == [1, 1]


def test_names_in_the_graph():
    x = torch.ones(2, 2, requires_grad=True)
    for name, y in {
        "CatBackward0": torch.cat([x, x]),
        "StackBackward0": torch.stack([x, x]),
        "RepeatBackward0": x.repeat(2, 2),
        "RollBackward0": x.roll(1, 0),
        "FlipBackward0": x.flip(0),
        "Rot90Backward0": x.rot90(),
        "TrilBackward0": x.tril(),
        "DiagEmbedBackward0": torch.diag_embed(x),
        "SelectScatterBackward0": x.select_scatter(x[0], 0, 0),
    }.items():
        assert y.grad_fn.name() == name


# ---------------------------------------------------------------- errors

M = torch.arange(6.0).reshape(2, 3)
V = torch.arange(5.0)
Z = torch.tensor(1.0)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: torch.cat([]), ValueError, "torch.cat(): expected a non-empty list of Tensors"),
        (
            lambda: torch.cat([torch.zeros(2, 2), torch.zeros(1, 2)], 1),
            RuntimeError,
            "Sizes of tensors must match except in dimension 1. Expected size 2 but got size 1 for tensor number 1 in the list.",
        ),
        (lambda: torch.cat([M, V]), RuntimeError, "Tensors must have same number of dimensions: got 2 and 1"),
        (lambda: torch.cat([M, Z]), RuntimeError, "zero-dimensional tensor (at position 1) cannot be concatenated"),
        (
            lambda: torch.cat([M, M], 2),
            IndexError,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        ),
        (lambda: torch.cat([torch.zeros(1).expand(2**58), torch.zeros(1).expand(2**58)]), RuntimeError, "does not fit"),
        (lambda: torch.cat([torch.zeros(1).expand(2**58)] * 40), RuntimeError, "too large"),
        (lambda: torch.stack([]), RuntimeError, "stack expects a non-empty TensorList"),
        (
            lambda: torch.stack([torch.zeros(2), torch.zeros(3)]),
            RuntimeError,
            "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1",
        ),
        (lambda: torch.stack([M, M], 3), IndexError, "[-3, 2], but got 3"),
        (lambda: torch.hstack([]), RuntimeError, "hstack expects a non-empty TensorList"),
        (
            lambda: torch.block_diag(M, torch.zeros(1, 1, 1)),
            RuntimeError,
            "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input 1 has 3 dimensions",
        ),
        (
            lambda: torch.meshgrid(V, V, indexing="ab"),
            RuntimeError,
            'indexing must be one of "xy" or "ij", but received: ab',
        ),
        (lambda: torch.meshgrid(V, V.double()), RuntimeError, "meshgrid expects all tensors to have the same dtype"),
        (lambda: torch.meshgrid(V, M), RuntimeError, "Expected 0D or 1D tensor"),
        (lambda: torch.meshgrid(*[V] * 65), RuntimeError, "at most 64"),
        (lambda: torch.meshgrid(*[V] * 64), RuntimeError, "does not fit"),
        (lambda: torch.cartesian_prod(V, M), RuntimeError, "Expect a 1D vector, but got shape [2, 3]"),
        (lambda: torch.combinations(V, -1), RuntimeError, "Expect a non-negative number, but got -1"),
        (lambda: torch.combinations(torch.arange(1000), 500), RuntimeError, "too many"),
        (
            lambda: M.repeat(2),
            RuntimeError,
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        ),
        (lambda: M.repeat(-1, 2), RuntimeError, "Trying to create tensor with negative dimension -2: [-2, 6]"),
        (lambda: M.repeat(2**62, 2**62), RuntimeError, "too large"),
        (lambda: M.repeat_interleave(-1), RuntimeError, "Repeats must be non-negative"),
        (lambda: M.repeat_interleave(2**62), RuntimeError, "too large"),
        (lambda: M.repeat_interleave(2, output_size=13), RuntimeError, "Invalid output_size, expected 12 but got 13"),
        (lambda: M.repeat_interleave(torch.tensor([1, -2]), 0), RuntimeError, "repeats can not be negative"),
        (
            lambda: M.repeat_interleave(torch.tensor([1, 2])),
            RuntimeError,
            "repeats must have the same size as input along dim, but got repeats.size(0) = 2 and input.size(0) = 6",
        ),
        (lambda: M.repeat_interleave(torch.tensor([[1, 2]]), 0), RuntimeError, "repeats must be 0-dim or 1-dim tensor"),
        (
            lambda: M.repeat_interleave(torch.tensor([1.0, 2.0]), 0),
            NotImplementedError,
            "\"repeat_interleave_cpu\" not implemented for 'Float'",
        ),
        (lambda: torch.repeat_interleave(torch.tensor([2**62, 2**62])), RuntimeError, "too large"),
        (lambda: M.roll((1, 1), (0,)), RuntimeError, "shifts and dimensions must align. shifts: 2, dims:1"),
        (lambda: M.roll(()), RuntimeError, "`shifts` required"),
        (lambda: Z.roll(1, 0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
        (lambda: M.flip(0, 0), RuntimeError, "dim 0 appears multiple times in the list of dims"),
        (lambda: V.fliplr(), RuntimeError, "Input must be >= 2-d."),
        (lambda: Z.flipud(), RuntimeError, "Input must be >= 1-d."),
        (
            lambda: M.rot90(1, (0, 0)),
            RuntimeError,
            "expected rotation dims to be different, but got dim0 = 0 and dim1 = 0",
        ),
        (lambda: M.rot90(1, (0,)), RuntimeError, "expected total rotation dims == 2, but got dims = 1"),
        (lambda: V.rot90(), RuntimeError, "expected total dims >= 2, but got total dims = 1"),
        (lambda: V.tril(), RuntimeError, "tril: input tensor must have at least 2 dimensions"),
        (lambda: torch.zeros(1, 3).expand(3, 3).tril_(), RuntimeError, "single memory location"),
        (lambda: torch.diag(torch.zeros(1, 1, 1)), RuntimeError, "diag(): Supports 1D or 2D tensors. Got 3D"),
        (lambda: torch.diag(V, 2**62), RuntimeError, "too large"),
        (lambda: torch.diag_embed(M, 0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical 0, 0"),
        (lambda: torch.diag_embed(Z), IndexError, "[-1, 0], but got -2"),
        (
            lambda: M.select_scatter(torch.ones(2), 0, 1),
            RuntimeError,
            "expected src to have a size equal to the slice of self. src size = [2], slice size = [3]",
        ),
        (lambda: M.slice_scatter(torch.ones(2, 2), 1, 0, 1, 0), RuntimeError, "slice step must be positive"),
        (lambda: M.select_scatter(torch.ones(3), 0, 5), IndexError, "select(): index 5 out of range"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
