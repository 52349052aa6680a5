"""CUDA devices: memory, streams, events, transfers, printing, errors. On a GPU, or on emulated devices."""

import gc
import os
import pickle
import subprocess
import sys

import cuda_device
import numpy as np
import pytest
import strided as torch
from strided import cuda

pytestmark = cuda_device.needs(1)
two = cuda_device.needs(2)
CUDA = torch.device("cuda")


def test_devices():
    assert cuda.is_available() and cuda.device_count() >= 1
    assert cuda.current_device() == 0
    p = cuda.get_device_properties(0)
    assert cuda.get_device_name(0) == p.name and cuda.get_device_capability() == (p.major, p.minor)
    assert p.multi_processor_count > 0 and p.warp_size == 32 and p.total_memory > 0
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device=f"cuda:{cuda.device_count()}")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.set_device(cuda.device_count())
    with pytest.raises(ValueError, match="Expected a cuda device"):
        cuda.synchronize("cpu")


@pytest.mark.skipif(not cuda_device.emulated(), reason="says what a driver of former times would")
def test_why_no_device_can_be_used():
    code = (
        "import strided as torch\n"
        "assert not torch.cuda.is_available() and torch.cuda.device_count() == 0\n"
        "print(torch._C.functions['_cuda_why_none']())\n"
        "try: torch.ones(2, device='cuda')\n"
        "except RuntimeError as e: print(e)\n"
    )
    for variable, said in (
        ("STRIDED_EMULATE_OLD_DRIVER", "CUDA driver version is insufficient for CUDA runtime version"),
        ("STRIDED_EMULATE_NO_DEVICE", "no CUDA-capable device is detected"),
    ):
        environment = {**os.environ, variable: "1"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment
        )
        why = f"no device was found ({said})"
        assert done.stdout.splitlines() == [why, f"CUDA is not available: {why}. Use device='cpu'."], done.stderr


def test_what_a_tensor_says():
    x = torch.ones(2, 3, device="cuda")
    assert x.device == torch.device("cuda:0") and x.is_cuda and not x.is_cpu and x.get_device() == 0
    assert str(x) == "tensor([[1., 1., 1.],\n        [1., 1., 1.]], device='cuda:0')"
    assert str(torch.ones(1, device="cuda", requires_grad=True)) == "tensor([1.], device='cuda:0', requires_grad=True)"
    assert x.tolist() == [[1.0] * 3] * 2 and x.sum().item() == 6.0 and bool((x == 1).all())
    assert x.cpu().device == torch.device("cpu") and x.cpu().tolist() == x.tolist()
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(BufferError):
        memoryview(x)


def test_to_and_back():
    for shape in ((), (0,), (3,), (2, 3, 4), (0, 5)):
        for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16, torch.uint8):
            x = torch.arange(24).to(dtype)[: int(np.prod(shape))].reshape(shape)
            y = x.to("cuda")
            assert y.device.type == "cuda" and y.dtype == dtype and y.shape == x.shape
            assert torch.equal(y.cpu(), x)
            assert y.to("cuda") is y and y.cuda() is y and x.cpu() is x
    x = torch.arange(12.0).reshape(3, 4)
    for view in (x.t(), x[::2], x[:, 1:3], x[::-1], x[1].expand(5, 4), x[:, 1]):
        there = view.to("cuda")
        assert torch.equal(there.cpu(), view)
        assert torch.equal(view.to("cuda", torch.float64).cpu(), view.double())
    there = x.cuda()
    for cut in (lambda t: t.t(), lambda t: t[::2], lambda t: t[:, 1:3], lambda t: t[1].expand(5, 4)):
        assert torch.equal(cut(there).cpu(), cut(x))
    target = torch.zeros(4, 3)
    assert torch.equal(target.t().copy_(there), x) and torch.equal(target, x.t())
    there.t().copy_(torch.ones(4, 3))
    assert there.cpu().tolist() == [[1.0] * 4] * 3


def test_factories_and_memory():
    gc.collect()
    before = cuda.memory_allocated()
    x = torch.zeros(1000, device="cuda")
    assert cuda.memory_allocated() - before >= 4000
    assert cuda.max_memory_allocated() >= cuda.memory_allocated() and cuda.memory_reserved() >= cuda.memory_allocated()
    del x
    assert cuda.memory_allocated() == before
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == before
    free, total = cuda.mem_get_info()
    assert 0 < free <= total
    cuda.empty_cache()
    assert torch.full((2,), 7, device="cuda").tolist() == [7, 7] and torch.empty(0, device="cuda").tolist() == []
    assert torch.zeros_like(torch.ones(2, device="cuda")).device.type == "cuda"
    with pytest.raises(torch.OutOfMemoryError, match="(?i)out of memory"):
        torch.empty(1 << 50, device="cuda")
    assert torch.ones(2, device="cuda").sum().item() == 2  # and goes on


def test_mixed_devices():
    x, y = torch.ones(2), torch.ones(2, device="cuda")
    for f in (lambda: x + y, lambda: y * x, lambda: y.add_(x)):
        with pytest.raises(
            RuntimeError,
            match="Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu|cpu and cuda:0",
        ):
            f()
    assert (y + torch.tensor(2.0)).tolist() == [3, 3] and (torch.tensor(2.0) + y).device.type == "cuda"
    with pytest.raises(RuntimeError):
        torch.add(x, 1, out=y)


def test_streams_and_events():
    s = cuda.Stream()
    assert s.device == torch.device("cuda:0") and s != cuda.current_stream() and s == s
    with cuda.stream(s):
        assert cuda.current_stream() == s
        x = torch.ones(1000, device="cuda") * 3
    assert cuda.current_stream() == cuda.default_stream()
    cuda.current_stream().wait_stream(s)
    assert (x + 1).sum().item() == 4000
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    x.mul_(2)
    end.record()
    end.synchronize()
    assert start.query() and end.query() and start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing"):
        cuda.Event().elapsed_time(end)
    s.synchronize()
    assert s.query()


def test_memory_used_on_another_stream():
    s = cuda.Stream()
    x = torch.ones(1000, device="cuda")
    x.record_stream(s)
    x.record_stream(cuda.current_stream())
    torch.empty(0, device="cuda").record_stream(s)
    with pytest.raises(RuntimeError, match="record_stream: the tensor is on device 'cpu'"):
        torch.ones(2).record_stream(s)


def test_what_is_made_from_a_tensor_stays_with_it():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    assert torch.tensor(x).device == x.device and torch.tensor(x, device="cpu").is_cpu
    assert torch.tensor(x).data_ptr() != x.data_ptr()
    again = pickle.loads(pickle.dumps(x.requires_grad_()))
    assert again.device == x.device and again.requires_grad and torch.equal(again.cpu(), x.detach().cpu())
    assert pickle.loads(pickle.dumps(x.detach().cpu())).is_cpu
    assert x.type() == "torch.cuda.FloatTensor" and x.cpu().type() == "torch.FloatTensor"
    assert x.type("torch.cuda.DoubleTensor").device == x.device and x.type("torch.LongTensor").is_cpu
    assert x.cpu().type("torch.cuda.IntTensor").dtype == torch.int32
    assert torch.mvlgamma(x.detach() + 1, 2).device == x.device


def test_indices_may_be_on_the_cpu():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    here = torch.tensor([1, 0])
    for index in (here, [1, 0], np.array([1, 0]), here.to(torch.int32)):
        assert x[index].device == x.device and x[index].tolist() == [[3, 4, 5], [0, 1, 2]]
    assert x[here, here.cuda()].tolist() == [4, 0] and x[torch.tensor([True, False])].tolist() == [[0, 1, 2]]
    assert x[x.cpu() > 3].tolist() == [4, 5] and x.t()[(x.t() > 3).cpu()].tolist() == [4, 5]
    x[here, [0, 1]] = 9
    x[x.cpu() == 5] = -1
    assert x.tolist() == [[0, 9, 2], [9, 4, -1]]
    w = torch.ones(3, device="cuda", requires_grad=True)
    w[[0, 0, 2]].sum().backward()
    assert w.grad.tolist() == [2, 0, 1]
    with pytest.raises(
        RuntimeError, match=r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)"
    ):
        torch.ones(3)[here.cuda()]
    with pytest.raises(IndexError):
        x[[0, 5]].tolist()


def test_resize():
    x = torch.arange(4, device="cuda")
    assert x.resize_(2, 3).shape == (2, 3) and x.device.type == "cuda" and x.untyped_storage().nbytes() == 48
    assert x.reshape(-1)[:4].tolist() == [0, 1, 2, 3]
    assert x.resize_(2).tolist() == [0, 1] and x.untyped_storage().nbytes() == 48
    assert torch.ones(0, device="cuda").resize_as_(torch.empty(5)).fill_(2).tolist() == [2] * 5
    x.untyped_storage().resize_(800)
    assert x.tolist() == [0, 1]
    assert torch.arange(3).type_as(torch.ones(1, device="cuda")).device.type == "cuda"


def test_pinned_memory():
    x = torch.arange(10.0)
    p = x.pin_memory()
    assert p.is_pinned() and not x.is_pinned() and torch.equal(p, x) and p.pin_memory() is p
    y = p.to("cuda", non_blocking=True)
    cuda.synchronize()
    assert torch.equal(y.cpu(), x)


def test_new_tensors_in_pinned_memory():
    made = [torch.empty(3, pin_memory=True), torch.full((2,), 7, pin_memory=True), torch.tensor([1.0], pin_memory=True)]
    made += [torch.ones(2).new_zeros(3, pin_memory=True), torch.arange(4, pin_memory=True)]
    assert all(t.is_pinned() for t in made) and made[1].tolist() == [7, 7] and made[4].tolist() == [0, 1, 2, 3]
    leaf = torch.randn(2, 2, pin_memory=True, requires_grad=True)
    assert leaf.is_pinned() and leaf.is_leaf and leaf.requires_grad
    assert not torch.empty(3, pin_memory=False).is_pinned() and not torch.empty(3).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.empty(3, device="cuda", pin_memory=True)


@two
def test_several_devices():
    x = torch.arange(6.0, device="cuda:1")
    assert x.device.index == 1 and str(x).endswith("device='cuda:1')")
    y = x.to("cuda:0")
    assert y.device.index == 0 and torch.equal(y.cpu(), x.cpu())
    assert torch.equal((x.t() if x.ndim == 2 else x).to("cuda:0").cpu(), x.cpu())
    with pytest.raises(RuntimeError, match="cuda:1 and cuda:0"):
        x + y
    with cuda.device(1):
        assert cuda.current_device() == 1 and torch.ones(1, device="cuda").device.index == 1
    assert cuda.current_device() == 0
    with cuda.device_of(x):
        assert cuda.current_device() == 1


def test_autograd_goes_through():
    x = torch.tensor([1.0, 2.0, 3.0], device="cuda", requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.device.type == "cuda" and x.grad.tolist() == [2, 4, 6]
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (w.to("cuda") * 2).sum().backward()
    assert w.grad.device.type == "cpu" and w.grad.tolist() == [2, 2, 2]
    z = x.detach().clone().requires_grad_()
    y = z * 1
    y[1:] = y[1:] * 10
    y.sum().backward()
    assert z.grad.tolist() == [1, 10, 10]


def test_random_numbers_are_the_seed_s():
    cuda.manual_seed(7)
    a = torch.rand(1000, device="cuda")
    b = torch.randn(10, device="cuda")
    state = cuda.get_rng_state()
    c = torch.rand(5, device="cuda")
    cuda.set_rng_state(state)
    assert torch.equal(torch.rand(5, device="cuda"), c)
    torch.manual_seed(7)
    assert torch.equal(torch.rand(1000, device="cuda"), a) and torch.equal(torch.randn(10, device="cuda"), b)
    assert 0 <= a.min().item() and a.max().item() < 1 and abs(a.mean().item() - 0.5) < 0.05
    g = torch.Generator(device="cuda").manual_seed(7)
    assert torch.equal(torch.rand(1000, device="cuda", generator=g), a)


def test_index_out_of_range_is_an_error_and_nothing_is_lost():
    x = torch.arange(5.0, device="cuda")
    index = torch.tensor([1, 9], device="cuda")
    with pytest.raises(IndexError, match="index 9 (at position 1 )?is out of bounds for dimension 0 with size 5"):
        x[index]
        cuda.synchronize()
    assert (x + 1).tolist() == [1, 2, 3, 4, 5]
    cuda.synchronize()


def test_a_forked_child_says_so():
    code = (
        "import os, strided as torch\n"
        "x = torch.ones(2, device='cuda')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    for device in 'cuda', 'cuda:0':\n"
        "        try: torch.ones(2, device=device)\n"
        "        except RuntimeError as e: os._exit(1) if 'fork' not in str(e) else None\n"
        "        else: os._exit(2)\n"
        "    os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.stdout == "0\n", done.stderr


class Exporter:
    """Another library's array, as far as the protocol shows it."""

    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


def test_cuda_array_interface():
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    info = x.t().__cuda_array_interface__
    assert (info["shape"], info["strides"], info["typestr"], info["version"], info["data"]) == (
        (4, 3),
        (4, 16),
        "<f4",
        3,
        (x.data_ptr(), False),
    )
    assert x.__cuda_array_interface__["strides"] is None and x.__cuda_array_interface__["stream"] == 1
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, device="cuda", requires_grad=True).__cuda_array_interface__
    y = torch.as_tensor(Exporter(x.t()))
    assert y.data_ptr() == x.data_ptr() and torch.equal(y, x.t())
    y.mul_(2)
    assert x.cpu().tolist()[0] == [0, 2, 4, 6]
    assert torch.as_tensor(Exporter(x, data=(x.data_ptr(), True))).is_read_only
    with torch.cuda.stream(cuda.Stream()):
        assert torch.equal(torch.as_tensor(Exporter(x)), x)
    for changes, error in (
        (dict(typestr="<f3"), TypeError), (dict(strides=(3, 1)), ValueError), (dict(strides=(4,)), ValueError),
        (dict(strides=(1 << 62, 4)), ValueError), (dict(shape=(-1, 2)), RuntimeError),
        (dict(data=(np.ones(12).ctypes.data, False)), ValueError), (dict(data=(0, False)), ValueError),
        (dict(mask=x), BufferError), (dict(stream=0), BufferError),
    ):  # fmt: skip
        with pytest.raises(error):
            torch.as_tensor(Exporter(x, **changes))


def test_dlpack():
    x = torch.arange(6.0, device="cuda").reshape(2, 3).t()
    assert x.__dlpack_device__() == (2, 0)
    y = torch.from_dlpack(x)
    assert y.data_ptr() == x.data_ptr() and torch.equal(x, y)
    for stream in (None, 1, -1, cuda.Stream().cuda_stream):
        assert x.__dlpack__(stream=stream, max_version=(1, 0)) is not None
    with pytest.raises(BufferError, match="ambiguous"):
        x.__dlpack__(stream=0)
    with pytest.raises(BufferError):
        torch.ones(2).__dlpack__(stream=1)


def test_kernels_of_the_user_write_only_where_one_may():
    twice = cuda.ElementwiseKernel("T x", "T y", "y = x + x")
    x = torch.ones(3, device="cuda")
    read_only = torch.as_tensor(Exporter(x, data=(x.data_ptr(), True)))
    for out in (read_only, torch.ones(1, device="cuda").expand(3)):
        with pytest.raises(RuntimeError, match="read-only|single memory location"):
            twice(x, out)


def test_a_backward_pass_in_another_stream():
    """It runs in the current stream, behind what the forward pass left in its own, whose memory it uses."""
    torch.manual_seed(0)
    w = torch.randn(300, 300, device="cuda", requires_grad=True)
    x = torch.randn(300, 300, device="cuda")
    want = torch.autograd.grad((x @ w).exp().sum(), w)[0].cpu()
    side = cuda.Stream()
    for _ in range(3):
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            loss = (x @ w).exp().sum()
        w.grad = None
        loss.backward()  # in the default stream
        got = w.grad
        with cuda.stream(side):  # where the memory of the forward pass is free again
            for _ in range(6):
                torch.full((300, 300), 7.0, device="cuda")
        torch.testing.assert_close(got.cpu(), want)


def test_a_child_that_was_forked_after_the_devices_were_counted():
    """The question alone starts the driver, which no child can use."""
    code = (
        "import os, strided as torch\n"
        "assert torch.cuda.is_available()\n"
        "if os.fork() == 0:\n"
        "    assert not torch.cuda.is_available()\n"
        "    try: torch.ones(2, device='cuda')\n"
        "    except RuntimeError as e: print(e, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(torch.ones(2, device='cuda').sum().item())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method",
        "2.0",
    ], done.stderr
