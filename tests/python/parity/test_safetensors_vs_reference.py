"""safetensors beside the package of that name: the same bytes are written, and whatever it refuses is refused here."""

import random
import struct
import sys
from pathlib import Path

import pytest
import strided
from strided import files

torch = pytest.importorskip("torch")
reference = pytest.importorskip("safetensors.torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "files"))
import file_fuzzing  # noqa: E402
import test_safetensors  # noqa: E402

DTYPES = [d for d in test_safetensors.SUPPORTED if hasattr(torch, str(d).removeprefix("torch."))]


def made(lib):
    found = {}
    for k, dtype in enumerate(DTYPES):
        shape = [(), (3,), (2, 0), (2, 3, 4)][k % 4]
        count = [1, 3, 0, 24][k % 4]
        found[f"{k % 7} {dtype}"] = lib.arange(count).reshape(shape).to(getattr(lib, str(dtype).removeprefix("torch.")))
    return {**found, "ü": lib.ones(2), 'quote "': lib.ones(1)}


@pytest.mark.parametrize("metadata", [None, {"made by": 'a "test" ü'}])
def test_same_bytes(metadata):
    assert files.save(made(strided), metadata) == reference.save(made(torch), metadata)


def test_same_tensors(tmp_path):
    reference.save_file(made(torch), tmp_path / "x")
    theirs, ours = reference.load_file(tmp_path / "x"), files.load_file(tmp_path / "x")
    assert list(ours) == sorted(theirs)
    for name, t in ours.items():
        assert str(t.dtype) == str(theirs[name].dtype) and t.tolist() == theirs[name].tolist()


def accepted_by_reference(data):
    try:
        reference.load(data)
    except Exception:
        return False
    return True


def accepted_here(data):
    try:
        files.load(data)
    except NotImplementedError:
        return True  # a good file with a dtype that strided has not
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", test_safetensors.BAD)
def test_bad_files(name):
    assert not accepted_here(test_safetensors.BAD[name])


def test_changed_files():
    """Random changes of headers: nothing is read here that the reference refuses."""
    rng = random.Random(0)
    corpus = [reference.save({"a": torch.ones(2), "bb": torch.arange(3)}, {"k": "v"}), reference.save(made(torch))]
    both = looser = 0
    for _ in range(4000):
        data = file_fuzzing.changed(rng, rng.choice(corpus), corpus)
        if len(data) > 8 and rng.random() < 0.5:  # a length that fits again
            end = data.rfind(b"}") + 1
            data = struct.pack("<Q", max(end - 8, 0)) + data[8:]
        ours, theirs = accepted_here(data), accepted_by_reference(data)
        both += ours and theirs
        looser += ours and not theirs
    assert looser == 0 and both > 100
