"""The spelling of torch_xla that programs use: loaders, spawn, rendezvous, compile, reports."""

import os
import subprocess
import sys

import pytest
import strided as torch
from xla_calls import metrics, strided_xla, xm


def test_a_loader_moves_batches_and_ends_steps():
    import strided_xla.distributed.parallel_loader as pl

    batches = [{"x": torch.full((2,), float(i)), "y": [i, (torch.ones(1),)]} for i in range(3)]
    loader = pl.MpDeviceLoader(batches, xm.xla_device())
    assert len(loader) == 3
    sums, before = [], metrics.counter_value("ExecuteComputation")
    for batch in loader:
        assert batch["x"].device.type == batch["y"][1][0].device.type == "xla" and isinstance(batch["y"][0], int)
        sums.append((batch["x"] * 3).sum())
    assert metrics.counter_value("ExecuteComputation") - before == 3
    assert [s.item() for s in sums] == [0, 6, 12]
    parallel = pl.ParallelLoader(batches, ["xla:0"])
    assert [b["x"].tolist() for b in parallel.per_device_loader("xla:0")] == [[0, 0], [1, 1], [2, 2]]
    parallel.close()
    with pytest.raises(NotImplementedError, match="2 devices"):
        pl.ParallelLoader(batches, ["xla:0", "xla:1"])
    with pytest.raises(ValueError, match="batches_per_execution"):
        pl.MpDeviceLoader(batches, "xla", batches_per_execution=0)


def test_spawn_and_ordinals():
    import strided_xla.distributed.xla_multiprocessing as xmp
    import strided_xla.runtime as xr

    seen = []
    xmp.spawn(lambda index, name: seen.append((index, name)), args=("a",))
    assert seen == [(0, "a")]
    with pytest.raises(NotImplementedError, match="nprocs=4"):
        xmp.spawn(print, nprocs=4)
    with pytest.raises(NotImplementedError, match="join=False"):
        xmp.spawn(print, join=False)
    assert (xr.world_size(), xr.global_ordinal(), xm.get_ordinal(), xm.get_local_ordinal()) == (1, 0, 0, 0)
    assert xr.device_type() == xm.xla_device_hw("xla") and xr.global_device_count() == strided_xla.device_count()
    assert xm.rendezvous("here", b"mine") == [b"mine"]
    model = xmp.MpModelWrapper(torch.nn.Linear(2, 1)).to("xla")
    assert model.weight.device.type == "xla" and xmp.MpSerialExecutor().run(lambda: 3) == 3


def test_compile_is_one_step():
    @strided_xla.compile
    def step(x):
        return x * 5 - 2

    x = torch.ones(3, device="xla")
    step(x)
    before = metrics.counter_value("UncachedCompile"), metrics.counter_value("ExecuteComputation")
    y = step(x)
    after = metrics.counter_value("UncachedCompile"), metrics.counter_value("ExecuteComputation")
    assert (after[0] - before[0], after[1] - before[1]) == (0, 1) and y.tolist() == [3, 3, 3]

    @strided_xla.compile(full_graph=True)
    def reads(x):
        return x * (x + 1).sum().item()

    with pytest.raises(RuntimeError, match="full_graph"):
        reads(x)

    few = strided_xla.compile(lambda x: x * 7 + 1, num_different_graphs_allowed=1)
    few(x)
    with pytest.raises(RuntimeError, match="2 programs, 1 were allowed"):
        few(torch.ones(5, device="xla"))


def test_optimizer_step_closures_and_save(tmp_path):
    w = torch.ones(2, device="xla", requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    (w * 2).sum().backward()
    said = []
    xm.add_step_closure(said.append, args=("step",))
    xm.optimizer_step(optimizer, barrier=True)
    xm.mark_step()
    assert said == ["step"] and w.tolist() == [0, 0]
    xm.save({"w": w.detach(), "n": [1]}, tmp_path / "w.pt")
    loaded = torch.load(tmp_path / "w.pt")
    assert loaded["w"].device.type == "cpu" and loaded["w"].tolist() == [0, 0]


def test_reports():
    metrics.clear_all()
    assert metrics.counter_value("ExecuteComputation") == 0 and metrics.counter_value("no such") is None
    (torch.ones(3, device="xla") + 1).tolist()
    assert "Counter: ExecuteComputation\n  Value: 1\n" in metrics.metrics_report()
    assert "ExecuteComputation: 1" in metrics.short_metrics_report()


def test_a_program_of_torch_xla_runs():
    code = """
import torch, torch_xla, torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl, torch_xla.distributed.xla_multiprocessing as xmp
import torch_xla.runtime as xr, torch_xla.debug.metrics as met

def train(index):
    device = torch_xla.device()
    model = torch.nn.Linear(2, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in pl.MpDeviceLoader([(torch.ones(4, 2), torch.zeros(4, 1))] * 3, device):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        xm.optimizer_step(optimizer)
    xm.master_print(index, xr.world_size(), met.metrics_report().count("Counter"), model.weight.device)

xmp.spawn(train, args=())
torch_xla.sync()
"""
    command = [sys.executable, "-m", "strided", "run", "-c", code]
    env = dict(os.environ, PJRT_DEVICE="CPU")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.stdout.split() == ["0", "1", "3", "xla:0"], done.stderr[-1000:]
