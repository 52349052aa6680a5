"""strided on a CUDA device beside PyTorch and CuPy: the same work, in one process, in turns.

    python bench/gpu.py [--megabytes 64,1024,4096] [--only TEXT] [--json FILE] [--tiles] [--smoke]

Large work is measured with events around a batch of calls and given as bandwidth, as a fraction of the bandwidth of a
plain copy of the same size measured in the same run, and as a ratio to each other library. Products of matrices, linear
systems, scans and sorts (bench/gpu_matrices.py) are given as what they do in a second, and as ratios. --tiles measures
every tile shape of the matrix products. Submitting a tiny operation is wall time on the host. Libraries that are not
installed are left out. --smoke runs everything once on tiny operands, on an emulated device too: it shows that the
script works, not how fast anything is.
"""

import argparse
import importlib
import json
import platform
import statistics
import sys
import time

import environment
import gpu_matrices


class Library:
    """One library, with the few spellings in which CuPy differs."""

    def __init__(self, name):
        self.name, self.xp = name, importlib.import_module(name)
        self.is_cupy = name == "cupy"
        if self.is_cupy:
            self.device_name = self.xp.cuda.runtime.getDeviceProperties(0)["name"].decode()
        else:
            self.device_name = self.xp.cuda.get_device_name(0)

    def rand(self, *shape, dtype="float32"):
        if self.is_cupy:
            return self.xp.random.random(shape, dtype="float32").astype(dtype)
        return self.xp.rand(*shape, device="cuda").to(getattr(self.xp, dtype))

    def integers(self, high, n):
        if self.is_cupy:
            return self.xp.random.randint(0, high, n, dtype="int64")
        return self.xp.randint(0, high, (n,), device="cuda")

    def cast(self, x, dtype):
        return x.astype(dtype) if self.is_cupy else x.to(getattr(self.xp, dtype))

    def transposed(self, x):
        return self.xp.ascontiguousarray(x.T) if self.is_cupy else x.t().contiguous()

    def event(self):
        return self.xp.cuda.Event() if self.is_cupy else self.xp.cuda.Event(enable_timing=True)

    def elapsed(self, start, end):  # seconds
        return (self.xp.cuda.get_elapsed_time(start, end) if self.is_cupy else start.elapsed_time(end)) / 1e3

    def synchronize(self):
        self.xp.cuda.Device().synchronize() if self.is_cupy else self.xp.cuda.synchronize()

    def free(self):
        if self.is_cupy:
            self.xp.get_default_memory_pool().free_all_blocks()
        else:
            self.xp.cuda.empty_cache()


def cases(megabytes):
    """(name, bytes moved, operands: library -> tuple, work: library and operands -> callable)."""
    n = megabytes * 2**20 // 4  # float32
    side = int(n**0.5) // 64 * 64 or 64
    return [
        (
            "copy",
            8 * n,
            lambda lib: (lib.rand(n),),
            lambda lib, x: (lambda: x.copy()) if lib.is_cupy else (lambda: x.clone()),
        ),
        ("x + y", 12 * n, lambda lib: (lib.rand(n), lib.rand(n)), lambda lib, x, y: lambda: x + y),
        ("exp(x)", 8 * n, lambda lib: (lib.rand(n),), lambda lib, x: lambda: lib.xp.exp(x)),
        ("x * 2 + 1, float16", 8 * n, lambda lib: (lib.rand(n, dtype="float16"),), lambda lib, x: lambda: x * 2 + 1),
        ("every second element", 8 * (n // 2), lambda lib: (lib.rand(n),), lambda lib, x: lambda: x[::2] + 1),
        (
            "rows + a row",
            8 * side * side,
            lambda lib: (lib.rand(side, side), lib.rand(side)),
            lambda lib, x, y: lambda: x + y,
        ),
        (
            "rows + a column",
            8 * side * side,
            lambda lib: (lib.rand(side, side), lib.rand(side, 1)),
            lambda lib, x, y: lambda: x + y,
        ),
        ("float32 to float64", 12 * n, lambda lib: (lib.rand(n),), lambda lib, x: lambda: lib.cast(x, "float64")),
        ("transpose", 8 * side * side, lambda lib: (lib.rand(side, side),), lambda lib, x: lambda: lib.transposed(x)),
        ("sum", 4 * n, lambda lib: (lib.rand(n),), lambda lib, x: lambda: x.sum()),
        ("sum of rows", 4 * side * side, lambda lib: (lib.rand(side, side),), lambda lib, x: lambda: x.sum(1)),
        ("sum of columns", 4 * side * side, lambda lib: (lib.rand(side, side),), lambda lib, x: lambda: x.sum(0)),
        ("argmax", 4 * n, lambda lib: (lib.rand(n),), lambda lib, x: lambda: x.argmax()),
        ("x[index]", 16 * (n // 4), lambda lib: (lib.rand(n), lib.integers(n, n // 4)), lambda lib, x, i: lambda: x[i]),
        ("x[mask]", 5 * n, lambda lib: (lib.rand(n), lib.rand(n) > 0.5), lambda lib, x, m: lambda: x[m]),
        (
            "where",
            13 * n,
            lambda lib: (lib.rand(n) > 0.5, lib.rand(n), lib.rand(n)),
            lambda lib, c, x, y: lambda: lib.xp.where(c, x, y),
        ),
        ("rand", 4 * n, lambda lib: (), lambda lib: lambda: lib.rand(n)),
    ]


def seconds_of(lib, work, batch, repeats):
    """Time of one call on the device: the median of `repeats` batches."""
    work()
    lib.synchronize()
    found = []
    for _ in range(repeats):
        start, end = lib.event(), lib.event()
        start.record()
        for _ in range(batch):
            work()
        end.record()
        end.synchronize()
        found.append(lib.elapsed(start, end) / batch)
    return statistics.median(found)


def submit_time(lib, calls):
    """Wall time on the host to submit an operation on four elements."""
    x, y = lib.rand(4), lib.rand(4)
    for _ in range(100):
        x + y
    lib.synchronize()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            x + y
        best = min(best, (time.perf_counter() - start) / calls)
        lib.synchronize()
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="64,1024,4096", help="sizes of an operand")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--tiles", action="store_true", help="also measure every tile of the matrix products")
    parser.add_argument("--smoke", action="store_true", help="everything once, on tiny operands")
    arguments = parser.parse_args()
    environment.clean()
    libraries = []
    for name in ("strided", "torch", "cupy"):
        try:
            lib = Library(name)
        except Exception as error:
            print(f"{name} is left out: {error}")
            if name == "strided":
                return 1
            continue
        libraries.append(lib)
    device = libraries[0].device_name
    print(f"{device}; " + ", ".join(f"{lib.name} {getattr(lib.xp, '__version__', '')}" for lib in libraries))
    figures = {"device": device, "date": time.strftime("%Y-%m-%d"), "python": platform.python_version(), "cases": []}
    for megabytes in [1] if arguments.smoke else [int(m) for m in arguments.megabytes.split(",")]:
        limit = None
        print(
            f"\n{megabytes} MB {'':20}"
            + "".join(f"{lib.name:>12}" for lib in libraries)
            + "   of copy"
            + "".join(f"{'x ' + lib.name:>10}" for lib in libraries[1:])
        )
        for name, moved, operands, work in cases(megabytes):
            if arguments.only not in name and name != "copy":
                continue
            times = {}
            for lib in libraries:
                made = operands(lib)
                times[lib.name] = seconds_of(
                    lib,
                    work(lib, *made),
                    1 if arguments.smoke else max(3, 4096 // megabytes),
                    1 if arguments.smoke else 7,
                )
                del made
                lib.free()
            rate = {k: moved / max(t, 1e-12) / 1e9 for k, t in times.items()}
            limit = limit or max(rate.values())
            print(f"  {name:26}" + "".join(f"{rate[lib.name]:>9.0f} GB/s"[-12:].rjust(12) for lib in libraries)
                + f"{rate['strided'] / limit:>10.2f}"
                  + "".join(f"{times[lib.name] / times['strided']:>10.2f}" for lib in libraries[1:]))  # fmt: skip
            figures["cases"].append(
                {"name": name, "megabytes": megabytes, "seconds": times, "of_copy": rate["strided"] / limit}
            )
    print(
        f"\n{'':34}"
        + "".join(f"{lib.name:>16}" for lib in libraries)
        + "".join(f"{'x ' + lib.name:>10}" for lib in libraries[1:])
    )
    for name, amount, unit, operands, work in gpu_matrices.all_cases(arguments.smoke):
        if arguments.only not in name:
            continue
        times = {}
        for lib in libraries:
            made = operands(lib)
            call = work(lib, *made)
            if call is not None:
                times[lib.name] = seconds_of(lib, call, 1 if arguments.smoke else 3, 1 if arguments.smoke else 5)
            del made, call
            lib.free()
        print(f"  {name:32}"
            + "".join((f"{amount / max(times[lib.name], 1e-12) / 1e9:.1f} G{unit[:4]}/s" if lib.name in times
                else "none").rjust(16) for lib in libraries)
              + "".join(f"{times[lib.name] / times['strided']:>10.2f}" if lib.name in times else ""
                  for lib in libraries[1:]))  # fmt: skip
        figures["cases"].append({"name": name, "amount": amount, "unit": unit, "seconds": times})
    if arguments.tiles:
        figures["tiles"] = gpu_matrices.tile_table(libraries[0], seconds_of, arguments.smoke)
    xp = libraries[0].xp
    figures["cpu_over_device"] = {}
    for n in (50,) if arguments.smoke else (500, 5000):
        a, b = xp.rand(n, n), xp.rand(n, n)
        start = time.perf_counter()
        a @ b
        host = time.perf_counter() - start
        x, y = a.cuda(), b.cuda()
        figures["cpu_over_device"][n] = host / max(
            seconds_of(libraries[0], lambda: x @ y, 1 if arguments.smoke else 20, 1 if arguments.smoke else 5), 1e-12
        )
        print(f"A @ B of {n} x {n}: {figures['cpu_over_device'][n]:.0f} times faster than on this CPU")
    submit = {lib.name: submit_time(lib, 10 if arguments.smoke else 2000) for lib in libraries}
    print("\nsubmitting x + y of 4 elements: " + ", ".join(f"{k} {t * 1e6:.2f} us" for k, t in submit.items()))
    values = xp.rand(10**3 if arguments.smoke else 10**6)
    start = time.perf_counter()
    total = 0.0
    for v in values.tolist():
        total += v
    loop = time.perf_counter() - start
    there = values.cuda()
    there.sum().item()
    start = time.perf_counter()
    there.sum().item()
    once = time.perf_counter() - start
    print(
        f"sum of {values.numel()} numbers: Python loop {loop * 1e3:.2f} ms, on the device {once * 1e3:.3f} ms: {loop / once:.0f} times"
    )
    figures["submit"], figures["loop_over_device"] = submit, loop / once
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(figures, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
