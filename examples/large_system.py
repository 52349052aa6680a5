"""Solves a system of equations whose matrix no rank ever has: it is made, multiplied and solved in pieces.

    python examples/large_system.py --n 500                                # one process
    python -m strided launch -n 4 examples/large_system.py --n 4000        # four ranks, a quarter of the matrix each
    python -m strided launch -n 4 --simulate examples/large_system.py      # four ranks in one process, without MPI
    srun python -m strided launch examples/large_system.py --n 100000      # in a job of Slurm (examples/slurm.sh)

Needs ``pip install 'strided[mpi]'`` for more than one process.
"""

import argparse

import strided as torch
from strided import distributed as dist


def read_options():
    parser = argparse.ArgumentParser(description="Solves a system of equations in pieces.")
    parser.add_argument("--n", type=int, default=800, help="equations (default: 800)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    return parser.parse_args()


def grid(size):
    """Rows and columns of ranks: one row for few, where LU finds its pivots without messages, else nearly a square."""
    if size <= 4:
        return 1, size
    rows = next(r for r in range(int(size**0.5), 0, -1) if size % r == 0)
    return rows, size // rows


def main():
    options = read_options()
    ranks = dist.world()
    n, size = options.n, ranks.size
    torch.manual_seed(options.seed)
    mesh = dist.init_device_mesh("cpu", grid(size), mesh_dim_names=("rows", "columns"))
    cut = [dist.Shard(0), dist.Shard(1)]

    # Random numbers depend on the seed and on the place in the matrix: they are the same for any number of ranks.
    A = dist.randn(n, n, dtype=torch.float64, mesh=mesh, placements=cut)
    wanted = dist.ones(n, 1, dtype=torch.float64, mesh=mesh, placements=[dist.Shard(0), dist.Replicate()])
    b = A @ wanted

    told = dist.explain(lambda: torch.linalg.solve(A, b))()
    x = told.result
    norm = torch.linalg.vector_norm
    backward = float(norm(A @ x - b) / (norm(A) * norm(x)))
    largest = float((x - wanted).abs().max())

    held = ranks.all_gather_object(A.to_local().nbytes)
    moved = sum(ranks.all_gather_object(told.sent))
    if ranks.rank == 0:
        if n <= 2000:
            print(mesh.show(A))
        print(f"{n} equations on {size} ranks: the matrix has {A.nbytes} bytes, a rank at most {max(held)} of them")
        print(f"solve sent {moved} bytes; gathering on every rank would send {A.nbytes * (size - 1)}")
        print(f"backward error {backward:.1e}, largest error of x {largest:.1e}")


if __name__ == "__main__":
    main()
