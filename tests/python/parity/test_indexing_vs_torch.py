"""Indexing against PyTorch itself, where it is installed: results, dtypes, strides and error texts."""

import warnings

import numpy as np
import pytest
import strided

torch = pytest.importorskip("torch")

READS = [
    "x[0]",
    "x[-1, 2]",
    "x[1:, ::2]",
    "x[None, 0]",
    "x[0, None]",
    "x[..., None]",
    "x[:, None, 1]",
    "x[True]",
    "x[False]",
    "x[0, True]",
    "x[True, True]",
    "x[m.tensor([1, 0])]",
    "x[:, m.tensor([1, 0])]",
    "x[m.tensor([1, 0]), m.tensor([0, 2])]",
    "x[m.tensor([0]), None]",
    "x[[0, 1], None, [0, 1]]",
    "x[0, [1, 2]]",
    "x[[0, 1], :, None]",
    "x[m.tensor(True)]",
    "x[m.tensor(1)]",
    "x[[]]",
    "x[[0, 1]]",
    "x[[True, False]]",
    "x[x > 2]",
    "x[x.sum(1) > 3]",
    "x[m.tensor([[0, 1], [1, 0]])]",
    "x[[[0, 1], [0, 1]]]",
    "x[[slice(0, 1)]]",
    "x[[None]]",
    "x[[m.tensor(0), m.tensor(1)]]",
    "x[range(2)]",
    "x.view(2, 3, 1)[[0, 1], :, [0, 0]]",
    "x.t()[m.tensor([2, 0])]",
    "x.index_select(1, m.tensor([2, 0]))",
    "x.index_select(0, m.tensor(1))",
    "x.gather(1, m.tensor([[0, 1, 2, 0], [0, 0, 0, 0]]))",
    "x.gather(0, m.empty(0, dtype=m.long))",
    "x.scatter(0, m.tensor([[0, 1, 1], [1, 0, 1]]), x, reduce='add')",
    "x.scatter_reduce(0, m.tensor([[0, 1, 1], [1, 0, 1]]), x, 'mean', include_self=False)",
    "x.long().scatter_reduce(0, m.tensor([[0, 1, 1], [1, 0, 1]]), -x.long(), 'mean')",
    "x.scatter_reduce(0, m.tensor([[0, 1, 1], [1, 0, 1]]), -x, 'min')",
    "x.scatter_reduce(0, m.tensor([[0, 1, 1], [1, 0, 1]]), -x, 'max', include_self=False)",
    "m.sparse.mm(x.to_sparse_csr(), -x.t(), 'max')",
    "m.sparse.mm(x.to_sparse_csr(), -x.t(), 'min')",
    "x.index_add(0, m.tensor([0, 0]), x, alpha=2)",
    "x.long().index_add(0, m.tensor([0, 1]), x.long(), alpha=2)",
    "x.bool().index_add(0, m.tensor([0, 1]), x.bool())",
    "x.index_reduce(0, m.tensor([0, 0]), x, 'mean')",
    "x.index_reduce(0, m.tensor([0, 0]), x, 'amax', include_self=False)",
    "x.take(m.tensor([[0, -1]]))",
    "m.take_along_dim(x, m.tensor([[0]]), 0)",
    "m.where(x > 2, x, 0)",
    "m.where(x > 2, x.long(), 0.5)",
    "m.where(x > 2, 1, 0)",
    "m.where(x > 2, x, m.tensor(1j))",
    "m.where(x > 2, m.tensor(1., dtype=m.float64), x)",
    "m.where(x.t() > 2, x.t(), 0)",
    "m.nonzero(x)",
    "m.nonzero(m.tensor(1.))",
    "m.argwhere(x)",
    "x.masked_fill(m.tensor([True, False, True]), 5)",
    "x.masked_select(x > 1)",
    "x.masked_scatter(x > 2, m.tensor([1., 2., 3., 4.]))",
    "m.unravel_index(m.tensor([7, -1]), (2, 3))[1]",
    "m.zeros(7, 3).fill_diagonal_(9, wrap=True)",
    "x.index_put((m.tensor([0, 0]),), m.tensor([1., 2., 3.]), accumulate=True)",
    "x.put(m.tensor([0, 0]), m.tensor([1., 2.]), accumulate=True)",
    "x.half().scatter_add(0, m.tensor([[0, 0, 0]]), x.half())",
    "m.nonzero(x, as_tuple=True)[0]",
    "x[..., 0]",
    "x[0:0]",
    "x[5:]",
    "x[1, ...]",
    "x[np.array([1, 0], dtype=np.uint8)]",
    "x[np.array(1, dtype=np.uint8)]",
    "x[np.array([])]",
    "x[:0, np.array([])]",
]
WRITES = [
    "x[0] = 1",
    "x[:, 1] = m.tensor([7, 8])",
    "x[0] = m.zeros(1, 1, 3)",
    "x[x > 2] = -1",
    "x[x > 2] = m.tensor([1., 2., 3.])",
    "x[m.tensor([0, 1]), 1:] = 5",
    "x[1:, m.tensor([0, 2])] = 9",
    "x[...] = 3",
    "x[True] = 2",
    "x[False] = 2",
    "x[[0, 1], [1, 2]] = m.tensor([1., 2.])",
    "x[0, None] = m.tensor([1., 2., 3.])",
    "x[1:] = x[:1]",
    "x[m.tensor([1, 1])] = 4",
    "x[0] += 1",
    "x[:, 0] = True",
    "x.scatter_(1, m.tensor([[0], [2]]), -1)",
    "x.masked_fill_(x > 3, 0)",
    "x.index_fill_(1, m.tensor([-1]), 8)",
    "x[0, 1] = m.tensor([[5.]])",
    "x[x > 2] = m.tensor(7.5, dtype=m.float64)",
    "x[x > 2] = m.tensor([7])",
    "x[:, m.tensor([True, False, True])] = m.tensor([[7.5]], dtype=m.float64)",
    "x[1:] = m.tensor([1, 2, 3])",
    "x[True] = m.tensor([[[7.0, 8.0, 9.0]]], dtype=m.float64)",
    "x[False] = m.ones(5, dtype=m.float64)",
]
ERRORS = [
    "x[5]",
    "x[0, 5]",
    "x[0, 0, 0]",
    "x[m.tensor([5])]",
    "x[m.tensor([[0, 1]]), m.tensor([0, 1, 2])]",
    "x[m.tensor([True, False, True])]",
    "x[:, m.tensor([True, False])]",
    "x[1.0]",
    "x[::0]",
    "m.tensor(1.)[0]",
    "m.tensor(1.)[:]",
    "x[m.tensor([1.])]",
    "x[1:2.5]",
    "x[{}]",
    "x.__setitem__(0, 'a')",
    "x.__setitem__(0, m.zeros(4))",
    "x.__setitem__(m.tensor([0, 1]), m.zeros(4))",
    "x.__setitem__(x > 0, m.zeros(3))",
    "x.__setitem__(0, 1j)",
    "x.__setitem__(0, None)",
    "x.__setitem__(9, None)",
    "x.__setitem__(False, None)",
    "x.__setitem__((0, 0, 0), 'a')",
    "x.expand(3, 2, 4)",
    "x.expand(-1, 2, 3)",
    "x.__delitem__(0)",
    "x.index_select(0, m.tensor([[0]]))",
    "x.index_select(2, m.tensor([0]))",
    "x.gather(0, m.tensor([0]))",
    "x.gather(1, m.tensor([[0], [0], [0]]))",
    "x.scatter(0, m.tensor([[0, 1, 2, 2]]), 1.)",
    "x.scatter(0, m.tensor([[0, 1]]), m.tensor([[1.]]))",
    "x.scatter_reduce(0, m.tensor([[0]]), x, 'add')",
    "x.index_add(0, m.tensor([0]), x)",
    "x.index_add(0, m.tensor([0, 1]), x.double())",
    "x.index_copy(0, m.tensor([5, 0]), x)",
    "x.index_copy(0, m.tensor([0]), x)",
    "x.index_fill(0, m.tensor([[0]]), 5)",
    "x.index_fill(0, m.tensor([5]), 5)",
    "x.take(m.tensor([0, 6]))",
    "x.take(m.tensor([0.]))",
    "m.take_along_dim(x, m.tensor([0]), 1)",
    "x.masked_select(m.tensor([1, 0, 1]))",
    "x.masked_fill(m.tensor([True, False, True]), m.tensor([5.]))",
    "x.masked_scatter(m.tensor([True, False, True]), m.tensor([1., 2., 3.]))",
    "m.where(x.long(), x, 0)",
    "m.unravel_index(m.tensor([1.]), (2, 3))",
    "m.zeros(3).fill_diagonal_(9)",
    "x.index_put((m.tensor([0]),), m.zeros(4))",
    "x.index_put((m.tensor([0]),), m.zeros(3, dtype=m.float64))",
    "x.__setitem__([1], m.zeros(3, dtype=m.float64))",
    "x.__setitem__(m.tensor([1]), m.tensor(2))",
    "x.__setitem__(x > 2, m.zeros(3).long())",
    "x.long().__setitem__((m.tensor([0]), m.tensor([1])), m.zeros(1))",
    "x.long().__setitem__(0, float('nan'))",
    "m.zeros(2, dtype=m.int8).__setitem__(0, 200)",
]


def run(module, code):
    x = module.arange(6, dtype=module.float32).reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code, {"m": module, "x": x, "np": np})


@pytest.mark.parametrize("code", READS)
def test_same_result(code):
    ours, theirs = run(strided, code), run(torch, code)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("code", WRITES)
def test_same_write(code):
    results = []
    for m in (strided, torch):
        x = m.arange(6, dtype=m.float32).reshape(2, 3)
        exec(code, {"m": m, "x": x})
        results.append(x.tolist())
    assert results[0] == results[1]


@pytest.mark.parametrize("code", ERRORS)
def test_same_error(code):
    with pytest.raises(Exception) as theirs:
        run(torch, code)
    with pytest.raises(type(theirs.value)) as ours:
        run(strided, code)
    first = str(theirs.value).split("\n")[0]
    assert first in str(ours.value)


@pytest.mark.parametrize(
    "key",
    [
        "x[1:, ::2]",
        "x[None, 0]",
        "x[:, None]",
        "x[..., None]",
        "x[0, None]",
        "x[None]",
        "x[1]",
        "x[:, 1]",
        "x[5:]",
        "x[:, 1:1]",
        "x.t()[[2, 0]]",
        "x.t()[:, [1, 0]]",
        "x.t()[m.tensor([[0, 1], [2, 2]]), None]",
        "x.t()[[True, False, True]]",
        "x.t()[None, [True, False, True]]",
        "x.view(1, 2, 3).transpose(1, 2)[..., [1, 0, 1]]",
        "x.view(1, 2, 3).permute(2, 1, 0)[[0, 1], :, [0, 0]]",
        "x[:, ::2][[1, 1]]",
        "x[:1].expand(4, 3)[[1, 2]]",
    ],
)
def test_same_strides(key):
    ours, theirs = run(strided, key), run(torch, key)
    assert tuple(ours.stride()) == theirs.stride() and ours.storage_offset() == theirs.storage_offset()


def test_gradients():
    rng = np.random.default_rng(0)
    a, v = rng.random((3, 4)), rng.random((2, 4))
    grads = []
    for m in (strided, torch):
        x, w = m.tensor(a, requires_grad=True), m.tensor(v, requires_grad=True)
        y = x * 2
        y[m.tensor([2, 0])] = w
        y[1, ::2] = w[0, :2]
        z = m.where(y > 0.5, y, 0 * y)[m.tensor([0, 0, 1])].gather(1, m.tensor([[3, 0], [1, 1], [2, 2]]))
        z = z.index_add(0, m.tensor([1, 1]), w[:, :2]).masked_fill(z < 0.1, 0)
        (z * z).sum().backward()
        grads.append((x.grad.numpy(), w.grad.numpy()))
    for ours, theirs in zip(*grads):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("name", ["index_put", "index_put_"])
def test_masks_of_bytes_warn(name):
    for m in (strided, torch):
        x, mask = m.zeros(3, 2), m.tensor([1, 0, 1], dtype=m.uint8)
        with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
            made = getattr(x, name)((mask,), m.ones(2, 2))
        assert made.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_no_index_to_put_by():
    for m in (strided, torch):
        with pytest.raises(RuntimeError):
            m.ones(()).index_put([], m.tensor([1.0]), True)


@pytest.mark.parametrize("key", ["...", "()", ":", ":, :", "0:2", "0", "None", "True", "False"])
def test_names_of_what_is_read_and_written(key):
    seen = []
    for m in (strided, torch):
        x = m.ones(2, 3, requires_grad=True)
        y = x * 1
        exec(f"y[{key}] = m.tensor([2.0, 3.0, 4.0])", {"m": m, "y": y})
        z = y if key in ("True", "False") else eval(f"x[{key}]", {"x": x})
        y.sum().backward()
        seen.append([type(y.grad_fn).__name__, type(z.grad_fn).__name__, y._version, x.grad.tolist()])
    assert seen[0] == seen[1]
