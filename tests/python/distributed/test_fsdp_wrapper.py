"""FullyShardedDataParallel: losses of the plain network, policies, state dicts, state of optimizers."""

import functools

import pytest
import strided as torch
from small_training import X, Y, network, part
from strided import distributed as dist
from strided import nn
from strided.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
from strided.distributed.fsdp import (
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateKeyType,
    ShardingStrategy,
    StateDictType,
)
from strided.distributed.fsdp import FullyShardedDataParallel as FSDP
from strided.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from strided.distributed.fsdp.wrap import CustomPolicy, ModuleWrapPolicy, enable_wrap, size_based_auto_wrap_policy, wrap

LINEARS = ModuleWrapPolicy({nn.Linear})


def train(net, x=X, y=Y, steps=3, clip=None, optimizer=None):
    optimizer = optimizer or torch.optim.Adam(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        if clip is not None:
            (net.clip_grad_norm_ if isinstance(net, FSDP) else functools.partial(_clip, net))(clip)
        optimizer.step()
        losses.append(loss.detach().clone())
    return torch.stack(losses), optimizer


def _clip(net, most):
    return nn.utils.clip_grad_norm_(net.parameters(), most)


@functools.cache
def wanted(clip):
    return train(network(), clip=clip)[0]


STRATEGIES = [s for s in ShardingStrategy if s.name[0] != "_"]
POLICIES = {
    "none": None,
    "classes": LINEARS,
    "size": functools.partial(size_based_auto_wrap_policy, min_num_params=10),
    "custom": CustomPolicy(
        lambda m: {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP} if isinstance(m, nn.Linear) else False
    ),
}


@pytest.mark.parametrize("ranks", [1, 3])  # 2 and 4 are below
def test_losses_are_those_of_the_plain_network(ranks):
    def program(strategy, policy, clip):
        dist.init_process_group()
        net = FSDP(network(), sharding_strategy=strategy, auto_wrap_policy=policy)
        assert all(p.requires_grad for p in net.parameters())
        assert [name for name, _ in net.named_parameters()] == [name for name, _ in network().named_parameters()]
        losses, _ = train(net, X[part()], Y[part()], clip=clip)
        dist.all_reduce(losses, dist.ReduceOp.AVG)
        assert torch.allclose(losses, wanted(clip), atol=1e-5)
        if strategy is ShardingStrategy.FULL_SHARD and policy is None:
            assert net[0].weight.to_local().numel() <= 5 * -(-7 // ranks)

    for i, strategy in enumerate(STRATEGIES):
        for j, policy in enumerate(POLICIES.values()):
            hybrid = strategy is ShardingStrategy.HYBRID_SHARD and policy is POLICIES["custom"]
            if not hybrid:  # its modules have meshes of other kinds
                dist.simulate(ranks, program, strategy, policy, [None, 0.1][(i + j) % 2])


def test_hybrid_shards_within_a_machine(monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")

    def program():
        dist.init_process_group()
        net = FSDP(network(), sharding_strategy=ShardingStrategy.HYBRID_SHARD)
        losses, _ = train(net, X[part()], Y[part()])
        dist.all_reduce(losses, dist.ReduceOp.AVG)
        assert torch.allclose(losses, wanted(None), atol=1e-5)
        inner = dist.new_subgroups(2)[0]
        other = FSDP(network(), (inner, None), sharding_strategy=ShardingStrategy.HYBRID_SHARD)
        assert other.process_group.size() == 2
        return net[0].weight.to_local().shape[0]

    assert dist.simulate(4, program) == [4, 3, 4, 3]


def test_state_dicts_of_each_kind():
    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        net = FSDP(network(), auto_wrap_policy=LINEARS)
        _, optimizer = train(net, X[part()], Y[part()])
        whole = net.state_dict()
        assert list(whole) == list(network().state_dict())
        plain = network()
        plain.load_state_dict(whole)
        kept = whole["0.weight"].clone()
        train(net, X[part()], Y[part()], optimizer=optimizer, steps=1)
        assert torch.equal(whole["0.weight"], kept)  # a copy
        assert not torch.equal(net.state_dict()["0.weight"], kept)

        def same():
            return all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), other.state_dict().values()))

        for kind in StateDictType:
            other = FSDP(nn.Sequential(*(m for m in network())), auto_wrap_policy=LINEARS)
            with torch.no_grad():
                for p in other.parameters():
                    p.zero_()
            with FSDP.state_dict_type(net, kind), FSDP.state_dict_type(other, kind):
                state = net.state_dict()
                assert FSDP.get_state_dict_type(net).state_dict_type is kind
                assert not other.load_state_dict(state).missing_keys
            assert same(), kind
            assert FSDP.get_state_dict_type(net).state_dict_type is StateDictType.FULL_STATE_DICT
        config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
        with FSDP.state_dict_type(net, StateDictType.FULL_STATE_DICT, config):
            assert len(net.state_dict()) == (0 if rank else 6)
        with pytest.raises(RuntimeError, match="LocalStateDictConfig"):
            FSDP.set_state_dict_type(net, StateDictType.LOCAL_STATE_DICT, FullStateDictConfig())
        with pytest.raises(RuntimeError, match="Missing key"):
            net.load_state_dict({"0.weight": kept})

    dist.simulate(3, program)


def test_state_dicts_of_optimizers():
    def program():
        dist.init_process_group()
        rank, n = dist.get_rank(), dist.get_world_size()
        net = FSDP(network(), auto_wrap_policy=LINEARS)
        _, optimizer = train(net, X[part()], Y[part()])
        _, reference = train(network())
        exact = reference.state_dict()["state"][0]["exp_avg"]

        def loads(state):
            other = torch.optim.Adam(net.parameters(), lr=9.0)
            other.load_state_dict(state)
            a, b = other.state_dict(), optimizer.state_dict()
            assert a["param_groups"] == b["param_groups"]
            for number, kept in b["state"].items():
                for key, value in kept.items():
                    there = a["state"][number][key]
                    assert torch.equal(there, value) if value.ndim == 0 else torch.equal(there._local, value._local)

        whole = FSDP.optim_state_dict(net, optimizer)
        assert list(whole["state"]) == list(network().state_dict())
        assert torch.allclose(whole["state"]["0.weight"]["exp_avg"], exact, atol=1e-6)
        loads(FSDP.optim_state_dict_to_load(net, optimizer, whole))
        loads(FSDP.shard_full_optim_state_dict(whole, net, optim=optimizer))
        first = FSDP.full_optim_state_dict(net, optimizer)
        assert bool(first) == (rank == 0)
        loads(FSDP.scatter_full_optim_state_dict(first, net, optim=optimizer))
        config = FullOptimStateDictConfig(rank0_only=True)
        with FSDP.state_dict_type(net, StateDictType.FULL_STATE_DICT, None, config):
            first = FSDP.optim_state_dict(net, optimizer)
            loads(FSDP.optim_state_dict_to_load(net, optimizer, first))
        for kind in (StateDictType.SHARDED_STATE_DICT, StateDictType.LOCAL_STATE_DICT):
            with FSDP.state_dict_type(net, kind):
                loads(FSDP.optim_state_dict_to_load(net, optimizer, FSDP.optim_state_dict(net, optimizer)))
        by_number = FSDP.rekey_optim_state_dict(whole, OptimStateKeyType.PARAM_ID, net, optim=optimizer)
        assert list(by_number["state"]) == list(range(6))
        back = FSDP.rekey_optim_state_dict(by_number, OptimStateKeyType.PARAM_NAME, net, optim=optimizer)
        assert list(back["state"]) == list(whole["state"])
        model, optim = get_state_dict(net, optimizer, options=StateDictOptions(full_state_dict=True))
        assert list(model) == list(optim["state"]) == list(network().state_dict())
        with pytest.raises(ValueError, match=r"no options for 3\.bias"):
            del whole["param_groups"][0]["params"][-1]
            FSDP.optim_state_dict_to_load(net, optimizer, whole)
        return n

    dist.simulate(2, program)


def test_whole_parameters_for_a_time():
    def program():
        dist.init_process_group()
        net = FSDP(network(), auto_wrap_policy=LINEARS)
        net(X).sum().backward()
        with FSDP.summon_full_params(net, with_grads=True):
            assert net[0].weight.shape == (7, 5) and type(net[0].weight) is nn.Parameter
            assert torch.equal(net[0].weight, network()[0].weight)
            assert net[3].bias.grad.shape == (3,)
            with torch.no_grad():
                net[0].weight.fill_(2.0)
        assert (net.state_dict()["0.weight"] == 2).all()
        with FSDP.summon_full_params(net, writeback=False):
            net[0].weight.data.fill_(3.0)
        assert (net.state_dict()["0.weight"] == 2).all()
        with FSDP.summon_full_params(net, recurse=False):
            assert net[0].weight.to_local().shape[0] < 7 and type(net[1].weight) is nn.Parameter
        with FSDP.summon_full_params(net, writeback=False, rank0_only=True):
            assert isinstance(net[0].weight, dist.DTensor) == bool(dist.get_rank())
        with pytest.raises(NotImplementedError, match="rank0_only"), FSDP.summon_full_params(net, rank0_only=True):
            pass
        net.apply(lambda m: nn.init.constant_(m.weight, 0.5) if isinstance(m, nn.Linear) else None)
        assert (net.state_dict()["3.weight"] == 0.5).all()

    dist.simulate(2, program)


def test_sums_of_parts_of_a_batch():
    def program():
        dist.init_process_group()
        net = FSDP(network(), auto_wrap_policy=LINEARS)
        mine = torch.arange(12)[part()]
        with net.no_sync():
            nn.functional.cross_entropy(net(X[mine[:2]]), Y[mine[:2]], reduction="sum").backward()
        assert net[0].weight.grad is None
        nn.functional.cross_entropy(net(X[mine[2:]]), Y[mine[2:]], reduction="sum").backward()
        plain = network()
        nn.functional.cross_entropy(plain(X), Y, reduction="sum").backward()
        mean = plain[0].weight.grad / dist.get_world_size()
        assert torch.allclose(net[0].weight.grad.full_tensor(), mean, atol=1e-5)

    dist.simulate(3, program)


def test_what_is_ignored_stays():
    def program():
        dist.init_process_group()
        net = network()
        kept = net[0].weight
        made = FSDP(net, ignored_modules=[net[0]], auto_wrap_policy=LINEARS)
        assert made[0] is net[0] and made[0].weight is kept and isinstance(made[3], FSDP)
        made(X).sum().backward()
        assert made[0].weight.grad.shape == (7, 5)
        net = network()
        made = FSDP(net, ignored_states=[net[1].bias])
        assert type(made[1].bias) is nn.Parameter and isinstance(made[1].weight, dist.DTensor)

    dist.simulate(2, program)


def test_dtypes_of_computing():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.norm, self.b = nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
            self.register_buffer("scale", torch.ones(1))
            self.seen = []

        def forward(self, x):
            self.seen += [x.dtype, self.a.weight.dtype, self.scale.dtype]
            x = self.norm(self.a(x))
            self.seen += [x.dtype, self.norm.weight.dtype if hasattr(self.norm, "weight") else None]
            return self.b(x) * self.scale

    def program():
        dist.init_process_group()
        half = MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16)
        net = FSDP(Net(), mixed_precision=half, auto_wrap_policy=LINEARS)
        out = net(X)
        assert out.dtype is torch.bfloat16 and net.seen[0] is torch.bfloat16 and net.seen[2] is torch.bfloat16
        assert isinstance(net.norm, FSDP) and net.norm.running_mean.dtype is torch.float32  # computes in float32
        out.float().sum().backward()
        assert net.a.weight.grad.dtype is torch.float32
        assert net.state_dict()["scale"].dtype is torch.float32
        return True

    assert all(dist.simulate(2, program))


def test_modules_from_the_first_rank_and_from_meta():
    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        net = network()
        with torch.no_grad():
            for p in net.parameters():
                p.fill_(float(rank))
        net.register_buffer("mean", torch.full((2,), float(rank)))
        net = FSDP(net, sync_module_states=True, auto_wrap_policy=LINEARS)
        state = net.state_dict()
        assert all((t == 0).all() for t in state.values()) and "mean" in state
        with torch.device("meta"):
            net = network()
        torch.manual_seed(rank)
        net = FSDP(net, sync_module_states=True)
        assert not any(p.is_meta for p in net.parameters())
        return net.state_dict()["0.weight"]

    a, b = dist.simulate(2, program)
    assert torch.equal(a, b) and a.std() > 0


def test_ignored_buffers_and_checkpointed_modules():
    from strided.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    def program():
        dist.init_process_group()
        net = nn.Sequential(nn.BatchNorm1d(5), nn.BatchNorm1d(5))
        half = MixedPrecision(buffer_dtype=torch.float16)
        made = FSDP(net, ignored_modules=[net[0]], mixed_precision=half)
        assert made[0].running_mean.dtype is torch.float32 and made[1].running_mean.dtype is torch.float16
        inside = FSDP(checkpoint_wrapper(nn.Linear(5, 3)))
        outer = FSDP(nn.Sequential(checkpoint_wrapper(FSDP(nn.Linear(5, 5))), inside))
        outer(X).sum().backward()
        state = outer.state_dict()
        assert list(state) == ["0.weight", "0.bias", "1.weight", "1.bias"]
        assert [name for name, _ in outer.named_parameters()] == list(state)
        outer.load_state_dict({k: torch.ones_like(v) for k, v in state.items()})
        assert all((v == 1).all() for v in outer.state_dict().values())

    dist.simulate(2, program)


def test_shared_modules_get_one_wrapper_and_programs_may_wrap():
    def program():
        dist.init_process_group()
        shared = nn.Linear(4, 4)
        net = FSDP(nn.ModuleList([shared, shared]), auto_wrap_policy=LINEARS)
        assert net[0] is net[1]
        with enable_wrap(wrapper_cls=FSDP, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP):
            inner = wrap(nn.Linear(2, 2))
        assert isinstance(inner, FSDP) and inner.sharding_strategy is ShardingStrategy.SHARD_GRAD_OP
        outer = FSDP(nn.Sequential(inner))
        assert FSDP.fsdp_modules(outer) == [outer, inner] and FSDP.fsdp_modules(outer, root_only=True) == [outer]
        outer(torch.ones(1, 2))
        assert outer.check_is_root() and not inner.check_is_root()
        with pytest.raises(ValueError, match="wrappers in it already"):
            FSDP(nn.Sequential(inner), auto_wrap_policy=LINEARS)

    dist.simulate(2, program)


def test_steps_with_infinite_gradients_are_left_out_on_all_ranks():
    def program():
        dist.init_process_group()
        net = FSDP(nn.Linear(4, 4))
        optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
        scaler = ShardedGradScaler("cpu", init_scale=4.0)
        before = net.state_dict()["weight"]
        for bad in (True, False):
            optimizer.zero_grad()
            scaler.scale(net(torch.ones(1, 4)).sum()).backward()
            local = net.weight.grad.to_local()
            if bad and dist.get_rank() == 1:
                local[0, 0] = torch.inf
            scaler.step(optimizer)
            scaler.update()
            assert torch.equal(net.state_dict()["weight"], before) == bad
        assert torch.allclose(net.state_dict()["weight"], before - 1)
        return scaler.get_scale()

    assert dist.simulate(3, program) == [2.0] * 3


def test_misfit_arguments():
    def program():
        with pytest.raises(ValueError, match="Default process group"):
            FSDP(network())
        dist.init_process_group()
        for call, error, text in [
            (lambda: FSDP(3), TypeError, "Module is required"),
            (lambda: FSDP(network(), sharding_strategy="FULL"), TypeError, "ShardingStrategy"),
            (lambda: FSDP(network(), auto_wrap_policy=3), TypeError, "policy"),
            (lambda: FSDP(network(), ignored_modules=[3]), TypeError, "nn.Module"),
            (lambda: FSDP(network(), device_mesh=dist.init_device_mesh("cpu", (1, 2))), ValueError, "2 axes"),
            (lambda: FSDP(network(), dist.new_group(), device_mesh=dist.init_device_mesh("cpu", (2,))),
             ValueError, "just pass only one"),
            (lambda: FSDP.set_state_dict_type(FSDP(network()), "full"), TypeError, "StateDictType"),
        ]:  # fmt: skip
            with pytest.raises(error, match=text):
                call()
        assert FSDP(network(), cpu_offload=CPUOffload(True)).cpu_offload.offload_params
        net = FSDP(network())
        net.module.register_forward_pre_hook(lambda m, x: FSDP.summon_full_params(net).__enter__())
        with pytest.raises(AssertionError, match="the module runs"):
            net(X)

    dist.simulate(2, program)
