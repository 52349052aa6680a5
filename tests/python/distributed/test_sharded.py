"""Sharded tensors: factories, gradients, what is refused, programs; plans that are made once."""

import itertools
import warnings

import pytest
import strided as torch
from sharded_cases import MESHES, assert_shard, like, on_ranks, slopes_of
from strided.distributed import (
    BlockCyclic,
    Partial,
    Replicate,
    Shard,
    ShardedTensor,
    distribute_tensor,
    init_device_mesh,
    simulate,
    world,
)

dist = torch.distributed


RANKS = [1, 2, 3, 4, 6, 7]


# ---------------------------------------------------------------- making and taking apart


def test_from_local_finds_the_shape_and_checks_it():
    def program(mesh):
        r = mesh.get_local_rank()
        x = ShardedTensor.from_local(torch.full((2 if r < 2 else 1, 3), r), mesh, [Shard(0)])
        with pytest.raises(ValueError, match="from_local: rank . has a shard of shape"):
            ShardedTensor.from_local(torch.zeros(1 + (r == 2)), mesh, [Shard(0)], shape=(4,))
        y = ShardedTensor.from_local(torch.tensor([r]), mesh, [Replicate()], run_check=True)
        return x.shape, x.full_tensor()[:, 0].tolist(), y.to_local().item()

    assert on_ranks(3, program) == [((5, 3), [0, 0, 1, 1, 2], 0)] * 3


def test_gradients_flow_to_local_and_from_local():
    def program(mesh):
        local = torch.full((2,), mesh.get_local_rank() + 1.0, requires_grad=True)
        x = ShardedTensor.from_local(local * 1, mesh, [Shard(0)])
        (x * x).sum().backward()
        y = dist.ones(3, mesh=mesh, placements=[Shard(0)], requires_grad=True)
        y.to_local().mul(3).sum().backward()
        y.sum().backward()
        return local.grad.tolist(), y.grad.to_local().tolist(), y.grad.placements

    assert on_ranks(2, program) == [
        ([2.0, 2.0], [4.0, 4.0], (Shard(0),)), ([4.0, 4.0], [4.0], (Shard(0),)),
    ]  # fmt: skip


@pytest.mark.parametrize("draw", ["rand", "randn"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_random_numbers_do_not_depend_on_ranks_and_placements(draw, dtype):
    def program(shape):
        torch.manual_seed(5)
        mesh = init_device_mesh("cpu", shape)
        make = getattr(dist, draw)
        cut = [Shard(0), BlockCyclic(1, 2)][: mesh.ndim]
        return make(7, 6, dtype=dtype, mesh=mesh, placements=cut).full_tensor(), make(3, mesh=mesh).full_tensor()

    first = simulate(1, program, (1,))[0]
    for n in RANKS:
        for shape in MESHES[n]:
            for a, b in zip(simulate(n, program, shape)[0], first):
                assert torch.equal(a, b)
    assert not torch.equal(first[0][0, :3], first[1])


def test_random_numbers_are_spread_as_they_should():
    def program():
        x, y = (make(40000, dtype=torch.float64) for make in (dist.rand, dist.randn))
        return x.full_tensor(), y.full_tensor()

    x, y = simulate(1, program)[0]
    assert abs(x.mean() - 0.5) < 0.006 and 0 <= x.min() < 0.001 and 0.999 < x.max() < 1
    counts = torch.histc(x, 10, 0.0, 1.0)
    assert ((counts - 4000).abs() < 250).all()
    assert abs(y.mean()) < 0.02 and abs(y.std() - 1) < 0.02 and abs((y**4).mean() - 3) < 0.2
    assert abs((x[:-1] * x[1:]).mean() - 0.25) < 0.006


def test_words_of_philox_are_those_of_its_paper():
    from strided.distributed._philox import philox

    # The first test vector of the authors' implementation: counter and key 0.
    assert [int(w) for w in philox(torch.tensor([0]), 0)] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_factories():
    def program(mesh):
        z = dist.zeros(5, 2, mesh=mesh, placements=[Shard(0)], dtype=torch.int8)
        o = dist.ones((4,), mesh=mesh, placements=[BlockCyclic(0, 1)], requires_grad=True)
        f = dist.full((2, 2), 7.5, mesh=mesh)
        e = dist.empty(3, mesh=mesh, placements=[Shard(0)])
        with pytest.raises(ValueError, match="cut or replicated"):
            dist.zeros(3, mesh=mesh, placements=[Partial()])
        assert (
            z.dtype is torch.int8
            and o.requires_grad
            and f.full_tensor().tolist() == [[7.5] * 2] * 2
            and e.shape == (3,)
        )
        assert torch.zeros_like(o).placements == o.placements and (torch.ones_like(z) == 1).all()
        return z.to_local().shape

    assert on_ranks(3, program) == [(2, 2), (2, 2), (1, 2)]


def test_the_tensor_of_rank_0_is_distributed():
    def program(mesh):
        return distribute_tensor(torch.full((3,), float(world().rank)), mesh, [Shard(0)]).full_tensor().tolist()

    assert on_ranks(3, program) == [[0.0] * 3] * 3


# ---------------------------------------------------------------- as a tensor


def test_it_answers_as_a_tensor():
    def program(mesh):
        x = dist.ones(4, 3, mesh=mesh, placements=[Shard(0)], dtype=torch.float64)
        assert isinstance(x, torch.Tensor) and x.shape == (4, 3) and x.size(1) == 3 and x.ndim == x.dim() == 2
        assert x.numel() == 12 and x.stride() == (3, 1) and x.nbytes == 96 and len(x) == 4
        assert x.is_floating_point() and x.dtype is torch.float64 and x.device == torch.device("cpu")
        assert x.sum().item() == 12.0 and float(x.mean()) == 1.0 and bool((x == 1).all()) and f"{x.sum():.1f}" == "12.0"
        assert x.T.shape == (3, 4) and x.T.placements == (Shard(1),) and x.mT.shape == (3, 4)
        assert torch.equal(x, x.clone()) and torch.allclose(x, x * (1 + 1e-12)) and "Shard(dim=0)" in repr(x)
        assert [row.full_tensor().tolist() for row in x] == [[1.0] * 3] * 4
        x[1:3, 0] = 5
        x[0] = distribute_tensor(torch.arange(3.0, dtype=torch.float64), mesh, [Shard(0)])
        x += 1
        return x.full_tensor().tolist(), torch.float32 is x.float().dtype

    for value, single in on_ranks(3, program):
        assert value == [[1.0, 2.0, 3.0], [6.0, 2.0, 2.0], [6.0, 2.0, 2.0], [2.0, 2.0, 2.0]] and single


def test_what_cannot_be_is_refused():
    def program(mesh):
        x = dist.ones(4, 4, mesh=mesh, placements=[Shard(0)])
        with pytest.raises(NotImplementedError, match=r"eig of sharded tensors .*Shard\(dim=0\)"):
            torch.linalg.eig(x)
        with pytest.raises(RuntimeError, match="a plain one of shape"):
            x + torch.ones(4)
        with dist.tensor.implicit_replication():
            assert ((x + torch.arange(4)).full_tensor() == torch.arange(4) + 1).all()
        with pytest.raises(NotImplementedError, match="to_local"):
            x.numpy()
        with pytest.raises(RuntimeError, match="4 elements|16 elements"):
            x.item()
        with pytest.raises(RuntimeError, match="two meshes"):
            x + dist.ones(4, 4, mesh=init_device_mesh("cpu", (1, mesh.size())))
        with pytest.raises(NotImplementedError, match="out="):
            torch.add(x, x, out=torch.empty(4, 4))
        with pytest.raises(IndexError, match="2 axes"):
            x.redistribute(placements=[Shard(2)])
        with pytest.raises(ValueError, match="one for each"):
            x.redistribute(placements=[Shard(0), Shard(1)])
        with pytest.raises(TypeError, match="placements are"):
            x.redistribute(placements=["Shard"])
        with pytest.raises(RuntimeError, match="scalar outputs"):
            x.requires_grad_().exp().backward()

    on_ranks(2, program)


def test_ranks_that_differ_are_told():
    def program(mesh):
        n = 4 + mesh.get_local_rank()
        x = dist.zeros(n, mesh=mesh, placements=[Shard(0)])
        with pytest.raises(dist.MismatchError, match=r"redistribute: \(4,\) .*on rank 0; .*\(5,\) .* on rank 1"):
            x.full_tensor()
        y = dist.zeros(4, mesh=mesh, placements=[Shard(0)])
        with pytest.raises(dist.MismatchError, match="redistribute"):
            y.redistribute(placements=[Replicate() if mesh.get_local_rank() else BlockCyclic(0, 1)])

    on_ranks(2, program)


def test_a_large_gather_warns():
    def program(mesh):
        x = dist.zeros(100, mesh=mesh, placements=[Shard(0)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x.full_tensor()
        dist.set_gather_limit(100)
        with pytest.warns(UserWarning, match=r"gathers 400 bytes on every rank .* the limit is 100"):
            x.full_tensor()
        dist.set_gather_limit(None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x.full_tensor()

    on_ranks(3, program)


def test_what_moves_is_explained():
    def program(mesh):
        x = dist.ones(6, 4, dtype=torch.float64, mesh=mesh, placements=[Shard(0)], requires_grad=True)
        w = dist.ones(4, 4, dtype=torch.float64, mesh=mesh, requires_grad=True)
        nothing = dist.explain(lambda: x * 2 + 1)()
        both = dist.explain(lambda: (x @ w).exp().sum().backward())()
        gathered = dist.explain(lambda x: x.full_tensor())(x)
        assert str(nothing) == "nothing is moved" and nothing.result.shape == (6, 4)
        assert torch.equal(gathered.result, torch.ones(6, 4, dtype=torch.float64))
        (one,) = gathered.transfers
        assert one.function == "redistribute" and one.received == gathered.received == 128 and one.call == "all_to_all"
        return [(t.function, t.call, t.what, t.received) for t in both.transfers], str(gathered).splitlines()[-1]

    moved, total = on_ranks(3, program)[1]
    assert moved == [("backward", "all_reduce", "gradient of what every rank has", 256)]
    assert total.split() == ["total", "128", "128"]


# ---------------------------------------------------------------- programs


def test_a_network_learns_the_same_for_any_number_of_ranks():
    torch.manual_seed(1)
    inputs, targets = torch.rand(12, 5, dtype=torch.float64), torch.rand(12, 2, dtype=torch.float64)
    first, second = torch.rand(5, 8, dtype=torch.float64) - 0.5, torch.rand(8, 2, dtype=torch.float64) - 0.5

    def steps(x, y, a, b):
        for _ in range(3):
            loss = ((torch.tanh(x @ a) @ b - y) ** 2).mean()
            da, db = torch.autograd.grad(loss, [a, b])
            a, b = (a - 0.1 * da).detach().requires_grad_(), (b - 0.1 * db).detach().requires_grad_()
        return loss, a, b

    expected = steps(inputs, targets, first.clone().requires_grad_(), second.clone().requires_grad_())
    plans = {
        "rows": (Shard(0), Shard(0), Replicate(), Replicate()),
        "weights": (Replicate(), Replicate(), Shard(1), Shard(0)),
        "all": (Shard(1), Shard(0), Shard(0), Shard(1)),
    }
    for n, plan in itertools.product((2, 3), plans):

        def program(mesh, plan=plan):
            given = [distribute_tensor(t, mesh, [p]) for t, p in zip((inputs, targets, first, second), plans[plan])]
            found = steps(*given[:2], given[2].requires_grad_(), given[3].requires_grad_())
            return [t.full_tensor() for t in found]

        for found in on_ranks(n, program):
            for a, b in zip(found, expected):
                assert torch.allclose(a, b, rtol=1e-12), plan


# ---------------------------------------------------------------- arguments that a plain tensor refuses


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.split(0),
        lambda x: x.split(-1),
        lambda x: x.split([-1, 4]),
        lambda x: x.chunk(0),
        lambda x: x.chunk(-1),
        lambda x: x.tensor_split(0),
        lambda x: x.repeat(-1, 2),
        lambda x: x.repeat(2),
        lambda x: x.tile(-1),
        lambda x: x.diagonal(0, 0, 0),
    ],
    ids=["split-0", "split-neg", "split-list", "chunk-0", "chunk-neg", "tensor_split", "repeat-neg", "repeat-few",
         "tile", "diagonal"],
)  # fmt: skip
def test_what_a_plain_tensor_refuses_a_sharded_one_refuses(call):
    def program(mesh):
        x = torch.arange(12.0).reshape(3, 4)
        for y in (x, distribute_tensor(x, mesh, [Shard(0)])):
            with pytest.raises(RuntimeError) as caught:
                call(y)
            assert caught.type is RuntimeError

    on_ranks(2, program)


@pytest.mark.parametrize("placement", [Shard(0), Shard(1), Replicate(), Partial()], ids=str)
def test_embedding_takes_a_sharded_weight(placement):
    def program(mesh):
        plain, index = torch.arange(12.0).reshape(3, 4), torch.tensor([[1, 2], [0, 2]])
        weight = distribute_tensor(plain, mesh, [placement]).requires_grad_()
        expected = torch.nn.functional.embedding(index, plain)
        for given in (index, distribute_tensor(index, mesh, [Shard(0)])):
            assert torch.equal(torch.nn.functional.embedding(given, weight).detach().full_tensor(), expected)
            assert torch.equal(torch.embedding(weight, given).detach().full_tensor(), expected)
        torch.nn.functional.embedding(index, weight).sum().backward()
        assert weight.grad.full_tensor().tolist() == [[1.0] * 4, [1.0] * 4, [2.0] * 4]

    on_ranks(2, program)


def test_from_local_compares_the_shards_of_all_ranks():
    def program(mesh):
        with pytest.raises(ValueError, match="rank . has a shard of shape"):  # replicas that differ
            ShardedTensor.from_local(torch.zeros(2 + mesh.get_rank()), mesh, [Replicate()])
        with pytest.raises(ValueError, match="number of axes"):
            ShardedTensor.from_local(torch.zeros([2] * (1 + mesh.get_rank())), mesh, [Shard(0)])
        with pytest.raises(ValueError, match="differ in dtype"):
            ShardedTensor.from_local(
                torch.zeros(2, dtype=[torch.int32, torch.float32][mesh.get_rank()]), mesh, [Shard(0)]
            )
        with pytest.raises(ValueError, match="0 or more"):
            ShardedTensor.from_local(torch.zeros(0), mesh, [Shard(0)], shape=(-4,))

    on_ranks(2, program)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_functions_made_of_others(n):
    """What the table of gradients has no case for: sizes, in-place forms, errors."""

    def program(mesh):
        plain = torch.arange(12.0).view(4, 3) % 5
        with dist.tensor.implicit_replication():
            for p in ([Shard(0)], [Shard(1)], [BlockCyclic(0, 1)], [Replicate()]):
                x = distribute_tensor(plain, mesh, p)
                for size in (0, 4, 20):
                    assert torch.equal(
                        torch.nonzero_static(x, size=size, fill_value=7).full_tensor(),
                        torch.nonzero_static(plain, size=size, fill_value=7),
                    )
                index, more = torch.tensor([[3, 0], [-1, 3]]), torch.tensor([1, -2])
                values = torch.arange(4.0).view(2, 2) + 20
                for key, v in (
                    ((index, more), values),
                    ((None, more), values[:, :1].repeat(2, 2)),
                    ((index,), plain[:2, None]),
                ):
                    for adds in (False, True):
                        if key == (index,) and not adds:
                            continue  # a place is named twice
                        given = torch.zeros(2, 2, 3) + v if key == (index,) else v
                        a, b = plain.clone(), distribute_tensor(plain, mesh, p)
                        a.index_put_(key, given, accumulate=adds)
                        assert b.index_put_(key, given, accumulate=adds) is b and b.placements == tuple(p)
                        assert torch.equal(b.full_tensor(), a), (p, key, adds)
                a, b = plain.clone(), distribute_tensor(plain, mesh, p)
                assert torch.equal(b.put_(index, values, accumulate=True).full_tensor(), a.put_(index, values, True))
                for offset in (-2, 0, 1):
                    v = torch.ones(plain.diagonal(offset).shape)
                    assert torch.equal(x.diagonal_scatter(v, offset).full_tensor(), plain.diagonal_scatter(v, offset))
                square = (plain @ plain.mT / 4).double()
                torch.testing.assert_close(
                    torch.matrix_exp(distribute_tensor(square, mesh, p)).full_tensor(), torch.matrix_exp(square)
                )
                torch.testing.assert_close(
                    torch.linalg.pinv(distribute_tensor(square, mesh, p), rtol=1e-4).full_tensor(),
                    torch.linalg.pinv(square, rtol=1e-4),
                )  # fmt: skip
                with pytest.raises(RuntimeError, match="size of the diagonal"):
                    x.diagonal_scatter(torch.ones(2))
                with pytest.raises(RuntimeError, match="values for 4 places"):
                    x.put(index, values[0])
                with pytest.raises(IndexError):
                    x.index_put((torch.tensor([4]),), values[:1, :1])

    on_ranks(n, program)


def test_how_operands_come_together_is_found_once():
    def program(mesh):
        x = dist.ones(4, 3, mesh=mesh, placements=[Shard(0)]).requires_grad_()
        y = dist.ones(4, 1, mesh=mesh, placements=[Shard(1)])
        w = dist.ones(3, 3, mesh=mesh, placements=[Shard(1)]).requires_grad_()
        found = []
        for _ in range(3):
            made = torch.add(x, y, alpha=2) @ w
            made.sum().backward()
            found.append((made._spec, len(mesh._plans), w.grad.full_tensor().tolist()))
            w.grad = x.grad = None
        assert found[0] == found[1] == found[2] and found[0][0] is found[2][0]
        assert found[0][2] == [[12.0] * 3] * 3
        other = dist.ones(4, 3, mesh=init_device_mesh("cpu", (1, mesh.size())))
        with pytest.raises(RuntimeError, match="two meshes"):
            torch.where(other > 0, x, y)
        for k in range(2100):  # layouts that come and go are not kept for ever
            mesh._plans[k] = None
        new = dist.ones(3, mesh=mesh, placements=[Shard(0)])
        assert (x * new).to_local().sum() == x.to_local().numel() and len(mesh._plans) == 1

    on_ranks(2, program)


def test_calls_whose_operands_are_known_are_those_of_the_first_time():
    """The second call with the same layouts takes a shorter way: values, placements and gradients do not change."""
    torch.manual_seed(0)
    a, b, row, one = (torch.rand(s, dtype=torch.float64) + 0.5 for s in ((4, 3), (4, 3), (3,), ()))
    calls = {
        "add": lambda a, b, row, one: a + b, "addcmul": lambda a, b, row, one: torch.addcmul(a, a, b),
        "row": lambda a, b, row, one: a * row, "row first": lambda a, b, row, one: row / a,
        "number": lambda a, b, row, one: 2 / a, "where": lambda a, b, row, one: torch.where(a > b, a, row),
        "0-d": lambda a, b, row, one: (a * one) + one * b, "lerp": lambda a, b, row, one: torch.lerp(a, row, one),
        "clamp": lambda a, b, row, one: a.clamp(0.7, 0.9), "modf": lambda a, b, row, one: sum(torch.frexp(a)[:1]),
        "clamp max": lambda a, b, row, one: a.clamp(max=0.9),
        "alpha": lambda a, b, row, one: torch.add(a, b, alpha=2),
        "named": lambda a, b, row, one: torch.mul(a, other=row), "clone": lambda a, b, row, one: a.clone(),
        "pow": lambda a, b, row, one: 2**a - a // 0.3,
        "in place": lambda a, b, row, one: (a * 1).mul_(b).add_(a, alpha=3),
        "in place row": lambda a, b, row, one: (a * 1).mul_(row), "sum": lambda a, b, row, one: a.sum() * 2 + b.sum(),
        "sums": lambda a, b, row, one: -a.sum(0) / 3 + b.sum((0,)),
        "sum of a sum": lambda a, b, row, one: a.sum(1).sum(0),
        "mean keepdim": lambda a, b, row, one: a - a.mean(0, True),
        "mean": lambda a, b, row, one: a.mean() + b.mean(dim=1), "amax": lambda a, b, row, one: a.amax(1) - a.amax(),
        "var": lambda a, b, row, one: a.var(1) + a.max(1).values,
        "sums squared": lambda a, b, row, one: a.sum(0) ** 2, "norm": lambda a, b, row, one: a.norm(dim=1),
    }  # fmt: skip

    def program(mesh):
        for name, call in calls.items():
            exact = not name.startswith(("sum", "mean", "var", "norm"))  # sums of a rank are added up in another order
            plain = [t.clone().requires_grad_() for t in (a, b, row, one)]
            expected = call(*plain)
            slopes = slopes_of([expected], plain)
            for p in (Shard(0), Shard(1), BlockCyclic(0, 1), Replicate(), Partial()):
                choices = (Replicate(), Shard(0), p if p != Shard(1) else Replicate())
                for q in choices[: 3 if slopes[2] is not None else 1]:
                    if p.is_partial() and name.startswith("in place"):
                        continue  # has no rule
                    given = [distribute_tensor(t, mesh, [w]) for t, w in ((a, p), (b, p), (row, q))]
                    given = [t.requires_grad_() for t in (*given, one.clone())]
                    placements = set()
                    for _ in range(2):
                        found = call(*given)
                        placements.add(found.placements)
                        assert_shard(found, expected, (name, p, q), exact and not any(w.is_partial() for w in (p, q)))
                        for got, want in zip(slopes_of([found], given, like)[:3], slopes, strict=False):
                            assert (got is None) == (want is None), (name, p, q)
                            if got is not None:
                                assert_shard(got, want, (name, p, q))
                    assert len(placements) == 1, (name, p, q)

    on_ranks(2, program)
