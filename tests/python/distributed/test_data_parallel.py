"""DistributedDataParallel: every rank has the gradients, and after each step the parameters, of one process that
computes the whole batch."""

import contextlib
import dataclasses

import pytest
import strided
from strided import distributed as dist
from strided import nn, optim
from strided.nn.parallel import DistributedDataParallel as DDP
from strided.nn.parallel import _reducer
from strided.utils.data import DataLoader, DistributedSampler, TensorDataset

RANKS = [1, 2, 3, 4, 6, 7]
ranks = pytest.mark.parametrize("n", RANKS)
SAMPLES = 84  # a multiple of every number of ranks


def net(seed=0):
    strided.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2)).double()


def data():
    generator = strided.Generator()
    generator.manual_seed(3)
    x = strided.randn(SAMPLES, 5, dtype=strided.float64, generator=generator)
    return x, strided.stack([x.sum(1).sin(), (x * x).mean(1)], 1)


def grouped(n, program, *args):
    def ranked():
        dist.init_process_group()
        return program(dist.get_rank(), n, *args)

    return dist.simulate(n, ranked)


def close(a, b, tolerance=1e-12):
    strided.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def equal_everywhere(results):
    """The same bits on all ranks."""
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert a.tolist() == b.tolist()


def steps(model, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


@ranks
@pytest.mark.parametrize("bucket", [None, 0.0005])
def test_training_is_that_of_the_whole_batch(n, bucket):
    x, y = data()
    alone = net()
    expected = steps(alone, optim.Adam(alone.parameters(), lr=0.02), [(x, y)] * 5)

    def program(rank, n):
        model = DDP(net(seed=rank), bucket_cap_mb=bucket)  # rank 0 gives its parameters to all
        part = slice(rank * SAMPLES // n, (rank + 1) * SAMPLES // n)
        losses = steps(model, optim.Adam(model.parameters(), lr=0.02), [(x[part], y[part])] * 5)
        for loss in losses:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        return [*losses, *(p.detach() for p in model.parameters())]

    results = grouped(n, program)
    equal_everywhere(results)
    for found, wanted in zip(results[0], [*expected, *(p.detach() for p in alone.parameters())]):
        close(found, wanted, 1e-9)


def test_with_loaders_and_samplers():
    """Each epoch in another order: the losses of one process whose batches are those of all ranks side by side."""
    x, y = data()
    n, epochs, batch = 3, 2, 7
    alone, expected = net(), []
    optimizer = optim.SGD(alone.parameters(), lr=0.1, momentum=0.9)
    whole = DistributedSampler(x, 1, 0, seed=1)
    for epoch in range(epochs):
        whole.set_epoch(epoch)
        order = list(whole)
        expected += steps(alone, optimizer, [(x[order[k : k + batch * n]], y[order[k : k + batch * n]])
                                             for k in range(0, SAMPLES, batch * n)])  # fmt: skip

    def program(rank, n):
        samples = TensorDataset(x, y)
        sampler = DistributedSampler(samples, seed=1)
        loader = DataLoader(samples, batch, sampler=sampler)
        model = DDP(net())
        optimizer, losses = optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            losses += steps(model, optimizer, loader)
        for loss in losses:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        return losses

    results = grouped(n, program)
    equal_everywhere(results)
    close(strided.stack(results[0]), strided.stack(expected), 1e-9)


@pytest.mark.parametrize("as_views", [False, True])
def test_no_sync_adds_up(as_views):
    x, y = data()

    def program(rank, n):
        model = DDP(net(), gradient_as_bucket_view=as_views)
        traffic = model.process_group.communicator.traffic
        halves = [slice(rank * 12 + k * SAMPLES // 2, rank * 12 + 12 + k * SAMPLES // 2) for k in (0, 1)]
        traffic.reset()
        with model.no_sync():
            (nn.functional.mse_loss(model(x[halves[0]]), y[halves[0]]) / 2).backward()
        assert traffic.calls == {}
        own = [p.grad.clone() for p in model.parameters()]
        (nn.functional.mse_loss(model(x[halves[1]]), y[halves[1]]) / 2).backward()
        assert sum(traffic.calls.values()) >= 1
        return own, [p.grad for p in model.parameters()]

    results = grouped(3, program)
    assert results[0][0][0].tolist() != results[1][0][0].tolist()
    equal_everywhere([averaged for _, averaged in results])
    alone = net()
    rows = [r * 12 + i + h for r in range(3) for h in (0, SAMPLES // 2) for i in range(12)]
    nn.functional.mse_loss(alone(x[rows]), y[rows]).backward()
    for found, p in zip(results[0][1], alone.parameters()):
        close(found, p.grad)


def test_a_second_backward_adds_to_the_average():
    x, y = data()

    def program(rank, n):
        model = DDP(net())
        for _ in range(2):
            nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
        return [p.grad for p in model.parameters()]

    results = grouped(2, program)
    equal_everywhere(results)
    alone = net()
    (2 * nn.functional.mse_loss(alone(x), y)).backward()
    for found, p in zip(results[0], alone.parameters()):
        close(found, p.grad)


class Branches(nn.Module):
    """One of two branches, and a third that nobody takes."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.never = (nn.Linear(3, 1, bias=False) for _ in range(3))
        for k, p in enumerate(self.parameters()):
            p.data.fill_(k + 1.0)

    def forward(self, x, left):
        return {"out": [self.left(x) if left else self.right(x)], "note": "a text"}


@ranks
def test_parameters_that_some_ranks_do_not_use(n):
    def program(rank, n):
        model = DDP(Branches(), find_unused_parameters=True)
        found = []
        for turn in range(2):
            model.zero_grad()
            result = model(strided.ones(1, 3), left=(rank + turn) % 2 == 0)
            assert result["note"] == "a text"
            result["out"][0].sum().backward()
            inner = model.module
            found.append([None if p.grad is None else p.grad.tolist() for p in inner.parameters()])
        return found

    for found in grouped(n, program):
        for turn, (left, right, never) in enumerate(found):
            share = sum((r + turn) % 2 == 0 for r in range(n)) / n
            for gradient, expected in ((left, share), (right, 1 - share)):
                if expected == 0:
                    assert gradient is None
                else:
                    assert gradient[0] == pytest.approx([expected] * 3)
            assert never is None


def test_unused_parameters_are_named():
    def program(rank, n):
        model = DDP(Branches())
        model(strided.ones(1, 3), left=True)["out"][0].sum().backward()
        with pytest.raises(RuntimeError, match=r"got no gradient: right\.weight, never\.weight\. Pass find_unused"):
            model(strided.ones(1, 3), left=True)
        return True

    assert grouped(2, program) == [True, True]


@dataclasses.dataclass
class Result:
    score: object
    extra: tuple


class Structured(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 1), nn.Linear(2, 1)

    def forward(self, x):
        return Result(self.a(x), (self.b(x), {"plain": 3, "no gradient": x}))


def test_structures_of_results():
    def program(rank, n):
        model = DDP(Structured(), find_unused_parameters=True)
        result = model(strided.ones(1, 2))
        assert isinstance(result, Result) and result.extra[1]["plain"] == 3
        (result.score + result.extra[0]).sum().backward()
        return [p.grad.tolist() for p in model.parameters()]

    assert grouped(2, program) == [[[[1.0, 1.0]], [1.0], [[1.0, 1.0]], [1.0]]] * 2


@ranks
def test_buffers_are_those_of_rank_0(n):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(strided.ones(1))
            self.register_buffer("seen", strided.zeros(2))
            self.register_buffer("count", strided.zeros((), dtype=strided.int64))

        def forward(self, x):
            self.seen += x.detach()
            self.count += 1
            return self.weight * x

    def program(rank, n, shared):
        model = DDP(Counting(), broadcast_buffers=shared)
        for _ in range(2):
            model(strided.full((2,), rank + 1.0)).sum().backward()
        with strided.no_grad():
            model.eval()(strided.zeros(2))
        return model.module.seen.tolist(), model.module.count.item()

    assert grouped(n, program, True) == [([2.0, 2.0], 3)] * n
    assert grouped(n, program, False) == [([2.0 * (r + 1)] * 2, 3) for r in range(n)]


def test_the_order_of_the_calls_does_not_follow_the_order_of_gradients():
    """Buckets are averaged in one order on all ranks, though gradients of parameters arrive in another on each."""

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(strided.ones(4)) for _ in range(6)])

        def forward(self, order):
            total = 0
            for k in order:
                total = (total + self.weights[k] * (k + 1)) * 1.5
            return total

    def program(rank, n):
        model = DDP(Sum(), bucket_cap_mb=1e-5)
        assert len(model.reducer._buckets) == 6
        order = list(range(6)) if rank == 0 else [3, 0, 5, 1, 4, 2]
        model(order).sum().backward()
        return [p.grad for p in model.parameters()]

    equal_everywhere(grouped(2, program))


def test_buckets():
    f32, f64 = strided.float32, strided.float64
    ps = [strided.ones(n, dtype=d) for n, d in ((10, f32), (100, f32), (5, f64), (200, f32), (50, f64), (1, f32))]
    groups = _reducer.buckets(ps, first=100, size=400)
    assert sorted(k for group in groups for k in group) == list(range(6))
    assert groups[0] == [5, 3] and all(len({ps[k].dtype for k in group}) == 1 for group in groups)
    assert _reducer.buckets([], 1, 1) == []


def test_16_bit_gradients_are_summed_in_float32():
    def program(rank, n):
        layer = nn.Linear(1, 1, bias=False).to(strided.bfloat16)
        model = DDP(layer)
        # bfloat16 has 8 bits: 256 + 1 + 1 + 1 would stay 256
        model(strided.full((1, 1), 256.0 if rank == 0 else 1.0, dtype=strided.bfloat16)).sum().backward()
        return layer.weight.grad.item()

    assert grouped(4, program) == [float(strided.tensor(259 / 4).bfloat16())] * 4


def test_communication_hooks():
    def program(rank, n):
        model, seen = DDP(net(), bucket_cap_mb=0.0005), []

        def hook(state, bucket):
            assert state == "state" and len(bucket.gradients()) == len(bucket.parameters())
            seen.append((bucket.index(), bucket.is_last(), bucket.buffer().numel()))
            total = bucket.buffer().float()
            dist.all_reduce(total)
            future = strided.futures.Future()
            future.set_result(total.double() / n)
            return future

        model.register_comm_hook("state", hook)
        with pytest.raises(RuntimeError, match="only be called once"):
            model.register_comm_hook(None, hook)
        x, y = data()
        nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
        assert [index for index, _, _ in seen] == list(range(len(seen))) and [last for _, last, _ in seen][-1]
        assert sum(size for _, _, size in seen) == sum(p.numel() for p in model.parameters())
        return [p.grad for p in model.parameters()]

    results = grouped(2, program)
    equal_everywhere(results)
    alone = net()
    x, y = data()
    nn.functional.mse_loss(alone(x), y).backward()
    close(results[0][0], next(alone.parameters()).grad, 1e-5)


def test_groups_of_some_ranks_train_apart():
    def program(rank, n):
        mine, _ = dist.new_subgroups(2)
        model = DDP(nn.Linear(1, 1, bias=False), process_group=mine)
        model(strided.full((1, 1), float(rank))).sum().backward()
        return model.module.weight.grad.item()

    assert grouped(4, program) == [0.5, 0.5, 2.5, 2.5]


def test_an_axis_of_a_mesh_is_a_group():
    def program(rank, n):
        mesh = dist.init_device_mesh("cpu", (2, 3), mesh_dim_names=("model", "data"))
        along = mesh.get_group("data")
        model = DDP(nn.Linear(1, 1, bias=False), process_group=along)
        model(strided.full((1, 1), float(rank))).sum().backward()
        x = strided.tensor([rank])
        dist.broadcast(x, src=3 * mesh.get_local_rank("model") + 2, group=along)
        whole = DDP(nn.Linear(1, 1), device_mesh=dist.init_device_mesh("cpu", (6,)))
        assert dist.get_world_size(whole.process_group) == 6
        with pytest.raises(RuntimeError, match="Cannot specify both"):
            DDP(nn.Linear(1, 1), process_group=along, device_mesh=mesh)
        assert dist.get_process_group_ranks(along) == [3 * (rank // 3) + k for k in range(3)]
        assert dist.get_rank(along) == rank % 3 and dist.get_world_size(along) == 3
        return model.module.weight.grad.item(), x.item()

    assert grouped(6, program) == [(1.0, 2)] * 3 + [(4.0, 5)] * 3


def test_errors():
    def program(rank, n):
        with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a gradient"):
            DDP(nn.Tanh())
        with pytest.raises(RuntimeError, match="rank 1 has parameters that rank 0 does not have.*weight"):
            DDP(nn.Linear(2 + rank, 1))
        with pytest.raises(ValueError, match="single element"):
            DDP(nn.Linear(1, 1), device_ids=[0, 1])
        return True

    assert grouped(2, program) == [True, True]
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DDP(nn.Linear(1, 1))


def test_state_dict_and_evaluation():
    def program(rank, n):
        model = DDP(net())
        assert all(name.startswith("module.") for name in model.state_dict())
        model.load_state_dict(model.state_dict())
        model.eval()
        with strided.no_grad():
            first = model(data()[0])
        close(first, net()(data()[0]).detach())
        return True

    assert grouped(2, program) == [True, True]


@pytest.mark.parametrize("name", ["allreduce_hook", "fp16_compress_hook", "bf16_compress_hook", "fp16", "bf16"])
def test_hooks_of_the_library(name):
    from strided.distributed.algorithms.ddp_comm_hooks import default_hooks

    wrapped = f"{name}_compress_wrapper"
    hook = (
        getattr(default_hooks, wrapped)(default_hooks.allreduce_hook)
        if len(name) == 4
        else getattr(default_hooks, name)
    )

    def program(rank, n):
        model = DDP(net().float())
        traffic = model.process_group.communicator.traffic
        model.register_comm_hook(None, hook)
        x, y = (t.float() for t in data())
        traffic.reset()
        nn.functional.mse_loss(model(x[rank::n]), y[rank::n]).backward()
        return traffic.sent, [p.grad for p in model.parameters()]

    results = grouped(2, program)
    equal_everywhere([gradients for _, gradients in results])
    alone = net().float()
    x, y = (t.float() for t in data())
    nn.functional.mse_loss(alone(x), y).backward()
    size = sum(p.numel() for p in alone.parameters())
    assert results[0][0] == size * (4 if name == "allreduce_hook" else 2)
    for found, p in zip(results[0][1], alone.parameters()):
        assert found.dtype == strided.float32
        close(found, p.grad, 1e-5 if name == "allreduce_hook" else 2e-2)


@pytest.mark.parametrize("by_all", [True, False])
@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}, {"gradient_as_bucket_view": True}])
def test_ranks_with_fewer_batches(by_all, options):
    """Gradients of the ranks that have a batch, over all ranks or over those; in the end all have the same."""
    x, y = data()

    def step(model, optimizer, k, rank):
        optimizer.zero_grad()
        part = slice(12 * k + 4 * rank, 12 * k + 4 * rank + 4)
        nn.functional.mse_loss(model(x[part]), y[part]).backward()

    def program(rank, n):
        model = DDP(nn.Sequential(net(), nn.BatchNorm1d(2).double()), bucket_cap_mb=0.0005, **options)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        with model.join(divide_by_initial_world_size=by_all):
            for k in range((2, 4, 3)[rank]):
                with model.no_sync() if k == 1 else contextlib.nullcontext():
                    step(model, optimizer, k, rank)
                if k != 1:
                    optimizer.step()
        return [*(p.detach() for p in model.parameters()), *model.buffers()]

    results = grouped(3, program)
    equal_everywhere(results)
    # The same by hand: each rank's gradient, summed.
    alone = [nn.Sequential(net(), nn.BatchNorm1d(2).double()) for _ in range(3)]
    for k, active in enumerate([(0, 1, 2), (0, 1, 2), (1, 2), (1,)]):
        for r in active:
            if k != 1:
                for b, first in zip(alone[r].buffers(), alone[active[-1]].buffers()):
                    b.copy_(first)
            step(alone[r], optim.SGD(alone[r].parameters(), lr=0.1), k, r)
        if k == 1:
            continue
        sums = [sum(p.grad for p in ps) for ps in zip(*(alone[r].parameters() for r in active))]
        with strided.no_grad():
            for a in alone:
                for p, total in zip(a.parameters(), sums):
                    p -= 0.1 * total / (3 if by_all else len(active))
    for found, p in zip(results[0], alone[1].parameters()):
        close(found, p.detach(), 1e-9)


def test_ranks_that_have_no_more_batches_end_the_others():
    def program(rank, n):
        model = DDP(nn.Linear(1, 1))
        with pytest.raises(RuntimeError) as told, model.join(throw_on_early_termination=True):
            for _ in range(2 + rank):
                model(strided.ones(1, 1)).sum().backward()
        with model.join(enable=False):
            model(strided.ones(1, 1)).sum().backward()
        return str(told.value)

    assert grouped(2, program) == [
        "Rank 0 exhausted all inputs.",
        "Detected at least one rank that exhausted inputs. Throwing across all ranks.",
    ]


def test_averages_overlap_with_backward():
    """A bucket's average is begun before the gradients of the next one are there."""

    def program(rank, n):
        model = DDP(net(), bucket_cap_mb=0.0005)
        comm, seen = model.process_group.communicator, []
        begin = comm.start_all_reduce
        comm.start_all_reduce = lambda flat, op: (
            seen.append([p.grad is not None for p in model.parameters()]), begin(flat, op))[1]  # fmt: skip
        x, y = data()
        nn.functional.mse_loss(model(x), y).backward()
        return seen

    for seen in grouped(2, program):
        assert len(seen) == len(set(map(tuple, seen))) > 1 and not all(seen[0]) and all(seen[-1])


def test_gradients_stay_in_their_bucket():
    def program(rank, n):
        model = DDP(nn.Linear(3, 2), gradient_as_bucket_view=True)
        places = set()
        for _ in range(3):
            model.zero_grad(set_to_none=False)
            model(strided.full((1, 3), rank + 1.0)).sum().backward()
            places.add(tuple(p.grad.data_ptr() for p in model.parameters()))
        return len(places), model.module.weight.grad.tolist()

    assert grouped(2, program) == [(1, [[1.5] * 3] * 2)] * 2


def test_replicated_in_place():
    from strided.distributed._composable import replicate

    def program(rank, n):
        strided.manual_seed(rank)
        net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        assert replicate(net) is net and isinstance(net, nn.Sequential)
        assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
        x = strided.full((1, 2), rank + 1.0)
        net.set_requires_gradient_sync(False)
        net(x).sum().backward()
        alone = net[0].weight.grad.clone()
        net.set_requires_gradient_sync(True)
        net(x).sum().backward()
        found = [strided.empty(3, 2) for _ in range(n)]
        dist.all_gather(found, alone)
        assert strided.allclose(net[0].weight.grad, 2 * sum(found) / n)
        with pytest.raises(AssertionError, match="replicated already"):
            replicate(net)
        with pytest.raises(TypeError, match="Module is required"):
            replicate(3)
        return net[0].weight.sum().item()

    assert len(set(grouped(2, program))) == 1


@pytest.mark.parametrize("finds_unused", [False, True])
def test_a_backward_that_no_forward_has_prepared(finds_unused):
    """What Lightning does where the program calls backward itself."""

    def program():
        dist.init_process_group("mpi")
        rank = dist.get_rank()
        net = nn.ModuleDict({"a": nn.Linear(1, 1, bias=False), "b": nn.Linear(1, 1, bias=False)})
        model = DDP(net, find_unused_parameters=finds_unused)
        loss = net["a"](strided.full((1, 1), rank + 1.0)).sum()
        if not finds_unused:
            loss = loss + net["b"](strided.full((1, 1), rank + 3.0)).sum()
        assert isinstance(model.reducer, strided._C._distributed_c10d.Reducer) and not model.reducer._rebuild_buckets()
        model.reducer.prepare_for_backward([loss] if finds_unused else [])
        loss.backward()
        return [None if p.grad is None else p.grad.item() for p in net.parameters()]

    assert dist.simulate(2, program) == [[1.5, None if finds_unused else 3.5]] * 2


def test_what_libraries_ask_about_a_model():
    from strided.distributed.utils import _sync_module_states

    def program():
        dist.init_process_group("mpi")
        rank = dist.get_rank()
        model = DDP(nn.Linear(2, 3), bucket_cap_mb=1)
        told = model._get_ddp_logging_data()
        assert (told["world_size"], told["rank"], told["module_name"]) == (2, rank, "Linear")
        assert (told["total_parameter_size_bytes"], told["num_parameter_tensors"]) == (36, 2)
        assert told["bucket_cap_bytes"] == model.bucket_bytes_cap == 1 << 20 and not told.get("can_set_static_graph")
        other = nn.BatchNorm1d(2)
        with strided.no_grad():
            other.weight.fill_(rank)
            other.bias.fill_(rank)
            other.running_mean.fill_(rank)
        _sync_module_states(other, model.process_group, 1, src=1, params_and_buffers_to_ignore={"bias"})
        return [t[0].item() for t in (other.weight, other.bias, other.running_mean)]

    assert dist.simulate(2, program) == [[1, 0, 1], [1, 1, 1]]
