"""Files that PyTorch, NumPy and safetensors wrote are read, also where these are not installed."""

import struct

import make_samples
import pytest
import strided as torch
from strided import files

READERS = {".pt": torch.load, ".safetensors": files.load_file, ".npy": files.load_npy, ".npz": files.load_npz,
           ".gguf": lambda path: files.load_gguf(path)[0]}  # fmt: skip
FOUND = sorted(make_samples.SAMPLES.iterdir())


def numbers(obj):
    if isinstance(obj, dict):
        return {key: numbers(value) for key, value in obj.items()}
    return obj.tolist() if isinstance(obj, torch.Tensor) else obj


def test_all_are_here():
    assert [path.name for path in FOUND] == sorted(make_samples.EXPECTED)


@pytest.mark.parametrize("path", FOUND, ids=lambda p: p.name)
def test_sample(path):
    expected = make_samples.EXPECTED[path.name]
    found = READERS[path.suffix](path)
    if expected is not None:
        assert numbers(found) == expected
        return
    assert {name: str(t.dtype) for name, t in found.items()} == {n: f"torch.{n}" for n in make_samples.DTYPES}
    assert all(t.to(torch.float64).tolist() == [0, 1] for name, t in found.items() if not name.startswith("complex"))


def test_sharing():
    d = torch.load(make_samples.SAMPLES / "dict.pt")
    assert d["weight"].untyped_storage() == d["view"].untyped_storage() and d["half"].dtype == torch.half


def test_gguf_metadata():
    tensors, metadata = files.load_gguf(make_samples.SAMPLES / "two.gguf")
    assert metadata == {"general.name": "a sample", "general.alignment": 64, "list": [1, 2, 3]}
    assert tensors["y"].dtype == torch.int32


def test_gguf_damaged(tmp_path):
    data, refused = make_samples.gguf_bytes(), 0
    for n in range(0, len(data), 2):
        (tmp_path / "x").write_bytes(data[:n])
        with pytest.raises(RuntimeError, match="gguf|ends too early"):
            files.load_gguf(tmp_path / "x")
    for k in range(0, len(data), 2):
        (tmp_path / "x").write_bytes(data[:k] + bytes([data[k] ^ 0xFF]) + data[k + 1 :])
        try:
            files.load_gguf(tmp_path / "x")
        except (RuntimeError, NotImplementedError):
            refused += 1
    assert refused > 50


def test_gguf_axis_of_64_bits(tmp_path):
    """The tensor has no elements, so the product of its sizes says nothing."""
    data = make_samples.gguf_bytes()
    changed = data.replace(struct.pack("<IQQI", 2, 3, 2, 0), struct.pack("<IQQI", 2, 0, 2**63, 0))
    assert changed != data
    (tmp_path / "x").write_bytes(changed)
    with pytest.raises(RuntimeError, match="overflows"):
        files.load_gguf(tmp_path / "x")


def test_gguf_quantised(tmp_path):
    data = make_samples.gguf_bytes()
    # x becomes one block row of Q4_0: 32 numbers in 18 bytes.
    old = struct.pack("<IQQIQ", 2, 3, 2, 0, 0)
    changed = data.replace(old, struct.pack("<IQQIQ", 2, 32, 1, 2, 0))
    assert changed != data
    (tmp_path / "x").write_bytes(changed)
    with pytest.raises(NotImplementedError, match="Q4_0"):
        files.load_gguf(tmp_path / "x")
    assert files.inspect(tmp_path / "x")["tensors"][0] == {"name": "x", "dtype": "Q4_0", "shape": [1, 32], "bytes": 18}
