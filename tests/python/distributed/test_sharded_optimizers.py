"""Optimizers whose state is spread over ranks, averages of parameters, and hooks that average gradients otherwise."""

import pytest
import strided as torch
from small_training import X, Y, network, part
from strided import distributed as dist
from strided import nn
from strided.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
from strided.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
from strided.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
from strided.distributed.algorithms.join import Join
from strided.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from strided.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from strided.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer


def steps(net, optimizer, count=4, x=X, y=Y, after=()):
    for _ in range(count):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        for call in after:
            call()
    return loss.item()


def groups(net):
    return [{"params": net[0].parameters(), "lr": 0.05}, {"params": [*net[1].parameters(), *net[3].parameters()]}]


@pytest.mark.parametrize("ranks", [1, 2, 4, 6])
def test_zero_makes_the_steps_of_the_optimizer(ranks):
    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        net, plain = nn.parallel.DistributedDataParallel(network()), network()
        mine = ZeroRedundancyOptimizer(groups(net.module), torch.optim.Adam, lr=0.1, weight_decay=0.01)
        whole = torch.optim.Adam(groups(plain), lr=0.1, weight_decay=0.01)
        schedulers = [torch.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in (mine, whole)]
        steps(net, mine, x=X[part()], y=Y[part()], after=[schedulers[0].step])
        steps(plain, whole, after=[schedulers[1].step])
        for a, b in zip(net.module.parameters(), plain.parameters(), strict=True):
            assert torch.allclose(a, b, atol=1e-5)
        mine.consolidate_state_dict()
        if rank:
            with pytest.raises(RuntimeError, match="consolidate_state_dict"):
                mine.state_dict()
        states = [mine.state_dict() if rank == 0 else None]
        want = whole.state_dict()
        if rank == 0:
            assert (
                states[0]["param_groups"] == want["param_groups"] and states[0]["state"].keys() == want["state"].keys()
            )
            for number, kept in want["state"].items():
                assert all(torch.allclose(states[0]["state"][number][k], v, atol=1e-5) for k, v in kept.items())
        dist.broadcast_object_list(states)
        other = ZeroRedundancyOptimizer(groups(net.module), torch.optim.Adam, lr=0.3)
        other.load_state_dict(states[0])
        assert other.param_groups[1]["lr"] == whole.param_groups[1]["lr"]
        steps(net, other, 2, X[part()], Y[part()])
        steps(plain, whole, 2)
        for a, b in zip(net.module.parameters(), plain.parameters(), strict=True):
            assert torch.allclose(a, b, atol=1e-5)
        return 0 if mine.optim is None else sum(p.numel() for p in mine.optim.state)

    held = dist.simulate(ranks, program)
    assert sum(held) == sum(p.numel() for p in network().parameters()) and max(held) <= max(35, 90 // ranks)


def test_zero_and_data_parallel_join():
    def program():
        dist.init_process_group()
        net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1, bias=False))
        with torch.no_grad():
            net.module.weight.zero_()
        optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, lr=1.0)
        with Join([net, optimizer]):
            for _ in range(1 + dist.get_rank()):
                net.zero_grad()
                net(torch.ones(1, 1)).sum().backward()
                optimizer.step()
        return net.module.weight.item()

    assert dist.simulate(2, program) == [-1.5, -1.5]


def test_zero_takes_new_groups_and_refuses_the_rest():
    def program():
        dist.init_process_group()
        net = network()
        optimizer = ZeroRedundancyOptimizer(net[0].parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
        net(X).sum().backward()
        optimizer.step()
        before = {
            id(p): s["momentum_buffer"].clone() for p, s in (optimizer.optim.state.items() if optimizer.optim else ())
        }
        optimizer.add_param_group({"params": net[3].parameters(), "lr": 0.2})
        assert len(optimizer.param_groups) == 2
        state = optimizer.optim.state
        kept = [p for p in state if id(p) in before]
        assert all(torch.equal(state[p]["momentum_buffer"], before[id(p)]) for p in kept)
        optimizer.step()
        with pytest.raises(NotImplementedError, match="overlap_with_ddp"):
            ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1)
        with pytest.raises(TypeError, match="optimizer_class"):
            ZeroRedundancyOptimizer(net.parameters(), "SGD", lr=0.1)

    dist.simulate(2, program)


def test_parameters_are_averaged_now_and_then():
    def program(make, warmup):
        dist.init_process_group()
        p = nn.Parameter(torch.tensor([float(dist.get_rank())]))
        optimizer = PostLocalSGDOptimizer(torch.optim.SGD([p], lr=0.0), make(warmup))
        found = []
        for _ in range(5):
            p.grad = torch.zeros(1)
            with torch.no_grad():
                p.fill_(float(dist.get_rank()))
            optimizer.step()
            found.append(p.item())
        state = optimizer.state_dict()
        assert state["step"] == 5
        optimizer.load_state_dict(state)
        with pytest.warns(UserWarning, match="begins at 0"):
            optimizer.load_state_dict({k: v for k, v in state.items() if k != "step"})
        assert optimizer.averager.step == 0
        return found

    assert dist.simulate(2, program, lambda w: PeriodicModelAverager(2, w), 1)[1] == [1.0, 0.5, 1.0, 0.5, 1.0]
    tree = dist.simulate(4, program, lambda w: HierarchicalModelAverager({2: 2, 4: 4}, w), 0)
    assert [row[0] for row in tree] == [1.5] * 4  # all ranks
    assert [row[2] for row in tree] == [0.5, 0.5, 2.5, 2.5]  # two
    assert [row[3] for row in tree] == [0.0, 1.0, 2.0, 3.0]

    def wrong():
        dist.init_process_group()
        for call in (
            lambda: PeriodicModelAverager(0),
            lambda: PeriodicModelAverager(2, -1),
            lambda: HierarchicalModelAverager({}),
            lambda: HierarchicalModelAverager({2: 2, 4: 3}),
            lambda: HierarchicalModelAverager({4: 1, 2: 2}),
        ):
            with pytest.raises(ValueError):
                call()

    dist.simulate(2, wrong)


HOOKS = {
    "ALLREDUCE": (lambda: None, 1e-6),
    "FP16_COMPRESS": (lambda: None, 1e-3),
    "BF16_COMPRESS": (lambda: None, 1e-2),
    "POWER_SGD": (lambda: PowerSGDState(None, 5, 2, 0.1), 1e-5),  # of the rank of the gradients: nothing is lost
    "BATCHED_POWER_SGD": (lambda: PowerSGDState(None, 10, 2, 0.1, orthogonalization_epsilon=1e-8), 1e-3),
    "POST_LOCAL_SGD": (lambda: PostLocalSGDState(None, dist.group.WORLD, 1), 1e-6),
}


def test_hooks_average_gradients():
    def program(name):
        dist.init_process_group()
        net = nn.parallel.DistributedDataParallel(network())
        make, _ = HOOKS[name]
        register_ddp_comm_hook(DDPCommHookType[name], net, make())
        return steps(net, torch.optim.SGD(net.parameters(), lr=0.1), 4, X[part()], Y[part()]), net.module[0].weight

    plain = network()
    steps(plain, torch.optim.SGD(plain.parameters(), lr=0.1))
    for name, (_, near) in HOOKS.items():
        (_, a), (_, b) = dist.simulate(2, program, name)
        assert torch.equal(a, b) and torch.allclose(a, plain[0].weight, atol=near), name


def test_a_hook_that_sends_nothing_and_one_of_low_rank():
    def program():
        dist.init_process_group()
        net = nn.parallel.DistributedDataParallel(nn.Linear(8, 8, bias=False))
        register_ddp_comm_hook(DDPCommHookType.NOOP, net)
        net(torch.full((1, 8), dist.get_rank() + 1.0)).sum().backward()
        assert (net.module.weight.grad == dist.get_rank() + 1).all()
        net = nn.parallel.DistributedDataParallel(nn.Linear(16, 16, bias=False))
        state = PowerSGDState(None, 1, 2, use_error_feedback=True)
        register_ddp_comm_hook(DDPCommHookType.POWER_SGD, net, state)
        got = torch.zeros(16, 16)
        draw = torch.Generator().manual_seed(dist.get_rank())
        comm = dist.group.WORLD.communicator
        for step in range(12):
            net.zero_grad()
            sent = comm.traffic.sent
            x = torch.randn(2, 16, generator=draw)
            (net(x) * torch.randn(2, 16, generator=draw)).sum().backward()
            sent = comm.traffic.sent - sent
            assert sent <= (2 * 16 * 4 if step >= 2 else 16 * 16 * 4)
            got += net.module.weight.grad
        assert state.iter == 12 and net.module.weight.grad.count_nonzero() > 0
        with pytest.raises(ValueError, match="start_powerSGD_iter"):
            PowerSGDState(None, start_powerSGD_iter=1)
        return got

    a, b = dist.simulate(2, program)
    assert torch.equal(a, b)
