"""Checks that a source file includes only its own floor and the floors below it: layering.py CSRC

The floors are those of docs/architecture.md: a folder's first name decides. Few translation units may include pybind11.
"""

import re
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
    "autograd": "base core backend tensor ops autograd",
    "python": "base core backend tensor ops cpu cuda lapack autograd python",
}
MOST_PYBIND_UNITS = 5

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


def main(root: Path) -> int:
    includes = read_includes(root)
    if not includes:
        print(f"{root}: no sources found")
        return 1
    found = violations(includes)
    units = pybind_units(includes)
    if len(units) > MOST_PYBIND_UNITS:
        found.append(f"{len(units)} units include pybind11, more than {MOST_PYBIND_UNITS}: {', '.join(units)}")
    print(
        "\n".join(found)
        or f"{len(includes)} files include only their own floor and those below; {len(units)} use pybind11"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
