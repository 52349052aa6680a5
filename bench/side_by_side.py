"""strided beside PyTorch and NumPy: the same work, in one process, in turns. Only the ratios mean something elsewhere.

    python bench/side_by_side.py [--threads 1] [--only TEXT] [--seconds 1.0] [--json FILE]

Every library runs with the same number of threads. A figure is the best of many runs; the libraries take turns, so that
a busy moment of the machine meets all of them. Libraries that are not installed are left out (pip install
'strided[bench]').
"""

import argparse
import importlib
import importlib.util
import json
import platform
import sys
import timeit

import environment

LIBRARIES = ("strided", "torch", "numpy")


class Library:
    """One library, with the few spellings in which NumPy differs."""

    def __init__(self, name: str):
        self.name, self.module = name, importlib.import_module(name)

    def array(self, values):
        """From a NumPy array, in memory of the library's own."""
        if self.name == "numpy":
            return values.copy()
        return self.module.from_numpy(values).clone()


def cases(numpy):
    """(name, what it needs: NumPy arrays, the work: module and arrays -> callable)."""
    rng = numpy.random.default_rng(0)
    four = [rng.random(4, "f4"), rng.random(4, "f4")]
    large = [rng.random(10**7, "f4"), rng.random(10**7, "f4")]
    matrices = [rng.random((1024, 1024), "f4"), rng.random((1024, 1024), "f4")]
    system = [rng.random((1000, 1000), "f4") + 10 * numpy.eye(1000, dtype="f4"), rng.random((1000, 1), "f4")]
    return [
        ("a + b, 4 floats", four, lambda xp, a, b: lambda: a + b),
        ("a[0], 4 floats", four, lambda xp, a, b: lambda: a[0]),
        ("a + b, 1e7 float32", large, lambda xp, a, b: lambda: a + b),
        ("sum, 1e7 float32", large, lambda xp, a, b: lambda: a.sum()),
        ("a @ b, 1024 float32", matrices, lambda xp, a, b: lambda: a @ b),
        ("solve, n = 1000 float32", system, lambda xp, a, b: lambda: xp.linalg.solve(a, b)),
    ]


def best_times(works: dict, seconds: float) -> dict[str, float]:
    """The best time of one call of each work, in seconds; `seconds` is spent on each."""
    timers = {name: timeit.Timer(work) for name, work in works.items()}
    repeats = {}
    for name, timer in timers.items():
        timer.timeit(1)  # warm
        once = max(timer.timeit(1), 1e-8)
        repeats[name] = max(1, min(20000, int(0.02 / once)))
    best = dict.fromkeys(works, float("inf"))
    spent = dict.fromkeys(works, 0.0)
    while any(s < seconds for s in spent.values()):
        for name, timer in timers.items():
            run = timer.timeit(repeats[name])
            spent[name] += run
            best[name] = min(best[name], run / repeats[name])
    return best


def span(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each library in each case")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    arguments = parser.parse_args()
    environment.clean(arguments.threads)

    import numpy

    libraries = []
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed and is left out", file=sys.stderr)
            continue
        libraries.append(Library(name))
        if hasattr(libraries[-1].module, "set_num_threads"):
            libraries[-1].module.set_num_threads(arguments.threads)
    versions = {library.name: library.module.__version__ for library in libraries}
    print(f"{platform.machine()}, threads: {arguments.threads}, " + ", ".join(f"{n} {v}" for n, v in versions.items()))
    print(f"{'':26}" + "".join(f"{library.name:>12}" for library in libraries)
          + "".join(f"{library.name + '/strided':>16}" for library in libraries[1:]))  # fmt: skip

    figures = {}
    for name, needs, make in cases(numpy):
        if arguments.only not in name:
            continue
        works = {library.name: make(library.module, *map(library.array, needs)) for library in libraries}
        times = figures[name] = best_times(works, arguments.seconds)
        ratios = [times[library.name] / times["strided"] for library in libraries[1:]]
        print(
            f"{name:26}" + "".join(f"{span(t):>12}" for t in times.values()) + "".join(f"{r:>16.2f}" for r in ratios),
            flush=True,
        )
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"threads": arguments.threads, "versions": versions, "seconds": figures}, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
