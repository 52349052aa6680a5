"""Modules with sharded parameters train as plain ones: distribute_module, gradients of shards, styles of
parallelize_module."""

import copy

import pytest
import strided as torch
import strided.utils.checkpoint
from small_training import OPTIMIZERS, X, Y, assert_same_losses, losses, network
from strided import nn
from strided.distributed import (
    BlockCyclic,
    DeviceMesh,
    Partial,
    Replicate,
    Shard,
    ShardedTensor,
    distribute_tensor,
    init_device_mesh,
    simulate,
    world,
)
from strided.distributed.fsdp import (
    fully_shard,
)
from strided.distributed.tensor import distribute_module
from strided.distributed.tensor import parallel as styles
from strided.distributed.tensor.experimental import local_map


def cut_along(placement):
    def partition(name, module, mesh):
        for key, p in list(module.named_parameters(recurse=False)):
            module.register_parameter(key, nn.Parameter(distribute_tensor(p.detach(), mesh, [placement])))

    return partition


# ---------------------------------------------------------------- parameters, distribute_module


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_every_optimizer_steps_sharded_parameters_as_plain_ones(kind):
    want = losses(network(), make=OPTIMIZERS[kind])

    def program():
        mesh = init_device_mesh("cpu", (3,))
        net = distribute_module(network(), mesh, cut_along(Shard(0)))
        x, y = (distribute_tensor(t, mesh, [Shard(0)]) for t in (X, Y))
        return losses(net, x, y, OPTIMIZERS[kind])

    assert_same_losses(simulate(3, program)[2], want)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
@pytest.mark.parametrize("placement", [Replicate(), Shard(-1), BlockCyclic(0, 2)], ids=str)
def test_any_placement_on_any_number_of_ranks_trains_to_the_same_losses(n, placement):
    want = losses(network())

    def program():
        mesh = init_device_mesh("cpu", (n,))
        net = distribute_module(network(), mesh, cut_along(placement))
        return losses(net, *(distribute_tensor(t, mesh, [Replicate()]) for t in (X, Y)))

    assert_same_losses(simulate(n, program)[-1], want)


def test_a_sharded_parameter_is_a_parameter_in_all_that_modules_do():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        net = distribute_module(network(), mesh, cut_along(Shard(0)))
        weight = net[0].weight
        assert isinstance(weight, nn.Parameter) and isinstance(weight, ShardedTensor) and weight.is_leaf
        assert isinstance(copy.deepcopy(net)[0].weight, nn.Parameter)
        assert net.double()[0].weight is weight and weight.dtype == torch.float64 and weight.requires_grad
        state = {k: v.clone() for k, v in net.state_dict().items()}
        assert all(type(v) is ShardedTensor for v in state.values())
        torch.nn.init.zeros_(net[0].weight)
        assert not net.load_state_dict(state).missing_keys and torch.equal(
            weight.full_tensor(), state["0.weight"].full_tensor()
        )
        net.float().requires_grad_(False)
        frozen = nn.Parameter(weight, requires_grad=False)
        assert not frozen.requires_grad and frozen.to_local().data_ptr() == weight.to_local().data_ptr()
        norm = distribute_module(nn.BatchNorm1d(4), mesh)  # buffers too
        assert norm.running_mean.placements == (Replicate(),) and sum(p.numel() for p in net.parameters()) == 80
        return True

    assert all(simulate(2, program))


def test_distribute_module_calls_its_functions_and_refuses_what_is_wrong():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        seen = []

        def come(module, inputs, mesh):
            return (distribute_tensor(inputs[0], mesh, [Shard(0)]),)

        def go(module, outputs, mesh):
            return outputs.full_tensor()

        net = network()
        want = net(X)
        made = distribute_module(net, None, lambda name, m, mesh: seen.append(name), come, go)
        assert made is net and seen == ["", "0", "1", "2", "3"]
        torch.testing.assert_close(net(X), want)
        with pytest.raises(RuntimeError, match="distributed already"):
            distribute_module(net, mesh)
        with pytest.raises(ValueError, match="input_fn takes three arguments"):
            distribute_module(network(), mesh, None, lambda x: x)
        with pytest.raises(TypeError, match="DeviceMesh is required"):
            distribute_module(network(), "cpu")
        with pytest.raises(TypeError, match="must be a Tensor"):
            nn.Parameter([1.0])
        return True

    assert all(simulate(2, program))


# ---------------------------------------------------------------- gradients of what leaves


@pytest.mark.parametrize("given", [None, [Partial()], [Partial("avg")], [Replicate()]], ids=str)
def test_grad_placements_say_what_the_gradients_of_shards_are(given):
    def program():
        mesh = init_device_mesh("cpu", (3,))
        w = distribute_tensor(torch.ones(2), mesh, [Replicate()]).requires_grad_()
        v = distribute_tensor(torch.ones(4), mesh, [Shard(0)]).requires_grad_()
        factor = world().rank + 1.0
        (w.to_local(grad_placements=given) * factor).sum().backward()
        (v.full_tensor(grad_placements=given) * factor).sum().backward()
        return w.grad.to_local().tolist(), v.grad.to_local().tolist()

    found = simulate(3, program)
    for rank, (w, v) in enumerate(found):
        want = rank + 1.0 if given in (None, [Replicate()]) else 6.0 if given == [Partial()] else 2.0
        assert w == [want] * 2 and v == [want] * [2, 2, 0][rank]


def test_second_derivatives_go_through_grad_placements():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        w = distribute_tensor(torch.tensor([2.0, 3.0]), mesh, [Shard(0)]).requires_grad_()
        whole = w.full_tensor(grad_placements=[Partial()])
        (slope,) = torch.autograd.grad((whole**3).sum() * (world().rank + 1), w, create_graph=True)
        return torch.autograd.grad(slope.sum(), w)[0].full_tensor().tolist()

    assert simulate(2, program)[0] == [3 * 6 * 2.0, 3 * 6 * 3.0]


def test_wrong_grad_placements_are_errors():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        w = distribute_tensor(torch.ones(4), mesh, [Shard(0)]).requires_grad_()
        with pytest.raises(ValueError, match="gradients have its shape"):
            w.to_local(grad_placements=[Partial()])
        with pytest.raises(IndexError, match="the tensor has 1 axes"):
            w.full_tensor(grad_placements=[Shard(3)])
        return True

    assert all(simulate(2, program))


# ---------------------------------------------------------------- styles


class Block(nn.Module):
    """Words to logits: an embedding, a norm, a network of two layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.words = nn.Embedding(11, 6)
        self.norm = nn.LayerNorm(6)
        self.layers = nn.ModuleList([nn.ModuleDict({"up": nn.Linear(6, 9), "down": nn.Linear(9, 6)}) for _ in range(2)])
        self.out = nn.Linear(6, 11, bias=False)

    def forward(self, x):
        h = self.words(x)
        for layer in self.layers:
            h = h + layer["down"](torch.tanh(layer["up"](self.norm(h))))
        return self.out(h)


WORDS = torch.randint(0, 11, (2, 8), generator=torch.Generator().manual_seed(1))


def words_losses(net, logits=lambda t: t):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(logits(net(WORDS)).flatten(0, 1), WORDS.flatten().roll(1))
        loss.backward()
        optimizer.step()
        found.append(float(loss))
    return found


COLUMNS, ROWS = styles.ColwiseParallel, styles.RowwiseParallel


PLANS = {
    "columns and rows": {
        "words": ROWS(input_layouts=Replicate()), "layers.*.up": COLUMNS(), "layers.*.down": ROWS(),
        "out": COLUMNS(output_layouts=Replicate()),
    },
    "columns of the embedding": {"words": COLUMNS(output_layouts=Replicate()), "out": ROWS(input_layouts=Replicate())},
    "sequence": {
        "words": ROWS(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": styles.SequenceParallel(use_local_output=True),
        "layers.[01].up": COLUMNS(input_layouts=Shard(1)), "layers.*.down": ROWS(output_layouts=Shard(1)),
        "out": COLUMNS(input_layouts=Shard(1), output_layouts=Replicate()),
    },
    "inputs and outputs": {
        "layers.0.up": styles.PrepareModuleInput(
            input_layouts=Replicate(), desired_input_layouts=Shard(1), use_local_output=True
        ),
        "layers.0.down": styles.PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate()),
        "layers.1.up": styles.PrepareModuleInputOutput(
            input_layouts=Replicate(), desired_input_layouts=Shard(0), use_local_input=True, output_layouts=Shard(0),
            desired_output_layouts=Replicate(),
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("plan", list(PLANS)[:3])
def test_networks_cut_in_styles_have_the_losses_of_whole_ones(n, plan):
    want = words_losses(Block())

    def program():
        net = styles.parallelize_module(Block(), init_device_mesh("cpu", (n,)), copy.deepcopy(PLANS[plan]))
        with styles.loss_parallel():
            found = words_losses(net)
        return found, {name: p.placements for name, p in net.named_parameters() if isinstance(p, ShardedTensor)}

    found, placements = simulate(n, program)[n - 1]
    assert_same_losses(found, want)
    assert placements["words.weight"] == ((Shard(1),) if plan.startswith("columns of") else (Shard(0),))


def test_inputs_and_outputs_go_from_layout_to_layout():
    want = Block()(WORDS)

    def program():
        mesh = init_device_mesh("cpu", (2,))
        net = styles.parallelize_module(Block(), mesh, PLANS["inputs and outputs"])
        seen = []
        net.layers[0]["up"].register_forward_hook(lambda m, i, o: seen.append(tuple(o.shape)))
        net.layers[1]["up"].register_forward_pre_hook(lambda m, i: seen.append(tuple(i[0].shape)))
        torch.testing.assert_close(net(WORDS), want)
        by_name = nn.Bilinear(3, 3, 2)
        style = styles.PrepareModuleInput(
            input_kwarg_layouts={"input1": Replicate(), "input2": Replicate()},
            desired_input_kwarg_layouts={"input1": Shard(0), "input2": Shard(0)}, use_local_output=True,
        )  # fmt: skip
        styles.parallelize_module(by_name, mesh, style)
        seen.append(tuple(by_name(input1=torch.ones(4, 3), input2=torch.ones(4, 3)).shape))
        return seen

    assert simulate(2, program)[1] == [(2, 4, 9), (1, 8, 6), (2, 2)]


def test_wrong_plans_are_errors():
    def program():
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        one = mesh["a"]
        with pytest.raises(ValueError, match="mesh of one axis"):
            styles.parallelize_module(Block(), mesh, COLUMNS())
        with pytest.raises(NotImplementedError, match="ColwiseParallel: of LayerNorm"):
            styles.parallelize_module(Block(), one, {"norm": COLUMNS()})
        with pytest.raises(TypeError, match="a ParallelStyle or a dict"):
            styles.parallelize_module(Block(), one, "columns")
        with pytest.warns(UserWarning, match="no module has the name 'layers.7'"):
            styles.parallelize_module(Block(), one, {"layers.7": COLUMNS()})
        with pytest.warns(UserWarning, match="stays as it is"):
            styles.parallelize_module(Block(), one)
        with pytest.raises(NotImplementedError, match="ParallelStyle: _apply"):
            styles.parallelize_module(Block(), one, styles.ParallelStyle())
        with pytest.raises(AssertionError, match="2 input_layouts and 1 desired"):
            styles.PrepareModuleInput(input_layouts=(Shard(0), None), desired_input_layouts=Replicate())
        net = styles.parallelize_module(
            Block(),
            one,
            {"norm": styles.PrepareModuleOutput(output_layouts=(None, None), desired_output_layouts=(None, None))},
        )
        with pytest.raises(ValueError, match="1 outputs for 2 layouts"):
            net(WORDS)
        return True

    assert all(simulate(4, program))


def test_ranks_of_meshes_and_the_mesh_of_a_context():
    def program():
        torch.distributed.init_process_group()
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        me = world().rank
        assert mesh.mesh.tolist() == [[0, 1], [2, 3]] and mesh["dp"].mesh.tolist() == [me % 2, me % 2 + 2]
        assert mesh["dp"].get_rank() == mesh["tp"].get_rank() == me == torch.distributed.get_rank()
        row = mesh._flatten("all")
        assert row is mesh["all"] and row.shape == (4,) and row.mesh.tolist() == [0, 1, 2, 3]
        with pytest.raises(ValueError, match="'tp' is an axis"):
            mesh._flatten("tp")
        pair = DeviceMesh.from_group(mesh.get_group("tp"), "cpu", mesh_dim_names=("pair",))
        assert pair.mesh.tolist() == mesh["tp"].mesh.tolist()
        assert DeviceMesh.from_group([mesh.get_group("tp")], "cpu") == DeviceMesh.from_group(
            mesh.get_group("tp"), "cpu"
        )
        both = DeviceMesh.from_group(mesh.get_all_groups(), "cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))
        assert both.shape == (2, 2) and both.get_local_rank("tp") == mesh.get_local_rank("tp")
        with pytest.raises(ValueError, match="several groups need mesh"):
            DeviceMesh.from_group(mesh.get_all_groups(), "cpu")
        with mesh:
            x = distribute_tensor(torch.ones(4), placements=[Shard(0), Replicate()])
            with mesh["tp"]:
                y = distribute_tensor(torch.ones(4), placements=[Shard(0)])
            assert x.device_mesh is mesh and y.device_mesh is mesh["tp"]
        assert distribute_tensor(torch.ones(4)).device_mesh.shape == (4,)
        assert x._local_tensor is x.to_local() and x.storage_offset() == 0
        return True

    assert all(simulate(4, program))


def test_functions_of_shards():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.arange(8.0).view(4, 2), mesh, [Shard(0)]).requires_grad_()
        w = distribute_tensor(torch.ones(2, 3), mesh, [Replicate()]).requires_grad_()

        @local_map(out_placements=([Shard(0)], [Partial()], None), in_placements=([Shard(0)], [Replicate()], None),
                   in_grad_placements=(None, [Partial()], None))  # fmt: skip
        def both(t, w, k):
            return t @ w * k, t.sum(), k

        y, total, k = both(x, w, 2)
        assert (y.placements, total.placements, k) == ((Shard(0),), (Partial(),), 2)
        assert y.shape == (4, 3) and float(total) == 28.0
        y.sum().backward()
        assert w.grad.full_tensor().tolist() == [[24.0] * 3, [32.0] * 3] and x.grad.full_tensor().eq(6).all()
        moved = local_map(torch.neg, [Shard(1)], ([Shard(1)],), redistribute_inputs=True)(x)
        assert torch.equal(moved.full_tensor(), -x.full_tensor()) and torch.equal(
            local_map(torch.neg, [Shard(0)])(-w.full_tensor()), w.full_tensor()
        )
        for call, words in (
            (lambda: local_map(torch.neg, [Shard(1)], ([Shard(1)],))(x), "redistribute_inputs=True moves it"),
            (lambda: local_map(torch.neg, ([Shard(0)], [Shard(0)]))(x), "2 out_placements for 1 results"),
            (lambda: local_map(torch.neg, [Shard(0)], ([Shard(0)], None))(x), "2 in_placements for 1 arguments"),
            (lambda: local_map(torch.neg, [Shard(0)], ([Shard(0)],))(torch.ones(2)), "argument 0 is no sharded tensor"),
            (lambda: local_map(lambda t: 3, [Shard(0)])(x), "a result is no tensor but int"),
        ):
            with pytest.raises(ValueError, match=words):
                call()
        return True

    assert all(simulate(2, program))


def test_pytorchs_other_names_are_the_same_objects():
    import importlib

    for module, name, where in (
        ("checkpoint.default_planner", "DefaultLoadPlanner", "checkpoint"),
        ("checkpoint.filesystem", "FileSystemWriter", "checkpoint"),
        ("checkpoint.state_dict_saver", "save", "checkpoint"),
        ("checkpoint.state_dict_loader", "load", "checkpoint"),
        ("tensor.parallel.style", "ColwiseParallel", "tensor.parallel"),
        ("tensor.parallel.api", "parallelize_module", "tensor.parallel"),
        ("tensor.device_mesh", "DeviceMesh", "device_mesh"),
    ):  # fmt: skip
        found, wanted = (importlib.import_module(f"strided.distributed.{m}") for m in (module, where))
        assert getattr(found, name) is getattr(wanted, name)
    assert isinstance(nn.Linear(1, 1), importlib.import_module("strided.distributed.checkpoint.stateful").Stateful)


def test_groups_of_meshes_and_axes_in_a_row():
    def program():
        dist = torch.distributed
        dist.init_process_group()
        mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("replicate", "shard", "cp"))
        group = mesh.get_group("cp")
        assert isinstance(group, dist.ProcessGroup) and group.size() == 2 and group is mesh.get_group("cp")
        assert dist.get_rank(group) == group.rank() == mesh.get_local_rank("cp") and len(mesh.get_all_groups()) == 3
        assert init_device_mesh("cpu", (4,)).get_group() is dist.group.WORLD
        mesh["shard", "cp"]._flatten("shard_cp")
        both = mesh["replicate", "shard_cp"]
        assert both.shape == (2, 2) and both.mesh.tolist() == [[0, 1], [2, 3]] and both is mesh["replicate", "shard_cp"]
        net = fully_shard(nn.Linear(3, 4), mesh=both)
        assert net.weight.to_local().shape == (2, 3)
        with pytest.raises(ValueError, match=r"the group has the ranks \[\d, \d\]"):
            DeviceMesh.from_group(group, "cpu", [0, 3])
        with pytest.raises(KeyError, match="in their order"):
            mesh["shard_cp", "replicate"]

    simulate(4, program)
