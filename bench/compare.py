"""strided beside PyTorch, NumPy, JAX and SciPy, whichever are installed: the same work, in one process, in turns.

    make bench                                          everything, one thread and all, with pictures in bench/results
    python bench/compare.py [--threads 1] [--family NAME ...] [--only TEXT] [--curves] [--seconds 0.3]
                            [--against NAME ...] [--json FILE] [--pictures FOLDER]

A ratio is a peer's time by strided's, the median over rounds in which each takes its turn: above 1, strided is ahead.
Only ratios mean something on another machine. `of limit` is the part reached of what the plainest loops do here
(bench/limits.cpp): bytes moved from the level of memory that holds them, or floating-point operations. With several
threads a pause comes before each sample, in which the spinning threads of the library before go to sleep.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import defaultdict
from pathlib import Path

import clock
import environment
import families
import limits
import peers


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--family", action="append", choices=families.NAMES, help="all, unless named")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--curves", action="store_true", help="the same over a range of sizes")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each library in each case")
    parser.add_argument(
        "--against", action="append", choices=peers.NAMES[1:], help="all that are installed, unless named"
    )
    parser.add_argument("--largest", type=float, default=1e8, help="sizes of curves up to this")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--pictures", metavar="FOLDER", help="draw the figures there, with matplotlib")
    return parser.parse_args()


def measured(case, libraries, options):
    """The figures of one case: seconds by library, ratios, and what a library could not do."""
    data = case.data()
    works, refused = {}, {}
    for library in libraries:
        expression = case.expression(library.name)
        if expression is None:
            continue
        try:
            works[library.name] = library.work(expression, data, case.setup, case.compiled)
            works[library.name]()
        except Exception as error:  # a peer may lack a function; strided may not
            works.pop(library.name, None)
            if library.name == "strided":
                raise
            refused[library.name] = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    pause = 0.01 if options.threads > 1 or case.rested else 0.0
    timed = clock.compare(works, options.seconds, pause, case.rested)
    return {"seconds": timed.best, "ratio": timed.ratio, "rounds": timed.rounds} | (
        {"refused": refused} if refused else {}
    )


def row(name, figures, names, width=34):
    best = min(figures["ratio"].values(), default=math.nan)
    cells = [f"{clock.span(figures['seconds']['strided']):>9}"]
    cells += [f"{figures['ratio'][n]:>8.2f}" if n in figures["ratio"] else f"{'-':>8}" for n in names]
    cells.append(f"{best:>8.2f}{' <' if best < 1 else '  '}")
    cells.append(f"{figures['limit']:>6.2f}" if "limit" in figures else "")
    return f"{name[:width]:{width}}" + "".join(cells)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def text_of(result):
    """JSON with a line for each case, so that a later run differs by lines."""
    lines = ",\n".join(json.dumps(rounded(case)) for case in result["cases"])
    head = json.dumps({name: value for name, value in result.items() if name != "cases"}, indent=1)
    return f'{head.removesuffix("}").rstrip()},\n "cases": [\n{lines}\n]}}\n'


def rounded(value):
    """Numbers with four digits: more are noise."""
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> int:
    options = arguments()
    environment.clean(options.threads)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) > options.threads:
        os.sched_setaffinity(0, cores[: options.threads])
    machine = limits.measure(options.threads)
    wanted = ("strided", *(options.against or peers.NAMES[1:]))
    libraries, absent = peers.installed(options.threads, wanted)
    for name in absent:
        print(f"{name} is not installed and is left out", file=sys.stderr)
    names = [library.name for library in libraries[1:]]
    versions = {library.name: library.version for library in libraries}
    print(
        f"{environment.processor()}, threads: {options.threads}, " + ", ".join(f"{n} {v}" for n, v in versions.items())
    )
    print("limits: " + (limits.text(machine) if machine else "not measured, no C++ compiler"))

    table, best = [], defaultdict(list)
    for family in options.family or families.NAMES:
        module = families.load(family)
        cases = [c for c in (module.curves() if options.curves else module.cases()) if options.only in c.name]
        cases = [c for c in cases if c.size <= options.largest]
        if cases:
            print(f"\n{family:34}{'strided':>9}" + "".join(f"{n:>8}" for n in names) + f"{'best':>8}{'of limit':>10}")
        for place, case in enumerate(cases, 1):
            if sys.stderr.isatty():
                print(f"  {family} {place} of {len(cases)}: {case.name}\033[K", end="\r", file=sys.stderr, flush=True)
            figures = measured(case, libraries, options)
            if machine and (reached := limits.reached(case, figures["seconds"]["strided"], machine)):
                figures["limit"] = reached
            title = f"{case.name}, {case.size:g}" if options.curves else case.name
            print(row(title, figures, names), flush=True)
            table.append({"family": family, "case": case.name, "size": case.size} | figures)
            if figures["ratio"]:
                best[family].append(min(figures["ratio"].values()))

    print(f"\n{'best peer by strided, per family':34}{'lines':>9}{'mean':>8}{'least':>8}{'behind':>8}")
    for family, ratios in best.items():
        behind = sum(ratio < 1 for ratio in ratios)
        print(f"{family:34}{len(ratios):>9}{mean(ratios):>8.2f}{min(ratios):>8.2f}{behind:>8}")
    result = {
        "machine": environment.processor(),
        "threads": options.threads,
        "versions": versions,
        "limits": machine,
        "cases": table,
    }
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(text_of(result), encoding="utf-8")
    if options.pictures:
        import pictures

        pictures.draw(result, Path(options.pictures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
