"""Fourier transforms side by side with PyTorch and SciPy, where they are installed: one after the other in one loop,
the best time of each.

    python bench/fft.py [--threads N] [--seconds S] [WORD ...]    rows whose name holds a word; all by default

A ratio is the peer's time by strided's: above 1, strided is ahead.
"""

import argparse
import time

import numpy as np
import strided


def peers():
    """Functions for an array, and for a name of np.fft, of each library."""
    found = {}
    try:
        import torch

        found["PyTorch"] = (torch.from_numpy, torch.fft)
    except ImportError:
        pass
    try:
        import scipy.fft

        found["SciPy"] = (lambda x: x, scipy.fft)
    except ImportError:
        pass
    return found


def rows():
    """Name of the row, function, array."""
    rng = np.random.default_rng(0)

    def array(shape, dtype):
        x = rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)

    for name, shape, dtype in [
        ("fft", (1 << 20,), "complex64"), ("fft", (1 << 20,), "complex128"), ("rfft", (1000, 1024), "float32"),
        ("rfft", (1000, 1000), "float32"), ("irfft", (1000, 513), "complex64"), ("fft2", (1024, 1024), "complex64"),
        ("fft2", (1000, 1000), "complex64"), ("fft", (1000, 1024), "complex64"), ("fft", (4000, 256), "complex64"),
        ("fft", (1021,), "complex64"), ("fft", (10007,), "complex64"), ("fft", (200, 1021), "complex64"),
        ("fft", (65537,), "complex64"), ("fft", (1024,), "complex64"), ("fft", (16384,), "complex64"),
        ("rfft", (1 << 20,), "float32"), ("rfft", (1 << 20,), "float64"),
    ]:  # fmt: skip
        yield f"{name} {dtype} {'x'.join(map(str, shape))}", name, array(shape, dtype)


def best_times(calls, seconds):
    """The least time of each call, in seconds."""
    best = [float("inf")] * len(calls)
    for call in calls:
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--threads", type=int, default=strided.get_num_threads())
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    strided.set_num_threads(options.threads)
    others = peers()
    if "PyTorch" in others:
        import torch

        torch.set_num_threads(options.threads)
    for label, name, x in rows():
        if options.words and not any(word in label for word in options.words):
            continue
        ours = strided.from_numpy(x)
        calls = [lambda f=getattr(strided.fft, name), t=ours: f(t)]
        for peer, (convert, module) in others.items():
            more = {"workers": options.threads} if peer == "SciPy" else {}
            calls.append(lambda f=getattr(module, name), t=convert(x), more=more: f(t, **more))
        times = best_times(calls, options.seconds)
        ratios = "  ".join(f"{peer} {t / times[0]:5.2f}" for peer, t in zip(others, times[1:]))
        print(f"{label:32} {times[0] * 1e6:10.1f} us   {ratios}", flush=True)


if __name__ == "__main__":
    main()
