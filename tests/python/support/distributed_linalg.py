"""Matrices on simulated ranks, and how far results are from being right."""

import strided as torch

dist = torch.distributed
RANKS = [1, 2, 3, 4, 6, 7]
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
# Every number of ranks, and every dtype on the smallest grid that is one in both directions.
RANKS_AND_DTYPES = [
    (1, torch.complex128), (2, torch.float32), (3, torch.complex64), *((4, dtype) for dtype in DTYPES),
    (6, torch.complex64), (7, torch.float64),
]  # fmt: skip


def on_ranks(n, program, *, rows=None):
    """program(linalg, grid) on n ranks; the result of rank 0, which is that of every rank."""

    def start():
        linalg = dist.linalg
        return program(linalg, linalg.Grid(dist.world(), rows))

    results = dist.simulate(n, start)
    for other in results[1:]:
        same(results[0], other)
    return results[0]


def same(a, b):
    """Asserts that two results have the same bits."""
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, torch.Tensor):
        assert torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))
    else:
        assert a == b


def size(x):
    return torch.linalg.vector_norm(x).item()


def random(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def close(got, want, units, *scales):
    """got and want differ by at most `units` roundings of the scales (tensors; want itself if there are none)."""
    assert got.shape == want.shape, (got.shape, want.shape)
    scale = 1.0
    for s in scales or (want,):
        scale *= size(s)
    assert size(got - want) <= units * torch.finfo(want.dtype).eps * scale, (size(got - want), scale)
