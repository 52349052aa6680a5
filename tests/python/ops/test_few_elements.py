"""The short ways of small calls give what the general ways give: few indices, iteration, parts of complex numbers."""

import copy
import gc
import operator
import pickle

import numpy as np
import pytest
import strided as torch

DTYPES = [
    torch.bool, torch.uint8, torch.int16, torch.float16, torch.bfloat16, torch.int32, torch.float32, torch.int64,
    torch.float64, torch.complex64, torch.complex128,
]  # fmt: skip


def _vectors(dtype):
    """Vectors of 10 elements in several layouts."""
    whole = torch.arange(40).to(dtype)
    yield whole[:10].clone()
    yield whole[3:13]
    yield whole[::4]
    yield whole.flip(0).as_strided((10,), (-2,), 39)
    yield whole.reshape(4, 10).T[:, 0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_few_indices_are_read_as_many_are(dtype):
    for x in _vectors(dtype):
        values = x.tolist()
        for index in ([], [3], [0, -1, 9, -10, 3, 3], [k % 10 for k in range(256)], [k % 10 - 5 for k in range(700)]):
            whole = torch.tensor(index * 2, dtype=torch.int64)
            for at in (whole[: len(index)].clone(), whole[len(index) :]):
                got = x[at]
                assert got.dtype == dtype and got.is_contiguous() and got.tolist() == [values[i] for i in index]
            apart = torch.tensor([[i, 7] for i in index], dtype=torch.int64).reshape(-1, 2)[:, 0]
            assert x[apart].tolist() == [values[i] for i in index]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_few_indices_are_written_as_many_are(dtype):
    for index in ([], [3], [0, -1, 5, 5], [k % 10 for k in range(256)], [k % 10 for k in range(300)]):
        at = torch.tensor(index, dtype=torch.int64)
        for x in _vectors(dtype):
            expected = x.tolist()
            new = (torch.arange(len(index)) % 7 + 50).to(dtype)
            for i, v in zip(index, new.tolist()):
                expected[i] = v
            version = x._version
            x[at] = new
            assert x.tolist() == expected and x._version == version + 1
            x[at] = torch.ones((), dtype=dtype)
            x[at.flip(0)] = 1
            for i in index:
                expected[i] = torch.ones((), dtype=dtype).item()
            assert x.tolist() == expected


def test_an_index_out_of_range_is_found_before_anything_is_written():
    x = torch.arange(5.0)
    for index in ([0, 5], [-6, 1], [2**40]):
        at = torch.tensor(index)
        with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 5"):
            x[at]
        for value in (7.0, torch.ones(()), torch.ones(len(index))):
            with pytest.raises(IndexError, match="out of bounds"):
                x[at] = value
    assert x.tolist() == [0, 1, 2, 3, 4] and x._version == 0


def test_values_in_the_memory_that_is_written_are_read_first():
    x = torch.arange(6.0)
    x[torch.tensor([1, 2, 3])] = x[:3]
    assert x.tolist() == [0, 0, 1, 2, 4, 5]
    i = torch.tensor([1, 2, 0, 3])
    i[i] = torch.tensor([9, 8, 7, 6])
    assert i.tolist() == [7, 9, 8, 6]
    i = torch.tensor([1, 2, 0])
    i[i] = 5
    assert i.tolist() == [5, 5, 5]


def test_few_indices_are_recorded_and_refused_as_many_are():
    x = torch.arange(4.0, requires_grad=True)
    at = torch.tensor([1, 1, 3])
    x[at].sum().backward()
    assert x.grad.tolist() == [0, 2, 0, 1]
    y = x * 1
    y[at] = torch.ones(3)
    assert y.requires_grad and y.grad_fn is not None
    with pytest.raises(RuntimeError, match="leaf"):
        x[at] = 1
    into = torch.zeros(4)
    into[at] = x.detach()[:3].requires_grad_()
    assert into.requires_grad
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        torch.from_numpy(array)[torch.tensor([0])] = 1.0
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
        torch.zeros(4)[at] = torch.ones(3, dtype=torch.int64)
    with pytest.raises(RuntimeError):
        torch.zeros(4)[at] = torch.ones(2)


def test_counts_of_few_values():
    rng = np.random.default_rng(0)
    for values in ([], [0], [63], [64], [5, 5, 0], rng.integers(0, 900, 300), rng.integers(0, 40, 5000), [100_000]):
        for dtype in (torch.int64, torch.uint8, torch.int32):
            array = np.asarray(values, dtype="i8")
            if dtype == torch.uint8 and (array > 255).any():
                continue
            for least in (0, 3, 200):
                got = torch.bincount(torch.tensor(array).to(dtype), minlength=least)
                assert got.dtype == torch.int64 and got.tolist() == np.bincount(array, minlength=least).tolist()
            twice = torch.tensor(np.repeat(array, 2)).to(dtype)[::2]
            assert torch.bincount(twice).tolist() == np.bincount(array).tolist()
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(torch.tensor([1, -1]))


# ---------------------------------------------------------------- iteration


def test_iteration_gives_views_and_ends_for_good():
    x = torch.arange(12.0).reshape(3, 4)
    rows = iter(x)
    assert iter(rows) is rows and operator.length_hint(rows) == 3
    first = next(rows)
    first[0] = 7
    assert x[0, 0] == 7 and operator.length_hint(rows) == 2
    assert [r.tolist() for r in rows] == x.tolist()[1:] and operator.length_hint(rows) == 0
    assert next(rows, None) is None and list(rows) == []
    assert [v.item() for v in x.T[1]] == x.T[1].tolist() and list(torch.empty(0, 3)) == []
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(torch.ones(()))
    y = torch.ones(3, requires_grad=True)
    sum(v * v for v in y).backward()
    assert y.grad.tolist() == [2, 2, 2]


def test_copies_of_an_iterator_begin_with_the_row_at_hand():
    rows = iter(torch.arange(6).view(3, 2))
    next(rows)
    for copied in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        assert [r.tolist() for r in copied] == [[2, 3], [4, 5]]
    assert [r.tolist() for r in rows] == [[2, 3], [4, 5]]
    assert list(copy.copy(rows)) == []
    x = torch.ones(2)
    rows = iter(x)
    x.resize_(())
    with pytest.raises(IndexError, match="0-dim"):
        copy.copy(rows)


def test_a_tensor_may_change_while_it_is_iterated_over():
    x = torch.arange(4)
    seen = []
    for v in x:
        seen.append(v.item())
        x.resize_(2)
    assert seen == [0, 1]
    y = torch.arange(3)
    rows = iter(y)
    y.resize_(())
    assert list(rows) == []


def test_a_getitem_of_a_subclass_serves_iteration():
    class Doubled(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        def __getitem__(self, i):
            return 2 * super().__getitem__(i)

    x = torch.arange(3).as_subclass(Doubled)
    assert [v.item() for v in x] == [0, 2, 4]
    assert [v.item() for v in torch.nn.Parameter(torch.ones(2))] == [1, 1]


def test_an_iterator_that_its_tensor_holds_is_collected():
    x = torch.ones(3)
    x.rows = iter(x)
    died = []

    class Told:
        def __del__(self):
            died.append(True)

    x.told = Told()
    del x
    gc.collect()
    assert died == [True]


# ---------------------------------------------------------------- parts of complex numbers


def test_parts_of_complex_numbers_are_views():
    whole = torch.complex(torch.arange(24.0), -torch.arange(24.0))
    for z in (whole, whole.reshape(2, 3, 4).permute(2, 0, 1), whole[5::3], whole.flip(0), whole[3], whole[:0],
              whole[:1].expand(4)):  # fmt: skip
        for part, sign in ((z.real, 1), (z.imag, -1)):
            assert part.dtype == torch.float32 and part.shape == z.shape
            assert part.tolist() == (sign * torch.view_as_real(z)[..., 0]).tolist()
            assert part._base is (z if z._base is None else z._base)
    z = torch.zeros(2, 2, dtype=torch.complex128).T
    z.real[0] = 3
    z.imag[:, 1] = 4
    assert z.tolist() == [[3, 3 + 4j], [0, 4j]]
    w = torch.tensor([1 + 2j], requires_grad=True)
    (w.real * 2 + w.imag * 3).sum().backward()
    assert w.grad.tolist() == [2 + 3j]


# ---------------------------------------------------------------- reductions of few rows


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_complex and d != torch.bool], ids=str)
def test_few_rows_are_reduced_as_many_are(dtype):
    rng = np.random.default_rng(0)
    for shape, dims in (((3, 4), 1), ((2, 3, 5), (1, 2)), ((2, 3, 5), 2), ((1, 7, 1), 1), ((1024, 3), 1),
                        ((1025, 2), 1), ((2, 16384), 1), ((3, 1, 40000), 2), ((5, 1, 9), 2)):  # fmt: skip
        x = torch.tensor(rng.integers(0, 3, shape)).to(dtype)
        array = x.to(torch.float64).numpy()
        for layout in (x, x.transpose(0, -1).contiguous().transpose(0, -1), x.flip(0).flip(0)[:]):
            for keep in (False, True):
                exact = dtype not in (torch.float16, torch.bfloat16)
                total = layout.sum(dims, keepdim=keep).to(torch.float64).numpy()
                assert total.shape == array.sum(dims, keepdims=keep).shape
                assert np.allclose(total, array.sum(dims, keepdims=keep), rtol=0 if exact else 4e-3)
                assert (layout.amax(dims, keepdim=keep).double().numpy() == array.max(dims, keepdims=keep)).all()
                assert (layout.any(-1).numpy() == array.any(-1)).all()
            assert layout.argmax(-1).tolist() == array.argmax(-1).tolist()
            values, positions = layout.min(-1)
            assert values.double().tolist() == array.min(-1).tolist()
            assert positions.tolist() == array.argmin(-1).tolist()
    x = torch.tensor([[1.0, float("nan"), 3], [float("inf"), 2, 1]])
    assert x.argmax(1).tolist() == [1, 0] and x.sum(1).isnan().tolist() == [True, False]
    assert x.amin(1).isnan().tolist() == [True, False] and x.sum(1)[1] == float("inf")
