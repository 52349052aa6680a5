"""What each translation unit costs to build: seconds and bytes of object code, from the last build.

    python bench/build_cost.py [BUILD]            the table, dearest first (BUILD: build/make)
    python bench/build_cost.py --check [--bytes]  exit status 1 if something is over build_budget.json
    python bench/build_cost.py --write            new budget: what was measured, rounded up with room

Seconds are those Ninja noted, with as many compilers at once as it ran, so they are an upper bound on a busy machine.
What ccache answered took no time: `make clean`, then `CCACHE_RECACHE=1 make venv` measures. Bytes do not depend on
that.

CUDA units are among them where nvcc compiled them. Their budget is for one architecture, as a development build has it:
what was built for several is in the table, but not checked.
"""

import argparse
import json
import re
import sys
from pathlib import Path

BUDGET = Path(__file__).with_name("build_budget.json")
ROOM_SECONDS, ROOM_BYTES = 3.0, 1.5  # for other machines and compilers


# An object of the library, below the build folder, with its target and its source below csrc.
OBJECT = re.compile(
    r"(?:CMakeFiles/(?P<target>\w+)\.dir/csrc/(?P<source>\S+)|(?:csrc/)?cuda/CMakeFiles/strided_cuda_objects\.dir/(?P<unit>[\w/]+\.cu))\.o"
)


def read_log(build: Path) -> dict[str, float]:
    """Seconds of each object file of the library, by its path below the build folder. The last entry of a file
    counts."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        if line.startswith("#"):
            continue
        start, end, _, output, _ = line.split("\t")
        if OBJECT.fullmatch(output):
            seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def unit_name(output: str) -> str:
    """'ops/call.cpp', or 'cpu/pointwise/copy.cpp v3' for a unit that is built for several instruction sets, or
    'cuda/pointwise/copy.cu'."""
    found = OBJECT.fullmatch(output)
    if found["unit"]:
        return f"cuda/{found['unit']}"
    isa = found["target"].rpartition("_")[2]
    return found["source"] + (f" {isa}" if isa in ("v2", "v3", "v4") else "")


def totals(units: dict[str, tuple[float, int]]) -> dict[str, tuple[float, int]]:
    """Sums, over the units of the host and over those of nvcc, which not every build has."""
    found = {}
    for name, cost in units.items():
        row = "cuda-total" if name.endswith(".cu") else "total"
        found[row] = tuple(map(sum, zip(cost, found.get(row, (0, 0)))))
    return found


def several_architectures(build: Path) -> bool:
    found = re.search(r"^STRIDED_CUDA_ARCHITECTURES:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found is not None and (found[1] == "default" or ";" in found[1])


def measure(build: Path) -> dict[str, tuple[float, int]]:
    """(seconds, bytes) by unit, of the objects that still exist."""
    return {unit_name(o): (s, (build / o).stat().st_size) for o, s in read_log(build).items() if (build / o).exists()}


def over_budget(units: dict[str, tuple[float, int]], budget: dict, bytes_only: bool) -> list[str]:
    """One line for each unit, and for each whole, that costs more than the budget says. Instruction sets share a
    row."""
    found = []
    for name, (seconds, size) in {**units, **totals(units)}.items():
        most_seconds, most_bytes = budget["units"].get(name.partition(" ")[0], budget["other units"])
        if seconds > most_seconds and not bytes_only:
            found.append(f"{name}: {seconds:.1f} s, budget {most_seconds} s")
        if size > most_bytes:
            found.append(f"{name}: {size} bytes, budget {most_bytes}")
    return found


def make_budget(units: dict[str, tuple[float, int]], before: dict) -> dict:
    """Each unit with room; small ones share one line. A build without CUDA units keeps their rows."""
    small = [10, 500_000]

    def with_room(seconds, size):
        return [round(seconds * ROOM_SECONDS + 0.5), int(round(size * ROOM_BYTES, -4))]

    dearest = {}
    for name, cost in sorted(units.items()):
        name = name.partition(" ")[0]
        dearest[name] = tuple(map(max, cost, dearest.get(name, cost)))
    rows = {name: with_room(*cost) for name, cost in dearest.items()}
    rows = {name: row for name, row in rows.items() if row[0] > small[0] or row[1] > small[1]}
    if not any(name.endswith(".cu") for name in units):
        rows.update(
            (name, row) for name, row in before["units"].items() if name.endswith(".cu") or name == "cuda-total"
        )
    rows.update((name, with_room(*cost)) for name, cost in totals(units).items())
    return {"columns": ["seconds", "bytes"], "other units": small, "units": rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=Path(__file__).resolve().parents[1] / "build" / "make")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bytes", action="store_true", help="with --check: sizes only")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    units = measure(arguments.build)
    if not units:
        print(f"{arguments.build}: no build by Ninja found there", file=sys.stderr)
        return 2
    if (arguments.write or arguments.check) and several_architectures(arguments.build):
        units = {name: cost for name, cost in units.items() if not name.endswith(".cu")}
    if arguments.write:
        # One unit a line, so that a change of the budget reads well.
        text = json.dumps(make_budget(units, json.loads(BUDGET.read_text())))
        BUDGET.write_text(
            re.sub(r'(, |\{)(?="[^"]*": \[)', r"\1\n", text)
            .replace(", \n", ",\n  ")
            .replace("{\n", "{\n  ")
            .replace(', "units"', ',\n  "units"')
            + "\n"
        )
        return 0
    if arguments.check:
        found = over_budget(units, json.loads(BUDGET.read_text()), arguments.bytes)
        print("\n".join(found) or f"{len(units)} units within the budget")
        return 1 if found else 0
    for name, (seconds, size) in sorted(units.items(), key=lambda item: -item[1][0]):
        print(f"{seconds:8.1f} s {size / 1000:9.0f} kB  {name}")
    for name, (seconds, size) in totals(units).items():
        print(f"{seconds:8.1f} s {size / 1000:9.0f} kB  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
