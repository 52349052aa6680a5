"""Gradients of matrix products and linear algebra against central differences in float64, once and twice
differentiated."""

import math

import numpy as np
import pytest
import strided as torch
from strided import linalg


def matrices(*shape):
    """Regular ones; fixed by the seed of every test."""
    n = shape[-1]
    return lambda kind: torch.randn(*shape, dtype=kind) + (2 + n**0.5) * torch.eye(n, dtype=kind).roll(1, -1)


def definite(*shape):
    def make(kind):
        x = torch.randn(*shape, dtype=kind)
        return x @ x.mH / shape[-1] + torch.eye(shape[-1], dtype=kind)

    return make


def normal(*shape):
    return lambda kind: torch.randn(*shape, dtype=kind)


def hermitian(x):
    return (x + x.mH) / 2


def loss_of(outputs, weights):
    total = 0
    for out, w in zip(outputs, weights):
        product = out * w.conj()
        total = total + (product.real if product.is_complex() else product).sum()
    return total


def as_list(result):
    return [r for r in (result if isinstance(result, tuple) else (result,)) if r.is_floating_point() or r.is_complex()]


def numeric(f, x, step=1e-5):
    """The gradient of the real number f() by the values of x, changed in place; complex: d/dRe + i d/dIm."""
    grad = np.zeros(x.shape, dtype=np.complex128 if x.is_complex() else np.float64)
    for i in np.ndindex(*x.shape):
        for unit in (1, 1j) if x.is_complex() else (1,):
            old = x[i].item()
            values = []
            for sign in (1, -1):
                x[i] = old + sign * step * unit
                values.append(f().item())
            x[i] = old
            grad[i] += unit * (values[0] - values[1]) / (2 * step)
    return grad


def gradcheck(f, makers, kind, twice=True, atol=2e-7):
    inputs = [make(kind).requires_grad_() for make in makers]
    outputs = as_list(f(*inputs))
    weights = [torch.randn(o.shape, dtype=o.dtype) for o in outputs]

    def first():
        return loss_of(as_list(f(*inputs)), weights)

    for graph in (False, True):  # saved factors are used in one, differentiable formulas in the other
        grads = torch.autograd.grad(first(), inputs, create_graph=graph)
        for x, g in zip(inputs, grads):
            assert g.shape == x.shape and g.dtype == x.dtype
            with torch.no_grad():
                want = numeric(first, x)
            np.testing.assert_allclose(
                g.detach().numpy(), want, rtol=2e-6, atol=atol * max(1, np.abs(want).max(initial=0))
            )
    if not twice:
        return
    seeds = [torch.randn(x.shape, dtype=kind) for x in inputs]

    def second():
        with torch.enable_grad():
            grads = torch.autograd.grad(first(), inputs, create_graph=True)
        return loss_of(grads, seeds)

    value = second()
    if not value.requires_grad:
        return  # linear
    grads = torch.autograd.grad(value, inputs, allow_unused=True)
    for x, g in zip(inputs, grads):
        with torch.no_grad():
            want = numeric(second, x)
        got = np.zeros_like(want) if g is None else g.numpy()
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6 * max(1, np.abs(want).max(initial=0)))


KINDS = [torch.float64, torch.complex128]

PRODUCTS = {
    "dot": (torch.dot, normal(4), normal(4)),
    "vdot": (torch.vdot, normal(4), normal(4)),
    "mm": (torch.mm, normal(2, 3), normal(3, 4)),
    "bmm": (torch.bmm, normal(2, 2, 3), normal(2, 3, 2)),
    "mv": (torch.mv, normal(2, 3), normal(3)),
    "matmul 1 2": (torch.matmul, normal(3), normal(3, 2)),
    "matmul 1 3": (torch.matmul, normal(3), normal(2, 3, 2)),
    "matmul 3 1": (torch.matmul, normal(2, 2, 3), normal(3)),
    "matmul 3 2": (torch.matmul, normal(2, 2, 3), normal(3, 2)),
    "matmul 2 3": (torch.matmul, normal(2, 3), normal(2, 3, 2)),
    "matmul broadcast": (torch.matmul, normal(2, 1, 2, 3), normal(2, 3, 2)),
    "matmul transposed": (lambda a, b: a.mT @ b.mT, normal(3, 2), normal(2, 3)),
    "matmul reversed": (lambda a, b: a[::-1] @ b[:, ::-1], normal(2, 3), normal(3, 2)),
    "matmul empty": (torch.matmul, normal(2, 0), normal(0, 2)),
    "outer": (torch.outer, normal(2), normal(3)),
    "inner": (torch.inner, normal(2, 3), normal(2, 3)),
    "vecdot": (linalg.vecdot, normal(2, 3), normal(3)),
    "addmm": (lambda m, a, b: torch.addmm(m, a, b, beta=2, alpha=-0.5), normal(2), normal(2, 3), normal(3, 2)),
    "addmm plain": (torch.addmm, normal(2, 2), normal(2, 3), normal(3, 2)),
    "addmm beta 0": (lambda m, a, b: torch.addmm(m, a, b, beta=0), normal(2, 2), normal(2, 3), normal(3, 2)),
    "addmv": (lambda m, a, b: torch.addmv(m, a, b, beta=2, alpha=3), normal(2), normal(2, 3), normal(3)),
    "addr": (lambda m, a, b: torch.addr(m, a, b, beta=2, alpha=3), normal(2, 3), normal(2), normal(3)),
    "addbmm": (torch.addbmm, normal(2, 2), normal(2, 2, 3), normal(2, 3, 2)),
    "baddbmm": (lambda m, a, b: torch.baddbmm(m, a, b, alpha=3), normal(2, 2), normal(2, 2, 3), normal(2, 3, 2)),
    "tensordot": (lambda a, b: torch.tensordot(a, b, dims=([0, 2], [1, 0])), normal(2, 2, 3), normal(3, 2, 2)),
    "kron": (torch.kron, normal(2, 2), normal(3)),
    "trace": (torch.trace, normal(2, 3)),
    "cross": (linalg.cross, normal(2, 3), normal(1, 3)),
    "multi_dot": (lambda a, b, c: linalg.multi_dot([a, b, c]), normal(2), normal(2, 3), normal(3, 2)),
    "vander": (lambda x: linalg.vander(x, N=4), normal(3)),
    "einsum ij,jk->ik": (lambda a, b: torch.einsum("ij,jk->ik", a, b), normal(2, 3), normal(3, 2)),
    "einsum ii": (lambda a: torch.einsum("ii", a), normal(3, 3)),
    "einsum i...,j...->...": (lambda a, b: torch.einsum("i...,j...->...", a, b), normal(2, 2), normal(3, 1)),
    "einsum bi,oij,bj->bo": (lambda a, b, c: torch.einsum("bi,oij,bj->bo", a, b, c), normal(2, 2), normal(2, 2, 3),
        normal(2, 3)),
    "einsum ij,ij->": (lambda a, b: torch.einsum("ij,ij->", a, b), normal(2, 2), normal(2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, kind):
    f, *makers = PRODUCTS[name]
    gradcheck(f, makers, kind)


SYSTEMS = {
    "solve": (linalg.solve, matrices(3, 3), normal(3, 2)),
    "solve vector": (linalg.solve, matrices(3, 3), normal(3)),
    "solve batch vector": (linalg.solve, matrices(2, 2, 2), normal(2)),
    "solve vectors": (linalg.solve, matrices(3, 2, 2), normal(3, 2)),
    "solve broadcast": (linalg.solve, matrices(2, 1, 2, 2), normal(3, 2, 1)),
    "solve right": (lambda a, b: linalg.solve(a, b, left=False), matrices(3, 3), normal(2, 3)),
    "solve right broadcast": (lambda a, b: linalg.solve(a, b, left=False), matrices(2, 2), normal(2, 3, 2)),
    "solve_ex": (lambda a, b: linalg.solve_ex(a, b).result, matrices(2, 2), normal(2, 2)),
    "inv": (linalg.inv, matrices(3, 3)),
    "inv batch": (linalg.inv, matrices(2, 2, 2)),
    "inv_ex": (lambda a: linalg.inv_ex(a).inverse, matrices(2, 2)),
    "det": (linalg.det, matrices(3, 3)),
    "det batch": (linalg.det, matrices(2, 2, 2)),
    "slogdet": (linalg.slogdet, matrices(3, 3)),
    "slogdet batch": (lambda a: linalg.slogdet(a).logabsdet, matrices(2, 2, 2)),
    "logdet": (lambda a: torch.logdet(a @ a.mH), matrices(3, 3)),
    "triangular lower": (lambda a, b: linalg.solve_triangular(a, b, upper=False), matrices(3, 3), normal(3, 2)),
    "triangular upper": (lambda a, b: linalg.solve_triangular(a + 2 * torch.eye(3), b, upper=True), normal(3, 3),
        normal(3, 2)),
    "triangular unit": (lambda a, b: linalg.solve_triangular(a, b, upper=True, unitriangular=True), normal(3, 3),
        normal(3, 2)),
    "triangular unit lower": (lambda a, b: linalg.solve_triangular(a, b, upper=False, unitriangular=True), normal(3, 3),
        normal(3, 2)),
    "triangular right": (lambda a, b: linalg.solve_triangular(a + 2 * torch.eye(3), b, upper=True, left=False),
        normal(3, 3), normal(2, 3)),
    "triangular broadcast": (lambda a, b: linalg.solve_triangular(a + 2 * torch.eye(2), b, upper=True),
        normal(2, 1, 2, 2), normal(3, 2, 1)),
    "cholesky": (lambda a: linalg.cholesky(hermitian(a)), definite(3, 3)),
    "cholesky upper": (lambda a: linalg.cholesky(hermitian(a), upper=True), definite(3, 3)),
    "cholesky batch": (lambda a: linalg.cholesky(hermitian(a)), definite(2, 2, 2)),
    "cholesky_solve": (lambda b, a: torch.cholesky_solve(b, linalg.cholesky(hermitian(a))), normal(3, 2),
        definite(3, 3)),
    "cholesky_inverse": (lambda a: torch.cholesky_inverse(linalg.cholesky(hermitian(a))), definite(3, 3)),
    "lu": (linalg.lu, matrices(3, 3)),
    "lu batch": (linalg.lu, matrices(2, 2, 2)),
    "lu wide": (linalg.lu, normal(2, 4)),
    "lu tall": (linalg.lu, normal(4, 2)),
    "lu_factor": (lambda a: linalg.lu_factor(a).LU, matrices(3, 3)),
    "lu_solve": (lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), matrices(3, 3), normal(3, 2)),
    "lu_solve adjoint": (lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=True), matrices(3, 3),
        normal(3, 2)),
    "lu_solve right": (lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, left=False), matrices(3, 3), normal(2, 3)),
    "lu_solve right adjoint": (lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, left=False, adjoint=True),
        matrices(2, 2, 2), normal(2, 2, 2)),
    "lu_solve of b": (lambda b: linalg.lu_solve(*linalg.lu_factor(torch.tensor([[1.0, 2], [3, 5]], dtype=b.dtype)), b),
        normal(3, 2, 2)),
    "matrix_power": (lambda a: torch.matrix_power(a, 3), matrices(2, 2)),
    "matrix_power inverse": (lambda a: torch.matrix_power(a, -2), matrices(2, 2)),
    "tensorsolve": (lambda a, b: linalg.tensorsolve(a.reshape(2, 2, 4), b), matrices(4, 4), normal(2, 2)),
    "tensorinv": (lambda a: linalg.tensorinv(a.reshape(2, 2, 4)), matrices(4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems(name, kind):
    f, *makers = SYSTEMS[name]
    gradcheck(f, makers, kind, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("order", ["fro", 1, -1, math.inf, -math.inf])
def test_norms(order, kind):
    gradcheck(lambda a: linalg.matrix_norm(a, order), [normal(2, 3)], kind, twice=order == "fro")
    gradcheck(lambda a: linalg.matrix_norm(a, order, dim=(0, 2), keepdim=True), [normal(2, 2, 3)], kind, twice=False)
    gradcheck(lambda a: linalg.norm(a, 1 if order == "fro" else order, dim=1), [normal(2, 3)], kind, twice=False)


def test_determinant_of_singular_matrices():
    for values in (
        [[1.0, 2.0], [2.0, 4.0]],
        [[1.0, 2, 3], [2, 4, 6], [1, 0, 1]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]],
        [[0.0]],
    ):
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        (got,) = torch.autograd.grad(linalg.det(x), x)
        with torch.no_grad():
            want = numeric(lambda: linalg.det(x), x, 1e-4)
        np.testing.assert_allclose(got.numpy(), want, atol=1e-6)
    x = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 3.0]]], requires_grad=True)
    linalg.det(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[[4, -2], [-2, 1]], [[3, 0], [0, 1]]], atol=1e-5)


def test_names_of_nodes():
    a, b, v = torch.eye(2, requires_grad=True), torch.ones(2, 2), torch.ones(2)
    cases = {
        a @ b: "Mm", a @ v: "Mv", a[0] @ v: "Dot", torch.bmm(a[None], b[None]): "Bmm", torch.addmm(v, a, b): "Addmm",
        linalg.solve(a, v): "LinalgSolveEx", linalg.inv(a): "LinalgInvEx",
        linalg.det(a): "LinalgDet", linalg.slogdet(a).logabsdet: "LinalgSlogdet",
        linalg.cholesky(a): "LinalgCholeskyEx",
        linalg.solve_triangular(a, b, upper=True): "LinalgSolveTriangular", linalg.lu_factor(a).LU: "LinalgLuFactorEx",
    }  # fmt: skip
    assert [t.grad_fn.name() for t in cases] == [n + "Backward0" for n in cases.values()]


def test_in_place_changes_are_noticed():
    a, b = torch.eye(2, requires_grad=True), torch.ones(2, 2)
    c = a @ b
    b += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()
    x = linalg.solve(a, torch.ones(2))
    x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()


def test_half_precision_gradients_keep_the_dtype():
    a = (torch.eye(3) * 2).half().requires_grad_()
    (
        linalg.solve(a, torch.ones(3).half()).sum() + linalg.det(a) + linalg.inv(a).sum() + linalg.slogdet(a)[1]
    ).backward()
    assert a.grad.dtype == torch.float16
    np.testing.assert_allclose(a.grad.double().numpy().diagonal(), [-0.25 + 4 - 0.25 + 0.5] * 3, atol=1e-2)


def test_empty_gradients():
    a, b = torch.zeros(0, 0, requires_grad=True), torch.zeros(0, 2, requires_grad=True)
    (
        linalg.solve(a, b).sum() + linalg.det(a) + linalg.inv(a).sum() + linalg.slogdet(a)[1] + linalg.cholesky(a).sum()
    ).backward()
    assert a.grad.shape == (0, 0) and b.grad.shape == (0, 2)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    "name", ["solve", "solve vector", "solve right", "solve broadcast", "det", "slogdet", "lu_solve"]
)
def test_factors_are_used_again(name, kind):
    """Every order of derivative keeps the factors that the forward pass made; none makes others."""
    f, *makers = SYSTEMS[name]
    inputs = [make(kind).requires_grad_() for make in makers]
    pivots = set()

    def pack(t):
        if t.dtype == torch.int32:
            pivots.add(t.data_ptr())
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        outputs = as_list(f(*inputs))
        assert len(pivots) == 1
        for _ in range(2):
            outputs = torch.autograd.grad(
                loss_of(outputs, [torch.ones(o.shape, dtype=o.dtype) for o in outputs]), inputs, create_graph=True
            )
    assert len(pivots) == 1


def test_gradient_of_a_logarithm_of_a_singular_determinant():
    x = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    assert linalg.slogdet(x)[1].item() == -math.inf
    (g,) = torch.autograd.grad(linalg.slogdet(x)[1], x)
    assert not g.isfinite().any()


def test_solve_triangular_casts_the_right_side_with_gradients():
    a = (torch.eye(2, dtype=torch.float64) * 2).requires_grad_()
    b = torch.ones(2, 1, requires_grad=True)
    x = torch.linalg.solve_triangular(a, b, upper=True)
    x.sum().backward()
    assert x.dtype == torch.float64 and b.grad.dtype == torch.float32 and a.grad.dtype == torch.float64
    assert b.grad.tolist() == [[0.5], [0.5]] and a.grad.tolist() == [[-0.25, -0.25], [0, -0.25]]
