"""Checks that a floor needs only itself and the floors below it.

    python layering.py CSRC             what source files include, and that no file includes itself through others;
                                        few of them may include pybind11
    python layering.py NM OBJECT...     which symbols compiled files need

The floors are those of docs/architecture.md. The first folder below csrc decides, of an object file too
(.../csrc/core/layout.cpp.o). A function that is declared below and defined above passes the first check but not the
second.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

# For each folder of csrc, the folders whose files it may include.
FLOORS = {
    "base": "base",
    "core": "base core",
    "backend": "base core backend",
    "tensor": "base core backend tensor",
    "ops": "base core backend tensor ops",
    "cpu": "base core backend cpu",
    "cuda": "base core backend cuda",
    "lapack": "base core backend lapack",
    "xla": "base core backend xla",
    "autograd": "base core backend tensor ops autograd",
    "files": "base core files",
    "python": "base core backend tensor ops cpu cuda lapack xla autograd files python",
}
MOST_PYBIND_UNITS = 5
# Headers include each other in one direction. Source files may call back: a gradient is written in public operations,
# which are recorded in turn. A unit is a header and its source; so many of a floor reach each other, and not more.
MOST_RECURSIVE_UNITS = {"ops": 12, "python": 15}
SKIPPED = 77

SOURCES = {".h", ".inc", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def read_includes(root: Path) -> dict[str, list[tuple[str, str]]]:
    """(bracket, name) of every #include of every source file, by path relative to the root."""
    files = sorted(path for path in root.rglob("*") if path.suffix in SOURCES)
    return {path.relative_to(root).as_posix(): INCLUDE.findall(path.read_text("utf-8")) for path in files}


def violations(includes: dict[str, list[tuple[str, str]]]) -> list[str]:
    """One line for each include that points up, sideways or nowhere."""
    found = []
    for file, names in includes.items():
        floor = file.split("/")[0]
        if floor not in FLOORS:
            found.append(f"{file}: csrc/{floor} is no known floor")
            continue
        for bracket, name in names:
            if bracket == "<":
                continue
            if name not in includes:
                found.append(f"{file}: includes {name}, which is no file of csrc (system headers are written <...>)")
                continue
            target = name.split("/")[0]
            if target not in FLOORS[floor].split():
                found.append(f"{file}: includes {name}; {floor}/ may include {FLOORS[floor]} only")
    return found


def pybind_units(includes: dict[str, list[tuple[str, str]]]) -> list[str]:
    """The .cpp files that include pybind11, directly or through another file."""

    def reaches(file: str, seen: set[str]) -> bool:
        if file in seen or file not in includes:
            return False
        seen.add(file)
        return any(name.startswith("pybind11/") or reaches(name, seen) for _, name in includes[file])

    return [file for file in includes if file.endswith(".cpp") and reaches(file, set())]


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of two and more that reach each other (Tarjan, "Depth-first search and linear graph algorithms", 1972)."""
    found, order, lowest, stack = [], {}, {}, []

    def visit(one: str) -> None:
        order[one] = lowest[one] = len(order)
        stack.append(one)
        for other in sorted(graph.get(one, ())):
            if other not in order:
                visit(other)
            if other in stack:
                lowest[one] = min(lowest[one], lowest[other])
        if lowest[one] == order[one]:
            group = stack[stack.index(one) :]
            del stack[-len(group) :]
            if len(group) > 1:
                found.append(sorted(group))

    for one in sorted(graph):
        if one not in order:
            visit(one)
    return found


def circular(includes: dict[str, list[tuple[str, str]]]) -> list[str]:
    """One line for each group of files that include each other, and for each group of units beyond the limit."""
    files = {file: {name for _, name in names if name in includes} for file, names in includes.items()}
    found = [f"include each other: {', '.join(group)}" for group in cycles(files)]
    units = {}
    for file, names in files.items():
        unit = file.rpartition(".")[0]
        units.setdefault(unit, set()).update({name.rpartition(".")[0] for name in names} - {unit})
    for group in cycles(units):
        floor = group[0].split("/")[0]
        if len(group) > MOST_RECURSIVE_UNITS.get(floor, 1):
            most = MOST_RECURSIVE_UNITS.get(floor, 0)
            found.append(f"{len(group)} units of {floor}/ reach each other, more than {most}: {', '.join(group)}")
    return found


def read_symbols(nm: str, objects: list[str]) -> dict[str, tuple[set[str], set[str]]]:
    """(defined, undefined) names of each object file."""
    symbols = {}
    for path in objects:
        lines = subprocess.run([nm, "--format=posix", path], check=True, capture_output=True, text=True).stdout
        names = [line.split()[:2] for line in lines.splitlines()]
        defined = {name for name, kind in names if kind not in "Uw"}
        symbols[path] = defined, {name for name, kind in names if kind == "U"}
    return symbols


def upward_symbols(symbols: dict[str, tuple[set[str], set[str]]]) -> list[tuple[str, str, str]]:
    """(object file, floor that defines it, symbol) for each symbol that only a floor out of reach defines."""
    floor_of = {path: re.findall(r"/csrc/(\w+)/", "/" + path)[-1] for path in symbols}
    defined = {floor: set() for floor in FLOORS}
    for path, (names, _) in symbols.items():
        defined[floor_of[path]] |= names
    found = []
    for path, (_, undefined) in symbols.items():
        within = set().union(*(defined[floor] for floor in FLOORS[floor_of[path]].split()))
        for name in sorted(undefined - within):
            if above := [floor for floor, names in defined.items() if name in names]:
                found.append((path, above[0], name))
            elif "7strided" in name:  # of our namespace, and in none of the objects: the Python extension's
                found.append((path, "python", name))
    return found


def demangle(name: str) -> str:
    if not shutil.which("c++filt"):
        return name
    return subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip()


def check_symbols(nm: str, objects: list[str]) -> int:
    if not objects:
        print("no object files were given")
        return 1
    found = upward_symbols(read_symbols(nm, objects))
    for path, floor, name in found:
        print(f"csrc/{path.rpartition('/csrc/')[2]}: needs {demangle(name)}, which is defined in {floor}/")
    print(f"{len(objects)} object files, {len(found)} symbols that only a floor out of reach defines")
    return 1 if found else 0


def check_includes(root: Path) -> int:
    includes = read_includes(root)
    if not includes:
        print(f"{root}: no sources found")
        return 1
    found = violations(includes) + circular(includes)
    units = pybind_units(includes)
    if len(units) > MOST_PYBIND_UNITS:
        found.append(f"{len(units)} units include pybind11, more than {MOST_PYBIND_UNITS}: {', '.join(units)}")
    print(
        "\n".join(found)
        or f"{len(includes)} files include their own floor and those below, none itself; {len(units)} use pybind11"
    )
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(check_includes(Path(sys.argv[1])))
    if not shutil.which(sys.argv[1]):
        print("skipped: there is no nm to read the objects with")
        sys.exit(SKIPPED)
    sys.exit(check_symbols(sys.argv[1], sys.argv[2:]))
