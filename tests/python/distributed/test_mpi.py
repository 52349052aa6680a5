"""The same calls on real processes, where mpiexec and mpi4py are."""

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap

import pytest
import strided

MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))

pytestmark = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
    reason="no mpiexec or no mpi4py: pip install 'strided[mpi]'",
)


ENVIRONMENT = {"STRIDED_NUM_THREADS": "1", "STRIDED_DISTRIBUTED_TIMEOUT": "20"}


def mpiexec(n, program, **variables):
    text = "import strided as torch\ndist = torch.distributed\ncomm = dist.world()\n" + textwrap.dedent(program)
    return subprocess.run(
        [MPIEXEC, "-n", str(n), sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | ENVIRONMENT | variables,
    )


CALLS = """
    r, n = comm.rank, comm.size
    x = torch.arange(9000, dtype=torch.float64) * (r + 1) / 3
    expected = torch.arange(9000, dtype=torch.float64) / 3
    for i in range(1, n):
        expected = expected + torch.arange(9000, dtype=torch.float64) * (i + 1) / 3
    comm.all_reduce(x)
    assert torch.equal(x, expected)
    y = torch.full((4, 4), r, dtype=torch.int32)[:, ::2].t()
    comm.all_reduce(y, "max")
    assert (y == n - 1).all()
    size = lambda i: 0 if i == 1 else i + 2
    mine = torch.full((size(r),), r, dtype=torch.bfloat16)
    outs = [torch.empty(size(i), dtype=torch.bfloat16) for i in range(n)]
    comm.all_gather(outs, mine)
    assert all((o == i).all() and o.numel() == size(i) for i, o in enumerate(outs))
    whole = torch.empty(sum(size(i) for i in range(n)), dtype=torch.bfloat16)  # pieces of one memory
    comm.all_gather(whole.split([size(i) for i in range(n)]), mine)
    assert torch.equal(whole, torch.cat(outs))
    outs = [torch.empty(size(i), dtype=torch.bfloat16) for i in range(n)] if r == n - 1 else None
    comm.gather(outs, mine, n - 1)
    assert outs is None or all((o == i).all() for i, o in enumerate(outs))
    into = torch.empty(size(r))
    comm.scatter(into, [torch.full((size(i),), 5.0 + i) for i in range(n)] if r == 0 else None, 0)
    assert (into == 5 + r).all()
    outs = [torch.empty(i + 1, 2) for i in range(n)]
    comm.all_to_all(outs, [torch.full((r + 1, 2), 10.0 * r + i) for i in range(n)])
    assert all((o == 10 * i + r).all() for i, o in enumerate(outs))
    z = torch.tensor([True, False]) if r == n - 1 else torch.zeros(2, dtype=torch.bool)
    comm.broadcast(z, n - 1)
    assert z.tolist() == [True, False]
    z = torch.empty(3)
    comm.reduce_scatter(z, [torch.full((3,), float(i)) for i in range(n)])
    assert (z == n * r).all()
    row = comm.split("even" if r % 2 == 0 else "odd", -r)
    assert row.size == len(range(r % 2, n, 2)) and row.all_gather_object(r) == sorted(range(r % 2, n, 2), reverse=True)
    assert (comm.split(None) if r else comm.split(0).size) == (None if r else 1)
    into = torch.zeros(6)
    comm.sendrecv(torch.full((3,), float(r)), (r + 1) % n, into[::2], (r - 1) % n, tag=4)
    assert into.tolist() == [(r - 1) % n, 0.0] * 3
    assert comm.broadcast_object({"a": [1, "b"]}, 0) == {"a": [1, "b"]}
    sums, pace = [], torch.Generator().manual_seed(r)  # sums that go on: each rank looks at other times
    for k in range(12):
        x = torch.arange((k * k * 970) % 20000 + 1, dtype=torch.float64) * (r + 1) / 3
        y = x.clone()
        sums.append((x, y, comm.start_all_reduce(x)))
        while torch.rand((), generator=pace) < 0.7:
            comm.progress()
        if k % 5 == 2:
            z = torch.ones(3)
            comm.all_reduce(z)
            assert z[0] == n
    for k in torch.randperm(12, generator=pace).tolist():
        sums[k][2].wait()
    for x, y, _ in sums:
        comm.all_reduce(y)
        assert torch.equal(x, y)
    comm.barrier()
    assert comm.all_gather_object("done") == ["done"] * n
"""


def test_a_mismatch_is_told_on_every_rank():
    done = mpiexec(
        2,
        """
        import sys
        for call in (
            lambda: comm.all_reduce(torch.ones(2 + comm.rank)),
            lambda: comm.all_to_all([torch.ones(99), torch.ones(1)], [torch.ones(1)] * 2),
            lambda: comm.barrier() if comm.rank else comm.all_gather([torch.ones(2)] * 2, torch.ones(2)),
            lambda: comm.start_all_reduce(torch.ones(2)).wait(),
            lambda: comm.start_all_reduce(torch.ones(2 + comm.rank)).wait(),
            lambda: comm.start_all_reduce(torch.ones(2)).wait() if comm.rank else comm.all_reduce(torch.ones(2)),
            lambda: comm.recv(torch.ones(1), 0) if comm.rank else comm.send(torch.ones(50), 1),
        ):
            try:
                call()
            except dist.MismatchError as error:
                sys.stdout.write(f"{error}\\n")
        comm.barrier()
        """,
    )
    lines = sorted(done.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert lines[:4] == ["all_reduce on world: ranks differ in number of elements: 2 on rank 0; 3 on rank 1"] * 4
    assert lines[4] == lines[5] and "rank 0 gives 1 elements to rank 0, which expects 99" in lines[4]
    assert "rank 0 sends 200 bytes of torch.float32 to rank 1, which expects 4 bytes" in lines[6]
    assert lines[7] == lines[8] and "all_gather on rank 0; barrier on rank 1" in lines[7]
    assert lines[9] == lines[10] and "all_reduce on rank 0; async all_reduce on rank 1" in lines[9]


def test_a_rank_that_raises_ends_the_job():
    done = mpiexec(3, "comm.barrier()\nif comm.rank == 1: raise KeyError('here')\ncomm.all_reduce(torch.ones(1))")
    assert done.returncode != 0
    assert "rank 1 of 3 ended the job, after barrier, call 1 on world: KeyError: 'here'" in done.stderr


def test_a_rank_that_waits_too_long_ends_the_job():
    program = "import time\nif comm.rank: time.sleep(60)\ncomm.barrier()"
    done = mpiexec(2, program, STRIDED_DISTRIBUTED_TIMEOUT="1")
    assert done.returncode != 0
    assert "TimeoutExpired: rank 0 waited 1.0 s in barrier on world (call 1)" in done.stderr


SHARDED = """
    from strided.distributed import BlockCyclic, Replicate, Shard
    mesh = dist.init_device_mesh("cpu", (2, comm.size // 2))
    torch.manual_seed(comm.rank)  # the numbers are those of rank 0
    x = dist.randn(9, 7, dtype=torch.float64, mesh=mesh, placements=[Shard(0), BlockCyclic(1, 2)]).requires_grad_()
    w = dist.rand(7, 4, dtype=torch.float64, mesh=mesh, placements=[Replicate(), Shard(0)]).requires_grad_()
    f = lambda x, w: ((x @ w).softmax(0).cumsum(1) * x.amax(1, True)).std(0).sum()
    f(x, w).backward()
    a, b = (t.detach().full_tensor().requires_grad_() for t in (x, w))
    f(a, b).backward()
    assert torch.allclose(x.grad.full_tensor(), a.grad) and torch.allclose(w.grad.full_tensor(), b.grad)
    line = dist.rand(50, mesh=dist.init_device_mesh("cpu", (comm.size,)), placements=[Shard(0)])
    assert torch.equal(line.sort().values.full_tensor(), line.full_tensor().sort().values)
    try:
        x.redistribute(placements=[Shard(comm.rank % 2), Replicate()])
    except dist.MismatchError as error:
        told = comm.all_gather_object(str(error))
        assert len(set(told)) == 1 and "redistribute: (9, 7)" in told[0] and "Shard(dim=1)" in told[0], told
"""


LINALG = """
    la = dist.linalg
    grid = la.Grid(comm)
    n = 48
    A = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    B, H = A[:, :5] + 1, A @ A.T + torch.eye(n, dtype=A.dtype)
    a, b, h = (la.from_full(x, 8, grid) for x in (A, B, H))
    size = lambda x: torch.linalg.vector_norm(x).item()
    X = la.to_full(la.solve(a, b))
    assert size(A @ X - B) <= 1e-13 * size(A) * size(X)
    L = la.to_full(la.cholesky(h))
    assert size(L @ L.T - H) <= 1e-13 * size(H)
    Q, R = (la.to_full(x) for x in la.qr(a))
    assert size(Q @ R - A) <= 1e-13 * size(A)
    C = la.to_full(la.matmul(a, a, layers=comm.size))
    assert size(C - A @ A) <= 1e-13 * size(A) ** 2
    E, V = la.eigh(la.from_full(H[:12, :12], 4, grid), base=4)
    V = la.to_full(V)
    assert size((V * E) @ V.T - H[:12, :12]) <= 1e-12 * size(H)
    a.local.requires_grad_()
    la.slogdet(a)[1].backward()
    assert size(la.to_full(a.with_local(a.local.grad)) - torch.linalg.inv(A).T) <= 1e-9 * size(torch.linalg.inv(A))
    try:
        la.solve(la.from_full(torch.ones(9, 9), 2, grid), la.from_full(torch.ones(9, 1), 2, grid))
        raise AssertionError("a singular system was solved")
    except torch.linalg.LinAlgError:
        pass
"""

GROUPS = """
    import strided
    from strided import nn
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
        first = rank // 2 * 2
        assert w.item() == first + 1 and dist.get_process_group_ranks(along) == [first, first + 1]

    strided.manual_seed(rank)
    net = nn.parallel.DistributedDataParallel(nn.Linear(4, 2), find_unused_parameters=True)
    net(strided.full((2, 4), rank + 1.0)).sum().backward()
    assert net.module.weight.grad.tolist() == [[n + 1.0] * 4] * 2

    from strided.distributed import checkpoint
    from strided.distributed.fsdp import fully_shard

    steps = []
    for sharded in (False, True):
        strided.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        for layer in (net[0], net[2], net) if sharded else ():
            fully_shard(layer, reshard_after_forward=True)
        optimizer = strided.optim.Adam(net.parameters(), lr=0.1)
        x = strided.linspace(-1, 1, 16 * n).view(4 * n, 4)
        for step in range(3):
            optimizer.zero_grad()
            net(x[rank::n] if sharded else x).square().mean().backward()
            optimizer.step()
        steps.append([p.full_tensor() if sharded else p for p in net.parameters()])
    assert all(strided.allclose(a, b, atol=1e-5) for a, b in zip(*steps))
    checkpoint.save({"net": net}, checkpoint_id=PATH + ".folder")
    for p in net.parameters():
        p.detach().zero_()
    checkpoint.load({"net": net}, checkpoint_id=PATH + ".folder")
    assert all(strided.equal(p.full_tensor(), b) for p, b in zip(net.parameters(), steps[1]))

    mine = slice(2 * rank, 2 * rank + 2)
    whole = strided.arange(2 * n * 3).reshape(2 * n, 3)
    files.save_npy(PATH, files.Part(whole[mine], whole.shape, mine))
    assert files.load_npy(PATH, (slice(None), slice(1, 2))).tolist() == whole[:, 1:2].tolist()
    dist.destroy_process_group()
"""


@pytest.mark.parametrize(("n", "starter"), [(1, "mpiexec"), (2, "launch"), (4, "mpiexec")])
def test_programs(n, starter, tmp_path):
    """Calls, sharded tensors, linear algebra, process groups with DistributedDataParallel, and files: in one job,
    because ranks take longer to start than to compute."""
    programs = {"calls": CALLS, "sharded": SHARDED, "linalg": LINALG, "groups": GROUPS}
    if n == 1:
        del programs["sharded"]  # its mesh has two rows
    lines = ["import strided as torch", "dist = torch.distributed", "comm = dist.world()"]
    for name, text in programs.items():
        given = f"{{'torch': torch, 'dist': dist, 'comm': comm, 'PATH': {str(tmp_path / 'x.npy')!r}}}"
        lines += [f"exec(compile({textwrap.dedent(text)!r}, {name!r}, 'exec'), {given})"]
        lines += [f"if comm.rank == 0: print({name!r}, flush=True)"]
    script = tmp_path / "program.py"
    script.write_text("\n".join(lines))
    words = [MPIEXEC, "-n", str(n), sys.executable, str(script)]
    if starter == "launch":
        words = [sys.executable, "-m", "strided", "launch", "-n", str(n), str(script)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, env=os.environ | ENVIRONMENT)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, list(programs), "")
    whole = strided.files.load_npy(tmp_path / "x.npy")
    assert whole.tolist() == strided.arange(6 * n).reshape(2 * n, 3).tolist()


def test_an_mpiexec_of_another_mpi_is_named():
    """Ranks that do not know of each other: each has a world of one, while launch says that there are two."""
    program = "from strided import distributed as dist; dist.init_process_group()"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "OMPI_"))} | {"WORLD_SIZE": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 1 and "an mpiexec of another MPI than mpi4py's" in done.stderr
