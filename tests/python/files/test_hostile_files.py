"""Hostile files: each raises one error, at once, with little memory, and nothing is run."""

import io
import os
import pickle
import resource
import struct
import sys
import zipfile
import zlib

import pytest
import strided as torch
from strided import files

REFUSED = (RuntimeError, pickle.UnpicklingError, ValueError)


def archive(pickled, storages=(), **entries):
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        for k, data in enumerate(storages):
            z.writestr(f"archive/data/{k}", data)
        for name, data in entries.items():
            z.writestr(name, data)
    f.seek(0)
    return f


def refused(data, match=None, error=REFUSED):
    f = data if hasattr(data, "read") else io.BytesIO(data)
    with pytest.raises(error, match=match):
        torch.load(f)


class Runs:
    """A pickle of it would run a command, if somebody let it."""

    def __init__(self, function, *args):
        self.reduced = function, args

    def __reduce__(self):
        return self.reduced


def canary(tmp_path):
    return tmp_path / "code has run"


CALLS = [
    lambda c: Runs(os.system, f"touch {c}"),
    lambda c: Runs(eval, f"open({str(c)!r}, 'w')"),
    lambda c: Runs(exec, f"open({str(c)!r}, 'w')"),
    lambda c: Runs(open, str(c), "w"),
    lambda c: Runs(getattr, "", "format"),
    lambda c: Runs(__import__, "antigravity"),
    lambda c: Runs(map, os.system, [f"touch {c}"]),
    lambda c: {Runs(os.mkdir, str(c)): 1},
    lambda c: [torch.Size, os.system],
    lambda c: Runs(type, "X", (), {}),
    lambda c: Runs(pickle.loads, pickle.dumps(Runs(os.mkdir, str(c)))),
    lambda c: pytest.raises,
]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("k", range(len(CALLS)))
def test_code_is_not_run(k, protocol, tmp_path):
    data = pickle.dumps(CALLS[k](canary(tmp_path)), protocol)
    refused(archive(data), "Unsupported global", pickle.UnpicklingError)
    refused(b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\2M\xe9\x03." + data)
    assert not canary(tmp_path).exists()


FLOAT = b"ctorch\nFloatStorage\n"
STORAGE = b"(X\7\0\0\0storage" + FLOAT + b"X\1\0\0\0" + b"0X\3\0\0\0cpu%stQ"
REBUILD = b"\x80\2ctorch._utils\n_rebuild_tensor_v2\n("


def tensor(size=b"K\1\x85", stride=b"K\1\x85", offset=b"K\0", elements=b"K\1", storage=None):
    pid = STORAGE % elements if storage is None else storage
    return REBUILD + pid + offset + size + stride + b"\x89ccollections\nOrderedDict\n)RtR."


HUGE = b"\x8a\x08" + struct.pack("<q", 2**62)
TENSORS = {
    "larger than the storage": tensor(size=b"K\2\x85"),
    "offset behind the end": tensor(offset=b"K\1"),
    "negative offset": tensor(offset=b"J\xff\xff\xff\xff"),
    "huge offset": tensor(offset=HUGE),
    "negative size": tensor(size=b"J\xff\xff\xff\xff\x85"),
    "size that overflows": tensor(size=HUGE + HUGE + b"\x86", stride=b"K\0K\0\x86"),
    "stride that overflows": tensor(size=b"K\2K\2\x86", stride=HUGE + HUGE + b"\x86"),
    "negative stride": tensor(stride=b"J\xff\xff\xff\xff\x85"),
    "more strides than sizes": tensor(stride=b"K\1K\1\x86"),
    "65 axes": tensor(size=b"(" + b"K\1" * 65 + b"t", stride=b"(" + b"K\1" * 65 + b"t"),
    "size of floats": tensor(size=b"G?\xf0\0\0\0\0\0\0\x85"),
    "size that is no tuple": tensor(size=b"K\1"),
    "offset of bool": tensor(offset=b"\x88"),
    "storage longer than the file": tensor(elements=HUGE),
    "storage shorter than the file": tensor(elements=b"K\0"),
    "negative storage": tensor(elements=b"J\xff\xff\xff\xff"),
    "no storage": tensor(storage=b"K\1"),
    "storage of another kind": tensor(storage=STORAGE.replace(FLOAT, b"ctorch\nfloat32\n") % b"K\1"),
    "missing storage": tensor(storage=STORAGE.replace(b"\x000X", b"\x009X") % b"K\1"),
    "no arguments": b"\x80\2ctorch._utils\n_rebuild_tensor_v2\n)R.",
    "hooks": REBUILD + STORAGE % b"K\1" + b"K\0K\1\x85K\1\x85\x89}K\1K\1stR.",
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name):
    assert torch.load(archive(tensor(), [b"\0" * 4])).tolist() == [0]
    refused(archive(TENSORS[name], [b"\0" * 4]))


PICKLES = {
    "nothing": b"",
    "only a stop": b".",
    "two objects": b"K\1K\2.",
    "a mark left": b"(K\1.",
    "pop of nothing": b"0.",
    "pop to no mark": b"1.",
    "tuple of too little": b"K\1\x87.",
    "no end": b"\x80\2K\1",
    "unknown protocol": b"\x80\x09K\1.",
    "unknown opcode": b"\xff.",
    "huge text": b"X\xff\xff\xff\xffabc.",
    "huge text of 8 bytes": b"\x8d" + b"\xff" * 8 + b".",
    "huge bytes": b"\x8e" + b"\x7f" * 8 + b".",
    "huge bytearray": b"\x96" + b"\x7f" * 8 + b".",
    "huge integer": b"\x8b\xff\xff\xff\x7f.",
    "negative integer": b"\x8b\xff\xff\xff\xff.",
    "huge memo": b"K\1r\xff\xff\xff\xff.",
    "memo of decimals": b"K\1p99999999999999999999\n.",
    "negative memo": b"K\1p-1\n.",
    "unset memo": b"h\5.",
    "many digits": b"I" + b"9" * 100000 + b"\n.",
    "no digits": b"Iabc\n.",
    "no float": b"Fabc\n.",
    "not UTF-8": b"X\2\0\0\0\xff\xfe.",
    "unquoted text": b"Sabc\n.",
    "wrong escape": b"V\\u12\n.",
    "unhashable key": b"}]K\1s.",
    "unhashable element": b"\x8f(]\x90.",
    "odd items": b"}(K\1u.",
    "items of a number": b"K\1(K\2K\3u.",
    "append to a number": b"K\1K\2a.",
    "append to a tuple": b")K\2a.",
    "elements of a list": b"](K\1\x90.",
    "call of a number": b"K\1)R.",
    "call of a text": b"X\2\0\0\0os)R.",
    "call of a dtype": b"ctorch\nfloat32\n)R.",
    "call of a storage": b"ctorch\nFloatStorage\n)R.",
    "call with a list": b"ccollections\nOrderedDict\n]R.",
    "class of a number": b"K\1)\x81.",
    "state of a number": b"K\1}b.",
    "state of a list": b"]}b.",
    "state that is no dictionary": b"ccollections\nOrderedDict\n)RK\1b.",
    "persistent text": b"Pabc\n.",
    "persistent number": b"K\1Q.",
    "extension": b"\x82\1.",
    "instance": b"(i__main__\nX\n.",
    "object": b"(c__main__\nX\no.",
    "global without a name": b"\x93.",
    "global of numbers": b"K\1K\2\x93.",
    "global that is no text": b"X\2\0\0\0\xff\xffX\1\0\0\0a\x93.",
    "global with foreign bytes": b"c\xff\xfe\n\xff\n.",
    "global that goes on after a zero": b"ccollections\nOrderedDict\0x\n)R.",
    "global that does not end": b"cos",
    "function as a value": b"ctorch._utils\n_rebuild_tensor_v2\n.",
    "device that is none": b"ctorch\ndevice\nX\1\0\0\0x\x85R.",
    "size of texts": b"ctorch\nSize\nX\1\0\0\0x\x85R.",
    "complex of texts": b"c__builtin__\ncomplex\nX\1\0\0\0xX\1\0\0\0x\x86R.",
    "bytes in another code": b"c_codecs\nencode\nX\1\0\0\0xX\5\0\0\0rot13\x86R.",
    "array of objects": b"cnumpy\ndtype\nX\1\0\0\0OK\0K\1\x87R.",
    "array too short": pickle.dumps(memoryview(b"").tobytes()).replace(b"C", b"\xff"),
    "buffer": b"\x97.",
}


@pytest.mark.parametrize("name", PICKLES)
def test_pickles(name):
    refused(archive(PICKLES[name]), error=pickle.UnpicklingError)


def test_deep_pickles():
    """Nesting takes no stack, also where objects are hashed or freed."""
    n = 300000
    x = torch.load(archive(b"\x80\2" + b"]" * n + b"a" * (n - 1) + b"."))
    assert type(x) is list
    del x
    assert type(torch.load(archive(b")" + b"\x85" * n + b"."))) is tuple
    refused(archive(b"}" + b")" + b"\x85" * n + b"K\1s."), "nested too deeply", pickle.UnpicklingError)
    refused(archive(b"\x8f()" + b"\x85" * n + b"\x90."), "nested too deeply", pickle.UnpicklingError)
    # A tuple of two times the one before: its hash would take 2**200 steps.
    doubled = b"}K\1\x85" + b"".join(b"q\x002h\x00\x86" if k else b"q\0h\0\x86" for k in range(60)) + b"K\1s."
    refused(archive(doubled), error=pickle.UnpicklingError)


def test_long_integers_as_keys():
    """Integers with one hash can be chosen; a dictionary of many takes its square in time."""
    keys = b"".join(b"\x8a\x0c" + ((2**61 - 1) * (k + 2**20)).to_bytes(12, "little") + b"N" for k in range(1000))
    refused(archive(b"}(" + keys + b"u."), "more than 64 bits", pickle.UnpicklingError)


# ---------------------------------------------------------------- archives


def good():
    f = io.BytesIO()
    torch.save({"x": torch.arange(20.0), "y": [torch.ones(3), "text"]}, f)
    return f.getvalue()


def test_every_truncation():
    data = good()
    for n in range(1, len(data)):
        refused(data[:n])


def test_every_byte_turned_around():
    """A file with one wrong byte is refused, or is the same object: padding and dates say nothing."""
    data = good()
    expected = repr(torch.load(io.BytesIO(data)))
    for k in range(len(data)):
        broken = data[:k] + bytes([data[k] ^ 0xFF]) + data[k + 1 :]
        try:
            assert repr(torch.load(io.BytesIO(broken))) == expected, k
        except REFUSED:
            pass


NAMES = ["../data", "/etc/passwd", "a/../../b", "a\\..\\b", "C:evil", "a/..", ".."]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_outside(name):
    refused(archive(b"N.", **{name: b""}), "leads out of the archive")


def test_two_entries_of_one_name():
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z, pytest.warns(UserWarning):
        z.writestr("archive/data.pkl", b"N.")
        z.writestr("archive/data.pkl", b"K\1.")
    refused(f.getvalue(), "two entries are called")


def test_overlapping_entries():
    """The quoted-overlap bomb: many rows of the directory name one entry."""
    data = archive(b"N.", [b"\0" * 1000]).getvalue()
    end = data.rindex(b"PK\5\6")
    begin, size = struct.unpack("<I", data[end + 16 : end + 20])[0], struct.unpack("<I", data[end + 12 : end + 16])[0]
    rows = data[begin : begin + size]
    last = rows[rows.rindex(b"PK\1\2") :]
    many = rows + b"".join(last.replace(b"data/0", b"data/%d" % k) for k in range(1, 9))
    count = struct.pack("<HH", 10, 10)
    bomb = data[:begin] + many + data[end : end + 8] + count + struct.pack("<I", len(many)) + data[end + 16 :]
    refused(bomb, "overlaps")


def test_expansion():
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", b"N.")
        z.writestr("archive/data/0", b"\0" * 1234567)
    data = f.getvalue().replace(struct.pack("<I", 1234567), struct.pack("<I", 2**31 - 1))
    refused(data, "more than a hundred times")
    with pytest.raises(RuntimeError, match="more than a hundred times"):
        files.load_npz(io.BytesIO(data))


def deflated(content, size):
    """An archive whose compressed pickle says that it has another size."""
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = machine.compress(content) + machine.flush()
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("archive/data.pkl", packed)
    data = f.getvalue()
    old = struct.pack("<II", len(packed), len(packed))
    data = data.replace(old, struct.pack("<II", len(packed), size))
    return data.replace(b"\x14\0\0\0\0\0", b"\x14\0\0\0\x08\0")


def test_sizes_that_are_wrong():
    refused(deflated(b"N.", 1), "does not have")
    refused(deflated(b"N.", 3), "does not have")
    refused(deflated(b"\0" * 2**22, 100), "does not have")


def test_other_archives():
    refused(archive(b"N.", **{"archive/constants.pkl": b""}), "TorchScript")
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("x.npy", b"")
    refused(f.getvalue(), "no data.pkl")
    refused(b"\0" * 257 + b"ustar" + b"\0" * 250, "tar archive")
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w", zipfile.ZIP_BZIP2) as z:
        z.writestr("archive/data.pkl", b"N.")
    refused(f.getvalue(), "compressed by method 12")


def test_streams():
    f = io.BytesIO()
    torch.save([torch.ones(5), torch.arange(3)], f, _use_new_zipfile_serialization=False)
    data = f.getvalue()
    for n in range(1, len(data)):
        refused(data[:n])
    huge = data.replace(b"K\5Nt", b"J\xff\xff\xff\x7fNt")
    assert huge != data
    refused(huge, "larger than the file")


@pytest.mark.parametrize("kind", [int, bool])
def test_numbers_are_no_files(kind, tmp_path):
    """The number of a descriptor of this process is neither read nor written to."""
    x = torch.arange(3.0)
    path = tmp_path / "file"
    path.write_bytes(b"before")
    fd = os.open(path, os.O_RDWR)
    try:
        number = fd if kind is int else True
        calls = [lambda: files.save_npy(number, x), lambda: files.save_npz(number, {"x": x})]
        for call in [*calls, lambda: files.load_npy(number), lambda: files.load_npz(number)]:
            with pytest.raises(TypeError, match=f"a path or a file object is required, not {kind.__name__}"):
                call()
    finally:
        os.close(fd)
    assert path.read_bytes() == b"before"


def test_little_memory(tmp_path):
    """Whatever a file claims, the memory that reading it takes is about its size."""
    claims = [
        archive(tensor(elements=b"J\xff\xff\xff\x7f"), [b"\0" * 4]).getvalue(),
        archive(b"\x8e" + struct.pack("<Q", 2**33) + b".").getvalue(),
        struct.pack("<Q", 99_000_000) + b"{" * 100,
        b"GGUF" + struct.pack("<IQQ", 3, 2**40, 2**40),
        b"\x93NUMPY\2\0\xff\xff\xff\x7f" + b" " * 100,
        b"\x93NUMPY\1\0\x76\0{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(128),
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k, data in enumerate(claims):
        (tmp_path / "x").write_bytes(data)
        reader = [torch.load, torch.load, files.load_file, files.load_gguf, files.load_npy, files.load_npy][k]
        with pytest.raises(REFUSED):
            reader(tmp_path / "x")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000 * (
        1024 if sys.platform == "darwin" else 1
    )
