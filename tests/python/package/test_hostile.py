"""Misuse of objects and of the process: each is a clear error, and the process goes on."""

import ctypes
import re
import subprocess
import sys

import numpy
import pytest
import strided as torch


def run(code, timeout=60):
    """The standard output of a program, which must end by itself."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("kind", [torch.UntypedStorage, torch.Generator])
def test_objects_without_init_are_refused_or_whole(kind):
    if kind is torch.UntypedStorage:  # nothing is left to do for its __init__
        assert kind.__new__(kind).nbytes() == 0
    else:
        with pytest.raises(TypeError, match="is not safe"):
            kind.__new__(kind)
    with pytest.raises(TypeError, match="is not safe"):
        object.__new__(kind)
    assert isinstance(kind(), kind)
    assert isinstance(type("Sub", (kind,), {})(), kind)


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


def capsule(shape, strides, ndim=None):
    """A DLPack capsule of float32, and what it points at."""
    numbers = numpy.zeros(16, dtype=numpy.float32)
    arrays = [None if values is None else (ctypes.c_int64 * len(values))(*values) for values in (shape, strides)]
    dl = _DLTensor(numbers.ctypes.data, 1, 0, len(shape) if ndim is None else ndim, 2, 32, 1, *arrays, 0, None, None)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = ctypes.c_char_p(b"dltensor")
    return new(ctypes.addressof(dl), name, None), (numbers, arrays, dl, name)


def test_dlpack_with_a_null_shape():
    given, _keep = capsule(None, None, ndim=2)
    with pytest.raises(BufferError, match="shape of 2 dimensions is a null pointer"):
        torch.from_dlpack(given)


@pytest.mark.parametrize("stride", [2**62, -(2**62), 2**63 - 1, -(2**63), 2**60])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_dlpack_with_strides_out_of_the_address_space(stride, size):
    given, _keep = capsule([2, size], [1, stride])
    with pytest.raises(BufferError, match="leads out of the address space"):
        torch.from_dlpack(given)


def test_dlpack_with_many_strides_whose_sum_overflows():
    given, _keep = capsule([2] * 8, [2**58 - 1] * 8)
    with pytest.raises(BufferError, match="leads out of the address space"):
        torch.from_dlpack(given)


def test_threads_that_cannot_be_made():
    """Limits of the process refuse new threads: those that are there do the work, and results are the same."""
    assert "same 1.0" in run("""
import resource, strided as torch
torch.set_num_threads(1)
a = torch.arange(256.0 * 256).view(256, 256)
want = a @ a
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + (6 << 20), -1))  # the stack of a thread is larger
torch.set_num_threads(8)
out = want * 0
for _ in range(3):
    out = a @ a
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print("same", float((out == want).all()))
""")


def test_lapack_without_memory_for_its_buffers():
    assert "OutOfMemoryError" in run("""
import resource, strided as torch
a = torch.eye(40)  # smaller ones do not go to LAPACK
torch.linalg._lapack.find()
torch.linalg.matrix_exp(a)
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + (20 << 20), -1))
try:
    torch.linalg.svdvals(a)
except torch.OutOfMemoryError as error:
    print(type(error).__name__)
""")


def test_objects_die_where_no_memory_is_left():
    """Many objects fill the memory and go then, all at once: what frees them needs no memory itself."""
    assert "freed 4.0" in run("""
import resource, strided as torch
held, leaf = [None] * 10**5, torch.ones(2, requires_grad=True)
def used():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) * 1024
def limit(memory):
    resource.setrlimit(resource.RLIMIT_AS, (memory, -1))
made_by = {
    "small": lambda: torch.ones(2),
    "recorded": lambda: leaf * leaf,
    "parameters": lambda: torch.nn.Parameter(torch.ones(3)),
    "large": lambda: torch.ones(5000),
}
for make in made_by.values():
    limit(used() + (16 << 20))
    try:
        for i in range(len(held)):
            held[i] = make()
    except (MemoryError, RuntimeError):
        pass
    for i in range(len(held)):
        held[i] = None
    limit(-1)
chain = leaf
for _ in range(10000):
    chain = chain * 1
limit(used())
del chain
limit(-1)
print("freed", float((leaf * 2).sum()))
""")


def test_sub_interpreters_are_refused():
    name = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    pytest.importorskip(name)
    program = "try:\n    import strided\nexcept ImportError as error:\n    print('refused:', error)\n"
    call = "run_string" if sys.version_info < (3, 13) else "exec"
    out = run(f"import {name} as i\ni.{call}(i.create(), {program!r})")
    assert "refused: " in out and re.search("sub-?interpreter", out)  # in our words, or in those of Python 3.13


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("function", ["asarray", "as_tensor", "tensor"])
def test_numpy_scalars_are_numbers(function, dtype):
    scalar = numpy.dtype(dtype).type(1)
    t = getattr(torch, function)(scalar)
    assert t.shape == () and t.dtype == getattr(torch, dtype) and t.item() == 1
    assert getattr(torch, function)(scalar, dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("function", ["asarray", "as_tensor", "tensor"])
@pytest.mark.parametrize("kind", [torch.Tensor, numpy.ndarray, numpy.float32, int], ids=lambda kind: kind.__name__)
def test_classes_are_no_data(function, kind):
    """A class has the methods of its objects, `__dlpack__` among them."""
    with pytest.raises((TypeError, RuntimeError), match=f"Could not infer dtype of|{function}") as raised:
        getattr(torch, function)(kind)
    assert "missing 1 required" not in str(raised.value)


@pytest.mark.parametrize("wrong", [range(3), None, 5, ...])
def test_what_is_no_module_is_not_parametrized(wrong):
    assert torch.nn.utils.parametrize.is_parametrized(wrong) is False


NO_TENSORS = [None, "x", 3, 2.5, [1.0], {}, b"x", object, range(3)]


@pytest.mark.parametrize("wrong", NO_TENSORS, ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_tensor_is_named(wrong):
    """Functions written in Python say which argument it is, as compiled ones do."""
    weight = torch.ones(2, 2, 3)
    kind = type(wrong).__name__
    with pytest.raises(TypeError, match=rf"conv1d\(\): argument 'input' \(position 1\) must be Tensor, not {kind}"):
        torch.nn.functional.conv1d(wrong, weight)
    with pytest.raises(TypeError, match=rf"conv1d\(\): argument 'weight' .*must be Tensor, not {kind}"):
        torch.nn.functional.conv1d(torch.ones(1, 2, 5), weight=wrong)
    with pytest.raises(TypeError, match=rf"linear\(\): argument 'weight' must be Tensor, not {kind}"):
        torch.nn.functional.linear(torch.ones(2, 3), weight=wrong)
    with pytest.raises(TypeError, match=f"must be Tensor, not {kind}"):
        torch.frexp(wrong)


def test_errors_of_others_stay_what_they_are():
    class Mine:
        pass

    class Kind(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return Mine().nothing

    with pytest.raises(AttributeError, match="'Mine' object has no attribute 'nothing'"):
        torch.nn.functional.conv1d(torch.ones(1, 1, 3).as_subclass(Kind), torch.ones(1, 1, 2))


@pytest.mark.parametrize("size", ["x", 1.5, None, {1, 2}, 2**70])
def test_sizes_of_storages(size):
    storage = torch.UntypedStorage(3)
    for call in (torch.UntypedStorage, storage.resize_):
        with pytest.raises((TypeError, OverflowError), match=r"number of bytes is required|must fit 64 bits") as raised:
            call(size)
        assert "incompatible" not in str(raised.value)
    assert len(storage) == 3


def test_wrong_kinds_are_named_in_the_users_terms():
    with pytest.raises(TypeError, match="wrap_storage must be UntypedStorage, not int"):
        torch.FloatStorage(wrap_storage=5)
    with pytest.raises(TypeError, match="argument 'count' must be int, not str"):
        torch.frombuffer(b"abcd", dtype=torch.uint8, count="x")
    with pytest.raises(RuntimeError, match="does not fit 64 bits"):
        torch.frombuffer(b"abcd", dtype=torch.uint8, offset=2**70)
    versioned = torch.ones(2).__dlpack__(max_version=(numpy.int64(1), 0))  # its comparison gives NumPy's bool
    assert torch.from_dlpack(versioned).tolist() == [1.0, 1.0]
    assert torch.ones(2, requires_grad=True).numpy(force="yes").tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["adaptive_avg_pool1d", "adaptive_max_pool1d"])
def test_pools_to_sizes_that_no_memory_holds(name):
    pool = getattr(torch.nn.functional, name)
    with pytest.raises(TypeError, match="must be tuple of ints, but found float"):
        pool(torch.ones(1, 2, 3), 1e300)
    # Beyond the addresses that a process has, so no limit is needed, which the address sanitizer would not survive.
    assert "refused" in run(f"""
import strided as torch
try:
    torch.nn.functional.{name}(torch.ones(1, 2, 3), 2**46)
except RuntimeError as error:
    print("refused:", error)
""")


def test_arguments_of_sequences_are_tensors():
    rnn = torch.nn.utils.rnn
    with pytest.raises(TypeError, match=r"invert_permutation\(\): argument 'permutation' .*must be Tensor, not list"):
        rnn.invert_permutation([1, 0])
    with pytest.raises(TypeError, match=r"pack_padded_sequence\(\): argument 'input' .*must be Tensor, not NoneType"):
        rnn.pack_padded_sequence(None, [1])
    with pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor, but got 0D"):
        rnn.pack_padded_sequence(torch.ones(3, 1, 1), 3)
    with pytest.raises(TypeError, match=r"to_dlpack\(\): argument 'tensor' .*must be Tensor, not int"):
        torch.utils.dlpack.to_dlpack(3)


@pytest.mark.parametrize("interface", [None, 3, {}, {"typestr": "<f4"}, {"typestr": "<f4", "shape": (2,)}])
def test_interfaces_of_devices_that_lack_something(interface):
    thing = type("Thing", (), {"__cuda_array_interface__": interface})()
    with pytest.raises((TypeError, RuntimeError), match="must be a dict|must exist|Could not infer dtype"):
        torch.as_tensor(thing)


def test_flags_of_hooks_are_only_true_or_false():
    module = torch.nn.ReLU()
    seen = []
    module.register_forward_hook(lambda *args: seen.append(len(args)), with_kwargs=2**62, always_call=2**62)
    module.register_forward_pre_hook(lambda *args: seen.append(len(args)), with_kwargs=2**62)
    module(torch.ones(2))
    assert seen == [3, 4]


def test_numbers_that_stand_for_words():
    a, b = torch.rand(3), torch.rand(3)
    for wrong in (3, -1, 2**62, "x", None):
        with pytest.raises(ValueError, match=r"reduction must be a number from 0 \(none\) to 2 \(sum\)"):
            torch.kl_div(a, b, wrong)
        with pytest.raises(ValueError, match="mode must be a number"):
            torch.embedding_bag(torch.ones(3, 2), torch.tensor([1]), torch.tensor([0]), False, wrong)
    with pytest.raises(TypeError, match=r"lstm\(\) takes 9 arguments, got 2"):
        torch.lstm(a, b)


def test_histograms_with_more_edges_than_integers():
    x = torch.ones(3)
    for histogram in (torch.histogram, torch.histogramdd):
        value = x if histogram is torch.histogram else x.reshape(3, 1)
        with pytest.raises(RuntimeError, match=r"bins must be below 2\^63 - 1, but got 9223372036854775807"):
            histogram(value, bins=2**63 - 1)


HUGE = [2**31, 2**61, 2**62, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d"])
def test_windows_of_any_size(name):
    """Sizes are found from numbers of the user: errors, or a right result where only one window is left."""
    function = getattr(torch.nn.functional, name)
    x = torch.ones(1, 2, 3, 3)
    for kernel in (1, 3):
        given = [x, torch.ones(2, 2, kernel, kernel), None] if name.startswith("conv") else [x, kernel]
        for at in range(4):
            for number in HUGE:
                options = [1, 0, 1, 1][: 2 if name == "avg_pool2d" else 3]
                if at >= len(options):
                    continue
                options[at] = number
                if name == "conv_transpose2d" and at == 2:
                    options = [1, 0, 0, 1, number]
                try:
                    made = function(*given, *options)
                except RuntimeError:
                    continue
                assert 0 < made.numel() <= 50
    with pytest.raises(RuntimeError, match="kernel of positive sizes"):
        torch.nn.functional.conv2d(x, torch.ones(2, 2, 0, 1))


def test_memory_formats_are_told_by_their_class():
    class Named:
        def __repr__(self):
            return "torch.channels_last"

    class Raising:
        def __repr__(self):
            raise KeyError("asked for a text")

    x = torch.ones(1, 2, 3, 3)
    for wrong in (Named(), Raising(), x, "torch.channels_last"):
        for call in (torch.randn_like, torch.clone, torch.empty_like, torch.Tensor.contiguous, torch.Tensor.to):
            with pytest.raises(TypeError, match="memory_format"):
                call(x, memory_format=wrong)
    assert torch.randn_like(x, memory_format=torch.channels_last).stride() == (18, 1, 6, 2)
