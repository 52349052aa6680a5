"""Trains one network on several ranks: each computes a part of every batch, gradients are averaged.

    python examples/data_parallel.py                                # one process, the whole batch
    python -m strided launch -n 4 examples/data_parallel.py         # four ranks, a quarter of it each: the same losses
    srun python -m strided launch examples/data_parallel.py         # in a job of Slurm (examples/slurm.sh)

The task: which of two spirals a point in the plane belongs to (K. Lang and M. Witbrock, "Learning to Tell Two Spirals
Apart", 1988). Needs ``pip install 'strided[mpi]'`` for more than one rank.
"""

import argparse
import math
from typing import Any

import strided as torch
from strided import distributed as dist
from strided.utils.data import DataLoader, DistributedSampler, TensorDataset

nn: Any = torch.nn
optim: Any = torch.optim


def read_options():
    parser = argparse.ArgumentParser(description="Trains a network on several ranks.")
    parser.add_argument("--epochs", type=int, default=60, help="times to go through the data (default: 60)")
    parser.add_argument(
        "--batch", type=int, default=96, help="points for one step, of all ranks together (default: 96)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    return parser.parse_args()


def spirals(n):
    """n points of each spiral, (2 n, 2), and which one they are on."""
    t = torch.linspace(0.5, 3, n, dtype=torch.float64) * math.pi
    arm = torch.stack([t * t.cos(), t * t.sin()], 1) / (3 * math.pi)
    return torch.cat([arm, -arm]), torch.cat([torch.zeros(n), torch.ones(n)]).long()


def main():
    options = read_options()
    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    if options.batch % size:
        raise SystemExit(f"a batch of {options.batch} points does not go evenly into {size} ranks")

    x, y = spirals(480)
    data = TensorDataset(x, y)
    sampler: Any = DistributedSampler(data, seed=options.seed)
    loader: Any = DataLoader(data, options.batch // size, sampler=sampler)
    torch.manual_seed(options.seed)
    net = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2)).double()
    net = nn.parallel.DistributedDataParallel(net)
    optimizer = optim.Adam(net.parameters(), lr=0.01)

    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros((), dtype=torch.float64)
        for points, arms in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(points), arms)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        total /= len(loader)
        dist.all_reduce(total, dist.ReduceOp.AVG)
        if rank == 0:
            print(f"epoch {epoch + 1:3}: loss {total.item():.6f}", flush=True)

    with torch.no_grad():
        right = (net(x).argmax(1) == y).sum()
    if rank == 0:
        print(f"{right.item()} of {len(y)} points are on the right spiral; {size} rank(s)")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
