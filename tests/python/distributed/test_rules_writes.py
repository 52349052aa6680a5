"""Writes into sharded tensors: into sums of terms there are none, and inplace=True writes."""

import pytest
import strided as torch
import strided.distributed as dist
from strided.distributed import Partial, Replicate, Shard, distribute_tensor, init_device_mesh, simulate

F = torch.nn.functional
BASE = torch.arange(12.0).reshape(4, 3) - 5

WRITES = {
    "add_": lambda x, m: x.add_(1), "mul_": lambda x, m: x.mul_(2), "zero_": lambda x, m: x.zero_(),
    "fill_": lambda x, m: x.fill_(3), "copy_": lambda x, m: x.copy_(x * 2), "lerp_": lambda x, m: x.lerp_(x, 0.5),
    "setitem": lambda x, m: x.__setitem__(0, 1.0), "setitem mask": lambda x, m: x.__setitem__(x > 3, 1.0),
    "setitem index": lambda x, m: x.__setitem__(torch.tensor([1]), 1.0), "view": lambda x, m: x.view(12).mul_(2),
    "masked_fill_": lambda x, m: x.masked_fill_(x > 2, 0.0), "tril_": lambda x, m: x.tril_(),
    "index_fill_": lambda x, m: x.index_fill_(0, torch.tensor([1]), 5.0),
    "index_add_": lambda x, m: x.index_add_(0, torch.tensor([1]), dist.ones(1, 3, mesh=m)),
    "scatter_": lambda x, m: x.scatter_(0, torch.tensor([[0, 0, 0]]), 5.0),
    "index_put_": lambda x, m: x.index_put_((torch.tensor([1]),), torch.tensor(5.0)),
    "masked_scatter_": lambda x, m: x.masked_scatter_(x > 3, dist.ones(12, mesh=m)),
    "addmm_": lambda x, m: x.addmm_(x, dist.ones(3, 3, mesh=m)), "normal_": lambda x, m: x.normal_(),
    "out": lambda x, m: torch.add(x, 1, out=x), "out cat": lambda x, m: torch.cat([x], out=x),
    "out sort": lambda x, m: torch.sort(x, out=(x, x)), "set_": lambda x, m: x.set_(BASE),
    "resize_": lambda x, m: x.resize_(2, 2), "cumsum_": lambda x, m: x.cumsum_(0), "put_": lambda x, m: x.put_(
        torch.tensor([1]), torch.tensor([5.0])), "foreach": lambda x, m: torch._foreach_add_([x], 1),
    "init": lambda x, m: torch.nn.init.zeros_(x),
    "dropout": lambda x, m: F.dropout(x, 0.5, inplace=True),
}  # fmt: skip
INPLACE = [
    "celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu", "relu6", "rrelu", "selu",
    "silu", "threshold",
]  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_sums_of_terms_are_not_written_into(name):
    def program():
        m = init_device_mesh("cpu", (2,))
        x = distribute_tensor(BASE.clone(), m, [Partial()])
        with pytest.raises(NotImplementedError):
            WRITES[name](x, m)
        assert torch.equal(x.full_tensor(), BASE)

    simulate(2, program)


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_writes_or_raises(name):
    arguments = (0.5, 0.0) if name == "threshold" else ()
    wanted = getattr(F, name)(BASE.clone(), *arguments)

    def program():
        m = init_device_mesh("cpu", (2,))
        x = distribute_tensor(BASE.clone(), m, [Shard(0)])
        assert getattr(F, name)(x, *arguments, inplace=True) is x
        assert torch.allclose(x.full_tensor(), wanted)
        terms = distribute_tensor(BASE.clone(), m, [Partial()])
        with pytest.raises(NotImplementedError, match="a sum of terms cannot be written into"):
            getattr(F, name)(terms, *arguments, inplace=True)

    simulate(2, program)


THROUGH_PARTS = {
    "x[1:3].zero_()": lambda x: x[1:3].zero_(), "x[:, 1:].add_(1)": lambda x: x[:, 1:].add_(1),
    "x[::2].mul_(2)": lambda x: x[::2].mul_(2), "narrow": lambda x: x.narrow(0, 1, 2).fill_(7),
    "diagonal": lambda x: x.diagonal().fill_(0), "offset": lambda x: x.diagonal(1).add_(5),
    "split": lambda x: x.split(3)[1].sub_(1), "chunk": lambda x: x.chunk(2, 1)[0].zero_(),
    "part of a part": lambda x: x[1:4][1:].mul_(3), "masked_fill_": lambda x: x[1:].masked_fill_(x[1:] > 2, 0.0),
    "copy_": lambda x: x[2:].copy_(x[:2] * 1), "setitem": lambda x: x[1:].__setitem__((slice(1), 0), 9.0),
    "out": lambda x: torch.add(x[:2], 1, out=x[2:]),
    "view of a part": lambda x: x[1:3].view(-1).zero_(), "rows of a view": lambda x: x.view(-1)[2:7].fill_(4),
    "view": lambda x: x.view(-1).mul_(2), "T": lambda x: x[1:3].T.zero_(), "mT": lambda x: x[1:].mT.add_(1),
    "permute": lambda x: x[:2].permute(1, 0)[1:].fill_(3),
    "unsqueeze": lambda x: x[1:].unsqueeze(0).zero_(), "squeeze": lambda x: x[1:2].squeeze(0).fill_(6),
    "axes of one": lambda x: x[1:3].view(1, -1, 1).neg_(), "data": lambda x: x[1:3].data.zero_(),
    "+=": lambda x: x.__setitem__(slice(1, 3), x[1:3].__iadd__(1)), "whole row": lambda x: x[:, 1].neg_(),
}  # fmt: skip


@pytest.mark.parametrize("name", THROUGH_PARTS)
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("dim", [0, 1])
def test_writes_into_parts_reach_the_whole(name, ranks, dim):
    wanted = BASE.clone()
    THROUGH_PARTS[name](wanted)

    def program():
        x = distribute_tensor(BASE.clone(), init_device_mesh("cpu", (ranks,)), [Shard(dim)])
        try:
            THROUGH_PARTS[name](x)
        except NotImplementedError:  # what takes one of a cut axis is a sum of terms
            assert name in ("whole row", "diagonal", "offset") and dim == 1
            return
        assert torch.equal(x.full_tensor(), wanted)

    simulate(ranks, program)


def test_copies_of_parts_are_not_written_back():
    def program():
        x = distribute_tensor(BASE.clone(), init_device_mesh("cpu", (2,)), [Shard(0)])
        x.narrow_copy(0, 1, 2).zero_()
        (x[1:3] + 0).zero_()
        x.T.reshape(-1).zero_()
        assert torch.equal(x.full_tensor(), BASE)

    simulate(2, program)


OUT = {
    "add": lambda x, y, out: torch.add(x, y, alpha=2, out=out(x.shape)),
    "a sum": lambda x, y, out: torch.sum(x, 0, out=out(x.shape[1:])),
    "max": lambda x, y, out: torch.max(x, 0, out=(out(x.shape[1:]), out(x.shape[1:], torch.int64))),
    "matmul": lambda x, y, out: torch.matmul(x, y.T, out=out((len(x), len(x)))),
    "cat": lambda x, y, out: torch.cat([x, y], out=out((2 * len(x), x.shape[1]))),
    "of float64": lambda x, y, out: torch.mul(x, y, out=out(x.shape, torch.float64)),
}


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("placement", [Shard(0), Replicate()])
def test_out_has_the_result_in_its_own_placement(name, placement):
    wanted = OUT[name](BASE, BASE + 1, lambda shape, dtype=torch.float32: torch.zeros(shape, dtype=dtype))

    def program():
        m, made = init_device_mesh("cpu", (3,)), []

        def out(shape, dtype=torch.float32):
            made.append(distribute_tensor(torch.zeros(shape, dtype=dtype), m, [placement]))
            return made[-1]

        x = distribute_tensor(BASE.clone(), m, [Shard(1)])
        result = OUT[name](x, x + 1, out)
        assert all(a is b for a, b in zip(result if len(made) > 1 else (result,), made))
        for t, w in zip(made, wanted if len(made) > 1 else (wanted,)):
            assert t.placements == (placement,) and t.dtype == w.dtype
            torch.testing.assert_close(t.full_tensor(), w)

    simulate(3, program)


def test_out_that_does_not_fit():
    def program():
        m = init_device_mesh("cpu", (2,))
        x = distribute_tensor(BASE.clone(), m, [Shard(0)])
        cases = [
            (BASE.clone(), NotImplementedError, "must be a sharded tensor too"),
            (distribute_tensor(torch.zeros(2), m, [Shard(0)]), NotImplementedError, "out= has shape"),
            ((x, x), TypeError, "one tensor for each result"),
            (dist.zeros(4, 3, mesh=m, placements=[Shard(0)], dtype=torch.int64), RuntimeError, "be cast"),
            (
                distribute_tensor(BASE.clone().requires_grad_(), m, [Shard(0)]),
                RuntimeError,
                "automatic differentiation",
            ),
        ]
        for out, error, text in cases:
            with pytest.raises(error, match=text):
                torch.add(x, 1, out=out)
        assert torch.equal(x.full_tensor(), BASE)

    simulate(2, program)
