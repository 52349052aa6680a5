"""Files, side by side in one run: strided, PyTorch, NumPy, safetensors, and plain reads and writes of as many bytes.

    python bench/files.py [folder]

The folder should be on a disk with room for a gigabyte; the files stay in the page cache. What is compared takes turns,
and the fastest of each counts. Nothing here waits for the disk: fsync is left out on all sides (``--fsync`` puts it
back where strided has it, and behind the plain write).
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Callable

import numpy as np
import strided
from strided import files

import torch  # isort: skip
from safetensors.torch import load_file, save_file  # isort: skip

LARGE = 64 << 20  # numbers of 4 bytes
SMALL, ROUNDS = 100_000, 5


def timed(action: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    kept = action()
    seconds = time.perf_counter() - start
    del kept
    return seconds


def table(title: str, actions: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> None:
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(rounds):
        for name, action in actions.items():
            best[name] = min(best[name], timed(action))
    first = next(iter(best.values()))
    print(f"\n{title}\n| | ms | times strided's |\n| --- | ---: | ---: |")
    for name, seconds in best.items():
        print(f"| {name} | {1000 * seconds:.2f} | {seconds / first:.2f} |", flush=True)


def write_plainly(path: str, data: memoryview, fsync: bool) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for at in range(0, len(data), 1 << 23):
            os.write(fd, data[at : at + (1 << 23)])
        if fsync:
            os.fsync(fd)
    finally:
        os.close(fd)


def read_plainly(path: str) -> bytearray:
    """Into memory that is new, as a reader's is."""
    data = bytearray(os.stat(path).st_size)
    with open(path, "rb", buffering=0) as f:
        at, view = 0, memoryview(data)
        while n := f.readinto(view[at:]):
            at += n
    return data


def large(folder: str, fsync: bool) -> None:
    ours, theirs = strided.rand(LARGE), torch.rand(LARGE)
    array, raw = theirs.numpy(), memoryview(theirs.numpy()).cast("B")
    at = {name: os.path.join(folder, name) for name in ("a.pt", "b.pt", "a.npy", "b.npy", "a.st", "b.st", "raw")}
    table(
        f"one tensor of {LARGE * 4 >> 20} MB, written",
        {
            "strided.save": lambda: strided.save(ours, at["a.pt"]),
            "strided save_file": lambda: files.save_file({"x": ours}, at["a.st"]),
            "strided save_npy": lambda: files.save_npy(at["a.npy"], ours),
            "plain write": lambda: write_plainly(at["raw"], raw, fsync),
            "torch.save": lambda: torch.save(theirs, at["b.pt"]),
            "safetensors save_file": lambda: save_file({"x": theirs}, at["b.st"]),
            "np.save": lambda: np.save(at["b.npy"], array),
        },
    )
    table(
        "the same, read",
        {
            "strided.load": lambda: strided.load(at["a.pt"]),
            "strided load_npy": lambda: files.load_npy(at["a.npy"]),
            "plain read": lambda: read_plainly(at["raw"]),
            "torch.load": lambda: torch.load(at["b.pt"]),
            "np.load": lambda: np.load(at["b.npy"]),
        },
    )
    table(
        "the same, mapped",
        {
            "strided.load, mmap": lambda: strided.load(at["a.pt"], mmap=True),
            "strided load_file": lambda: files.load_file(at["a.st"]),
            "torch.load, mmap": lambda: torch.load(at["b.pt"], mmap=True),
            "safetensors load_file": lambda: load_file(at["b.st"]),
        },
    )


def small(folder: str) -> None:
    ours = {f"layer.{k}.weight": strided.rand(4) for k in range(SMALL)}
    theirs = {name: torch.from_numpy(t.numpy()) for name, t in ours.items()}
    at = {name: os.path.join(folder, name) for name in ("a.pt", "b.pt", "a.st", "b.st")}
    table(
        f"{SMALL} tensors of 4 numbers, written",
        {
            "strided.save": lambda: strided.save(ours, at["a.pt"]),
            "torch.save": lambda: torch.save(theirs, at["b.pt"]),
            "strided save_file": lambda: files.save_file(ours, at["a.st"]),
            "safetensors save_file": lambda: save_file(theirs, at["b.st"]),
        },
        rounds=2,
    )
    table(
        "the same, read",
        {
            "strided.load": lambda: strided.load(at["a.pt"]),
            "torch.load": lambda: torch.load(at["b.pt"]),
            "strided load_file": lambda: files.load_file(at["a.st"]),
            "safetensors load_file": lambda: load_file(at["b.st"]),
        },
        rounds=2,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--fsync", action="store_true")
    words = parser.parse_args()
    if not words.fsync:
        os.fsync = lambda fd: None
    with tempfile.TemporaryDirectory(dir=words.folder) as folder:
        large(folder, words.fsync)
        small(folder)


if __name__ == "__main__":
    main()
