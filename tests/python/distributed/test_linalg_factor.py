"""LU, Cholesky, systems, inverses, determinants on simulated ranks: backward errors, singular matrices, gradients."""

import pytest
import strided as torch
from distributed_linalg import RANKS, RANKS_AND_DTYPES, close, on_ranks, random, size
from strided.distributed.linalg import _lu as lu

LU_SHAPES = [(0, 0, 2), (1, 1, 2), (3, 2, 4), (7, 9, 2), (9, 5, 2), (16, 16, 4), (13, 13, 3)]


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
@pytest.mark.parametrize("pivoting", ["partial", "tournament"])
def test_lu(ranks, dtype, pivoting):
    for m, n, block in LU_SHAPES:
        A = random(m, n, dtype=dtype)

        def program(linalg, grid):
            F = linalg.from_full(A, block, grid)  # noqa: B023
            return lu.lu_inplace(F, pivoting), linalg.to_full(F)

        (pivots, info), F = on_ranks(ranks, program, rows=ranks if m > n else None)
        k = min(m, n)
        L, U = F[:, :k].tril(-1) + torch.eye(m, k, dtype=dtype), F[:k].triu()
        assert info == 0 and len(pivots) == k
        close(L @ U, A[lu.row_order(pivots, m)], 4 * max(m, n, 1), L, U)
        if pivoting == "partial" and k:
            assert L.abs().max().item() <= (1.4143 if dtype.is_complex else 1.0001)
            if not dtype.is_complex:  # the rows that one process would choose
                assert [p + 1 for p in pivots] == torch.linalg.lu_factor(A).pivots.tolist()


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("pivoting", ["partial", "tournament"])
def test_lu_of_singular_matrices(ranks, pivoting):
    B = random(9, 4)
    for A, info in ((torch.zeros(9, 9, dtype=B.dtype), 1), (torch.cat([B, B[:, :1], random(9, 4, seed=1)], 1), None)):

        def program(linalg, grid):
            F = linalg.from_full(A, 2, grid)  # noqa: B023
            return lu.lu_inplace(F, pivoting), linalg.to_full(F)

        (pivots, found), F = on_ranks(ranks, program, rows=ranks)
        assert info is None or found == info
        close((F.tril(-1) + torch.eye(9, dtype=F.dtype)) @ F.triu(), A[lu.row_order(pivots, 9)], 40, torch.ones(9, 9))


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
def test_triangular_systems(ranks, dtype):
    n = 7
    for k, upper, adjoint, unit in [
        (k, u, a, d) for k in (1, 9) for u in (True, False) for a in (True, False) for d in (True, False)
    ]:
        T, B = random(n, n, dtype=dtype) / 4 + torch.eye(n, dtype=dtype), random(n, k, dtype=dtype, seed=1)

        def program(linalg, grid):
            T_, B_ = linalg.from_full(T, 2, grid), linalg.from_full(B, 2, grid)  # noqa: B023
            return linalg.to_full(
                linalg.solve_triangular(T_, B_, upper=upper, adjoint=adjoint, unitriangular=unit)  # noqa: B023
            )

        X = on_ranks(ranks, program)
        full = T.triu() if upper else T.tril()
        if unit:
            full = full - full.diagonal().diag() + torch.eye(n, dtype=dtype)
        close((full.mH if adjoint else full) @ X, B, 4 * n, full, X)


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
def test_systems_inverses_and_determinants(ranks, dtype):
    for n, k, block in ((0, 2, 2), (1, 1, 2), (5, 1, 4), (11, 12, 2), (12, 3, 4)):
        A, B = random(n, n, dtype=dtype), random(n, k, dtype=dtype, seed=1)

        def program(linalg, grid):
            A_, B_ = linalg.from_full(A, block, grid), linalg.from_full(B, block, grid)  # noqa: B023
            factors = linalg.Factors(A_)
            pair = linalg.solve(A_, B_, factors=factors), linalg.solve(A_, B_, adjoint=True, factors=factors)
            return [linalg.to_full(x) for x in (*pair, linalg.inv(A_))], linalg.det(A_), linalg.slogdet(A_)

        (X, Y, inverse), det, (sign, log) = on_ranks(ranks, program)
        close(A @ X, B, 8 * n + 1, A, X)
        close(A.mH @ Y, B, 8 * n + 1, A, Y)
        close(A @ inverse, torch.eye(n, dtype=dtype), 8 * n + 1, A, inverse)
        expected = torch.linalg.slogdet(A)
        tolerance = 50 * torch.finfo(dtype).eps * max(1, n) * max(1.0, size(A) * size(inverse))
        assert (sign.shape, log.shape, det.shape) == ((), (), ()) and log.dtype == expected.logabsdet.dtype
        assert abs(log.item() - expected.logabsdet.item()) <= tolerance
        assert abs(sign.item() - expected.sign.item()) <= tolerance
        assert abs(det.item() - torch.linalg.det(A).item()) <= tolerance * max(1.0, abs(det.item()))


@pytest.mark.parametrize("ranks", RANKS)
def test_singular_matrices_raise_on_every_rank(ranks):
    A = torch.ones(6, 6)

    def program(linalg, grid):
        A_ = linalg.from_full(A, 2, grid)
        with pytest.raises(torch.linalg.LinAlgError, match="input matrix is singular"):
            linalg.solve(A_, A_)
        with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.inv: The diagonal element 2 is zero"):
            linalg.inv(A_)
        with pytest.raises(torch.linalg.LinAlgError, match="the leading minor of order 5 is not"):
            broken = torch.eye(6)
            broken[4, 4] = -1
            linalg.cholesky(linalg.from_full(broken, 2, grid))
        sign, log = linalg.slogdet(A_)
        return linalg.det(A_), sign, log

    det, sign, log = on_ranks(ranks, program)
    assert (det.item(), sign.item(), log.item()) == (0, 0, float("-inf"))


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
def test_cholesky(ranks, dtype):
    for n, block in ((0, 2), (1, 2), (6, 4), (13, 2), (16, 4)):
        B = random(n, n, dtype=dtype)
        A = B @ B.mH + torch.eye(n, dtype=dtype)
        lower = A.tril() + 7 * torch.ones_like(A).triu(1)  # what is above the diagonal is not read

        def program(linalg, grid):
            A_ = linalg.from_full(lower, block, grid)  # noqa: B023
            return linalg.to_full(linalg.cholesky(A_)), linalg.to_full(linalg.cholesky(A_, upper=True))

        L, U = on_ranks(ranks, program)
        assert torch.equal(L, L.tril()) and torch.equal(U, L.mH.resolve_conj())
        close(L @ L.mH, A, 4 * max(n, 1), L, L)


def gradients(function, inputs, weight):
    leaves = [x.clone().requires_grad_() for x in inputs]
    (function(*leaves) * weight.conj()).sum().real.backward()
    return [x.grad for x in leaves]


def on_pieces(linalg, grid, function, inputs, weight, block=2):
    pieces = [linalg.from_full(x, block, grid) for x in inputs]
    pieces = [p.with_local(p.local.clone().requires_grad_()) for p in pieces]
    result = function(*pieces)
    if isinstance(result, linalg.Matrix):
        weight, result = linalg.from_full(weight, block, grid).local, result.local
    (result * weight.conj()).sum().real.backward()
    return [linalg.to_full(p.with_local(p.local.grad)) for p in pieces]


@pytest.mark.parametrize(
    ("ranks", "dtype"), [(1, torch.float64), (4, torch.float64), (4, torch.complex128), (6, torch.complex128)]
)
def test_gradients_are_those_of_whole_matrices(ranks, dtype):
    n, k = 5, 3
    A, B, W, V = (random(n, c, dtype=dtype, seed=i) for i, c in enumerate((n, k, k, n)))
    H = A @ A.mH + n * torch.eye(n, dtype=dtype)
    one = torch.ones((), dtype=dtype)
    la = torch.linalg

    def solve_triangular(upper, **options):
        def whole(t, b):
            t = t.triu() if upper else t.tril()
            if options.get("adjoint"):
                return la.solve_triangular(t.mH, b, upper=not upper)
            return la.solve_triangular(t, b, upper=upper, **options)

        return whole, lambda L: lambda t, b: L.solve_triangular(t, b, upper=upper, **options)

    def cases():
        yield lambda a, b: a @ b, lambda L: L.matmul, (A, B), W
        yield lambda a, b: a.mH @ b, lambda L: lambda a, b: L.matmul(a, b, adjoint="left"), (A, B), W
        yield lambda a, b: a @ b.mH, lambda L: lambda a, b: L.matmul(a, b, adjoint="right"), (A, V), V
        yield lambda a: a.mH * 1, lambda L: L.adjoint, (A,), V
        yield la.solve, lambda L: L.solve, (A, B), W
        yield lambda a, b: la.solve(a.mH, b), lambda L: lambda a, b: L.solve(a, b, adjoint=True), (A, B), W
        for upper in (True, False):
            for options in ({}, {"adjoint": True}, {"unitriangular": True}):
                yield *solve_triangular(upper, **options), (H, B), W
        yield la.cholesky, lambda L: L.cholesky, (H,), V
        yield la.inv, lambda L: L.inv, (A,), V
        yield la.det, lambda L: L.det, (A,), 2 * one
        yield (
            lambda a: la.slogdet(a)[0],
            lambda L: lambda a: L.slogdet(a)[0],
            (A,),
            one * (2 + 1j if dtype.is_complex else 2),
        )
        yield lambda a: la.slogdet(a)[1], lambda L: lambda a: L.slogdet(a)[1], (A,), 3 * one.real

    for whole, pieces, inputs, weight in cases():
        expected = gradients(whole, inputs, weight)
        got = on_ranks(ranks, lambda L, grid: on_pieces(L, grid, pieces(L), inputs, weight))  # noqa: B023
        for g, e in zip(got, expected, strict=True):
            assert torch.allclose(g, e, rtol=1e-9, atol=1e-9)


def test_second_derivatives():
    A, B = random(5, 5), random(5, 2, seed=1)

    def whole(a, b):
        return torch.linalg.solve(a, b).square().sum()

    def twice(function, a, b):
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        (g,) = torch.autograd.grad(function(a, b), a, create_graph=True)
        return g, torch.autograd.grad(g.square().sum(), (a, b))

    _, expected = twice(whole, A, B)

    def program(L, grid):
        a, b = L.from_full(A, 2, grid), L.from_full(B, 2, grid)
        function = lambda x, y: L.solve(a.with_local(x), b.with_local(y)).local.square().sum()  # noqa: E731
        _, (ga, gb) = twice(function, a.local, b.local)
        return L.to_full(a.with_local(ga)), L.to_full(b.with_local(gb))

    for g, e in zip(on_ranks(4, program), expected, strict=True):
        assert torch.allclose(g, e, rtol=1e-7, atol=1e-7)
