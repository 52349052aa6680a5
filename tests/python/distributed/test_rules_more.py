"""Other names of functions, places in sorted values, ranks of matrices and new tensors, against whole tensors."""

import math

import pytest
import strided as torch
from sharded_cases import compare_on, leaves
from strided.distributed import Replicate, Shard, distribute_tensor, init_device_mesh, simulate

la = torch.linalg
LINE = torch.tensor([-1.0, -0.25, 0.0, 0.5, 2.0], dtype=torch.float64)


def normal(*shape):
    return lambda: torch.randn(*shape, dtype=torch.float64)


def low_rank():
    return torch.randn(5, 2, dtype=torch.float64) @ torch.randn(2, 4, dtype=torch.float64)


CASES = {
    "linalg.matmul": (la.matmul, normal(3, 4), normal(4, 2)),
    "linalg.outer": (la.outer, normal(3), normal(4)),
    "linalg.tensordot": (lambda a, b: la.tensordot(a, b, 1), normal(3, 4), normal(4, 2)),
    "linalg.tensordot axes": (lambda a, b: la.tensordot(a, b, ((0,), (1,))), normal(3, 4), normal(2, 3)),
    "linalg.trace": (la.trace, normal(4, 4)),
    "linalg.matrix_transpose": (la.matrix_transpose, normal(3, 4)),
    "linalg.matrix_rank": (lambda a: la.matrix_rank(a), low_rank),
    "linalg.matrix_rank atol": (lambda a: la.matrix_rank(a, atol=0.5, rtol=0.1), normal(4, 4)),
    "linalg.matrix_rank batch": (lambda a: la.matrix_rank(a), normal(2, 3, 3)),
    "linalg.matrix_rank hermitian": (lambda a: la.matrix_rank(a + a.mT, hermitian=True), normal(3, 3)),
    "linalg.matrix_norm of a batch": (
        lambda a: [la.matrix_norm(a, o, keepdim=o == 2) for o in ("fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf)],
        normal(2, 3, 4),
    ),
    "linalg.matrix_norm of other axes": (
        lambda a: [la.matrix_norm(a, o, (2, 0), o == 1) for o in ("nuc", 1, math.inf)],
        normal(3, 2, 4),
    ),
    "linalg.matrix_norm of no rows": (
        lambda a: [la.matrix_norm(a, o) for o in ("nuc", 2, -2, 1, math.inf)],
        normal(2, 0, 3),
    ),
    "linalg.norm nuc": (lambda a: (torch.norm(a, "nuc"), torch.norm(a, "nuc", (0, 1), True)), normal(3, 4)),
    "linalg.qr r rank": (lambda a: la.qr(a, "r").R, normal(5, 3)),
    "linalg.qr r of a batch rank": (lambda a: la.qr(a, "r").R, normal(2, 3, 3)),
    "linalg.ldl_factor of a batch rank": (lambda a: la.ldl_factor(a + a.mT), normal(2, 3, 3)),
    "linalg.ldl_solve of a batch rank": (lambda a: la.ldl_solve(*la.ldl_factor(a + a.mT), a), normal(2, 3, 3)),
    "isin": (lambda x: torch.isin(torch.round(x), LINE), normal(3, 5)),
    "isin inverted": (lambda x: torch.isin(torch.round(x), LINE, invert=True), normal(7)),
    "isin number": (lambda x: torch.isin(torch.round(x), 0), normal(7)),
    "bucketize": (lambda x: torch.bucketize(x, LINE), normal(3, 5)),
    "bucketize right": (lambda x: torch.bucketize(x, LINE, right=True, out_int32=True), normal(4)),
    "searchsorted": (lambda x: torch.searchsorted(LINE, x), normal(3, 5)),
    "searchsorted side": (lambda x: torch.searchsorted(LINE, x, side="right"), normal(6)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("ranks", "shape"), [(3, (3,)), (4, (2, 2))], ids=["3", "2x2"])
def test_same_as_of_whole_tensors(name, ranks, shape):
    function, *makers = CASES[name]
    torch.manual_seed(ranks)
    tensors = [make() for make in makers]
    gradients = name.startswith("linalg") and "rank" not in name
    compare_on(ranks, shape, function, tensors, gradients=gradients, part=(0, 1 + ("rank" in name)))


def test_functions_without_an_algorithm_say_so_once():
    """They refuse matrices that are cut, and compute what every rank has."""
    A, B = (torch.randn(6, 6, dtype=torch.float64) for _ in range(2))
    H = A + A.mT
    calls = {
        "linalg.eig ": lambda a, b: la.eig(a),
        "linalg.eigvals ": lambda a, b: la.eigvals(a),
        "linalg.ldl_factor ": lambda a, b: la.ldl_factor(a),
        "linalg.ldl_solve ": lambda a, b: la.ldl_solve(a, torch.arange(1, 7, dtype=torch.int32), b),
    }

    def program():
        mesh = init_device_mesh("cpu", (2,))
        for name, call in calls.items():
            for placement in (Shard(0), Shard(1), Replicate()):
                a, b = (distribute_tensor(t, mesh, [placement]) for t in (H, B))
                with torch.distributed.tensor.implicit_replication():
                    if placement.is_replicate():
                        for got, want in zip(leaves(call(a, b)), leaves(call(H, B)), strict=True):
                            assert torch.equal(got.full_tensor(), want), name
                        continue
                    with pytest.raises(NotImplementedError, match=rf"{name}of sharded tensors .*Shard\(dim=."):
                        call(a, b)
        a = distribute_tensor(A, mesh, [Shard(0)])
        with pytest.raises(NotImplementedError, match="lobpcg of sharded tensors"):
            torch.lobpcg(a, 1)
        for call in (
            lambda x: la.qr(x, "all"),
            lambda x: la.matrix_norm(x.reshape(2, 3, 6), 5),
            lambda x: la.matrix_norm(x.reshape(2, 3, 6), 2, (1, 1)),
            lambda x: la.qr(x.detach().requires_grad_(), "r").R.sum().backward(),
        ):
            for x in (A, a):
                with pytest.raises(RuntimeError):
                    call(x)

    simulate(2, program)


def test_new_tensors_are_the_same_everywhere():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.ones(3, 2, dtype=torch.float64), mesh, [Shard(0)])
        for made, value in ((x.new_zeros(2, 2), 0), (x.new_ones((2, 2)), 1), (x.new_full((2, 2), 7.0), 7)):
            assert made.placements == (Replicate(),) and made.dtype is torch.float64
            assert made.to_local().tolist() == [[value, value]] * 2
        assert x.new_empty(4).shape == (4,)
        assert (x + x.new_ones(1)).placements == (Shard(0),)

    simulate(2, program)


def test_values_that_are_cut_are_not_gathered():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        x, line = (distribute_tensor(LINE, mesh, [Shard(0)]) for _ in range(2))
        for call in (torch.isin, torch.bucketize, lambda x, line: torch.searchsorted(line, x)):
            with pytest.raises(NotImplementedError, match="compared with all of the values, which are cut"):
                call(x, line)
            assert call(x, line.redistribute(mesh, [Replicate()])).placements == (Shard(0),)

    simulate(2, program)
