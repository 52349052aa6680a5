"""Sharded tensors in files: whatever the mesh and the placements, the bytes are those of one process, and what is read
is what distribute_tensor gives."""

import os

import pytest
import strided
from strided import distributed as dist
from strided import files as single
from strided.distributed import BlockCyclic, Partial, Replicate, Shard, distribute_tensor, files, init_device_mesh

MESHES = {
    "rows": ((), [Shard(0)]),
    "columns": ((), [Shard(1)]),
    "copies": ((), [Replicate()]),
    "cyclic": ((), [BlockCyclic(0, 2)]),
    "cyclic columns": ((), [BlockCyclic(1, 1)]),
    "grid": ((2,), [Shard(0), Shard(1)]),
    "both cut rows": ((2,), [Shard(0), Shard(0)]),
    "copied columns": ((2,), [Replicate(), Shard(1)]),
    "cyclic grid": ((2,), [BlockCyclic(1, 2), BlockCyclic(0, 1)]),
}
CASES = [(n, name) for n in (1, 2, 3, 4, 6, 7) for name, (first, _) in MESHES.items() if not first or n % 2 == 0]


def mesh_of(n, first):
    return init_device_mesh("cpu", (*first, n // 2) if first else (n,))


@pytest.mark.parametrize(("n", "name"), CASES)
@pytest.mark.parametrize("short", [0, 1 << 15], ids=["as they are", "exchanged"])
def test_what_is_written_and_read(n, name, short, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_SHORT", short)
    first, placements = MESHES[name]
    whole = (strided.arange(23 * 20) % 251).reshape(23, 20).double()
    small = strided.arange(3 * 2, dtype=strided.int16).reshape(3, 2)  # smaller than some meshes

    def program():
        mesh = mesh_of(n, first)
        x, y = (distribute_tensor(t, mesh, placements) for t in (whole, small))
        mesh.comm.traffic.reset()
        files.save_npy(tmp_path / "x.npy", x)
        exchanged = mesh.comm.traffic.calls.get("all_to_all", 0) > 0
        assert exchanged or not short or name != "columns" or n not in (2, 3, 4)
        assert not exchanged or short
        files.save_file({"x": x, "y": y, "plain": small}, tmp_path / "x.safetensors")
        back = files.load_npy(tmp_path / "x.npy", mesh=mesh, placements=placements)
        assert back.to_local().tolist() == x.to_local().tolist() and back.shape == whole.shape
        found = files.load_file(tmp_path / "x.safetensors", {"plain": slice(0, 1)}, mesh=mesh,
                                placements={"x": placements, "y": placements})  # fmt: skip
        for key, t in (("x", x), ("y", y)):
            assert found[key].to_local().tolist() == t.to_local().tolist()
        assert found["plain"].tolist() == [[0, 1]]
        assert (back * 2).sum().full_tensor() == whole.sum() * 2

    dist.simulate(n, program)
    single.save_npy(tmp_path / "one.npy", whole)
    single.save_file({"x": whole, "y": small, "plain": small.clone()}, tmp_path / "one.safetensors")
    for kind in ("npy", "safetensors"):
        assert (tmp_path / f"x.{kind}").read_bytes() == (tmp_path / f"one.{kind}").read_bytes()
    assert len(os.listdir(tmp_path)) == 4


def test_numbers_and_gradients(tmp_path):
    """0-d tensors that all ranks have; parameters."""

    def program():
        mesh = init_device_mesh("cpu", (3,))
        step = distribute_tensor(strided.tensor(5), mesh, [Replicate()])
        weight = distribute_tensor(strided.ones(4, 2, requires_grad=True), mesh, [Shard(0)])
        files.save_file({"step": step, "weight": weight * 2}, tmp_path / "x.safetensors")

    dist.simulate(3, program)
    found = single.load_file(tmp_path / "x.safetensors")
    assert found["step"].item() == 5 and found["weight"].tolist() == [[2.0, 2.0]] * 4


def test_errors(tmp_path):
    def program():
        mesh = init_device_mesh("cpu", (2,))
        partial = distribute_tensor(strided.ones(2), mesh, [Partial()])
        with pytest.raises(ValueError, match="the tensor is Partial; redistribute it first"):
            files.save_npy(tmp_path / "x.npy", partial)
        files.save_npy(tmp_path / "x.npy", strided.ones(4))
        with pytest.raises(ValueError, match="an index or placements, not both"):
            files.load_npy(tmp_path / "x.npy", slice(0, 1), mesh=mesh)
        with pytest.raises(ValueError, match="cut or replicated"):
            files.load_npy(tmp_path / "x.npy", placements=[Partial()])
        return True

    assert dist.simulate(2, program) == [True, True]
