"""Several Python threads at once, and processes forked after the thread pool was used."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import strided as torch


def _run_at_once(works):
    """Runs all at once and raises what any of them raised."""
    errors, start = [], threading.Barrier(len(works))

    def one(work):
        try:
            start.wait()
            work()
        except BaseException as error:  # noqa: BLE001  (raised again below)
            errors.append(error)

    threads = [threading.Thread(target=one, args=(w,)) for w in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive()
    if errors:
        raise errors[0]


def _numbers(k):
    return (torch.arange(200_000, dtype=torch.float64) * (k + 1)) % 1009


@pytest.mark.parametrize("pool", [1, 2, 4])
def test_operations_at_once(pool):
    torch.set_num_threads(pool)
    x = [_numbers(k) for k in range(3)]
    m = [t[:40_000].reshape(200, 200) for t in x]
    expected = [(t.sum().item(), (t * 2 + 1).max().item(), t.sort().values[1000].item(), (a @ a)[3, 4].item()) for t, a in zip(x, m)]

    def work(k):
        for _ in range(8):
            got = (x[k].sum().item(), (x[k] * 2 + 1).max().item(), x[k].sort().values[1000].item(), (m[k] @ m[k])[3, 4].item())
            assert got == expected[k]

    _run_at_once([lambda k=k: work(k) for k in range(3)])


def test_one_tensor_read_by_all():
    torch.set_num_threads(2)
    x = _numbers(1)
    total, rows = x.sum().item(), x.view(400, 500).sum(1)

    def work():
        for i in range(200):
            assert x.view(400, 500)[i].sum().item() == rows[i].item()
            assert x[i:].unsqueeze(0).squeeze(0).shape == (200_000 - i,)
        assert x.sum().item() == total

    _run_at_once([work] * 3)


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

    _run_at_once([change, add])


def test_grad_mode_belongs_to_its_thread():
    seen = {}

    def work():
        seen["other"] = torch.is_grad_enabled()

    with torch.no_grad():
        _run_at_once([work])
        assert not torch.is_grad_enabled()
    assert seen["other"] is True


def test_generators_at_once():
    def draws(g):
        return [torch.rand(1000, generator=g).sum().item() for _ in range(20)]

    expected = [draws(torch.Generator().manual_seed(k)) for k in range(3)]
    got = [None] * 3

    def work(k):
        got[k] = draws(torch.Generator().manual_seed(k))

    _run_at_once([lambda k=k: work(k) for k in range(3)])
    assert got == expected
    _run_at_once([lambda: [torch.rand(1000) for _ in range(20)]] * 3)  # the default generator, shared


def test_tensors_die_in_other_threads():
    before = torch.memory.memory_stats()["allocated_bytes"]
    box = [torch.ones(1000) for _ in range(300)]

    def work():
        while True:
            try:
                box.pop() + 1
            except IndexError:
                return

    _run_at_once([work] * 3)
    assert torch.memory.memory_stats()["allocated_bytes"] == before


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
    assert _child_status(lambda: x.sum().item() == 2_000_000 and _child_status(lambda: x.sort().values.sum().item() == 2_000_000) == 0) == 0
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

    _run_at_once([busy, several_forks])


def test_exit_while_the_pool_and_threads_live():
    """The interpreter ends cleanly although the pool's threads wait, a daemon thread computes and tensors are still alive."""
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
