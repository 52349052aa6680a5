"""Elementwise loops call no mathematics: vector_loops.py OBJDUMP OBJECT...

A loop that calls a function for each element is not vectorised, and several times slower. The functions of
base/math.h are written to be inlined (Note [Vectorisable mathematics]), but a compiler stops to inline when a unit
grows, or when a second caller of a large function appears, and says nothing. So the machine code of every loop
`contiguous_loop<Op, ...>` is read: it may not call a function of `math`, except in loops that use functions of
`math::special`, which are scalar. Complex functions are scalar too, and their objects are not given.
"""

import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
FUNCTION = re.compile(r"^[0-9a-f]+ <(\S+)>:$")
CALLED = re.compile(r"\bR_\w+\s+(_ZN7strided\w+)")


def calls(objdump: str, path: str) -> dict[str, set[str]]:
    """The functions of `math` that each elementwise loop of the object calls."""
    text = subprocess.run(
        [objdump, "-dr", "--no-show-raw-insn", path], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, set[str]] = {}
    current = None
    for line in text.splitlines():
        if head := FUNCTION.match(line):
            current = head[1] if "contiguous_loop" in head[1] else None
            if current:
                found[current] = set()
        elif current and (call := CALLED.search(line)) and "4math" in call[1]:
            found[current].add(call[1])
    return found


def main(objdump: str, objects: list[str]) -> int:
    if not objdump or not shutil.which(objdump):
        print("skipped: there is no objdump to read the objects with")
        return SKIPPED
    loops, bad = 0, 0
    for path in objects:
        for loop, called in calls(objdump, path).items():
            loops += 1
            if called and not any("7special" in name for name in called):
                bad += 1
                print(f"{os.path.basename(path)}: {loop} calls {', '.join(sorted(called))}")
    print(f"{loops} elementwise loops, {bad} that call mathematics")
    return 1 if bad or loops < 100 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
