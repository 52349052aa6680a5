"""Typed storages: a tensor's memory as numbers."""

import contextlib
import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest
import strided as torch

CLASSES = {
    "float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "uint8": "ByteStorage", "int8": "CharStorage", "int16": "ShortStorage", "int32": "IntStorage",
    "int64": "LongStorage", "bool": "BoolStorage", "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage", "uint16": "UInt16Storage", "uint32": "UInt32Storage",
    "uint64": "UInt64Storage",
}  # fmt: skip


def test_text():
    def end(dtype, size):
        return f"[torch.storage.TypedStorage(dtype=torch.{dtype}, device=cpu) of size {size}]"

    assert str(torch.arange(3.0).storage()) == " 0.0\n 1.0\n 2.0\n" + end("float32", 3)
    assert repr(torch.tensor([True, False]).storage()) == " True\n False\n" + end("bool", 2)
    assert repr(torch.arange(2).storage()) == " 0\n 1\n" + end("int64", 2)


@pytest.mark.parametrize("name", CLASSES)
def test_class_of_each_dtype(name):
    dtype, cls = getattr(torch, name), getattr(torch, CLASSES[name])
    t = torch.ones(3, dtype=dtype)
    s = t.storage()
    assert type(s) is cls and isinstance(s, torch.TypedStorage) and cls.dtype == s.dtype == dtype
    assert s.element_size() == t.element_size() and s.nbytes() == 3 * t.element_size() and len(s) == s.size() == 3
    assert s.tolist() == list(s) == t.tolist()
    assert s.type() == f"torch.{CLASSES[name]}"
    assert cls([1, 0, 1]).tolist() == torch.tensor([1, 0, 1], dtype=dtype).tolist()


def test_size_of_the_object_has_its_memory():
    few, many = torch.zeros(2), torch.zeros(2002)
    assert sys.getsizeof(many.untyped_storage()) - sys.getsizeof(few.untyped_storage()) == 8000
    assert sys.getsizeof(many[:2].storage()) - sys.getsizeof(few.storage()) == 8000  # of the whole memory
    assert sys.getsizeof(many) == sys.getsizeof(few)


def test_is_the_memory_of_every_view():
    t = torch.arange(12.0).view(3, 4)
    s, v = t.storage(), t.t()[1:, 1:]
    assert s.data_ptr() == t.data_ptr() == v.storage().data_ptr() and len(v.storage()) == 12
    (a, b), offset = v.stride(), v.storage_offset()
    assert [[s[offset + a * i + b * j] for j in range(2)] for i in range(3)] == v.tolist()
    s[5] = -1.0
    assert t[1, 1].item() == v[0, 0].item() == -1.0
    t[0, 0] = 7.0
    assert s[0] == 7.0 and type(s[0]) is float


def test_indexing():
    s = torch.arange(5.0).storage()
    assert s[-1] == 4.0
    assert s[1:3] == [1.0, 2.0] and s[::-2] == [4.0, 2.0, 0.0] and s[3:1] == []
    for wrong in (5, -6):
        with pytest.raises(IndexError, match=f"index {wrong} out of range for storage of size 5"):
            s[wrong]
        with pytest.raises(IndexError):
            s[wrong] = 1.0
    for wrong in ("a", 1.0, None, True):
        with pytest.raises(TypeError, match="can't index a FloatStorage"):
            s[wrong]


def test_bytes_as_an_array():
    array = np.asarray(torch.tensor([258, 3], dtype=torch.int16).untyped_storage())
    assert array.tolist() == [2, 1, 3, 0] and array.dtype == np.int64


def test_slice_assignment():
    t = torch.arange(5)
    s = t.storage()
    s[1:3] = 9
    assert t.tolist() == [0, 9, 9, 3, 4]
    s[::-2] = [10, 20, 30]
    assert t.tolist() == [30, 9, 20, 3, 10]
    s[3:3] = []
    for values in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="a slice of 3 elements takes as many values"):
            s[:3] = values
    with pytest.raises((TypeError, ValueError)):
        s[:3] = [1, 2, "x"]
    assert t.tolist() == [30, 9, 20, 3, 10]


def test_construction():
    assert len(torch.FloatStorage(5)) == 5 and len(torch.FloatStorage()) == 0
    assert torch.FloatStorage([1, 2]).tolist() == [1.0, 2.0]
    assert type(torch.TypedStorage([1, 2], dtype=torch.int16)) is torch.ShortStorage
    assert type(torch.TypedStorage([1.5])) is torch.FloatStorage
    s = torch.arange(4.0).storage()
    assert torch.IntStorage(wrap_storage=s.untyped()).data_ptr() == s.data_ptr()


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (TypeError, lambda: torch.FloatStorage(2.5)),
        (TypeError, lambda: torch.FloatStorage("ab")),
        (TypeError, lambda: torch.TypedStorage([1], dtype="float32")),
        (ValueError, lambda: torch.FloatStorage(-1)),
        (ValueError, lambda: torch.FloatStorage([[1.0, 2.0]])),
        (RuntimeError, lambda: torch.FloatStorage([1], [2])),
        (RuntimeError, lambda: torch.FloatStorage(1, dtype=torch.int8)),
        (RuntimeError, lambda: torch.FloatStorage(1, wrap_storage=torch.ones(1).untyped_storage())),
    ],
)
def test_wrong_construction(kind, call):
    with pytest.raises(kind):
        call()


def test_fill_copy_clone():
    t = torch.zeros(3)
    s = t.storage()
    assert s.fill_(2.0) is s and t.tolist() == [2.0] * 3
    c = s.clone()
    assert c.data_ptr() != s.data_ptr() and c.tolist() == s.tolist() and c != s
    assert s.copy_(torch.arange(3).storage()) is s and t.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match="size does not match"):
        s.copy_(torch.arange(4).storage())
    with pytest.raises(TypeError):
        s.copy_([1.0, 2.0, 3.0])
    for d in (copy.copy(s), copy.deepcopy(s)):
        assert d.tolist() == s.tolist() and d.data_ptr() != s.data_ptr()


def test_conversion():
    s = torch.tensor([0.0, 1.5, 2.0]).storage()
    assert s.float() is s and s.type(torch.float32) is s and s.cpu() is s
    assert s.long().tolist() == [0, 1, 2] and type(s.double()) is torch.DoubleStorage
    assert s.bool().tolist() == [False, True, True]


def test_resize():
    s = torch.arange(4.0).storage()
    s.resize_(2)
    assert s.tolist() == [0.0, 1.0]
    s.resize_(3)
    assert len(s) == 3 and s[:2] == [0.0, 1.0]


USES = {
    "add": lambda x: x + 1,
    "sum": lambda x: x.sum(),
    "text": repr,
    "tolist": lambda x: x.tolist(),
    "clone of a view": lambda x: x[1:].clone(),
    "item": lambda x: x[2].item(),
    "write": lambda x: x.__setitem__(0, 1),
    "write of a slice": lambda x: x.__setitem__(slice(1, 3), 1),
    "fill": lambda x: x.zero_(),
    "indices": lambda x: x[torch.tensor([0, 1])],
    "mask": lambda x: x[x > 0],
    "cast": lambda x: x.to(torch.float64),
    "bytes": lambda x: x.view(torch.uint8) + 1,
    "source of a copy": lambda x: torch.ones(4).copy_(x),
    "product": lambda x: x @ x,
    "sort": lambda x: x.sort(),
    "cat": lambda x: torch.cat([x, x]),
    "out": lambda x: torch.add(torch.ones(4), 1, out=x),
    "fft": torch.fft.fft,
    "random numbers": lambda x: x.uniform_(),
    "matrix": lambda x: torch.linalg.inv(x.view(2, 2)),
    "convolution": lambda x: torch.nn.functional.conv1d(x.view(1, 1, 4), torch.ones(1, 1, 2)),
    "pickle": pickle.dumps,
    "copy": copy.deepcopy,
    "numpy": lambda x: x.numpy(),
    "dlpack": torch.from_dlpack,
}


@pytest.mark.parametrize("use", USES)
def test_memory_that_was_given_up(use):
    x = torch.arange(4.0)
    x.untyped_storage().resize_(0)
    assert x.shape == (4,) and x.view(2, 2).stride() == (2, 1) and x.data_ptr() == 0
    with pytest.raises(RuntimeError, match="resized to 0 bytes|requiring a storage size"):
        USES[use](x)


def test_memory_comes_back():
    x = torch.arange(4.0)
    row = x[1:]
    for storage, size in ((x.storage(), 4), (x.untyped_storage(), 16)):
        storage.resize_(0)
        assert storage.size() == 0
        storage.resize_(size)
        x.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        assert row.tolist() == [2.0, 3.0, 4.0]


def test_memory_that_is_shorter_than_its_tensors():
    x = torch.arange(4.0)
    row = x[1:]
    for steps in ((8,), (0, 4)):
        for size in steps:
            x.untyped_storage().resize_(size)
        assert x.untyped_storage().nbytes() == size and len(x.tolist()) == 4 and row.sum().shape == ()
        with pytest.raises(RuntimeError):
            x.as_strided((4,), (1,))
    x.untyped_storage().resize_(16)
    assert x.fill_(2).sum() == 8 and row.sum() == 6


def test_activations_that_are_freed_until_the_backward_pass():
    class Freed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.no_grad():
                y = x * 3
            ctx.x, ctx.y = x, y
            ctx.size = x.untyped_storage().nbytes()
            x.untyped_storage().resize_(0)
            return y.detach()

        @staticmethod
        def backward(ctx, grad):
            ctx.x.untyped_storage().resize_(ctx.size)
            ctx.x.copy_(ctx.y / 3)
            return grad * 3 * ctx.x

    start = torch.ones(3, requires_grad=True)
    Freed.apply(start * 2).sum().backward()
    assert start.grad.tolist() == [12.0] * 3


def test_device():
    s = torch.zeros(1).storage()
    assert str(s.device) == "cpu" and not s.is_cuda and not s.is_shared() and s.get_device() == -1


def test_elements_that_are_not_aligned():
    for dtype in ("int16", "int32", "float32", "int64", "complex64", "complex128"):
        values = torch.tensor([3, 1], dtype=getattr(torch, dtype))
        memory = bytearray(b"?" + bytes(values.view(torch.uint8).tolist()))
        shown = torch.frombuffer(memory, dtype=torch.uint8, offset=1).view(values.dtype)
        assert shown.tolist() == values.tolist()
        assert shown[1].item() == 1
        if "int" in dtype:
            assert (torch.tensor([7, 7], dtype=values.dtype) // shown).tolist() == [2, 7]


def test_untyped_storages():
    s = torch.arange(4, dtype=torch.uint8).untyped_storage()
    assert repr(s) == " 0\n 1\n 2\n 3\n[torch.storage.UntypedStorage(device=cpu) of size 4]"
    assert type(s.float()) is torch.FloatStorage and s.complex_float().tolist() == [0, 1, 2, 3]
    assert s.type() == "torch.storage.UntypedStorage" and s.type(torch.int16).tolist() == [0, 1, 2, 3]
    assert s.to(device="cpu") is s and s.get_device() == -1 and s.filename is None and not s.is_sparse
    assert s.new().nbytes() == 0 and s.new().device == s.device and not s.is_pinned()
    s.byteswap(torch.int16)
    assert s.tolist() == [1, 0, 3, 2]
    s.byteswap(torch.int16)
    assert s.tolist() == [0, 1, 2, 3]
    assert s.fill_(7) is s and s.tolist() == [7] * 4
    assert s.copy_(torch.arange(4, dtype=torch.uint8).untyped_storage()).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="self was 4 bytes but src was 8 bytes"):
        s.copy_(torch.ones(2).untyped_storage())
    with pytest.raises((RuntimeError, AssertionError)) if not torch.cuda.is_available() else contextlib.nullcontext():
        s.cuda()
    first, second = copy.deepcopy([s, s])
    assert first is second and first is not s and first.tolist() == s.tolist()
    assert copy.copy(s).data_ptr() != s.data_ptr()


def test_storages_of_buffers():
    big = torch.UntypedStorage.from_buffer(b"\0\1\2\3", "big", dtype=torch.int16)
    little = torch.UntypedStorage.from_buffer(b"\0\1\2\3", "little", dtype=torch.int16)
    assert sorted([big.tolist(), little.tolist()]) == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert big.short().tolist() != little.short().tolist()
    assert torch.UntypedStorage.from_buffer(b"\0\1\2\3\4", count=2, offset=1).tolist() == [1, 2]
    assert torch.UntypedStorage.from_buffer(b"\0\7", dtype=torch.bool).tolist() == [0, 1]
    with pytest.raises(TypeError, match="byte_order"):
        torch.UntypedStorage.from_buffer(b"\0\1", dtype=torch.int16)
    with pytest.raises(ValueError, match="must be 'native'"):
        torch.UntypedStorage.from_buffer(b"\0\1", "middle", dtype=torch.int16)


def test_typed_storages_of_buffers_and_files(tmp_path):
    number = b"\0\0\x80\x3f"  # 1.0
    made = torch.FloatStorage.from_buffer(number * 3, "little", 2, 4)
    assert type(made) is torch.FloatStorage and made.tolist() == [1.0, 1.0]
    assert torch.ByteStorage.from_buffer(bytearray(number)).tolist() == [0, 0, 128, 63]
    other = torch.TypedStorage.from_buffer(number, "little", dtype=torch.int32)
    assert type(other) is torch.IntStorage and other.tolist() == [0x3F800000]
    assert type(torch.TypedStorage.from_buffer(number, "little")) is torch.FloatStorage
    with pytest.raises(RuntimeError, match="dtype cannot be given"):
        torch.FloatStorage.from_buffer(number, "little", dtype=torch.int32)
    with pytest.raises(TypeError, match="byte_order"):
        torch.FloatStorage.from_buffer(number)
    path = tmp_path / "numbers"
    path.write_bytes(number * 3)
    shared = torch.FloatStorage.from_file(path, True, 3)
    shared[1] = 2.0
    assert torch.FloatStorage.from_file(str(path), size=2).tolist() == [1.0, 2.0]


def test_storages_on_devices():
    meta = torch.UntypedStorage(6, device="meta")
    assert (meta.device.type, meta.nbytes()) == ("meta", 6)
    assert repr(meta) == "...\n[torch.storage.UntypedStorage(device=meta) of size 6]"
    typed = torch.arange(3.0, device="meta").storage()
    assert repr(typed) == "...\n[torch.storage.TypedStorage(dtype=torch.float32, device=meta) of size 3]"
    assert torch.TypedStorage(3, dtype=torch.int32, device="meta").device.type == "meta"
    assert torch.UntypedStorage(device="cpu").nbytes() == 0
    for storage in (meta, typed):
        with pytest.raises(NotImplementedError, match="'meta' device"):
            storage[0]
        with pytest.raises(NotImplementedError, match="'meta' device"):
            storage[0] = 1


def test_tensors_of_untyped_storages():
    storage = torch.arange(3.0).untyped_storage()
    copied, viewed = torch.tensor(storage, dtype=torch.float32), torch.as_tensor(storage, dtype=torch.float32)
    storage.fill_(0)
    assert copied.tolist() == [0, 1, 2] and viewed.tolist() == [0, 0, 0]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_storages_are_pickled(protocol):
    x = torch.arange(4)[1:]
    for storage in (x.untyped_storage(), x.storage(), torch.empty(0).untyped_storage()):
        got = pickle.loads(pickle.dumps(storage, protocol))
        assert type(got) is type(storage) and got.tolist() == storage.tolist()
        assert got.data_ptr() != storage.data_ptr() or not got.nbytes()


def test_copies_share_what_the_originals_share():
    a = torch.arange(6.0)
    made = copy.deepcopy([a, a.untyped_storage(), a[2:], a.storage(), torch.arange(2.0).untyped_storage()])
    made[0].add_(1)
    assert made[1].data_ptr() == made[3].data_ptr() == made[0].data_ptr() != a.data_ptr()
    assert made[3][0] == 1 and made[2].tolist() == [3, 4, 5, 6] and a[0] == 0
    assert made[4].nbytes() == 8


def test_a_tensor_is_not_made_of_numbers_of_another_dtype():
    numbers = torch.ones(2, dtype=torch.float64).storage()
    for make in (
        lambda: torch.tensor([]).set_(numbers),
        lambda: torch.tensor(numbers),
        lambda: torch.tensor(numbers, dtype=torch.float32),
        lambda: torch.ones(1).new(numbers),
        lambda: torch.FloatTensor(numbers),
    ):
        with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got Double"):
            make()
    assert torch.tensor(numbers, dtype=torch.float64).tolist() == [1, 1]
    assert torch.FloatTensor(torch.ones(2).storage()).tolist() == [1, 1]


def test_names_of_the_classes():
    from strided import storage

    assert storage._dtype_to_storage_type_map()[torch.float32] == "FloatStorage"
    assert storage._storage_type_to_dtype_map()["BoolStorage"] is torch.bool


def test_storages_of_bytes():
    assert torch.UntypedStorage([1, 2, 255]).tolist() == [1, 2, 255]
    assert torch.UntypedStorage((7,), device="cpu").tolist() == [7] and torch.UntypedStorage([]).nbytes() == 0
    with pytest.raises(ValueError, match="range"):
        torch.UntypedStorage([256])
    with pytest.raises(TypeError):
        torch.UntypedStorage(["a"])


def test_a_view_of_the_same_size_does_not_grow_the_storage():
    x = torch.arange(3.0)
    for offset, size, stride in ((1, (3,), None), (2**60, (3,), (1,))):
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 12"):
            x.set_(x.untyped_storage(), offset, size, stride)
    assert x.tolist() == [0, 1, 2] and x.untyped_storage().nbytes() == 12
    assert x.set_(x.untyped_storage(), 1, (2,)).tolist() == [1, 2]
    assert x.set_(x.untyped_storage(), 0, (2,), (3,)).shape == (2,) and x.untyped_storage().nbytes() == 16
    y = torch.ones(2)
    assert x.set_(y, 0, (3, 1), (1, 1))[:2].tolist() == [[1], [1]] and x.data_ptr() == y.data_ptr()


def test_untyped_storages_of_a_size_or_of_bytes():
    assert (
        torch.UntypedStorage().size() == 0
        and torch.UntypedStorage(size=4).size() == torch.UntypedStorage(4).size() == 4
    )
    assert torch.UntypedStorage([4, 5, 6], device="cpu").tolist() == [4, 5, 6]


def test_a_storage_has_one_object():
    x = torch.ones(3)
    s = x.untyped_storage()
    for t in (x, x[1:], x.detach(), x.data, torch.empty(0).set_(s)):
        assert t.untyped_storage() is s
    assert x.storage().untyped() is s and copy.copy(s) is not s
    other = torch.zeros(2)
    view = x[1:]
    x.set_(other)
    assert x.untyped_storage() is other.untyped_storage() and view.untyped_storage() is s
    made = copy.deepcopy([view, s])
    assert made[0].untyped_storage() is made[1] and made[1] is not s


def test_the_object_of_a_storage_stays_while_tensors_have_it():
    x = torch.ones(3)
    x.untyped_storage().note = "kept"
    told = []
    weakref.finalize(x.untyped_storage(), told.append, "gone")
    kept = weakref.WeakKeyDictionary({x.untyped_storage(): 1})
    link, view = weakref.ref(x.untyped_storage()), x[1:]
    del x
    gc.collect()
    assert view.untyped_storage().note == "kept" and link() is view.untyped_storage() and told == []
    assert kept[view.untyped_storage()] == 1
    found = link()  # belongs to the storage until somebody asks it
    assert found.nbytes() == 12
    del view
    assert found.tolist()[2:4] == [128, 63] and told == []
    del found
    assert told == ["gone"] and link() is None and not kept


def test_an_object_of_a_storage_that_nobody_asked_before_it_died():
    x = torch.ones(3)
    link = weakref.ref(x.untyped_storage())
    found = link()
    del x
    for call in (found.nbytes, found.data_ptr, lambda: len(found), lambda: found[0], found.resizable):
        with pytest.raises(RuntimeError, match="the memory of this storage is gone"):
            call()
    assert found == found and hash(found) == hash(found)


def test_subclasses_and_cycles_of_storages():
    class Mine(torch.UntypedStorage):
        pass

    s = Mine(4)
    s.note = 3
    t = torch.empty(0, dtype=torch.uint8).set_(s)
    assert t.untyped_storage() is s and s.note == 3
    del s
    assert t.untyped_storage().nbytes() == 4
    x = torch.ones(2)
    x.untyped_storage().self = x.untyped_storage()
    gc.collect()
    assert x.untyped_storage().self is x.untyped_storage()
    s = torch.UntypedStorage(8)
    s.self = s
    link = weakref.ref(s)
    del s
    gc.collect()
    assert link() is None
    assert torch.UntypedStorage.__new__(torch.UntypedStorage).nbytes() == 0


def test_storages_whose_address_somebody_has_are_not_resizable():
    for share in (lambda x: x.numpy(), lambda x: x[1:].numpy(), memoryview, lambda x: x.__dlpack__()):
        x = torch.ones(3)
        assert x.untyped_storage().resizable()
        held = share(x)
        assert not x.untyped_storage().resizable()
        with pytest.raises(RuntimeError, match="not resizable"):
            x.untyped_storage().resize_(100)
        del held
    assert not torch.from_numpy(np.ones(2)).untyped_storage().resizable()


def test_bytes_that_are_written():
    s = torch.UntypedStorage(4).fill_(-1)
    s[0], s[1:3] = 300, 5
    assert s.tolist() == [44, 5, 5, 255]
    for call, kind in (
        (lambda: s.__setitem__(0, 1.5), RuntimeError),
        (lambda: s.fill_("a"), RuntimeError),
        (lambda: s[True], TypeError),
        (lambda: s[None], TypeError),
        (lambda: s.copy_(3), TypeError),
    ):
        with pytest.raises(kind):
            call()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_tensors_are_pickled(protocol):
    whole = torch.arange(24, dtype=torch.float32).reshape(1, 2, 3, 4)
    for t in (whole, whole[:, 1:], whole.mT, whole.to(memory_format=torch.channels_last), whole[0, 0, 0, 0], whole[:0]):
        back = pickle.loads(pickle.dumps(t, protocol))
        assert torch.equal(back, t) and back.is_contiguous() == t.clone().is_contiguous()
        back += 1  # memory of its own, not the pickle's
        back.untyped_storage().resize_(400)
    whole.untyped_storage().resize_(400)  # pickling did not give it out


def test_pickles_with_buffers_beside_them():
    t, buffers = torch.arange(1000), []
    data = pickle.dumps(t, 5, buffer_callback=buffers.append)
    assert len(data) < 400 and [len(memoryview(b)) for b in buffers] == [8000]
    for given in (buffers, [bytes(b) for b in buffers], [bytearray(b) for b in buffers]):
        back = pickle.loads(data, buffers=given)
        back += 1
        assert torch.equal(back, t + 1)
    assert torch.equal(pickle.loads(data, buffers=buffers), t)
