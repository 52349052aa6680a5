"""Checkpoints of several ranks: saved with some ranks and placements, loaded with others."""

import json
import os

import pytest
import strided as torch
from strided import nn
from strided.distributed import (
    BlockCyclic,
    Replicate,
    Shard,
    distribute_tensor,
    files,
    init_device_mesh,
    simulate,
    world,
)
from strided.distributed import checkpoint as dcp
from strided.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from strided.distributed.fsdp import fully_shard

X = torch.randn(12, 5, generator=torch.Generator().manual_seed(1))


def made(seed, lr):
    torch.manual_seed(seed)
    net = fully_shard(nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3)))
    return net, torch.optim.AdamW(net.parameters(), lr=lr)


def steps(net, optimizer, n=2):
    found = []
    for _ in range(n):
        optimizer.zero_grad()
        loss = net(X[world().rank :: world().size]).square().mean()
        loss.backward()
        optimizer.step()
        loss = loss.detach().clone()
        world().all_reduce(loss, "avg")
        found.append(loss.item())
    return found


def test_training_goes_on_with_another_number_of_ranks(tmp_path):
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)

    def first():
        net, optimizer = made(0, 0.01)
        steps(net, optimizer)
        model, state = get_state_dict(net, optimizer)
        dcp.save({"model": model, "optim": state, "epoch": 7}, checkpoint_id=tmp_path / "a")
        full = get_model_state_dict(net, options=whole), get_optimizer_state_dict(net, optimizer, options=whole)
        full = [{**d, "state": {k: {n: t.clone() for n, t in v.items()} for k, v in d["state"].items()}}
                if "state" in d else d for d in full]  # fmt: skip
        return steps(net, optimizer), full

    def second():
        net, optimizer = made(3, 0.5)
        model, state = get_state_dict(net, optimizer)
        found = {"model": model, "optim": state, "epoch": 0}
        dcp.load(found, checkpoint_id=tmp_path / "a")
        set_state_dict(net, optimizer, model_state_dict=found["model"], optim_state_dict=found["optim"])
        return steps(net, optimizer), found["epoch"]

    def third(full):
        """From whole tensors that the first rank has."""
        net, optimizer = made(3, 0.5)
        model, state = full if world().rank == 0 else ({}, {})
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(net, model, options=options)
        set_optimizer_state_dict(net, optimizer, state, options=options)
        return steps(net, optimizer)

    (want, full), (_, nothing) = simulate(2, first)
    assert nothing == [{}, {}] and full[0]["0.weight"].shape == (7, 5)
    for n in (1, 3):
        found, epoch = simulate(n, second)[n - 1]
        assert epoch == 7 and found == pytest.approx(want, rel=1e-5)
    assert simulate(4, third, full)[3] == pytest.approx(want, rel=1e-5)


def test_any_placement_to_any_other_and_nested_values(tmp_path):
    whole = torch.arange(35.0).view(7, 5)
    plain = {"c": [torch.ones(2), 3, (torch.zeros(1), "x")], "d": {"e": None, "f": [1, 2.5, {"g": (True,)}]}, "h": {}}

    def save(mesh_shape, placements):
        x = distribute_tensor(whole, init_device_mesh("cpu", mesh_shape), placements)
        dcp.save({"x": x, "n": plain}, storage_writer=dcp.FileSystemWriter(tmp_path), planner=dcp.DefaultSavePlanner())

    def load(mesh_shape, placements):
        x = distribute_tensor(torch.zeros(7, 5, dtype=torch.float64), init_device_mesh("cpu", mesh_shape), placements)
        before = x.to_local()
        mine = {"c": [torch.zeros(2), 0, (torch.ones(1), "x")], "d": {"e": 1, "f": None}, "h": {}}
        state = {"x": x, "n": mine}
        dcp.load(state, storage_reader=dcp.FileSystemReader(tmp_path))
        assert state["x"] is x and x.to_local() is before and torch.equal(x.full_tensor(), whole.double())
        return {k: str(v) for k, v in mine.items()}

    grids = [((1,), [Replicate()]), ((3,), [Shard(1)]), ((2, 2), [BlockCyclic(0, 2), Shard(0)]), ((7,), [Shard(0)])]
    for k, (shape, placements) in enumerate(grids):
        simulate(torch.Size(shape).numel(), save, shape, placements)
        shape, placements = grids[k - 1]
        found = simulate(torch.Size(shape).numel(), load, shape, placements)
        assert all(f == {k: str(v) for k, v in plain.items()} for f in found)
    assert os.listdir(tmp_path) == ["checkpoint.safetensors"]
    assert torch.equal(torch.files.load_file(tmp_path / "checkpoint.safetensors")["x"], whole)  # any reader's


def test_modules_and_optimizers_give_and_take_their_own_state(tmp_path):
    net = nn.Linear(2, 3)
    dcp.async_save({"net": net}, checkpoint_id=tmp_path, no_dist=True).result()
    other = nn.Linear(2, 3)
    dcp.load({"net": other}, checkpoint_id=tmp_path, no_dist=True)
    assert torch.equal(other.weight, net.weight) and isinstance(other.weight, nn.Parameter)


def test_what_does_not_fit_is_an_error_on_all_ranks(tmp_path):
    def program():
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.ones(4), mesh, [Shard(0)])
        dcp.save({"x": x}, checkpoint_id=tmp_path)
        with pytest.raises(RuntimeError, match="has a checkpoint, and overwrite=False|rank 0"):
            dcp.save({"x": x}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False))
        with pytest.raises(dcp.CheckpointException, match="the checkpoint has no y"):
            dcp.load({"y": x}, checkpoint_id=tmp_path)
        dcp.load({"y": x}, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
        with pytest.raises(dcp.CheckpointException, match=r"x has the shape \(4,\) in the checkpoint, here \(3,\)"):
            dcp.load({"x": torch.ones(3)}, checkpoint_id=tmp_path)
        with pytest.raises(FileNotFoundError):
            dcp.load({"x": x}, checkpoint_id=tmp_path / "no")
        with pytest.raises(RuntimeError, match=r"checkpoint_id or FileSystemReader\(path\) is required"):
            dcp.load({"x": x})
        with pytest.raises(NotImplementedError, match="a FileSystemWriter is required, got str"):
            dcp.save({}, checkpoint_id=tmp_path, storage_writer="x")
        with pytest.raises(ValueError, match="have one name, 'a.b'"):
            dcp.save({"a.b": x, "a": {"b": x}}, checkpoint_id=tmp_path)
        with pytest.raises(TypeError, match="f is a builtin_function_or_method"):
            dcp.save({"f": print}, checkpoint_id=tmp_path)
        with pytest.raises(ValueError, match="full_state_dict=True is required"):
            get_model_state_dict(nn.Linear(1, 1), options=StateDictOptions(broadcast_from_rank0=True))
        return True

    assert all(simulate(2, program))


def test_ranks_whose_metadata_differ_write_one_file(tmp_path):
    """The file has the first rank's, and every part in its place."""

    def program():
        x = distribute_tensor(torch.arange(8.0), init_device_mesh("cpu", (2,)), [Shard(0)])
        files.save_file({"x": x}, tmp_path / "f", {"note": "a" * (10 + 100 * world().rank)})

    simulate(2, program)
    assert torch.files.load_file(tmp_path / "f")["x"].tolist() == list(range(8))
    head = (tmp_path / "f").read_bytes()
    assert json.loads(head[8 : 8 + int.from_bytes(head[:8], "little")])["__metadata__"] == {"note": "a" * 10}


def test_names_of_a_checkpoint_and_files_of_save(tmp_path):
    from strided.distributed.checkpoint import BytesStorageMetadata, FileSystemReader, format_utils

    state = {
        "a.b": {"c": torch.ones(2, 3), 3: torch.zeros(1)},
        "l": [torch.ones(1), {"x": 5}],
        "opt": {"state": {0: {"m": torch.ones(3)}}},
    }
    dcp.save(state, checkpoint_id=tmp_path / "one")
    known = FileSystemReader(tmp_path / "one").read_metadata()
    assert set(known.state_dict_metadata) == {"a.b.c", "a.b.3", "l.0", "l.1.x", "opt.state.0.m"}
    told = known.state_dict_metadata["a.b.c"]
    assert told.size == (2, 3) and told.properties.dtype is torch.float32 and told.chunks[0].sizes == (2, 3)
    assert isinstance(known.state_dict_metadata["l.1.x"], BytesStorageMetadata)
    assert known.planner_data["a.b.3"] == ("a.b", 3)
    format_utils.dcp_to_torch_save(tmp_path / "one", tmp_path / "whole.pt")
    format_utils.torch_save_to_dcp(tmp_path / "whole.pt", tmp_path / "two")
    format_utils.dcp_to_torch_save(tmp_path / "two", tmp_path / "again.pt")
    for path in ("whole.pt", "again.pt"):
        found = torch.load(tmp_path / path)
        assert found["l"][1] == {"x": 5} and found["a.b"][3].tolist() == [0.0] and list(found["opt"]["state"]) == [0]
        assert torch.equal(found["a.b"]["c"], torch.ones(2, 3))
    with pytest.raises(FileNotFoundError):
        FileSystemReader(tmp_path / "none").read_metadata()
    dcp.save_state_dict({"a": torch.ones(2)}, dcp.FileSystemWriter(tmp_path / "three"))
    target = {"a": torch.zeros(2)}
    dcp.load_state_dict(target, FileSystemReader(tmp_path / "three"))
    assert target["a"].tolist() == [1.0, 1.0]
