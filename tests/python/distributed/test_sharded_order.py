"""Sharded tensors: sorted lines, unique elements."""

import pytest
import strided as torch
from sharded_cases import on_ranks
from strided.distributed import (
    BlockCyclic,
    Replicate,
    Shard,
    distribute_tensor,
)

RANKS = [1, 2, 3, 4, 6, 7]


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("descending", [False, True])
def test_a_line_is_sorted_where_it_lies(n, descending):
    torch.manual_seed(n)
    nan = float("nan")
    lines = [
        torch.rand(50), torch.randint(0, 4, (40,)), torch.zeros(23), torch.tensor([3.0, nan, -0.0, 0.0, -nan, -1.0]),
        torch.tensor([2.0]), torch.randint(0, 255, (9,)).to(torch.uint8), torch.rand(30).to(torch.bfloat16),
        torch.empty(0), torch.rand(12) > 0.5,
    ]  # fmt: skip

    def program(mesh):
        for line in lines:
            for placement in (Shard(0), BlockCyclic(0, 2)):
                x = distribute_tensor(line, mesh, [placement])
                if x.dtype is torch.float32:
                    x.requires_grad_()
                before = mesh.comm.traffic.received
                values, indices = torch.sort(x, descending=descending, stable=True)
                expected = torch.sort(line, descending=descending, stable=True)
                assert values.placements == (placement,)
                assert torch.equal(indices.full_tensor(), expected.indices), (line, indices.full_tensor())
                assert str(values.detach().full_tensor()) == str(expected.values)
                weights = torch.arange(float(len(line)))
                if x.requires_grad:
                    slope = torch.autograd.grad((values.full_tensor() * weights).sum(), x)[0].full_tensor()
                    assert torch.equal(slope[expected.indices], weights)
                assert before is not None

    on_ranks(n, program)


@pytest.mark.parametrize("n", RANKS)
def test_unique_elements(n):
    torch.manual_seed(n)
    nan = float("nan")
    lines = [
        torch.randint(0, 9, (40,)), torch.zeros(17), torch.tensor([3.0, 0.0, nan, -0.0, 3.0, nan]), torch.tensor([2]),
        torch.randint(0, 3, (4, 5)), torch.rand(11), torch.empty(0),
    ]  # fmt: skip

    def program(mesh):
        for line in lines:
            for placement in (Shard(0), BlockCyclic(0, 1), Replicate()):
                x = distribute_tensor(line, mesh, [placement])
                found = torch.unique(x, return_inverse=True, return_counts=True)
                for a, b in zip(found, torch.unique(line, return_inverse=True, return_counts=True)):
                    assert str(a.full_tensor()) == str(b), (line, placement)
                assert str(torch.unique(x).full_tensor()) == str(torch.unique(line))

    on_ranks(n, program)


def test_cases_of_no_elements_and_ties():
    """Fewer rows than ranks; the first of equals; NaN wins."""
    nan = float("nan")
    x = torch.tensor([[1.0, 5.0, 5.0, nan], [1.0, 7.0, 2.0, 0.0], [1.0, 7.0, 5.0, nan]])

    def program(mesh):
        for placement in (Shard(0), Shard(1), BlockCyclic(0, 1), BlockCyclic(1, 1)):
            s = distribute_tensor(x, mesh, [placement])
            for name in ("max", "min"):
                for dim in (0, 1):
                    a, b = getattr(s, name)(dim), getattr(x, name)(dim)
                    assert torch.equal(a.indices.full_tensor(), b.indices), (placement, name, dim)
                assert torch.equal(getattr(s, f"arg{name}")().full_tensor(), getattr(x, f"arg{name}")()), placement
            clean, plain = torch.nan_to_num(s), torch.nan_to_num(x)
            a, b = clean.topk(2, 0), plain.topk(2, 0)
            assert torch.equal(a.values.full_tensor(), b.values)
            c = clean.detach().requires_grad_()
            p = plain.clone().requires_grad_()
            c.amax(0).sum().backward()
            p.amax(0).sum().backward()
            assert torch.equal(c.grad.full_tensor(), p.grad), placement

    for n in (2, 5, 7):
        on_ranks(n, program)
