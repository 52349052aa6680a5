"""safetensors: what is written, what is read, and what is refused."""

import json
import struct

import pytest
import strided as torch
from strided import files


def file_of(header, data=b"", pad=True):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8) if pad else b""
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(1,), place=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(place)}


SUPPORTED = [dtype for dtype in torch._C.dtypes if dtype != torch.complex128]


def tensors():
    found = {str(dtype): torch.arange(6).reshape(2, 3).to(dtype) for dtype in SUPPORTED}
    return {**found, "empty": torch.ones(0, 3), "0-d": torch.tensor(1.5), "ü": torch.ones(2)}


def test_there_and_back(tmp_path):
    made = tensors()
    files.save_file(made, tmp_path / "x", {"made by": "a test"})
    assert (tmp_path / "x").read_bytes() == files.save(made, {"made by": "a test"})
    for back in (files.load_file(tmp_path / "x"), files.load(files.save(made)), files.load_file(tmp_path / "x", "cpu")):
        assert back.keys() == made.keys()
        for name, t in made.items():
            assert back[name].dtype == t.dtype and back[name].shape == t.shape and back[name].tolist() == t.tolist()


def test_safe_open(tmp_path):
    made = tensors()
    files.save_file(made, tmp_path / "x", {"a": "b"})
    with files.safe_open(tmp_path / "x", "pt", "cpu") as f:
        assert f.keys() == sorted(made) and f.metadata() == {"a": "b"} and set(f.offset_keys()) == made.keys()
        assert f.get_tensor("0-d").item() == 1.5
        part = f.get_slice("torch.float32")
        assert part.get_shape() == [2, 3] and part.get_dtype() == "F32"
        assert part[1:, ::2].tolist() == [[3, 5]] and part[0].untyped_storage().nbytes() == 12
        with pytest.raises(KeyError, match="File does not contain tensor none"):
            f.get_tensor("none")
    with pytest.raises(RuntimeError, match="closed"):
        f.get_tensor("0-d")
    with pytest.raises(RuntimeError, match="closed"):
        part[0]


def test_mapped_tensors_outlive_the_file(tmp_path):
    files.save_file({"x": torch.arange(1000.0)}, tmp_path / "x")
    x = files.load_file(tmp_path / "x")["x"]
    files.save_file({"x": torch.zeros(1000)}, tmp_path / "x")
    x[0] = 7
    assert x[999] == 999 and files.load_file(tmp_path / "x")["x"][0] == 0


def test_what_is_not_written(tmp_path):
    x = torch.arange(6.0)
    for bad, error in [
        ({"x": x, "y": x[2:]}, (RuntimeError, "share memory")),
        ({"x": x.view(2, 3).t()}, (ValueError, "non contiguous")),
        ({"x": x.to(torch.complex128)}, (ValueError, "no torch.complex128")),
        ({"x": 3}, (ValueError, "expected torch.Tensor")),
        ({3: x}, (TypeError, "names must be str")),
        ([x], (ValueError, "Expected a dict")),
    ]:
        with pytest.raises(error[0], match=error[1]):
            files.save_file(bad, tmp_path / "x")
        assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="metadata"):
        files.save_file({"x": x}, tmp_path / "x", {"a": 1})


FOUR = b"\0" * 4
BAD = {
    "empty": b"",
    "no header": b"\0" * 7,
    "header of 100 MB": struct.pack("<Q", 100_000_001) + b"{" * 50,
    "header beyond the end": struct.pack("<Q", 100) + b"{}",
    "huge header": struct.pack("<Q", 2**64 - 1) + b"{}",
    "no JSON": file_of(b"{abc}"),
    "not UTF-8": file_of(b'{"\xff": 1}'),
    "leading blank": file_of(b" {}"),
    "array": file_of(b"[]"),
    "NaN": file_of(b'{"x": NaN}'),
    "deep": file_of(b"{" + b'"a":{' * 100000, pad=False),
    "rubbish behind": file_of(b"{}x"),
    "same name twice": file_of(
        b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
        FOUR,
    ),
    "same key twice": file_of(b'{"x":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', FOUR),
    "gap before": file_of({"x": entry(place=(4, 8))}, FOUR * 2),
    "gap between": file_of({"x": entry(), "y": entry(place=(8, 12))}, FOUR * 3),
    "overlap": file_of({"x": entry(shape=(2,), place=(0, 8)), "y": entry(place=(4, 8))}, FOUR * 2),
    "same place": file_of({"x": entry(), "y": entry()}, FOUR),
    "bytes behind": file_of({"x": entry()}, FOUR * 2),
    "truncated": file_of({"x": entry()}, FOUR[:3]),
    "beyond the end": file_of({"x": entry(shape=(2,), place=(0, 8))}, FOUR),
    "backwards": file_of({"x": entry(place=(4, 0))}, FOUR),
    "shape differs": file_of({"x": entry(shape=(2,))}, FOUR),
    "shape overflows": file_of({"x": entry(shape=(2**62, 2**62, 4))}, FOUR),
    "shape wraps around": file_of({"x": entry(shape=(2**63, 2), place=(0, 0))}),
    "negative shape": file_of({"x": entry(shape=(-1,))}, FOUR),
    "shape of floats": file_of({"x": entry(shape=(1.0,))}, FOUR),
    "shape of bools": file_of(b'{"x":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}}', FOUR),
    "three offsets": file_of({"x": entry(place=(0, 4, 4))}, FOUR),
    "unknown dtype": file_of({"x": entry(dtype="F33")}, FOUR),
    "no dtype": file_of({"x": {"shape": [1], "data_offsets": [0, 4]}}, FOUR),
    "metadata of numbers": file_of({"__metadata__": {"a": 1}}),
    "half a byte": file_of({"x": entry(dtype="F4", shape=(1,), place=(0, 1))}, b"\0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name, tmp_path):
    (tmp_path / "x").write_bytes(BAD[name])
    with pytest.raises(RuntimeError, match="^safetensors: "):
        files.load_file(tmp_path / "x")
    with pytest.raises(RuntimeError, match="^safetensors: "):
        files.load(BAD[name])


def test_every_truncation():
    whole = files.save({"x": torch.ones(3), "y": torch.arange(2)})
    for n in range(len(whole)):
        with pytest.raises(RuntimeError, match="^safetensors: "):
            files.load(whole[:n])


def test_types_that_strided_has_not():
    data = file_of({"x": entry(dtype="F8_E8M0", shape=(4,))}, FOUR)
    with pytest.raises(NotImplementedError, match="F8_E8M0"):
        files.load(data)
