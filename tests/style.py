"""Rules about the text of sources that formatters do not check (`make lint` runs this).

    python tests/style.py [folder]

- Lines of C++ and Python have at most 120 columns. A text is not broken: a longer line is right where it holds one
  string literal and, behind it, only what closes it.
- A path of the repository that a comment or a document names, from the root on, exists; so does what a document
  links to.
- `Note [name]` stands for a text that is cited elsewhere. A note is written once, something cites it, and every
  citation has its note. A note begins a line of a comment or of a document and ends it, or is followed by a colon.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

COLUMNS = 120
FOLDERS = ("csrc", "python", "tests", "tools", "bench", "examples", "docs")
SOURCES = {".h", ".cpp", ".cu", ".inc", ".py"}
DOCUMENTS = SOURCES | {".md", ".txt", ".sh", ".toml", ".yml"}

LITERAL = r"""("(\\.|[^"\\])*"|'(\\.|[^'\\])*')"""
ONE_LITERAL = re.compile(rf"""[^"'#]*{LITERAL}[)\],;}}:]*( *\\| *# \w.*)?""")
EXAMPLE = re.compile(r"\s*(>>>|\.\.\.) ")  # an example in a docstring, which is one line of Python

# What follows stands for a part that varies: csrc/<family>, _rules_*.py, DEVICE.json.
PATH = re.compile(rf"(?<![\w./*-])((?:{'|'.join(FOLDERS)})/[a-z0-9_./-]*\w)(?![\w*<>/-]|\.?{{)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
COMMENT = re.compile(r"(?:^|\s)(?://|#)(?!include).*")

LEADER = re.compile(r'^\s*(//+|#+|"""|\*)?\s*')
DEFINITION = re.compile(r"Note \[([^\[\]]+)\](:|$)")
CITATION = re.compile(r"Notes? ((?:\[[^\[\]]+\](?:, (?:and )?| and )?)+)")


def files(root: Path) -> list[Path]:
    """The sources and documents below root."""
    found = [*root.glob("*"), *(p for folder in FOLDERS for p in (root / folder).rglob("*"))]
    return sorted(p for p in found if p.suffix in DOCUMENTS and p.is_file() and "__pycache__" not in p.parts)


def wide_lines(path: Path, text: str) -> list[str]:
    return [
        f"{path}:{number}: {len(line)} columns"
        for number, line in enumerate(text.split("\n"), 1)
        if len(line) > COLUMNS and not EXAMPLE.match(line)
        and (line.lstrip().startswith('"""') or not ONE_LITERAL.fullmatch(line))
    ]  # fmt: skip


def lost_paths(root: Path, path: Path, text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if path.suffix == ".md":
            named = [(root, name) for name in PATH.findall(line)]
            named += [(root / path.parent, name) for name in LINK.findall(line)]
        else:
            comment = COMMENT.search(line)
            named = [(root, name) for name in PATH.findall(comment[0])] if comment else []
        found += [f"{path}:{number}: there is no {name}" for base, name in named if not (base / name).exists()]
    return found


def notes(path: Path, text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The notes that a file defines and those it cites, each with its place. Both may be broken across lines."""
    defined, cited = [], []
    lines = [LEADER.sub("", line).rstrip() for line in text.split("\n")]
    starts, joined = [], ""
    for line in lines:
        starts.append(len(joined))
        joined += line + " "

    def place(offset: int) -> str:
        return f"{path}:{sum(start <= offset for start in starts)}"

    definitions = set()
    for start, line in zip(starts, lines, strict=True):
        if match := DEFINITION.match(line):
            definitions.add(start)
            defined.append((match[1], place(start)))
    for match in CITATION.finditer(joined):
        if match.start() not in definitions:
            cited += [(name, place(match.start())) for name in re.findall(r"\[([^\[\]]+)\]", match[1])]
    return defined, cited


def check(root: Path) -> list[str]:
    found = []
    defined, cited = defaultdict(list), defaultdict(list)
    for path in files(root):
        text = path.read_text(encoding="utf-8")
        if path.suffix in SOURCES:
            found += wide_lines(path.relative_to(root), text)
        if path.name in ("style.py", "test_style.py"):
            continue  # they speak of notes, and have examples of them
        found += lost_paths(root, path.relative_to(root), text)
        for target, names in zip((defined, cited), notes(path.relative_to(root), text), strict=True):
            for name, place in names:
                target[name].append(place)
    for name, places in sorted(defined.items()):
        if len(places) > 1:
            found.append(f"{places[1]}: Note [{name}] is written at {places[0]} too")
        if name not in cited:
            found.append(f"{places[0]}: nothing cites Note [{name}]")
    found += [f"{places[0]}: there is no Note [{name}]" for name, places in cited.items() if name not in defined]
    return found


if __name__ == "__main__":
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))
