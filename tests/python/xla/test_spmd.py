"""Tensors that are sharded over the devices of a mesh of one process."""

import importlib

import pytest
import strided as torch
from strided.distributed import DeviceMesh, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from xla_calls import metrics, strided_xla, xm

xs, xr = (importlib.import_module(f"strided_xla.{name}") for name in ("distributed.spmd", "runtime"))
pytestmark = pytest.mark.skipif(strided_xla.device_count() < 4, reason="fewer than four XLA devices")


def sharded(x, spec, shape=(4,), ids=(0, 1, 2, 3), names=None):
    return xs.mark_sharding(x.to("xla"), xs.Mesh(ids, shape, names), spec)


SPECS = [
    ((4,), (0, None)),
    ((4,), (None, 0)),
    ((2, 2), (0, 1)),
    ((2, 2), (1, 0)),
    ((2, 2), (1, None)),
    ((2, 2), (None, (1, 0))),
    ((4,), (None, None)),
]


@pytest.mark.parametrize("shape, spec", SPECS)
@pytest.mark.parametrize("ids", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_results_are_those_of_whole_tensors(shape, spec, ids):
    torch.manual_seed(0)
    x, y = torch.rand(8, 12), torch.rand(12, 8)
    a, b = sharded(x, spec, shape, ids), y.to("xla")
    assert torch.equal(a.cpu(), x) and torch.equal(a[2:5, 1::2].cpu(), x[2:5, 1::2])
    pairs = [
        (a * 2 + a, x * 2 + x),
        (a @ b, x @ y),
        (b @ a, y @ x),
        (a.sum(), x.sum()),
        (a.sum(0), x.sum(0)),
        (a.amax(1), x.amax(1)),
        (a.T.softmax(0), x.T.softmax(0)),
        (a.cumsum(1), x.cumsum(1)),
        (a.sort(1).values, x.sort(1).values),
        (a.flip(0)[:, ::3], x.flip(0)[:, ::3]),
        (a[torch.tensor([7, 0]).to("xla")], x[[7, 0]]),
    ]
    for got, want in pairs:
        torch.testing.assert_close(got.cpu(), want)
    torch.testing.assert_close(a.item() if a.numel() == 1 else a[3, 4].item(), x[3, 4].item())


@pytest.mark.parametrize("shape, spec", SPECS[:6])
def test_each_device_has_its_shard(shape, spec):
    x = torch.arange(96).reshape(8, 12)
    shards = xs.XLAShardedTensor(sharded(x, spec, shape)).local_shards
    assert [s.shard_device for s in shards] == [f"XLA:{i}" for i in range(4)]
    for i, s in enumerate(shards):
        place = divmod(i, shape[1]) if len(shape) == 2 else (i,)
        want = x
        for d, entry in enumerate(spec):
            axes = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
            for axis in axes:
                want = want.chunk(shape[axis], d)[place[axis]]
        assert torch.equal(s.data, want), i


def test_a_write_keeps_the_sharding():
    x = torch.arange(16.0).reshape(4, 4)
    a = sharded(x, (0, None))
    a.mul_(2)
    a[1:3, 2] += 1
    x = x * 2
    x[1:3, 2] += 1
    assert torch.equal(xs.XLAShardedTensor(a).local_shards[2].data, x[2:3])
    assert torch.equal(a.cpu(), x) and torch.equal(a.to("xla:1").cpu(), x)
    assert xs.XLAShardedTensor(a).sharding_spec == "{devices=[4,1]0,1,2,3}"
    b = xs.mark_sharding(a, xs.Mesh(range(4), (4,), ("x",)), (None, "x"))
    assert torch.equal(xs.XLAShardedTensor(b).local_shards[3].data, x[:, 3:])
    xs.clear_sharding(a)
    assert xs.XLAShardedTensor(a).sharding_spec == "" and torch.equal((a + 1).cpu(), x + 1)


def test_a_copy_from_the_host_keeps_the_sharding():
    x = torch.arange(16.0).reshape(4, 4)
    a = sharded(torch.zeros(4, 4), (0, None))
    a.copy_(x)
    assert torch.equal(xs.XLAShardedTensor(a).local_shards[1].data, x[1:2]) and torch.equal(a.cpu(), x)
    a[2].copy_(torch.full((4,), 7.0))
    x[2] = 7
    assert torch.equal(xs.XLAShardedTensor(a).local_shards[2].data, x[2:3]) and torch.equal(a.cpu(), x)
    e = sharded(torch.empty(4, 4), (None, 0))
    assert xs.XLAShardedTensor(e).local_shards[3].data.shape == (4, 1)
    e.view(torch.int32).fill_(3)
    assert xs.XLAShardedTensor(e).local_shards[3].data.view(torch.int32).tolist() == [[3]] * 4


def test_a_mesh_of_some_devices():
    x = torch.arange(12.0).reshape(2, 6)
    a = sharded(x, (None, 0), (2,), (1, 0))
    first, second = xs.XLAShardedTensor(a * 1 + a * 0).global_tensor, xs.XLAShardedTensor(a).local_shards
    assert torch.equal(first.cpu(), x) and torch.equal(second[0].data, x[:, 3:]) and len(second) == 2
    assert torch.equal((a + torch.ones(6).to("xla")).cpu(), x + 1)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.bfloat16, torch.float64, torch.complex64])
def test_dtypes(dtype):
    x = torch.arange(8).reshape(4, 2).to(dtype)
    a = sharded(x, (0, None))
    assert torch.equal(xs.XLAShardedTensor(a).local_shards[3].data, x[3:])
    assert torch.equal(a.cpu(), x) and torch.equal((a == a.flip(0)).cpu(), x == x.flip(0))


def train(place):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).to("xla")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, target = torch.rand(16, 6).to("xla"), torch.arange(16).remainder(4).to("xla")
    place(model, x, target)
    losses, counts = [], []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        xm.mark_step()
        losses.append(loss.item())
        counts.append(metrics.counter_value("UncachedCompile"))
    return losses, [p.detach().cpu() for p in model.parameters()], counts


@pytest.mark.parametrize("kind", ["data", "model", "both"])
def test_training_is_that_of_one_device(kind):
    mesh = xs.Mesh(range(4), (2, 2), ("data", "model"))

    def place(model, x, target):
        if kind != "model":
            xs.mark_sharding(x, mesh, ("data", None))
            xs.mark_sharding(target, mesh, ("data",))
        if kind != "data":
            xs.mark_sharding(model[0].weight, mesh, ("model", None))
            xs.mark_sharding(model[2].weight, mesh, (None, "model"))

    losses, parameters, counts = train(place)
    wanted, others, _ = train(lambda *_: None)
    torch.testing.assert_close(losses, wanted)
    for got, want in zip(parameters, others):
        torch.testing.assert_close(got, want)
    assert counts[-1] == counts[-2]


def test_checks_of_indices_are_raised():
    a = sharded(torch.rand(8, 2), (0, None))
    with pytest.raises(IndexError, match="index 8 is out of bounds for dimension 0 with size 8"):
        a[torch.tensor([0, 8]).to("xla")].cpu()


def test_device_mesh_and_placements():
    x = torch.arange(64.0).reshape(8, 8).requires_grad_()
    mesh = init_device_mesh("xla", (2, 2), mesh_dim_names=("a", "b"))
    assert mesh.size() == 4 and mesh.size("b") == 2 and mesh.mesh.tolist() == [[0, 1], [2, 3]]
    for placements, piece in (
        ([Shard(0), Replicate()], x[4:]),
        ([Shard(1), Shard(0)], x[4:, 4:]),
        ([Replicate(), Shard(-1)], x[:, 4:]),
        ([Shard(0), Shard(0)], x[6:]),
    ):
        t = distribute_tensor(x, mesh, placements)
        assert t.device == torch.device("xla:0") and t.requires_grad and t.is_leaf
        assert torch.equal(xs.XLAShardedTensor(t).local_shards[3].data, piece.detach())
        (t @ t).sum().backward()
        grad = torch.autograd.grad((x @ x).sum(), x)[0]
        torch.testing.assert_close(t.grad.cpu(), grad)
    whole = distribute_tensor(x, DeviceMesh("xla", [0, 1, 2, 3]), [Replicate()])
    assert torch.equal(whole.detach().cpu(), x.detach())
    with pytest.raises(NotImplementedError, match="Shard and Replicate"):
        distribute_tensor(x, mesh, [Partial(), Replicate()])
    with pytest.raises(NotImplementedError, match="no communicators"):
        mesh.get_group("a")
    with pytest.raises(ValueError, match="a mesh of 500 XLA devices"):
        init_device_mesh("xla", (500,))


def test_what_cannot_be_sharded():
    mesh = xs.Mesh(range(4), (4,), ("x",))
    with pytest.raises(ValueError, match="axis 0 of size 6 does not divide into 4 equal pieces"):
        xs.mark_sharding(torch.ones(6, 2).to("xla"), mesh, (0, None))
    with pytest.raises(ValueError, match="the tensor has 2 axes, the sharding has 1"):
        xs.mark_sharding(torch.ones(4, 2).to("xla"), mesh, (0,))
    with pytest.raises(ValueError, match="no axis 'y'"):
        xs.mark_sharding(torch.ones(4).to("xla"), mesh, ("y",))
    with pytest.raises(ValueError, match="cuts one axis of a tensor once"):
        xs.mark_sharding(torch.ones(4, 4).to("xla"), mesh, ("x", "x"))
    with pytest.raises(RuntimeError, match="not on xla:0"):
        xs.mark_sharding(torch.ones(4), mesh, ("x",))
    with pytest.raises(RuntimeError, match="not on xla:1"):
        xs.mark_sharding(torch.ones(4).to("xla:1"), mesh, ("x",))
    with pytest.raises(RuntimeError, match="all of its storage"):
        xs.mark_sharding(torch.ones(4, 4).to("xla").T[:2], mesh, (None, "x"))
    with pytest.raises(ValueError, match="do not fill a mesh"):
        xs.Mesh(range(3), (2, 2))
    a = sharded(torch.ones(4), (0,))
    b = xs.mark_sharding(torch.ones(4).to("xla"), xs.Mesh(range(2), (2,)), (0,))
    with pytest.raises(RuntimeError, match="one of 2 in one program|one of 4 in one program"):
        (a + b).cpu()
    del a, b


def test_names_of_torch_xla():
    xr.use_spmd()
    assert xr.is_spmd() and xr.global_runtime_device_count() == strided_xla.device_count()
    with pytest.raises(NotImplementedError, match="mark_sharding"):
        xr.use_spmd(auto=True)
    mesh = xs.get_1d_mesh("data")
    xs.set_global_mesh(mesh)
    assert xs.get_global_mesh() is mesh and mesh.shape() == {"data": strided_xla.device_count()}
    t = torch.ones(strided_xla.device_count()).to("xla")
    xs.ShardingSpec(mesh, ("data",)).apply(t)
    assert len(xs.XLAShardedTensor(t).local_shards) == mesh.size()
