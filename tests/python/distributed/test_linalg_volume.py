"""What the algorithms send and keep, counted on simulated ranks."""

import gc

import pytest
import strided as torch
from distributed_linalg import dist, random
from strided.distributed.linalg import _cholesky, _lu, _matmul, _model, _triangular

GRIDS = [(1, 1), (1, 4), (2, 2), (4, 1), (2, 3)]


def traffic(rows, columns, program):
    """(elements of float64, messages) that all ranks of a grid send while program(linalg, grid)() runs."""

    def start():
        linalg = dist.linalg
        grid = linalg.Grid(dist.world(), rows, columns)
        run = program(linalg, grid)
        grid.comm.traffic.reset()
        run()
        return grid.comm.traffic.sent / 8, grid.comm.traffic.messages

    return [sum(counts) for counts in zip(*dist.simulate(rows * columns, start), strict=True)]


def sent(rows, columns, program):
    return traffic(rows, columns, program)[0]


@pytest.mark.parametrize(("rows", "columns"), GRIDS)
@pytest.mark.parametrize("pivoting", ["partial", "tournament"])
def test_lu_sends_what_the_formula_says(rows, columns, pivoting):
    n, block = 96, 6
    A = random(n, n)
    found, messages = traffic(
        rows, columns, lambda L, grid: lambda F=L.from_full(A, block, grid): _lu.lu_inplace(F, pivoting)
    )
    assert messages <= 1.05 * _model.lu_messages(n, block, rows, columns, pivoting)
    assert found <= 1.2 * _model.lu(n, block, rows, columns)
    p = rows * columns
    if rows == columns and p > 1:  # ScaLAPACK Users' Guide, table 5.8
        assert found - n * block * (rows * rows - 1) <= (3 + p.bit_length() / 4) * n * n * p**0.5


@pytest.mark.parametrize(("rows", "columns"), GRIDS)
def test_cholesky_and_products_send_what_the_formulas_say(rows, columns):
    n, block = 96, 6
    A = random(n, n)
    A = A @ A.mT + torch.eye(n, dtype=A.dtype)
    found, messages = traffic(
        rows, columns, lambda L, grid: lambda F=L.from_full(A, block, grid): _cholesky.cholesky_inplace(F)
    )
    assert found <= 1.2 * _model.cholesky(n, block, rows, columns)
    assert messages <= _model.cholesky_messages(n, block, rows, columns)
    found, messages = traffic(
        rows, columns, lambda L, grid: lambda F=L.from_full(A, block, grid): _matmul.product(F, F)
    )
    assert found == _model.matmul(n, n, n, rows, columns)
    assert messages == _model.matmul_messages(n, block, rows, columns)


def test_systems_with_few_right_hand_sides_do_not_move_the_matrix():
    n, block = 96, 6
    T, B = random(n, n) / n + torch.eye(n, dtype=torch.float64), random(n, 4, seed=1)
    for upper in (True, False):
        for adjoint in (True, False):

            def program(L, grid):
                t, b = L.from_full(T, block, grid), L.from_full(B, block, grid)
                return lambda: _triangular.triangular_inplace(t, b, upper=upper, adjoint=adjoint)  # noqa: B023

            assert sent(2, 2, program) <= 4 * B.numel() < T.numel() / 4


def peak(rows, columns, program):
    """The most memory that all ranks have together while run() of `run = program(linalg, grid)` runs, in bytes, without
    what they had before `program` was called."""

    def start():
        linalg = dist.linalg
        grid = linalg.Grid(dist.world(), rows, columns)
        grid.comm.barrier()
        before = torch.memory.memory_stats()["allocated_bytes"]
        grid.comm.barrier()
        run = program(linalg, grid)
        grid.comm.barrier()
        torch.memory.reset_peak_memory_stats()
        grid.comm.barrier()
        result = run()
        grid.comm.barrier()
        found = torch.memory.memory_stats()["peak_allocated_bytes"] - before
        grid.comm.barrier()
        del result
        return found

    gc.collect()
    return max(dist.simulate(rows * columns, start))


@pytest.mark.parametrize(("rows", "columns"), GRIDS)
def test_no_rank_keeps_more_than_its_share_and_some_panels(rows, columns):
    n, block = 144, 4
    A, B = random(n, n) + n * torch.eye(n, dtype=torch.float64), random(n, n, seed=1)
    H = A @ A.mT
    full, panel = n * n * 8, n * block * 8  # of all ranks together
    panels = 6 * panel * max(rows, columns)

    def piece(L, grid, x):
        return L.from_full(x, block, grid)

    def product(L, grid):
        a, b = piece(L, grid, A), piece(L, grid, B)
        return lambda: L.matmul(a, b)

    def factor(L, grid):  # the factors are the output
        a = piece(L, grid, A)
        return lambda: L.Factors(a)

    def in_place(L, grid):
        a = piece(L, grid, A)
        return lambda: L.Factors(a, overwrite=True)

    def system(L, grid):  # the factors are an output: the gradient reads them
        a, b = piece(L, grid, A), piece(L, grid, B)
        return lambda: L.solve(a, b)

    def cholesky(L, grid):
        a = piece(L, grid, H)
        return lambda: L.cholesky(a)

    def inverse(L, grid):  # the factors besides
        a = piece(L, grid, A)
        return lambda: L.inv(a)

    def qr(L, grid):  # R is made beside the reflectors
        a = piece(L, grid, A)
        return lambda: L.qr(a)

    def adjoint(L, grid):
        a = piece(L, grid, A)
        return lambda: L.adjoint(a)

    needs = ((product, 3), (factor, 2), (in_place, 1), (system, 4), (cholesky, 2), (inverse, 4), (qr, 4), (adjoint, 2))
    for program, matrices in needs:
        found = peak(rows, columns, program)
        assert found <= 1.3 * matrices * full + panels, (program.__name__, found / full, panels / full)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 2)])
def test_no_rank_keeps_more_than_its_share_for_eigenvalues_and_singular_values(rows, columns):
    n, block = 256, 16
    wide, tall = random(n // 2, n), random(2 * n, n // 2)
    H = random(n, n)
    H = H + H.mT
    full = n * n * 8
    panels = 9 * n * block * 8 * rows * columns  # each rank has whole vectors of a panel

    def eigh(L, grid):
        a = L.from_full(H, block, grid)
        return lambda: L.eigh(a, base=16)

    def eigh_upper(L, grid):
        a = L.from_full(H, block, grid)
        return lambda: L.eigh(a, "U", base=16)

    def eigvalsh(L, grid):  # half of a copy of A
        a = L.from_full(H, block, grid)
        return lambda: L.eigvalsh(a, base=16)

    def svd(L, grid):
        a = L.from_full(H, block, grid)
        return lambda: L.svd(a, base=16)

    def svd_wide(L, grid):
        a = L.from_full(wide, block, grid)
        return lambda: L.svd(a, False, base=16)

    def svd_tall(L, grid):
        a = L.from_full(tall, block, grid)
        return lambda: L.svd(a, False, base=16)

    def svdvals(L, grid):  # a copy of A
        a = L.from_full(H, block, grid)
        return lambda: L.svdvals(a, base=16)

    needs = (eigh, 2), (eigh_upper, 2), (eigvalsh, 1.5 / 1.3), (svd, 3), (svd_wide, 1.25), (svd_tall, 2.25)
    for program, matrices in (*needs, (svdvals, 2 / 1.3)):
        found = peak(rows, columns, program)
        assert found <= 1.3 * matrices * full + panels, (program.__name__, found / full, panels / full)


DEALT = [dist.BlockCyclic(0, 8), dist.BlockCyclic(1, 8)]


@pytest.mark.parametrize("placements", [DEALT, [dist.Shard(0), dist.BlockCyclic(1, 8)]])
def test_sharded_tensors_are_not_kept_twice(placements):
    """Operands that are dealt out in blocks already are read where they are; copies are overwritten or given up: one is
    there besides operands, results and factors, and not one for each."""
    n, block = 192, 8
    A = random(n, n) + n * torch.eye(n, dtype=torch.float64)
    A = A + A.mT
    full, panels = n * n * 8, 10 * 4 * n * block * 8
    needs = {  # shares besides the operand: where it is dealt out already, and where it is not
        "eigh": (torch.linalg.eigh, 1.6, 2), "inv": (torch.linalg.inv, 2, 2), "qr": (torch.linalg.qr, 2, 3),
        "cholesky": (torch.linalg.cholesky, 1, 2), "det": (torch.linalg.det, 1, 1),
        "solve": (lambda x: torch.linalg.solve(x, x), 2, 3),
    }  # fmt: skip

    def measured(function):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        x = dist.distribute_tensor(A, mesh, DEALT).redistribute(placements=placements)
        comm = dist.world()
        comm.barrier()
        before = torch.memory.memory_stats()["allocated_bytes"]
        comm.barrier()
        torch.memory.reset_peak_memory_stats()
        comm.barrier()
        result = function(x)
        comm.barrier()
        found = torch.memory.memory_stats()["peak_allocated_bytes"] - before
        comm.barrier()
        del result
        assert torch.equal(x.full_tensor(), A)
        return found

    for name, (function, *shares) in needs.items():
        gc.collect()
        found = max(dist.simulate(4, measured, function))
        allowed = shares[placements is not DEALT] * full + panels
        assert found <= allowed, (name, found / full, panels / full)


def test_results_have_memory_of_their_own():
    A = random(9, 9) + 9 * torch.eye(9, dtype=torch.float64)

    def program():
        x = dist.distribute_tensor(A, dist.init_device_mesh("cpu", (2, 2)), DEALT)
        for function in (lambda x: torch.linalg.matrix_power(x, 1), torch.linalg.inv, lambda x: torch.linalg.qr(x).R):
            function(x).zero_()
        return x.full_tensor()

    assert torch.equal(dist.simulate(4, program)[0], A)
