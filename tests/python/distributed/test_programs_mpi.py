"""Process groups, DistributedDataParallel and files on real processes, where mpiexec and mpi4py are."""

import importlib.util
import os
import subprocess
import sys

import pytest
import strided
from strided import _launch

MPIEXEC = _launch.find_mpiexec(os.environ)
pytestmark = pytest.mark.skipif(
    not (MPIEXEC and importlib.util.find_spec("mpi4py")), reason="no mpiexec or no mpi4py: pip install 'strided[mpi]'"
)

PROGRAM = """\
import sys
import strided
from strided import distributed as dist, nn
from strided.distributed import files

dist.init_process_group("mpi", timeout=30)
rank, n = dist.get_rank(), dist.get_world_size()

x = strided.full((3,), rank + 1.0)
works = [dist.all_reduce(x, async_op=True), dist.barrier(async_op=True)]
assert all(w.wait() for w in works) and x.tolist() == [n * (n + 1) / 2] * 3
y = strided.empty(n, 2)
dist.all_gather_into_tensor(y, strided.full((2,), float(rank)))
assert y.tolist() == [[r, r] for r in range(n)]
z = strided.empty(n)
dist.all_to_all_single(z, strided.arange(n) + 10.0 * rank)
assert z.tolist() == [10.0 * r + rank for r in range(n)]
part = strided.empty(2)
dist.reduce_scatter_tensor(part, strided.ones(2 * n) * rank, dist.ReduceOp.MAX)
assert part.tolist() == [n - 1.0] * 2
if n > 1:
    got = strided.zeros(4)
    ops = [dist.P2POp(dist.isend, strided.full((4,), float(rank)), (rank + 1) % n),
           dist.P2POp(dist.irecv, got, (rank - 1) % n)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert got.tolist() == [(rank - 1) % n] * 4
found = [None] * n
dist.all_gather_object(found, {"rank": rank, "t": strided.arange(rank)})
assert [(f["rank"], f["t"].tolist()) for f in found] == [(r, list(range(r))) for r in range(n)]
odd = dist.new_group(range(0, n, 2))
if rank % 2 == 0:
    w = strided.ones(1)
    dist.all_reduce(w, group=odd)
    assert w.item() == len(range(0, n, 2))
else:
    assert odd is dist.GroupMember.NON_GROUP_MEMBER

if n == 4:
    along = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("model", "data")).get_group("data")
    w = strided.tensor([rank])
    dist.broadcast(w, src=rank // 2 * 2 + 1, group=along)
    assert w.item() == rank // 2 * 2 + 1 and along.members() == [rank // 2 * 2, rank // 2 * 2 + 1]

strided.manual_seed(rank)
net = nn.parallel.DistributedDataParallel(nn.Linear(4, 2), find_unused_parameters=True)
net(strided.full((2, 4), rank + 1.0)).sum().backward()
assert net.module.weight.grad.tolist() == [[n + 1.0] * 4] * 2

mine = slice(2 * rank, 2 * rank + 2)
whole = strided.arange(2 * n * 3).reshape(2 * n, 3)
files.save_npy(sys.argv[1], files.Part(whole[mine], whole.shape, mine))
assert files.load_npy(sys.argv[1], (slice(None), slice(1, 2))).tolist() == whole[:, 1:2].tolist()
dist.destroy_process_group()
if rank == 0:
    print("all is well on", n)
"""


@pytest.mark.parametrize(("how", "n"), [("mpiexec", 1), ("mpiexec", 4), ("launch", 2)])
def test_programs(how, n, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    start = {"mpiexec": [MPIEXEC, "-n", str(n), sys.executable], "launch": [sys.executable, "-m", "strided", "launch",
                                                                            "-n", str(n)]}  # fmt: skip
    words = [*start[how], str(tmp_path / "program.py"), str(tmp_path / "x.npy")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=90, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"all is well on {n}\n", "")
    assert strided.files.load_npy(tmp_path / "x.npy").tolist() == strided.arange(6 * n).reshape(2 * n, 3).tolist()


def test_an_mpiexec_of_another_mpi_is_named():
    """Ranks that do not know of each other: each has a world of one, while launch says that there are two."""
    program = "from strided import distributed as dist; dist.init_process_group()"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "OMPI_"))} | {"WORLD_SIZE": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 1 and "an mpiexec of another MPI than mpi4py's" in done.stderr
