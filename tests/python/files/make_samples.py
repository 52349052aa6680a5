"""Writes the files in ``samples``, each with the library whose format it is (PyTorch, NumPy, safetensors).

    python tests/python/files/make_samples.py

They are committed, so that tests read them where those libraries are not installed. What is in each says ``EXPECTED``.
"""

import collections
import json
import struct
from pathlib import Path

import numpy as np

SAMPLES = Path(__file__).parent / "samples"
NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)
# name of a file -> what a reader must find: numbers as nested lists, by name
EXPECTED = {
    "dict.pt": {"weight": NUMBERS.tolist(), "view": NUMBERS.T[1:].tolist(), "half": [1.0, 2.0], "step": 3},
    "legacy.pt": {"weight": NUMBERS.tolist(), "view": NUMBERS.T[1:].tolist(), "half": [1.0, 2.0], "step": 3},
    "state_dict.pt": {"0.weight": [[0.0, 1.0, 2.0]], "0.bias": [0.5]},
    "every_dtype.pt": None,
    "three.safetensors": {"b": NUMBERS.tolist(), "a": [1, 2, 3], "c": [True, False]},
    "fortran.npy": NUMBERS.T.tolist(),
    "big_endian.npy": [1, 2, 3],
    "version3.npy": NUMBERS.tolist(),
    "two.npz": {"x": NUMBERS.tolist(), "y": [1, 2, 3]},
    "compressed.npz": {"x": NUMBERS.tolist(), "y": [1, 2, 3]},
    "two.gguf": {"x": NUMBERS.tolist(), "y": [1, 2, 3]},
}
DTYPES = ("bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float16 bfloat16 float32 "
          "float64 complex64 complex128").split()  # fmt: skip


def make_pytorch() -> None:
    import torch

    weight = torch.from_numpy(NUMBERS)
    mixed = {"weight": weight, "view": weight.t()[1:], "half": torch.tensor([1.0, 2.0]).half(), "step": 3}
    torch.save(mixed, SAMPLES / "dict.pt")
    torch.save(mixed, SAMPLES / "legacy.pt", _use_new_zipfile_serialization=False)
    model = torch.nn.Sequential(torch.nn.Linear(3, 1))
    model.load_state_dict({"0.weight": torch.arange(3.0).view(1, 3), "0.bias": torch.tensor([0.5])})
    torch.save(model.state_dict(), SAMPLES / "state_dict.pt")
    torch.save({name: torch.tensor([0, 1]).to(getattr(torch, name)) for name in DTYPES}, SAMPLES / "every_dtype.pt")


def make_numpy() -> None:
    np.save(SAMPLES / "fortran.npy", NUMBERS.T)
    np.save(SAMPLES / "big_endian.npy", np.array([1, 2, 3], ">i2"))
    with open(SAMPLES / "version3.npy", "wb") as f:
        np.lib.format.write_array(f, NUMBERS, (3, 0))
    np.savez(SAMPLES / "two.npz", x=NUMBERS, y=np.array([1, 2, 3]))
    np.savez_compressed(SAMPLES / "compressed.npz", x=NUMBERS, y=np.array([1, 2, 3]))


def make_safetensors() -> None:
    from safetensors.numpy import save_file

    arrays = {"b": NUMBERS, "a": np.array([1, 2, 3]), "c": np.array([True, False])}
    save_file(arrays, SAMPLES / "three.safetensors", {"made by": "safetensors"})


def gguf_bytes() -> bytes:
    """By the description of the format: no library that writes it is needed."""

    def text(s: str) -> bytes:
        return struct.pack("<Q", len(s)) + s.encode()

    def tensor(name: str, array: np.ndarray, kind: int, offset: int) -> bytes:
        dims = array.shape[::-1]
        return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)

    y = np.array([1, 2, 3], np.int32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 3)
    head += text("general.name") + struct.pack("<I", 8) + text("a sample")
    head += text("general.alignment") + struct.pack("<II", 4, 64)
    head += text("list") + struct.pack("<IIQ3i", 9, 5, 3, 1, 2, 3)
    head += tensor("x", NUMBERS, 0, 0) + tensor("y", y, 26, 64)
    return head.ljust(-(-len(head) // 64) * 64, b"\0") + NUMBERS.tobytes().ljust(64, b"\0") + y.tobytes()


def main() -> None:
    SAMPLES.mkdir(exist_ok=True)
    make_pytorch()
    make_numpy()
    make_safetensors()
    (SAMPLES / "two.gguf").write_bytes(gguf_bytes())
    sizes = collections.OrderedDict((p.name, p.stat().st_size) for p in sorted(SAMPLES.iterdir()))
    print(json.dumps(sizes, indent=1))


if __name__ == "__main__":
    main()
