"""Which process owns which row and column, and the grid of processes.

A matrix is cut into square blocks; block (i, j) belongs to the process in row i mod P and column j mod Q of a P x Q
grid (L. S. Blackford et al., "ScaLAPACK Users' Guide", SIAM 1997, section 4.3.1).  A process keeps its blocks side by
side as one ordinary tensor, so that a product or a solve on it is one local call.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from ... import _C
from ..._functions.creation import tensor as _tensor

if TYPE_CHECKING:
    from ..._typing import Tensor

_f = _C.functions
_Made = TypeVar("_Made")


def takes_matrices(function: _Made) -> _Made:
    """Decorator: TypeError for arguments that are annotated as Matrix and are none."""
    called: Any = function
    names = list(inspect.signature(called).parameters)
    of = {name for name in names if called.__annotations__.get(name) == "Matrix"}

    @functools.wraps(called)
    def run(*args: Any, **kwargs: Any) -> Any:
        for name, value in (*zip(names, args), *kwargs.items()):
            if name in of and not isinstance(value, Matrix):
                raise TypeError(
                    f"distributed.linalg.{called.__name__}: {name} is a Matrix, got {type(value).__name__}; "
                    "functions of strided.linalg take sharded tensors"
                )
        return called(*args, **kwargs)

    return run  # type: ignore[return-value]


class Axis:
    """`length` places in blocks of `block`, dealt in turn to `parts` processes.  Arithmetic on integers, no data.

    >>> axis = strided.distributed.linalg.Axis(length=10, block=2, parts=3)
    >>> [axis.count(rank) for rank in range(3)], axis.owner(6), axis.local(6), axis.indices(0)
    ([4, 4, 2], 0, 2, [0, 1, 6, 7])
    """

    __slots__ = ("block", "length", "parts")

    def __init__(self, length: int, block: int, parts: int) -> None:
        if length < 0 or block < 1 or parts < 1:
            raise ValueError(
                f"Axis: needs length >= 0, block >= 1, parts >= 1; got length={length}, block={block}, parts={parts}"
            )
        self.length, self.block, self.parts = length, block, parts

    def __repr__(self) -> str:
        return f"Axis(length={self.length}, block={self.block}, parts={self.parts})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axis) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.length, self.block, self.parts))

    def before(self, part: int, place: int) -> int:
        """How many places smaller than `place` are of process `part` (ScaLAPACK's numroc)."""
        whole, rest = divmod(min(max(place, 0), self.length), self.block)
        turns, extra = divmod(whole, self.parts)
        return turns * self.block + (self.block if part < extra else rest if part == extra else 0)

    def count(self, part: int) -> int:
        """How many places are of process `part`."""
        return self.before(part, self.length)

    def owner(self, place: Any) -> Any:
        """The process that has `place`; places are numbers, or tensors of them."""
        return place // self.block % self.parts

    def local(self, place: Any) -> Any:
        """Where `place` is in its owner's piece."""
        return place // (self.block * self.parts) * self.block + place % self.block

    def place(self, part: int, local: Any) -> Any:
        """The place that is at `local` in the piece of process `part`."""
        return (local // self.block * self.parts + part) * self.block + local % self.block

    def indices(self, part: int) -> list[int]:
        """The places of process `part`, in the order of its piece."""
        step = self.block * self.parts
        return [
            i
            for at in range(part * self.block, self.length, step)
            for i in range(at, min(at + self.block, self.length))
        ]

    def steps(self, end: int | None = None) -> list[tuple[int, int, int]]:
        """(first, end, owner) of each block below `end`."""
        end = self.length if end is None else min(end, self.length)
        return [(i, min(i + self.block, end), i // self.block % self.parts) for i in range(0, end, self.block)]


class Grid:
    """Processes in `rows` rows and `columns` columns; rank r of `comm` has the place (r // columns, r % columns).

    `row_comm` joins the processes of one row (its rank is the column), `column_comm` those of one column.  Every rank
    of `comm` makes the grid at the same time.  By default the grid is as near to a square as the number of ranks
    allows, with no more rows than columns: the volume that LU and products send is least there.
    """

    def __init__(self, comm: Any, rows: int | None = None, columns: int | None = None) -> None:
        size = comm.size
        if rows is None and columns is None:
            rows = next(r for r in range(int(size**0.5 + 1e-9), 0, -1) if size % r == 0)
        if rows is None:
            rows = size // columns if columns else 0
        if columns is None:
            columns = size // rows if rows else 0
        if rows < 1 or rows * columns != size:
            raise ValueError(f"Grid: {rows} x {columns} processes are not the {size} ranks of the communicator")
        self.comm, self.rows, self.columns = comm, rows, columns
        self.row, self.column = divmod(comm.rank, columns)
        self.row_comm = comm.split(self.row, self.column)
        self.column_comm = comm.split(self.column, self.row)

    def __repr__(self) -> str:
        return f"Grid({self.rows} x {self.columns}, this process at ({self.row}, {self.column}))"

    def rank(self, row: int, column: int) -> int:
        """The rank of the process at (row, column)."""
        return row * self.columns + column


class Matrix:
    """A matrix of `shape` (m, n) in square blocks of `block` over a grid; `local` is this process's piece.

    `local` has ``rows.count(grid.row)`` rows and ``cols.count(grid.column)`` columns.  Floating and complex dtypes.  It
    may want a gradient: the functions of this package record themselves, and the gradient has the same distribution.
    """

    __slots__ = ("block", "cols", "grid", "local", "rows", "shape", "shared", "spare")

    def __init__(self, local: Tensor, shape: tuple[int, int], block: int, grid: Grid) -> None:
        m, n = shape
        self.shape, self.block, self.grid = (m, n), block, grid
        self.rows, self.cols = Axis(m, block, grid.rows), Axis(n, block, grid.columns)
        here = (self.rows.count(grid.row), self.cols.count(grid.column))
        if tuple(local.shape) != here:
            raise ValueError(
                f"Matrix: the piece of process ({grid.row}, {grid.column}) of a {m} x {n} matrix in blocks of {block} over "
                f"{grid.rows} x {grid.columns} processes is {here[0]} x {here[1]}, got {tuple(local.shape)}"
            )
        if not (local.dtype.is_floating_point or local.dtype.is_complex):
            raise RuntimeError(f"Matrix: expected a floating-point or complex dtype, got {local.dtype}")
        self.local = local
        # spare: nobody else uses the memory, and functions may overwrite it or give it up; shared: it is that of the
        # sharded tensor that the matrix was made of.
        self.spare = self.shared = False

    def __repr__(self) -> str:
        m, n = self.shape
        return f"Matrix({m} x {n}, block={self.block}, {self.local.dtype}, {self.grid!r})"

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.local.dtype

    def with_local(self, local: Tensor) -> Matrix:
        """The same layout around another piece."""
        return Matrix(local, self.shape, self.block, self.grid)

    def take(self) -> Tensor:
        """The piece, detached; a `spare` matrix is empty afterwards."""
        local = self.local.detach()
        if self.spare:
            self.local = local.new_empty((0, 0))
        return local

    def writable(self) -> Matrix:
        """The same elements in memory that may be overwritten: that of a `spare` matrix, or a copy."""
        mine = self.spare
        local = self.take()
        return self.with_local((local if mine else local.clone()).contiguous())

    def new(self, shape: tuple[int, int], fill: float | None = 0.0, dtype: Any = None) -> Matrix:
        """A matrix of another shape on the same grid and device; fill=None leaves the memory as it is."""
        rows, cols = Axis(shape[0], self.block, self.grid.rows), Axis(shape[1], self.block, self.grid.columns)
        size = (rows.count(self.grid.row), cols.count(self.grid.column))
        like = {"dtype": dtype or self.dtype, "device": self.local.device}
        local = _f["empty"](*size, **like) if fill is None else _f["full"](size, fill, **like)
        return Matrix(local, shape, self.block, self.grid)

    def eye(self, m: int, n: int | None = None) -> Matrix:
        """The identity, m x n, on the same grid."""
        made = self.new((m, m if n is None else n))
        rows, cols = made.row_indices(), made.col_indices()
        made.local.masked_fill_(rows[:, None] == cols, 1)
        return made

    def row_indices(self) -> Tensor:
        """The rows of the piece, as int64."""
        return _tensor(self.rows.indices(self.grid.row), dtype=_C.int64, device=self.local.device)

    def col_indices(self) -> Tensor:
        """The columns of the piece, as int64."""
        return _tensor(self.cols.indices(self.grid.column), dtype=_C.int64, device=self.local.device)

    def first_row(self, place: int) -> int:
        """Where the rows from `place` on begin in the piece."""
        return self.rows.before(self.grid.row, place)

    def first_col(self, place: int) -> int:
        """Where the columns from `place` on begin in the piece."""
        return self.cols.before(self.grid.column, place)


def same_grid(name: str, *matrices: Matrix) -> None:
    """ValueError unless the matrices have one grid, block and dtype."""
    first = matrices[0]
    for other in matrices[1:]:
        if other.grid is not first.grid or other.block != first.block:
            raise ValueError(f"{name}: the matrices must have one grid and block, got {first!r} and {other!r}")
        if other.dtype != first.dtype:
            raise RuntimeError(f"{name}: expected the matrices to have one dtype, got {first.dtype} and {other.dtype}")


def square(name: str, A: Matrix) -> int:
    """The order of A; RuntimeError where it is not square."""
    m, n = A.shape
    if m != n:
        raise RuntimeError(f"{name}: A must be square, but it is {m} by {n}")
    return m
