"""QR, SVD, eigenvalues, least squares and what is made of them: by what defines them, and against NumPy in float64."""

import math
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import strided as torch
from linalg_cases import DTYPES, EMPTY, EPS, SQUARES, WIDE, close, layouts, positive, regular, sample, wide
from strided import linalg
from strided.autograd import gradcheck, gradgradcheck

SHAPES = [
    (1, 1),
    (3, 3),
    (5, 3),
    (3, 5),
    (1, 4),
    (4, 1),
    (40, 33),
    (33, 40),
    (6, 4, 3),
    (2, 3, 3, 4),
    (1, 5, 5),
    (70, 2, 2),
]
NO_MATRICES = [*EMPTY, (0, 3), (3, 0), (2, 0, 4), (2, 4, 0), (0, 4, 2)]
REAL = {"complex64": "float32", "complex128": "float64"}


def real(dtype):
    return REAL.get(dtype, dtype)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def is_identity(x, dtype, factor=100.0):
    np.testing.assert_allclose(x, np.broadcast_to(np.eye(x.shape[-1]), x.shape), rtol=0, atol=EPS[dtype] * factor)


def rebuilt(x, want, dtype, factor=100.0):
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(x, want, rtol=0, atol=EPS[dtype] * factor * scale)


# ---------------------------------------------------------------- QR


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_qr(shape, dtype):
    a, na = sample(shape, dtype)
    m, n = shape[-2:]
    for mode, rows in (("reduced", min(m, n)), ("complete", m)):
        q, r = linalg.qr(a, mode)
        assert q.shape == shape[:-2] + (m, rows) and r.shape == shape[:-2] + (rows, n)
        assert q.dtype == r.dtype == a.dtype
        is_identity(adjoint(wide(q)) @ wide(q), dtype)
        assert not np.tril(wide(r), -1).any()
        rebuilt(wide(q) @ wide(r), na, dtype)
    only = linalg.qr(a, "r")
    assert only.Q.shape == (0,) and only.R.tolist() == linalg.qr(a).R.tolist()
    assert torch.qr(a).R.tolist() == only.R.tolist() and torch.qr(a, some=False).Q.shape == shape[:-2] + (m, m)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (5, 4, 2)], ids=str)
def test_reflectors(shape, dtype):
    a, _ = sample(shape, dtype)
    m, n = shape[-2:]
    packed, tau = torch.geqrf(a)
    assert packed.shape == shape and tau.shape == shape[:-2] + (min(m, n),)
    rebuilt(wide(packed.triu()[..., : min(m, n), :]), wide(linalg.qr(a).R), dtype)
    square = packed[..., : min(m, n)]
    q = wide(linalg.qr(a, "complete").Q)
    rebuilt(wide(linalg.householder_product(square, tau)), q[..., : min(m, n)], dtype)
    assert torch.orgqr(square, tau).tolist() == linalg.householder_product(square, tau).tolist()
    fewer = tau[..., :1]
    v = np.tril(wide(square), -1)[..., :1] + np.eye(m, 1)
    one = np.eye(m) - wide(fewer)[..., None] * v @ adjoint(v)
    rebuilt(wide(linalg.householder_product(square, fewer)), one[..., : min(m, n)], dtype)
    for left in (True, False):
        c, nc = sample(shape[:-2] + ((m, 3) if left else (3, m)), dtype, 1)
        for transpose in (True, False):
            op = adjoint(q) if transpose else q
            rebuilt(wide(torch.ormqr(square, tau, c, left, transpose)), op @ nc if left else nc @ op, dtype)


# ---------------------------------------------------------------- singular values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_svd(shape, dtype):
    a, na = sample(shape, dtype)
    m, n = shape[-2:]
    k = min(m, n)
    want = np.linalg.svd(na, compute_uv=False)
    for full in (True, False):
        u, s, vh = linalg.svd(a, full_matrices=full)
        assert u.shape == shape[:-2] + (m, m if full else k) and vh.shape == shape[:-2] + (n if full else k, n)
        assert u.dtype == vh.dtype == a.dtype
        close(s, want, real(dtype), 100)
        is_identity(adjoint(wide(u)) @ wide(u), dtype)
        is_identity(wide(vh) @ adjoint(wide(vh)), dtype)
        rebuilt(wide(u)[..., :k] * wide(s)[..., None, :] @ wide(vh)[..., :k, :], na, dtype)
    close(linalg.svdvals(a), want, real(dtype), 100)
    u, s, v = torch.svd(a)
    rebuilt(wide(u) * wide(s)[..., None, :] @ adjoint(wide(v)), na, dtype)
    u, s, v = torch.svd(a, compute_uv=False)
    assert u.shape == shape[:-2] + (m, m) and v.shape == shape[:-2] + (n, n) and not u.any() and not v.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pinv_rank_and_cond(shape, dtype):
    a, na = sample(shape, dtype)
    limit = 50 * np.linalg.cond(na).max()
    close(linalg.pinv(a), np.linalg.pinv(na), dtype, limit)
    close(torch.pinverse(a), np.linalg.pinv(na), dtype, limit)
    rank = linalg.matrix_rank(a)
    assert rank.dtype == torch.int64 and rank.tolist() == np.linalg.matrix_rank(na).tolist()
    for p in (None, 2, -2):
        np.testing.assert_allclose(wide(linalg.cond(a, p)), np.linalg.cond(na, p), rtol=EPS[dtype] * limit)
    if shape[-1] == shape[-2]:
        for p in ("fro", "nuc", 1, -1, math.inf, -math.inf):
            np.testing.assert_allclose(wide(linalg.cond(a, p)), np.linalg.cond(na, p), rtol=EPS[dtype] * limit)
    for p in ("nuc", 2, -2):
        close(linalg.matrix_norm(a, p), np.linalg.norm(na, p, (-2, -1)), real(dtype), 100)
        got = linalg.norm(a, p, dim=(-1, 0), keepdim=True)
        close(got, np.linalg.norm(na, p, (-1, 0), keepdims=True), real(dtype), 100)
        if len(shape) == 2:
            close(linalg.norm(a, p), np.linalg.norm(na, p), real(dtype), 100)
    close(torch.norm(a, "nuc", dim=(-2, -1)), np.linalg.norm(na, "nuc", (-2, -1)), real(dtype), 100)


def test_tolerances():
    a = torch.diag(torch.tensor([4.0, 2.0, 1e-3, 0.0], dtype=torch.float64))
    batch = torch.stack([a, a])
    assert linalg.matrix_rank(a) == 3
    assert (
        linalg.matrix_rank(a, 0.5) == 2 and linalg.matrix_rank(a, atol=3) == 1 and linalg.matrix_rank(a, rtol=0.1) == 2
    )
    assert linalg.matrix_rank(a, atol=3, rtol=1e-9) == 1 and linalg.matrix_rank(a, atol=1e-9, rtol=0.6) == 1
    assert linalg.matrix_rank(a, torch.tensor(0.5)) == 2 and linalg.matrix_rank(-a, hermitian=True, atol=0.5) == 2
    assert linalg.matrix_rank(batch, atol=torch.tensor([3.0, 0.5])).tolist() == [1, 2]
    assert linalg.pinv(a).diagonal().tolist() == [0.25, 0.5, 1000.0, 0]
    assert linalg.pinv(a, 0.1).diagonal().tolist() == [0.25, 0.5, 0, 0]
    assert linalg.pinv(a, rcond=torch.tensor(0.1)).diagonal().tolist() == [0.25, 0.5, 0, 0]
    assert linalg.pinv(a, atol=3).diagonal().tolist() == [0.25, 0, 0, 0]
    assert linalg.pinv(-a, hermitian=True, rtol=0.1).diagonal().tolist() == [-0.25, -0.5, 0, 0]
    got = linalg.pinv(batch, atol=torch.tensor([3.0, 0.5]), rtol=torch.tensor([0.0, 0.6])).diagonal(dim1=1, dim2=2)
    assert got.tolist() == [[0.25, 0, 0, 0], [0.25, 0, 0, 0]]


def test_cond_of_singular_matrices():
    s = torch.ones(2, 2, dtype=torch.float64)
    batch = torch.stack([s, torch.eye(2, dtype=torch.float64)])
    for p in ("fro", 1, -1, math.inf, -math.inf, "nuc"):
        assert linalg.cond(s, p) == math.inf
        assert linalg.cond(batch, p)[0] == math.inf and linalg.cond(batch, p)[1] <= 4
    assert (
        linalg.cond(s) > 1e15
        and linalg.cond(torch.zeros(0, 0)) == 0
        and linalg.cond(torch.zeros(2, 0, 0), "fro").tolist() == [0, 0]
    )


# ---------------------------------------------------------------- eigenvalues


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_eigh(shape, dtype):
    a, na = sample(shape, dtype)
    for uplo, triangle in (("L", np.tril(na) + adjoint(np.tril(na, -1))), ("U", np.triu(na) + adjoint(np.triu(na, 1)))):
        if np.iscomplexobj(na):
            i = np.arange(shape[-1])
            triangle[..., i, i] = triangle[..., i, i].real
        want = np.linalg.eigvalsh(triangle)
        w, v = linalg.eigh(a, uplo)
        assert v.dtype == a.dtype and v.shape == shape
        close(w, want, real(dtype), 100)
        is_identity(adjoint(wide(v)) @ wide(v), dtype)
        rebuilt(wide(v) * wide(w)[..., None, :] @ adjoint(wide(v)), triangle, dtype)
        close(linalg.eigvalsh(a, UPLO=uplo.lower()), want, real(dtype), 100)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_eig(shape, dtype):
    a, na = sample(shape, dtype)
    w, v = linalg.eig(a)
    assert (
        w.dtype == v.dtype == (torch.complex64 if a.dtype.itemsize == 4 or dtype == "complex64" else torch.complex128)
    )
    assert w.shape == shape[:-1] and v.shape == shape
    w, v = wide(w), wide(v)
    rebuilt(na @ v, v * w[..., None, :], dtype, 300)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, atol=EPS[dtype] * 20)

    def in_order(x):
        return np.sort_complex(np.round(x, 3))

    assert np.abs(in_order(wide(linalg.eigvals(a))) - in_order(w)).max() < 2e-3
    if not np.iscomplexobj(na):  # in conjugate pairs, exactly
        assert sorted(w.ravel().tolist(), key=lambda z: (z.real, z.imag)) == sorted(
            w.conj().ravel().tolist(), key=lambda z: (z.real, z.imag)
        )


# ---------------------------------------------------------------- least squares


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lstsq(shape, driver, dtype):
    a, na = sample(shape, dtype)
    m, n = shape[-2:]
    limit = 100 * np.linalg.cond(na).max()
    for columns in (1, 4):
        b, nb = sample(shape[:-1] + (columns,), dtype, 1)
        found = linalg.lstsq(a, b, driver=driver)
        x = np.linalg.pinv(na) @ nb
        close(found.solution, x, dtype, limit)
        if m > n and driver not in (None, "gelsy"):
            close(found.residuals, (np.abs(na @ x - nb) ** 2).sum(-2), real(dtype), limit)
        else:
            assert found.residuals.shape == (0,)
        if driver == "gels":
            assert found.rank.shape == (0,)
        else:
            assert found.rank.shape == shape[:-2] and (found.rank == min(m, n)).all()
        assert found.rank.dtype == torch.int64
        if driver in ("gelsd", "gelss"):
            close(found.singular_values, np.linalg.svd(na, compute_uv=False), real(dtype), 100)
        else:
            assert found.singular_values.shape == (0,)
    b, nb = sample(shape[:-1], dtype, 2)
    close(linalg.lstsq(a, b, driver=driver).solution, (np.linalg.pinv(na) @ nb[..., None])[..., 0], dtype, limit)


def test_lstsq_broadcasts_and_cuts():
    a, na = sample((2, 1, 4, 3), "float64")
    b, nb = sample((5, 4, 2), "float64", 1)
    close(linalg.lstsq(a, b).solution, np.linalg.pinv(na) @ nb, "float64", 1000)
    d = torch.diag(torch.tensor([1.0, 1e-3, 0]))
    ones = torch.ones(3, 1)
    for driver in ("gelsy", "gelsd", "gelss"):
        assert linalg.lstsq(d, ones, rcond=0.1, driver=driver).solution.flatten().tolist() == pytest.approx([1, 0, 0])
        assert linalg.lstsq(d, ones, rcond=0.1, driver=driver).rank == 1
        assert linalg.lstsq(d, ones, driver=driver).rank == 2
    tall = torch.tensor([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])  # not of full rank: the residuals are of no use
    assert linalg.lstsq(tall, ones, driver="gelsd").residuals.shape == (0,)


def test_what_lstsq_says_of_the_matrices_has_their_batch():
    for a, b, batch in (((1, 4, 3), (2, 4, 2), (1,)), ((4, 3), (5, 2, 4, 2), ()), ((2, 1, 4, 3), (3, 4, 2), (2, 1))):
        got = torch.linalg.lstsq(torch.randn(a), torch.randn(b), driver="gelsd")
        assert got.rank.shape == batch and (got.rank == 3).all() and got.singular_values.shape == (*batch, 3)


# ---------------------------------------------------------------- LDL, exponential


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_ldl(shape, dtype, hermitian):
    a, na = sample(shape, dtype)
    a = a + (a.mH if hermitian else a.mT)
    found = linalg.ldl_factor_ex(a, hermitian=hermitian)
    assert found.LD.shape == shape and found.pivots.shape == shape[:-1] and found.pivots.dtype == torch.int32
    assert not found.info.any()
    ld, pivots = linalg.ldl_factor(a, hermitian=hermitian)
    b, nb = sample(shape[:-1] + (3,), dtype, 1)
    x = linalg.ldl_solve(ld, pivots, b, hermitian=hermitian)
    limit = np.linalg.cond(wide(a)).max() * 100
    np.testing.assert_allclose(
        wide(x), np.linalg.solve(wide(a), nb), atol=EPS[dtype] * limit * 10, rtol=EPS[dtype] * limit
    )
    assert linalg.ldl_factor_ex(torch.zeros(2, 2)).info == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_matrix_exp(shape, dtype):
    for scale in (0.1, 1.0, 4.0):
        a, na = sample(shape, dtype)
        a = (a * (scale / shape[-1])).to(a.dtype)
        na = wide(a)
        want, term = np.zeros_like(na) + np.eye(shape[-1]), np.zeros_like(na) + np.eye(shape[-1])
        for k in range(1, 60):
            term = term @ na / k
            want = want + term
        close(linalg.matrix_exp(a), want, dtype)
    assert a.matrix_exp().tolist() == linalg.matrix_exp(a).tolist()


def test_matrix_exp_of_different_sizes():
    """Each matrix of a batch is scaled by its own norm."""
    norms = torch.tensor([0.0, 1e-8, 1.0, 30.0, 300.0], dtype=torch.float64)
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    got = linalg.matrix_exp(turn * norms[:, None, None])
    want = torch.stack([torch.stack([norms.cos(), -norms.sin()], -1), torch.stack([norms.sin(), norms.cos()], -1)], -2)
    assert torch.allclose(got, want, atol=1e-12)
    bad = torch.stack([torch.full((2, 2), math.inf), torch.eye(2), torch.full((2, 2), math.nan)])
    got = linalg.matrix_exp(bad)
    assert got[0].isnan().all() and got[2].isnan().all() and got[1, 0, 0].item() == pytest.approx(math.e)


# ---------------------------------------------------------------- layouts, no elements, values that are no numbers

CALLS = {
    "qr": lambda a: tuple(linalg.qr(a)),
    "geqrf": lambda a: tuple(torch.geqrf(a)),
    "svd": lambda a: tuple(linalg.svd(a)),
    "svdvals": linalg.svdvals,
    "eigh": lambda a: tuple(linalg.eigh(a)),
    "eig": lambda a: tuple(linalg.eig(a)),
    "eigvals": linalg.eigvals,
    "pinv": linalg.pinv,
    "lstsq": lambda a: linalg.lstsq(a, a)[0],
    "ldl": lambda a: tuple(linalg.ldl_factor(a)),
    "matrix_exp": linalg.matrix_exp,
    "cond": linalg.cond,
    "householder_product": lambda a: linalg.householder_product(a, a[..., 0].abs() / 10),
}


@pytest.mark.parametrize("shape", [(4, 4), (3, 3, 3)], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_layouts(name, shape):
    a, _ = regular(shape, "float64")
    before, first = a.tolist(), None
    for x in layouts(a):
        assert x.tolist() == before
        got = CALLS[name](x)
        got = [g.tolist() for g in (got if isinstance(got, tuple) else (got,))]
        first = first or got
        assert got == first
    assert a.tolist() == before
    expanded = CALLS[name](a.expand(2, *shape))
    for g, f in zip(expanded if isinstance(expanded, tuple) else (expanded,), first, strict=True):
        assert g.tolist() == [f, f]


@pytest.mark.parametrize("shape", NO_MATRICES, ids=str)
def test_no_elements(shape):
    a = torch.zeros(shape)
    m, n = shape[-2:]
    k, batch = min(m, n), shape[:-2]
    u, s, vh = linalg.svd(a)
    assert u.shape == batch + (m, m) and s.shape == batch + (k,) and vh.shape == batch + (n, n)
    q, r = linalg.qr(a, "complete")
    assert q.shape == batch + (m, m) and r.shape == shape
    for x in (u, vh, q):
        assert torch.equal(x, torch.eye(x.shape[-1]).expand(x.shape))
    assert linalg.qr(a).Q.shape == batch + (m, k) and linalg.svdvals(a).shape == batch + (k,)
    assert linalg.pinv(a).shape == batch + (n, m) and linalg.matrix_rank(a).tolist() == np.zeros(batch, int).tolist()
    assert linalg.lstsq(a, torch.ones(batch + (m, 2))).solution.tolist() == np.zeros(batch + (n, 2)).tolist()
    assert linalg.matrix_norm(a, "nuc").tolist() == np.zeros(batch).tolist()
    if m == n:
        assert linalg.eigh(a).eigenvectors.shape == shape and linalg.eigvals(a).shape == batch + (n,)
        assert linalg.matrix_exp(a).shape == shape and linalg.ldl_factor(a).LD.shape == shape


NAN, INF = torch.full((3, 2, 2), math.nan), torch.full((3, 2, 2), math.inf)


def test_values_that_are_no_numbers(capfd):
    """They end, in an error or in NaN."""
    some = torch.eye(2).repeat(3, 1, 1)
    some[1, 0, 0] = math.nan
    with pytest.raises(linalg.LinAlgError, match=r"linalg.svd: \(Batch element 1\): .*non-finite values"):
        linalg.svd(some)
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        linalg.eig(some)
    for bad in (NAN, INF, some):
        for call in (
            linalg.svd,
            linalg.eigh,
            linalg.eig,
            linalg.pinv,
            linalg.qr,
            linalg.cond,
            linalg.matrix_exp,
            linalg.matrix_rank,
        ):
            try:
                got = call(bad)
            except (RuntimeError, ValueError):
                continue
            got = got if isinstance(got, tuple) else (got,)
            assert any(not g.isfinite().all() for g in got) or call is linalg.matrix_rank, call
        for driver in ("gels", "gelsy", "gelsd", "gelss"):
            for operands in ((bad, torch.ones(3, 2, 1)), (torch.eye(2), bad)):
                with pytest.raises(linalg.LinAlgError, match="non-finite values"):
                    linalg.lstsq(*operands, driver=driver)
    assert capfd.readouterr() == ("", "")  # LAPACK says nothing itself


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda a: linalg.qr(a[0]), "at least 2 dimensions"),
        (lambda a: linalg.qr(a, "full"), "unrecognized mode 'full'"),
        (lambda a: linalg.svd(a.long()), "floating point or complex"),
        (lambda a: linalg.svd(a, driver="gesvd"), "only supported on CUDA"),
        (lambda a: linalg.eigh(a[:2]), "square"),
        (lambda a: linalg.eigh(a, "X"), "'L' or 'U', but got X"),
        (lambda a: linalg.eig(a[:2]), "square"),
        (lambda a: linalg.lstsq(a, a[:2]), r"input.size\(-2\) should match other.size\(-2\)"),
        (lambda a: linalg.lstsq(a, a.double()), "same dtype"),
        (lambda a: linalg.lstsq(a, a, driver="x"), "gels, gelsy, gelsd, gelss"),
        (lambda a: linalg.lstsq(a, torch.tensor(1.0)), "at least 1 dimension"),
        (lambda a: linalg.cond(a[:2], 1), "square"),
        (lambda a: linalg.cond(a, 3), "invalid norm type: 3"),
        (lambda a: linalg.cond(a, "abc"), "invalid norm type: abc"),
        (lambda a: linalg.pinv(a[:2], hermitian=True), "square"),
        (lambda a: linalg.pinv(a[0]), "2 dimensions"),
        (lambda a: linalg.matrix_rank(a[0]), "2 dimensions"),
        (lambda a: linalg.householder_product(a[:2], a[0, :2]), "greater than or equal"),
        (lambda a: linalg.householder_product(a, torch.ones(4)), "greater than or equal"),
        (lambda a: linalg.householder_product(a, torch.ones(2, 3)), "one dimension less"),
        (lambda a: torch.ormqr(a, a[0], a[:2]), "must be"),
        (lambda a: torch.ormqr(a, a[0].double(), a), "same dtype"),
        (lambda a: linalg.ldl_factor(torch.zeros(2, 2)), "zero"),
        *[
            (lambda a, p=p: linalg.ldl_solve(a, torch.tensor(p, dtype=torch.int32), a), "pivots must name rows")
            for p in (
                [1, 2, 9],
                [1, 0, 3],
                [-(2**31), 2, 3],
                [1, 2, -3],
                [-1, 2, 3],
                [-1, -2, 3],
                [1, -1, 3],
                [-4, -4, 3],
            )
        ],
        (lambda a: linalg.ldl_solve(a, torch.tensor([1, 2], dtype=torch.int32), a), "pivots"),
        (lambda a: linalg.ldl_solve(a, torch.tensor([1, 2, 3]), a), "int32"),
        (lambda a: linalg.matrix_exp(a[:2]), "square"),
        (
            lambda a: linalg.svd(torch.zeros(1).expand(2**20, 2**20)),
            "32-bit integers|out of memory|Cannot allocate|memory",
        ),
    ],
)
def test_errors(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(regular((3, 3), "float32")[0])


def test_gradients_that_do_not_exist():
    a = torch.randn(4, 3, dtype=torch.complex128, requires_grad=True)
    with pytest.raises(RuntimeError, match="specified up to multiplication by e"):
        linalg.svd(a, full_matrices=False).U.sum().abs().backward()
    h = a.mH @ a
    with pytest.raises(RuntimeError, match="specified up to multiplication by e"):
        linalg.eigh(h).eigenvectors.sum().abs().backward()
    with pytest.raises(RuntimeError, match="specified up to multiplication by e"):
        linalg.eig(h).eigenvectors.sum().abs().backward()
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        linalg.qr(a, "r").R.abs().sum().backward()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        linalg.qr(a, "complete").R.abs().sum().backward()
    ld, pivots = linalg.ldl_factor(h)
    for result in (torch.geqrf(a)[0], ld, linalg.ldl_solve(ld, pivots, h)):
        with pytest.raises(NotImplementedError, match="derivative"):
            result.abs().sum().backward()


@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_gradient_of_ldl_solve(dtype, hermitian):
    a = torch.randn(2, 3, 3, dtype=dtype)
    ld, pivots = linalg.ldl_factor(a + (a.mH if hermitian else a.mT), hermitian=hermitian)
    b = torch.randn(3, 2, dtype=dtype, requires_grad=True)
    assert gradcheck(lambda b: linalg.ldl_solve(ld, pivots, b, hermitian=hermitian), b)
    assert gradgradcheck(lambda b: linalg.ldl_solve(ld, pivots, b, hermitian=hermitian) ** 2, b)


def test_eigh_reads_one_triangle():
    a = torch.tensor([[2.0, math.nan], [1.0, 2.0]])
    assert linalg.eigvalsh(a).tolist() == linalg.eigvalsh(a.mT, "U").tolist() == pytest.approx([1, 3])
    assert linalg.eigvalsh(a, "U").isnan().all()


def test_out():
    a = torch.randn(3, 3)
    u, s, vh = torch.empty(0), torch.empty(0), torch.empty(0)
    got = linalg.svd(a, out=(u, s, vh))
    assert got.S is s and s.tolist() == linalg.svd(a).S.tolist() and u.shape == (3, 3)
    w = torch.empty(3)
    assert linalg.eigvalsh(a, out=w) is w


# ---------------------------------------------------------------- the library


def run(code, **environment):
    text = f"import strided as torch, sys\nA = torch.eye(40)\n{textwrap.dedent(code)}"
    env = {k: v for k, v in os.environ.items() if k != "STRIDED_LAPACK_LIBRARY"}
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env | environment)


def test_it_is_opened_when_needed_and_never_imported():
    done = run("""
        def mapped():
            return "openblas" in open("/proc/self/maps").read().replace("/numpy", "").lower().split("numpy.libs")[0]
        torch.linalg.solve(A, A)
        torch.linalg.svd(A)
        assert "scipy_openblas32" not in sys.modules
        import os
        assert "OPENBLAS_CORETYPE" not in os.environ and "OPENBLAS_NUM_THREADS" not in os.environ
        import ctypes
        try:
            ctypes.CDLL(None).scipy_dgesdd_
        except AttributeError:
            print("private")
    """)
    assert done.stdout == "private\n", done.stderr


def test_without_it():
    code = "torch.linalg.svd(A)"
    gone = run("import importlib.util\nimportlib.util.find_spec = lambda name: None\n" + code)
    assert (
        "RuntimeError: this operation needs LAPACK, which is not installed: pip install scipy-openblas32" in gone.stderr
    )
    assert "LAPACK could not be opened" in run(code, STRIDED_LAPACK_LIBRARY="/nowhere/liblapack.so").stderr
    import _ctypes

    other = getattr(_ctypes, "__file__", None)
    if other:  # a library, but not of this kind
        assert "has no routine sgesdd" in run(code, STRIDED_LAPACK_LIBRARY=other).stderr


def test_threads_and_batches_agree():
    a, _ = regular((64, 40, 40), "float64")  # LAPACK's: of small ones a batch and a single one may differ in signs
    alone = [linalg.svd(x) for x in a]
    whole = linalg.svd(a)
    for got, want in zip(whole, zip(*alone, strict=True), strict=True):
        assert torch.equal(got, torch.stack(want))
    found = [None] * 4

    def work(i):
        found[i] = linalg.svd(a)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(torch.equal(f.U, whole.U) and torch.equal(f.S, whole.S) for f in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_after_fork():
    done = run("""
        import os
        A = torch.randn(300, 300)
        first = torch.linalg.svdvals(A)
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.equal(torch.linalg.svdvals(A), first) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert done.stdout == "0\n", done.stderr


def test_large():
    a, na = positive((300, 300), "float32")
    w, v = linalg.eigh(a)
    rebuilt(wide(v) * wide(w) @ wide(v).T, na, "float32", 1000)
    u, s, vh = linalg.svd(a)
    rebuilt(wide(u) * wide(s) @ wide(vh), na, "float32", 1000)
    close(s, wide(w.flip(0)), "float32", 1000)
