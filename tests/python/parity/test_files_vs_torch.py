"""Files of PyTorch's are read, and PyTorch reads ours: the same objects, shapes, strides, offsets and bytes."""

import collections
import io
import pickle
import random

import numpy as np
import pytest
import strided

torch = pytest.importorskip("torch")
DTYPES = [d for d in strided._C.dtypes if hasattr(torch, str(d).removeprefix("torch."))]
FORMATS = [{}, {"_use_new_zipfile_serialization": False}]


def across(obj, writer, reader, **how):
    f = io.BytesIO()
    writer.save(obj, f, **how)
    f.seek(0)
    return reader.load(f, weights_only=True)


def same(a, b):
    """Whether a tensor of one library is the tensor of the other."""
    assert str(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape) and a.requires_grad == b.requires_grad
    assert a.stride() == b.stride() and a.storage_offset() == b.storage_offset()
    assert a.untyped_storage().nbytes() == b.untyped_storage().nbytes()
    if a.numel():
        assert repr(a.detach().tolist()) == repr(b.detach().tolist())
    return True


def views(lib, dtype):
    x = lib.arange(24).reshape(4, 6).to(dtype)
    return [x, x.t(), x[1:, ::2], x[2, 3], x[:0], x.expand(2, 4, 6), lib.empty(0, dtype=dtype)]


@pytest.mark.parametrize("how", FORMATS, ids=["zip", "stream"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided)], ids=["ours", "theirs"])
def test_tensors(writer, reader, dtype, how):
    made = views(writer, getattr(writer, str(dtype).removeprefix("torch.")))
    for a, b in zip(made, across(made, writer, reader, **how)):
        assert same(a, b)


def values(lib):
    ordered = collections.OrderedDict(weight=lib.ones(2), bias=3)
    ordered._metadata = {"": {"version": 1}}
    return [
        {"a": [1, 2.5, None, True, "ü", (1, (2, ())), {"b": 2**70}, -(2**33)], 3: 1j},
        ordered, collections.Counter("aab"), {1, "two"}, b"bytes\xff", b"", bytearray(b"array"),
        lib.Size([2, 3]), lib.float16, lib.int64, lib.device("cpu"), lib.device("cuda", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("k", range(len(values(strided))))
@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided)], ids=["ours", "theirs"])
def test_values(writer, reader, k):
    obj = values(writer)[k]
    if writer is torch and obj == b"" or (isinstance(obj, bytes) and obj == b""):
        pytest.skip("PyTorch writes b'' with a name that its weights_only refuses")
    back = across(obj, writer, reader)
    assert repr(back) == repr(obj) and type(back).__name__ == type(obj).__name__
    if isinstance(obj, collections.OrderedDict):
        assert back._metadata == obj._metadata


@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided)], ids=["ours", "theirs"])
def test_sharing_and_attributes(writer, reader):
    x = writer.arange(6.0)
    y = writer.ones(2, requires_grad=True)
    y.tag = "kept"
    a, b, c, d = across([x, x[2:], x, y], writer, reader)
    b[0] = 50
    assert a[2] == 50 and c is a and d.requires_grad and d.tag == "kept"


@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided)], ids=["ours", "theirs"])
def test_parameters(writer, reader):
    pytest.importorskip("strided.nn")
    p, q = writer.nn.Parameter(writer.ones(2)), writer.nn.Parameter(writer.ones(2), requires_grad=False)
    q.tag = 1
    a, b = across([p, q], writer, reader)
    assert type(a) is reader.nn.Parameter and a.requires_grad
    assert type(b) is reader.nn.Parameter and not b.requires_grad and b.tag == 1


def test_state_dict_of_a_model():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    ours = across(model.state_dict(), torch, strided)
    assert list(ours) == list(model.state_dict()) and ours._metadata == model.state_dict()._metadata
    model.load_state_dict(across(ours, strided, torch))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    back = across(across(optimizer.state_dict(), torch, strided), strided, torch)
    assert repr(back) == repr(optimizer.state_dict())


def test_lazy_bits_are_resolved():
    x = torch.tensor([1 + 2j, 3 - 4j])
    for lazy in (x.conj(), x.conj().imag):
        assert across(lazy, torch, strided).tolist() == lazy.tolist()


@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided)], ids=["ours", "theirs"])
def test_numpy(writer, reader):
    objects = [np.float32(1.5), np.arange(6).reshape(2, 3), np.dtype("f8")]
    f = io.BytesIO()
    writer.save(objects, f)
    f.seek(0)
    back = reader.load(f, weights_only=False)
    assert repr(back) == repr(objects)


def test_mmap(tmp_path):
    x = {"a": torch.arange(1000.0), "b": torch.ones(3, dtype=torch.bfloat16)}
    torch.save(x, tmp_path / "x.pt")
    ours = strided.load(tmp_path / "x.pt", mmap=True)
    strided.save(ours, tmp_path / "y.pt")
    theirs = torch.load(tmp_path / "y.pt", mmap=True)
    assert theirs["a"].equal(x["a"]) and theirs["b"].equal(x["b"])


def test_many_entries(tmp_path):
    """More than 65535 entries need the 64-bit form of the directory."""
    strided.save([strided.full((1,), k) for k in range(70000)], tmp_path / "x.pt")
    with pytest.MonkeyPatch.context():
        reader = torch._C.PyTorchFileReader(str(tmp_path / "x.pt"))
    assert len(reader.get_all_records()) == 70005
    assert reader.get_record("data/69999") == np.int64(69999).tobytes()


def test_without_checksums(tmp_path):
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(torch.ones(3), tmp_path / "x.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    assert strided.load(tmp_path / "x.pt").tolist() == [1, 1, 1]


class Thing:
    pass


def test_same_exceptions(tmp_path):
    for lib in (torch, strided):
        with pytest.raises(pickle.UnpicklingError):
            f = io.BytesIO()
            torch.save(Thing(), f)
            f.seek(0)
            lib.load(f)
        with pytest.raises(RuntimeError):
            lib.load(io.BytesIO(b"PK\3\4hello"))
        with pytest.raises(EOFError):
            lib.load(io.BytesIO())


def random_object(rng, lib, depth):
    kind = rng.randrange(8 if depth else 5)
    if kind < 2:
        shape = [rng.randrange(4) for _ in range(rng.randrange(4))]
        return lib.arange(int(np.prod(shape))).reshape(shape).to(rng.choice([lib.float32, lib.int16, lib.bool]))
    if kind == 2:
        return rng.choice([0, 1, -5, 2**40, 1.5, "text", None, True])
    if kind == 3:
        return str(rng.random())
    if kind == 4:
        return rng.random()
    children = [random_object(rng, lib, depth - 1) for _ in range(rng.randrange(5))]
    if kind == 5:
        return children
    if kind == 6:
        return tuple(children)
    return {str(k): child for k, child in enumerate(children)}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided)], ids=["ours", "theirs"])
def test_random_objects(writer, reader, seed):
    obj = random_object(random.Random(seed), writer, 4)
    assert repr(across(obj, writer, reader)) == repr(obj)


@pytest.mark.parametrize("how", FORMATS, ids=["zip", "stream"])
@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided), (strided, strided)])
def test_tensors_without_data(writer, reader, how):
    big = writer.nn.Linear(300000, 200000, device="meta").state_dict()
    turned = writer.empty(2, 3, dtype=writer.int16, device="meta").t()
    turned.note = "kept"
    parameter = writer.nn.Parameter(writer.empty(2, device="meta"))
    big, turned, parameter = across([big, turned, parameter], writer, reader, **how)
    assert tuple(big["weight"].shape) == (200000, 300000) and big["weight"].device.type == "meta"
    assert (turned.dtype, turned.stride(), turned.note) == (reader.int16, (1, 3), "kept")
    assert isinstance(parameter, reader.nn.Parameter) and parameter.requires_grad and parameter.is_meta


@pytest.mark.parametrize("how", FORMATS, ids=["zip", "stream"])
def test_a_file_that_is_still_open_has_been_written(tmp_path, how):
    with open(tmp_path / "open.pt", "wb") as f:
        strided.save(strided.ones(3), f, **how)
        assert torch.load(tmp_path / "open.pt").tolist() == [1, 1, 1]


def test_the_untyped_storage_of_a_typed_one():
    for t in (strided, torch):
        assert t.ones(3).storage()._untyped_storage.nbytes() == 12


def test_which_storage_it_is():
    for t in (strided, torch):
        x, empty = t.ones(3), t.empty(0)
        assert x.untyped_storage()._cdata == x[1:].untyped_storage()._cdata == x.view(3, 1).storage()._cdata
        assert len({y.untyped_storage()._cdata for y in (x, x.clone(), empty, t.empty(0))}) == 4


class StridedUnpickler(pickle.Unpickler):
    """pickle with strided in PyTorch's place."""

    def find_class(self, module, name):
        return super().find_class(
            "strided".join(module.split("torch", 1)) if module.startswith("torch") else module, name
        )


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6.0).view(2, 3)[:, 1:].t(),
        lambda: torch.ones(2, requires_grad=True),
        lambda: torch.ones(2, dtype=torch.bfloat16),
        lambda: torch.tensor([1, 2], dtype=torch.uint16),
        lambda: torch.tensor([1 + 2j]).conj(),
        lambda: torch.nn.Parameter(torch.ones(2)),
        lambda: torch.eye(2).to_sparse().coalesce(),
        lambda: torch.eye(2).to_sparse_csr(),
        lambda: torch.empty(2, 3, device="meta"),
        lambda: torch.arange(3).untyped_storage(),
        lambda: torch.arange(3).storage(),
        lambda: torch.strided,
    ],
)
def test_what_pickle_wrote_with_pytorch(make, protocol):
    expected = make()
    got = StridedUnpickler(io.BytesIO(pickle.dumps(expected, protocol))).load()
    if not isinstance(expected, torch.UntypedStorage):  # whose words name the module
        assert repr(got) == repr(expected)
    if isinstance(expected, torch.Tensor):
        assert got.dtype == getattr(strided, str(expected.dtype)[6:])
    elif hasattr(expected, "tolist"):
        assert got.tolist() == expected.tolist()


def test_attributes_of_what_pickle_wrote_with_pytorch():
    for made in (torch.ones(2), torch.nn.Parameter(torch.ones(2))):
        made.tag = [1]
        got = StridedUnpickler(io.BytesIO(pickle.dumps(made))).load()
        assert got.tag == [1] and repr(got) == repr(made)
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    got = StridedUnpickler(io.BytesIO(pickle.dumps(module))).load()
    assert repr(got) == repr(module)
    assert [p.tolist() for p in got.parameters()] == [p.tolist() for p in module.parameters()]


@pytest.mark.parametrize("writer, reader", [(strided, torch), (torch, strided)])
def test_tensors_of_classes_of_the_user(writer, reader):
    made = {}
    for lib in (strided, torch):
        made[lib] = type("Tagged", (lib.Tensor,), {"__module__": __name__})
        lib.serialization.add_safe_globals([made[lib]])
        globals()["Tagged"] = made[lib]
    try:
        globals()["Tagged"] = made[writer]
        x = writer.arange(6.0).reshape(2, 3).t().as_subclass(made[writer])
        x.tag = "text"
        f = io.BytesIO()
        writer.save([x, x], f)
        f.seek(0)
        again, twice = reader.load(f)
        assert type(again) is made[reader] and again is twice and again.tag == "text"
        assert again.stride() == (1, 3) and again.tolist() == x.tolist()
    finally:
        for lib in (strided, torch):
            lib.serialization.clear_safe_globals()
        del globals()["Tagged"]


@pytest.mark.parametrize("how", FORMATS, ids=["zip", "stream"])
@pytest.mark.parametrize(
    "place", [lambda t: "meta", lambda t: t.device("meta"), lambda t: {"cpu": "meta"}], ids=["name", "device", "dict"]
)
def test_tensors_go_to_the_meta_device(how, place):
    def shown(t):
        x = t.arange(6.0).view(2, 3)
        f = io.BytesIO()
        t.save({"x": x, "view": x.t()[1:], "parameter": t.nn.Parameter(x), "int": t.tensor(3)}, f, **how)
        f.seek(0)
        loaded = t.load(f, map_location=place(t))
        module = t.nn.Linear(3, 2)
        module.load_state_dict({"weight": loaded["x"], "bias": loaded["x"][:, 0]}, assign=True)
        return [
            (k, str(v.device), tuple(v.shape), v.stride(), v.storage_offset(), str(v.dtype), v.requires_grad)
            for k, v in [*loaded.items(), *module.named_parameters()]
        ]

    assert shown(strided) == shown(torch)
    assert strided.serialization.location_tag(strided.ones(1, device="meta").untyped_storage()) == "meta"
