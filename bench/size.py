"""The size of the wheel and the time of the import.

    python bench/size.py [--wheel FILE] [--check]

Without --wheel, one is built (isolated, from this checkout). --check: exit status 1 above 10 MB or 0.1 s, what
docs/architecture.md promises. The import time is that of a process that imports strided less that of one that does not;
the best of several, because the first ones read the disk.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

MOST_BYTES, MOST_SECONDS = 10_000_000, 0.1


def build_wheel(folder: str) -> Path:
    root = Path(__file__).resolve().parents[1]
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(root)], check=True)
    return next(Path(folder).glob("strided-*.whl"))


def process_seconds(code: str) -> float:
    """The best time of a process that runs the code."""
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = arguments.wheel or build_wheel(folder)
        size = wheel.stat().st_size
        members = sorted(zipfile.ZipFile(wheel).infolist(), key=lambda m: -m.file_size)
        print(f"{size / 1e6:8.2f} MB  {wheel.name}")
        for member in members[:5]:
            print(f"{member.file_size / 1e6:8.2f} MB  of it unpacked: {member.filename}")
    nothing, ours, numpys = (process_seconds(code) for code in ("pass", "import strided", "import numpy"))
    print(f"{ours - nothing:8.3f} s   the import ({numpys - nothing:.3f} s for NumPy's)")
    over = [f"the wheel is larger than {MOST_BYTES} bytes"] * (size > MOST_BYTES)
    over += [f"the import takes longer than {MOST_SECONDS} s"] * (ours - nothing > MOST_SECONDS)
    print("\n".join(over) if over else "within the limits")
    return 1 if arguments.check and over else 0


if __name__ == "__main__":
    sys.exit(main())
