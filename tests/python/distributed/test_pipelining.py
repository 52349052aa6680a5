"""Stages of a network on several ranks: results and gradients of the whole network, for every schedule."""

import pytest
import strided as torch
from strided import distributed as dist
from strided import nn
from strided.distributed.fsdp import fully_shard
from strided.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from strided.distributed.pipelining.microbatch import TensorChunkSpec, merge_chunks, split_args_kwargs_into_chunks
from strided.distributed.pipelining.schedules import get_schedule_class

X = torch.linspace(-1, 1, 65).view(13, 5).sin()
Y = torch.linspace(0, 1, 26).view(13, 2)
SEVERAL = (ScheduleInterleaved1F1B, ScheduleLoopedBFS)


def layers(count):
    torch.manual_seed(0)
    return [nn.Sequential(nn.Linear(5, 5), nn.Tanh()) for _ in range(count - 1)] + [nn.Linear(5, 2)]


def whole(count, parts):
    """Result, and gradients of the mean of the losses of parts."""
    net = nn.Sequential(*layers(count))
    made = net(X)
    losses = [nn.functional.mse_loss(a, b) for a, b in zip(made.tensor_split(parts), Y.tensor_split(parts))]
    (sum(losses) / parts).backward()
    return made.detach(), [p.grad for p in net.parameters()]


def scheduled(kind, stages, parts, **options):
    given = stages if kind in SEVERAL else stages[0]
    return kind(given, parts, nn.functional.mse_loss, **options)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_gradients_are_those_of_the_whole_network(ranks):
    def program(kind, each, parts):
        dist.init_process_group()
        rank, count = dist.get_rank(), ranks * each
        mods, losses = layers(count), []
        mine = range(rank, count, ranks)
        schedule = scheduled(kind, [PipelineStage(mods[i], i, count, "cpu") for i in mine], parts)
        inputs = (X,) if rank == 0 else ()
        target = {"target": Y} if rank == ranks - 1 else {}
        made = schedule.step(*inputs, losses=losses, **target)
        want, gradients = whole(count, parts)
        if rank == ranks - 1:
            assert torch.allclose(made, want) and len(losses) == parts
            assert torch.allclose(torch.stack(losses).mean(), nn.functional.mse_loss(want, Y), rtol=0.2)
        else:
            assert made is None and not losses
        here = [p.grad for i in mine for p in mods[i].parameters()]
        there = [g for i in mine for g in gradients[2 * i : 2 * i + 2]]
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(here, there, strict=True))
        again = schedule.eval(*inputs, **target)
        assert again is None if rank < ranks - 1 else torch.equal(again, made) and not again.requires_grad

    for kind, each in [(ScheduleGPipe, 1), (Schedule1F1B, 1), (ScheduleLoopedBFS, 2), (ScheduleInterleaved1F1B, 3)]:
        for parts in (1, 4, 6):
            dist.simulate(ranks, program, kind, each, parts)


def test_a_schedule_keeps_few_parts():
    class Counted(nn.Linear):
        kept = most = 0

        def forward(self, x):
            self.kept += 1
            self.most = max(self.most, self.kept)
            made = super().forward(x)
            made.register_hook(self.done)
            return made

        def done(self, gradient):
            self.kept -= 1

    def program(kind):
        dist.init_process_group()
        rank = dist.get_rank()
        stage = PipelineStage(Counted(5, 2 if rank == 2 else 5), rank, 3, "cpu")
        kind(stage, 8, nn.functional.mse_loss).step(*(X,) if rank == 0 else (), target=Y if rank == 2 else None)
        return stage.submod.most

    assert dist.simulate(3, program, ScheduleGPipe) == [8, 8, 8]
    assert dist.simulate(3, program, Schedule1F1B) == [3, 2, 1]


def test_several_tensors_and_keywords_travel():
    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(5, 5)

        def forward(self, x, scale=1.0):
            return self.linear(x) * scale, (x > 0).sum(1), x.to(torch.bfloat16)

    class Second(nn.Module):
        def forward(self, a, n, b, shift=None):
            assert a.requires_grad and not n.requires_grad and n.dtype is torch.int64 and b.dtype is torch.bfloat16
            return a.sum(1) + n + b.float().sum(1) + shift.sum(1)

    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        torch.manual_seed(0)
        first, second = First(), Second()
        stage = PipelineStage(second if rank else first, rank, 2, "cpu")
        schedule = ScheduleGPipe(
            stage,
            3,
            lambda y, t: (y - t).square().mean(),
            kwargs_chunk_spec={"shift": TensorChunkSpec(1)} if rank else None,
        )
        named = {"shift": torch.ones(4, 13)} if rank else {"scale": 2.0}
        if rank == 0:
            schedule.step(X, **named)
            return first.linear.weight.grad.abs().sum() > 0
        second.forward = lambda a, n, b, shift: Second.forward(second, a, n, b, shift.t())
        made = schedule.step(target=Y[:, 0], **named)
        a, n, b = First.forward(first, X, 2.0)
        return torch.allclose(made, a.sum(1) + n + b.float().sum(1) + 4, atol=1e-5)

    assert all(dist.simulate(2, program))


@pytest.mark.parametrize("sharded", [False, True])
def test_stages_whose_gradients_are_averaged(sharded):
    def program():
        dist.init_process_group()
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp"))
        stage_of, replica = mesh.get_coordinate()
        mods = layers(2)
        mod = mods[stage_of]
        if sharded:
            fully_shard(mod, mesh=mesh["dp"])
        else:
            mod = nn.parallel.DistributedDataParallel(mod, process_group=mesh.get_group("dp"))
        stage = PipelineStage(mod, stage_of, 2, "cpu", group=mesh.get_group("pp"))
        schedule = Schedule1F1B(stage, 3, nn.functional.mse_loss)
        mine = slice(6 * replica, 6 * replica + 6)
        schedule.step(*(X[mine],) if stage_of == 0 else (), target=Y[mine] if stage_of else None)
        net = nn.Sequential(*layers(2))
        nn.functional.mse_loss(net(X[:12]), Y[:12]).backward()
        for p, q in zip(mods[stage_of].parameters(), net[stage_of].parameters(), strict=True):
            grad = p.grad.full_tensor() if sharded else p.grad
            assert torch.allclose(grad, q.grad, atol=1e-6)

    dist.simulate(4, program)


def test_parts_of_arguments():
    args, kwargs = split_args_kwargs_into_chunks(
        (torch.arange(5), {"m": torch.arange(6).view(2, 3)}, 7), {"k": torch.arange(4)}, 2,
        (TensorChunkSpec(0), TensorChunkSpec(1), None), None,
    )  # fmt: skip
    assert [a[0].tolist() for a in args] == [[0, 1, 2], [3, 4]]
    assert [a[1]["m"].tolist() for a in args] == [[[0, 1], [3, 4]], [[2], [5]]]
    assert [a[2] for a in args] == [7, 7] and [k["k"].tolist() for k in kwargs] == [[0, 1], [2, 3]]
    merged = merge_chunks([a[1] for a in args], {"m": TensorChunkSpec(1)})
    assert merged["m"].tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="do not make 3 parts"):
        split_args_kwargs_into_chunks((torch.arange(2),), {}, 3)
    with pytest.raises(ValueError, match="chunk specs"):
        split_args_kwargs_into_chunks((torch.arange(2),), {}, 2, (None, None))
    with pytest.raises(TypeError, match="which is no tensor"):
        split_args_kwargs_into_chunks((3,), {}, 2, (TensorChunkSpec(0),))
    with pytest.raises(ValueError, match="without axes"):
        merge_chunks([torch.tensor(1.0)])
    assert get_schedule_class("1F1B") is Schedule1F1B and get_schedule_class("ScheduleGPipe") is ScheduleGPipe
    with pytest.raises(ValueError, match="no schedule 'x'"):
        get_schedule_class("x")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda s, r: PipelineStage(nn.Identity(), 2, 2, "cpu"), ValueError, "out of range"),
        (lambda s, r: PipelineStage(nn.Identity(), 0, 1, "cpu"), RuntimeError, "2 ranks for 1 stages"),
        (lambda s, r: ScheduleGPipe(s, 0), ValueError, "at least 1"),
        (lambda s, r: ScheduleGPipe(PipelineStage(nn.Identity(), r, 4, "cpu"), 2), ValueError, "4 stages for 2 ranks"),
        (lambda s, r: ScheduleGPipe(PipelineStage(nn.Identity(), 1 - r, 2, "cpu"), 2), ValueError, "not of rank"),
        (lambda s, r: ScheduleLoopedBFS([], 2), ValueError, "no stages"),
        (lambda s, r: ScheduleLoopedBFS([s, s], 2), ValueError, "has the stages"),
        (lambda s, r: ScheduleInterleaved1F1B([s], 5), ValueError, "do not make 2 equal groups"),
    ],
)
def test_misfit_calls(call, error, text):
    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        with pytest.raises(error, match=text):
            call(PipelineStage(nn.Identity(), rank, 2, "cpu"), rank)

    dist.simulate(2, program)


def test_a_batch_that_is_too_small():
    def program():
        dist.init_process_group()
        with pytest.raises(ValueError, match="do not make 20 parts of a batch"):
            ScheduleGPipe(PipelineStage(nn.Identity(), 0, 1, "cpu"), 20).step(X)

    dist.simulate(1, program)


def test_a_rank_without_its_part_is_named():
    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        schedule = ScheduleGPipe(PipelineStage(nn.Identity(), rank, 2, "cpu"), 2, nn.functional.mse_loss)
        schedule.step(*(X,) if rank == 0 else ())

    with pytest.raises(dist.RankError, match=r"rank 1 raised ValueError.*target is required"):
        dist.simulate(2, program)
