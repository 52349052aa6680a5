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


def lu_messages(n: int, block: int, rows: int, columns: int, pivoting: str = "partial") -> float:
    """How many messages LU sends: for each block column a ring in each row of the grid and an exchange in each column;
    for each column an exchange in one column of the grid, or three for each block column (tournament)."""
    steps = -(-n // block)
    pairs = rows * (rows - 1)
    panels = n if pivoting == "partial" else 3 * steps
    return steps * (rows * (columns - 1) + columns * pairs) + panels * pairs


def cholesky_messages(n: int, block: int, rows: int, columns: int) -> float:
    """How many messages Cholesky sends: as LU without pivots."""
    steps = -(-n // block)
    return steps * (rows * (columns - 1) + columns * rows * (rows - 1) + rows - 1)


def matmul_messages(k: int, block: int, rows: int, columns: int) -> float:
    """How many messages SUMMA sends: two broadcasts for each block of the inner axis, in each row and column."""
    return -(-k // block) * (rows * (columns - 1) + columns * (rows - 1))


def lower_bound(n: int, ranks: int, memory: float) -> float:
    """Elements that some rank must send or receive in a product or LU of order n, if it has room for `memory` elements:
    2/3 n^3 / (ranks sqrt(memory)) (D. Irony, S. Toledo, A. Tiskin, "Communication lower bounds for distributed-memory
    matrix multiplication", 2004; G. Ballard, J. Demmel, O. Holtz, O. Schwartz, 2011)."""
    return 2 / 3 * n**3 / (ranks * memory**0.5)


def seconds(
    words: float, messages: float, flops: float, ranks: int, alpha: float, beta: float, gamma: float, cores: int
) -> float:
    """The alpha-beta model: every rank has its share of messages, of elements sent and of arithmetic.

    alpha: seconds for a message; beta: seconds for an element; gamma: seconds for one operation of a core.
    """
    return (alpha * messages + beta * words) / ranks + gamma * flops / min(ranks, cores)
