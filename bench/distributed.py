"""Distributed linear algebra: measured bytes, messages and time beside the alpha-beta model, and beside gathering.

    mpiexec -n 4 python bench/distributed.py --n 1500 --block 64
    mpiexec -n 2 python bench/distributed.py --n 4000 --peers [--mkl DIRECTORY] [--json FILE]
    python bench/distributed.py --n 4000 --block 128 --rows 1 --rates   # by processor time of simulated ranks, no MPI
    mpiexec -n 4 python bench/distributed.py --n 1500 --scaling   # strong and weak scaling on 1, 2, ... of the ranks
    python bench/distributed.py --curve            # what the model says up to 4096 ranks; needs no MPI

alpha (a message), beta (an element) and gamma (an operation) are measured first, on the same ranks.  "gathered" is the
way that needs no distributed algorithm: every rank collects the whole matrix and computes all of it.

--peers solves systems beside ScaLAPACK (in MKL's wheel; `pip install mkl`) and PyTorch's DTensor over gloo, in turns on
the same processes with one thread each; what is not installed says so in one line.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("STRIDED_DISTRIBUTED_CHECKS", "0")

import distributed_peers
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
    x = torch.randn(1000, 1000, dtype=torch.float64)
    gamma = best(comm, lambda: x @ x, repeats=7)[0] / (2 * 1000**3)
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


def solved_definite(A, B):
    """A^-1 B by Cholesky."""
    linalg = torch.distributed.linalg
    L = linalg.cholesky(A)
    return linalg.solve_triangular(L, linalg.solve_triangular(L, B, upper=False), upper=False, adjoint=True)


def in_turns(comm, runs, rounds):
    """For each run: (the least time of some rounds, the most memory that a rank took besides what it had).

    Memory is that of the process, after what allocators keep was given back."""
    times, most = [[] for _ in runs], []
    for run in runs:
        run()
        comm.barrier()
        distributed_peers.forget_peak()
        before = distributed_peers.memory("VmRSS")
        run()
        most.append(distributed_peers.memory("VmHWM") - before)
    for _ in range(rounds):
        for run, found in zip(runs, times):
            comm.barrier()
            start = time.perf_counter()
            run()
            comm.barrier()
            found.append(time.perf_counter() - start)
    peaks = torch.tensor(most, dtype=torch.float64)
    comm.all_reduce(peaks, "max")
    return list(zip(map(min, times), peaks.tolist()))


def beside_peers(arguments):
    """Systems with one right-hand side."""
    torch.set_num_threads(1)
    comm = torch.distributed.world()
    n, linalg = arguments.n, torch.distributed.linalg
    show = print if comm.rank == 0 else lambda *_: None
    grid = linalg.Grid(comm, arguments.rows or (1 if comm.size <= 4 else None))
    empty = torch.empty(0, 0, dtype=torch.float64)
    A = linalg.Matrix(empty, (0, 0), arguments.block, grid).new((n, n), None)
    A.local.copy_(torch.randn(*A.local.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(comm.rank)))
    A.local.add_(A.eye(n).local * (2 * n))  # the lower triangle is that of a positive definite matrix too
    B = A.new((n, 1), 1.0)
    gamma = constants(comm)[2]
    cores = min(comm.size, len(os.sched_getaffinity(0)))
    gemm = {"solve": 2 / 3 * n**3 * gamma / cores, "solve_definite": n**3 / 3 * gamma / cores}
    ours = {"solve": lambda: linalg.solve(A, B).local, "solve_definite": lambda: solved_definite(A, B).local}
    show(
        f"{comm.size} ranks as {grid.rows} x {grid.columns}, n = {n}, blocks of {arguments.block}, float64, one thread a rank"
    )
    show(f"{'':16}{'':24}{'ms':>9}{'of GEMM rate':>14}{'peak MB a rank':>16}{'peer/strided':>14}")
    rows = []
    for make in (lambda: distributed_peers.DTensor(comm), lambda: distributed_peers.Scalapack(arguments.mkl)):
        try:
            peer = make()
        except distributed_peers.Missing as error:
            show(str(error))
            continue
        peer.prepare(A, B) if isinstance(peer, distributed_peers.Scalapack) else peer.prepare(n, 1)
        for what in ours:
            try:
                theirs = getattr(peer, what)()
            except (NotImplementedError, RuntimeError) as error:
                show(f"{what:16}{peer.name:24} does not do it: {str(error).splitlines()[0][:100]}")
                continue
            if isinstance(peer, distributed_peers.Scalapack):
                assert torch.allclose(theirs, ours[what](), rtol=0, atol=1e-12), "the results differ"
            found = in_turns(comm, [ours[what], getattr(peer, what)], arguments.rounds)
            for name, (took, peak) in zip(("strided", peer.name), found):
                ratio = took / found[0][0]
                rate = gemm[what] / took
                show(f"{what:16}{name:24}{took * 1e3:>9.0f}{rate:>14.2f}{peak / 1e6:>16.1f}{ratio:>14.2f}")
                row = {
                    "ranks": comm.size,
                    "n": n,
                    "block": arguments.block,
                    "what": what,
                    "name": name,
                    "beside": peer.name,
                    "seconds": took,
                }
                row |= {"of_gemm_rate": rate, "peak_bytes_a_rank": peak, "to_strided": ratio}
                rows.append(row | {"load": os.getloadavg()[0]})
        if hasattr(peer, "close"):
            peer.close()
    if arguments.json and comm.rank == 0:
        old = json.loads(Path(arguments.json).read_text()) if Path(arguments.json).exists() else []
        Path(arguments.json).write_text(json.dumps(old + rows, indent=1) + "\n")


def rates(arguments):
    """Rates of LU and Cholesky beside that of products, by the processor time of simulated ranks: other programs on the
    machine disturb it less than they do the time on the clock."""
    torch.set_num_threads(1)
    n, block = arguments.n, arguments.block
    whole = {"LU": torch.randn(n, n, dtype=torch.float64)}
    whole["Cholesky"] = whole["LU"] @ whole["LU"].mT + n * torch.eye(n, dtype=torch.float64)
    calls = {"LU": (_lu.lu_inplace, 2 / 3), "Cholesky": (_cholesky.cholesky_inplace, 1 / 3)}

    def program(name):
        comm = torch.distributed.world()
        linalg = torch.distributed.linalg
        piece = linalg.from_full(whole[name], block, linalg.Grid(comm, arguments.rows))
        comm.barrier()
        start = time.process_time()
        calls[name][0](piece)
        comm.barrier()
        return time.process_time() - start

    for ranks in (1, 2, 4):
        product, took = [], {name: [] for name in calls}
        for _ in range(arguments.rounds):  # in turns
            start = time.process_time()
            whole["LU"] @ whole["LU"]
            product.append((time.process_time() - start) / 2)
            for name in calls:
                took[name].append(max(torch.distributed.simulate(ranks, program, name, checks=False)))
        parts = [f"{name} {share * min(product) / min(took[name]):.2f}" for name, (_, share) in calls.items()]
        print(f"{ranks} ranks, n = {n}, blocks of {block}, of GEMM's rate: " + ", ".join(parts))


def scaling(arguments):
    """LU and products on 1, 2, 4, ... of the ranks: of one order, and of orders that give each rank the same share."""
    torch.set_num_threads(1)
    world = torch.distributed.world()
    alpha, beta, gamma = constants(world)
    cores = len(os.sched_getaffinity(0))
    if world.rank == 0:
        print(
            f"{'':8}{'ranks':>6}{'n':>7}{'LU ms':>9}{'model':>9}{'efficiency':>12}{'matmul ms':>11}{'model':>9}{'efficiency':>12}"
        )
    for kind in ("strong", "weak"):
        alone = []
        for ranks in [2**e for e in range(world.size.bit_length())]:
            comm = world.split(0 if world.rank < ranks else None)
            if comm is not None:
                n = arguments.n if kind == "strong" else round(arguments.n * ranks**0.5)
                grid = torch.distributed.linalg.Grid(comm, 1 if ranks <= 4 else None)
                cells = f"{kind:8}{ranks:>6}{n:>7}"
                for i, (took, predicted, flops) in enumerate(
                    scaled(comm, grid, n, arguments.block, alpha, beta, gamma, cores)
                ):
                    if ranks == 1:
                        alone.append(flops / took)
                    part = flops / took / alone[i] / min(ranks, cores) if alone else float("nan")
                    cells += f"{took * 1e3:>{9 if i == 0 else 11}.1f}{predicted * 1e3:>9.1f}{part:>12.2f}"
                if comm.rank == 0:
                    print(cells, flush=True)
            world.barrier()


def scaled(comm, grid, n, block, alpha, beta, gamma, cores):
    """(time, what the model says, operations) of LU and of a product."""
    P, Q = grid.rows, grid.columns
    A = torch.distributed.linalg.from_full(torch.zeros(0, 0, dtype=torch.float64), block, grid).new((n, n), None)
    A.local.copy_(torch.randn(*A.local.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(comm.rank)))
    cases = (
        (lambda: _lu.lu_inplace(A.with_local(A.local.clone())), 2 / 3 * n**3, _model.lu(n, block, P, Q),
         _model.lu_messages(n, block, P, Q)),
        (lambda: _matmul.product(A, A), 2 * n**3, _model.matmul(n, n, n, P, Q), _model.matmul_messages(n, block, P, Q)),
    )  # fmt: skip
    for run, flops, words, messages in cases:
        took, _, _ = best(comm, run)
        yield took, _model.seconds(words, messages, flops, comm.size, alpha, beta, gamma, cores), flops


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
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--mkl", help="the folder of MKL's libraries; lib of this Python by default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="where rows of --peers are added")
    chosen = parser.parse_args()
    if chosen.scaling:
        scaling(chosen)
        raise SystemExit
    (curve if chosen.curve else rates if chosen.rates else beside_peers if chosen.peers else measure)(chosen)
