"""Fourier transforms."""

import math

from case import Case, arrays

ROWS = [
    ("fft", "c8", 1 << 20), ("fft", "c16", 1 << 20), ("rfft", "f4", 1000, 1024), ("rfft", "f4", 1000, 1000),
    ("irfft", "c8", 1000, 513), ("fft2", "c8", 1024, 1024), ("fft2", "c8", 1000, 1000), ("fft", "c8", 1000, 1024),
    ("fft", "c8", 4000, 256), ("fft", "c8", 1021), ("fft", "c8", 10007), ("fft", "c8", 200, 1021), ("fft", "c8", 65537),
    ("fft", "c8", 1024), ("fft", "c8", 16384), ("rfft", "f4", 1 << 20), ("rfft", "f8", 1 << 20),
]  # fmt: skip


def case(name, dtype, *shape, size=0, title=""):
    n = math.prod(shape[-2:]) if name == "fft2" else shape[-1]
    flops = 5 * math.prod(shape) * math.log2(max(n, 2)) / (1 if name.startswith("fft") else 2)
    text = f"xp.fft.{name}(a)"
    label = title or f"{name} {dtype} {'x'.join(map(str, shape))}"
    return Case(
        label,
        arrays(a=(dtype, *shape)),
        text,
        scipy=f"lib.fft.{name}(a)",
        flops=flops,
        double=dtype in ("c16", "f8"),
        size=size,
    )


def cases():
    for row in ROWS:
        yield case(*row)


def curves():
    for n in (8, 16, 32, 64, 100, 128, 256, 500, 512, 1000, 1024, 4096, 10_000, 65536, 100_000, 1 << 20, 1 << 22):
        yield case("fft", "c8", n, size=n, title="fft c8")
