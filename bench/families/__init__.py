"""The cases, by family. Each module has cases(): what is timed; curves(): the same over a range of sizes, by name."""

import importlib

NAMES = (
    "overhead", "elementwise", "layout", "reductions", "scans", "matmul", "linalg", "indexing", "sorting", "random",
    "fft", "autograd", "nn", "interop", "files",
)  # fmt: skip


def load(name):
    return importlib.import_module(f"families.{name}")
