"""Products in 2.5 dimensions: processes in several layers, each of which multiplies a part of the inner axis.

E. Solomonik and J. Demmel, "Communication-optimal parallel 2.5D matrix multiplication and LU factorization algorithms",
Euro-Par 2011.  With c layers a rank sends 2 n^2 / sqrt(c P) elements in the products instead of 2 n^2 / sqrt(P), and
holds c times its share of the result until the layers are summed.  The operands are dealt out anew, once, not copied: a
layer needs only its part of the inner axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._layout import Axis, Grid, Matrix
from ._matmul import product
from ._transfer import exchange, panel_size, places

if TYPE_CHECKING:
    from ..._typing import Any


class Layers:
    """The ranks of a grid's communicator in `count` layers; each is a grid of its own.

    `depth` joins the processes that have one place in all layers; its rank is the layer.
    """

    def __init__(self, comm: Any, count: int) -> None:
        if count < 1 or comm.size % count:
            raise ValueError(f"matmul: {comm.size} ranks do not make {count} layers")
        self.comm, self.count, self.size = comm, count, comm.size // count
        self.layer, place = divmod(comm.rank, self.size)
        self.grid = Grid(comm.split(self.layer, place))
        self.depth = comm.split(place, self.layer)

    def place(self, rank: int) -> tuple[int, int, int]:
        """(layer, row, column) of a rank."""
        layer, at = divmod(rank, self.size)
        return layer, *divmod(at, self.grid.columns)


def product_layers(A: Matrix, B: Matrix, layers: Layers) -> Matrix:
    """A B, on A's grid."""
    (m, k), n, block = A.shape, B.shape[1], A.block
    rows, cols, grid = Axis(m, block, layers.grid.rows), Axis(n, block, layers.grid.columns), layers.grid
    per_layer = -(-k // (layers.count * block)) * block  # whole blocks
    parts = [(min(i * per_layer, k), min((i + 1) * per_layer, k)) for i in range(layers.count)]
    first, end = parts[layers.layer]

    def inner(of, begin, end, part):
        return [begin + i for i in Axis(end - begin, block, of).indices(part)]

    def left(rank):
        layer, row, column = layers.place(rank)
        return rows.indices(row), inner(grid.columns, *parts[layer], column)

    def right(rank):
        layer, row, column = layers.place(rank)
        return inner(grid.rows, *parts[layer], row), cols.indices(column)

    here = A.grid.comm.rank
    pieces = []
    for M, at, shape in ((A, left, (m, end - first)), (B, right, (end - first, n))):
        target = M.local.new_empty([len(x) for x in at(here)])
        exchange(M.grid.comm, M.local, places(M), target, at, limit=max(1, panel_size(M) // M.grid.rows))
        pieces.append(Matrix(target, shape, block, grid))
    C = product(*pieces)
    del pieces, target
    height = C.local.shape[0]
    cuts = [height * i // layers.count for i in range(layers.count + 1)]
    if layers.count > 1:
        own = C.local.new_empty((cuts[layers.layer + 1] - cuts[layers.layer], C.local.shape[1]))
        layers.depth.reduce_scatter(own, [C.local[a:b] for a, b in zip(cuts, cuts[1:], strict=False)])
    else:
        own = C.local

    def summed(rank):
        layer, row, column = layers.place(rank)
        mine = rows.indices(row)
        begin, stop = (len(mine) * i // layers.count for i in (layer, layer + 1))
        return mine[begin:stop], cols.indices(column)

    result = A.new((m, n), None)
    exchange(A.grid.comm, own, summed, result.local, places(result), limit=max(1, panel_size(result) // A.grid.rows))
    return result
