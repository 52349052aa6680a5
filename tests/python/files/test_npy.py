"""NumPy's files, beside NumPy itself."""

import io

import numpy as np
import pytest
import strided as torch
from strided import files

CODES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()


def arrays(code):
    x = np.arange(24).reshape(2, 3, 4).astype(code)
    return [x, x.T, np.asfortranarray(x), x[0, 0, :1].reshape(()), x[:0], x[0], np.zeros((3, 0, 2), code)]


def written(array, version=None):
    f = io.BytesIO()
    np.lib.format.write_array(f, array, version)
    return f.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("code", CODES)
def test_reading(code, order, version, tmp_path):
    for array in arrays(np.dtype(code).newbyteorder(order)):
        data = written(array, version)
        (tmp_path / "x.npy").write_bytes(data)
        for t in (files.load_npy(io.BytesIO(data)), files.load_npy(tmp_path / "x.npy"),
                  files.load_npy(tmp_path / "x.npy", mmap=True)):  # fmt: skip
            assert t.numpy().dtype == array.dtype.newbyteorder("=") and np.array_equal(t.numpy(), array)
            if array.size:
                assert tuple(s * t.element_size() for s in t.stride()) == np.load(io.BytesIO(data)).strides


@pytest.mark.parametrize("code", CODES)
def test_writing_gives_the_bytes_of_numpy(code, tmp_path):
    for array in arrays(code):
        files.save_npy(tmp_path / "x.npy", torch.from_numpy(array))
        assert (tmp_path / "x.npy").read_bytes() == written(np.ascontiguousarray(array) if not (
            array.flags.c_contiguous or array.flags.f_contiguous) else array)  # fmt: skip
        f = io.BytesIO()
        files.save_npy(f, torch.from_numpy(array))
        assert f.getvalue() == (tmp_path / "x.npy").read_bytes()


def test_tensors_in_any_order(tmp_path):
    x = torch.arange(24).reshape(2, 3, 4)
    for t in (x[:, ::2], x.permute(1, 0, 2), x.expand(2, 2, 3, 4), torch.ones(2, requires_grad=True)):
        files.save_npy(tmp_path / "x.npy", t)
        assert np.load(tmp_path / "x.npy").tolist() == t.tolist()


@pytest.mark.parametrize("compressed", [False, True])
def test_npz(compressed, tmp_path):
    made = {"x": torch.arange(6).reshape(2, 3).t(), "deep/er": torch.ones(0), "y": torch.zeros(1000)}
    files.save_npz(tmp_path / "x.npz", made, compressed=compressed)
    theirs = np.load(tmp_path / "x.npz")
    assert {k: theirs[k].tolist() for k in theirs} == {k: t.tolist() for k, t in made.items()}
    (np.savez_compressed if compressed else np.savez)(tmp_path / "y.npz", **{k: t.numpy() for k, t in made.items()})
    for path in ("x.npz", "y.npz"):
        ours = files.load_npz(tmp_path / path)
        assert {k: t.tolist() for k, t in ours.items()} == {k: t.tolist() for k, t in made.items()}
    f = io.BytesIO()
    files.save_npz(f, made, compressed=compressed)
    assert f.getvalue() == (tmp_path / "x.npz").read_bytes()
    f.seek(0)
    assert files.load_npz(f).keys() == made.keys()


def with_header(text, version=1):
    text = text if isinstance(text, bytes) else text.encode("latin1")
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text


HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n",
    '{"shape": (2, ), "descr": "<f4", "fortran_order": False}   ',
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }",
]


@pytest.mark.parametrize("header", HEADERS)
def test_forms_of_headers(header):
    assert files.load_npy(io.BytesIO(with_header(header) + b"\0" * 8)).tolist() == [0, 0]


BAD = [
    b"", b"\x93NUMPY", b"\x93NUMPY\1\0", b"\x93NUMPY\4\0\0\0", b"NUMPY" * 10, with_header("{}"),
    with_header(HEADERS[0])[:20], b"\x93NUMPY\2\0" + b"\xff" * 20, with_header("x" * 20000), with_header("()"),
    with_header("{'descr': '<f4', 'fortran_order': False}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}"),
    with_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"),
    with_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': 2}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9223372036854775807)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775808)}"),
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}") + b"\0" * 8,
    with_header("{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}") + b"\0" * 8,
    with_header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}") + b"\0" * 16,
    with_header("{'descr': '<U1', 'fortran_order': False, 'shape': (2,)}") + b"\0" * 16,
    with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}") + b"\0" * 16,
    with_header("{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,)}") + b"\0" * 16,
    with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 70 + ")}") + b"\0" * 16,
    with_header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), '\xff': 1}", 3),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(BAD)))
def test_bad_files(k, tmp_path):
    (tmp_path / "x.npy").write_bytes(BAD[k])
    for load in (lambda: files.load_npy(io.BytesIO(BAD[k])), lambda: files.load_npy(tmp_path / "x.npy"),
                 lambda: files.load_npy(tmp_path / "x.npy", mmap=True)):  # fmt: skip
        with pytest.raises(ValueError, match="^npy: "):
            load()


def test_pickled_objects_are_refused():
    for array in (np.array([object()]), np.array(["text"]), np.array(["2020"], "M8[Y]")):
        f = io.BytesIO()
        np.save(f, array, allow_pickle=True)
        f.seek(0)
        with pytest.raises(ValueError, match="are not read"):
            files.load_npy(f)


def test_arguments(tmp_path):
    with pytest.raises(TypeError, match="no torch.bfloat16"):
        files.save_npy(tmp_path / "x.npy", torch.ones(1, dtype=torch.bfloat16))
    with pytest.raises(TypeError, match="a Tensor is required"):
        files.save_npy(tmp_path / "x.npy", [1])
    with pytest.raises(TypeError, match="tensors by name"):
        files.save_npz(tmp_path / "x.npz", {"x": [1]})
    with pytest.raises(ValueError, match="path to be mapped"):
        files.load_npy(io.BytesIO(), mmap=True)
    assert not list(tmp_path.iterdir())
    (tmp_path / "x.npz").write_bytes(b"PK\5\6" + b"\0" * 18)
    assert files.load_npz(tmp_path / "x.npz") == {}


def test_from_file(tmp_path):
    path = str(tmp_path / "numbers")
    t = torch.from_file(path, shared=True, size=3, dtype=torch.int16)
    t[1] = 5
    assert np.fromfile(path, np.int16).tolist() == [0, 5, 0]
    private = torch.from_file(path, size=2, dtype=torch.int16)
    private[0] = 9
    assert private.tolist() == [9, 5] and np.fromfile(path, np.int16).tolist() == [0, 5, 0]
    with pytest.raises(RuntimeError, match="ends too early"):
        torch.from_file(path, size=4, dtype=torch.int16)
    with pytest.raises(FileNotFoundError):
        torch.from_file(str(tmp_path / "none"), size=1)
    assert torch.from_file(path, size=0).tolist() == []
