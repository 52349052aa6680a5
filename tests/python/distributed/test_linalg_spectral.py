"""QR, least squares, eigenvalues, singular values and norms on simulated ranks: backward errors and gradients."""

import math

import pytest
import strided as torch
from distributed_linalg import DTYPES, RANKS, RANKS_AND_DTYPES, close, dist, on_ranks, random, size

la = torch.linalg


def orthonormal(Q, units):
    eye = torch.eye(Q.shape[1], dtype=Q.dtype)
    assert size(Q.mH @ Q - eye) <= units * torch.finfo(Q.dtype).eps


def low_rank(m, n, dtype):
    A = random(m, n, dtype=dtype)
    A[:, n // 2 :] = A[:, :1]
    return A


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
def test_qr(ranks, dtype):
    for make, m, n, block, rows in [
        (random, 0, 0, 2, None), (random, 4, 0, 2, None), (random, 3, 2, 4, ranks), (random, 9, 5, 2, ranks),
        (random, 6, 11, 4, None), (low_rank, 8, 8, 2, None), (low_rank, 17, 4, 2, ranks),
    ]:  # fmt: skip
        A = make(m, n, dtype=dtype)

        def program(linalg, grid):
            A_ = linalg.from_full(A, block, grid)  # noqa: B023
            return [linalg.to_full(x) for mode in ("reduced", "complete") for x in linalg.qr(A_, mode)]

        Q, R, Q1, R1 = on_ranks(ranks, program, rows=rows)
        k = min(m, n)
        for q, r, wide in ((Q, R, k), (Q1, R1, m)):
            assert q.shape == (m, wide) and r.shape == (wide, n) and torch.equal(r, r.triu())
            close(q @ r, A, 8 * max(m, n, 1))
            orthonormal(q, 8 * max(m, n, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
@pytest.mark.parametrize("ranks", [*RANKS, 5, 8])
def test_tall_skinny_qr(ranks, dtype):
    for heights in ([3] * ranks, [r % 3 for r in range(ranks)], [11] + [0] * (ranks - 1)):
        n = min(4, sum(heights))
        pieces = [random(h, n, dtype=dtype, seed=r) for r, h in enumerate(heights)]

        def program():
            comm = dist.world()
            return dist.linalg.tsqr(comm, pieces[comm.rank])  # noqa: B023

        results = dist.simulate(ranks, program)
        Q, R = torch.cat([q for q, _ in results]), results[0][1]
        assert all(torch.equal(R, r) for _, r in results)
        close(Q @ R, torch.cat(pieces), 40)
        orthonormal(Q, 40)


def test_tall_skinny_qr_wants_rows():
    with pytest.raises(dist.RankError, match="expected at least 3 rows in all, got 2"):
        dist.simulate(2, lambda: dist.linalg.tsqr(dist.world(), torch.zeros(1, 3)))


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
def test_least_squares(ranks, dtype):
    for m, n, k, block in ((1, 1, 1, 2), (9, 4, 3, 2), (4, 9, 3, 2), (6, 6, 1, 4)):
        A, B = random(m, n, dtype=dtype), random(m, k, dtype=dtype, seed=1)

        def program(linalg, grid):
            A_, B_ = linalg.from_full(A, block, grid), linalg.from_full(B, block, grid)  # noqa: B023
            X, residuals = linalg.lstsq(A_, B_)
            return linalg.to_full(X), residuals

        X, residuals = on_ranks(ranks, program)
        expected = la.pinv(A) @ B
        close(X, expected, 20 * max(m, n) * la.cond(A).item() ** 2, expected, torch.ones(1))
        assert residuals.shape == ((k,) if m > n else (0,))
        if m > n:
            assert torch.allclose(residuals, (A @ X - B).abs().square().sum(0), rtol=1e-3)


def test_least_squares_wants_full_rank():
    def program(linalg, grid):
        for shape, fill in (((5, 2), 0.0), ((2, 5), 0.0), ((5, 2), 0.7), ((2, 5), 0.7)):
            A = linalg.from_full(torch.full(shape, fill), 2, grid)
            with pytest.raises(la.LinAlgError, match="full rank"):
                linalg.lstsq(A, linalg.from_full(torch.ones(shape[0], 1), 2, grid))
            with pytest.raises(la.LinAlgError, match="full rank"):
                A.local.requires_grad_()
                linalg.lstsq(A, linalg.from_full(torch.ones(shape[0], 1), 2, grid))

    on_ranks(4, program)


def spectrum(values, m, n, dtype):
    """A matrix with these singular values."""
    k = min(m, n)
    U, V = la.qr(random(m, k, dtype=dtype)).Q, la.qr(random(n, k, dtype=dtype, seed=1)).Q
    return (U * values.to(dtype)) @ V.mH


def matrices(dtype):
    yield random(1, 1, dtype=dtype)
    yield random(9, 5, dtype=dtype)
    yield random(4, 8, dtype=dtype)
    yield low_rank(10, 7, dtype)
    yield torch.zeros(7, 6, dtype=dtype)
    yield 3 * torch.eye(7, dtype=dtype)
    yield spectrum(torch.tensor([2.0] * 3 + [1.0] * 3 + [1e-3] * 3), 9, 9, dtype)
    yield spectrum(10.0 ** -torch.arange(0, 20, 2), 10, 10, dtype)


@pytest.mark.parametrize(
    ("ranks", "dtype"), [(1, DTYPES[3]), (3, DTYPES[0]), (4, DTYPES[1]), (6, DTYPES[2]), (7, DTYPES[1])]
)
def test_singular_values_and_vectors(ranks, dtype):
    for A in list(matrices(dtype))[:: 1 if ranks < 4 else 2]:
        m, n = A.shape
        k, tolerance = min(m, n), 30 * max(m, n) * torch.finfo(dtype).eps

        def program(linalg, grid):
            A_ = linalg.from_full(A, 4, grid)  # noqa: B023
            U, S, Vh = linalg.svd(A_, base=4)
            return linalg.to_full(U), S, linalg.to_full(Vh)

        U, S, Vh = on_ranks(ranks, program)
        assert U.shape == (m, m) and S.shape == (k,) and Vh.shape == (n, n) and not S.is_complex()
        assert size((U[:, :k] * S) @ Vh[:k] - A) <= tolerance * size(A)
        assert size(S - la.svdvals(A)) <= tolerance * size(A) and torch.equal(S, S.sort(descending=True).values)
        orthonormal(U, 30 * max(m, n))
        orthonormal(Vh.mH, 30 * max(m, n))


@pytest.mark.parametrize(
    ("ranks", "dtype"), [(1, DTYPES[3]), (2, DTYPES[0]), (4, DTYPES[1]), (6, DTYPES[2]), (7, DTYPES[1])]
)
def test_eigenvalues_and_vectors(ranks, dtype):
    for i, A in enumerate(list(matrices(dtype))[1 :: 1 if ranks < 4 else 3]):
        if A.shape[0] != A.shape[1]:
            A = A @ A.mH  # noqa: PLW2901
        H, n = (A + A.mH) / 2, A.shape[0]
        tolerance = 30 * n * torch.finfo(dtype).eps
        halves = ("L", H.tril()), ("U", H.triu())
        for UPLO, given in halves if ranks == 1 else [halves[i % 2]]:

            def program(linalg, grid):
                E, V = linalg.eigh(linalg.from_full(given, 4, grid), UPLO, base=4)  # noqa: B023
                return E, linalg.to_full(V)

            E, V = on_ranks(ranks, program)
            assert size((V * E) @ V.mH - H) <= tolerance * size(H)
            assert size(E - la.eigvalsh(H)) <= tolerance * size(H) and torch.equal(E, E.sort().values)
            orthonormal(V, 30 * n)


def test_what_is_not_finite_and_other_arguments_raise():
    def program(linalg, grid):
        A = linalg.from_full(torch.full((9, 9), math.nan), 2, grid)
        for call in (lambda: linalg.eigh(A, base=2), lambda: linalg.svd(A, base=2), lambda: linalg.eigvalsh(A)):
            with pytest.raises(la.LinAlgError, match="not finite"):
                call()
        with pytest.raises(ValueError, match="Expected UPLO argument"):
            linalg.eigh(A, "X")
        with pytest.raises(ValueError, match="mode must be"):
            linalg.qr(A, "full")
        with pytest.raises(ValueError, match="Order 3 not supported"):
            linalg.norm(A, 3)
        singular = linalg.from_full(torch.ones(4, 4), 2, grid)
        return linalg.cond(singular, 1)

    assert on_ranks(4, program).item() == math.inf


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
def test_norms_and_conditions(ranks, dtype):
    A, H = random(5, 7, dtype=dtype), random(5, 5, dtype=dtype) + 3 * torch.eye(5, dtype=dtype)
    orders = ["fro", "nuc", 1, -1, math.inf, -math.inf, 2, -2]

    def program(linalg, grid):
        A_, H_ = linalg.from_full(A, 2, grid), linalg.from_full(H, 2, grid)
        return [linalg.norm(A_, o) for o in orders], [linalg.cond(H_, o) for o in [None, *orders]]

    norms, conditions = on_ranks(ranks, program)
    eps = torch.finfo(dtype).eps
    for got, order in zip(norms, orders, strict=True):
        assert got.shape == () and abs(got.item() - la.matrix_norm(A, order).item()) <= 100 * eps * size(A)
    for got, order in zip(conditions, [None, *orders], strict=True):
        expected = la.cond(H, order).item()
        assert abs(got.item() - expected) <= 1000 * eps * max(1.0, expected) * la.cond(H).item()


def test_norms_do_not_overflow():
    def program(linalg, grid):
        return linalg.norm(linalg.from_full(torch.full((3, 3), 1e200, dtype=torch.float64), 2, grid))

    assert abs(on_ranks(4, program).item() / 3e200 - 1) < 1e-14


@pytest.mark.parametrize(("ranks", "m", "n"), [(1, 1, 1), (1, 5, 5), (1, 3, 5), (4, 1, 1), (4, 6, 4), (4, 3, 5)])
def test_gradients_are_those_of_whole_matrices(ranks, m, n):
    dtype = torch.complex128
    k = min(m, n)
    A, B = random(m, n, dtype=dtype), random(m, 2, dtype=dtype, seed=1)
    H = A.mH @ A + torch.arange(n).to(dtype).diag()
    square, tall, wide = (random(s, s, dtype=dtype, seed=2 + i) for i, s in enumerate((n, m, n)))
    R, X = random(k, n, dtype=dtype, seed=5), random(n, 2, dtype=dtype, seed=6)
    few, many = random(k, seed=7), random(n, seed=8)

    def inner(y, weight):
        return (y * weight.conj()).sum().real

    def weighed(L, u, weights):  # U diag(w) U^H does not depend on the phases of U's columns
        return L.matmul(u.with_local(u.local * weights[u.col_indices()]), u, adjoint="right")

    def herm(a):
        return (a + a.mH) / 2

    def symmetric(L, a):
        return a.with_local((a.local + L.adjoint(a).local) / 2)

    # (function of whole matrices, function of pieces giving this rank's share of it, inputs)
    def cases(L, P):
        yield (
            lambda a: inner((lambda q: q @ q.mH)(la.qr(a).Q), tall),
            lambda a: P(L.matmul(*[L.qr(a).Q] * 2, adjoint="right"), tall),
            (A,),
        )
        yield (
            lambda a: inner(la.qr(a).R.abs().square(), R),
            lambda a: P(
                (lambda r: r.with_local(r.local.abs().square() + 0j if dtype.is_complex else r.local.square()))(
                    L.qr(a).R
                ),
                R,
            ),
            (A,),
        )
        yield lambda a, b: inner(la.pinv(a) @ b, X), lambda a, b: P(L.lstsq(a, b).solution, X), (A, B)
        if m > n:
            yield (
                lambda a, b: (a @ (la.pinv(a) @ b) - b).abs().square().sum(),
                lambda a, b: L.lstsq(a, b).residuals.sum(),
                (A, B),
            )
        yield lambda a: inner(la.svdvals(a), few), lambda a: inner(L.svdvals(a, base=2), few), (A,)
        yield (
            lambda a: inner((lambda u: (u * few) @ u.mH)(la.svd(a, full_matrices=False).U), tall),
            lambda a: P(weighed(L, L.svd(a, False, base=2).U, few), tall),
            (A,),
        )
        yield (
            lambda a: inner((lambda v: (v * few) @ v.mH)(la.svd(a, full_matrices=False).Vh.mH), wide),
            lambda a: P(weighed(L, L.adjoint(L.svd(a, False, base=2).Vh), few), wide),
            (A,),
        )
        yield (
            lambda a: inner(la.eigvalsh(herm(a)), many),
            lambda a: inner(L.eigvalsh(symmetric(L, a), base=2), many),
            (H,),
        )
        yield (
            lambda a: inner((lambda v: (v * many) @ v.mH)(la.eigh(herm(a))[1]), square),
            lambda a: P(weighed(L, L.eigh(symmetric(L, a), base=2)[1], many), square),
            (H,),
        )
        for order in ("fro", "nuc", 1, -math.inf, 2):
            yield lambda a, o=order: la.matrix_norm(a, o), lambda a, o=order: L.norm(a, o), (A,)
        yield lambda a: la.cond(a, 1), lambda a: L.cond(a, 1), (H,)

    def gradients(function, inputs):
        leaves = [x.clone().requires_grad_() for x in inputs]
        function(*leaves).backward()
        return [x.grad for x in leaves]

    expected = [gradients(whole, inputs) for whole, _, inputs in cases(None, None)]

    def program(L, grid):
        def share(y, weight):
            return inner(y.local, L.from_full(weight, 2, grid).local)

        results = []
        for _, function, inputs in cases(L, share):
            pieces = [L.from_full(x, 2, grid) for x in inputs]
            pieces = [p.with_local(p.local.clone().requires_grad_()) for p in pieces]
            function(*pieces).backward()
            results.append([L.to_full(p.with_local(p.local.grad)) for p in pieces])
        return results

    for got, want in zip(on_ranks(ranks, program), expected, strict=True):
        for g, w in zip(got, want, strict=True):
            assert torch.allclose(g, w, rtol=1e-7, atol=1e-7)
