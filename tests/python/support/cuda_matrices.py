"""Matrices for CUDA devices, and how close a result must be to the CPU's."""

import numpy as np
import strided as torch

DTYPES = ["float32", "float64", "complex64", "complex128"]
EPS = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-4, "float64": 1e-11, "complex64": 2e-4, "complex128": 1e-11}
LA = torch.linalg


def flat(results):
    return list(results) if isinstance(results, tuple) else [results]


def close(got, want):
    for g, w in zip(flat(got), flat(want), strict=True):
        assert g.device.type == "cuda" and g.dtype == w.dtype and g.shape == w.shape
        g, w, name = g.detach().cpu(), w.detach(), str(w.dtype)[6:]
        if name not in EPS:
            assert g.tolist() == w.tolist()
            continue
        wide = torch.complex128 if w.dtype.is_complex else torch.float64
        g, w = g.to(wide).numpy(), w.to(wide).numpy()
        scale = max(1.0, float(np.nan_to_num(np.abs(w)).max())) if w.size else 1.0
        np.testing.assert_allclose(g, w, rtol=EPS[name], atol=EPS[name] * scale, equal_nan=True)


def matrices(*shape, dtype="float64", seed=0):
    """Well-conditioned, but not so that pivots stand on the diagonal."""
    torch.manual_seed(seed)
    x = torch.randn(*shape, dtype=getattr(torch, dtype))
    return x + 3 * torch.eye(shape[-1], dtype=x.dtype).roll(1, 0)[: shape[-2]] if shape[-1] >= shape[-2] else x


def raised(call, *args):
    try:
        call(*args)
    except RuntimeError as error:  # LinAlgError is one
        return type(error), str(error)
    return None
