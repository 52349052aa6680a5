"""Every elementwise op at the ends of its dtypes: each extreme value with each other, against the references."""

import itertools

import elementwise_reference as ref
import numpy as np
import pytest
import strided as torch
from elementwise_cases import DIVISIONS, INF, NAN, REFERENCE_CASES, ROWS, call, check, kind, limits


def extremes(dtype):
    k = kind(dtype)
    if k == "b":
        return [False, True]
    low, high = limits(dtype.replace("complex64", "float32").replace("complex128", "float64"))
    if k in "iu":
        bits = 8 * np.dtype(dtype).itemsize
        wanted = [
            low,
            low + 1,
            low // 2,
            -bits,
            -3,
            -2,
            -1,
            0,
            1,
            2,
            3,
            7,
            bits - 1,
            bits,
            bits + 1,
            high // 2,
            high - 1,
        ]
        return sorted({v for v in [*wanted, high] if low <= v <= high})
    info = torch.finfo(getattr(torch, dtype))
    return [low, -1.0, -info.tiny, -0.0, 0.0, info.tiny * info.eps, info.tiny, info.eps, 1.0, high, INF, -INF, NAN]


def lattice(name, dtype):
    """One tensor for each operand: together they go through all combinations (of three and four operands, some)."""
    arity, values = ROWS[name]["arity"], extremes(dtype)
    columns = list(zip(*itertools.product(values, repeat=min(arity, 2)), strict=True))
    while len(columns) < arity:
        columns.append(columns[0][::-1] if len(columns) == 2 else columns[1])
    arrays = [np.array(c, dtype=object if kind(dtype) in "iu" else None) for c in columns]
    if kind(dtype) in "iu" and name in DIVISIONS:
        keep = arrays[1] != 0
        arrays = [a[keep] for a in arrays]
    return [torch.tensor(a.tolist(), dtype=getattr(torch, dtype)) for a in arrays]


@pytest.mark.parametrize("name, dtype", [c for c in REFERENCE_CASES if kind(c.values[1]) in "biu"])
def test_integers(name, dtype):
    if ref.REFERENCES[name] is None:
        pytest.skip("tested by itself")
    args = lattice(name, dtype)
    if name in ("addcmul", "addcdiv"):
        args[3] = 2
    for params in ref.PARAMS.get(name, [{}]):
        if "decimals" in params:
            continue
        check(name, dtype, call(name, args, **params), args, params)


# Of these every result is the exact one, rounded once.
EXACT = """
abs neg positive sign sgn ceil floor trunc round sqrt square reciprocal relu add sub mul div maximum minimum fmax fmin
copysign eq ne lt le gt ge isnan isinf isfinite isposinf isneginf signbit logical_and logical_or logical_xor logical_not
heaviside clamp
""".split()


def test_exact_ops_exist():
    assert set(EXACT) <= set(ROWS)


@pytest.mark.parametrize(
    "name, dtype", [c for c in REFERENCE_CASES if kind(c.values[1]) == "f" and c.values[0] in EXACT]
)
def test_floats(name, dtype):
    args = lattice(name, dtype)
    for params in ref.PARAMS.get(name, [{}]):
        if params.get("decimals"):
            continue  # scaled, and so rounded twice
        check(name, dtype, call(name, args, **params), args, params)
