"""Random operands of products in every dtype, and results beside those of NumPy."""

import numpy as np
import strided as torch

FLOATING = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


INTEGER = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 2e-6,
    "complex64": 2e-6,
    "float64": 2e-15,
    "complex128": 2e-15,
}


def sample(shape, dtype, seed=0):
    """A tensor, and the same values in NumPy in the widest dtype of its kind."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        values = rng.integers(0, 2, shape).astype(bool)
    elif dtype in INTEGER:
        values = rng.integers(0, 200, shape).astype(dtype)
    elif dtype.startswith("complex"):
        values = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    else:
        values = rng.standard_normal(shape)
    x = torch.tensor(values.tolist(), dtype=getattr(torch, dtype)).reshape(shape)
    return x, wide(x)


def wide(x):
    """The values of a tensor in NumPy, in float64, complex128 or its own integer dtype."""
    if x.dtype.is_complex:
        return x.to(torch.complex128).numpy().copy()
    if x.dtype.is_floating_point:
        return x.double().numpy().copy()
    return x.numpy().copy()


def check(got, want, dtype, inner=1):
    assert str(got.dtype) == f"torch.{dtype}"
    assert tuple(got.shape) == np.shape(want)
    if dtype in TOLERANCE:
        scale = max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(wide(got), want, rtol=0, atol=TOLERANCE[dtype] * scale * max(1, inner) ** 0.5)
    else:
        np.testing.assert_array_equal(wide(got), want)
