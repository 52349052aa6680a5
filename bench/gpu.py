"""strided on a CUDA device beside PyTorch and CuPy: the same work, in one process, in turns.

    python bench/gpu.py [--megabytes 64,1024,4096] [--only TEXT] [--libraries torch,cupy] [--json FILE] [--tiles]
                        [--seconds N] [--resume] [--smoke]

Large work is measured with events around a batch of calls and given as bandwidth, as a fraction of the bandwidth of a
plain copy of the same size measured in the same run, and as a ratio to each other library. Products of matrices, linear
systems, scans and sorts (bench/gpu_matrices.py) are given as what they do in a second, and as ratios. --tiles measures
every tile shape of the matrix products. Submitting a tiny operation is wall time on the host. Libraries that are not
installed are left out. A case that fails is named, and the others go on, in a new process where the device no longer
answers; the file has what was measured so far. --seconds: what has not begun by then is left out. --resume goes on with
the cases that FILE does not have. --smoke runs everything once on tiny operands, on an emulated device
too: it shows that the script works, not how fast anything is.
"""

import argparse
import functools
import importlib
import json
import os
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


def answers(lib):
    try:
        return (lib.xp.ones(2, device="cuda") + 1).tolist() == [2.0, 2.0]
    except Exception:
        return False


class Figures:
    """What was measured, written after each case."""

    def __init__(self, arguments, answers):
        """answers(): whether the device still does anything."""
        self.path, self.arguments, self.answers = arguments.json, arguments, answers
        self.end, self.left_out = time.monotonic() + arguments.seconds, []
        self.data = {"date": time.strftime("%Y-%m-%d"), "python": platform.python_version(), "cases": [], "done": []}
        if arguments.resume:
            with open(self.path) as file:
                self.data = json.load(file)
            if begun := self.data.pop("begun", None):
                self.failed(begun, "the process was stopped in it")

    def write(self):
        if self.path:
            with open(self.path + ".new", "w") as file:
                json.dump(self.data, file, indent=1)
            os.replace(self.path + ".new", self.path)

    def measure(self, name, work):
        """Runs one case; what it raises is said and kept."""
        if name in self.data["done"]:
            return
        if time.monotonic() > self.end:
            self.left_out.append(name)
            return
        self.data["begun"] = name
        self.write()
        good = True
        try:
            work()
        except Exception as error:
            self.failed(name, f"{type(error).__name__}: {error}")
            good = False
        else:
            self.data["done"].append(name)
        del self.data["begun"]
        self.write()
        if not good and self.path and not self.answers():
            self.go_on_in_a_new_process()

    def failed(self, name, text):
        print(f"  {name}: {text[:500]}")
        self.data.setdefault("failed", []).append({"name": name, "error": text})
        self.data["done"].append(name)

    def go_on_in_a_new_process(self):
        """An error that breaks the context fails every later call in it, those of other libraries too."""
        print("  the device no longer answers: the other cases in a new process", flush=True)
        left = max(self.end - time.monotonic(), 0)
        options = [a for a in sys.argv[1:] if a != "--resume"] + ["--resume", "--seconds", str(left)]
        os.execv(sys.executable, [sys.executable, "-u", __file__, *options])


def times_of(libraries, operands, work, batch, repeats):
    """Seconds of one call for each library that has it; those of others than strided are None where they raise."""
    times = {}
    for lib in libraries:
        try:
            made = operands(lib)
            call = work(lib, *made)
            if call is not None:
                times[lib.name] = seconds_of(lib, call, batch, repeats)
            del made, call
        except Exception as error:
            if lib.name == "strided":
                raise
            print(f"  ({lib.name}: {type(error).__name__}: {str(error)[:200]})")
        lib.free()
    return times


def say(label, libraries, cells, times=None, more=""):
    """A line of a table: a cell for each library, then how many times faster strided is than each other one."""
    width = 16
    line = f"  {label:32}" + "".join(cells.get(lib.name, "none").rjust(width) for lib in libraries) + more
    for lib in libraries[1:]:
        ratio = f"x {lib.name}"
        if times is not None:
            ratio = f"{times[lib.name] / times['strided']:.2f}" if lib.name in times else ""
        line += ratio.rjust(10)
    print(line)


def bandwidths(libraries, figures, smoke, only, megabytes):
    print()
    say(f"{megabytes} MB", libraries, {lib.name: lib.name for lib in libraries}, more="   of copy")
    # (Of an earlier process, perhaps.)
    copies = [c for c in figures.data["cases"] if c["name"] == "copy" and c.get("megabytes") == megabytes]
    limit = max((copies[0]["moved"] / t / 1e9 for t in copies[0]["seconds"].values()), default=0.0) if copies else 0.0

    def one(name, moved, operands, work):
        nonlocal limit
        batch, repeats = (1, 1) if smoke else (max(3, 4096 // megabytes), 7)
        times = times_of(libraries, operands, work, batch, repeats)
        rate = {k: moved / max(t, 1e-12) / 1e9 for k, t in times.items()}
        limit = max(rate.values()) if name == "copy" else limit  # it comes first
        share = rate["strided"] / limit if limit else None
        more = f"{share:>10.2f}" if limit else ""
        say(name, libraries, {k: f"{r:.0f} GB/s" for k, r in rate.items()}, times, more)
        figures.data["cases"].append(
            {"name": name, "megabytes": megabytes, "moved": moved, "seconds": times, "of_copy": share}
        )

    for name, moved, operands, work in cases(megabytes):
        if only in name or name == "copy":
            figures.measure(f"{name} of {megabytes} MB", functools.partial(one, name, moved, operands, work))


def matrices(libraries, figures, smoke, only):
    print()
    say("", libraries, {lib.name: lib.name for lib in libraries})

    def one(name, amount, unit, operands, work):
        times = times_of(libraries, operands, work, 1 if smoke else 3, 1 if smoke else 5)
        if "strided" not in times:
            return
        rate = {k: f"{amount / max(t, 1e-12) / 1e9:.1f} G{unit[:4]}/s" for k, t in times.items()}
        say(name, libraries, rate, times)
        figures.data["cases"].append({"name": name, "amount": amount, "unit": unit, "seconds": times})

    for name, *case in gpu_matrices.all_cases(smoke):
        if only in name:
            figures.measure(name, functools.partial(one, name, *case))


def host_products(lib, figures, smoke):
    for n in (50,) if smoke else (500, 5000):
        a, b = lib.xp.rand(n, n), lib.xp.rand(n, n)
        start = time.perf_counter()
        a @ b
        host = time.perf_counter() - start
        x, y = a.cuda(), b.cuda()
        there = seconds_of(lib, lambda x=x, y=y: x @ y, 1 if smoke else 20, 1 if smoke else 5)
        times = figures.data.setdefault("cpu_over_device", {})
        times[n] = host / max(there, 1e-12)
        print(f"A @ B of {n} x {n}: {times[n]:.0f} times faster than on this CPU")


def submitting(libraries, figures, smoke):
    submit = {lib.name: submit_time(lib, 10 if smoke else 2000) for lib in libraries}
    print("\nsubmitting x + y of 4 elements: " + ", ".join(f"{k} {t * 1e6:.2f} us" for k, t in submit.items()))
    figures.data["submit"] = submit


def python_loop(lib, figures, smoke):
    values = lib.xp.rand(10**3 if smoke else 10**6)
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
        f"sum of {values.numel()} numbers: Python loop {loop * 1e3:.2f} ms, on the device {once * 1e3:.3f} ms: "
        f"{loop / once:.0f} times"
    )
    figures.data["loop_over_device"] = loop / once


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="64,1024,4096", help="sizes of an operand")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--libraries", default="torch,cupy", help="the other ones")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--tiles", action="store_true", help="also measure every tile of the matrix products")
    parser.add_argument("--seconds", type=float, default=86400, help="leave out what has not begun by then")
    parser.add_argument("--resume", action="store_true", help="go on with what the file does not have")
    parser.add_argument("--smoke", action="store_true", help="everything once, on tiny operands")
    arguments = parser.parse_args()
    if arguments.resume and not arguments.json:
        parser.error("--resume needs --json")
    environment.clean()
    libraries = []
    for name in ["strided", *filter(None, arguments.libraries.split(","))]:
        try:
            lib = Library(name)
        except Exception as error:
            print(f"{name} is left out: {error}")
            if name == "strided":
                return 1
            continue
        libraries.append(lib)
    ours, smoke, only = libraries[0], arguments.smoke, arguments.only
    figures = Figures(arguments, functools.partial(answers, ours))
    figures.data["device"] = ours.device_name
    figures.data["versions"] = {lib.name: getattr(lib.xp, "__version__", "") for lib in libraries}
    print(f"{ours.device_name}; " + ", ".join(f"{k} {v}" for k, v in figures.data["versions"].items()))
    sizes = [1] if smoke else [int(m) for m in arguments.megabytes.split(",")]
    # What is short and asked for most comes first.
    figures.measure("submitting", lambda: submitting(libraries, figures, smoke))
    figures.measure("a Python loop", lambda: python_loop(ours, figures, smoke))
    figures.measure("products on the CPU", lambda: host_products(ours, figures, smoke))
    bandwidths(libraries, figures, smoke, only, sizes[0])
    matrices(libraries, figures, smoke, only)
    for megabytes in sizes[1:]:
        bandwidths(libraries, figures, smoke, only, megabytes)
    if arguments.tiles:
        print("\ntiles of matrix products: GFLOP/s of each row of the table, and of the row that is chosen")
        for name, work in gpu_matrices.tile_cases(ours, seconds_of, smoke, only):
            figures.measure(name, lambda work=work: figures.data.setdefault("tiles", []).append(work()))
    figures.write()
    if figures.left_out:
        print("left out for want of time:", "; ".join(figures.left_out))
    return 1 if "failed" in figures.data else 0


if __name__ == "__main__":
    sys.exit(main())
