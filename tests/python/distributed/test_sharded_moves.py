"""Sharded tensors: which rank has which elements, and moves from one placement to another."""

import itertools
import math

import pytest
import strided as torch
from sharded_cases import MESHES, assert_shard, like, on_ranks, options, slopes_of, weights
from strided.distributed import (
    BlockCyclic,
    Partial,
    Replicate,
    Shard,
    ShardedTensor,
    _move,
    distribute_tensor,
    init_device_mesh,
    simulate,
)

dist = torch.distributed


RANKS = [1, 2, 3, 4, 6, 7]


# ---------------------------------------------------------------- who owns what


@pytest.mark.parametrize("n", [0, 1, 3, 10, 16])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_shards_are_the_chunks_of_the_axis_and_blocks_are_dealt_in_turn(n, size):
    x = torch.arange(n)
    pieces = list(x.chunk(size)) + [x[:0]] * size
    cyclic = [torch.cat([x[:0], *x.split(3)[r::size]]) if n else x for r in range(size)]

    def program(mesh):
        return distribute_tensor(x, mesh, [Shard(0)]).to_local(), distribute_tensor(
            x, mesh, [BlockCyclic(0, 3)]
        ).to_local()

    for r, (a, b) in enumerate(on_ranks(size, program)):
        assert torch.equal(a, pieces[r]) and torch.equal(b, cyclic[r])


def test_several_axes_of_a_mesh_may_cut_one_axis():
    def program():
        mesh = init_device_mesh("cpu", (2, 3))
        x = distribute_tensor(torch.arange(11), mesh, [Shard(0), Shard(0)])
        return x.to_local().tolist(), x.full_tensor().tolist()

    found = simulate(6, program)
    assert [a for a, _ in found] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]
    assert all(b == list(range(11)) for _, b in found)


def most_that_moves(src, dst):
    """Elements that this rank lacks; of sums of terms as many for each term of others."""
    me = src.mesh._coordinate
    has, wants = (
        set(itertools.product(*([i for a, b in r for i in range(a, b)] for r in spec.ranges(me))))
        for spec in (src, dst)
    )
    pending = [p.is_partial() and p != q for p, q in zip(src.placements, dst.placements, strict=True)]
    terms = math.prod(n for n, is_sum in zip(src.mesh.shape, pending, strict=True) if is_sum)
    return len(wants) * terms - len(wants & has)


@pytest.mark.parametrize("n", RANKS)
def test_any_placement_to_any_other(n):
    """Values, gradients, and shapes smaller than the mesh; no rank gets more than it lacks."""
    for mesh_shape in MESHES[n]:
        for shape in [(5, 3), (2, 1)] if len(mesh_shape) == 1 else [(5, 3)]:
            x = torch.arange(float(shape[0] * shape[1]), dtype=torch.float64).view(shape) + 1
            found = options(x)
            pairs = found if len(mesh_shape) == 1 else [(a, b) for a, b in itertools.product(found, found)][::3]

            def program(mesh_shape=mesh_shape, pairs=pairs, x=x):
                mesh = init_device_mesh("cpu", mesh_shape)
                placements = [p if isinstance(p, tuple) else (p,) for p in pairs]
                moves = list(itertools.product(placements, placements))
                for src, dst in moves if len(mesh_shape) == 1 else moves[n // 6 :: 3]:  # each of them still comes up
                    given = distribute_tensor(x, mesh, src, src_data_rank=None).requires_grad_()
                    received = mesh.comm.traffic.received
                    moved = given.redistribute(placements=dst)
                    received = mesh.comm.traffic.received - received
                    assert moved.placements == dst and moved.to_local().shape == moved._spec.local_shape()
                    assert_shard(moved, x, (src, dst), exact=True)
                    assert received <= most_that_moves(given._spec, moved._spec) * 8, (src, dst)
                    if not any(p.is_partial() for p in (*src, *dst)):
                        assert received == most_that_moves(given._spec, moved._spec) * 8, (src, dst)
                    (slope,) = slopes_of([moved], [given], like)
                    assert_shard(slope, weights(x), (src, dst), exact=True)

            simulate(n, program)


@pytest.mark.parametrize("rounds", [3, 20])
def test_large_shards_move_in_rounds(rounds, monkeypatch):
    """Copies on their way are small; values, sums and traffic are those of one round."""
    x = torch.arange(35.0, dtype=torch.float64).view(5, 7)
    places = [Shard(0), Shard(1), BlockCyclic(0, 2), BlockCyclic(1, 1), Replicate(), Partial(), Partial("avg")]

    def program(mesh):
        received = []
        for src, dst in itertools.product(places, places[:-2]):
            given = ShardedTensor.from_local(x + mesh.get_local_rank(), mesh, [src]) if src.is_partial() else (
                distribute_tensor(x, mesh, [src]))  # fmt: skip
            whole, before = given.full_tensor(), mesh.comm.traffic.received
            assert_shard(given.redistribute(placements=[dst]), whole, (src, dst), exact=True)
            received.append(mesh.comm.traffic.received - before)
        return received

    once = on_ranks(3, program)
    monkeypatch.setattr(_move, "_ROUND", x.nbytes // rounds)
    assert on_ranks(3, program) == once


def test_large_sums_move_twice_their_size():
    """And terms that are wanted in pieces once."""
    n = 30000

    def program(mesh):
        x = ShardedTensor.from_local(torch.ones(n, dtype=torch.float64), mesh, [Partial()])
        found = []
        for placement in (Replicate(), Shard(0), BlockCyclic(0, 7)):
            before = mesh.comm.traffic.received
            assert (x.redistribute(placements=[placement]).to_local() == 3).all()
            found.append((mesh.comm.traffic.received - before) / 8)
        return found

    for whole, *pieces in on_ranks(3, program):
        assert whole == 2 * n * 2 / 3 and all(abs(p - n * 2 / 3) <= 14 for p in pieces)


def test_what_moves_is_what_a_rank_lacks():
    def program(mesh):
        x = dist.zeros(8, 8, dtype=torch.float64, mesh=mesh, placements=[Shard(0)])
        moved = []
        for placements in ([Shard(1)], [BlockCyclic(0, 1)], [Replicate()], [Shard(0)]):
            before = mesh.comm.traffic.received
            x.redistribute(placements=placements)
            moved.append((mesh.comm.traffic.received - before) // 8)
        y = dist.zeros(8, 8, dtype=torch.float64, mesh=mesh)
        before = mesh.comm.traffic.received
        y.redistribute(placements=[Shard(1)])
        return [*moved, mesh.comm.traffic.received - before]

    assert on_ranks(4, program)[0] == [12, 8, 48, 0, 0]


def test_sums_of_terms():
    def program(mesh):
        local = torch.full((3, 2), mesh.get_local_rank() + 1.0, dtype=torch.bfloat16)
        found = []
        for op, value in (("sum", 6.0), ("avg", 2.0), ("max", 3.0), ("min", 1.0), ("prod", 6.0)):
            x = ShardedTensor.from_local(local, mesh, [Partial(op)])
            assert (x.full_tensor() == value).all() and x.full_tensor().dtype is torch.bfloat16
            assert (x.redistribute(placements=[Shard(0)]).to_local() == value).all()
            found.append((x * 1).full_tensor()[0, 0].item())
        return found

    assert on_ranks(3, program) == [[6.0, 2.0, 3.0, 1.0, 6.0]] * 3


def test_terms_that_are_expanded_are_added():
    def program(mesh):
        x, nothing = (ShardedTensor.from_local(torch.ones(n, 1), mesh, [Partial()]).expand(n, 4) for n in (3, 0))
        return x.full_tensor().tolist(), nothing.full_tensor().shape

    assert on_ranks(2, program) == [([[2.0] * 4] * 3, (0, 4))] * 2


def test_sums_of_linear_functions_wait():
    def program(mesh):
        x = ShardedTensor.from_local(torch.ones(4), mesh, [Partial()])
        return (x + x).placements, (-x * 2).placements, x.sum().placements, x.exp().placements, (x * x).placements

    assert on_ranks(2, program)[0] == ((Partial(),),) * 3 + ((Replicate(),),) * 2


def test_a_move_is_planned_once():
    def program(mesh):
        x = dist.rand(6, 4, mesh=mesh, placements=[Shard(0)])
        whole = x.full_tensor()
        for _ in range(2):
            for placement in (Shard(1), BlockCyclic(0, 1)):
                moved = x.redistribute(placements=[placement])
                assert_shard(moved, whole, placement, exact=True)
                assert_shard(moved.redistribute(placements=[Shard(0)]), whole, placement, exact=True)
        planned = len(mesh._moves)
        for k in range(501):  # moves that are not made again are not kept for ever
            mesh._moves[k] = None
        assert_shard(dist.ones(3, mesh=mesh).redistribute(placements=[Shard(0)]), torch.ones(3), "new", exact=True)
        return planned, len(mesh._moves)

    assert on_ranks(2, program) == [(5, 1)] * 2
