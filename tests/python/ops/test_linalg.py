"""Linear systems, factorisations, determinants and norms against NumPy in float64."""

import math

import numpy as np
import pytest
import strided as torch
from linalg_cases import DTYPES, EMPTY, EPS, SQUARES, WIDE, close, layouts, positive, regular, sample, wide
from strided import linalg

# ---------------------------------------------------------------- solve, inv


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES + EMPTY, ids=str)
def test_solve(shape, dtype):
    a, na = regular(shape, dtype)
    for columns in (1, 3, 17):
        b, nb = sample(shape[:-1] + (columns,), dtype, 1)
        close(linalg.solve(a, b), np.linalg.solve(na, nb), dtype)
    b, nb = sample(shape[:-1], dtype, 2)
    close(linalg.solve(a, b), np.linalg.solve(na, nb[..., None])[..., 0], dtype)
    if len(shape) > 2:
        b, nb = sample(shape[-1:], dtype, 3)
        close(linalg.solve(a, b), np.linalg.solve(na, np.broadcast_to(nb, shape[:-1])[..., None])[..., 0], dtype)
    c, nc = sample(shape[:-2] + (4, shape[-1]), dtype, 4)
    close(
        linalg.solve(a, c, left=False),
        np.linalg.solve(na.swapaxes(-1, -2), nc.swapaxes(-1, -2)).swapaxes(-1, -2),
        dtype,
    )


def test_solve_broadcasts():
    (a, na), (b, nb) = regular((4, 1, 3, 3), "float64"), sample((5, 3, 2), "float64")
    close(linalg.solve(a, b), np.linalg.solve(na, nb), "float64")
    close(linalg.solve(a[0, 0], b), np.linalg.solve(na[0, 0], nb), "float64")
    close(linalg.solve(a, b[0]), np.linalg.solve(na, nb[0]), "float64")
    c, nc = sample((5, 2, 3), "float64")
    close(
        linalg.solve(a, c, left=False),
        np.linalg.solve(na.swapaxes(-1, -2), nc.swapaxes(-1, -2)).swapaxes(-1, -2),
        "float64",
    )
    close(linalg.solve(a[:, 0], b[:4, :, 0]), np.linalg.solve(na[:, 0], nb[:4, :, :1])[..., 0], "float64")


@pytest.mark.parametrize("shape", [(6, 6), (3, 5, 5), (35, 35)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_layouts(shape, dtype):
    (a, na), (b, nb) = regular(shape, dtype), sample(shape, dtype, 1)
    p, np_ = positive(shape, dtype)
    for va, vb, vp in zip(layouts(a), layouts(b), layouts(p)):
        close(linalg.solve(va, vb), np.linalg.solve(na, nb), dtype)
        close(linalg.solve(a, vb), np.linalg.solve(na, nb), dtype)
        close(linalg.inv(va), np.linalg.inv(na), dtype)
        close(linalg.det(va) / linalg.det(a), np.ones(shape[:-2]), dtype, 200)
        close(linalg.cholesky(vp), np.linalg.cholesky(np_), dtype)
        if shape[-1] < 10:  # the triangle of a larger one is badly conditioned
            close(linalg.solve_triangular(va, vb, upper=True), np.linalg.solve(np.triu(na), nb), dtype, 1e4)
        lu, pivots = linalg.lu_factor(va)
        close(linalg.lu_solve(lu.mT.contiguous().mT, pivots, vb), np.linalg.solve(na, nb), dtype)


def test_expanded_batches():
    (a, na), (b, nb) = regular((3, 3), "float64"), sample((3, 2), "float64")
    close(
        linalg.solve(a.expand(4, 3, 3), b.expand(4, 3, 2)),
        np.broadcast_to(np.linalg.solve(na, nb), (4, 3, 2)),
        "float64",
    )
    close(linalg.inv(a.expand(4, 3, 3)), np.broadcast_to(np.linalg.inv(na), (4, 3, 3)), "float64")
    close(linalg.solve(a, b[:, :1].expand(3, 5)), np.broadcast_to(np.linalg.solve(na, nb)[:, :1], (3, 5)), "float64")


def test_operands_are_not_touched():
    (a, na), (b, nb) = regular((5, 5), "float64"), sample((5, 2), "float64")
    (
        linalg.solve(a, b),
        linalg.inv(a),
        linalg.det(a),
        linalg.lu(a),
        linalg.slogdet(a),
        linalg.solve_triangular(a, b, upper=True),
    )
    np.testing.assert_array_equal(a.numpy(), na)
    np.testing.assert_array_equal(b.numpy(), nb)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES + EMPTY, ids=str)
def test_inv_det_slogdet(shape, dtype):
    a, na = regular(shape, dtype)
    want = np.linalg.inv(na)
    for f in (linalg.inv, torch.inverse, torch.Tensor.inverse):
        close(f(a), want, dtype)
    if shape[-1] <= 7:
        want = np.linalg.det(na)
        for f in (linalg.det, torch.det, torch.Tensor.det):
            close(f(a), want, dtype)
    sign, logabs = linalg.slogdet(a)
    nsign, nlog = np.linalg.slogdet(na)
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    close(sign, nsign, dtype, 200)
    close(logabs, nlog, real, 200)


def test_determinant_values():
    assert torch.det(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).item() == -1
    assert torch.det(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).item() == 0
    assert torch.det(torch.zeros(0, 0)).item() == 1
    assert torch.slogdet(torch.zeros(2, 2)) == (0, -math.inf)
    assert torch.logdet(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).item() == -math.inf
    assert math.isnan(torch.logdet(-torch.eye(3)).item())
    assert torch.logdet(torch.eye(3) * math.e).item() == pytest.approx(3)
    assert torch.logdet(torch.eye(2, dtype=torch.complex64) * 1j).item() == pytest.approx(math.pi * 1j)
    result = torch.slogdet(torch.eye(300) * -10)
    assert result.sign.item() == 1 and result.logabsdet.item() == pytest.approx(300 * math.log(10))
    assert math.isnan(torch.det(torch.tensor([[math.nan, 1.0], [1.0, 1.0]])).item())


def test_solve_ex_and_inv_ex():
    a = torch.eye(3).repeat(4, 1, 1)
    a[2, 1, 1] = 0
    result = linalg.solve_ex(a, torch.ones(4, 3))
    assert result.info.tolist() == [0, 0, 2, 0] and result.info.dtype == torch.int32
    assert result.result[0].tolist() == [1, 1, 1]
    inverse, info = linalg.inv_ex(a)
    assert info.tolist() == [0, 0, 2, 0] and inverse[3].tolist() == torch.eye(3).tolist()
    with pytest.raises(linalg.LinAlgError):
        linalg.solve_ex(a, torch.ones(4, 3), check_errors=True)
    with pytest.raises(linalg.LinAlgError):
        linalg.inv_ex(a, check_errors=True)


# ---------------------------------------------------------------- LU


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape",
    SQUARES + EMPTY + [(3, 5), (5, 3), (4, 3, 5), (4, 5, 3), (50, 40), (40, 50), (0, 3), (3, 0), (2, 3, 0), (2, 0, 3)],
    ids=str,
)
def test_lu(shape, dtype):
    a, na = sample(shape, dtype)
    rows, columns = shape[-2:]
    p, l, u = linalg.lu(a)
    k = min(rows, columns)
    assert (
        tuple(p.shape) == shape[:-2] + (rows, rows)
        and tuple(l.shape) == shape[:-2] + (rows, k)
        and tuple(u.shape) == shape[:-2] + (k, columns)
    )
    np.testing.assert_array_equal(wide(p).sum(-1), 1)
    np.testing.assert_array_equal(wide(l), np.tril(wide(l), -1) + np.eye(rows, k))
    np.testing.assert_array_equal(wide(u), np.triu(wide(u)))
    if "complex" not in dtype:  # complex pivots are the largest by |re| + |im|
        assert np.abs(wide(l)).max(initial=0) <= 1 + 8 * EPS[dtype]
    close(p @ l @ u, na, dtype, 100)
    lu, pivots, info = linalg.lu_factor_ex(a)
    assert (
        lu.shape == a.shape
        and tuple(pivots.shape) == shape[:-2] + (k,)
        and pivots.dtype == torch.int32
        and tuple(info.shape) == shape[:-2]
    )
    again = torch.lu_unpack(lu, pivots)
    assert all(torch.equal(x, y) for x, y in zip(again, (p, l, u)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 6, 6), (33, 33), (0, 0), (0, 2, 2)], ids=str)
def test_lu_solve(shape, dtype):
    a, na = regular(shape, dtype)
    lu, pivots = linalg.lu_factor(a)
    b, nb = sample(shape[:-1] + (2,), dtype, 1)
    c, nc = sample(shape[:-2] + (2, shape[-1]), dtype, 2)
    adjoint = na.conj().swapaxes(-1, -2)

    def from_the_right(matrix, rhs):
        return np.linalg.solve(matrix.swapaxes(-1, -2), rhs.swapaxes(-1, -2)).swapaxes(-1, -2)

    close(linalg.lu_solve(lu, pivots, b), np.linalg.solve(na, nb), dtype)
    close(linalg.lu_solve(lu, pivots, b, adjoint=True), np.linalg.solve(adjoint, nb), dtype)
    close(linalg.lu_solve(lu, pivots, c, left=False), from_the_right(na, nc), dtype)
    close(linalg.lu_solve(lu, pivots, c, left=False, adjoint=True), from_the_right(adjoint, nc), dtype)
    close(torch.lu_solve(b, lu, pivots), np.linalg.solve(na, nb), dtype)


def test_lu_solve_broadcasts():
    (a, na), (b, nb) = regular((4, 1, 3, 3), "float64"), sample((5, 3, 2), "float64")
    lu, pivots = linalg.lu_factor(a)
    close(linalg.lu_solve(lu, pivots, b), np.linalg.solve(na, nb), "float64")
    close(linalg.lu_solve(lu[0, 0], pivots[0, 0], b), np.linalg.solve(na[0, 0], nb), "float64")
    close(linalg.lu_solve(lu, pivots, b[0]), np.linalg.solve(na, nb[0]), "float64")


def test_lu_of_no_matrices():
    p, l, u = linalg.lu(torch.zeros(0, 2**25, 2))
    assert p.shape == (0, 2**25, 2**25) and l.shape == (0, 2**25, 2) and u.shape == (0, 2, 2)


def test_lu_of_singular_matrices():
    p, l, u = linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    assert (p @ l @ u).tolist() == [[1, 2], [2, 4]]
    p, l, u = linalg.lu(torch.zeros(3, 3))
    assert (p @ l @ u).tolist() == torch.zeros(3, 3).tolist()


# ---------------------------------------------------------------- triangular, Cholesky


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 3), (4, 6, 6), (33, 33), (70, 70), (0, 0), (0, 2, 2), (2, 0, 0)], ids=str
)
def test_solve_triangular(shape, dtype, upper, unit):
    a, na = sample(shape, dtype)
    n = shape[-1]
    a = a / max(n, 1) ** 0.5 + 2 * torch.eye(n, dtype=a.dtype)
    na = wide(a)
    triangle = np.triu(na) if upper else np.tril(na)
    if unit:
        triangle = triangle * (1 - np.eye(n)) + np.eye(n)
    b, nb = sample(shape[:-1] + (3,), dtype, 1)
    want = np.linalg.solve(triangle, nb)
    close(linalg.solve_triangular(a, b, upper=upper, unitriangular=unit), want, dtype, 500)
    close(linalg.solve_triangular(a.mT.contiguous().mT, b, upper=upper, unitriangular=unit), want, dtype, 500)
    c, nc = sample(shape[:-2] + (3, n), dtype, 2)
    want = np.linalg.solve(triangle.swapaxes(-1, -2), nc.swapaxes(-1, -2)).swapaxes(-1, -2)
    close(linalg.solve_triangular(a, c, upper=upper, left=False, unitriangular=unit), want, dtype, 500)


def test_solve_triangular_reads_its_triangle_only():
    a = torch.tensor([[2.0, math.nan], [1.0, 4.0]])
    assert linalg.solve_triangular(a, torch.tensor([[2.0], [9.0]]), upper=False).tolist() == [[1.0], [2.0]]
    a = torch.tensor([[math.nan, math.nan], [1.0, math.nan]])
    assert linalg.solve_triangular(a, torch.tensor([[2.0], [9.0]]), upper=False, unitriangular=True).tolist() == [
        [2.0],
        [7.0],
    ]
    (x, nx), (y, ny) = positive((5, 1, 3, 3), "float64"), sample((4, 3, 2), "float64")
    close(linalg.solve_triangular(x, y, upper=False), np.linalg.solve(np.tril(nx), ny), "float64")
    close(linalg.solve_triangular(x[0, 0], y, upper=False), np.linalg.solve(np.tril(nx[0, 0]), ny), "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES + EMPTY, ids=str)
def test_cholesky(shape, dtype):
    a, na = positive(shape, dtype)
    want = np.linalg.cholesky(na)
    close(linalg.cholesky(a), want, dtype)
    close(torch.cholesky(a), want, dtype)
    close(linalg.cholesky(a, upper=True), want.conj().swapaxes(-1, -2), dtype)
    l, info = linalg.cholesky_ex(a)
    close(l, want, dtype)
    assert info.dtype == torch.int32 and not info.any()
    b, nb = sample(shape[:-1] + (2,), dtype, 1)
    want = np.linalg.solve(na, nb)
    close(torch.cholesky_solve(b, linalg.cholesky(a)), want, dtype, 200)
    close(torch.cholesky_solve(b, linalg.cholesky(a, upper=True), upper=True), want, dtype, 200)
    close(torch.cholesky_inverse(linalg.cholesky(a)), np.linalg.inv(na), dtype, 200)


def test_cholesky_reads_the_lower_triangle():
    assert linalg.cholesky(torch.tensor([[4.0, math.nan], [2.0, 5.0]])).tolist() == [[2, 0], [1, 2]]


# ---------------------------------------------------------------- powers, tensors


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64", "bool", "float16"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 7])
def test_matrix_power(dtype, n):
    rng = np.random.default_rng(0)
    na = rng.integers(0, 2, (2, 3, 3)).astype(dtype)
    a = torch.tensor(na.tolist(), dtype=getattr(torch, dtype))
    want = np.linalg.matrix_power(na.real.astype("int64"), n)
    assert want.max() < 2048  # exact in float16
    want = (want != 0) if dtype == "bool" else want
    for f in (torch.matrix_power, linalg.matrix_power, torch.Tensor.matrix_power):
        assert f(a, n).tolist() == want.astype(dtype).tolist()
    assert torch.matrix_power(a, n).data_ptr() != a.data_ptr()


def test_negative_power():
    a, na = regular((2, 4, 4), "float64")
    close(torch.matrix_power(a, -3), np.linalg.matrix_power(na, -3), "float64")
    with pytest.raises(linalg.LinAlgError, match="singular"):
        torch.matrix_power(torch.zeros(2, 2), -1)
    with pytest.raises(
        RuntimeError, match="linalg.inv: Expected a floating point or complex tensor as input. Got Long"
    ):
        torch.matrix_power(torch.eye(2, dtype=torch.int64), -1)


def test_tensorsolve_and_tensorinv():
    _, na = regular((24, 24), "float64")
    na = na.reshape(4, 6, 2, 3, 4)
    a = torch.from_numpy(na.copy())
    b, nb = sample((4, 6), "float64")
    close(linalg.tensorsolve(a, b), np.linalg.tensorsolve(na, nb), "float64")
    moved = a.movedim((2, 4), (0, 3))
    close(
        linalg.tensorsolve(moved, b, dims=(0, 3)),
        np.linalg.tensorsolve(np.moveaxis(na, (2, 4), (0, 3)), nb, axes=(0, 3)),
        "float64",
    )
    close(linalg.tensorinv(a), np.linalg.tensorinv(na), "float64")
    close(linalg.tensorinv(a.reshape(24, 8, 3), ind=1), np.linalg.tensorinv(na.reshape(24, 8, 3), ind=1), "float64")


# ---------------------------------------------------------------- norms


@pytest.mark.parametrize("order", ["fro", 1, -1, math.inf, -math.inf])
@pytest.mark.parametrize("dim", [(-2, -1), (0, 1), (1, 0), (0, 2), (2, 0), (-1, -3)])
@pytest.mark.parametrize("dtype", WIDE)
def test_matrix_norm(order, dim, dtype):
    a, na = sample((3, 4, 5), dtype)
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    for keepdim in (False, True):
        want = np.linalg.norm(na, order, dim, keepdim)
        close(linalg.matrix_norm(a, order, dim, keepdim), want, real)
        close(linalg.norm(a, order, dim, keepdim), want, real)


def test_norms():
    a, na = sample((3, 4), "float64")
    for order in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        close(linalg.norm(a, order), np.linalg.norm(na, order), "float64")
    for order in (0, 1, 2, 3, 0.5, -1, math.inf, -math.inf):
        close(linalg.norm(a[0], order), np.linalg.norm(na[0], order), "float64")
        close(linalg.norm(a, order, dim=0), np.linalg.norm(na, order, 0), "float64")
        close(linalg.vector_norm(a, order), np.linalg.norm(na.ravel(), order), "float64")
        close(linalg.vector_norm(a, order, dim=1, keepdim=True), np.linalg.norm(na, order, 1, True), "float64")
    close(linalg.norm(a[None]), np.linalg.norm(na), "float64")
    close(linalg.matrix_norm(a), np.linalg.norm(na), "float64")
    assert linalg.norm(torch.tensor(-3.0)).item() == 3
    assert linalg.matrix_norm(a.float(), dtype=torch.float64).dtype == torch.float64
    assert linalg.matrix_norm(torch.full((2, 2), 200.0, dtype=torch.float16)).item() == 400
    assert [linalg.matrix_norm(torch.zeros(s), p).item() for s in ((0, 3), (3, 0)) for p in ("fro", 1, math.inf)] == [
        0
    ] * 6
    assert linalg.matrix_norm(torch.zeros(2, 0, 3), 1).tolist() == [0, 0]


# ---------------------------------------------------------------- out=


def test_out():
    (a, na), (b, nb) = regular((3, 3), "float64"), sample((3, 2), "float64")
    out = torch.empty(3, 2, dtype=torch.float64)
    assert linalg.solve(a, b, out=out) is out
    close(out, np.linalg.solve(na, nb), "float64")
    linalg.solve(a, out, out=out)
    close(out, np.linalg.solve(na, np.linalg.solve(na, nb)), "float64")
    column_major = torch.empty(3, 3, dtype=torch.float64).t()
    close(linalg.inv(a, out=column_major), np.linalg.inv(na), "float64")
    linalg.inv(a, out=a)
    close(a, np.linalg.inv(na), "float64")
    for bad in (torch.empty(3, 2, dtype=torch.int32), torch.zeros(1, dtype=torch.float64).expand(3, 2)):
        with pytest.raises(RuntimeError):
            linalg.solve(a, b, out=bad)
    with pytest.raises(TypeError):
        linalg.solve(a, b, out=3)


# ---------------------------------------------------------------- errors

SINGULAR = [
    ("linalg.solve(S, x)", "torch.linalg.solve: The solver failed because the input matrix is singular."),
    ("linalg.solve(many, x)",
        "torch.linalg.solve: (Batch element 3): The solver failed because the input matrix is singular."),
    ("linalg.solve(many.reshape(2, 3, 2, 2), x)",
        "torch.linalg.solve: (Batch element 3): The solver failed because the input matrix is singular."),
    ("linalg.inv(S)",
     "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."),
    ("linalg.inv(many)",
     "linalg.inv: (Batch element 3): The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."),
    ("linalg.inv(torch.zeros(5, 5))",
        "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is singular."),
    ("linalg.cholesky(S - 4 * A)",
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite "
                                   "(the leading minor of order 1 is not positive-definite)."),
    ("linalg.cholesky(many)",
        "linalg.cholesky: (Batch element 3): The factorization could not be completed because the input is not positive-definite "
                              "(the leading minor of order 2 is not positive-definite)."),
    ("linalg.lu_factor(many)",
        "torch.linalg.lu_factor: (Batch element 3): U[2,2] is zero and using it on lu_solve would result in a division by zero. "
                               "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"),
]  # fmt: skip


def names():
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    A, S = torch.eye(2), torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    many = A.repeat(6, 1, 1)
    many[3] = S
    pivots = torch.tensor([1, 2], dtype=torch.int32)
    return {"torch": torch, "linalg": linalg, "x": x, "A": A, "S": S, "many": many, "pivots": pivots, "math": math}


@pytest.mark.parametrize("code, words", SINGULAR, ids=[s[0] for s in SINGULAR])
def test_numerical_failures(code, words):
    with pytest.raises(linalg.LinAlgError) as error:
        eval(code, names())
    assert str(error.value) == words
    assert isinstance(error.value, RuntimeError)


def test_large_singular_matrices_are_named():
    a = torch.eye(40).repeat(3, 1, 1)
    a[1, 35, 35] = 0
    with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 36 is zero"):
        linalg.inv(a)
    with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 1\).*minor of order 36 is not"):
        linalg.cholesky(a)


ERRORS = [
    ("linalg.inv(x)", "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ("linalg.inv(x[0])", "linalg.inv: The input tensor A must have at least 2 dimensions."),
    ("linalg.inv(torch.tensor(1.))", "linalg.inv: The input tensor A must have at least 2 dimensions."),
    ("linalg.inv(A.long())", "linalg.inv: Expected a floating point or complex tensor as input. Got Long"),
    ("linalg.inv(A.bool())", "linalg.inv: Expected a floating point or complex tensor as input. Got Bool"),
    ("linalg.det(x)", "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ("linalg.det(A.long())", "linalg.det: Expected a floating point or complex tensor as input. Got Long"),
    ("linalg.slogdet(x)", "linalg.slogdet: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ("linalg.solve(x, x)", "linalg.solve: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ("linalg.solve(A, x.long())",
        "linalg.solve: Expected A and B to have the same dtype, but found A of type Float and B of type Long instead"),
    ("linalg.solve(A.long(), x.long())",
        "linalg.solve: Expected a floating point or complex tensor as input. Got Long"),
    ("linalg.solve(A, torch.ones(3))",
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x1)"),
    ("linalg.solve(A, torch.ones(3, 2))",
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x2)"),
    ("linalg.solve(A, torch.ones(2, 3), left=False)",
        "linalg.solve: Incompatible shapes of A and B for the equation XA = B (2x2 and 2x3)"),
    ("linalg.solve(A.expand(3, 2, 2), torch.ones(4, 2, 2))",
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"),
    ("linalg.solve(A.expand(3, 2, 2), torch.ones(4, 2))",
        "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 4x2)"),
    ("linalg.solve(A, torch.tensor(1.))", "linalg.solve: The input tensor B must have at least 2 dimensions."),
    ("linalg.lu(x[0])", "linalg.lu: Expected tensor with 2 or more dimensions. Got size: [3] instead"),
    ("linalg.lu_factor(x[0])", "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: [3] instead"),
    ("linalg.lu_factor(A, pivot=False)", "linalg.lu_factor: LU without pivoting is not implemented on the CPU"),
    ("linalg.lu_solve(A, pivots.long(), x)", "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"),
    ("linalg.lu_solve(A, pivots + 1, x)",
        "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of lu_factor?"),
    ("linalg.lu_solve(A, pivots - 1, x)",
        "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?"),
    ("linalg.lu_solve(A, pivots[:1], x)",
        "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix"),
    ("linalg.lu_solve(A, pivots, x.t())",
        "linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x2)"),
    ("linalg.lu_solve(A, pivots, x.double())",
        "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type Float and B of type Double instead"),
    ("linalg.lu_solve(A, pivots, x[:, 0])", "linalg.lu_solve: The input tensor B must have at least 2 dimensions."),
    ("torch.lu_unpack(x, pivots * 2)",
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"),
    ("torch.lu_unpack(x, pivots.long())",
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
     "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"),
    ("linalg.solve_triangular(A, x.t(), upper=True)",
        "linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x2)"),
    ("linalg.solve_triangular(A, x, upper=True, left=False)",
        "linalg.solve_triangular: Incompatible shapes of A and B for the equation XA = B (2x2 and 2x3)"),
    ("linalg.solve_triangular(A, x[0], upper=True)",
        "linalg.solve_triangular: The input tensor B must have at least 2 dimensions."),
    ("linalg.solve_triangular(x, x, upper=True)",
        "linalg.solve_triangular: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ("linalg.cholesky(x)", "linalg.cholesky: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ("torch.cholesky_solve(x[0], A)", "b should have at least 2 dimensions, but has 1 dimensions instead"),
    ("torch.cholesky_solve(x.t(), A)",
        "Incompatible matrix sizes for cholesky_solve: each A matrix is 2 by 2 but each b matrix is 3 by 2"),
    ("torch.matrix_power(x, 2)",
        "linalg.matrix_power: A must be batches of square matrices, but they are 2 by 3 matrices"),
    ("linalg.matrix_norm(x, 3)", "linalg.matrix_norm: Order 3 not supported."),
    ("linalg.matrix_norm(x, 'abc')", "linalg.matrix_norm: Order abc not supported."),
    ("linalg.matrix_norm(x.long())",
        "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got Long"),
    ("linalg.matrix_norm(x[0])", "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."),
    ("linalg.matrix_norm(x, 1, dim=(0, 0))", "linalg.matrix_norm: dims must be different. Got (0, 0)"),
    ("linalg.matrix_norm(x, 1, dim=(0, 5))", "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    ("linalg.norm(x.expand(2, 2, 3), 1)",
        "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D."),
    ("linalg.norm(x.expand(2, 2, 3), 1, dim=(0, 1, 2))",
        "linalg.norm: If dim is specified, it must be of length 1 or 2. Got [0, 1, 2]"),
    ("linalg.norm(x, dim=[])", "linalg.norm: If dim is specified, it must be of length 1 or 2. Got []"),
    ("linalg.norm(x[0], 'fro')", "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."),
    ("linalg.tensorsolve(torch.eye(6), x)",
        "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got 1 != 6"),
    ("linalg.tensorinv(A, ind=0)", "Expected a strictly positive integer for 'ind', but got 0"),
    ("linalg.tensorinv(x, ind=1)",
        "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got 3 != 2"),
    ("linalg.vecdot(x, x.double())",
        "linalg.vecdot: Expected x and y to have the same dtype, but found x of type Float and y of type Double instead"),
]  # fmt: skip


@pytest.mark.parametrize("code, words", ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(code, words):
    with pytest.raises((RuntimeError, IndexError)) as error:
        eval(code, names())
    assert str(error.value) == words


@pytest.mark.parametrize("code", [
    "linalg.solve(A)", "linalg.solve(A, None)", "linalg.solve(A, [1, 2])", "linalg.solve_triangular(A, x)",
    "torch.matrix_power(A, 2.5)", "torch.matrix_power(A, 2**63)",
    "torch.matrix_power(S, -2**63)", "linalg.tensorinv(x, ind=9)", "linalg.tensorinv(x, ind=-2**63)",
    "linalg.tensorsolve(A, x, dims=(0, 7))", "linalg.tensorsolve(A, x, dims=(0, 0, 0, 0, 0))",
    "linalg.matrix_norm(x, 1, dim=(0, 1, 2))", "linalg.matrix_norm(x, 1, dim=())",
    "linalg.lu_solve(A, pivots * -2**30, x)", "linalg.lu_solve(A, pivots[:, None], x)",
    "linalg.lu_solve(A, pivots.expand(5, 2), x)", "torch.lu_unpack(x, pivots[:1])",
    "torch.lu_unpack(x, pivots.expand(3, 2))", "torch.lu_unpack(x[0], pivots)", "torch.lu_unpack(x, pivots[0])",
    "linalg.norm(x, 'fro', dim=0)", "linalg.vander(x[0], N=-5)", "linalg.vander(torch.tensor(1.))",
    "linalg.vander(x, N=2**62)", "torch.vander(x[0], 2**62)",
    "linalg.solve(torch.zeros(2**20, 0, 2**40), x)", "linalg.inv(torch.zeros(1).expand(2**40, 3, 3))",
    "linalg.det(torch.zeros(1).expand(2**31, 2**31))",
    "linalg.lu(torch.zeros(3, 2**40, 0))", "linalg.multi_dot([A, x, None])", "linalg.multi_dot(A, x)",
])  # fmt: skip
def test_hostile_input_raises(code):
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError, MemoryError, OverflowError)):
        eval(code, names())
