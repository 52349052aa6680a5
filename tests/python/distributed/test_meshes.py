"""Meshes of ranks."""

import pytest
import strided as torch
from sharded_cases import on_ranks
from strided.distributed import (
    BlockCyclic,
    Replicate,
    Shard,
    ShardedTensor,
    distribute_tensor,
    init_device_mesh,
    simulate,
)

dist = torch.distributed


def test_meshes():
    def program():
        mesh = init_device_mesh("cpu", (2, 3), mesh_dim_names=("rows", "columns"))
        same = dist.DeviceMesh("cpu", [[0, 1, 2], [3, 4, 5]], mesh_dim_names=("rows", "columns"))
        row = mesh["columns"]
        assert mesh.mesh.tolist() == [[0, 1, 2], [3, 4, 5]] and same.shape == mesh.shape
        assert row.shape == (3,) and row.get_local_rank() == mesh.get_local_rank("columns")
        assert mesh.get_group("rows").size() == 2 and mesh.size() == 6 and mesh.size("columns") == 3
        for call, error in (
            (lambda: init_device_mesh("cpu", (4,)), ValueError),
            (lambda: dist.DeviceMesh("cpu", [1, 0, 2, 1]), ValueError),
            (lambda: dist.DeviceMesh("cpu", [0, 6]), ValueError),
            (lambda: dist.DeviceMesh("cpu", [0, -1]), ValueError),
            (lambda: dist.DeviceMesh("cpu", [[0, 1], [2]]), ValueError),
            (lambda: mesh["depth"], KeyError),
            (lambda: mesh.get_group(), RuntimeError),
            (lambda: init_device_mesh("tpu", (6,)), ValueError),
        ):
            with pytest.raises(error):
                call()
        return mesh.get_coordinate()

    assert simulate(6, program) == [[i, j] for i in range(2) for j in range(3)]


def test_meshes_of_some_ranks_in_any_order():
    def program():
        me = dist.world().rank
        mesh = dist.DeviceMesh("cpu", [[4, 1], [3, 0]])
        assert mesh.mesh.tolist() == [[4, 1], [3, 0]] and mesh.shape == (2, 2) and mesh.get_rank() == me
        if me == 2:
            assert mesh.get_coordinate() is None
            with pytest.raises(ValueError, match=r"zeros: this rank is not in DeviceMesh.*\[4, 1, 3, 0\]"):
                dist.zeros(2, mesh=mesh, placements=[Shard(0), Replicate()])
            return None
        whole = torch.arange(12.0).view(4, 3)
        x = distribute_tensor(whole, mesh, [Shard(0), Shard(1)])
        assert torch.equal(x.full_tensor(), whole) and torch.equal(x.sum(0).full_tensor(), whole.sum(0))
        return x.to_local().tolist()

    first = [[0.0, 1.0], [3.0, 4.0]]
    assert simulate(5, program)[4] == first and simulate(5, program)[0] == [[8.0], [11.0]]


def test_older_names_and_seeds():
    from strided.distributed import _tensor, tensor
    from strided.distributed._tensor import api, debug, device_mesh, placement_types, random
    from strided.distributed.tensor import _random

    assert _tensor.zeros is tensor.zeros and api.DTensor is ShardedTensor and placement_types.Shard is Shard
    assert device_mesh.DeviceMesh is dist.DeviceMesh and debug.CommDebugMode is tensor.debug.CommDebugMode
    assert random.manual_seed is _random.manual_seed

    def program():
        mesh = init_device_mesh("cpu", (2,))
        assert _random.is_rng_supported_mesh(mesh)
        _random.manual_seed(3, mesh)
        a = dist.rand(4, mesh=mesh, placements=[Shard(0)]).full_tensor()
        _random.manual_seed(3, mesh)
        assert torch.equal(a, dist.rand(4, mesh=mesh, placements=[Replicate()]).full_tensor())
        with pytest.raises(RuntimeError, match=r"different seeds, \[0, 1\]"):
            _random.manual_seed(dist.world().rank, mesh)
        x = distribute_tensor(torch.arange(12.0).view(4, 3), mesh, [Shard(0)])
        assert x.new_zeros(4, 3).placements == x.new_full((4, 3), 2.0).placements == (Shard(0),)
        assert x.new_ones((2,)).placements == (Replicate(),) and x.new_full((4, 3), 2.0).full_tensor().sum() == 24
        made = x.new_empty_strided((4, 3), (1, 4))
        assert made.placements == (Shard(0),) and made.stride() == (1, 4) and made.to_local().stride() == (1, 2)
        assert x.new_empty_strided((5, 2), (2, 1)).placements == (Replicate(),)
        assert x.stride() == (3, 1) and x.t().stride() == (1, 3)

    simulate(2, program)


def test_a_picture_of_a_mesh():
    def program():
        mesh = init_device_mesh("cpu", (2, 2))
        x = dist.zeros(4, 6, mesh=mesh, placements=[BlockCyclic(0, 1), BlockCyclic(1, 2)])
        return mesh.show(x), mesh.show((5,), [Shard(0), Replicate()])

    table, line = simulate(4, program)[0]
    assert table.split() == "0:2 2:4 4:6 0:1 0 1 0 1:2 2 3 2 2:3 0 1 0 3:4 2 3 2".split()
    assert line.splitlines() == ["0:3   0,1", "3:5   2,3"]


def test_meshes_placements_and_sizes_are_looked_at():
    def program(mesh):
        for shape in ((-1, -2), (2.0,), (True, 2), (0,)):
            with pytest.raises(ValueError, match="at least 1"):
                init_device_mesh("cpu", shape)
        for ranks in ([], [[]]):
            with pytest.raises(ValueError, match="at least one rank"):
                dist.DeviceMesh("cpu", ranks)
        x = torch.ones(3, 4)
        for placements in (3, [1.0], ["x"], [None]):
            with pytest.raises(TypeError):
                distribute_tensor(x, mesh, placements)
        with pytest.raises(TypeError):
            BlockCyclic(0, 1.5)
        for make in (dist.zeros, dist.rand):
            with pytest.raises(RuntimeError, match="0 or more"):
                make(-3, 4, mesh=mesh, placements=[Shard(0)])
        for given in ([1, 2], dist.zeros(4, mesh=mesh)):
            with pytest.raises(TypeError, match="plain tensor"):
                distribute_tensor(given, mesh)
            with pytest.raises(TypeError, match="plain tensor"):
                ShardedTensor.from_local(given, mesh)

    on_ranks(2, program)
