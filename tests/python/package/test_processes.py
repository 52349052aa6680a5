"""torch.multiprocessing: processes, and the memory that they share."""

import importlib
import os
import signal
import subprocess
import sys

import pytest
import strided as torch


def test_processes_have_a_module_of_their_own():
    module = importlib.import_module("strided.multiprocessing.spawn")
    assert torch.multiprocessing.spawn is module.spawn  # the function covers the module, as in PyTorch
    assert torch.multiprocessing.ProcessRaisedException is module.ProcessRaisedException
    assert module.SpawnContext is module.ProcessContext and not hasattr(module, "set_sharing_strategy")


def test_processes(tmp_path):
    (tmp_path / "program.py").write_text("""
import strided.multiprocessing as mp, strided as torch

def fill(i, shared, sent):
    shared[i] += 1 + sent.sum()

def fail(i):
    if i == 1:
        raise ValueError("from process one")

if __name__ == "__main__":
    shared = torch.zeros(2).share_memory_()
    mp.start_processes(fill, (shared, torch.ones(2)), nprocs=2, start_method="fork")
    print(shared.tolist(), shared.is_shared(), torch.zeros(2).is_shared())
    print(shared.untyped_storage().is_shared(), shared.storage().is_shared())
    try:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    except mp.ProcessRaisedException as error:
        print(error.error_index, "from process one" in str(error))
""")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[3.0, 3.0] True False\nTrue True\n1 True\n", done.stderr[-2000:]


def test_spawned_processes_share_memory(tmp_path):
    """Parameters, views and what a queue brings back: each side sees what the other writes."""
    (tmp_path / "program.py").write_text("""
import strided.multiprocessing as mp, strided as torch

def work(model, column, copied, there, back):
    with torch.no_grad():
        model.weight += 1
    model.running_mean.fill_(7)
    column.fill_(5)
    copied.fill_(5)
    made = torch.zeros(3).share_memory_()
    there.put(made)
    back.get()
    print(made.tolist(), type(model.weight).__name__, model.weight.requires_grad, model.weight.is_shared())

if __name__ == "__main__":
    context = mp.get_context("spawn")
    model = torch.nn.BatchNorm1d(2).share_memory()
    table, copied = torch.zeros(2, 3).share_memory_(), torch.zeros(2)
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=work, args=(model, table[:, 1], copied, there, back))
    process.start()
    got = there.get()
    got[1] = 4
    back.put(0)
    process.join()
    print(model.weight.tolist(), model.running_mean.tolist(), table.tolist(), copied.tolist(), process.exitcode)
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    model(torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum().backward()
    optimizer.step()
    print(model.weight.is_shared())
""")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == (
        "[0.0, 4.0, 0.0] Parameter True True\n"
        "[2.0, 2.0] [7.0, 7.0] [[0.0, 5.0, 0.0], [0.0, 5.0, 0.0]] [0.0, 0.0] 0\nTrue\n"
    ), done.stderr[-2000:]


def test_a_process_that_fails_during_join():
    """It ends badly after join() has looked at it: the next look finds it."""
    receive, send = os.pipe()
    os.close(send)

    class Process:
        pid, sentinel = 1, receive

        def __init__(self, *codes):
            self.codes = list(codes)

        @property
        def exitcode(self):
            return self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]

        def is_alive(self):
            return False

        def poll(self):
            return False

        def join(self, timeout=None):
            pass

    processes = [Process(0), Process(None, None, 1)]
    context = torch.multiprocessing.ProcessContext(processes, processes)
    assert context.join() is False
    with pytest.raises(torch.multiprocessing.ProcessExitedException, match="process 1 terminated with exit code 1"):
        context.join()
    os.close(receive)


def kill_self(i):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_a_signal_ends():
    mp = torch.multiprocessing
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with signal SIGKILL") as error:
        mp.start_processes(kill_self, start_method="fork")
    assert (error.value.exit_code, error.value.signal_name) == (-9, "SIGKILL")


def test_sharing_strategies():
    mp = torch.multiprocessing
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies() and mp.Queue and mp.Process
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("telepathy")
