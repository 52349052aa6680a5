"""Matrix products and linear algebra against PyTorch itself, where it is installed: values, shapes, dtypes, errors,
gradients."""

import warnings

import numpy as np
import pytest
import strided
from torch_compare import check_same_error

torch = pytest.importorskip("torch")

SAME = [
    # products
    "x @ y", "x @ v", "w @ x", "v @ v", "x.expand(3, 2, 3) @ y", "x @ y.expand(2, 3, 4)",
    "w @ y.expand(2, 2, 3, 4).mT.mT[:, 0, :2]", "m.mm(x, y)", "m.bmm(B, B)", "m.mv(x, v)", "m.dot(v, v)",
    "m.vdot(z[0], z[1])", "m.dot(z[0], z[1])", "m.inner(x, x)", "m.inner(x, m.tensor(2.))", "m.outer(v, w)",
    "m.ger(v, w)", "m.outer(v, w.long())", "m.linalg.vecdot(x, x)",
    "m.linalg.vecdot(z, z, dim=0)", "m.linalg.vecdot(x, v)", "m.addmm(x[:, :1], x, y)",
    "m.addmm(m.tensor(1.), x, y, beta=2, alpha=3)", "m.addmv(w, x, v, alpha=2)", "m.addr(x, w, v, beta=.5)",
    "m.addbmm(B[0], B, B)", "m.baddbmm(B[0], B, B, beta=-1)", "B[0].clone().addmm_(B[1], B[2])", "m.tensordot(x, y, 1)",
    "m.tensordot(x, x, dims=([0], [0]))", "m.tensordot(x, x, dims=0)",
    "m.tensordot(x, x, dims=m.tensor([[0, 1], [0, 1]]))", "m.tensordot(x, y, dims=m.tensor(1))", "m.kron(x, w)",
    "m.kron(x.int(), y.half())", "m.trace(x)", "m.trace(x.int())", "m.cross(x, x.flip(0), dim=1)",
    "m.cross(x.t(), x.t().flip(1))", "m.linalg.cross(x, v[None])", "m.linalg.multi_dot([x, y, y.t()])",
    "m.chain_matmul(x, y, y.t())", "m.chain_matmul(x)", "m.vander(v)", "m.vander(v, 2, increasing=True)",
    "m.vander(v.int())", "m.vander(v > 1)", "m.linalg.vander(x)", "m.linalg.vander(v.int(), N=5)",
    "m.linalg.vander(v.to(m.int8), N=4)", "x.long() @ y.long()", "x.to(m.uint8) @ y.to(m.uint8)",
    "(x * 50).to(m.int8) @ y.to(m.int8)", "x.half() @ y.half()", "x.bfloat16() @ y.bfloat16()", "z @ z.mT",
    "z @ z.mH", "m.matmul(z, z.conj().t())", "m.zeros(2, 0) @ m.zeros(0, 3)",
    "m.addmm(x[:, :1], m.zeros(2, 0), m.zeros(0, 3))", "m.zeros(0, 2, 3) @ y",
    "m.einsum('ij,jk', x, y)", "m.einsum('ij,ij->ij', x, x.double())", "m.einsum('...ij->...ji', B)",
    "m.einsum('bij,bjk->ik', B, B)", "m.einsum('ii->i', B[0])", "m.einsum('bii->b', B)",
    "m.einsum('i,j', v, w)", "m.einsum(x, [0, 1], y, [1, 2], [2, 0])", "m.einsum(x, [51, 25])", "m.einsum('Ba', x)",
    "m.einsum('aB', x)", "m.einsum('->', m.tensor(1.))", "m.einsum('i...->...', B)",
    "m.einsum('...->', B)", "m.einsum('ij->...ij', x)", "m.einsum('bn,anm,bm->ba', x[:, :2], B[:, :2], x)",
    # systems
    "m.linalg.solve(A, B[0])", "m.linalg.solve(A, v)", "m.linalg.solve(A + B, v)", "m.linalg.solve(A + B, B[:, 0])",
    "m.linalg.solve(A, x, left=False)", "m.linalg.solve(A, B)",
    "m.linalg.solve_ex(S, S)[1]", "m.linalg.inv(A)", "m.inverse(A + B)", "m.linalg.inv_ex(A)", "m.linalg.inv_ex(S)[1]",
    "A.inverse()", "m.det(A)", "m.linalg.det(A + B)", "A.det()", "m.slogdet(A)", "m.slogdet(S)",
    "m.linalg.slogdet(A + B)", "m.logdet(A)", "m.logdet(S)", "m.logdet(-m.eye(3))", "m.linalg.slogdet(-A)",
    "m.linalg.slogdet(A * 1j)", "m.linalg.det(A * 1j)", "m.linalg.det(m.zeros(2, 0, 0))",
    "m.linalg.inv(m.zeros(2, 0, 0))", "m.linalg.solve(m.zeros(0, 3, 3), m.zeros(0, 3))", "m.linalg.lu(A)",
    "m.linalg.lu(x)", "m.linalg.lu(x.t())", "m.linalg.lu(A + B)", "m.linalg.lu_factor(A)", "m.linalg.lu_factor(x)",
    "m.linalg.lu_factor_ex(S)[2]", "m.lu_unpack(*m.linalg.lu_factor(A))",
    "m.lu_unpack(*m.linalg.lu_factor(A), unpack_data=False)",
    "m.lu_unpack(*m.linalg.lu_factor(A), unpack_pivots=False)",
    "m.linalg.lu_solve(*m.linalg.lu_factor(A), B)",
    "m.linalg.lu_solve(*m.linalg.lu_factor(A), x, left=False, adjoint=True)",
    "m.lu_solve(B[0], *m.linalg.lu_factor(A))",
    "m.linalg.solve_triangular(A, B, upper=True)", "m.linalg.solve_triangular(A, x, upper=False, left=False)",
    "m.linalg.solve_triangular(A, B[0], upper=False, unitriangular=True)",
    "m.linalg.solve_triangular(A, B.double(), upper=True)", "m.linalg.solve_triangular(A.double(), B, upper=True)",
    "m.linalg.solve_triangular(A.double(), m.eye(3, dtype=m.int32), upper=False, left=False)",
    "m.linalg.solve_triangular(m.zeros(2, 2), x, upper=True)", "m.linalg.cholesky(A @ A.t())",
    "m.linalg.cholesky(A @ A.t(), upper=True)", "m.cholesky(A @ A.t())", "m.linalg.cholesky_ex(A @ A.t())",
    "m.linalg.cholesky_ex(-A @ A.t())[1]", "m.cholesky_solve(B[0], m.linalg.cholesky(A @ A.t()))",
    "m.cholesky_solve(B[0], A.triu(), upper=True)", "m.cholesky_inverse(A.tril())", "m.matrix_power(A, 3)",
    "m.matrix_power(A, -2)", "m.matrix_power(A, 0)", "m.linalg.matrix_power(A.long(), 3)",
    "m.linalg.tensorsolve(m.eye(6).reshape(2, 3, 6), x)",
    "m.linalg.tensorsolve(m.eye(6).reshape(2, 6, 3), x[:, :1].expand(2, 3), dims=(1,))",
    "m.linalg.tensorinv(m.eye(6).reshape(2, 3, 6) * 2)", "m.linalg.tensorinv(m.eye(6).reshape(6, 3, 2) * 2, ind=1)",
    "m.linalg.diagonal(B)", "m.linalg.norm(x)", "m.linalg.norm(x, 1)", "m.linalg.norm(x, 'fro')",
    "m.linalg.norm(v, 3)", "m.linalg.norm(x, 1, dim=1)", "m.linalg.norm(B, float('inf'), dim=(0, 1), keepdim=True)",
    "m.linalg.norm(B)", "m.linalg.norm(z)", "m.linalg.norm(z, 1)", "m.linalg.norm(m.tensor(-3.))",
    "m.linalg.matrix_norm(B)", "m.linalg.matrix_norm(B, -1)", "m.linalg.matrix_norm(x, dtype=m.float64)",
    "m.linalg.matrix_norm(m.zeros(0, 3), 1)", "m.linalg.matrix_norm(x.half(), 1)", "m.linalg.vector_norm(x, 0)",
    # decompositions, through what does not depend on signs
    "m.linalg.svdvals(x)", "m.linalg.svd(A + B).S", "m.linalg.svd(x, full_matrices=False)[0].abs()", "m.svd(x)[1:2]",
    "m.svd(x, some=False, compute_uv=False)", "m.linalg.svd(m.zeros(2, 0, 3))", "m.linalg.qr(x.detach(), mode='r')[0]",
    "m.geqrf(A.detach())", "m.linalg.householder_product(*m.geqrf(x.detach().t()))",
    "m.linalg.qr(A)[1].abs()", "m.linalg.qr(x, mode='complete')[0].abs()",
    "m.linalg.qr(m.zeros(3, 0), mode='complete')",
    "m.orgqr(x.t(), w)", "m.ormqr(x.t(), w, x.t())", "m.ormqr(x.t(), w, x, left=False, transpose=True)",
    "m.linalg.eigh(A + A.t()).eigenvalues", "m.linalg.eigh(A, UPLO='U')[1].abs()",
    "m.linalg.eigvalsh(A @ A.t() * (1 + 0j))",
    "m.linalg.eigvals(S)", "m.linalg.eigvals(A.double()).abs().sort()[0]", "m.linalg.eig(m.zeros(2, 0, 0))",
    "m.linalg.pinv(x)", "m.linalg.pinv(S)", "m.linalg.pinv(A + B, atol=1.)", "m.linalg.pinv(A, m.tensor(.5))",
    "m.linalg.pinv(A @ A.t(), hermitian=True)", "m.linalg.pinv(A, rcond=.3)", "m.pinverse(x)",
    "m.linalg.matrix_rank(x)", "m.linalg.matrix_rank(S)", "m.linalg.matrix_rank(A + B, atol=m.tensor([1., 2., 0.]))",
    "m.linalg.matrix_rank(A, 1.)",
    "m.linalg.cond(A)", "m.linalg.cond(x, -2)", "m.linalg.cond(A.detach(), 1)", "m.linalg.cond(S.double(), 'fro')",
    "m.linalg.cond(A, 'nuc')", "m.linalg.cond(m.zeros(2, 0, 0))", "m.linalg.lstsq(x.t(), x.t())",
    "m.linalg.lstsq(x.t(), x.t(), driver='gelsd')", "m.linalg.lstsq(x.t(), x.t(), driver='gels')",
    "m.linalg.lstsq(A, v)", "m.linalg.lstsq(A + B, B[0])", "m.linalg.ldl_factor_ex(A + A.t())[2]",
    "m.linalg.matrix_exp(A)", "m.matrix_exp(z[:, :2])", "m.linalg.matrix_norm(B, 'nuc')", "m.linalg.matrix_norm(x, 2)",
    "m.linalg.norm(B, -2, dim=(2, 0), keepdim=True)", "m.norm(x, 'nuc')",
    "m.linalg.vector_norm(B, 2, dim=(0, 1))", "m.linalg.vector_norm(x, float('-inf'), keepdim=True)",
]  # fmt: skip

ERRORS = [
    "x @ x", "x @ w", "v @ x", "v @ w", "x @ m.tensor(1.)", "B @ x", "B @ m.ones(2, 3, 3)", "m.mm(x, v)", "m.mm(v, x)",
    "m.mm(x, x)", "m.bmm(x, B)", "m.bmm(B, x)", "m.bmm(B, B[:2])", "m.mv(x, w)", "m.mv(x, x)", "m.dot(x, x)",
    "m.dot(v, w)", "m.dot(v, v.double())", "m.outer(x, v)", "m.outer(v, x)", "m.inner(x, y)", "m.inner(x, x.double())",
    "m.linalg.vecdot(x, x.double())", "m.linalg.vecdot(x, x[:, :2])", "x @ y.double()", "x @ y.long()",
    "m.addmm(x, x, y)", "m.addmm(v, x, y)", "m.addmm(x.double()[:, :1], x, y)", "m.addmm(v, v, y)", "m.addmm(v, x, v)",
    "m.addmv(v, x, v)", "m.addr(v, w, v[:2])",
    "m.addmv(w, x, v.double())", "m.baddbmm(x, B, B)", "m.tensordot(x, x, dims=1)", "m.tensordot(x, x, dims=-1)",
    "m.tensordot(x, x, dims=3)", "m.tensordot(x, x, dims=([0], [0, 1]))",
    "m.tensordot(x, x.double(), dims=2)", "m.trace(v)", "m.trace(B)", "m.cross(x[:, :2], x[:, :2])",
    "m.linalg.cross(x, x, dim=0)", "m.linalg.cross(v, x)", "m.linalg.multi_dot([])", "m.linalg.multi_dot([x])",
    "m.linalg.multi_dot([B, x])",
    "m.chain_matmul(v)", "m.vander(x)", "m.vander(v, -1)", "m.linalg.vander(v, N=1)", "m.linalg.vander(m.tensor(1.))",
    "m.linalg.vander(v > 1)",
    "m.einsum('ij,jk', x)", "m.einsum('ij', x, x)", "m.einsum('ijk', x)", "m.einsum('...ijk', x)",
    "m.einsum('ij->k', x)", "m.einsum('ij->ii', x)", "m.einsum('ii', x)", "m.einsum('ij,jk', x, x)",
    "m.einsum('i.j', x)",
    "m.einsum('ij->i..', x)", "m.einsum('i1', x)", "m.einsum('', x)", "m.einsum('ij->ij->ij', x)",
    "m.einsum('ij-ij', x)", "m.einsum('ij')", "m.einsum(x)", "m.einsum('...i...', x)", "m.einsum('....', x)",
    "m.einsum('ij->...ij...', x)", "m.einsum('...j,...k', x, y)", "m.einsum(x, [0, 99])", "m.einsum(x, [0, -1])",
    "m.einsum('ij', [])",
    "m.linalg.inv(x)", "m.linalg.inv(v)", "m.linalg.inv(S)", "m.linalg.inv(S.expand(3, 2, 2))",
    "m.linalg.inv(A.long())", "m.linalg.solve(A, A.long())", "m.linalg.solve(A.long(), A.long())",
    "m.linalg.solve(S, w)",
    "m.linalg.solve(S.expand(2, 2, 2), w)", "m.linalg.solve(A, w)", "m.linalg.solve(A, x)",
    "m.linalg.solve(A, y, left=False)", "m.linalg.solve(x, x)", "m.linalg.solve(v, x)",
    "m.linalg.solve(A, m.tensor(1.))",
    "m.linalg.solve(A.expand(4, 3, 3), B)", "m.linalg.solve(B, m.ones(4, 3))", "m.linalg.det(x)",
    "m.linalg.det(A.long())", "m.slogdet(x)", "m.linalg.cholesky(-A)",
    "m.linalg.cholesky((S - 4 * m.eye(2)).expand(2, 2, 2))",
    "m.linalg.cholesky(x)", "m.linalg.lu_factor(S)", "m.linalg.lu_factor(S, pivot=False)",
    "m.linalg.lu(S, pivot=False)", "m.linalg.lu_factor(v)", "m.linalg.lu(v)",
    "m.linalg.lu_factor_ex(S, check_errors=True)",
    "m.linalg.lu_solve(A, m.tensor([1, 2, 3]), B)", "m.linalg.lu_solve(A, p + 1, B)", "m.linalg.lu_solve(A, p - 1, B)",
    "m.linalg.lu_solve(A, p[:2], B)", "m.linalg.lu_solve(A, p, x)", "m.linalg.lu_solve(A, p, B.double())",
    "m.linalg.lu_solve(A, p, v)", "m.lu_unpack(A, p + 1)", "m.lu_unpack(A, p.long())",
    "m.linalg.solve_triangular(A, x, upper=True)", "m.linalg.solve_triangular(A, y, upper=True, left=False)",
    "m.linalg.solve_triangular(A, v, upper=True)", "m.linalg.solve_triangular(x, x, upper=True)",
    "m.cholesky_solve(x, x)", "m.cholesky_solve(v, A)", "m.cholesky_solve(x, A)", "m.matrix_power(x, 2)",
    "m.matrix_power(S, -1)",
    "m.matrix_power(A.long(), -1)", "m.matrix_power(A, 2.5)", "m.linalg.matrix_norm(x, 3)",
    "m.linalg.matrix_norm(x, 0)", "m.linalg.matrix_norm(x, 'abc')", "m.linalg.matrix_norm(x.long())",
    "m.linalg.matrix_norm(v)",
    "m.linalg.matrix_norm(x, 1, dim=(0, 0))", "m.linalg.matrix_norm(x, 1, dim=(0, 5))",
    "m.linalg.matrix_norm(x, 1, dtype=m.complex64)", "m.linalg.matrix_norm(x.double(), 1, dtype=m.float32)",
    "m.linalg.svd(v)", "m.linalg.svd(A.long())", "m.linalg.svdvals(v)", "m.linalg.svd(x * float('nan'))",
    "m.linalg.svd((B * float('nan')))", "m.linalg.qr(A, mode='full')", "m.linalg.qr(v)", "m.linalg.eigh(x)",
    "m.linalg.eigh(A, UPLO='X')", "m.linalg.eig(A * float('inf'))", "m.linalg.eig(v)", "m.linalg.lstsq(x, w[:1])",
    "m.linalg.lstsq(x, x.double())", "m.linalg.lstsq(x, x, driver='abc')", "m.linalg.lstsq(v, x)",
    "m.linalg.lstsq(x, m.tensor(1.))",
    "m.linalg.cond(x, 1)", "m.linalg.cond(A, 3)", "m.linalg.cond(v)", "m.linalg.matrix_rank(v)",
    "m.linalg.householder_product(x, w)", "m.orgqr(x.t(), v)", "m.ormqr(x.t(), w, x)", "m.linalg.matrix_exp(x)",
    "m.linalg.matrix_exp(A.long())", "m.linalg.ldl_factor(x)",
    "m.linalg.norm(B, 1)",
    "m.linalg.norm(B, 1, dim=(0, 1, 2))", "m.linalg.norm(v, 'fro')", "m.linalg.norm(x.long())",
    "m.linalg.norm(m.tensor(-3.), 1)", "m.linalg.vector_norm(m.zeros(0), -1)", "m.linalg.tensorsolve(m.eye(6), x)",
    "m.linalg.tensorinv(A, ind=0)", "m.linalg.tensorinv(x, ind=1)",
]  # fmt: skip
# Where these have other words or another type, because PyTorch's are those of its implementation.
OTHER_WORDS = {
    "B @ m.ones(2, 3, 3)", "m.addbmm(x, B, B)", "m.linalg.solve(A.expand(4, 3, 3), B)", "m.einsum('ij', [])",
    "m.einsum('...j,...k', x, y)", "m.linalg.lu_solve(A, p, B.double())", "m.linalg.inv(A.half())",
    "m.linalg.solve(B, m.ones(4, 3))", "m.matrix_power(A, 2.5)", "m.einsum(x, [0, 99])", "m.einsum(x, [0, -1])",
}  # fmt: skip


def run(m, code, grad=False):
    names = {
        "m": m, "x": m.arange(6, dtype=m.float32).reshape(2, 3), "y": m.arange(12, dtype=m.float32).reshape(3, 4) - 5,
        "v": m.tensor([1.0, 2.0, -3.0]), "w": m.tensor([2.0, -1.0]),
        "A": m.tensor([[2.0, 3.0, -1.0], [1.0, -2.0, 8.0], [6.0, 1.0, -3.0]]), "S": m.tensor([[1.0, 2.0], [2.0, 4.0]]),
        "p": m.tensor([1, 2, 3], dtype=m.int32),
        "B": ((m.arange(27, dtype=m.float32) * 7) % 11 - 5).reshape(3, 3, 3),
        "z": m.tensor([[1 + 2j, 3j, 2.0], [-1.0, 1j, 2 - 1j]], dtype=m.complex64),
    }  # fmt: skip
    if grad:
        for name in "xyvwABz":
            names[name].requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code, names), names


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


def numbers(t):
    t = t.detach()
    return np.array((t.float() if t.dtype.is_floating_point else t).tolist())


@pytest.mark.parametrize("code", SAME)
def test_same_result(code):
    for ours, theirs in zip(parts(run(strided, code)[0]), parts(run(torch, code)[0])):
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert str(ours.dtype) == str(theirs.dtype)
        tolerance = 2e-2 if "half" in code or "bfloat16" in code else 2e-5
        np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("code", SAME)
def test_same_gradient(code):
    # No gradient for integers; PyTorch's vander has a broken one, and it records some constants.
    if any(
        word in code
        for word in (
            "int",
            "long()",
            "> 1",
            "clone()",
            "chain_matmul(x)",
            "m.vander",
            "unpack_data=False",
            "power(A, 0)",
            "norm(x, 0)",
        )
    ):
        return
    (theirs, their_names), (ours, our_names) = run(torch, code, True), run(strided, code, True)
    theirs, ours = ([t for t in parts(r) if t.requires_grad] for r in (theirs, ours))
    assert len(theirs) == len(ours)
    if not ours or not all(np.isfinite(numbers(t)).all() for t in theirs):
        return
    assert [t.grad_fn.name() for t in ours][:1] == [t.grad_fn.name() for t in theirs][:1] or code not in NODES

    for outputs in (theirs, ours):
        total = sum((t.abs() ** 2 if t.is_complex() else t * t).sum() for t in outputs)
        total.backward()
    for name in "xyvwABz":
        want, got = their_names[name].grad, our_names[name].grad
        assert (want is None) == (got is None) or not want.any()
        if got is not None:
            np.testing.assert_allclose(
                numbers(got),
                numbers(want),
                rtol=2e-2 if "half" in code or "bfloat16" in code else 2e-3,
                atol=1e-3 * max(1, float(want.abs().max())),
            )


NODES = {
    "x @ y", "x @ v", "v @ v", "m.mm(x, y)", "m.bmm(B, B)", "m.mv(x, v)", "m.dot(v, v)", "m.addmm(x[:, :1], x, y)",
    "m.baddbmm(B[0], B, B, beta=-1)", "m.linalg.solve(A, B[0])", "m.linalg.solve(A, v)", "m.linalg.inv(A)",
    "m.det(A)", "m.linalg.slogdet(A + B)", "m.linalg.cholesky(A @ A.t())",
    "m.linalg.solve_triangular(A, B, upper=True)", "m.linalg.lu_factor(A)", "m.linalg.cross(x, v[None])",
}  # fmt: skip


@pytest.mark.parametrize("code", ERRORS)
def test_same_error(code):
    check_same_error(lambda: run(strided, code), lambda: run(torch, code), code not in OTHER_WORDS)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (2, 1, 4, 4)])
@pytest.mark.parametrize("upper", [False, True])
def test_solutions_by_cholesky_stand_column_by_column(dtype, shape, upper):
    found = []
    for m in (strided, torch):
        a = m.eye(shape[-1], dtype=getattr(m, dtype)).expand(shape) * 2
        results = m.cholesky_inverse(a, upper=upper), m.cholesky_solve(a[..., :2].contiguous(), a, upper=upper)
        found.append([(tuple(x.shape), x.stride(), x.tolist()) for x in results])
    assert found[0] == found[1]
