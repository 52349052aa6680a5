"""Processes that no MPI has started connect by TCP, and make the same calls with the same results and errors."""

import os
import socket
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import os, socket, sys, time, traceback
import strided as torch
from strided import distributed as dist

def another_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ["MASTER_PORT"] = str(s.getsockname()[1])

def rank_of(program, size, rank):
    try:
        program(rank, size)
        sys.stdout.flush()
        status = 0
    except BaseException as error:
        print(f"rank {rank}: {type(error).__name__}: {error}", flush=True)
        if not isinstance(error, dist.DistError): traceback.print_exc()
        status = 1
    import atexit
    atexit._run_exitfuncs()
    os._exit(status)

def start(program, size, which=None):
    torch.set_num_threads(1)
    children = []
    for rank in which or range(size):
        child = os.fork()
        if child == 0:
            rank_of(program, size, rank)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(body, timeout=120, **environment):
    """Runs a program whose ranks are forks of one process; its output."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "OMPI_", "SLURM_", "MASTER_", "STRIDED_D"))
    }
    kept = {k: v for k, v in kept.items() if k not in ("RANK", "WORLD_SIZE")} | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(body)], capture_output=True, text=True, timeout=timeout,
        env=kept | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())} | environment, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_calls_of_three_processes():
    out = run("""
    def program(rank, size):
        dist.init_process_group("gloo", rank=rank, world_size=size, timeout=60)
        assert (dist.get_backend(), dist.get_rank(), dist.get_world_size()) == ("gloo", rank, size)
        ones = torch.ones(3)
        for n, op in ((3, "SUM"), (9001, "SUM"), (9001, "MAX"), (5, "AVG")):
            x = torch.arange(n, dtype=torch.float32) * (rank + 1)
            dist.all_reduce(x, dist.ReduceOp[op])
            factor = {"SUM": 6, "MAX": 3, "AVG": 2}[op]
            assert torch.equal(x, torch.arange(n, dtype=torch.float32) * factor)
        work = dist.all_reduce(y := ones * rank, async_op=True)
        work.wait()
        assert y.tolist() == [3.0] * 3
        x = torch.full((2, 2), rank).t()
        dist.broadcast(x, 1)
        assert (x == 1).all()
        parts = [torch.zeros(r + 1, dtype=torch.int64) for r in range(size)]
        dist.all_gather(parts, torch.full((rank + 1,), rank))
        assert [p.tolist() for p in parts] == [[0], [1, 1], [2, 2, 2]]
        dist.reduce(x := ones * rank, 2)
        assert x[0] == (3 if rank == 2 else rank)
        parts = [torch.zeros(1, dtype=torch.int64) for _ in range(3)]
        dist.gather(x := torch.tensor([rank]), parts if rank == 1 else None, 1)
        assert rank != 1 or [p.item() for p in parts] == [0, 1, 2]
        dist.scatter(x, [torch.tensor([k * 7]) for k in range(3)] if rank == 0 else None, 0)
        assert x.item() == 7 * rank
        dist.reduce_scatter(x := torch.zeros(2), [torch.full((2,), k + rank * 1.0) for k in range(3)])
        assert x.tolist() == [3.0 * rank + 3] * 2
        dist.all_to_all_single(x := torch.zeros(3, dtype=torch.int64), torch.arange(3) + 10 * rank)
        assert x.tolist() == [rank, rank + 10, rank + 20]
        dist.barrier()
        # messages, in their order, and from any rank
        if rank:
            for k in range(3):
                dist.send(torch.tensor([10 * rank + k]), 0, tag=5)
        else:
            got = [torch.zeros(1, dtype=torch.int64) for _ in range(4)]
            second, first = dist.irecv(got[1], 1, tag=5), dist.irecv(got[0], 1, tag=5)
            first.wait(), second.wait()
            assert [got[1].item(), got[0].item()] == [10, 11]
            x = torch.zeros(1, dtype=torch.int64)
            found = sorted((dist.recv(x, tag=5), x.item()) for _ in range(4))
            assert found == [(1, 12), (2, 20), (2, 21), (2, 22)]
        ops = [dist.P2POp(dist.isend, torch.ones(20000) * rank, (rank + 1) % size),
               dist.P2POp(dist.irecv, x := torch.zeros(20000), (rank - 1) % size)]
        [w.wait() for w in dist.batch_isend_irecv(ops)]
        assert (x == (rank - 1) % size).all()
        found = [None] * 3
        dist.all_gather_object(found, {"rank": rank, "t": torch.ones(rank)})
        assert [f["t"].numel() for f in found] == [0, 1, 2]
        # groups, and what is made of them
        some = dist.new_group([2, 0])
        if dist.get_rank(some) >= 0:
            dist.all_reduce(x := ones * rank, group=some)
            assert x[0] == 2 and dist.get_process_group_ranks(some) == [0, 2]
        mesh = dist.init_device_mesh("cpu", (3,))
        d = dist.distribute_tensor(torch.arange(12.0).view(4, 3), mesh, [dist.Shard(0)])
        assert torch.equal((d @ d.T).full_tensor(), torch.arange(12.0).view(4, 3) @ torch.arange(12.0).view(4, 3).T)
        a = torch.eye(6, dtype=torch.float64) * 3 + 1
        cut = [dist.distribute_tensor(t, mesh, [dist.Shard(0)]) for t in (a, a[0])]
        x = torch.linalg.solve(*cut)
        assert torch.allclose(x.full_tensor(), torch.linalg.solve(a, a[0]))
        net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
        net(torch.ones(1, 4) * rank).sum().backward()
        assert (net.module.weight.grad == 1).all()
        # stages, and parameters in parts
        from strided.distributed.fsdp import FullyShardedDataParallel
        from strided.distributed.pipelining import PipelineStage, Schedule1F1B
        torch.manual_seed(0)
        layers = [torch.nn.Linear(4, 4) for _ in range(3)]
        whole = torch.nn.Sequential(*layers)(torch.ones(6, 4))
        schedule = Schedule1F1B(PipelineStage(layers[rank], rank, 3, "cpu"), 3, torch.nn.functional.mse_loss)
        made = schedule.step(torch.ones(6, 4)) if rank == 0 else schedule.step(target=torch.zeros(6, 4))
        assert made is None if rank < 2 else torch.allclose(made, whole)
        net = FullyShardedDataParallel(layers[0])
        kept = net.state_dict()["weight"]
        net(torch.ones(2, 4)).sum().backward()
        assert kept.shape == (4, 4) and net.weight.grad.to_local().shape[0] == (2, 2, 0)[rank]
        dist.destroy_process_group()
        dist.init_process_group("gloo", rank=rank, world_size=size)
        dist.all_reduce(x := torch.ones(1))
        assert x == 3

    assert start(program, 3) == [0, 0, 0]
    print("ends")
    """)
    assert out.split() == ["ends"], out


def test_ways_to_meet(tmp_path):
    out = run(f"""
    def program(rank, size):
        port = int(os.environ["MASTER_PORT"])
        where = dict(rank=rank, world_size=size)
        if how == "environment":
            os.environ.update(RANK=str(rank), WORLD_SIZE=str(size))
            where = {{}}
        elif how == "tcp":
            where["init_method"] = f"tcp://localhost:{{port}}"
        elif how == "file":
            where["init_method"] = "file://{tmp_path}/meet"
        else:
            store = dist.TCPStore("localhost", port, size, rank == 0)
            where["store"] = dist.PrefixStore("mine", store)
        dist.init_process_group(**where)
        dist.all_reduce(x := torch.tensor([rank + 1]))
        assert x == 3 and dist.get_backend() == "gloo"
        print(how, flush=True)

    for how in ("environment", "tcp", "file", "store"):
        assert start(program, 2) == [0, 0]
        another_port()
    """)
    assert out.split() == [how for how in ("environment", "tcp", "file", "store") for _ in range(2)], out


def test_faults_end_all_ranks_with_one_clear_error():
    out = run("""
    def mismatch(rank, size):
        dist.init_process_group(rank=rank, world_size=size, timeout=20)
        try:
            dist.all_reduce(torch.ones(2 + rank))
        except dist.MismatchError as error:
            assert "differ in number of elements" in str(error)
        try:
            dist.barrier() if rank else dist.all_reduce(torch.ones(1))
        except dist.MismatchError as error:
            assert "ranks differ in call: all_reduce on rank 0; barrier on rank 1" in str(error)
        if rank:
            dist.send(torch.ones(3), 0)
        else:
            try:
                dist.recv(torch.ones(2), 1)
            except dist.MismatchError as error:
                assert "sends 12 bytes of float32 to rank 0, which expects 8 bytes" in str(error)
        dist.barrier()
        print("mismatches", flush=True)

    def killed(rank, size):
        dist.init_process_group(rank=rank, world_size=size, timeout=20)
        if rank == 1:
            os._exit(7)
        dist.all_reduce(torch.ones(1))

    def late(rank, size):
        dist.init_process_group(rank=rank, world_size=size, timeout=1)
        if rank == 0:
            dist.all_reduce(torch.ones(1))
        else:
            time.sleep(2)

    assert start(mismatch, 2) == [0, 0]
    begin = time.monotonic()
    another_port()
    assert start(killed, 2) == [1, 7]
    assert time.monotonic() - begin < 10
    another_port()
    assert start(late, 2) == [1, 0]
    """)
    assert out.count("mismatches") == 2, out
    assert "rank 0: RankError: rank 1 of the default group ended" in out, out
    assert "rank 0: TimeoutExpired: rank 0 waited 1.0 s in all_reduce" in out, out
    assert "Assertion" not in out, out


def test_ranks_that_do_not_come_and_strangers():
    out = run("""
    def alone(rank, size):
        dist.init_process_group(rank=rank, world_size=size, timeout=1)

    def stranger(rank, size):
        import socket
        port = int(os.environ["MASTER_PORT"])
        if rank == 0:
            store = dist.TCPStore("127.0.0.1", port, is_master=True)
        else:
            store = dist.TCPStore("127.0.0.1", port)
        if rank == 2:  # not one of the two ranks
            _, address, at = __import__("json").loads(store.get("strided/1/rank 0"))
            link = socket.create_connection((address, at))
            link.sendall(b"x" * 20)
            assert link.recv(1) in (b"",)
            store.set("was there", b"1")
            return
        if rank == 1:
            store.wait(["was there"])
        dist.init_process_group(store=store, rank=rank, world_size=2, timeout=20)
        dist.barrier()

    assert start(alone, 2, [0]) == [1]
    another_port()
    assert start(stranger, 3) == [0, 0, 0]
    for options, error in [
        (dict(init_method="smtp://x"), ValueError), (dict(init_method="tcp://x", rank=0, world_size=2), ValueError),
        (dict(rank=0, world_size=2, store=3), TypeError), (dict(rank=5, world_size=2), ValueError),
        (dict(world_size=2), ValueError), (dict(store=dist.HashStore()), AssertionError),
        (dict(rank=0, world_size=2, backend="mpi"), RuntimeError),
    ]:
        try:
            dist.init_process_group(**options)
        except error as found:
            assert str(found)
        else:
            raise AssertionError(options)
    del os.environ["MASTER_PORT"]
    try:
        dist.init_process_group(rank=0, world_size=2)
    except ValueError as error:
        assert "MASTER_PORT expected" in str(error) and "strided launch -n 2" in str(error)
    print("ends")
    """)
    assert "rank 0: TimeoutExpired: init_process_group: rank 0 of 2 waited 1 s for ranks [1]" in out, out
    assert out.split()[-1] == "ends" and "Assertion" not in out, out


@pytest.mark.parametrize("backend", ['"gloo"', 'dist.get_default_backend_for_device("cpu")'])
def test_spawned_processes(tmp_path, backend):
    """What PyTorch's programs do: multiprocessing.spawn, and a group of the backend "gloo"."""
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent("""
        import os
        import torch
        import torch.distributed as dist
        import torch.multiprocessing as mp
        from torch.nn.parallel import DistributedDataParallel as DDP

        def work(rank, size, port):
            os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", str(port)
            dist.init_process_group(BACKEND, rank=rank, world_size=size)
            torch.manual_seed(rank)
            net = DDP(torch.nn.Linear(3, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            net(torch.full((2, 3), rank + 1.0)).mean().backward()
            opt.step()
            both = [torch.empty(1, 3) for _ in range(size)]
            dist.all_gather(both, net.module.weight.detach())
            assert torch.equal(both[0], both[1])
            if rank == 0:
                print("grad", net.module.weight.grad[0, 0].item(), dist.get_backend())
            dist.destroy_process_group()

        if __name__ == "__main__":
            mp.spawn(work, args=(2, %d), nprocs=2)
        """).replace("BACKEND", backend)
        % free_port()
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "OMPI_", "SLURM_"))} | {
        "OMP_NUM_THREADS": "1"
    }
    done = subprocess.run(
        [sys.executable, "-m", "strided", "run", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=kept,
        check=False,
    )
    assert done.stdout.split() == ["grad", "1.5", "gloo"], done.stdout + done.stderr
