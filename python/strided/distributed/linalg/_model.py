"""What the algorithms send: elements over all ranks together, to the first order and the panels' share of the second.

The formulas count what `Communicator.traffic` counts (`sent`), so measured volumes can be held against them.  Swapped
rows are those of a random matrix: a pivot is in any process row with the same probability.
"""

from __future__ import annotations


def lu(n: int, block: int, rows: int, columns: int) -> float:
    """LU of order n: panels along rows of the grid, block rows and swapped rows along its columns, and the exchanges in
    panels.  (ScaLAPACK Users' Guide, table 5.8, has (3 + log2(p) / 4) n^2 sqrt(p) for p = rows x columns.)"""
    panels = n * n / 2 * (columns - 1)
    block_rows = n * n / 2 * (rows - 1)
    swaps = 1.5 * n * n * (rows - 1) / rows
    return panels + block_rows + swaps + n * block * (rows * rows - 1)


def cholesky(n: int, block: int, rows: int, columns: int) -> float:
    """Cholesky of order n: panels along rows of the grid, their parts that stand on the right along its columns."""
    return n * n / 2 * (columns - 1) + n * n / 2 * (rows - 1) + n * block * (rows - 1)


def matmul(m: int, k: int, n: int, rows: int, columns: int) -> float:
    """SUMMA: each element of A goes to the other columns of the grid, each of B to its other rows."""
    return m * k * (columns - 1) + k * n * (rows - 1)


def gathered(elements: int, ranks: int) -> float:
    """What a copy of so many elements on every rank costs, which this package never makes."""
    return elements * (ranks - 1)
