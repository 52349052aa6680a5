"""Matrices of every dtype and layout, and how close a result must be to NumPy's."""

import numpy as np
import strided as torch

DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
WIDE = ["float32", "float64", "complex64", "complex128"]
EPS = {
    "float16": 1e-3,
    "bfloat16": 8e-3,
    "float32": 1.2e-7,
    "complex64": 1.2e-7,
    "float64": 2.3e-16,
    "complex128": 2.3e-16,
}
SQUARES = [
    (1, 1),
    (2, 2),
    (3, 3),
    (4, 4),
    (7, 7),
    (33, 33),
    (5, 1, 1),
    (5, 3, 3),
    (40, 4, 4),
    (2, 3, 6, 6),
    (3, 40, 40),
    (1, 2, 2),
]
EMPTY = [(0, 0), (3, 0, 0), (0, 3, 3), (0, 0, 0), (2, 0, 3, 3)]


def wide(x):
    if x.dtype.is_complex:
        return x.to(torch.complex128).numpy().copy()
    return (x.double() if x.dtype.is_floating_point else x).numpy().copy()


def sample(shape, dtype, seed=0):
    """A tensor of normal numbers, and its values in NumPy in float64 or complex128."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    x = torch.from_numpy(np.array(values)).to(getattr(torch, dtype))
    return x, wide(x)


def regular(shape, dtype, seed=0):
    """Matrices far from singular, not diagonally dominant: the pivots move."""
    x, nx = sample(shape, dtype, seed)
    n = shape[-1]
    shift = np.roll(np.eye(n), 1, axis=-1) * (2 + n**0.5)
    x = torch.from_numpy(np.array(nx + shift)).to(x.dtype)
    return x, wide(x)


def positive(shape, dtype, seed=0):
    _, nx = sample(shape, dtype, seed)
    n = shape[-1]
    a = nx @ nx.conj().swapaxes(-1, -2) / max(n, 1) + np.eye(n)
    x = torch.from_numpy(np.array(a)).to(getattr(torch, dtype))
    return x, wide(x)


def close(got, want, dtype, factor=50.0):
    assert str(got.dtype) == f"torch.{dtype}"
    assert tuple(got.shape) == np.shape(want)
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(wide(got), want, rtol=0, atol=EPS[dtype] * factor * scale)


def layouts(x):
    yield x
    yield x.mT.clone(memory_format=torch.contiguous_format).mT
    yield x.flip(-1)[..., ::-1]
    yield x.flip(-2)[..., ::-1, :]
    yield torch.stack([x, x], -1).flatten(-2)[..., ::2]
    yield torch.cat([x.new_zeros(3), x.flatten()])[3:].view(x.shape)
    if x.ndim == 3:
        yield x.permute(1, 2, 0).contiguous().permute(2, 0, 1)
