"""Modules with sharded parameters train as plain ones: distribute_module, styles of parallelize_module, fully_shard."""

import copy

import pytest
import strided as torch
import strided.utils.checkpoint
from strided import nn
from strided.distributed import (
    BlockCyclic,
    DeviceMesh,
    Partial,
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
from strided.distributed.tensor.experimental import local_map

_draw = torch.Generator().manual_seed(1)
X, Y = torch.randn(12, 5, generator=_draw), torch.randint(0, 3, (12,), generator=_draw)


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Tanh(), nn.Linear(7, 3))


def losses(net, x=X, y=Y, make=None, steps=3, clip=True):
    """The losses of some steps, of the whole batch."""
    optimizer = (make or OPTIMIZERS["AdamW"])(net.parameters())
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        loss = loss.detach()
        if not isinstance(loss, ShardedTensor):
            loss = loss.clone()
            world().all_reduce(loss, "avg")
        found.append(float(loss))
    return found


def same(a, b):
    torch.testing.assert_close(torch.tensor(a), torch.tensor(b), rtol=3e-6, atol=3e-6)


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    **{
        k: lambda p, k=k: getattr(torch.optim, k)(p)
        for k in ("Adagrad", "RAdam", "NAdam", "Adamax", "Adadelta", "ASGD", "Rprop")
    },
}


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

    same(simulate(3, program)[2], want)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
@pytest.mark.parametrize("placement", [Replicate(), Shard(-1), BlockCyclic(0, 2)], ids=str)
def test_any_placement_on_any_number_of_ranks_trains_to_the_same_losses(n, placement):
    want = losses(network())

    def program():
        mesh = init_device_mesh("cpu", (n,))
        net = distribute_module(network(), mesh, cut_along(placement))
        return losses(net, *(distribute_tensor(t, mesh, [Replicate()]) for t in (X, Y)))

    same(simulate(n, program)[-1], want)


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


WORDS = torch.randint(0, 11, (2, 8), generator=_draw)


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
    same(found, want)
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


# ---------------------------------------------------------------- fully_shard


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
            same(simulate(n, program, nested, reshard)[n - 1], want)


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
    same(simulate(2, program)[1], losses(made(), X.clone().requires_grad_()))


def test_gradient_scalers_compiled_modules_and_modules_without_memory():
    want = losses(network())

    def program():
        net = fully_shard(network())
        net.compile()
        same(losses(net, part(X), part(Y)), want)
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

    same(simulate(6, program)[5], losses(network()))


def test_fully_sharded_parameters_may_be_cut_over_another_axis_of_the_mesh_already():
    def program():
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        plan = {"0": COLUMNS(output_layouts=Replicate()), "3": ROWS(input_layouts=Replicate())}
        net = styles.parallelize_module(network(), mesh["tp"], plan)
        for layer in (net[0], net[3], net):
            fully_shard(layer, mesh=mesh["dp"])
        assert net[3].weight.placements == (Shard(0), Shard(1)) and net[3].bias.placements == (Shard(0), Replicate())
        assert net[1].weight.placements == (Shard(0),)
        row = mesh.get_local_rank("dp")
        with pytest.raises(ValueError, match="must be axes of one mesh"):
            fully_shard(distribute_module(network(), mesh["tp"]), mesh=init_device_mesh("cpu", (4,)))
        return losses(net, X[row::2], Y[row::2], clip=False)

    same(simulate(4, program)[3], losses(network(), clip=False))


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

    same(simulate(2, program)[1], want)


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
