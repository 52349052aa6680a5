"""einsum, tensordot, kron and other products, against NumPy."""

import itertools

import numpy as np
import pytest
import strided as torch
from product_cases import check, sample

# ---------------------------------------------------------------- other products


@pytest.mark.parametrize("a, b, dims", [
    ((3, 4), (4, 5), 1), ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4,), 0), ((3, 4), (3, 4), 2),
    ((3, 4), (3, 4), ([1], [1])), ((3, 4, 5), (4, 3, 2), ([1, 0], [0, 1])),
    ((3, 4), (3, 4), ([0, 1], [0, 1])), ((2, 3, 4), (4, 2), ([-1, 0], [0, -1])), ((2, 0), (0, 3), 1), ((), (), 0),
    ((3, 4), (2, 5), ([], [])),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "int32", "complex64"])
def test_tensordot(a, b, dims, dtype):
    (x, nx), (y, ny) = sample(a, dtype), sample(b, dtype, 1)
    want = np.tensordot(nx, ny, dims)
    for f in (torch.tensordot, torch.linalg.tensordot):
        check(f(x, y, dims=dims), want, dtype, 12)


@pytest.mark.parametrize("shapes", [((), (2, 3)), ((2, 3), ()), ((), ()), ((0, 3), ())])
def test_tensordot_of_an_axis_that_is_not_there(shapes):
    a, b = (torch.ones(shape) for shape in shapes)
    for dims in ([[0], [0]], [[-1], [-1]]):
        with pytest.raises(IndexError, match=f"Dimension specified as {dims[0][0]} but tensor has no dimensions"):
            torch.tensordot(a, b, dims)


def test_tensordot_broadcasts_size_one():
    (x, nx), (y, ny) = sample((2, 1), "float64"), sample((4, 3), "float64", 1)
    check(torch.tensordot(x, y, dims=([1], [0])), nx @ ny.sum(0, keepdims=True), "float64")


@pytest.mark.parametrize(
    "a, b",
    [
        ((2, 3), (4, 5)), ((3,), (2, 2)), ((2, 2, 2), (3,)), ((), (2,)), ((), ()), ((0, 2), (3, 1)),
        ((8, 5), (9, 3)), ((2, 3, 4), (3, 4, 6)), ((4, 2), (2, 2, 63)), ((6, 1), (6, 2)), ((5, 7), (4, 64)),
    ],
    ids=str,
)  # fmt: skip
def test_kron(a, b):
    for dtype in ("float64", "int8", "bool"):
        (x, nx), (y, ny) = sample(a, dtype), sample(b, dtype, 1)
        check(torch.kron(x, y), np.kron(nx, ny), dtype)
    assert torch.kron(torch.ones(2, dtype=torch.int32), torch.ones(2)).dtype == torch.float32


def test_kron_of_short_rows_has_gradients():
    x = torch.rand(5, 4, dtype=torch.float64).t().requires_grad_()
    y = torch.rand(4, 6, dtype=torch.float64).flip(1)[:, ::2].requires_grad_()
    assert torch.autograd.gradcheck(torch.kron, (x, y)) and torch.autograd.gradgradcheck(torch.kron, (x, y))


def test_trace():
    x, nx = sample((3, 5), "float64")
    check(x.trace(), np.trace(nx), "float64")
    check(torch.trace(x[:, ::-1]), np.trace(nx[:, ::-1]), "float64")
    assert torch.trace(torch.ones(3, 3, dtype=torch.int32)).dtype == torch.int64
    assert torch.trace(torch.ones(0, 0)).item() == 0
    batch, nb = sample((2, 3, 3), "float64")
    check(torch.linalg.trace(batch), np.trace(nb, axis1=-2, axis2=-1), "float64")


def test_cross():
    (a, na), (b, nb) = sample((5, 3), "float64"), sample((5, 3), "float64", 1)
    check(torch.linalg.cross(a, b), np.cross(na, nb), "float64")
    check(torch.cross(a, b, dim=1), np.cross(na, nb), "float64")
    check(torch.cross(a.t(), b.t(), dim=0), np.cross(na, nb).T, "float64")
    check(torch.linalg.cross(a, b[:1]), np.cross(na, nb[:1]), "float64")
    (c, nc), (d, nd) = sample((3,), "complex128"), sample((3,), "complex128", 1)
    check(torch.linalg.cross(c, d), np.cross(nc, nd), "complex128")
    i, ni = sample((2, 3), "int32")
    check(torch.cross(i, i[[1, 0]], dim=1), np.cross(ni, ni[[1, 0]]), "int32")


def test_multi_dot():
    sizes = [4, 10, 3, 12, 20, 7]
    pairs = [sample((m, n), "float64", i) for i, (m, n) in enumerate(zip(sizes, sizes[1:]))]
    tensors, arrays = [p[0] for p in pairs], [p[1] for p in pairs]
    want = np.linalg.multi_dot(arrays)
    check(torch.linalg.multi_dot(tensors), want, "float64", 1000)
    check(torch.chain_matmul(*tensors), want, "float64", 1000)
    (v, nv), (w, nw) = sample((4,), "float64"), sample((7,), "float64", 1)
    check(torch.linalg.multi_dot([v, *tensors, w]), np.linalg.multi_dot([nv, *arrays, nw]), "float64", 1000)
    check(torch.linalg.multi_dot([v, tensors[0]]), nv @ arrays[0], "float64", 10)
    for bad in ([], [v], [v, v, v], [tensors[1], tensors[0]], [tensors[0][None], tensors[1]]):
        with pytest.raises(RuntimeError):
            torch.linalg.multi_dot(bad)


def test_vander():
    x = torch.tensor([1.0, 2, 3, 5])
    assert torch.linalg.vander(x).tolist() == np.vander([1.0, 2, 3, 5], increasing=True).tolist()
    assert torch.linalg.vander(x, N=3).tolist() == np.vander([1.0, 2, 3, 5], 3, increasing=True).tolist()
    assert torch.linalg.vander(torch.tensor([[1, 2], [3, 4]])).tolist() == [[[1, 1], [1, 2]], [[1, 3], [1, 4]]]
    assert torch.linalg.vander(x.half(), N=2).dtype == torch.float16
    assert torch.vander(x, 1).tolist() == [[1.0]] * 4 and torch.vander(x[:0]).shape == (0, 0)
    assert torch.vander(x > 2, 2).tolist() == [[0, 1], [0, 1], [1, 1], [1, 1]]
    assert torch.vander(x).tolist() == np.vander([1.0, 2, 3, 5]).tolist()
    assert torch.vander(x, 2).tolist() == np.vander([1.0, 2, 3, 5], 2).tolist()
    assert torch.vander(x, 3, increasing=True).tolist() == np.vander([1.0, 2, 3, 5], 3, increasing=True).tolist()
    assert torch.vander(x, 0).shape == (4, 0)
    with pytest.raises(RuntimeError, match="N must be greater than 1"):
        torch.linalg.vander(x, N=0)
    with pytest.raises(RuntimeError, match="x must be a one-dimensional tensor"):
        torch.vander(torch.ones(2, 2))


# ---------------------------------------------------------------- einsum

SIZES = dict(zip("abcdefghijklmnopqrstuvwxyzABZ", itertools.cycle([2, 3, 4, 5])))


EQUATIONS = [
    "i", "i->", "ij", "ji", "ij->", "ij->ji", "ij->j", "ij->i", "ii", "ii->i", "ii->", "iij->j", "iji->ij", "iii->i",
    "ijij->ij", "iijj->ij", "iijj->",
    "i,i", "i,i->", "i,i->i", "i,j", "i,j->ij", "i,j->ji", "i,j->", "ij,j", "ij,j->i", "ij,jk", "ij,jk->ik",
    "ij,jk->ki", "ij,jk->", "ij,jk->j", "ij,jk->ijk", "ij,kj->ik",
    "ij,ij->ij", "ij,ij->", "ij,ij->i", "ij,ji", "bij,bjk->bik", "bij,bjk->ik", "bij,bjk", "bij,jk->bik", "ii,ij->j",
    "ii,jj->ij", "ii,i->i", "ii,ii->i", "ij,kl->ijkl", "ij,kl->lkji",
    "ij,jk,kl->il", "ij,jk,kl->", "ij,jk,kl", "i,ij,j->", "bi,oij,bj->bo", "ij,ij,ij->ij", "a,b,c->abc", "a,b,c->cb",
    "a,a,a->", "abc,bcd,cde->ae", "ab,bc,cd,de->ae",
    "aabb,bc->ac", "ea,fb,abcd,gc,hd->efgh", "Aa,aB->AB", "Za,aB", "aB,Ba->", "i j , j k -> i k",
    "...", "...->...", "...i->...", "...i->", "i...->...", "...ij->...ji", "...ii->...i", "...ij,...jk->...ik",
    "...i,...i->...", "ij...,jk...->ik...", "i...j,j...k->i...k", "...,...->...", "...,i->i...",
    "b...,b...->", "...ij,jk", "...ii,...ij->...j", "i...->i", "...i,j...->ij", "i...,...j", "ab...,b...->a",
]  # fmt: skip


def operands_for(equation, dtype, dots=(2, 3)):
    terms = equation.replace(" ", "").split("->")[0].split(",")
    result = []
    for k, term in enumerate(terms):
        shape = []
        i = 0
        while i < len(term):
            if term[i] == ".":
                shape += list(dots)
                i += 3
            else:
                shape.append(SIZES[term[i]])
                i += 1
        result.append(sample(tuple(shape), dtype, k))
    return [r[0] for r in result], [r[1] for r in result]


def numpy_einsum(equation, arrays):
    inputs, arrow, output = equation.partition("->")
    if "..." in inputs and arrow and "..." not in output:  # PyTorch sums over the dots then, NumPy refuses
        return np.einsum(f"{inputs}->...{output}", *arrays).sum(axis=tuple(range(2)))
    return np.einsum(equation, *arrays)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    for dtype in ("float64", "complex64", "int64"):
        tensors, arrays = operands_for(equation, dtype)
        want = numpy_einsum(equation, arrays)
        check(torch.einsum(equation, *tensors), want, dtype, 100)
        check(torch.einsum(equation, tensors), want, dtype, 100)
        check(torch.einsum(equation, *[t.flip(-1)[..., ::-1] for t in tensors]), want, dtype, 100)


@pytest.mark.parametrize(
    "equation, dots",
    [("...ij,...jk->...ik", ()), ("...i,...i->...", (0,)), ("...i->...", (2, 0)), ("i...j,j...->i...", (1, 4))],
)
def test_einsum_dots(equation, dots):
    tensors, arrays = operands_for(equation, "float64", dots)
    check(torch.einsum(equation, *tensors), np.einsum(equation, *arrays), "float64", 10)


def test_einsum_dots_of_different_length():
    (a, na), (b, nb) = sample((5, 2, 3, 4), "float64"), sample((3, 4), "float64", 1)
    check(torch.einsum("...i,...i->...", a, b), np.einsum("...i,...i->...", na, nb), "float64", 10)
    check(torch.einsum("...i,...i->i...", b, a), np.einsum("...i,...i->i...", nb, na), "float64", 10)
    (c, nc), (d, nd) = sample((2, 1, 3, 4), "float64"), sample((5, 4, 3), "float64", 1)
    check(torch.einsum("...ij,...jk", c, d), np.matmul(nc, nd), "float64", 10)


def test_einsum_size_one_broadcasts():
    (a, na), (b, nb) = sample((2, 1), "float64"), sample((3, 4), "float64", 1)
    check(torch.einsum("ij,jk->ik", a, b), na @ nb.sum(0, keepdims=True), "float64", 10)
    check(torch.einsum("ij,jk->ijk", a, b), na[:, :, None] * nb[None], "float64", 10)
    check(torch.einsum("ij,jk->j", b.t(), a.t()), (nb.T.sum(0) * na.T.sum(1)), "float64", 10)


def test_einsum_empty_sizes():
    a, b = torch.ones(2, 0), torch.ones(0, 3)
    assert torch.einsum("ij,jk->ik", a, b).tolist() == [[0.0] * 3] * 2
    assert torch.einsum("ij,jk->ijk", a, b).shape == (2, 0, 3)
    assert torch.einsum("ij->", a).item() == 0
    assert torch.einsum("ij->ji", a).shape == (0, 2)
    assert torch.einsum("ii->i", torch.ones(0, 0)).shape == (0,)


def test_einsum_sublists():
    (a, na), (b, nb) = sample((2, 3), "float64"), sample((3, 4), "float64", 1)
    check(torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), na @ nb, "float64", 3)
    check(torch.einsum(a, [0, 1], b, [1, 2]), na @ nb, "float64", 3)
    check(torch.einsum(a, [..., 7], [7, ...]), na.T, "float64")
    check(torch.einsum(a, [51, 25], [25, 51]), na.T, "float64")
    check(torch.einsum(a, [51, 25]), na.T, "float64")  # implicit output is sorted
    check(torch.einsum(b @ b.t(), [0, 0], []), np.trace(nb @ nb.T), "float64", 10)


def test_einsum_views_where_nothing_is_summed():
    a = torch.zeros(3, 3)
    torch.einsum("ii->i", a)[:] = 1
    torch.einsum("ij->ji", a)[0, 1] = 5
    assert a.tolist() == [[1, 0, 0], [5, 1, 0], [0, 0, 1]]
