"""Every elementwise op of the table with every dtype, and operands for it."""

import math
import zlib

import elementwise_reference as ref
import numpy as np
import pytest
import strided as torch

ROWS = {row["name"]: row for row in torch._C.ops_table()}
FLOATS = {
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}
WIDE = {"f": np.float64, "c": np.complex128}
NAN, INF = math.nan, math.inf
DIVISIONS = ("_div_trunc", "floor_divide", "remainder", "fmod")


def function(name):
    return torch._C.functions[name]


def _cases():
    for name, row in ROWS.items():
        for dtype in row["out_dtypes"]:
            yield pytest.param(name, dtype, id=f"{name}-{dtype}")


CASES = list(_cases())
# What 8-bit floats give is what float32 gives, rounded (test_float8.py): the references are not for them.
REFERENCE_CASES = [c for c in CASES if not c.values[1].startswith("float8")]


def kind(dtype):
    return (
        "b"
        if dtype == "bool"
        else "c"
        if dtype.startswith("complex")
        else "f"
        if dtype in FLOATS
        else "u"
        if dtype[0] == "u"
        else "i"
    )


def wide(x):
    """A tensor's values in NumPy: float64, complex128, or the integer dtype itself."""
    k = kind(str(x.dtype).split(".")[1])
    return x.to(torch.float64).numpy() if k == "f" else x.to(torch.complex128).numpy() if k == "c" else x.numpy()


def limits(dtype):
    if kind(dtype) == "f":
        info = torch.finfo(getattr(torch, dtype))
        return info.min, info.max
    info = torch.iinfo(getattr(torch, dtype))
    return info.min, info.max


def values(name, dtype, operand, n=48):
    """Special values first, then random ones, as a strided tensor of n elements."""
    rng = np.random.default_rng(zlib.crc32(f"{name}-{dtype}-{operand}".encode()))
    k = kind(dtype)
    if k == "b":
        return torch.tensor(rng.integers(0, 2, n).astype(bool))
    if k in "iu":
        low, high = limits(dtype)
        special = [v for v in (0, 1, -1, 2, 3, -3, 7, low, high, low + 1, high - 1, 31, 64) if low <= v <= high]
        small = rng.integers(max(low, -9), min(high, 9), n - len(special), endpoint=True).tolist()
        data = np.array(special + small, dtype=dtype)
        rng.shuffle(data)
        if operand == 1 and name in DIVISIONS:
            data[data == 0] = 5
        return torch.tensor(data)
    domain = ref.DOMAINS.get(name)
    if domain is not None or k == "c":
        low, high = domain[operand % len(domain)] if domain is not None else (-4, 4)
        data = rng.uniform(low, high, n)
        data = data + 1j * rng.uniform(-2, 2, n) if k == "c" else data
    else:
        special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, INF, -INF, NAN, 100.0]
        data = np.concatenate([special, rng.normal(0, 2, n - len(special))])
        rng.shuffle(data)
    return torch.tensor(data).to(getattr(torch, dtype))


def operands(name, dtype, n=48):
    row = ROWS[name]
    tensors = [values(name, dtype, i, n) for i in range(row["arity"])]
    if name in ("addcmul", "addcdiv"):
        tensors[3] = 2
    return tensors


def call(name, args, **params):
    if name in ("addcmul", "addcdiv"):
        return function(name)(*args[:3], value=args[3], **params)
    return function(name)(*args, **params)


def check(name, dtype, got, args, params):
    """got against the reference on the same values."""
    arrays = [wide(a).ravel() if isinstance(a, torch.Tensor) else None for a in args]
    arrays = [np.full_like(arrays[0], a) if b is None else b for a, b in zip(args, arrays)]
    if name == "nan_to_num":
        params = {
            **params,
            "top": limits(dtype if kind(dtype) == "f" else "float32" if dtype == "complex64" else "float64")[1]
            if kind(dtype) in "fc"
            else None,
        }
    with np.errstate(all="ignore"):
        want = ref.REFERENCES[name](*arrays, **params)
    out_dtype = ROWS[name]["out_dtypes"][dtype]
    assert str(got.dtype) == f"torch.{out_dtype}"
    got = wide(got).ravel()
    if kind(out_dtype) in "iub":
        want = ref.wrap(want, out_dtype) if want.dtype == object else want.astype(out_dtype)
        np.testing.assert_array_equal(got, want)
        return
    eps = FLOATS[out_dtype]
    # The reference, rounded once to the dtype, tells what overflows.
    rounded = wide(torch.tensor(want).to(getattr(torch, out_dtype)))
    tiny = torch.finfo(getattr(torch, out_dtype)).tiny
    for g, w, r in ((got.real, want.real, rounded.real), (got.imag, want.imag, rounded.imag)):
        scale = np.abs(want) if np.iscomplexobj(want) else np.abs(w)
        # a point of the lattice of float16 may lie on either side of the largest finite number
        special = ~np.isfinite(r) | ~np.isfinite(g)
        tolerance = np.where(
            special,
            0,
            (64 if name.startswith("igamma") else 16)
            * eps
            * np.maximum(scale, 1 if np.iscomplexobj(want) or name in LOSES else 0)
            + tiny,
        )
        with np.errstate(invalid="ignore"):
            close = np.where(special, (g == r) | (np.isnan(g) & np.isnan(r)), np.abs(g - w) <= tolerance)
        assert close.all(), [(name, dtype, [a[i] for a in arrays], got[i], want[i]) for i in np.flatnonzero(~close)[:5]]


# References that subtract, so that only their absolute error is small.
LOSES = {"erfinv", "special.ndtri", "lgamma", "digamma", "polygamma", "igamma", "igammac", "special.i1", "special.i1e",
    "logit", "sinc", "special.entr",
         "special.log_ndtr", "tan", "sin", "cos", "xlogy", "special.xlog1py", "logaddexp", "logaddexp2", "lerp",
         "addcmul", "addcdiv", "log", "log2",
         "log10", "acosh", "atanh", "erfc", "_gelu_grad", "_gelu_tanh_grad", "_silu_grad", "_mish_grad",
         "nn.functional.tanhshrink", "special.bessel_j0", "special.bessel_j1", "special.bessel_y0",
         "special.bessel_y1", "special.spherical_bessel_j0", "special.airy_ai"}  # fmt: skip
