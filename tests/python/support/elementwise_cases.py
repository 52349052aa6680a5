"""Every elementwise op of the table with every dtype, and operands for it."""

import math
import zlib

import elementwise_reference as ref
import numpy as np
import pytest
import strided as torch

ROWS = {row["name"]: row for row in torch._C.ops_table()}
FLOATS = {
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
