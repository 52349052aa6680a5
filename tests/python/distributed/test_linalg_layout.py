"""Block-cyclic layouts, moves between them, and products, on simulated ranks."""

import pytest
import strided as torch
from distributed_linalg import RANKS, RANKS_AND_DTYPES, close, dist, on_ranks, random
from strided.distributed.linalg import Axis
from strided.distributed.linalg import _transfer as transfer


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("block", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 4, 5, 6, 23])
def test_axis_counts_what_it_lists(length, block, parts):
    axis = Axis(length, block, parts)
    pieces = [axis.indices(part) for part in range(parts)]
    assert sorted(i for piece in pieces for i in piece) == list(range(length))
    for part, piece in enumerate(pieces):
        assert axis.count(part) == len(piece)
        assert [axis.before(part, g) for g in range(length + 1)] == [
            sum(i < g for i in piece) for g in range(length + 1)
        ]
        for at, g in enumerate(piece):
            assert (axis.owner(g), axis.local(g), axis.place(part, at)) == (part, at, g)
    assert [g for first, end, _ in axis.steps() for g in range(first, end)] == list(range(length))
    assert all(axis.owner(first) == owner == axis.owner(end - 1) for first, end, owner in axis.steps())


def test_axis_refuses_nonsense():
    for arguments in ((-1, 1, 1), (1, 0, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="Axis: needs"):
            Axis(*arguments)
    assert Axis(3, 1, 2) == Axis(3, 1, 2) and len({Axis(3, 1, 2), Axis(3, 1, 2), Axis(3, 2, 2)}) == 2


@pytest.mark.parametrize(
    ("ranks", "shape"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (12, (3, 4))]
)
def test_grid_is_nearly_square(ranks, shape):
    def program(linalg, grid):
        assert (grid.rows, grid.columns) == shape
        assert grid.rank(grid.row, grid.column) == grid.comm.rank
        assert (grid.row_comm.rank, grid.column_comm.rank) == (grid.column, grid.row)
        return grid.rows

    on_ranks(ranks, program)


def test_grid_and_matrix_refuse_what_does_not_fit():
    def program(linalg, grid):
        for rows, columns in ((2, 2), (4, None), (0, None), (None, 5)):
            with pytest.raises(ValueError, match="are not the 3 ranks"):
                linalg.Grid(grid.comm, rows, columns)
        with pytest.raises(ValueError, match="Matrix: the piece of process"):
            linalg.Matrix(torch.zeros(9, 9), (4, 4), 2, grid)
        with pytest.raises(RuntimeError, match="floating-point or complex"):
            linalg.from_full(torch.zeros(4, 4, dtype=torch.int32), 2, grid)
        A = linalg.from_full(torch.zeros(4, 3), 2, grid)
        with pytest.raises(RuntimeError, match="must be square"):
            linalg.solve(A, A)
        with pytest.raises(RuntimeError, match=r"cannot be multiplied \(4x3 and 4x3"):
            linalg.matmul(A, A)
        with pytest.raises(RuntimeError, match="one dtype"):
            linalg.matmul(A, linalg.from_full(torch.zeros(3, 3, dtype=torch.float64), 2, grid))
        with pytest.raises(ValueError, match="one grid and block"):
            linalg.matmul(A, linalg.from_full(torch.zeros(3, 3), 1, grid))

    on_ranks(3, program)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("m", "n", "block"), [(0, 3, 2), (1, 1, 4), (9, 5, 2), (6, 8, 2), (7, 12, 3)])
def test_moves_between_layouts(ranks, m, n, block):
    full = random(m, n, dtype=torch.complex128)
    order = torch.randperm(m, generator=torch.Generator().manual_seed(1)).tolist()
    row, col = m // 3, n // 2

    def program(linalg, grid):
        A = linalg.from_full(full, block, grid)
        part = transfer.window(A, row, col, m - row, n - col)
        back = A.new((m, n))
        transfer.put_window(back, row, col, part)
        moved = (linalg.adjoint(A), linalg.adjoint(A, conj=False), transfer.permute_rows(A, order))
        return [linalg.to_full(B) for B in (A, part, back, *moved, A.eye(m, n))]

    A, part, back, adjoint, transposed, permuted, eye = on_ranks(ranks, program)
    expected = torch.zeros_like(full)
    expected[row:, col:] = full[row:, col:]
    assert torch.equal(A, full) and torch.equal(part, full[row:, col:]) and torch.equal(back, expected)
    assert torch.equal(adjoint, full.mH.resolve_conj()) and torch.equal(transposed, full.mT)
    assert torch.equal(permuted, full[order]) and torch.equal(eye, torch.eye(m, n, dtype=full.dtype))


@pytest.mark.parametrize(("ranks", "dtype"), RANKS_AND_DTYPES)
def test_products(ranks, dtype):
    for m, k, n, block in ((7, 10, 5, 2), (1, 3, 1, 2), (4, 0, 3, 2), (9, 8, 7, 4)):
        A, B, C, D = (random(*s, dtype=dtype, seed=i) for i, s in enumerate([(m, k), (k, n), (m, n), (n, k)]))

        def program(linalg, grid):
            a, b, c, d = (linalg.from_full(x, block, grid) for x in (A, B, C, D))  # noqa: B023
            results = linalg.matmul(a, b), linalg.matmul(a, c, adjoint="left"), linalg.matmul(a, d, adjoint="right")
            return [linalg.to_full(x) for x in results]

        plain, left, right = on_ranks(ranks, program)
        for got, (x, y) in zip((plain, left, right), ((A, B), (A.mH, C), (A, D.mH)), strict=True):
            close(got, x @ y, 4 * max(1, x.shape[1]), x, y)


@pytest.mark.parametrize(("ranks", "layers"), [(1, 1), (2, 2), (4, 2), (6, 3), (7, 7), (8, 2)])
def test_products_in_layers(ranks, layers):
    for m, k, n, block in ((7, 10, 5, 2), (1, 3, 1, 2), (4, 0, 3, 2), (9, 8, 17, 1)):
        A, B = random(m, k), random(k, n, seed=1)

        def program(linalg, grid):
            a, b = linalg.from_full(A, block, grid), linalg.from_full(B, block, grid)  # noqa: B023
            return linalg.to_full(linalg.matmul(a, b, layers=layers))

        close(on_ranks(ranks, program), A @ B, 4 * max(1, k), A, B)


def test_layers_that_do_not_fit():
    def program(linalg, grid):
        a = linalg.from_full(torch.ones(3, 3), 1, grid)
        for layers in (0, 2):
            with pytest.raises(ValueError, match=f"3 ranks do not make {layers} layers"):
                linalg.matmul(a, a, layers=layers)
        with pytest.raises(NotImplementedError, match="in 3 layers"):
            linalg.matmul(a, a, layers=3, adjoint="left")

    on_ranks(3, program)


def test_exchange_takes_a_whole_copy_from_one_rank_only():
    full = random(4, 6)

    def program():
        comm = dist.world()
        mine = torch.zeros(4, 2)
        whole = (range(4), range(6))
        parts = [(range(4), range(2 * r, 2 * r + 2)) for r in range(3)]
        mine = mine.to(full.dtype)
        transfer.exchange(
            comm, full, lambda r: tuple(map(list, whole)), mine, lambda r: tuple(map(list, parts[r])), limit=3
        )
        return mine

    assert torch.equal(torch.cat(dist.simulate(3, program), 1), full)
