"""PyTorch's names on simulated ranks: every call gives on every rank what a loop over the ranks' tensors gives."""

import functools
import math
import os
import subprocess
import sys
import warnings
from collections import OrderedDict

import pytest
import strided
from strided import distributed as dist
from strided.distributed import ReduceOp

RANKS = [1, 2, 3, 4, 6, 7]
ranks = pytest.mark.parametrize("n", RANKS)


def run(n, program, *args, **options):
    """program(rank, n, *args) on n ranks that have a default group."""

    def ranked():
        dist.init_process_group("mpi")
        result = program(dist.get_rank(), dist.get_world_size(), *args)
        dist.destroy_process_group()
        assert not dist.is_initialized()
        return result

    return dist.simulate(n, ranked, **options)


def given(rank, dtype=strided.float64, shape=(2, 3)):
    """The tensor that a rank brings."""
    n = math.prod(shape)
    x = (strided.arange(n) * (rank + 2) + rank) % 11 + 1
    return (x % 2 == 0 if dtype is strided.bool else x.to(dtype)).reshape(shape)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tolist() == b.tolist()


FOLDS = {
    ReduceOp.SUM: strided.add, ReduceOp.PRODUCT: strided.mul, ReduceOp.MIN: strided.minimum,
    ReduceOp.MAX: strided.maximum, ReduceOp.BAND: strided.bitwise_and, ReduceOp.BOR: strided.bitwise_or,
    ReduceOp.BXOR: strided.bitwise_xor,
}  # fmt: skip
CASES = [
    *((op, strided.int64) for op in FOLDS),
    *((op, strided.float64) for op in (ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX)),
    (ReduceOp.BOR, strided.bool), (ReduceOp.SUM, strided.complex128), (ReduceOp.MAX, strided.uint8),
    (ReduceOp.AVG, strided.float64), (ReduceOp.SUM, strided.bfloat16),
]  # fmt: skip


def folded(op, parts):
    if op is ReduceOp.AVG:
        return functools.reduce(strided.add, parts) / len(parts)
    return functools.reduce(FOLDS[op], parts)


@ranks
@pytest.mark.parametrize(("op", "dtype"), CASES, ids=lambda c: str(getattr(c, "name", c)))
def test_reductions(n, op, dtype):
    def program(rank, n):
        everywhere, at_last = given(rank, dtype), given(rank, dtype)
        dist.all_reduce(everywhere, op)
        dist.reduce(at_last, n - 1, op)
        part = strided.empty(3, dtype=dtype)
        dist.reduce_scatter(part, [given(rank + r, dtype, (3,)) for r in range(n)], op)
        whole = strided.cat([given(rank + r, dtype, (3,)) for r in range(n)])
        again = strided.empty(3, dtype=dtype)
        dist.reduce_scatter_tensor(again, whole, op)
        return everywhere, at_last, part, again

    wide = strided.float32 if dtype is strided.bfloat16 else dtype
    parts = [given(r, dtype).to(wide) for r in range(n)]
    for rank, (everywhere, at_last, part, again) in enumerate(run(n, program)):
        same(everywhere, folded(op, parts).to(dtype))
        same(at_last, everywhere if rank == n - 1 else given(rank, dtype))
        same(part, folded(op, [given(r + rank, dtype, (3,)).to(wide) for r in range(n)]).to(dtype))
        same(again, part)


@ranks
def test_from_one_and_to_one(n):
    def program(rank, n):
        x = given(rank)
        dist.broadcast(x, n - 1)
        places = [strided.empty(2, 3, dtype=strided.float64) for _ in range(n)] if rank == n // 2 else None
        dist.gather(given(rank), places, dst=n // 2)
        piece = strided.empty(2, 3, dtype=strided.float64)
        dist.scatter(piece, [given(10 * r) for r in range(n)] if rank == 0 else None)
        return x, places, piece

    for rank, (x, places, piece) in enumerate(run(n, program)):
        same(x, given(n - 1))
        same(piece, given(10 * rank))
        assert (places is None) == (rank != n // 2)
        for r, place in enumerate(places or []):
            same(place, given(r))


@ranks
def test_from_all_to_all(n):
    def program(rank, n):
        f = strided.float64
        # sizes differ: rank r gives r elements
        uneven = [strided.empty(r, dtype=f) for r in range(n)]
        dist.all_gather(uneven, given(rank, shape=(rank,)))
        stacked, joined = strided.empty(n, 2, 3, dtype=f), strided.empty(2 * n, 3, dtype=f)
        dist.all_gather_into_tensor(stacked, given(rank))
        dist.all_gather_into_tensor(joined, given(rank))
        swapped = [strided.empty(2, dtype=f) for _ in range(n)]
        dist.all_to_all(swapped, [given(10 * rank + r, shape=(2,)) for r in range(n)])
        single = strided.empty(n, 2, dtype=f)
        dist.all_to_all_single(single, strided.stack([given(10 * rank + r, shape=(2,)) for r in range(n)]))
        # rank r gives s + 1 rows to rank s
        rows = n * (n + 1) // 2
        split = strided.empty(n * (rank + 1), 2, dtype=f)
        dist.all_to_all_single(split, given(rank, shape=(rows, 2)), [rank + 1] * n, list(range(1, n + 1)))
        return uneven, stacked, joined, swapped, single, split

    for rank, (uneven, stacked, joined, swapped, single, split) in enumerate(run(n, program)):
        for r in range(n):
            same(uneven[r], given(r, shape=(r,)))
            same(swapped[r], given(10 * r + rank, shape=(2,)))
        same(stacked, strided.stack([given(r) for r in range(n)]))
        same(joined, strided.cat([given(r) for r in range(n)]))
        same(single, strided.stack(swapped))
        begin = rank * (rank + 1) // 2
        whole = [given(r, shape=(n * (n + 1) // 2, 2)) for r in range(n)]
        same(split, strided.cat([w[begin : begin + rank + 1] for w in whole]))


@ranks
def test_messages(n):
    def program(rank, n):
        right, left = (rank + 1) % n, (rank - 1) % n
        got, other = strided.empty(2, 3), strided.empty(2, 3)
        if n == 1:
            return given(0, strided.float32), given(0, strided.float32), 0
        begun = [dist.isend(given(rank, strided.float32), right, tag=3), dist.irecv(got, left, tag=3)]
        for work in begun:
            assert work.wait() and work.is_completed() and work.is_success()
        assert begun[1].source_rank() == left
        ops = [dist.P2POp(dist.irecv, other, left), dist.P2POp(dist.isend, got * 2, right)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        x = strided.zeros(1)
        if rank == 0:
            dist.send(strided.ones(1), n - 1)
        source = dist.recv(x, 0) if rank == n - 1 else 0
        return got, other / 2, source

    for rank, (got, other, source) in enumerate(run(n, program)):
        same(got, given((rank - 1) % n, strided.float32))
        same(other, given((rank - 2) % n if n > 1 else 0, strided.float32))
        assert source == 0


@ranks
def test_layouts_arrive(n):
    """Transposed, with stride 0, with an offset; what gets a gradient; empty tensors."""

    def program(rank, n):
        x = given(rank).t()
        dist.all_reduce(x)
        big = strided.zeros(4, 6, dtype=strided.float64)
        dist.broadcast(big[1:3, ::2], 0) if rank else dist.broadcast(given(5), 0)
        weight = strided.ones(3, requires_grad=True)
        dist.all_reduce(weight)
        empty = strided.empty(0, 3)
        dist.all_reduce(empty)
        return x, big, weight, empty

    total = functools.reduce(strided.add, [given(r) for r in range(n)])
    for rank, (x, big, weight, _) in enumerate(run(n, program)):
        same(x, total.t())
        assert weight.tolist() == [n] * 3 and weight.requires_grad and weight.is_leaf
        if rank:
            same(big[1:3, ::2], given(5))
            assert big.sum() == given(5).sum()


@ranks
def test_async_works(n):
    def program(rank, n):
        x = given(rank)
        works = [dist.all_reduce(x, async_op=True), dist.broadcast(x, 0, async_op=True), dist.barrier(async_op=True)]
        assert all(w.wait() and w.is_completed() and w.exception() is None for w in works)
        assert works[0].get_future().wait()[0] is x
        assert dist.all_reduce(x) is None
        return x

    assert len({str(x.tolist()) for x in run(n, program)}) == 1


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize("n", [3, 4, 6, 7])
def test_groups_of_some(n):
    def program(rank, n):
        pg = dist.new_group([n - 1, 0])  # sorted: rank 0 is first
        x = strided.tensor([rank + 1])
        if rank in (0, n - 1):
            dist.all_reduce(x, group=pg)
            dist.broadcast(x, n - 1, pg)
            assert dist.get_process_group_ranks(pg) == [0, n - 1] and dist.get_world_size(pg) == 2
            assert dist.get_group_rank(pg, n - 1) == 1 and dist.get_global_rank(pg, 1) == n - 1
            assert dist.get_rank(pg) == (rank > 0)
        else:
            assert pg is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(pg) == -1
            with pytest.warns(UserWarning, match="does not belong to the given group"):
                assert dist.all_reduce(x, group=pg) is None
        reverse = dist.new_group(range(n - 1, -1, -1), sort_ranks=False)
        assert dist.get_rank(reverse) == n - 1 - rank
        assert dist.group.WORLD is not None and dist.get_world_size(dist.group.WORLD) == n
        assert dist.get_pg_count() == (3 if rank in (0, n - 1) else 2)
        return x.item()

    assert run(n, program) == [n + 1, *range(2, n), n + 1]


@pytest.mark.parametrize(("n", "size"), [(4, 2), (6, 3), (6, 2), (7, 7)])
def test_subgroups(n, size):
    def program(rank, n):
        mine, everyone = dist.new_subgroups(size)
        x = strided.tensor([rank])
        dist.all_reduce(x, group=mine)
        assert len(everyone) == n // size
        half = dist.split_group(split_ranks=[list(range(0, n, 2)), list(range(1, n, 2))])
        y = strided.tensor([1])
        dist.all_reduce(y, group=half)
        dist.destroy_process_group(half)
        with pytest.raises(ValueError, match="destroyed"):
            dist.all_reduce(y, group=half)
        return x.item(), y.item()

    for rank, (x, y) in enumerate(run(n, program)):
        first = rank // size * size
        assert x == sum(range(first, first + size)) and y == (n + 1) // 2 - (rank % 2) * (n % 2)


def test_names_before_and_after():
    def program():
        assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
        for call in (dist.get_rank, dist.get_world_size, dist.get_backend, dist.barrier, dist.destroy_process_group):
            with pytest.raises(ValueError, match="Default process group has not been initialized"):
                call()
        dist.init_process_group(timeout=60, world_size=2, rank=dist.world().rank)
        assert dist.is_initialized() and dist.get_backend() == "mpi" == dist.Backend.MPI
        assert dist.group.WORLD.communicator.timeout == 60
        with pytest.raises(ValueError, match="trying to initialize the default process group twice!"):
            dist.init_process_group()
        dist.destroy_process_group()
        dist.init_process_group()
        return dist.get_rank()

    assert dist.simulate(2, program) == [0, 1]
    assert not dist.is_initialized()


@pytest.mark.parametrize(
    ("backend", "name"), [("gloo", "gloo"), (None, "gloo"), ("mpi", "mpi"), ("cpu:gloo,cuda:nccl", "gloo")]
)
def test_the_backend_of_one_process_that_mpi_has_not_started(backend, name, tmp_path):
    code = (
        "import strided.distributed as dist\n"
        f"dist.init_process_group({backend!r}, rank=0, world_size=1, init_method='file://{tmp_path}/store')\n"
        "print(dist.get_backend(), dist.get_backend(dist.new_group([0])), dist.get_world_size())\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [name, name, "1"], done.stderr


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"backend": "smoke"}, ValueError, "there is no backend 'smoke'"),
        ({"world_size": 5}, RuntimeError, "world_size is 5, but MPI has 2"),
        ({"rank": 7}, RuntimeError, "rank is 7, but MPI says"),
        ({"store": object()}, TypeError, "a Store is required"),
    ],
)
def test_wrong_starts(options, error, text):
    def program():
        with pytest.raises(error, match=text):
            dist.init_process_group(**options)

    dist.simulate(2, program)


def test_a_store_is_not_needed():
    def program():
        rank = dist.world().rank
        dist.init_process_group("mpi", store=dist.HashStore(), rank=rank, world_size=2)
        return dist.get_rank() == rank

    assert dist.simulate(2, program) == [True, True]


def test_other_backends_are_mpi_with_one_warning():
    def program():
        dist.init_process_group("cpu:gloo,cuda:nccl")
        return str(dist.get_backend())

    strided.set_warn_always(True)  # another test may have been told already
    with pytest.warns(UserWarning) as caught:
        assert dist.simulate(2, program) == ["mpi", "mpi"]
    strided.set_warn_always(False)
    assert len({str(w.message) for w in caught}) == 2 and {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dist.simulate(2, program) == ["mpi", "mpi"]


def test_default_backends():
    assert dist.Backend.default_device_backend_map["cpu"] == "gloo"
    assert dist.simulate(2, lambda: dist.get_default_backend_for_device("cpu")) == ["mpi", "mpi"]
    if dist.world().size == 1:
        assert dist.get_default_backend_for_device(strided.device("cpu")) == "gloo"
    with pytest.raises(ValueError, match="not registered for device : meta"):
        dist.get_default_backend_for_device("meta")


def test_torchrun_without_mpi_is_named(monkeypatch):
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", "4")
    if dist.world().size != 1:
        pytest.skip("the tests run under MPI")
    with pytest.raises(RuntimeError, match="python -m strided launch -n 4"):
        dist.init_process_group()
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group()
    assert dist.get_world_size() == 1
    dist.destroy_process_group()


def test_local_rank(monkeypatch):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert dist.get_node_local_rank(3) == 3
    with pytest.raises(RuntimeError, match="LOCAL_RANK"):
        dist.get_node_local_rank()
    os.environ["LOCAL_RANK"] = "2"
    assert dist.get_node_local_rank() == 2
    monkeypatch.delenv("LOCAL_RANK")


# ---------------------------------------------------------------- plain values


VALUES = [
    None, True, 3, -(2**80), 0.1, float("inf"), "a ⊕ \0", b"\0\xff", 1 - 2j, (), [(1,), [2]],
    {1: "a", "1": (2,), (3,): {}},
    {"tuple": [1]}, {4, 5}, frozenset({"x"}), strided.float16, strided.device("cpu"),
]  # fmt: skip


@ranks
def test_plain_values_arrive_as_they_are(n):
    def program(rank, n):
        value = {"rank": rank, "values": VALUES, "tensor": strided.arange(rank * 3).reshape(rank, 3).t()}
        found = [None] * n
        dist.all_gather_object(found, value)
        gathered = [None] * n if rank == n - 1 else None
        dist.gather_object(value, gathered, n - 1)
        told = ["a", (rank, 1)] if rank == 0 else [None, None]
        dist.broadcast_object_list(told, 0)
        mine = [None]
        dist.scatter_object_list(mine, [(r, r * "x") for r in range(n)] if rank == 0 else None, 0)
        passed = [None]
        if n > 1 and rank == 0:
            dist.send_object_list([{"a": 1}], n - 1)
        if n > 1 and rank == n - 1:
            assert dist.recv_object_list(passed, 0) == 0 and passed == [{"a": 1}]
        return found, gathered, told, mine

    for rank, (found, gathered, told, mine) in enumerate(run(n, program)):
        for values in (found, gathered or []):
            for r, value in enumerate(values):
                assert value["rank"] == r and value["values"] == VALUES
                assert [type(v) for v in value["values"]] == [type(v) for v in VALUES]
                same(value["tensor"], strided.arange(r * 3).reshape(r, 3).t())
        assert told == ["a", (0, 1)] and mine == [(rank, rank * "x")]


class Thing:
    def __reduce__(self):
        raise AssertionError("pickled")


@pytest.mark.parametrize(
    "value", [Thing(), {"a": [Thing()]}, print, range(3)], ids=["object", "inside", "call", "range"]
)
def test_other_objects_raise(value):
    def program():
        dist.init_process_group()
        with pytest.raises(TypeError, match="would have to be pickled"):
            dist.all_gather_object([None], value)

    dist.simulate(1, program)


# ---------------------------------------------------------------- errors


def in_group(call):
    def program():
        dist.init_process_group()
        call(dist.get_rank())

    return program


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: dist.all_reduce([1.0]), TypeError, "Expected parameter `tensor` of type torch.Tensor"),
        (lambda r: dist.all_reduce(strided.ones(1), "sum"), TypeError, "op is a ReduceOp, got 'sum'"),
        (lambda r: dist.all_gather(strided.ones(2), strided.ones(1)), TypeError, "List"),
        (lambda r: dist.broadcast(strided.ones(1)), ValueError, "must specify src or group_src"),
        (lambda r: dist.broadcast(strided.ones(1), 0, group_src=0), ValueError, "can't specify both"),
        (lambda r: dist.broadcast(strided.ones(1), 9), ValueError, "Global rank 9 is not part"),
        (lambda r: dist.gather(strided.ones(1)), ValueError, "gather_list"),
        (lambda r: dist.scatter(strided.ones(1)), ValueError, "scatter_list"),
        (lambda r: dist.send(strided.ones(1), r), ValueError, "Invalid destination rank"),
        (lambda r: dist.all_gather_into_tensor(strided.ones(3), strided.ones(1)), ValueError, "world_size times"),
        (lambda r: dist.all_gather_into_tensor(strided.ones(4, 2).t(), strided.ones(4)), RuntimeError, "contiguous"),
        (lambda r: dist.reduce_scatter_tensor(strided.ones(2), strided.ones(3)), ValueError, "world size"),
        (lambda r: dist.all_to_all_single(strided.ones(3), strided.ones(3)), RuntimeError, "does not divide equally"),
        (lambda r: dist.all_to_all_single(strided.ones(2), strided.ones(2), [1, 2]), RuntimeError, "Split sizes"),
        (lambda r: dist.new_group([0, 0]), RuntimeError, "must differ"),
        (lambda r: dist.new_group([5]), RuntimeError, "within the world_size"),
        (lambda r: dist.new_group([0, 1, 1]), RuntimeError, "less or equal"),
        (lambda r: dist.new_subgroups(3), ValueError, "must be divisible"),
        (lambda r: dist.P2POp(dist.send, strided.ones(1), 0), ValueError, "Invalid ``op``"),
    ],
)
def test_errors_of_use(call, error, text):
    with pytest.raises(dist.RankError) as caught:
        dist.simulate(2, in_group(call))
    assert isinstance(caught.value.__cause__, error) and text in str(caught.value)


def test_ranks_that_differ_are_named_on_every_rank():
    def program(rank, n):
        with pytest.raises(dist.MismatchError, match="rank"):
            dist.all_reduce(strided.ones(2 + (rank == 1)))
        return "told"

    assert run(3, program) == ["told"] * 3


def test_the_module_that_libraries_take_groups_from():
    from strided.distributed import distributed_c10d as c10d

    assert c10d.all_reduce is dist.all_reduce and c10d.ReduceOp is ReduceOp and c10d.TCPStore is dist.TCPStore
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        c10d._get_default_group()

    def program(rank, n):
        whole, one = c10d._get_default_group(), dist.new_group([1])
        assert whole is dist.group.WORLD and c10d._get_global_rank(whole, 1) == 1
        return c10d._rank_not_in_group(whole), c10d._rank_not_in_group(None), c10d._rank_not_in_group(one)

    assert run(2, program) == [(False, False, True), (False, False, False)]


# ---------------------------------------------------------------- messages from any rank, new tensors


def test_messages_from_any_rank():
    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        x = strided.zeros(2)
        if rank == 0:
            work = dist.irecv(x, tag=3)
            work.wait()
            found = [(work.source_rank(), x[0].item())]
            while not (work := dist.irecv(x, tag=3)).is_completed():
                pass
            found.append((work.source_rank(), x[0].item()))
            objects = [None]
            found.append((dist.recv_object_list(objects), objects[0]))
            return sorted(found, key=str)
        dist.send(strided.full((2,), float(rank)), 0, tag=3)
        if rank == 2:
            dist.send_object_list(["text"], 0)
        return None

    assert dist.simulate(3, program)[0] == [(1, 1.0), (2, "text"), (2, 2.0)]

    def nobody():
        dist.init_process_group()
        if dist.get_rank() == 0:
            dist.recv(strided.zeros(2))

    with pytest.raises(dist.DeadlockError, match="recv from any rank, tag 0"):
        dist.simulate(2, nobody)


def test_arrays_and_ordered_dicts_are_objects():
    numpy = pytest.importorskip("numpy")

    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        given = OrderedDict(z=numpy.arange(6).reshape(2, 3) * rank, a=numpy.float32(1.5), t=numpy.array(["x"]))
        found = [None, None]
        dist.all_gather_object(found, given)
        there = found[1]
        assert type(there) is OrderedDict and list(there) == ["z", "a", "t"]
        assert there["z"].tolist() == [[0, 1, 2], [3, 4, 5]] and there["z"].dtype == given["z"].dtype
        assert type(there["a"]) is numpy.float32 and there["t"].tolist() == ["x"]
        there["z"][0, 0] = 7  # its own memory
        with pytest.raises(TypeError, match=r"numpy\.ndarray"):
            dist.all_gather_object(found, numpy.array([print], dtype=object))

    dist.simulate(2, program)


def test_calls_that_give_new_tensors():
    from strided.distributed import _functional_collectives as calls

    def program():
        dist.init_process_group()
        rank, size = dist.get_rank(), dist.get_world_size()
        mesh = dist.init_device_mesh("cpu", (size,), mesh_dim_names=("a",))
        x = strided.arange(6.0).view(2, 3) + 10 * rank
        everything = [strided.arange(6.0).view(2, 3) + 10 * r for r in range(size)]
        for group in (None, mesh, (mesh, "a"), dist.group.WORLD):
            assert strided.equal(calls.all_reduce(x, "sum", group), sum(everything))
        assert strided.equal(calls.all_reduce(x, "max"), everything[-1])
        assert strided.equal(calls.broadcast(x, 1), everything[1])
        assert strided.equal(calls.all_gather_tensor(x, 1), strided.cat(everything, 1))
        wide = strided.cat([x, x * 2], 1)
        assert strided.equal(calls.reduce_scatter_tensor(wide, "avg", 1), sum(everything) / 2 * (rank + 1))
        assert strided.equal(calls.all_to_all_single(x, None, None), strided.stack([t[rank] for t in everything]))
        assert strided.equal(calls.permute_tensor(x, [1, 0]), everything[1 - rank])
        assert strided.equal(calls.all_gather_into_tensor_coalesced([x, x])[1], strided.cat(everything))
        assert calls.all_reduce_coalesced([x], "min")[0].equal(everything[0])
        assert calls.reduce_scatter_tensor_coalesced([x], "sum", [0])[0].equal(sum(everything)[rank : rank + 1])
        for call in (
            lambda t: calls.all_gather_tensor_autograd(t, 0).square(),
            lambda t: calls.reduce_scatter_tensor_autograd(t, "sum", 0).square(),
            lambda t: calls.all_to_all_single_autograd(t, None, None).square(),
        ):
            leaf = x.clone().requires_grad_()
            call(leaf).sum().backward()
            assert leaf.grad.count_nonzero() > 0
        assert calls.wait_tensor(x) is x and not isinstance(x, calls.AsyncCollectiveTensor)
        for call, error in [
            (lambda: calls.all_reduce(x, "no"), ValueError),
            (lambda: calls.reduce_scatter_tensor(x, "sum", 1), ValueError),
            (lambda: calls.permute_tensor(x, [0, 0]), ValueError),
            (lambda: calls.all_reduce(x, "sum", [0, 1]), NotImplementedError),
        ]:  # fmt: skip
            with pytest.raises(error):
                call()

    dist.simulate(2, program)


def test_calls_are_counted():
    from strided.distributed.tensor import debug

    def program():
        dist.init_process_group()
        ops, mesh = strided.ops.c10d_functional, dist.init_device_mesh("cpu", (2,))
        x = dist.distribute_tensor(strided.ones(4, 4), mesh, [dist.Shard(0)]).requires_grad_()
        with debug.CommDebugMode() as mode:
            x.cumsum(0).sum().backward()
        assert mode.get_total_counts() == sum(mode.comm_counts.values()) >= 2
        assert "cumsum" in mode.generate_comm_debug_tracing_table()
        with mode:
            dist.all_reduce(strided.ones(1))
        assert mode.get_comm_counts()[ops.all_reduce] == 1 and mode.get_comm_counts()[ops.broadcast] == 0
        dist.all_reduce(strided.ones(1))
        assert mode.get_comm_counts()[ops.all_reduce] == 1
        assert not hasattr(ops, "no_call")
        debug.visualize_sharding(x, "header")

    dist.simulate(2, program)
