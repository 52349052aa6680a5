"""inspect and convert, as functions and as commands."""

import json

import make_samples
import pytest
import strided as torch
from strided import files
from strided.__main__ import main

S = make_samples.SAMPLES


def test_inspect():
    found = files.inspect(S / "dict.pt")
    assert found["format"] == "pytorch" and found["metadata"] == {"step": 3}
    assert found["tensors"] == [
        {"name": "weight", "dtype": "float32", "shape": [2, 3], "bytes": 24},
        {"name": "view", "dtype": "float32", "shape": [2, 2], "bytes": 16, "strides": [1, 3], "offset": 1,
         "shares": "weight"},
        {"name": "half", "dtype": "float16", "shape": [2], "bytes": 4},
    ]  # fmt: skip
    found = files.inspect(S / "three.safetensors", stats=True)
    assert found["format"] == "safetensors" and found["metadata"] == {"made by": "safetensors"}
    b = next(row for row in found["tensors"] if row["name"] == "b")
    assert (b["min"], b["max"], b["mean"]) == (0, 5, 2.5)


@pytest.mark.parametrize("path", sorted(S.iterdir()), ids=lambda p: p.name)
def test_inspect_every_sample(path, capsys):
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert main(["inspect", str(path), "--json", "--stats"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert text.startswith(found["format"]) and all(row["name"] in text for row in found["tensors"])
    assert found["bytes"] == path.stat().st_size


def test_inspect_does_not_read_the_numbers(tmp_path):
    """A file of 16 GB, of which only the header has been written."""
    header = b'{"x":{"dtype":"F32","shape":[4294967296],"data_offsets":[0,17179869184]}}'
    with open(tmp_path / "x.safetensors", "wb") as f:
        f.write(len(header).to_bytes(8, "little") + header)
        f.truncate(8 + len(header) + 2**34)
    assert files.inspect(tmp_path / "x.safetensors")["tensors"][0]["bytes"] == 2**34


def test_not_finite(tmp_path):
    torch.save(torch.tensor([1.0, float("nan"), float("inf")]), tmp_path / "x.pt")
    assert files.inspect(tmp_path / "x.pt", stats=True)["tensors"][0]["not_finite"] == 2


@pytest.mark.parametrize("target", ["x.pt", "x.safetensors", "x.npz"])
@pytest.mark.parametrize("source", ["dict.pt", "three.safetensors", "two.npz", "two.gguf", "fortran.npy"])
def test_convert(source, target, tmp_path, capsys):
    to = tmp_path / target
    assert main(["convert", str(S / source), str(to)]) == 0
    left_out = capsys.readouterr().err
    readers = {"x.pt": torch.load, "x.safetensors": files.load_file, "x.npz": files.load_npz}
    found = {name: t.tolist() for name, t in readers[target](to).items()}
    expected = make_samples.EXPECTED[source]
    expected = expected if isinstance(expected, dict) else {"array": expected}
    assert found == {name: value for name, value in expected.items() if name != "step"}
    assert ("left out: step" in left_out) == (source == "dict.pt")


def test_errors(tmp_path, capsys):
    (tmp_path / "x.bin").write_bytes(b"rubbish")
    assert main(["inspect", str(tmp_path / "x.bin")]) == 1
    assert "no format that is known" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "none")]) == 1
    assert "FileNotFoundError" in capsys.readouterr().err
    assert main(["convert", str(S / "dict.pt"), str(tmp_path / "x.npy")]) == 1
    assert "holds one tensor" in capsys.readouterr().err
    assert main(["convert", str(S / "dict.pt"), str(tmp_path / "x.txt")]) == 1
    assert "must end in" in capsys.readouterr().err
