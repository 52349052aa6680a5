"""Checks the objects built for one instruction set: isa_symbols.py NM ISA OBJECT...

The linker keeps one of several weak (inline, template) symbols of the same name. If an object compiled for AVX-512 has
such a symbol that other objects have too, its body may be the one that is kept, and runs on machines without AVX-512.
So every weak symbol here must carry the namespace of the instruction set (Note [One namespace per instruction set],
csrc/base/macros.h), and every strong one as well, or be the object's own entry named after it.
"""

import os
import shutil
import subprocess
import sys

SKIPPED = 77


def foreign_symbols(nm: str, isa: str, path: str) -> list[str]:
    """Weak or unique definitions in the object that do not name `strided::<isa>::`."""
    # Mangled names, because a demangled one hides inline namespaces of some demanglers.
    text = subprocess.run([nm, "--defined-only", path], check=True, capture_output=True, text=True).stdout
    mark = f"7strided{len(isa)}{isa}"
    found = []
    for line in text.splitlines():
        *_, kind, name = line.split()
        # DW.ref.*: the address of the function that unwinding calls, the same in every object; no code.
        # __clang_call_terminate: Clang's, it calls two functions of the runtime and has no instruction of a set.
        if kind in "WwVvu" and mark not in name and not name.startswith(("DW.ref.", "__clang_call_terminate")):
            found.append(name)
    return found


def main(nm: str, isa: str, objects: list[str]) -> int:
    if not nm or not shutil.which(nm):
        print("skipped: there is no nm to read the objects with")
        return SKIPPED
    if not objects:
        print(f"no objects were given for {isa}")
        return 1
    bad = 0
    for path in objects:
        for name in foreign_symbols(nm, isa, path):
            bad += 1
            plain = (
                subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip()
                if shutil.which("c++filt")
                else name
            )
            print(f"{os.path.basename(path)}: weak symbol outside strided::{isa}: {plain}")
    print(f"{len(objects)} objects for {isa}, {bad} weak symbols outside their namespace")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
