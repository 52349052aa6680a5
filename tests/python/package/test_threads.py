"""Several Python threads at once, and processes forked after the thread pool was used."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import strided as torch
from threads_at_once import run_at_once


def _numbers(k):
    return (torch.arange(200_000, dtype=torch.float64) * (k + 1)) % 1009


@pytest.mark.parametrize("pool", [1, 2, 4])
def test_operations_at_once(pool):
    torch.set_num_threads(pool)
    x = [_numbers(k) for k in range(3)]
    m = [t[:40_000].reshape(200, 200) for t in x]
    expected = [
        (t.sum().item(), (t * 2 + 1).max().item(), t.sort().values[1000].item(), (a @ a)[3, 4].item())
        for t, a in zip(x, m)
    ]

    def work(k):
        for _ in range(8):
            got = (
                x[k].sum().item(),
                (x[k] * 2 + 1).max().item(),
                x[k].sort().values[1000].item(),
                (m[k] @ m[k])[3, 4].item(),
            )
            assert got == expected[k]

    run_at_once([lambda k=k: work(k) for k in range(3)])


def test_one_tensor_read_by_all():
    torch.set_num_threads(2)
    x = _numbers(1)
    total, rows = x.sum().item(), x.view(400, 500).sum(1)

    def work():
        for i in range(200):
            assert x.view(400, 500)[i].sum().item() == rows[i].item()
            assert x[i:].unsqueeze(0).squeeze(0).shape == (200_000 - i,)
        assert x.sum().item() == total

    run_at_once([work] * 3)


def test_changing_the_number_of_threads_meanwhile():
    x = _numbers(2)
    total = x.sum().item()
    stop = threading.Event()

    def change():
        for i in range(60):
            torch.set_num_threads(1 + i % 4)
            time.sleep(0.001)
        stop.set()

    def add():
        while not stop.is_set():
            assert x.sum().item() == total  # bitwise the same for any number of threads

    run_at_once([change, add])


@pytest.mark.parametrize("change", ["x.resize_(2 * x.numel())", "x.data = torch.ones(3)"])
def test_memory_that_a_kernel_writes_stays_while_it_runs(change):
    def compute(a, x):
        try:
            torch.lgamma(a, out=x)
        except RuntimeError:
            pass  # it may notice that the result has another shape now

    a = torch.full((2_000_000,), 3.5, dtype=torch.float64)
    for attempt in range(50):
        if attempt % 10 == 9:  # a faster processor
            a = a.repeat(2)
        x = torch.empty_like(a)
        kernel = threading.Thread(target=compute, args=(a, x))
        kernel.start()
        time.sleep(0.005)
        exec(change)
        others = [torch.zeros_like(a) for _ in range(3)]  # one of them would be where x was
        ran = kernel.is_alive()
        kernel.join()
        assert not any(other.any() for other in others)
        if ran:
            return
    pytest.fail("the kernel ended before the change, fifty times")


def test_grad_mode_belongs_to_its_thread():
    seen = {}

    def work():
        seen["other"] = torch.is_grad_enabled()

    with torch.no_grad():
        run_at_once([work])
        assert not torch.is_grad_enabled()
    assert seen["other"] is True


def test_generators_at_once():
    def draws(g):
        return [torch.rand(1000, generator=g).sum().item() for _ in range(20)]

    expected = [draws(torch.Generator().manual_seed(k)) for k in range(3)]
    got = [None] * 3

    def work(k):
        got[k] = draws(torch.Generator().manual_seed(k))

    run_at_once([lambda k=k: work(k) for k in range(3)])
    assert got == expected
    run_at_once([lambda: [torch.rand(1000) for _ in range(20)]] * 3)  # the default generator, shared


def test_tensors_die_in_other_threads():
    gc.collect()  # what other tests left
    before = torch.memory.memory_stats()["allocated_bytes"]
    box = [torch.ones(1000) for _ in range(300)]

    def work():
        while True:
            try:
                box.pop() + 1
            except IndexError:
                return

    run_at_once([work] * 3)
    assert torch.memory.memory_stats()["allocated_bytes"] == before


def test_a_dlpack_consumer_gives_a_tensor_back_without_the_interpreters_lock():
    """Counts of handles are changed under that lock only, which the deleter takes (conftest.py has this checked)."""
    x = torch.ones(1000)
    before = torch.memory.memory_stats()["allocated_bytes"]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    used = b"used_dltensor"

    def work():
        for _ in range(50):
            capsule = x.__dlpack__()
            managed = pointer(capsule, b"dltensor")
            rename(capsule, used)
            # DLManagedTensor: a DLTensor of 48 bytes, the context, the deleter. A call by ctypes gives the lock up.
            deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(managed + 56).value)
            deleter(managed)

    run_at_once([work] * 3)
    gc.collect()
    assert torch.memory.memory_stats()["allocated_bytes"] == before


# ---------------------------------------------------------------- random numbers


@pytest.mark.parametrize("n", [10, 6_000])
def test_every_number_is_drawn_once(n):
    """Whatever the order of the threads, together they draw the numbers that one would."""
    torch.manual_seed(5)
    drawn = [[] for _ in range(4)]

    def work(k):
        for _ in range(100):
            drawn[k].append(torch.rand(n, dtype=torch.float64))

    def looks():
        for _ in range(300):
            torch.get_rng_state()
            torch.initial_seed()

    run_at_once([*(lambda k=k: work(k) for k in range(4)), looks])
    together = torch.cat([t for part in drawn for t in part]).sort().values
    torch.manual_seed(5)
    assert torch.equal(together, torch.cat([torch.rand(n, dtype=torch.float64) for _ in range(400)]).sort().values)


def test_one_generator_in_many_ways():
    """Nobody waits for a generator with the interpreter's lock, which who draws from it wants back."""
    torch.set_num_threads(2)
    g = torch.Generator().manual_seed(1)
    weights, p = torch.rand(300), torch.full((50_000,), 0.25)
    kinds = [
        lambda: torch.rand(200_000, generator=g),
        lambda: torch.randn(200_000, generator=g),
        lambda: torch.randint(0, 9, (200_000,), generator=g),
        lambda: torch.randperm(50_000, generator=g),
        lambda: torch.bernoulli(p, generator=g),
        lambda: torch.multinomial(weights, 5_000, replacement=True, generator=g),
        lambda: torch.empty(50_000).exponential_(generator=g),
        lambda: g.set_state(g.get_state()),
        lambda: g.manual_seed(3),
        lambda: g.initial_seed(),
    ]

    def work(first):
        for i in range(20):
            kinds[(first + i) % len(kinds)]()

    run_at_once([lambda k=k: work(k) for k in range(0, 10, 3)])


# ---------------------------------------------------------------- the interpreter's lock


F = torch.arange(1_000_000.0) * 7919 % 1_000_003  # in no order
K = (torch.arange(400_000) * 7919) % 100_003
D = torch.eye(700, dtype=torch.float64) * 40 + (torch.arange(490_000.0).view(700, 700) % 7).double()
P = D @ D.T
G = F.repeat(8)
L = K.repeat(8)
SMALL = torch.eye(3).repeat(240_000, 1, 1) + 0.1
# Each takes some milliseconds on a fast processor: the other thread looks up five times a millisecond at most.
LONG_KERNELS = {
    "matmul": lambda: D @ D,
    "integer matmul": lambda: K[:250_000].view(500, 500) @ K[:250_000].view(500, 500),
    "solve": lambda: torch.linalg.solve(D, D),
    "inverse": lambda: torch.linalg.inv(D),
    "lu": lambda: torch.linalg.lu_factor(D),
    "cholesky": lambda: torch.linalg.cholesky(P),
    "triangular": lambda: torch.linalg.solve_triangular(P, D, upper=False),
    "many small": lambda: torch.linalg.solve(SMALL, SMALL),
    "sort": lambda: F.sort(),
    "sort rows": lambda: G.view(8000, 1000).sort(1),
    "argsort of integers": lambda: K.argsort(),
    "median": lambda: G.median(),
    "topk": lambda: F.topk(100_000),
    "kthvalue": lambda: G.repeat(2).kthvalue(8_000_000),
    "mode": lambda: K.mode(),
    "unique": lambda: F.unique(),
    "unique rows": lambda: torch.unique(K.view(-1, 2), dim=0),
    "cumsum": lambda: G.cumsum(0),
    "logcumsumexp": lambda: F.logcumsumexp(0),
    "cummax": lambda: G.cummax(0),
    "rand": lambda: torch.rand(16_000_000),
    "randn": lambda: torch.randn(6_000_000),
    "randperm": lambda: torch.randperm(1_600_000),
    "bernoulli": lambda: torch.bernoulli(torch.rand(400_000)),
    "multinomial": lambda: torch.multinomial(F[:1000], 200_000, replacement=True),
    "poisson": lambda: torch.poisson(F[:200_000]),
    "elementwise": lambda: G.lgamma(),
    "broadcast": lambda: torch.atan2(G.view(8000, 1000), F[:1000]),
    "reduction": lambda: G.logsumexp(0) + G.var() + G.norm(3),
    "softmax": lambda: G.view(800, 10_000).softmax(1),
    "copy": lambda: G.view(200, 200, 200).permute(2, 1, 0).contiguous(),
    "cast": lambda: G.to(torch.float64),
    "cat": lambda: torch.cat([G, F, G]),
    "index": lambda: G[K.repeat(10)],
    "index_put": lambda: F.clone().index_put_((L,), G[:3_200_000], accumulate=True),
    "scatter_add": lambda: F.clone().scatter_add_(0, L, G[:3_200_000]),
    "mask": lambda: G[G > 500_000],
    "backward": lambda: (G.clone().requires_grad_() * 2).tanh().sum().backward(),
}


@pytest.mark.alone
@pytest.mark.parametrize("name", LONG_KERNELS)
def test_others_run_during_long_kernels(name):
    """Another Python thread goes on while the kernel runs: it does something in each third of the call, in one of a
    hundred calls. (The machine may be busy. But a kernel that holds the interpreter's lock lets it do nothing in any of
    them, because the time after which threads of Python take turns is set longer than that.)"""
    torch.set_num_threads(1)
    work, stop, times = LONG_KERNELS[name], threading.Event(), []

    def ticks():
        while not stop.is_set():
            times.append(time.perf_counter())
            time.sleep(0.0002)

    def watch():
        try:
            work()
            for _ in range(100):
                del times[:]
                start = time.perf_counter()
                work()
                end = time.perf_counter()
                if {int(3 * (t - start) / (end - start)) for t in list(times)} >= {0, 1, 2}:
                    return
        finally:
            stop.set()
        raise AssertionError(f"{name} kept the interpreter's lock")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)
    try:
        run_at_once([ticks, watch])
    finally:
        sys.setswitchinterval(interval)


# ---------------------------------------------------------------- processes

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def _child_status(work, seconds=30):
    """Forks, runs `work` in the child, and returns the exit status: 0 when it came back with True."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)  # a child that hangs must not hang the tests
        try:
            os._exit(0 if work() else 1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
    return os.waitpid(pid, 0)[1]


@fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_after_use():
    torch.set_num_threads(2)
    x = torch.ones(2_000_000)
    assert x.sum().item() == 2_000_000  # the pool runs
    assert _child_status(lambda: x.sum().item() == 2_000_000 and (x + x).sum().item() == 4_000_000) == 0
    # A child of a child, and the parent afterwards.
    assert (
        _child_status(
            lambda: (
                x.sum().item() == 2_000_000 and _child_status(lambda: x.sort().values.sum().item() == 2_000_000) == 0
            )
        )
        == 0
    )
    assert x.sum().item() == 2_000_000


@fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_while_another_thread_computes():
    torch.set_num_threads(2)
    x = torch.ones(300_000)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            (x + 1).sum()

    def several_forks():
        try:
            for _ in range(5):
                assert _child_status(lambda: (x * 2).sum().item() == 600_000) == 0
        finally:
            stop.set()

    run_at_once([busy, several_forks])


def test_exit_while_the_pool_and_threads_live():
    """The interpreter ends cleanly although the pool's threads wait, a daemon thread computes and tensors are still
    alive."""
    code = (
        "import threading, strided as torch\n"
        "torch.set_num_threads(3)\n"
        "x = torch.ones(500_000)\n"
        "def work():\n"
        "    while True: (x + 1).sum()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "import numpy; a = x.numpy(); t = torch.from_numpy(numpy.ones(3))\n"
        "print(int(x.sum()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "500000\n"), done.stderr


@fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_while_others_hold_locks():
    """The child finds the generator and the locks of the leaves free, although a thread of its parent used them."""
    torch.set_num_threads(1)
    x = torch.ones(200_000, requires_grad=True)
    x.grad = torch.zeros(200_000)
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            torch.rand(300_000)

    def add():
        while not stop.is_set():
            x.sum().backward()

    def child():
        torch.rand(10)
        torch.randperm(5_000)
        x.grad = None
        (x * 2).sum().backward()
        return x.grad.sum().item() == 400_000 and float(torch.rand(5_000).max()) < 1

    def several_forks():
        try:
            for _ in range(10):
                assert _child_status(child) == 0
        finally:
            stop.set()

    run_at_once([draw, add, several_forks])


def _run_program(code, seconds=60):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=seconds)


def test_exit_while_threads_run_backward_and_draw():
    code = """
import threading, time, strided as torch
torch.set_num_threads(1)
x = torch.ones(200_000, requires_grad=True)
def backward():
    while True: (x * 2).sin().sum().backward()
def draw():
    while True: torch.rand(300_000)
class Late:
    def __del__(self): print(torch.rand(5000).shape[0], (torch.ones(3, requires_grad=True) * 2).sum().item())
late = Late()
y = x * 2
y.register_hook(lambda g: late)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (late, t), lambda kept: kept[1]):
    z = y.exp()
for work in (backward, draw, backward, draw):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""
    for _ in range(3):
        done = _run_program(code)
        assert done.returncode == 0 and done.stdout.startswith("end\n"), done.stderr


@pytest.mark.parametrize("work", ["torch.linalg.inv(d)", "(x * 2).sin().sum().backward()", "torch.rand(10**6)",
    "f.sort()"])  # fmt: skip
def test_keyboard_interrupt(work):
    """It comes at the end of the operation that runs, whichever thread that is in, and nothing is left locked."""
    code = f"""
import os, signal, threading, time, strided as torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have it ignored
torch.set_num_threads(2)
d = torch.eye(400, dtype=torch.float64) + 0.01
x = torch.ones(400_000, requires_grad=True)
f = torch.rand(300_000)
def work():
    while True: {work}
threading.Thread(target=work, daemon=True).start()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    work()
except KeyboardInterrupt:
    pass
torch.linalg.inv(d), (x * 2).sum().backward(), torch.rand(10**5), f.sort()
print("went on")
"""
    done = _run_program(code)
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr


def test_a_tensor_that_is_given_its_own_data():
    x = torch.arange(3.0)
    x.data = x
    x.data = x.data[1:]
    assert x.tolist() == [1, 2]


def test_threads_with_little_stack():
    """Where threads get 256 KiB of stack (coroutine servers, musl's default is less than 1 MiB) nothing overflows."""
    script = """
import threading, strided as torch
a = torch.rand(300, 300)
s = torch.rand(40, 16, 16)
def work():
    for x in (torch.rand(200_000), torch.randint(0, 10**15, (200_000,)), torch.rand(50_000).half()):
        for descending in (False, True):
            torch.sort(x, descending=descending), torch.argsort(x, stable=True), torch.topk(x, 50)
    for f in (torch.linalg.svd, torch.linalg.eigh, torch.linalg.qr, torch.linalg.eigvals, torch.linalg.inv):
        f(a), f(s)
    torch.nn.functional.grid_sample(s.double()[None], torch.rand(1, 9, 9, 2).double(), "bicubic", align_corners=True)
    a @ a, a.cfloat() @ a.cfloat(), a.int() @ a.int(), a.half() @ a.half()
    torch.fft.fft2(a), a.unique(), a.std(0), a.softmax(0)
    y = x = torch.ones(1, requires_grad=True)
    for _ in range(20_000):
        y = y + 1
    y.backward()
    print("done")
threading.stack_size(256 * 1024)
t = threading.Thread(target=work)
t.start()
t.join()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr[-500:]
