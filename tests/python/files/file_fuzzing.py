"""Random changes of good files, given to the readers: each input is read, or refused with one of a few exceptions.

    python tests/python/files/file_fuzzing.py [seconds [reader]]

Without ``atheris`` the changes are random; with it (``pip install strided[fuzz]``) they are led by what the Python part
of a reader has run through. What fails is written to ``crash-READER-N`` in this folder, and its name printed.
"""

import io
import os
import pickle
import random
import struct
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import strided as torch
from strided import files

REFUSED = (RuntimeError, ValueError, NotImplementedError, pickle.UnpicklingError, EOFError)
SAMPLES = Path(__file__).parent / "samples"


def _load(data):
    torch.load(io.BytesIO(data))


def _load_pickle(data):
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("archive/data.pkl", data)
        for k in range(4):
            z.writestr(f"archive/data/{k}", bytes(24 >> k))
    _load(f.getvalue())


def _from_path(reader):
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    path = os.path.join(folder, "file")

    def read(data):
        with open(path, "wb") as f:
            f.write(data)
        reader(path)

    return read


def _saved(obj, **how):
    f = io.BytesIO()
    torch.save(obj, f, **how)
    return f.getvalue()


def _pickles():
    for path in SAMPLES.glob("*.pt"):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as z:
                yield next(z.read(n) for n in z.namelist() if n.endswith("data.pkl"))
    values = [{"a": [1, 2.5, None, "text", (1, (2, 3))]}, {1, "b"}, b"bytes", 2**70, 1j, np.arange(3), np.float32(1)]
    for protocol in range(6):
        yield pickle.dumps(values[:3], protocol)
    with zipfile.ZipFile(io.BytesIO(_saved([*values, torch.ones(2), torch.Size([1]), torch.device("cpu")]))) as z:
        yield z.read("archive/data.pkl")


# name -> (reader of bytes, good files)
READERS = {
    "archive": (_load, [p.read_bytes() for p in SAMPLES.glob("*.pt")]),
    "pickle": (_load_pickle, list(_pickles())),
    "stream": (_load, [(SAMPLES / "legacy.pt").read_bytes()]),
    "safetensors": (files.load, [p.read_bytes() for p in SAMPLES.glob("*.safetensors")]),
    "npy": (lambda data: files.load_npy(io.BytesIO(data)), [p.read_bytes() for p in SAMPLES.glob("*.npy")]),
    "npz": (lambda data: files.load_npz(io.BytesIO(data)), [p.read_bytes() for p in SAMPLES.glob("*.npz")]),
    "gguf": (_from_path(files.load_gguf), [p.read_bytes() for p in SAMPLES.glob("*.gguf")]),
}
INTERESTING = [0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1]


def changed(rng, data, corpus):
    """One to four changes: bits, bytes, numbers, pieces copied, removed, or of another file."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not data:
            return b""
        at, kind = rng.randrange(len(data)), rng.randrange(8)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.randrange(256)
        elif kind == 2:
            size = rng.choice((1, 2, 4, 8))
            data[at : at + size] = (rng.choice(INTERESTING) % 256**size).to_bytes(size, rng.choice(("little", "big")))
        elif kind == 3:
            del data[at : at + rng.randrange(1, 20)]
        elif kind == 4:
            data[at:at] = data[(b := rng.randrange(len(data))) : b + rng.randrange(1, 40)]
        elif kind == 5:
            other = rng.choice(corpus)
            data[at : at + rng.randrange(20)] = other[(b := rng.randrange(len(other))) : b + rng.randrange(1, 40)]
        elif kind == 6:
            del data[at:]
        else:
            data[at:at] = struct.pack("<B", rng.randrange(256)) * rng.randrange(1, 5)
    return bytes(data)


def try_one(name, data):
    """Reads one input; whatever it raises besides what readers may raise goes to the caller."""
    try:
        READERS[name][0](data)
    except REFUSED:
        return False
    return True


def run(name, seconds=None, count=None, seed=0):
    """Tries inputs for some time, or a number of them: (tried, read). An unexpected exception names the input."""
    rng, corpus = random.Random(seed), READERS[name][1]
    tried = read = 0
    end = time.monotonic() + seconds if seconds else float("inf")
    while tried != count and (tried % 64 or time.monotonic() < end):
        data = changed(rng, rng.choice(corpus), corpus)
        try:
            read += try_one(name, data)
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt):
                raise
            path = Path(f"crash-{name}-{seed}-{tried}")
            path.write_bytes(data)
            raise AssertionError(f"{name}: {type(problem).__name__}: {problem}; the input is in {path}") from problem
        tried += 1
    return tried, read


def main(words):
    seconds = float(words[0]) if words else 60.0
    names = words[1:] or list(READERS)
    try:
        import atheris
    except ImportError:
        for name in names:
            tried, read = run(name, seconds=seconds / len(names), seed=time.time_ns())
            print(f"{name}: {tried} inputs, {read} read, {tried - read} refused, no other exception", flush=True)
        return
    name = names[0]  # a process for each: the library counts coverage from its start to its end
    with tempfile.TemporaryDirectory() as folder:
        for k, data in enumerate(READERS[name][1]):
            (Path(folder) / str(k)).write_bytes(data)
        atheris.instrument_all()
        atheris.Setup([sys.argv[0], f"-max_total_time={int(seconds)}", folder], lambda data: try_one(name, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
