"""``python -m strided inspect`` and ``python -m strided convert``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import Any

__all__ = ["add_commands", "run_command"]


def add_commands(commands: Any) -> None:
    """Adds both to the subparsers of the command line."""
    one = commands.add_parser("inspect", help="what is in a file of tensors, without loading it")
    one.add_argument("file")
    one.add_argument("--json", action="store_true", help="print it as JSON")
    one.add_argument("--stats", action="store_true", help="add the least, greatest and mean number of each tensor")
    two = commands.add_parser("convert", help="write the tensors of a file in another format")
    two.add_argument("source")
    two.add_argument("target", help="its name ends in .pt, .safetensors, .npy or .npz")


def _size(n: int) -> str:
    unit = min(int(math.log(max(n, 1), 1000)), 4)
    return f"{n} B" if unit == 0 else f"{n / 1000**unit:.1f} {'kMGT'[unit - 1]}B"


def _print(found: dict[str, Any]) -> None:
    tensors = found["tensors"]
    print(f"{found['format']}, {_size(found['bytes'])}, {len(tensors)} tensors")
    for key, value in found["metadata"].items():
        print(f"  {key}: {value}")
    lines = []
    for row in tensors:
        notes = [f"{key} {row[key]}" for key in ("strides", "offset", "shares") if key in row]
        notes += [f"{key} {row[key]:.6g}" for key in ("min", "max", "mean") if key in row]
        notes += [f"{row['not_finite']} not finite"] if "not_finite" in row else []
        shape = "x".join(map(str, row["shape"])) or "()"
        lines.append((row["name"], row["dtype"], shape, _size(row["bytes"]), ", ".join(notes)))
    widths = [max(len(line[k]) for line in lines) for k in range(4)] if lines else []
    for line in lines:
        print("  ".join([*(text.ljust(w) for text, w in zip(line, widths)), line[4]]).rstrip())


def run_command(words: argparse.Namespace) -> int:
    """Runs one of both; the exit status is 1 after an error, which is printed."""
    from . import convert, inspect

    try:
        if words.command == "convert":
            for name in convert(words.source, words.target):
                print(f"left out: {name}", file=sys.stderr)
            return 0
        found = inspect(words.file, stats=words.stats)
    except Exception as problem:
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(found, indent=1)) if words.json else _print(found)
    return 0
