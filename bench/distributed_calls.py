"""What a call on sharded tensors costs beside the same call on the shard, in microseconds: no data to speak of, no
transfer.

    python bench/distributed_calls.py [--size 16]
"""

from __future__ import annotations

import argparse
import time

import strided as torch
from strided.distributed import Replicate, Shard, distribute_tensor, init_device_mesh, simulate

CALLS = {
    "exp(a)": lambda a, b, row, one, mask, terms: torch.exp(a),
    "a.exp()": lambda a, b, row, one, mask, terms: a.exp(),
    "-a": lambda a, b, row, one, mask, terms: -a,
    "a + b": lambda a, b, row, one, mask, terms: a + b,
    "a < b": lambda a, b, row, one, mask, terms: a < b,
    "a * 2.0": lambda a, b, row, one, mask, terms: a * 2.0,
    "1.0 / a": lambda a, b, row, one, mask, terms: 1.0 / a,
    "a ** 2": lambda a, b, row, one, mask, terms: a**2,
    "a * one": lambda a, b, row, one, mask, terms: a * one,
    "a * row": lambda a, b, row, one, mask, terms: a * row,
    "add(a, b, alpha=2)": lambda a, b, row, one, mask, terms: torch.add(a, b, alpha=2),
    "a.clamp(0, 1)": lambda a, b, row, one, mask, terms: a.clamp(0, 1),
    "a.clamp(min=0)": lambda a, b, row, one, mask, terms: a.clamp(min=0),
    "addcmul(a, a, b)": lambda a, b, row, one, mask, terms: torch.addcmul(a, a, b),
    "where(mask, a, b)": lambda a, b, row, one, mask, terms: torch.where(mask, a, b),
    "a.add_(b)": lambda a, b, row, one, mask, terms: a.add_(b),
    "gelu(a)": lambda a, b, row, one, mask, terms: torch.nn.functional.gelu(a),
    "a.clone()": lambda a, b, row, one, mask, terms: a.clone(),
    "a.sum()": lambda a, b, row, one, mask, terms: a.sum(),
    "a.sum(1)": lambda a, b, row, one, mask, terms: a.sum(1),
    "a.mean(0)": lambda a, b, row, one, mask, terms: a.mean(0),
    "a.amax(1)": lambda a, b, row, one, mask, terms: a.amax(1),
    "terms * 2.0": lambda a, b, row, one, mask, terms: terms * 2.0,
    "terms + terms": lambda a, b, row, one, mask, terms: terms + terms,
    "a.double()": lambda a, b, row, one, mask, terms: a.double(),
}


def program(size, rounds=40, repeats=50):
    mesh = init_device_mesh("cpu", (1,))
    mask = torch.zeros(size, 3) > 0
    plain = [torch.ones(size, 3), torch.ones(size, 3), torch.ones(3), torch.ones(()), mask]
    plain.append(torch.ones(3))
    cut = [distribute_tensor(t, mesh, [Shard(0) if t.ndim == 2 else Replicate()]) if t.ndim else t for t in plain[:5]]
    cut.append(cut[0].sum(0))
    for name, call in CALLS.items():
        best = [1.0, 1.0]
        for _ in range(rounds):  # in turns, so that both see the same machine
            for i, given in enumerate((plain, cut)):
                start = time.perf_counter()
                for _ in range(repeats):
                    call(*given)
                best[i] = min(best[i], (time.perf_counter() - start) / repeats)
        local, sharded = (1e6 * t for t in best)
        print(f"{name:20} shard {local:6.2f}  sharded {sharded:6.2f}  more {sharded - local:6.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=16, help="rows of three elements")
    torch.set_num_threads(1)
    simulate(1, program, parser.parse_args().size)
