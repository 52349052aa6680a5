"""A training program written for PyTorch, as it stands, on two ranks: the same losses as PyTorch's own."""

import importlib.util
import os
import socket
import subprocess
import sys

import pytest
from strided import _launch

torch = pytest.importorskip("torch")
HAS_MPI = bool(_launch.find_mpiexec(os.environ) and importlib.util.find_spec("mpi4py"))

PROGRAM = """\
import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data import DataLoader, TensorDataset

def main():
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    rank = int(os.environ["RANK"])
    world = int(os.environ["WORLD_SIZE"])
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device(f"cuda:{local}" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(42)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    model = DDP(model, device_ids=[local] if torch.cuda.is_available() else None)
    ds = TensorDataset(torch.randn(64, 10), torch.randn(64, 1))
    sampler = DistributedSampler(ds, num_replicas=world, rank=rank, shuffle=True)
    loader = DataLoader(ds, batch_size=8, sampler=sampler)
    opt = optim.AdamW(model.parameters(), lr=1e-3)
    lossf = nn.MSELoss()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            loss = lossf(model(x.to(device)), y.to(device))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        t = loss.detach().clone()
        dist.all_reduce(t, op=dist.ReduceOp.SUM)
        if dist.get_rank() == 0:
            print("epoch", epoch, round(t.item() / world, 5))
    dist.barrier()
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def launch(*words, **variables):
    command = [sys.executable, "-m", "strided", "launch", "-n", "2", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.skipif(not HAS_MPI, reason="no mpiexec or no mpi4py: pip install 'strided[mpi]'")
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")
def test_the_same_losses(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    ours, said = launch("--as-torch", str(script))
    assert said.count("UserWarning") == 1  # that gloo is MPI here
    theirs, _ = launch(str(script), MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    losses = [[float(line.split()[-1]) for line in text.splitlines()] for text in (ours, theirs)]
    assert len(losses[0]) == 2 and losses[0] == pytest.approx(losses[1], abs=2e-5)
