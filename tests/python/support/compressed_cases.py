"""Matrices for the four compressed layouts of sparse tensors."""

import pytest
import strided

LAYOUTS = {n: getattr(strided, f"sparse_{n}") for n in ("csr", "csc", "bsr", "bsc")}
D = strided.tensor(
    [[0, 1, 2, 0, 0, 0], [3, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 4], [0, 5, 0, 0, 0, 0]], dtype=strided.float64
)
BATCH = strided.stack([D, D.flip(0), D.flip(1)])
X = strided.linspace(-2, 3, 12, dtype=strided.float64).reshape(6, 2)
each = pytest.mark.parametrize("name", LAYOUTS)


def make(name, dense=D, **options):
    """A dense tensor in the layout of that name."""
    block = {"blocksize": (2, 3)} if name[0] == "b" else {}
    return dense.to_sparse(layout=LAYOUTS[name], **block, **options)


def same(got, want):
    assert got.shape == want.shape
    strided.testing.assert_close(got.to_dense(), want)
