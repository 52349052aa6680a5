"""Moving pieces of matrices: along a row or column of the grid, and from one layout to another.

`exchange` copies between any two layouts in which each rank has some rows times some columns (block-cyclic, cut in one
dimension, whole, transposed, a part of a larger matrix), in rounds, so that what is on its way never exceeds a panel
(L. Prylli and B. Tourancheau, "Fast runtime block cyclic data redistribution on multiprocessors", J. Parallel Distrib.
Comput. 45, 1997).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..._functions.creation import tensor as _tensor
from ._layout import Matrix, takes_matrices

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor


class Ring:
    """A broadcast that goes from neighbour to neighbour and does not wait (the "increasing ring" of A. Petitet, R. C.
    Whaley, J. Dongarra, A. Cleary, "HPL", 2018): each process sends one copy at most, and the root goes on at once."""

    def __init__(self, comm: Any, root: int, tag: int) -> None:
        self.comm, self.tag = comm, tag
        place = (comm.rank - root) % comm.size
        self.last = place == comm.size - 1
        self.next = (comm.rank + 1) % comm.size
        self.before = None if place == 0 else (comm.rank - 1) % comm.size
        self.request: Any = None

    def start(self, tensor: Tensor) -> None:
        """Sends to the next process, if there is one."""
        if not self.last:
            self.request = self.comm.isend(tensor, self.next, tag=self.tag)

    def pass_on(self, tensor: Tensor) -> None:
        """Receives into `tensor` and sends it on; nothing at the root."""
        if self.before is not None:
            self.comm.recv(tensor, self.before, tag=self.tag)
            self.start(tensor)

    def progress(self) -> None:
        """Lets the transport move on."""
        if self.request is not None:
            self.request.is_completed()

    def finish(self) -> None:
        """Waits until the memory may be used again."""
        if self.request is not None:
            self.request.wait()
            self.request = None


def panel_buffers(A: Matrix, more: int) -> list[Tensor]:
    """Memory of two panels, each with room for `more` elements: one is read while the next one is on its way."""
    height = A.local.shape[0] + A.block
    return [A.local.new_empty(height * A.block + more) for _ in range(2)]


def broadcast(comm: Any, tensor: Tensor, root: int) -> Tensor:
    """comm.broadcast where there is somebody and something to send; the tensor is contiguous."""
    if comm.size > 1 and tensor.numel():
        comm.broadcast(tensor, root)
    return tensor


def all_reduce(comm: Any, tensor: Tensor, op: str = "sum") -> Tensor:
    """comm.all_reduce in place, where there is somebody and something to add."""
    if comm.size > 1 and tensor.numel():
        comm.all_reduce(tensor, op)
    return tensor


def reduce(comm: Any, tensor: Tensor, root: int) -> Tensor:
    """comm.reduce (sum) in place on root."""
    if comm.size > 1 and tensor.numel():
        comm.reduce(tensor, "sum", root)
    return tensor


def all_numbers(comm: Any, values: Sequence[float], op: str = "sum") -> list[float]:
    """The sum (prod, min, max) of each number over all ranks, in float64."""
    return all_reduce(comm, _tensor(list(values), dtype=_C.float64), op).tolist()


Where = "Callable[[int], tuple[list[int], list[int]]]"


def exchange(
    comm: Any,
    source: Tensor,
    source_at: Where,
    target: Tensor,
    target_at: Where,
    *,
    limit: int,
    conj: bool = False,
    transposed: bool = False,
) -> Tensor:
    """Writes to `target` the elements that it shares with the sources of all ranks.

    `source_at(rank)` and `target_at(rank)` are the rows and columns (of one common numbering) that a rank has, in the
    order of its piece; a place that several ranks have as a source is taken from the first one.  With `transposed`,
    `source_at` still speaks of the target's numbering, and the piece has its columns as rows.  `limit`: about how many
    elements are on their way from a rank at a time.  What nobody has keeps its value.
    """
    if transposed:
        source = source.mT
    mine_rows, mine_cols = source_at(comm.rank)
    here_rows, here_cols = target_at(comm.rank)
    sources = _first_owners([source_at(r) for r in range(comm.size)])
    targets = [target_at(r) for r in range(comm.size)]
    row_of, col_of = ({g: i for i, g in enumerate(gs)} for gs in (mine_rows, mine_cols))
    to_row, to_col = ({g: i for i, g in enumerate(gs)} for gs in (here_rows, here_cols))
    width = max([1, *(len(r) for r, _ in sources)])
    columns = sorted({c for _, cols in sources for c in cols}.intersection(*[{c for _, cols in targets for c in cols}]))
    chunk = max(1, limit // width)
    for at in range(0, len(columns), chunk) if columns else ():
        window = set(columns[at : at + chunk])
        outgoing, incoming, places = [], [], []
        for rank in range(comm.size):
            rows, cols = targets[rank]
            have_rows, have_cols = sources[comm.rank]
            wanted = window.intersection(have_cols)
            rows = _in_both(rows, have_rows)
            cols = [c for c in cols if c in wanted]
            piece = _take(source, [row_of[g] for g in rows], [col_of[g] for g in cols])
            outgoing.append(piece.conj().resolve_conj().contiguous() if conj else piece)
            rows, cols = sources[rank]
            wanted, rows = window.intersection(cols), _in_both(here_rows, rows)
            cols = [c for c in here_cols if c in wanted]
            places.append(([to_row[g] for g in rows], [to_col[g] for g in cols]))
            incoming.append(target.new_empty((len(rows), len(cols))))
        if comm.size > 1:
            comm.all_to_all(incoming, outgoing)
        else:
            incoming = outgoing
        for piece, (rows, cols) in zip(incoming, places, strict=True):
            if rows and cols:
                _put(target, rows, cols, piece)
    return target


def _first_owners(pieces: list[tuple[list[int], list[int]]]) -> list[tuple[list[int], list[int]]]:
    """The pieces without those that an earlier rank has as well (whole copies)."""
    seen: set = set()
    result = []
    for rows, cols in pieces:
        key = (tuple(rows), tuple(cols))
        result.append(([], []) if key in seen else (rows, cols))
        seen.add(key)
    return result


def _in_both(order: list[int], other: list[int]) -> list[int]:
    wanted = set(other)
    return [g for g in order if g in wanted]


def _run(places: list[int]) -> slice | None:
    """The slice that the places are, if they are one."""
    if len(places) == 0 or places[-1] - places[0] != len(places) - 1:
        return None
    return (
        slice(places[0], places[-1] + 1) if all(b - a == 1 for a, b in zip(places, places[1:], strict=False)) else None
    )


def _index(places: list[int], device: Any) -> Tensor:
    return _tensor(places, dtype=_C.int64, device=device)


def _take(source: Tensor, rows: list[int], cols: list[int]) -> Tensor:
    """source[rows][:, cols], contiguous and of its own."""
    if not rows or not cols:
        return source.new_empty((len(rows), len(cols)))
    r, c = _run(rows), _run(cols)
    part = source[r] if r is not None else source
    part = part[:, c] if c is not None else part.index_select(1, _index(cols, source.device))
    if r is None:
        part = part.index_select(0, _index(rows, source.device))
    return part.clone() if part.is_contiguous() else part.contiguous()


def _put(target: Tensor, rows: list[int], cols: list[int], piece: Tensor) -> None:
    r, c = _run(rows), _run(cols)
    if r is not None and c is not None:
        target[r, c] = piece
    else:
        target[_index(rows, target.device)[:, None], _index(cols, target.device)] = piece


def places(A: Matrix, row: int = 0, col: int = 0, *, transposed: bool = False) -> Where:
    """Which rows and columns the ranks have, seen from (row, col): a place before it is none of theirs."""
    grid = A.grid

    def at(rank):
        r, c = divmod(rank, grid.columns)
        rows = [i - row if i >= row else -1 - i for i in A.rows.indices(r)]
        cols = [j - col if j >= col else -1 - j for j in A.cols.indices(c)]
        return (cols, rows) if transposed else (rows, cols)

    return at


def panel_size(A: Matrix) -> int:
    """How many elements of A may be on their way at once: those of a block column."""
    m, n = A.shape
    return max(1, max(m, n) * A.block)


def adjoint(A: Matrix, *, conj: bool = True) -> Matrix:
    """The transposed matrix (conjugated, unless conj=False), on the same grid."""
    m, n = A.shape
    target = A.new((n, m), None)
    exchange(
        A.grid.comm, A.local, places(A, transposed=True), target.local, places(target),
        limit=max(1, panel_size(A) // A.grid.rows), conj=conj and A.dtype.is_complex, transposed=True,
    )  # fmt: skip
    return target


def window(A: Matrix, row: int, col: int, m: int, n: int) -> Matrix:
    """A[row : row + m, col : col + n] as a matrix of its own."""
    if row == col == 0:  # the blocks stay where they are
        return Matrix(A.local[: A.first_row(m), : A.first_col(n)].clone(), (m, n), A.block, A.grid)
    target = A.new((m, n), None)
    return target.with_local(_copied(A, places(A, row, col), target, places(target)))


def put_window(A: Matrix, row: int, col: int, part: Matrix) -> None:
    """A[row : row + m, col : col + n] = part, in place."""
    _copied(part, places(part), A, places(A, row, col))


def permute_rows(A: Matrix, order: Sequence[int]) -> Matrix:
    """A[order]; along the columns of the grid only."""
    target, to = A.new(A.shape, None), inverse_order(order)
    columns = list(range(A.local.shape[1]))

    def source(rank):
        return [to[i] for i in A.rows.indices(rank)], columns

    def there(rank):
        return A.rows.indices(rank), columns

    exchange(A.grid.column_comm, A.local, source, target.local, there, limit=max(1, panel_size(A) // A.grid.rows))
    return target


def inverse_order(order: Sequence[int]) -> list[int]:
    """The permutation that undoes this one."""
    result = [0] * len(order)
    for i, g in enumerate(order):
        result[g] = i
    return result


def _copied(source: Matrix, source_at: Where, target: Matrix, target_at: Where) -> Tensor:
    limit = max(1, panel_size(source) // source.grid.rows)
    return exchange(source.grid.comm, source.local, source_at, target.local, target_at, limit=limit)


def from_full(full: Tensor, block: int, grid: Any) -> Matrix:
    """This process's piece of a matrix that every process has; nothing is sent."""
    from ._layout import Axis, Grid

    if not isinstance(full, _C.Tensor) or full.ndim != 2 or not isinstance(grid, Grid):
        raise TypeError(
            "distributed.linalg.from_full: a tensor of two axes and a Grid are required, got "
            f"{type(full).__name__} and {type(grid).__name__}"
        )
    m, n = full.shape

    rows, cols = Axis(m, block, grid.rows).indices(grid.row), Axis(n, block, grid.columns).indices(grid.column)
    return Matrix(_take(full, rows, cols), (m, n), block, grid)


@takes_matrices
def to_full(A: Matrix) -> Tensor:
    """The whole matrix on every process: for small matrices, and to look at results."""
    m, n = A.shape
    full = A.local.new_zeros((m, n))
    ranks = range(A.grid.comm.size)
    pieces = [A.local.new_empty((A.rows.count(r // A.grid.columns), A.cols.count(r % A.grid.columns))) for r in ranks]
    if len(pieces) > 1:
        A.grid.comm.all_gather(pieces, A.local.contiguous())
    else:
        pieces = [A.local]
    at = places(A)
    for rank, piece in zip(ranks, pieces, strict=True):
        rows, cols = at(rank)
        if rows and cols:
            _put(full, rows, cols, piece)
    return full
