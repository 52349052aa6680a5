"""Rows at indices, whose bytes are moved in chunks: lengths around each chunk, with gaps and without."""

import numpy as np
import pytest
import strided as torch


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 600])
def test_rows(width, dtype):
    rng = np.random.default_rng(width)
    a, places = rng.integers(0, 200, (50, width + 2)).astype(dtype), rng.integers(-50, 50, 33)
    x, index = torch.from_numpy(a), torch.from_numpy(places)
    for cut in (slice(None), slice(1, -1), slice(None, None, 2), slice(0, 1)):
        assert np.array_equal(x[:, cut][index].numpy(), a[:, cut][places])
        assert np.array_equal(x[:, cut].index_select(0, index % 50).numpy(), a[:, cut][places])
    to, unique = rng.permutation(50)[:20], rng.integers(0, 200, (20, width)).astype(dtype)
    want, got = a.copy(), x.clone()
    want[to, 1:-1] = unique
    got[:, 1:-1].index_copy_(0, torch.from_numpy(to), torch.from_numpy(unique))
    assert np.array_equal(got.numpy(), want)
    for bad in (50, -51, 2**62):
        wrong = index.clone()
        wrong[20] = bad
        with pytest.raises(IndexError):
            x[wrong]
        with pytest.raises(IndexError):
            got[wrong] = 1
        assert np.array_equal(got.numpy(), want)
