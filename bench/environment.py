"""The environment that benchmarks run in: what a shell sets for other programs must not slow a library down.

With OPENBLAS_CORETYPE=Haswell, say, NumPy's products run at half of their speed on a CPU with AVX-512.
"""

import os
import platform
import sys
from pathlib import Path

PREFIXES = ("OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "OMP_", "GOMP_", "KMP_", "NUMEXPR_", "XLA_", "NVIDIA_TF32_")


def clean(threads: int | None = None) -> None:
    """Called before any library is loaded, because that is when they read it; the number of threads, too."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    wanted = {} if threads is None else dict.fromkeys(names, str(threads))
    for name in [n for n in os.environ if n.startswith(PREFIXES)]:
        if os.environ[name] != wanted.get(name):
            print(f"{name}={os.environ.pop(name)} is left out of the environment", file=sys.stderr)
    os.environ.update(wanted)
    # OpenBLAS's threads look for work for 2^26 cycles after a product and take processors from whoever comes next: with
    # two threads the others took twice the time for a product of 256 rows. 2^22 cycles are a millisecond, which
    # products in a row do not notice.
    os.environ["OPENBLAS_THREAD_TIMEOUT"] = "22"


def processor() -> str:
    """The processor by the name that Linux has for it, and its architecture."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return ", ".join([*names[:1], platform.machine()])
