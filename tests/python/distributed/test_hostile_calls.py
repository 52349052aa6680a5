"""Arguments that do not fit: one clear error on every rank, and nobody waits for ever."""

import random
import threading

import pytest
import strided as torch
import strided.distributed as dist
from strided.distributed import (
    BlockCyclic,
    DistError,
    Partial,
    RankError,
    Replicate,
    Shard,
    ShardedTensor,
    init_device_mesh,
    simulate,
)

NAN, INF = float("nan"), float("inf")
ANYTHING = [
    None, -1, 0, 3, 1 << 62, 1 << 64, 2.5, NAN, "x", b"", (), (3,), [0, 1], (1 << 62, 1 << 62), torch.zeros(0),
    torch.zeros(2, 3), torch.tensor(NAN), torch.zeros(3, dtype=torch.complex64), torch.zeros(3, dtype=torch.bool), {},
    True, torch.float32, [torch.zeros(2)], [torch.zeros(2), torch.zeros(3)], lambda: 1, [Shard(0)], [Shard(-9)],
    [Partial()], object(),
]  # fmt: skip
PLACEMENTS = [
    None, [], [Shard(0)], [Shard(5)], [Shard(-1)], [Shard(-9)], [Replicate()] * 2, [Partial()], [Partial("max")],
    [BlockCyclic(0, 2)], "x", 3, [3], [None], Shard(0),
]  # fmt: skip
SIZES = [
    (), (0,), (1,), (2, 3), (0, 3), (1 << 62,), (1 << 62, 1 << 62), (1 << 31, 1 << 31, 4), (-1,), (1 << 64,), (2.5,),
    ("x",),
]  # fmt: skip
# What programs raise that did not look at their arguments.
ACCIDENTS = (AttributeError, AssertionError, NameError, MemoryError, RecursionError, ZeroDivisionError, StopIteration)
PHRASES = (
    "is not iterable", "has no len", "not subscriptable", "cannot be interpreted", "unsupported operand", "unhashable",
    "not supported between", "list index", "tuple index",
)  # fmt: skip


def mesh():
    return init_device_mesh("cpu", (3,))


def raised(program, *args):
    """What a program raises on three ranks; None for nothing."""
    found = []

    def run():
        try:
            simulate(3, program, *args)
            found.append(None)
        except BaseException as error:
            found.append(error.__cause__ if isinstance(error, RankError) else error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert found, "no rank goes on"
    return found[0]


def judge(what, error):
    assert not isinstance(error, ACCIDENTS), (what, error)
    assert error is None or str(error), what
    assert not any(p in str(error) for p in PHRASES), (what, error)


def some(key, n, most=4):
    """n lists of arguments, the same at every run."""
    for trial in range(n):
        chance = random.Random(f"{key} {trial}")
        yield [chance.choice(ANYTHING) for _ in range(chance.randrange(most))]


@pytest.mark.parametrize("name", ["zeros", "empty", "full", "rand", "randint", "randperm"])
def test_factories(name):
    first = {"full": lambda s: (s, 1), "randint": lambda s: (0, 5, s)}.get(name, lambda s: s)
    for placements in PLACEMENTS:
        for size in SIZES:
            made = raised(lambda: getattr(dist, name)(*first(size), mesh=mesh(), placements=placements))
            judge((name, size, placements), made)
    for wrong in (3, "x", torch.zeros(2)):
        assert isinstance(raised(lambda: dist.zeros(2, mesh=wrong)), TypeError)


def test_shards():
    for placements in PLACEMENTS:
        for m in (None, 3, "x", "mesh"):
            for t in (torch.zeros(2, 3), torch.zeros(()), torch.zeros(0, 2), 3, None):
                on = [lambda: m, mesh][m == "mesh"]
                judge(("distribute", placements, m), raised(lambda: dist.distribute_tensor(t, on(), placements)))
                judge(("from_local", placements, m), raised(lambda: ShardedTensor.from_local(t, on(), placements)))
        for size in ((2,), (2, 3), (1 << 62, 3), (2, 3, 4)):
            made = raised(lambda: ShardedTensor.from_local(torch.zeros(2, 3), mesh(), placements, shape=size))
            judge(("shape", placements, size), made)
        made = raised(lambda: dist.zeros(2, 3, mesh=mesh(), placements=[Shard(1)]).redistribute(placements=placements))
        judge(("redistribute", placements), made)


def test_meshes():
    for shape in ((), (0,), (-3,), (3,), (1, 3), (1 << 62,), "x", None, 3, (3.0,), ((3,),), INF):
        for names in (None, (), ("a",), ("a", "a"), ("a", "b"), "a", 3, (3,)):
            judge((shape, names), raised(lambda: init_device_mesh("cpu", shape, mesh_dim_names=names)))


def test_blocks_of_huge_tensors_are_refused():
    made = raised(lambda: dist.zeros(1 << 62, mesh=mesh(), placements=[BlockCyclic(0, 2)]))
    assert isinstance(made, ValueError) and "larger blocks" in str(made)


@pytest.mark.parametrize("of", ["Communicator", "DeviceMesh"])
def test_methods(of):
    kind, make = getattr(dist, of), {"Communicator": dist.world, "DeviceMesh": mesh}[of]
    names = [n for n in dir(kind) if n[0] != "_" and callable(getattr(kind, n)) and n != "abort"]
    for name in names:
        for args in some(name, 12):
            judge((name, args), raised(lambda: getattr(make(), name)(*args)))


def test_functions():
    left_out = {"init_process_group", "destroy_process_group", "simulate", "new_group", "monitored_barrier", "world"}
    names = [n for n in dist.__all__ if callable(getattr(dist, n)) and not isinstance(getattr(dist, n), type)]
    for name in sorted(set(names) - left_out):
        for args in some(name, 8):
            judge((name, args), raised(getattr(dist, name), *args))


def test_matrices():
    def operands():
        m = mesh()
        return [
            dist.zeros(2, 3, mesh=m, placements=[Shard(0)]), dist.zeros(0, 0, mesh=m, placements=[Shard(0)]),
            dist.full((4, 4), NAN, mesh=m, placements=[Shard(1)]), dist.full((1, 1), INF, mesh=m),
            dist.zeros(2, 2, dtype=torch.int64, mesh=m), dist.ones(3, mesh=m), 3, None, torch.zeros(2, 2),
        ]  # fmt: skip

    linalg = dist.linalg
    for name in linalg.__all__:
        if isinstance(getattr(linalg, name), type):
            continue
        for trial in range(6):
            chance = random.Random(f"{name} {trial}")
            chosen = [chance.randrange(9) for _ in range(chance.randrange(1, 4))]
            judge((name, chosen), raised(lambda: getattr(linalg, name)(*[operands()[i] for i in chosen])))


def test_small_and_empty_operands():
    """Shapes smaller than the mesh, NaN and inf, through functions of every family."""
    functions = [
        "sum", "mean", "amax", "sort", "cumsum", "exp", "softmax", "topk", "argmax", "flip", "unique", "nonzero",
        "var",
        "logsumexp", "prod", "median", "msort", "diff", "trace", "norm", "matmul", "svdvals", "cdist", "bernoulli",
    ]  # fmt: skip
    arguments = {"cumsum": (0,), "softmax": (0,), "topk": (1, 0), "flip": (0,), "logsumexp": (0,)}

    def program(name, whole, placements):
        x = dist.distribute_tensor(whole, mesh(), placements)
        rest = (x.mT,) if name == "matmul" else (x,) if name == "cdist" else arguments.get(name, ())
        function = torch.linalg.svdvals if name == "svdvals" else getattr(torch, name)
        return function(x, *rest)

    for name in functions:
        for whole in (torch.zeros(0, 2), torch.ones(1, 1), torch.tensor([[NAN, INF]]), torch.zeros(2, 0)):
            for placements in ([Shard(0)], [Shard(1)], [BlockCyclic(0, 2)]):
                judge((name, whole, placements), raised(program, name, whole, placements))


@pytest.mark.parametrize(
    "call",
    [
        lambda r, m: dist.zeros(4 + r, mesh=m, placements=[Shard(0)]).sum().full_tensor(),
        lambda r, m: dist.ones(6, mesh=m, placements=[Shard(0)]).redistribute(m, [[Replicate(), Shard(0)][r % 2]]),
        lambda r, m: dist.world().all_reduce(torch.zeros(2 + r)),
        lambda r, m: dist.world().broadcast(torch.zeros(2, dtype=[torch.float32, torch.int64][r % 2]), 0),
        lambda r, m: dist.world().barrier() if r else dist.world().all_reduce(torch.zeros(2)),
        lambda r, m: dist.zeros(5, mesh=m, placements=[[Shard(0)], [BlockCyclic(0, 1)]][r % 2]).full_tensor(),
        lambda r, m: dist.zeros(2, mesh=m).normal_() if r else dist.world().barrier(),
        lambda r, m: None if r else dist.world().barrier(),
    ],
)  # fmt: skip
def test_calls_that_differ_across_ranks(call):
    error = raised(lambda: call(dist.world().rank, mesh()))
    assert error is None or isinstance(error, DistError), error


def test_indices_and_dims_outside():
    def program(call):
        return call(dist.zeros(2, 3, mesh=mesh(), placements=[Shard(0)]))

    for call in (
        lambda x: x[5], lambda x: x[1 << 62], lambda x: x.sum(7), lambda x: x.reshape(7), lambda x: x.expand(5, 5, 5),
        lambda x: x.permute(0, 0), lambda x: x.index_select(0, torch.tensor([9])), lambda x: x.gather(0, x),
        lambda x: x.view(-1, -1), lambda x: x @ x, lambda x: torch.cat([x, x], 5), lambda x: x.cumsum(9),
        lambda x: x + torch.zeros(2, 3), lambda x: x.narrow(0, 1, 1 << 62), lambda x: x.repeat(1 << 62, 1 << 62),
        lambda x: x.topk(99), lambda x: x.split(-1), lambda x: x.squeeze(8), lambda x: x.unsqueeze(9),
    ):  # fmt: skip
        error = raised(program, call)
        assert error is not None
        judge(call, error)


def test_wrappers_stages_and_optimizers():
    """Classes and functions of fsdp, pipelining, optim and their like, with a module or an optimizer among the rest."""
    from strided.distributed import fsdp, optim, pipelining
    from strided.distributed.algorithms import model_averaging
    from strided.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    nn = torch.nn
    calls = [
        fsdp.FullyShardedDataParallel, fsdp.fully_shard, fsdp.FullyShardedDataParallel.summon_full_params,
        fsdp.FullyShardedDataParallel.set_state_dict_type, fsdp.FullyShardedDataParallel.optim_state_dict,
        pipelining.PipelineStage, pipelining.ScheduleGPipe, pipelining.Schedule1F1B, pipelining.ScheduleLoopedBFS,
        pipelining.ScheduleInterleaved1F1B, pipelining.microbatch.split_args_kwargs_into_chunks,
        pipelining.microbatch.merge_chunks, pipelining.schedules.get_schedule_class, optim.ZeroRedundancyOptimizer,
        optim.PostLocalSGDOptimizer, model_averaging.averagers.PeriodicModelAverager,
        model_averaging.hierarchical_model_averager.HierarchicalModelAverager, powerSGD_hook.PowerSGDState,
    ]  # fmt: skip

    def program(call, args):
        dist.init_process_group()
        net = nn.Sequential(nn.Linear(2, 2))
        special = {
            "net": net, "stage": lambda: pipelining.PipelineStage(net, dist.get_rank(), 3, "cpu"),
            "class": torch.optim.SGD, "optimizer": lambda: torch.optim.SGD(net.parameters(), lr=0.1),
        }  # fmt: skip
        given = [special.get(a, a) if isinstance(a, str) else a for a in args]
        call(*(a() if a in (special["stage"], special["optimizer"]) else a for a in given))

    for call in calls:
        for trial in range(8):
            chance = random.Random(f"{call.__qualname__} {trial}")
            args = [chance.choice(ANYTHING) for _ in range(chance.randrange(4))]
            if chance.random() < 0.7:
                args[:1] = [chance.choice(["net", "stage", "optimizer", "class"])]
            judge((call.__qualname__, args), raised(program, call, args))
