"""save and load in PyTorch's format: what goes in comes out."""

import collections
import copy
import copyreg
import io
import os
import pickle
import struct
import threading
import zipfile

import numpy as np
import pytest
import strided as torch

S = torch.serialization


def trip(obj, **how):
    f = io.BytesIO()
    torch.save(obj, f, **how)
    f.seek(0)
    return torch.load(f)


FORMATS = [{}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 4}]


def random_tensor(dtype, shape=(2, 3)):
    return torch.arange(6).reshape(shape).to(dtype)


@pytest.mark.parametrize("how", FORMATS, ids=["zip", "stream", "protocol4"])
@pytest.mark.parametrize("dtype", torch._C.dtypes, ids=str)
def test_every_dtype(dtype, how):
    x = random_tensor(dtype)
    for t in (x, x.t(), x[1], x[:, ::2], x[0, 1], x[:0], x.expand(4, 2, 3)):
        y = trip(t, **how)
        assert (y.dtype, y.shape, y.stride(), y.storage_offset()) == (t.dtype, t.shape, t.stride(), t.storage_offset())
        assert y.tolist() == t.tolist()
        assert y.untyped_storage().nbytes() == t.untyped_storage().nbytes()


VALUES = [
    None, True, 0, 255, 256, 65535, 65536, -1, 2**31 - 1, -(2**31), 2**31, -(2**40), 2**63, -(2**63) - 1, 2**500,
    2**3000, 1.5, float("inf"), 1j, complex(-0.0, 2), "", "text", "ü\U0001f600", "\ud800", "x" * 300, b"",
    b"\0\xff" * 200, bytearray(b"ab"), (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1, [2]], {},
    {1: 2, "a": None, (1, "b"): 3.0}, set(), {1, "a"}, frozenset([1, (2, 3)]), collections.OrderedDict(b=1, a=2),
    collections.Counter("aab"), torch.Size([2, 0]), torch.Size([]), torch.float32, torch.bfloat16,
    torch.device("cpu"), torch.device("cuda", 1), np.float64(1.5), np.int8(-1), np.complex64(1j), np.bool_(True),
    np.dtype(">f4"),
]  # fmt: skip


@pytest.mark.parametrize("how", FORMATS, ids=["zip", "stream", "protocol4"])
@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(sorted(v, key=str) if isinstance(v, set) else v)[:30])
def test_values(value, how):
    back = trip(value, **how)
    assert type(back) is type(value) and back == value
    assert isinstance(value, (set, frozenset)) or repr(back) == repr(value)  # a set's order follows from its past
    twice = trip([value, {"key": value}], **how)
    assert twice == [value, {"key": value}]


def test_arrays():
    for array in (np.arange(6, dtype=">i2").reshape(2, 3), np.array(1.5), np.zeros((0, 3)), np.array([[1j]]).T):
        back = trip(array)
        # (NumPy brings the numbers of its pickles into the machine's byte order.)
        assert (
            back.dtype == array.dtype.newbyteorder("=")
            and back.shape == array.shape
            and back.tolist() == array.tolist()
        )


def test_sharing():
    x = torch.arange(6.0)
    a, b, c, d = trip([x, x[2:4], x, x.view(2, 3).t()])
    assert c is a
    b[0] = 50
    assert a[2] == 50 and d[2, 0] == 50
    d = {"a": x}
    first, second = trip([d, d])
    assert first is second


def test_cycles():
    x = [1]
    x.append((x, {"x": x}))
    y = trip(x)
    assert y[1][0] is y and y[1][1]["x"] is y


def test_requires_grad():
    x = torch.ones(2, requires_grad=True)
    y, z = trip([x, x * 2])
    assert y.requires_grad and z.requires_grad and y.is_leaf and z.is_leaf


def test_attributes():
    x = torch.ones(2)
    x.tag = "a"
    y = trip(x)
    assert y.tag == "a" and y.tolist() == [1, 1]
    d = collections.OrderedDict(a=1)
    d._metadata = {"version": 1}
    assert trip(d)._metadata == {"version": 1}


def test_parameters():
    nn = pytest.importorskip("strided.nn")
    p = nn.Parameter(torch.ones(2), requires_grad=False)
    q = nn.Parameter(torch.ones(3))
    q.tag = 3
    a, b, c = trip([p, q, q])
    assert type(a) is nn.Parameter and not a.requires_grad
    assert type(b) is nn.Parameter and b.requires_grad and b.tag == 3 and c is b


def test_storages():
    x = torch.arange(3.0)
    y, typed, untyped, (inner,) = trip([x, x.storage(), x.untyped_storage(), (x.storage(),)])
    assert isinstance(untyped, torch.UntypedStorage)
    assert isinstance(typed, torch.FloatStorage) and isinstance(inner, torch.FloatStorage)
    assert typed.data_ptr() == y.data_ptr() == untyped.data_ptr() == inner.data_ptr()


def test_one_storage_as_two_types():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        trip([x, x.view(torch.int32)])


def test_negative_strides_become_copies():
    x = torch.from_numpy(np.arange(4.0)[::-1])
    assert trip(x).tolist() == [3, 2, 1, 0] and trip(x).stride() == (1,)


def test_several_in_one_stream():
    f = io.BytesIO()
    for k in range(3):
        torch.save(torch.full((2,), k), f, _use_new_zipfile_serialization=False)
    f.seek(0)
    assert [torch.load(f).tolist() for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]


def test_archive_behind_other_bytes():
    f = io.BytesIO(b"header")
    f.seek(6)
    torch.save(torch.ones(2), f)
    f.seek(6)
    assert torch.load(f).tolist() == [1, 1]


def test_files_and_paths(tmp_path):
    path = tmp_path / "a b.pt"
    x = torch.arange(300000.0)
    torch.save(x, path)
    assert torch.load(str(path)).equal(x) and torch.load(os.fsencode(path)).equal(x)
    with open(path, "rb") as f:
        assert torch.load(f).equal(x)
    with open(path, "wb", buffering=0) as f:
        torch.save(x, f)
    assert torch.load(path).equal(x)
    assert zipfile.ZipFile(path).testzip() is None
    for name in zipfile.ZipFile(path).infolist():
        assert name.compress_type == 0


def test_contents_are_aligned(tmp_path):
    path = tmp_path / "x.pt"
    torch.save([torch.ones(n) for n in range(5)], path)
    for entry in torch.files._zip.Archive(path).entries:
        assert entry.begin % 64 == 0


def test_same_content_same_bytes(tmp_path):
    x = {"a": torch.ones(2), "b": [1, "b"]}
    torch.save(x, tmp_path / "x.pt")
    first = (tmp_path / "x.pt").read_bytes()
    torch.save(x, tmp_path / "x.pt")
    assert (tmp_path / "x.pt").read_bytes() == first


def test_mmap(tmp_path):
    path = tmp_path / "x.pt"
    x = torch.arange(1000.0)
    torch.save({"x": x, "y": x[3:], "z": torch.ones(0)}, path)
    d = torch.load(path, mmap=True)
    assert d["x"].equal(x) and d["y"].equal(x[3:])
    d["x"][3] = -1
    assert d["y"][0] == -1
    assert torch.load(path)["x"].equal(x)  # written to this process's copy only
    with S.set_default_mmap_options(__import__("mmap").MAP_SHARED):
        torch.load(path, mmap=True)["x"][3] = -2
    assert S.get_default_mmap_options() == 2
    with pytest.raises(RuntimeError, match="damaged"):  # the checksum was made before
        torch.load(path)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO(b"PK"), mmap=True)
    torch.save(x, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(path, mmap=True)


def with_place(place):
    """A file whose tensor was on another device."""
    f = io.BytesIO()
    torch.save(torch.arange(3.0), f)
    source, made = zipfile.ZipFile(f), io.BytesIO()
    with zipfile.ZipFile(made, "w") as z:
        for name in source.namelist():
            old = b"X\x03\0\0\0cpu"
            content = source.read(name).replace(old, b"X" + struct.pack("<I", len(place)) + place.encode())
            z.writestr(name, content)
    made.seek(0)
    return made


def test_map_location():
    places = []

    def place(storage, location):
        places.append((type(storage), location))
        return storage

    for location in ("cpu", torch.device("cpu"), {"cuda:7": "cpu"}, place):
        assert torch.load(with_place("cuda:7"), map_location=location).tolist() == [0, 1, 2]
    assert places == [(torch.UntypedStorage, "cuda:7")]
    assert torch.load(with_place("cpu"), map_location=lambda s, place: None).tolist() == [0, 1, 2]
    f = with_place("cpu")
    typed = torch.zeros(3).storage()
    assert torch.load(f, map_location=lambda s, place: typed).tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        torch.load(with_place("moon"))
    with pytest.raises(pickle.UnpicklingError, match="does not fit"):
        torch.load(with_place("cpu"), map_location=lambda s, place: torch.zeros(1).untyped_storage())
    with pytest.raises(TypeError, match="'int' object is not callable"):
        torch.load(with_place("cpu"), map_location=3)
    with pytest.raises(TypeError, match="must give a storage"):
        torch.load(with_place("cpu"), map_location=lambda s, place: 3)


def test_no_cuda_here(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but"):
        torch.load(with_place("cuda:7"))


def test_register_package():
    before = list(S._packages)
    S.register_package(5, lambda s: None, lambda s, place: s if place == "moon" else None)
    try:
        assert torch.load(with_place("moon")).tolist() == [0, 1, 2]
    finally:
        S._packages[:] = before


class Point:
    def __init__(self, x):
        self.x = x


def test_arrays_where_their_class_is_allowed():
    for allowed in ([], [np.ndarray]):
        with S.safe_globals(allowed):
            loaded = trip({"array": np.arange(3), "class": np.ndarray})
        assert loaded["array"].tolist() == [0, 1, 2] and loaded["class"] is np.ndarray


def test_safe_globals():
    point = Point(torch.ones(2))
    with pytest.raises(pickle.PicklingError, match=r"Point.*add_safe_globals"):
        trip(point)
    with S.safe_globals([Point]):
        f = io.BytesIO()
        torch.save([point, point, Point], f)
        a, b, cls = trip([point, point, Point])
        assert type(a) is Point and a is b and a.x.tolist() == [1, 1] and cls is Point
        assert S.get_safe_globals() == [Point]
    assert S.get_safe_globals() == []
    assert S.get_unsafe_globals_in_checkpoint(f) == [f"{__name__}.Point"]
    f.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: .*Point"):
        torch.load(f)
    with S.safe_globals([(Point, "elsewhere.Point")]):
        assert S.get_safe_globals() == [(Point, "elsewhere.Point")]


class Odd:
    """What its own ``__reduce_ex__`` gives cannot be written."""

    def __init__(self, x):
        self.x, self.lock = x, threading.Lock()


def test_registered_reducers_go_first():
    copyreg.pickle(Odd, lambda odd: (Odd, (odd.x,)))
    try:
        with S.safe_globals([Odd]):
            assert trip(Odd(torch.ones(2))).x.tolist() == [1, 1]
    finally:
        del copyreg.dispatch_table[Odd]


def test_what_is_ours_has_the_names_of_pytorch_in_files():
    f = io.BytesIO()
    allowed = [torch.nn.functional.relu, torch.nn.Linear]
    with S.safe_globals(allowed):
        assert S.get_safe_globals() == allowed
        torch.save({"act": torch.nn.functional.relu, "kind": torch.nn.Linear}, f)
        f.seek(0)
        assert torch.load(f) == {"act": torch.nn.functional.relu, "kind": torch.nn.Linear}
    assert S.get_unsafe_globals_in_checkpoint(f) == ["torch.nn.functional.relu", "torch.nn.modules.linear.Linear"]


def test_one_error_names_everything():
    def local():
        pass

    with pytest.raises(pickle.PicklingError, match=r"Point.*local"):
        trip([Point(1), {"a": local}])
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("archive/data.pkl", pickle.dumps([Point(1), os.getcwd, collections.deque], protocol=4))
    f.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"Point.*getcwd.*collections\.deque"):
        torch.load(f)


def test_deep_nesting():
    deep = []
    for _ in range(100000):
        deep = [deep]
    with pytest.raises(RecursionError):
        trip(deep)


def test_arguments(tmp_path):
    x = torch.ones(2)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save(x, 5)
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(x, tmp_path / "no" / "x.pt")
    with pytest.raises(ValueError, match="pickle protocol must be <= 5"):
        torch.save(x, io.BytesIO(), pickle_protocol=6)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'seek'"):
        torch.load(5)
    with pytest.raises(EOFError):
        torch.load(io.BytesIO())
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(IsADirectoryError):
        torch.save(x, tmp_path)
    with pytest.raises(TypeError, match="binary mode"):
        torch.load(io.StringIO("text"))
    with pytest.raises(RuntimeError, match="Can not safely load weights"):
        torch.load(io.BytesIO(b"PK"), weights_only=True, pickle_module=pickle)


class Slow(io.RawIOBase):
    """A file that gives and takes few bytes at a time."""

    def __init__(self):
        self.inner = io.BytesIO()

    def write(self, data):
        return self.inner.write(bytes(data[:1000]))

    def read(self, n=-1):
        return self.inner.read(min(n, 1000) if n >= 0 else 1000)

    def seek(self, *where):
        return self.inner.seek(*where)

    def tell(self):
        return self.inner.tell()


def test_slow_file_objects():
    f, x = Slow(), torch.arange(2000.0)
    torch.save({"x": x, "text": "t" * 5000}, f)
    f.seek(0)
    assert torch.load(f)["x"].equal(x)


def test_kept_bytes_stay():
    class Kept:
        parts = []

        def write(self, data):
            self.parts.append(data)

    torch.save(torch.ones(1000000), Kept())
    assert torch.load(io.BytesIO(b"".join(Kept.parts))).sum() == 1000000


def test_repacked_archives(tmp_path):
    """`zip` compresses what it packs again."""
    f = io.BytesIO()
    torch.save({"a": torch.zeros(1000), "b": torch.arange(3)}, f)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for name in zipfile.ZipFile(f).namelist():
            z.writestr(name, zipfile.ZipFile(f).read(name))
    for mmap in (False, True):
        d = torch.load(tmp_path / "x.zip", mmap=mmap)
        assert d["a"].tolist() == [0] * 1000 and d["b"].tolist() == [0, 1, 2]


def test_other_byte_order():
    f, x = io.BytesIO(), torch.tensor([1 + 2j, -3.5])
    torch.save([x, torch.tensor([1, 2], dtype=torch.int16)], f)
    made = io.BytesIO()
    with zipfile.ZipFile(f) as old, zipfile.ZipFile(made, "w") as z:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("byteorder"):
                content = b"big"
            if name.endswith("data/0"):
                content = np.frombuffer(content, "<f4").astype(">f4").tobytes()
            if name.endswith("data/1"):
                content = np.frombuffer(content, "<i2").astype(">i2").tobytes()
            z.writestr(name, content)
    made.seek(0)
    a, b = torch.load(made)
    assert a.tolist() == x.tolist() and b.tolist() == [1, 2]


def test_checksums(tmp_path):
    S.set_crc32_options(False)
    try:
        torch.save(torch.ones(9), tmp_path / "x.pt")
    finally:
        S.set_crc32_options(True)
    assert {e.crc for e in torch.files._zip.Archive(tmp_path / "x.pt").entries} == {0}
    assert torch.load(tmp_path / "x.pt").sum() == 9


def test_crc32():
    import zlib

    crc = torch._C.functions["_crc32"]
    data = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8).tobytes()
    for begin in range(0, 20):
        for n in [*range(0, 200), 1000, 4980]:
            piece = data[begin : begin + n]
            assert crc(piece, 0) == zlib.crc32(piece)
    assert crc(data[100:], crc(data[:100], 0)) == zlib.crc32(data)


def test_words_of_python_2_that_stay_bytes():
    def word(text):
        return b"U" + bytes([len(text)]) + text

    storage = b"(" + word(b"storage") + b"ctorch\nFloatStorage\n" + word(b"7") + word(b"cpu") + b"K\x02NtQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00K\x02\x85K\x01\x85\x89NtR"
    stream = b"".join(
        [
            pickle.dumps(0x1950A86A20F9469CFC6C, 2),
            pickle.dumps(1001, 2),
            b"\x80\x02}(" + word(b"little_endian") + b"\x88u.",
            b"\x80\x02](" + word(b"\xc4\x85") + tensor + b"e.",
            b"\x80\x02](" + word(b"7") + b"e.",
            struct.pack("<q2f", 2, 1.0, -2.0),
        ]
    )
    for encoding, text in (("utf-8", "\u0105"), ("bytes", b"\xc4\x85")):
        got = torch.load(io.BytesIO(stream), encoding=encoding)
        assert got[0] == text and got[1].tolist() == [1, -2]
    with pytest.raises(pickle.UnpicklingError, match="byte order"):
        torch.load(io.BytesIO(stream.replace(b"\x88u.", b"\x89u.")), encoding="bytes")
    with pytest.raises(pickle.UnpicklingError, match="no storage"):
        torch.load(io.BytesIO(stream.replace(b"storage", b"st\xffrage")), encoding="bytes")


@pytest.mark.parametrize("archive", [True, False])
def test_an_empty_storage_is_saved_as_two_types(archive):
    x = torch.empty(0)
    other = torch.TypedStorage(wrap_storage=x.untyped_storage(), dtype=torch.int64)
    file = io.BytesIO()
    torch.save([x, other], file, _use_new_zipfile_serialization=archive)
    file.seek(0)
    got = torch.load(file)
    assert got[0].dtype is torch.float32 and got[1].dtype is torch.int64 and len(got[1]) == 0
    full = torch.ones(2)
    other = torch.TypedStorage(wrap_storage=full.untyped_storage(), dtype=torch.int64)
    with pytest.raises(RuntimeError, match="view the same data as different types: Float and Long"):
        torch.save([full, other], io.BytesIO())


def test_normalize_storage_type():
    assert S.normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
    assert S.normalize_storage_type(type(torch.ones(1).untyped_storage())) is torch.UntypedStorage


class Tagged(torch.Tensor):
    pass


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex128, torch.uint16, torch.bfloat16])
@pytest.mark.parametrize(
    "layout",
    [
        lambda t: t,
        lambda t: t.t(),
        lambda t: t[1:, ::2],
        lambda t: t[:1].expand(3, 4),
        lambda t: t[:0],
        lambda t: t[0, 0],
    ],
)
def test_tensors_of_allowed_classes(dtype, layout):
    base = torch.ones(4, 4).to(dtype)
    x = layout(base).as_subclass(Tagged)
    x.tag, x.other = "text", torch.ones(2)
    with pytest.raises(pickle.PicklingError, match=r"Tagged.*add_safe_globals"):
        trip(x)
    with S.safe_globals([Tagged]):
        again, twice, shared = trip([x, x, base])
    assert type(again) is Tagged and again is twice and again.equal(x) and again.dtype == dtype
    assert again.stride() == x.stride() and again.tag == "text" and again.other.tolist() == [1, 1]
    assert again.untyped_storage().data_ptr() == shared.untyped_storage().data_ptr()


def test_tensors_of_allowed_classes_are_leaves_and_may_lie_on_meta():
    x = torch.ones(2, requires_grad=True).as_subclass(Tagged)
    with S.safe_globals([Tagged]):
        again, meta = trip([x, torch.ones(2, 3, device="meta").as_subclass(Tagged)])
    assert again.requires_grad and again.is_leaf and type(meta) is Tagged and meta.is_meta and meta.shape == (2, 3)


class Slotted(torch.Tensor):
    __slots__ = ("held", "never")


class Spoken(torch.Tensor):
    def __getstate__(self):
        return ("said", self.word)

    def __setstate__(self, state):
        self.how, self.word = state


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, values):
        made = torch.Tensor._make_wrapper_subclass(cls, values.shape, strides=values.stride(), dtype=values.dtype)
        made.values = values
        return made

    def __init__(self, values):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        result = func(*[x.values if isinstance(x, cls) else x for x in args], **(kwargs or {}))
        return cls(result) if isinstance(result, torch.Tensor) else result


def of_classes():
    slotted = torch.ones(2, device="meta").as_subclass(Slotted)
    slotted.held, slotted.note = torch.arange(2), "attribute"
    spoken = torch.ones(3).as_subclass(Spoken)
    spoken.word = "word"
    wrapper = Wrapper(torch.arange(6.0).view(2, 3).t())
    wrapper.note = "wrapped"
    return slotted, spoken, wrapper


def check_classes(slotted, spoken, wrapper):
    assert type(slotted) is Slotted and slotted.is_meta and slotted.shape == (2,) and not hasattr(slotted, "never")
    assert slotted.held.tolist() == [0, 1] and slotted.note == "attribute"
    assert type(spoken) is Spoken and spoken.tolist() == [1, 1, 1] and spoken.word == "word"
    assert (
        type(wrapper) is Wrapper and wrapper.values.tolist() == [[0, 3], [1, 4], [2, 5]] and wrapper.note == "wrapped"
    )
    assert wrapper.shape == (3, 2) and wrapper.stride() == wrapper.values.stride()


@pytest.mark.parametrize("how", FORMATS)
def test_tensors_of_allowed_classes_with_slots_states_and_wrappers(how):
    with pytest.raises(pickle.PicklingError, match=r"Slotted"):
        trip(of_classes()[0])
    with S.safe_globals([Slotted, Spoken, Wrapper]):
        *found, _ = trip([*of_classes(), 1], **how)
        assert found[1].how == "said"
    check_classes(*found)


def test_tensors_of_classes_are_copied_and_pickled_with_all_they_hold():
    check_classes(*copy.deepcopy(of_classes()))
    check_classes(*pickle.loads(pickle.dumps(of_classes())))
    given = of_classes()[0]
    again = copy.copy(given)
    assert again.held is given.held and copy.deepcopy(given).held is not given.held


def test_a_file_fills_only_the_slots_of_a_class():
    x = torch.ones(2).as_subclass(Spoken)
    x.word = 1
    x.__class__.__getstate__, kept = (lambda self: ({}, {"data": torch.zeros(2)})), x.__class__.__getstate__
    reads = x.__class__.__setstate__
    del x.__class__.__setstate__
    try:
        with S.safe_globals([Spoken]), pytest.raises(pickle.UnpicklingError, match="no slot 'data'"):
            trip(x)
    finally:
        Spoken.__getstate__, Spoken.__setstate__ = kept, reads
