"""Calls that gradients go through: results are those of the plain calls, gradients those of the sum of all losses."""

import pytest
import strided
from strided import distributed as dist
from strided.distributed import ReduceOp
from strided.distributed.nn import functional as F

RANKS = [1, 2, 3, 4, 6, 7]
A = strided.arange(1.0, 7, dtype=strided.float64).reshape(2, 3) / 7


def weight(rank, k=0):
    """What a rank weighs the k-th result with."""
    return (strided.arange(6, dtype=strided.float64).reshape(2, 3) + rank + 3 * k + 1) / 5


def given(rank):
    return A * (rank + 1)


def many(n, rank):
    return [A * (rank + 1) + r for r in range(n)]


# name: (the call on one rank, of the tensors it brings; the same on the tensors of all ranks at once)
# The latter takes xs[rank][k] and gives [results of each rank].
def total(parts):
    return sum(parts[1:], parts[0])


CASES = {
    "all_reduce": (lambda n, rank, xs: [F.all_reduce(xs[0])],
                   lambda n, xs: [[total([x[0] for x in xs])]] * n, given),
    "mean": (lambda n, rank, xs: [F.all_reduce(xs[0], ReduceOp.AVG)],
             lambda n, xs: [[total([x[0] for x in xs]) / n]] * n, given),
    "broadcast": (lambda n, rank, xs: [F.broadcast(xs[0], n - 1)],
                  lambda n, xs: [[xs[n - 1][0]]] * n, given),
    "reduce": (lambda n, rank, xs: [F.reduce(xs[0], n - 1)],
               lambda n, xs: [[total([x[0] for x in xs]) * (r == n - 1)] for r in range(n)], given),
    "all_gather": (lambda n, rank, xs: F.all_gather(xs[0]),
                   lambda n, xs: [[x[0] for x in xs]] * n, given),
    "gather": (lambda n, rank, xs: F.gather(xs[0], n - 1),
               lambda n, xs: [[x[0] * (r == n - 1) for x in xs] for r in range(n)], given),
    "scatter": (lambda n, rank, xs: [F.scatter(xs, n - 1)],
                lambda n, xs: [[xs[n - 1][r]] for r in range(n)], None),
    "reduce_scatter": (lambda n, rank, xs: [F.reduce_scatter(strided.empty(2, 3), xs)],
                       lambda n, xs: [[total([x[r] for x in xs])] for r in range(n)], None),
    "all_to_all": (lambda n, rank, xs: F.all_to_all([strided.empty(2, 3)] * n, xs),
                   lambda n, xs: [[x[r] for x in xs] for r in range(n)], None),
    "all_to_all_single": (lambda n, rank, xs: F.all_to_all_single(strided.empty(2 * n, 3), strided.cat(xs)).split(2),
                          lambda n, xs: [[x[r] for x in xs] for r in range(n)], None),
}  # fmt: skip


def tensors(n, rank, one):
    found = [one(rank)] if one else many(n, rank)
    return [t.clone().requires_grad_() for t in found]


def loss(rank, results):
    return total([(result.sin() * weight(rank, k)).sum() for k, result in enumerate(results)])


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients(name, n):
    call, whole, one = CASES[name]
    xs = [tensors(n, r, one) for r in range(n)]
    expected = whole(n, xs)
    total([loss(r, results) for r, results in enumerate(expected)]).backward()

    def program():
        dist.init_process_group()
        rank = dist.get_rank()
        mine = tensors(n, rank, one)
        results = call(n, rank, mine)
        loss(rank, results).backward()
        return [r.detach() for r in results], [x.grad for x in mine]

    for rank, (results, gradients) in enumerate(dist.simulate(n, program)):
        for a, b in zip(results, expected[rank], strict=True):
            strided.testing.assert_close(a, b.detach())
        for gradient, x in zip(gradients, xs[rank], strict=True):
            wanted = strided.zeros_like(x) if x.grad is None else x.grad
            strided.testing.assert_close(gradient, wanted)


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "scatter", "all_to_all", "broadcast"])
def test_second_derivatives(name):
    n = 3
    call, whole, one = CASES[name]
    xs = [tensors(n, r, one) for r in range(n)]
    flat = [x for row in xs for x in row]
    value = total([loss(r, results) for r, results in enumerate(whole(n, xs))])
    first = strided.autograd.grad(value, flat, create_graph=True, allow_unused=True)
    total([g.square().sum() for g in first if g is not None]).backward()

    def program():
        dist.init_process_group()
        mine = tensors(n, dist.get_rank(), one)
        value = loss(dist.get_rank(), call(n, dist.get_rank(), mine))
        total([g.square().sum() for g in strided.autograd.grad(value, mine, create_graph=True)]).backward()
        return [x.grad for x in mine]

    for rank, gradients in enumerate(dist.simulate(n, program)):
        for gradient, x in zip(gradients, xs[rank], strict=True):
            wanted = strided.zeros_like(x) if x.grad is None else x.grad
            strided.testing.assert_close(gradient, wanted)


def test_errors():
    def program():
        dist.init_process_group()
        with pytest.raises(NotImplementedError, match="not through 'max'"):
            F.all_reduce(A, ReduceOp.MAX)
        with pytest.raises(ValueError, match="one tensor for each of 2 ranks"):
            F.reduce_scatter(A, [A])
        with pytest.raises(TypeError, match="Expected parameter `tensor`"):
            F.broadcast(3.0, 0)
        return True

    assert dist.simulate(2, program) == [True, True]
