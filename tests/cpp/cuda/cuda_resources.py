"""What ptxas says that each CUDA kernel needs: kept while nvcc compiles, and checked by ctest.

python cuda_resources.py keep COMMAND...    runs a compiler's command; what ptxas -v told goes to <object>.resources
python cuda_resources.py check FOLDER UNIT...
                                            fails if a kernel of one of the units (file name patterns) spills registers
                                            to memory or keeps arrays there, or has its products of warpgroups one by
                                            one; prints how many registers kernels need
"""

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<arch>\w+)'.*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


def keep(command: list[str]) -> int:
    done = subprocess.run([*command, "-Xptxas", "-v"], stderr=subprocess.PIPE, text=True)
    told = [
        line
        for line in done.stderr.splitlines()
        if not line.startswith("ptxas info") and "bytes stack frame" not in line
    ]
    if any(told):
        print(*told, sep="\n", file=sys.stderr)
    if "-o" in command:
        Path(command[command.index("-o") + 1] + ".resources").write_text(done.stderr)
    return done.returncode


def check(folder: str, units: list[str]) -> int:
    found = bad = 0
    for file in sorted(Path(folder).rglob("*.cu.o.resources")):
        name = file.name.removesuffix(".cu.o.resources")
        if not any(fnmatch(name, unit) for unit in units):
            continue
        told = file.read_text()
        serialized = [line for line in told.splitlines() if "wgmma" in line and "serialized" in line]
        bad += len(serialized)
        print(*serialized, sep="\n", end="\n" if serialized else "")
        kernels = [m.groupdict() for m in KERNEL.finditer(told)]
        found += len(kernels)
        if kernels:
            print(f"{name}: {len(kernels)} kernels, up to {max(int(k['registers']) for k in kernels)} registers")
        for k in kernels:
            if int(k["stores"]) or int(k["loads"]) or int(k["stack"]):
                bad += 1
                print(
                    f"  {k['name']} ({k['arch']}): {k['stack']} bytes of stack, {k['stores']} and {k['loads']} bytes spilled"
                )
    if not found:
        print(f"no reports of {', '.join(units)} below {folder}")
    return int(bad > 0 or not found)


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    sys.exit(keep(rest) if mode == "keep" else check(rest[0], rest[1:]))
