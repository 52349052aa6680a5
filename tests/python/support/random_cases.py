"""Calls whose random numbers are compared with PyTorch's: with recorded ones in test_random.py, with PyTorch itself,
where it is installed, in test_random_vs_torch.py. `python random_cases.py` records them anew, given PyTorch."""

import json
import pathlib
import zlib

RECORD = pathlib.Path(__file__).with_name("random_expected.json")

SIZES = (1, 15, 16, 17, 31, 32, 100, 100003)
REAL = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGER = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")
WIDE = ("float32", "float64")

# name: (call with the module, a size and a dtype; dtypes; from which size on numbers of 64 bits are only close to
# PyTorch's)
CASES = {
    "rand": (lambda t, n, d: t.rand(n, dtype=d), REAL + COMPLEX, None),
    "uniform_": (lambda t, n, d: t.empty(n, dtype=d).uniform_(-0.3, 7.1), REAL + COMPLEX, None),
    "randn": (lambda t, n, d: t.randn(n, dtype=d), REAL + COMPLEX, 8),
    "normal_": (lambda t, n, d: t.empty(n, dtype=d).normal_(3.3, 2.1), REAL, 16),
    "normal_ strided": (lambda t, n, d: t.empty(n, 2, dtype=d)[:, 0].normal_(3.3, 2.1), REAL, None),
    "log_normal_": (lambda t, n, d: t.empty(n, dtype=d).log_normal_(0.3, 0.7), REAL, None),
    "exponential_": (lambda t, n, d: t.empty(n, dtype=d).exponential_(1.3), REAL, None),
    "cauchy_": (lambda t, n, d: t.empty(n, dtype=d).cauchy_(1.3, 0.3), REAL, None),
    "geometric_": (lambda t, n, d: t.empty(n, dtype=d).geometric_(0.1), REAL + INTEGER, None),
    "bernoulli_": (lambda t, n, d: t.empty(n, dtype=d).bernoulli_(0.37), REAL + INTEGER + ("bool",), None),
    "bernoulli": (lambda t, n, d: t.bernoulli(t.full((n,), 0.37, dtype=d)), REAL, None),
    "random_": (lambda t, n, d: t.empty(n, dtype=d).random_(), REAL + INTEGER + ("bool",), None),
    "randint": (lambda t, n, d: t.randint(3, 100, (n,), dtype=d), REAL + INTEGER + UNSIGNED, None),
    "randint 2^28": (lambda t, n, d: t.randint(2**28 - 1, (n,), dtype=d), ("int32", "int64"), None),
    "randint wide": (lambda t, n, d: t.randint(-5, 2**28, (n,), dtype=d), ("int32", "int64"), None),
    "randint full": (lambda t, n, d: t.empty(n, dtype=d).random_(-(2**63), None), ("int64",) + WIDE, None),
    "randperm": (lambda t, n, d: t.randperm(n, dtype=d), ("int32", "int64") + WIDE, None),
    "poisson small": (lambda t, n, d: t.poisson(t.full((n,), 3.5, dtype=d)), REAL, None),
    "poisson large": (lambda t, n, d: t.poisson(t.full((n,), 40.0, dtype=d)), REAL, None),
    "multinomial": (lambda t, n, d: t.multinomial(t.arange(1, 8, dtype=d), n, replacement=True), REAL, None),
    "multinomial row": (lambda t, n, d: t.multinomial(t.arange(1, n + 1, dtype=d), min(n, 9)), WIDE, None),
    "normal of tensors": (lambda t, n, d: t.normal(*(t.full((n,), v, dtype=d) for v in (2.0, 0.5))), REAL, 16),
}


# Made by logarithms and the like of the C library, whose last place may differ from one machine to the next.
LIBRARY = {"randn", "normal_", "normal_ strided", "log_normal_", "exponential_", "cauchy_", "normal of tensors"}


def digest(t, x):
    """A checksum of a tensor's bytes."""
    x = x.contiguous()
    if x.dtype == t.bfloat16:
        x = x.view(t.int16)
    return zlib.crc32(x.numpy().tobytes())


def state_digest(t):
    """A checksum of the generator's state, without the normal number that may wait in it (but with its flag)."""
    state = t.get_rng_state().numpy().tobytes()
    return zlib.crc32(state[:5016] + state[5040:5044])


def close(name, size, dtype):
    """Are the numbers of this call the same up to rounding only?"""
    limit = CASES[name][2]
    return limit is not None and size >= limit and dtype in ("float64", "complex128")


def run(t, name, dtype, size):
    """The case with the module t, after seeding with the size."""
    t.manual_seed(size)
    return CASES[name][0](t, size, getattr(t, dtype))


def summary(t, x):
    """Sums that small differences in the last places hardly change: of the numbers, of their magnitudes, and of them
    times their positions."""
    x = x.to(t.complex128) if x.is_complex() else x.to(t.float64)
    if x.is_complex():
        x = x.real + 1.7 * x.imag
    place = t.arange(x.numel(), dtype=t.float64) / x.numel()
    return x.sum().item(), x.abs().sum().item(), (x * place).sum().item()


def record(t):
    """What is recorded of each case and dtype: for every size the summary or the digest of the numbers, and the digest
    of the generator's state afterwards."""
    rows = {}
    for name, (_, dtypes, _) in CASES.items():
        for dtype in dtypes:
            row = rows[f"{name}, {dtype}"] = []
            for size in SIZES:
                x = run(t, name, dtype, size)
                state = state_digest(t)
                values = [float(f"{v:.9g}") for v in summary(t, x)] if name in LIBRARY else digest(t, x)
                row.append([values, state])
    return rows


if __name__ == "__main__":
    import torch

    lines = [f"{json.dumps(key)}: {json.dumps(row)}" for key, row in record(torch).items()]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
