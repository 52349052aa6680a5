"""Calls of a Communicator on simulated ranks: results, staging, checks, faults, traffic."""

import pytest
import strided as torch

dist = torch.distributed
RANKS = [1, 2, 3, 4, 6, 7]


def everywhere(n, program):
    """program(comm) on n ranks."""
    return dist.simulate(n, lambda: program(dist.world()))


def piece(rank, n=5):
    return torch.arange(n, dtype=torch.float64) * (rank + 1) + rank


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("length", [0, 1, 5, 3000])
def test_all_reduce_is_the_sum_in_the_order_of_ranks(n, length):
    def program(comm):
        x = piece(comm.rank, length) / 3
        comm.all_reduce(x)
        return x

    expected = piece(0, length) / 3
    for r in range(1, n):
        expected = expected + piece(r, length) / 3
    for x in everywhere(n, program):
        assert torch.equal(x, expected)


@pytest.mark.parametrize("n", [2, 3])
def test_long_sums_go_to_views_and_nowhere_else(n):
    def program(comm):
        memory = torch.full((3, 9001), comm.rank + 1.0)
        comm.all_reduce(memory[1])  # in one piece: no copy
        comm.all_reduce(memory[:, ::2], "max")
        leaf = torch.full((9001,), comm.rank + 1.0, requires_grad=True)
        comm.all_reduce(leaf, "avg")
        return memory, leaf.detach()

    for r, (memory, leaf) in enumerate(everywhere(n, program)):
        total = n * (n + 1) / 2
        assert (memory[1] == total).all() and (memory[::2, ::2] == n).all() and (memory[::2, 1::2] == r + 1).all()
        assert (leaf == total / n).all()


@pytest.mark.parametrize("op", ["sum", "avg", "prod", "min", "max", "band", "bor", "bxor"])
@pytest.mark.parametrize("length", [4, 20000])
def test_operations(op, length):
    dtype = torch.int32 if op.startswith("b") else torch.float32
    values = [torch.arange(length, dtype=dtype) % 7 + r + 1 for r in range(4)]

    def program(comm):
        x = values[comm.rank].clone()
        comm.all_reduce(x, op)
        y = values[comm.rank].clone()
        comm.reduce(y, op, 2)
        pieces, z = list(values[comm.rank].split(dist._comm.parts_of(length, 4))), torch.empty(length // 4, dtype=dtype)
        comm.reduce_scatter(z, pieces, op)
        return x, y, z

    combine = {"sum": torch.add, "avg": torch.add, "prod": torch.mul, "min": torch.minimum, "max": torch.maximum,
               "band": torch.bitwise_and, "bor": torch.bitwise_or, "bxor": torch.bitwise_xor}[op]  # fmt: skip
    expected = values[0]
    for v in values[1:]:
        expected = combine(expected, v)
    expected = expected / 4 if op == "avg" else expected
    results = everywhere(4, program)
    for r, (x, y, z) in enumerate(results):
        assert torch.equal(x, expected)
        assert torch.equal(y, expected if r == 2 else values[r])
        assert torch.equal(z, expected[r * (length // 4) : (r + 1) * (length // 4)])


@pytest.mark.parametrize("dtype", torch._C.dtypes, ids=str)
def test_every_dtype(dtype):
    def program(comm):
        x = torch.tensor([0, 1, 2]).to(dtype)
        parts = [torch.zeros(3, dtype=dtype) for _ in range(comm.size)]
        comm.all_gather(parts, x)
        y = x.clone()
        comm.all_reduce(y, "bor" if dtype is torch.bool else "sum")
        return parts, y

    x = torch.tensor([0, 1, 2]).to(dtype)
    for parts, y in everywhere(3, program):
        assert all(p.dtype is dtype and torch.equal(p.to(torch.complex64), x.to(torch.complex64)) for p in parts)
        expected = x.to(torch.complex64) * (1 if dtype is torch.bool else 3)
        assert torch.equal(y.to(torch.complex64), expected)


def test_sums_of_narrow_floats_are_rounded_once():
    def program(comm):
        x = torch.tensor([256.0 if comm.rank == 0 else 1.0], dtype=torch.bfloat16)
        comm.all_reduce(x)
        return x.item()

    assert everywhere(3, program) == [258.0] * 3  # 256 + 1 is 256 in bfloat16


@pytest.mark.parametrize("n", RANKS)
def test_movement(n):
    """Pieces of unequal sizes, rank 1's empty."""

    def size(r):
        return 0 if r == 1 else r + 2

    def program(comm):
        rank = comm.rank
        mine = piece(rank, size(rank))
        gathered = [torch.empty(size(r), dtype=torch.float64) for r in range(n)]
        comm.all_gather(gathered, mine)
        on_root = [torch.empty(size(r), dtype=torch.float64) for r in range(n)] if rank == n - 1 else None
        comm.gather(on_root, mine, n - 1)
        scattered = torch.empty(size(rank), dtype=torch.float64)
        comm.scatter(scattered, [piece(r, size(r)) for r in range(n)] if rank == 0 else None, 0)
        exchanged = [torch.empty(size(r) + rank, dtype=torch.float64) for r in range(n)]
        comm.all_to_all(exchanged, [piece(10 * rank + r, size(rank) + r) for r in range(n)])
        sent = piece(rank, 3).clone() if rank == n - 1 else torch.empty(3, dtype=torch.float64)
        comm.broadcast(sent, n - 1)
        return gathered, on_root, scattered, exchanged, sent

    for rank, (gathered, on_root, scattered, exchanged, sent) in enumerate(everywhere(n, program)):
        for r in range(n):
            assert torch.equal(gathered[r], piece(r, size(r)))
            assert torch.equal(exchanged[r], piece(10 * r + rank, size(r) + rank))
            assert on_root is None or torch.equal(on_root[r], piece(r, size(r)))
        assert (on_root is not None) == (rank == n - 1)
        assert torch.equal(scattered, piece(rank, size(rank))) and torch.equal(sent, piece(n - 1, 3))


def test_layouts_are_staged():
    """Transposed, stepped and reversed tensors, and views of larger ones, are written where they are."""

    def program(comm):
        whole = torch.zeros(4, 6)
        x = whole[:, ::2].t()
        x.copy_(torch.arange(12.0).view(3, 4) + comm.rank)
        comm.all_reduce(x)
        y = torch.zeros(5, 2)
        comm.broadcast(y[1:4, 0] if comm.rank else torch.arange(6.0)[::2], 0)
        into = torch.zeros(2, 2)
        comm.sendrecv(x[0, :2], (comm.rank + 1) % 2, into[:, 1], (comm.rank + 1) % 2)
        return whole, y, into

    a, b = everywhere(2, program)
    expected = torch.arange(12.0).view(3, 4) * 2 + 1
    assert torch.equal(a[0][:, ::2].t(), expected) and torch.equal(a[0], b[0]) and a[0][:, 1::2].sum() == 0
    assert torch.equal(b[1][:, 0], torch.tensor([0.0, 0, 2, 4, 0])) and b[1][:, 1].sum() == 0
    assert torch.equal(a[2], torch.stack([torch.zeros(2), expected[0, :2]], 1))


def test_tensors_that_want_gradients_are_taken_and_nothing_is_recorded():
    def program(comm):
        x = torch.ones(2, requires_grad=True) * 3
        out = [torch.empty(2) for _ in range(2)]
        comm.all_gather(out, x)
        return out[1].requires_grad, x.requires_grad

    assert everywhere(2, program) == [(False, True)] * 2


def test_split():
    def program(comm):
        row = comm.split(comm.rank // 3, -comm.rank)
        x = torch.tensor([10.0**comm.rank])
        row.all_reduce(x)
        none = comm.split(None if comm.rank < 5 else "rest")
        return row.rank, row.size, x.item(), none and (none.rank, none.size)

    assert everywhere(6, program) == [
        (2, 3, 111.0, None), (1, 3, 111.0, None), (0, 3, 111.0, None), (2, 3, 111000.0, None), (1, 3, 111000.0, None),
        (0, 3, 111000.0, (0, 1)),
    ]  # fmt: skip


def test_messages():
    def program(comm):
        if comm.rank == 0:
            later = [comm.isend(torch.tensor([float(i)]), 1, tag=i) for i in range(3)]
            comm.send(torch.tensor([7]), 1)
            return [r.wait() for r in later]
        x = [torch.zeros(1) for _ in range(3)]
        later = [comm.irecv(x[i], 0, tag=i) for i in (2, 1)]
        y = torch.zeros(1, dtype=torch.int64)
        for request in later:
            request.wait()
        comm.recv(x[0], 0)
        comm.recv(y, 0)
        return [v.item() for v in x] + [y.item()]

    assert everywhere(2, program)[1] == [0.0, 1.0, 2.0, 7]


def test_a_request_can_be_asked():
    def program(comm):
        x = torch.zeros(1)
        if comm.rank == 0:
            request = comm.irecv(x, 1)
            while not request.is_completed():
                pass
            return x.item()
        comm.send(torch.ones(1), 0)

    assert everywhere(2, program)[0] == 1.0


def test_small_values():
    def program(comm):
        value = {"rank": comm.rank, "text": "ä" * comm.rank, "none": None, "list": [1, 2.5]}
        return comm.all_gather_object(value), comm.broadcast_object(("from", comm.rank), 2)

    for values, sent in everywhere(3, program):
        assert [v["text"] for v in values] == ["", "ä", "ää"] and values[2]["rank"] == 2 and sent == ["from", 2]


# ---------------------------------------------------------------- checks


def one(n=1, dtype=torch.float32):
    return torch.ones(n, dtype=dtype)


def first(comm, tensors):
    return tensors if comm.rank == 0 else None


WRONG = {
    "call": (
        lambda c: c.barrier() if c.rank == 1 else c.all_reduce(one()),
        "call: all_reduce on ranks 0, 2; barrier on rank 1",
    ),
    "dtype": (
        lambda c: c.all_reduce(one(2, torch.float64 if c.rank else torch.float32)),
        "dtype: float32 on rank 0; float64 on ranks 1, 2",
    ),
    "size": (lambda c: c.all_reduce(one(2 + (c.rank == 2))), "elements: 2 on ranks 0, 1; 3 on rank 2"),
    "op": (lambda c: c.all_reduce(one(2), "sum" if c.rank else "max"), "op: max on rank 0; sum on ranks 1, 2"),
    "root": (lambda c: c.broadcast(one(2), c.rank), "root: 0 on rank 0; 1 on rank 1; 2 on rank 2"),
    "list": (lambda c: c.all_gather([one(1 + c.rank)] * 3, one()), "sizes of the list"),
    "own": (lambda c: c.all_gather([one()] * 3, one(1 + c.rank)), "rank 1 has 2 elements, the list has 1"),
    "gather": (lambda c: c.gather(first(c, [one()] * 3), one(3 - c.rank), 0), "rank 0 has 3 elements"),
    "scatter": (lambda c: c.scatter(one(1 + c.rank), first(c, [one()] * 3), 0), "rank 1 has 2 elements"),
    "exchange": (
        lambda c: c.all_to_all([one(1 + c.rank) for _ in range(3)], [one()] * 3),
        "rank 0 gives 1 elements to rank 1, which expects 2",
    ),
}


@pytest.mark.parametrize("case", sorted(WRONG))
def test_a_mismatch_is_raised_on_every_rank_alike(case):
    program, message = WRONG[case]

    def caught(comm):
        with pytest.raises(dist.MismatchError, match=message) as error:
            program(comm)
        comm.barrier()  # and the ranks can go on
        return str(error.value)

    assert len(set(everywhere(3, caught))) == 1


def test_messages_that_do_not_fit():
    def program(comm):
        with pytest.raises(dist.MismatchError, match="rank 0 sends 8 bytes of torch.int64 to rank 1, which expects 4"):
            comm.send(torch.tensor([1]), 1) if comm.rank == 0 else comm.recv(torch.zeros(1), 0)

    everywhere(2, program)


def test_arguments():
    def program(comm):
        with pytest.raises(ValueError, match="no reduction 'mean'"):
            comm.all_reduce(torch.ones(1), "mean")
        with pytest.raises(TypeError, match="avg"):
            comm.all_reduce(torch.ones(1, dtype=torch.int64), "avg")
        with pytest.raises(ValueError, match="1 tensors for 2 ranks"):
            comm.all_gather([torch.ones(1)], torch.ones(1))
        with pytest.raises(TypeError, match="one dtype"):
            comm.all_gather([torch.ones(1), torch.ones(1, dtype=torch.int64)], torch.ones(1))
        with pytest.raises(ValueError, match="root is 2"):
            comm.broadcast(torch.ones(1), 2)
        for root in (-1, -2):
            with pytest.raises(ValueError, match=f"root is {root}"):
                comm.broadcast(torch.ones(1), root)
            with pytest.raises(ValueError, match=f"root is {root}"):
                comm.reduce(torch.ones(1), "sum", root)
            with pytest.raises(ValueError, match=f"root is {root}"):
                comm.gather(None, torch.ones(1), root)
            with pytest.raises(ValueError, match=f"root is {root}"):
                comm.scatter(torch.ones(1), None, root)
        with pytest.raises(TypeError, match="float"):
            comm.broadcast(torch.ones(1), 1.0)
        with pytest.raises(ValueError, match="0 tensors for 2 ranks"):
            comm.all_to_all([], [])
        with pytest.raises(ValueError, match="no rank 5"):
            comm.send(torch.ones(1), 5)
        for tag in (-1, 1 << 40):
            with pytest.raises(ValueError, match=f"tag is {tag}"):
                comm.send(torch.ones(1), 1, tag)
            with pytest.raises(ValueError, match=f"tag is {tag}"):
                comm.recv(torch.ones(1), 1, tag)
        with pytest.raises(ValueError, match="nowhere else"):
            comm.scatter(torch.ones(1), None if comm.rank == 0 else [torch.ones(1)] * 2, 0)

    everywhere(2, program)
    for n in (0, 2.0, True):
        with pytest.raises(ValueError, match="number of ranks"):
            dist.simulate(n)


# ---------------------------------------------------------------- faults


def test_a_rank_that_raises_ends_all():
    went_on = []

    def program(comm):
        comm.barrier()
        if comm.rank == 1:
            raise KeyError("here")
        try:
            comm.all_reduce(torch.ones(1))
        except Exception:  # programs that catch errors must not go on
            went_on.append(comm.rank)
        went_on.append(comm.rank)

    with pytest.raises(
        dist.RankError, match="rank 1 raised KeyError, after or in its call of barrier: 'here'"
    ) as error:
        everywhere(3, program)
    assert error.value.rank == 1 and isinstance(error.value.__cause__, KeyError) and went_on == []


def test_abort():
    def program(comm):
        if comm.rank == 0:
            comm.abort(ValueError("enough"))
        comm.barrier()

    with pytest.raises(dist.RankError, match="rank 0 raised ValueError: enough"):
        everywhere(2, program)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda c: c.rank or c.barrier(), "rank 0 waits in barrier on world, call 1; rank 1 has returned"),
        (
            lambda c: c.recv(torch.ones(1), 1 - c.rank),
            "rank 0 waits in recv from rank 1, tag 0, on world; rank 1 waits",
        ),
        (lambda c: c.send(torch.ones(1), 1 - c.rank), "rank 0 waits in send to rank 1"),
    ],
    ids=["left", "recv", "send"],
)
def test_a_deadlock_is_named(program, message):
    with pytest.raises(dist.DeadlockError, match=message):
        everywhere(2, program)


# ---------------------------------------------------------------- the simulation


def test_forms_of_simulate():
    def program(a, b=0):
        return a + b + dist.world().rank

    assert dist.simulate(2)(program)(1, b=2) == dist.simulate(2, program, 1, b=2) == [3, 4]
    assert dist.world().size == 1


def test_ranks_take_turns_in_the_same_order_every_time():
    def program(comm, seen):
        for i in range(3):
            seen.append((i, comm.rank))
            comm.barrier()

    runs = []
    for _ in range(3):
        seen = []
        everywhere(4, lambda comm: program(comm, seen))
        runs.append(seen)
    assert runs[0] == runs[1] == runs[2] and len(runs[0]) == 12


def test_each_rank_has_its_own_random_numbers_and_the_caller_keeps_his():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)

    def program(comm):
        a = torch.rand(2)
        comm.barrier()
        return torch.cat([a, torch.rand(2)])

    assert all(torch.equal(x, expected) for x in everywhere(3, program))
    assert torch.equal(torch.rand(4), expected)


def test_simulations_nest():
    def program(comm):
        comm.barrier()
        inner = dist.simulate(2, lambda: dist.world().all_gather_object(comm.rank))
        comm.barrier()
        return inner, dist.world().size

    assert everywhere(2, program)[1] == ([[1, 1], [1, 1]], 2)


def test_gradient_modes_are_the_callers():
    with torch.no_grad():
        assert everywhere(2, lambda comm: torch.is_grad_enabled()) == [False] * 2


# ---------------------------------------------------------------- traffic


def test_traffic_is_counted():
    def program(comm):
        with comm.record() as made:
            row = comm.split(comm.rank // 2)
            row.all_gather([torch.empty(3), torch.empty(3)], torch.ones(3))
            x = torch.ones(10, dtype=torch.float64)
            comm.broadcast(x, 0)
            comm.all_to_all([torch.ones(comm.rank) for _ in range(4)], [torch.ones(r) for r in range(4)])
        comm.barrier()
        return made, comm.traffic.sent, comm.traffic.received, row.traffic.calls

    for rank, (made, sent, received, calls) in enumerate(everywhere(4, program)):
        gather, cast, exchange = made
        assert gather == ("all_gather", 12, 12, 1) and calls == {"all_gather": 1}
        assert cast == (("broadcast", 240, 0, 3) if rank == 0 else ("broadcast", 0, 80, 0))
        assert exchange == ("all_to_all", 4 * (6 - rank), 12 * rank, 3 - (rank > 0))
        assert sent == sum(t.sent for t in made) and received == sum(t.received for t in made)


def test_a_large_all_reduce_moves_twice_its_size_at_most():
    def program(comm):
        comm.all_reduce(torch.ones(7000, dtype=torch.float64))
        return comm.traffic.received

    assert everywhere(7, program) == [2 * 6 * 8000] * 7


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_sums_that_go_on(n):
    """Bits and traffic are those of all_reduce, whatever the order of the waits."""

    def program():
        comm = dist.world()
        given = [torch.arange(k, dtype=torch.float64) * (comm.rank + 1) / 3 for k in (5, 0, 9001, 4)]
        given.append((torch.arange(40, dtype=torch.float64) * comm.rank)[::2])
        for op in ("sum", "avg", "max"):
            expected, found = [x.clone() for x in given], [x.clone() for x in given[:-1]]
            found.append(torch.zeros(40, dtype=torch.float64)[1::2].copy_(given[-1]))
            comm.traffic.reset()
            for x in expected:
                comm.all_reduce(x, op)
            wanted = comm.traffic.sent, comm.traffic.received, comm.traffic.messages
            comm.traffic.reset()
            requests = [comm.start_all_reduce(x, op) for x in found]
            for request in requests[:: 1 if comm.rank else -1]:
                comm.progress()
                request.wait()
                assert request.is_completed()
            assert wanted == (comm.traffic.sent, comm.traffic.received, comm.traffic.messages)
            assert all(torch.equal(a, b) for a, b in zip(found, expected))

    dist.simulate(n, program)


def test_sums_that_go_on_and_differ():
    def program(start):
        comm = dist.world()
        with pytest.raises(dist.MismatchError) as told:
            start(comm).wait()
        return str(told.value)

    sizes = "all_reduce on world: ranks differ in number of elements: 1 on rank 0; 2 on rank 1"
    assert dist.simulate(2, program, lambda c: c.start_all_reduce(torch.ones(1 + c.rank))) == [sizes] * 2
    found = dist.simulate(2, program, lambda c: c.start_all_reduce(torch.ones(1), "max" if c.rank else "min"))
    assert "differ in op: min on rank 0; max on rank 1" in found[0] and found[0] == found[1]
    with pytest.raises(dist.DeadlockError, match="rank 0 waits in all_reduce on world, call 1; rank 1 has returned"):
        dist.simulate(2, lambda: dist.world().rank or dist.world().start_all_reduce(torch.ones(1)).wait())
