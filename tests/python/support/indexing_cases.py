"""Arrays to be indexed, in every layout."""

import numpy as np
import strided as torch

T = torch.tensor


def grid(*shape, dtype=torch.float64):
    n = int(np.prod(shape))
    return torch.arange(n, dtype=dtype).reshape(*shape)


def same(t, a):
    a = np.asarray(a)
    assert tuple(t.shape) == a.shape
    np.testing.assert_array_equal(t.numpy(), a)


def layouts(a):
    """The same values contiguous, transposed in memory, reversed, with an offset and with gaps."""
    t = T(a)
    yield T(a)
    yield T(np.ascontiguousarray(a.T)).permute([*reversed(range(a.ndim))])
    wide = torch.zeros(*(s + 2 for s in a.shape), dtype=t.dtype)
    inner = wide[tuple(slice(1, s + 1) for s in a.shape)]
    inner.copy_(t)
    yield inner
    gaps = torch.zeros(*(2 * s for s in a.shape), dtype=t.dtype)[tuple(slice(None, None, 2) for _ in a.shape)]
    gaps.copy_(t)
    yield gaps
    yield T(np.ascontiguousarray(a[::-1]))[::-1]
