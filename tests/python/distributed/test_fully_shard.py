"""Modules whose parameters fully_shard spreads over ranks train as plain ones."""

import copy

import pytest
import strided as torch
import strided.utils.checkpoint
from small_training import X, Y, assert_same_losses, losses, network
from strided import nn
from strided.distributed import (
    Replicate,
    Shard,
    ShardedTensor,
    distribute_tensor,
    explain,
    init_device_mesh,
    simulate,
    world,
)
from strided.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from strided.distributed.tensor import distribute_module
from strided.distributed.tensor import parallel as styles


def part(t):
    return t[world().rank :: world().size]


def test_fully_sharded_networks_have_the_losses_of_one_process_with_the_whole_batch():
    want = losses(network())

    def program(nested, reshard):
        net = network()
        for layer in net if nested else ():
            if list(layer.parameters()):
                fully_shard(layer, reshard_after_forward=reshard)
        assert fully_shard(net, reshard_after_forward=reshard) is net
        assert isinstance(net, FSDPModule) and isinstance(net, nn.Sequential) and type(net).__name__ == "FSDPSequential"
        assert [k for k, _ in net.named_parameters()] == [k for k, _ in network().named_parameters()]
        assert all(p.placements == (Shard(0),) for p in net.parameters())
        return losses(net, part(X), part(Y))

    for n in (1, 2, 3, 4, 6):
        for nested, reshard in ((False, None), (True, None), (True, False), (False, True)):
            assert_same_losses(simulate(n, program, nested, reshard)[n - 1], want)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_of_activations_call_a_layer_again(reentrant):
    class Checked(nn.Sequential):
        def forward(self, x):
            for layer in self:
                x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=reentrant)
            return x

    def made():
        return Checked(nn.Linear(5, 5), nn.Sequential(*network()))

    def program():
        torch.manual_seed(5)
        net = made()
        for layer in (*net, net):
            fully_shard(layer)
        x = part(X).clone().requires_grad_()  # a reentrant checkpoint wants it
        return losses(net, x, part(Y))

    torch.manual_seed(5)
    assert_same_losses(simulate(2, program)[1], losses(made(), X.clone().requires_grad_()))


def test_gradient_scalers_compiled_modules_and_modules_without_memory():
    want = losses(network())

    def program():
        net = fully_shard(network())
        net.compile()
        assert_same_losses(losses(net, part(X), part(Y)), want)
        with torch.device("meta"):
            net = fully_shard(nn.Linear(3, 5))
        assert net.to_empty(device="cpu") is net and net.weight.to_local().shape == (5 // 2 + 1 - world().rank, 3)
        net.reset_parameters()
        optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=128.0)
        before = net.weight.full_tensor().detach()
        scaler.scale(net(torch.ones(2, 3)).mean()).backward()
        scaler.unscale_(optimizer)
        torch.testing.assert_close(net.weight.grad.full_tensor(), torch.full((5, 3), 0.2))
        scaler.step(optimizer)
        return torch.allclose(net.weight.full_tensor(), before - 0.02)

    assert all(simulate(2, program))


def test_ranks_of_the_first_axis_have_the_same_shards():
    def program():
        mesh = init_device_mesh("cpu", (2, 3))
        net = fully_shard(network(), mesh=mesh, shard_placement_fn=lambda p: Shard(1) if p.ndim == 2 else None)
        assert net[0].weight.placements == (Replicate(), Shard(1)) and net[0].bias.placements == (Replicate(), Shard(0))
        return losses(net, part(X), part(Y))

    assert_same_losses(simulate(6, program)[5], losses(network()))


def test_fully_sharded_parameters_may_be_cut_over_another_axis_of_the_mesh_already():
    def program():
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        plan = {
            "0": styles.ColwiseParallel(output_layouts=Replicate()),
            "3": styles.RowwiseParallel(input_layouts=Replicate()),
        }
        net = styles.parallelize_module(network(), mesh["tp"], plan)
        for layer in (net[0], net[3], net):
            fully_shard(layer, mesh=mesh["dp"])
        assert net[3].weight.placements == (Shard(0), Shard(1)) and net[3].bias.placements == (Shard(0), Replicate())
        assert net[1].weight.placements == (Shard(0),)
        row = mesh.get_local_rank("dp")
        with pytest.raises(ValueError, match="must be axes of one mesh"):
            fully_shard(distribute_module(network(), mesh["tp"]), mesh=init_device_mesh("cpu", (4,)))
        return losses(net, X[row::2], Y[row::2], clip=False)

    assert_same_losses(simulate(4, program)[3], losses(network(), clip=False))


def test_each_rank_gathers_what_it_lacks_once_for_forward_and_once_more_for_backward():
    def program(reshard):
        net = nn.Sequential(nn.Linear(40, 40, bias=False), nn.Tanh(), nn.Linear(40, 40, bias=False))
        for layer in (net[0], net[2]):
            fully_shard(layer, reshard_after_forward=reshard)
        loss = []
        forward = explain(lambda: loss.append(net(torch.ones(2, 40)).sum()))()
        backward = explain(lambda: loss[0].backward())()
        return [[t.received for t in e.transfers] for e in (forward, backward)]

    half = 40 * 40 * 4 // 2
    # The first layer's weight is not needed in backward: its input wants no gradient.
    assert simulate(2, program, True)[0] == [[half] * 2, [half] * 3]
    assert simulate(2, program, False)[0] == [[half] * 2, [half] * 2]


def test_computing_and_averaging_in_other_dtypes():
    def program():
        seen = []
        policy = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float64
        )
        net = fully_shard(network(), mp_policy=policy)
        net[0].register_forward_hook(lambda m, i, o: seen.extend((m.weight.dtype, i[0].dtype, o.dtype)))
        out = net(part(X))
        moved = explain(lambda: out.sum().backward())()
        assert {p.dtype for p in net.parameters()} == {p.grad.dtype for p in net.parameters()} == {torch.float32}
        return seen, out.dtype, sum(t.received for t in moved.transfers)

    seen, dtype, received = simulate(2, program)[0]
    assert seen == [torch.bfloat16] * 3 and dtype is torch.float64
    assert received == (20 + 4 + 4 + 4 + 14 + 2) * 4  # the first rank's parts of the gradients, in float32


def test_gradients_that_are_not_averaged_wait_for_the_next_ones():
    want = losses(network())

    def program():
        net = network()
        fully_shard(net[0])
        fully_shard(net)
        x, y = part(X), part(Y)
        whole = nn.functional.cross_entropy(net(x), y)
        whole.backward()
        slopes = [p.grad.to_local().clone() for p in net.parameters()]
        net.zero_grad()
        net.set_requires_gradient_sync(False)
        assert explain(lambda: (nn.functional.cross_entropy(net(x[:3]), y[:3]) / 2).backward())().transfers
        assert all(p.grad is None for p in net.parameters())
        net.set_requires_gradient_sync(True)
        (nn.functional.cross_entropy(net(x[3:]), y[3:]) / 2).backward()
        for p, slope in zip(net.parameters(), slopes):
            torch.testing.assert_close(p.grad.to_local(), slope, rtol=1e-5, atol=1e-6)
        net.zero_grad()
        net.set_gradient_divide_factor(1.0)  # of the model's own parameters: those of net[0] are averaged as before
        nn.functional.cross_entropy(net(x), y).backward()
        for (name, p), slope in zip(net.named_parameters(), slopes):
            torch.testing.assert_close(p.grad.to_local(), slope * (1 if name[0] == "0" else 2), rtol=1e-5, atol=1e-6)
        net.set_gradient_divide_factor(2.0)
        return losses(net, x, y)

    assert_same_losses(simulate(2, program)[1], want)


def test_whole_parameters_are_in_their_places_while_a_module_runs_and_between_unshard_and_reshard():
    def program():
        net = nn.Linear(4, 6)
        net.halved = lambda x: net.weight.sum() + x
        shapes = []
        net.register_forward_pre_hook(lambda m, i: shapes.append(tuple(m.weight.shape)))
        fully_shard(net)
        register_fsdp_forward_method(net, "halved")
        shard = net.weight
        assert isinstance(shard, ShardedTensor) and float(net.halved(1.0)) == pytest.approx(
            float(shard.sum().full_tensor()) + 1
        )
        with pytest.raises(RuntimeError, match="mat1 and mat2|shapes|multiplied|size"):
            net(torch.ones(2, 5))
        assert net.weight is shard  # also after an error
        assert net.unshard() is None and type(net.weight) is torch.Tensor and net.weight.shape == (6, 4)
        net.unshard(async_op=True).wait()
        y = net(torch.ones(2, 4))
        net.reshard()
        assert net.weight is shard
        y.sum().backward()
        assert shard.grad.full_tensor().tolist() == [[2.0] * 4] * 6
        with torch.no_grad():
            assert not net(torch.ones(2, 4)).requires_grad
        net.eval()
        with pytest.raises(NotImplementedError, match="not copied"):
            copy.deepcopy(net)
        return shapes

    assert simulate(2, program)[0] == [(6, 4)] * 3


def test_frozen_shared_and_ignored_parameters():
    def whole():
        torch.manual_seed(4)
        net = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)])
        net[1].weight = net[0].weight
        net[2].requires_grad_(False)
        return net

    def run(net, x):
        for layer in net:
            x = torch.tanh(layer(x))
        x.square().sum().backward()
        return {k: p.grad for k, p in net.named_parameters()}

    want = run(whole(), X[:, :4])

    def program():
        net = whole()
        kept = net[1].bias
        net.forward = lambda x: run(net, x)
        fully_shard(net, ignored_params={kept})
        for layer in net:
            register_fsdp_forward_method(layer, "forward")
        assert net[1].weight is net[0].weight and net[1].bias is kept and not net[2].weight.requires_grad
        net.set_gradient_divide_factor(1.0)
        net._call_impl(part(X[:, :4]))
        world().all_reduce(kept.grad)
        return {
            k: p.grad.full_tensor() if isinstance(p, ShardedTensor) and p.grad is not None else p.grad
            for k, p in net.named_parameters()
        }

    found = simulate(3, program)[2]
    assert found.keys() == want.keys()
    for name, slope in want.items():
        assert (slope is None) == (found[name] is None), name
        if slope is not None:
            torch.testing.assert_close(found[name], slope, rtol=1e-5, atol=1e-5)


def test_wrong_calls_of_fully_shard_are_errors():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        net = fully_shard(network())
        assert type(type(net)()) is nn.Sequential  # a new one, which is not sharded
        with pytest.raises(AssertionError, match="fully sharded already"):
            fully_shard(net)
        with pytest.raises(TypeError, match="a Module is required, got str"):
            fully_shard("net")
        with pytest.raises(ValueError, match="a mesh of one or two axes"):
            fully_shard(network(), mesh=init_device_mesh("cpu", (2, 1, 1)))
        with pytest.raises(ValueError, match="gives a Shard or None"):
            fully_shard(network(), shard_placement_fn=lambda p: Replicate())
        with pytest.raises(ValueError, match="no axis that could be cut"):
            fully_shard(nn.ParameterList([nn.Parameter(torch.tensor(1.0))]))
        fully_shard([nn.Linear(2, 2), nn.Linear(2, 2)], mesh=mesh, offload_policy=CPUOffloadPolicy())
        layer = fully_shard(nn.Linear(3, 3), reshard_after_forward=True)
        x = torch.ones(2, 3, requires_grad=True)
        y = layer(x)
        with torch.no_grad():
            layer.weight.mul_(2.0)
        with pytest.raises(RuntimeError, match="'weight', which backward needs, was changed in place"):
            y.sum().backward()
        hsdp = fully_shard(network(), mesh=init_device_mesh("cpu", (1, 2)))
        with pytest.raises(NotImplementedError, match="set_requires_all_reduce"):
            hsdp.set_requires_all_reduce(False)
        return True

    assert all(simulate(2, program))


def test_parts_of_meshes():
    def program():
        mesh = init_device_mesh("cpu", (2, 1, 3), mesh_dim_names=("pp", "dp", "tp"))
        part = mesh["dp", "tp"]
        assert part is mesh["dp", "tp"] and part.shape == (1, 3) and part.mesh_dim_names == ("dp", "tp")
        assert part.get_coordinate() == mesh.get_coordinate()[1:] and mesh["pp", "dp", "tp"] is mesh
        assert mesh["tp"].size() == 3 and mesh["tp"] is mesh["tp"] and mesh["pp", "tp"].comm.size == 6
        x = distribute_tensor(torch.arange(6.0), mesh["pp", "tp"], [Shard(0), Shard(0)])
        assert x.to_local().tolist() == [float(world().rank)]
        for names in (("tp", "dp"), ("dp", "dp"), (), ("no",)):
            with pytest.raises(KeyError, match="DeviceMesh"):
                mesh[names]
        return True

    assert all(simulate(6, program))


@pytest.mark.parametrize("reentrant", [False, True])
def test_parts_that_run_a_second_time_have_their_parameters(reentrant):
    """Modules in which something is checkpointed: its second run is in backward, where the parameters are shards."""
    from strided.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper
    from strided.distributed.fsdp import FullyShardedDataParallel

    kind = CheckpointImpl.REENTRANT if reentrant else CheckpointImpl.NO_REENTRANT

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(5, 7), nn.Linear(7, 5)

        def forward(self, x):
            x = torch.utils.checkpoint.checkpoint(lambda t: self.a(t).tanh(), x, use_reentrant=reentrant)
            return self.b(x)

    def network():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 5), Block(), checkpoint_wrapper(nn.Linear(5, 5), kind), nn.Linear(5, 3))

    def train(net, x, y):
        optimizer, found = torch.optim.SGD(net.parameters(), lr=0.3), []
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
        return torch.stack(found)

    wanted = train(network(), X, Y)

    def program(make):
        torch.distributed.init_process_group()
        rank, size = world().rank, world().size
        found = train(make(network()), X[rank::size], Y[rank::size])
        world().all_reduce(found, "avg")
        assert torch.allclose(found, wanted, atol=1e-5)

    def layers(net):
        for layer in (*net, net):
            fully_shard(layer)
        return net

    for make in (layers, fully_shard, FullyShardedDataParallel):
        simulate(2, program, make)
