"""Distributed linear algebra: measured bytes, messages and time beside the alpha-beta model, and beside gathering.

    mpiexec -n 4 python bench/distributed.py --n 1500 --block 64
    python bench/distributed.py --curve            # what the model says up to 4096 ranks; needs no MPI

alpha (a message), beta (an element) and gamma (an operation) are measured first, on the same ranks.  "gathered" is the
way that needs no distributed algorithm: every rank collects the whole matrix and computes all of it.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("STRIDED_DISTRIBUTED_CHECKS", "0")

import strided as torch
from strided.distributed.linalg import _cholesky, _lu, _matmul, _model

ITEM = 8  # bytes of a float64


def best(comm, run, repeats=2):
    """(the least time of a few runs, bytes and messages that all ranks sent in one)."""
    times = []
    for _ in range(repeats):
        comm.barrier()
        comm.traffic.reset()
        start = time.perf_counter()
        run()
        comm.barrier()
        times.append(time.perf_counter() - start)
    counts = torch.tensor([comm.traffic.sent, comm.traffic.messages], dtype=torch.float64)
    comm.all_reduce(counts)
    return min(times), *counts.tolist()


def constants(comm):
    """(alpha, beta, gamma) in seconds, measured between the first two ranks and in one product on every rank."""

    def there_and_back(numel, repeats):
        x = torch.zeros(numel, dtype=torch.float64)
        comm.barrier()
        start = time.perf_counter()
        if comm.rank < 2:
            for _ in range(repeats):
                (comm.send if comm.rank == 0 else comm.recv)(x, 1 - comm.rank)
                (comm.recv if comm.rank == 0 else comm.send)(x, 1 - comm.rank)
        return (time.perf_counter() - start) / (2 * repeats)

    alpha = beta = 0.0
    if comm.size > 1:
        there_and_back(1, 50)
        alpha = there_and_back(1, 200)
        beta = max(0.0, there_and_back(1 << 20, 3) - alpha) / (1 << 20)
    x = torch.randn(700, 700, dtype=torch.float64)
    x @ x
    comm.barrier()
    start = time.perf_counter()
    x @ x
    gamma = (time.perf_counter() - start) / (2 * 700**3)
    numbers = torch.tensor([alpha, beta, gamma], dtype=torch.float64)
    comm.broadcast(numbers, 0)
    return numbers.tolist()


def measure(arguments):
    torch.set_num_threads(1)
    comm = torch.distributed.world()
    n, block = arguments.n, arguments.block
    grid = torch.distributed.linalg.Grid(comm, arguments.rows)
    P, Q = grid.rows, grid.columns
    alpha, beta, gamma = constants(comm)
    cores = len(os.sched_getaffinity(0))
    show = print if comm.rank == 0 else lambda *_: None
    show(f"{comm.size} ranks as {P} x {Q} on {cores} cores, n = {n}, blocks of {block}, float64")
    show(f"alpha {alpha * 1e6:.1f} us, beta {beta * 1e9:.2f} ns an element, gamma {1e-9 / gamma:.1f} GF a core")
    make = torch.distributed.linalg.Matrix
    A = make(torch.empty(0, 0, dtype=torch.float64), (0, 0), block, grid).new((n, n), None)
    A.local.copy_(torch.randn(*A.local.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(comm.rank)))
    H = _matmul.product(A, A, adjoint="left")
    H.local.add_(H.eye(n).local)
    whole = lambda M: torch.distributed.linalg.to_full(M)  # noqa: E731
    work = [
        ("matmul", lambda: _matmul.product(A, A), lambda: whole(A) @ whole(A), 2 * n**3,
         _model.matmul(n, n, n, P, Q), _model.matmul_messages(n, block, P, Q)),
        ("LU", lambda: _lu.lu_inplace(A.with_local(A.local.clone()), arguments.pivoting),
         lambda: torch.linalg.lu_factor(whole(A)), 2 / 3 * n**3,
         _model.lu(n, block, P, Q), _model.lu_messages(n, block, P, Q, arguments.pivoting)),
        ("Cholesky", lambda: _cholesky.cholesky_inplace(H.with_local(H.local.clone())),
         lambda: torch.linalg.cholesky(whole(H)), n**3 / 3,
         _model.cholesky(n, block, P, Q), _model.cholesky_messages(n, block, P, Q)),
    ]  # fmt: skip
    show(f"{'':10}{'bytes/model':>12}{'messages/model':>16}{'time/model':>12}{'of GEMM rate':>14}"
         f"{'gathered/time':>15}{'gathered/bytes':>16}")  # fmt: skip
    for name, run, gathered, flops, words, messages in work:
        took, sent, count = best(comm, run)
        other, _, _ = best(comm, gathered)
        model = _model.seconds(words, messages, flops, comm.size, alpha, beta, gamma, cores)
        ratio = [sent / ITEM / words if words else float("nan"), count / messages if messages else float("nan")]
        rate = flops * gamma / min(comm.size, cores) / took
        bytes_ratio = _model.gathered(n * n, comm.size) * ITEM / sent if sent else float("nan")
        show(f"{name:10}{ratio[0]:>12.2f}{ratio[1]:>16.2f}{took / model:>12.2f}{rate:>14.2f}"
             f"{other / took:>15.2f}{bytes_ratio:>16.2f}")  # fmt: skip


def curve(arguments):
    """Elements that a rank sends for n = 40000, and the lower bound with the memory of one copy and of four."""
    n, block = 40000, arguments.block
    print(
        f"{'ranks':>6}{'grid':>9}{'LU':>12}{'Cholesky':>12}{'matmul':>12}{'gathered':>12}{'bound':>12}{'bound, x4':>12}"
    )
    for exponent in range(13):
        p = 2**exponent
        rows = 2 ** (exponent // 2)
        share = n * n / p
        numbers = [f(n, block, rows, p // rows) / p for f in (_model.lu, _model.cholesky)]
        numbers += [_model.matmul(n, n, n, rows, p // rows) / p, _model.gathered(n * n, p) / p]
        numbers += [_model.lower_bound(n, p, 3 * share), _model.lower_bound(n, p, 12 * share)]
        print(f"{p:>6}{f'{rows}x{p // rows}':>9}" + "".join(f"{x:>12.3g}" for x in numbers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--rows", type=int, help="rows of the grid; as near to a square as can be by default")
    parser.add_argument("--pivoting", default="partial", choices=["partial", "tournament"])
    parser.add_argument("--curve", action="store_true")
    chosen = parser.parse_args()
    curve(chosen) if chosen.curve else measure(chosen)
