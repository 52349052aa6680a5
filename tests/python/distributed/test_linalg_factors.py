"""LU as its factors, systems by them, the forms with `info`, and reflectors, of sharded matrices."""

import pytest
import strided as torch
from strided.distributed import BlockCyclic, Replicate, Shard, distribute_tensor, init_device_mesh, simulate
from strided.distributed.linalg import _model

SHAPES = [(9, 9), (11, 6), (5, 12), (1, 1), (2, 1), (0, 3), (3, 0)]
PLACEMENTS = [Shard(0), Shard(1), BlockCyclic(0, 2), Replicate()]


def on(ranks, program, placement=PLACEMENTS[0], mesh_shape=None):
    """program(of): of cuts a tensor on all ranks alike."""

    def run():
        mesh = init_device_mesh("cpu", mesh_shape or (ranks,))
        placements = [placement, *[Shard(1)] * (mesh.ndim - 1)]
        return program(lambda t: distribute_tensor(t, mesh, placements[: mesh.ndim], src_data_rank=None))

    return simulate(ranks, run)


def matrix(m, n, dtype=torch.float64):
    return torch.randn(m, n, dtype=dtype, generator=torch.Generator().manual_seed(10 * m + n))


@pytest.mark.parametrize("placement", PLACEMENTS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lu_is_the_matrix(shape, placement):
    def program(of):
        a = matrix(*shape)
        A = of(a)
        P, L, U = torch.linalg.lu(A)
        LU, pivots = torch.linalg.lu_factor(A) if min(shape) > 0 else torch.linalg.lu_factor_ex(A)[:2]
        again = torch.lu_unpack(LU, pivots)
        assert LU.placements == P.placements == A.placements and pivots.dtype is torch.int32
        for whole in (P.full_tensor() @ L.full_tensor() @ U.full_tensor(),
                      again.P.full_tensor() @ again.L.full_tensor() @ again.U.full_tensor()):  # fmt: skip
            assert torch.allclose(whole, a, rtol=0, atol=1e-13)
        for found, wanted in zip((P, L, U), torch.linalg.lu(a)):
            assert torch.allclose(found.full_tensor(), wanted, rtol=0, atol=1e-13)

    on(3, program, placement)


def test_factors_send_what_the_formula_says():
    n, block = 96, 12  # four blocks for each process along an axis

    def program(of):
        A = of(matrix(n, n) + 10 * torch.eye(n, dtype=torch.float64))
        B = of(matrix(n, 4))
        traffic = torch.distributed.world().traffic
        traffic.reset()
        LU, pivots = torch.linalg.lu_factor(A)
        factored = traffic.sent / 8
        X = torch.linalg.lu_solve(LU, pivots, B)
        residual = (A.full_tensor() @ X.full_tensor() - B.full_tensor()).abs().max().item()
        return LU.to_local().numel(), factored, residual

    kept, factored, residuals = zip(*on(4, program, mesh_shape=(2, 2)))
    assert set(kept) == {n * n // 4} and max(residuals) < 1e-12
    # To blocks and back each element is sent once.
    assert sum(factored) <= 1.2 * _model.lu(n, block, 2, 2) + 2 * n * n


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_column_without_a_pivot(ranks):
    a = matrix(6, 6)
    a[:, 3] = 0

    def program(of):
        A = of(a)
        assert torch.linalg.lu_factor_ex(A).info.full_tensor().item() == 4
        assert torch.linalg.inv_ex(A).info.full_tensor().item() == 4
        assert torch.linalg.solve_ex(A, A).info.full_tensor().item() == 4
        assert torch.lu(A, get_infos=True)[2].full_tensor().item() == 4
        for call in (torch.linalg.lu_factor, lambda A: torch.linalg.inv_ex(A, check_errors=True),
                     lambda A: torch.linalg.solve_ex(A, A, check_errors=True)):  # fmt: skip
            with pytest.raises(torch.linalg.LinAlgError, match="4,4|element 4|singular"):
                call(A)

    on(ranks, program)


def test_what_is_not_positive_definite():
    a = torch.diag(torch.tensor([1.0, 2, -3, 4], dtype=torch.float64))

    def program(of):
        L, info = torch.linalg.cholesky_ex(of(a))
        assert info.full_tensor().item() == 3 and L.shape == a.shape
        with pytest.raises(torch.linalg.LinAlgError, match="order 3"):
            torch.linalg.cholesky_ex(of(a), check_errors=True)
        assert torch.linalg.cholesky_ex(of(a.abs())).info.full_tensor().item() == 0

    on(3, program)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("shape", [(7, 7), (9, 4), (3, 1)], ids=str)
def test_reflectors(shape, dtype):
    a, tau = torch.geqrf(matrix(*shape, dtype))
    tau[-1] = 0
    other = matrix(shape[0], 5, dtype)

    def program(of):
        for mine, whole in (
            (torch.linalg.householder_product(of(a), of(tau)), torch.linalg.householder_product(a, tau)),
            (torch.ormqr(of(a), of(tau), of(other)), torch.ormqr(a, tau, other)),
            (torch.ormqr(of(a), of(tau), of(other), transpose=True), torch.ormqr(a, tau, other, transpose=True)),
            (torch.ormqr(of(a), of(tau), of(other.mH), left=False), torch.ormqr(a, tau, other.mH, left=False)),
        ):
            assert torch.allclose(mine.full_tensor(), whole, rtol=0, atol=1e-13)

    on(3, program)


def test_what_has_no_algorithm_says_so():
    def program(of):
        for call in (torch.linalg.eig, torch.linalg.eigvals):
            with pytest.raises(NotImplementedError, match="not hermitian .* no algorithm without a gather"):
                call(of(matrix(4, 4)))
        with pytest.raises(NotImplementedError, match="without pivoting"):
            torch.linalg.lu_factor(of(matrix(4, 4)), pivot=False)

    on(2, program)
