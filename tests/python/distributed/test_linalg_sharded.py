"""Linear algebra of sharded tensors: results of whole tensors, in the operand's placements, for any placement."""

import math

import pytest
import strided as torch
from distributed_linalg import dist, random

BlockCyclic, Replicate, Shard = dist.BlockCyclic, dist.Replicate, dist.Shard
la = torch.linalg

PLACEMENTS = [
    ((1,), [Shard(0)], [Shard(1)]),
    ((3,), [Shard(0)], [Shard(0)]),
    ((3,), [Shard(1)], [Replicate()]),
    ((2,), [BlockCyclic(0, 2)], [Shard(1)]),
    ((2, 2), [Shard(0), Shard(1)], [Shard(0), Shard(1)]),
    ((2, 2), [BlockCyclic(0, 2), BlockCyclic(1, 2)], [Shard(1), Replicate()]),
    ((2, 3), [Shard(0), Shard(0)], [Replicate(), Shard(0)]),
    ((7,), [Replicate()], [Shard(0)]),
]
IDS = [str(i) for i in range(len(PLACEMENTS))]
N, K = 9, 4
A, B, TALL = random(N, N), random(N, K, seed=1), random(N, 5, seed=2)
H = A @ A.mT + torch.eye(N, dtype=A.dtype)


def fitting(x, placements):
    """The placements without those that cut axes that x does not have."""
    return [p if not p.is_shard() or p.dim < x.ndim else Replicate() for p in placements]


def on_mesh(shape, program):
    """program(deal) on the ranks of a mesh; deal(x, placements) makes a sharded tensor."""

    def start():
        mesh = dist.init_device_mesh("cpu", shape)
        return program(lambda x, p: dist.distribute_tensor(x, mesh, fitting(x, p), src_data_rank=None))

    return dist.simulate(math.prod(shape), start)


def equal(got, want, placements=None):
    assert isinstance(got, dist.ShardedTensor) and got.shape == want.shape
    assert torch.allclose(got.full_tensor(), want, rtol=1e-8, atol=1e-8)
    if placements is not None:
        assert list(got.placements) == fitting(want, placements)


@pytest.mark.parametrize(("mesh", "a", "b"), PLACEMENTS, ids=IDS)
def test_systems(mesh, a, b):
    L, wide, v = la.cholesky(H), B.mT.contiguous(), B[:, 0].contiguous()

    def program(deal):
        equal(la.solve(deal(A, a), deal(B, b)), la.solve(A, B), b)
        equal(la.solve(deal(A, a), deal(v, b)), la.solve(A, v), b)
        equal(la.solve(deal(A, a), deal(wide, b), left=False), la.solve(A, wide, left=False), b)
        for upper in (True, False):
            whole = H.triu() if upper else H.tril()
            solve, T = la.solve_triangular, deal(H, a)
            equal(solve(T, deal(B, b), upper=upper), solve(whole, B, upper=upper), b)
            equal(solve(T, deal(wide, b), upper=upper, left=False), solve(whole, wide, upper=upper, left=False), b)
            equal(la.cholesky(deal(H, a), upper=upper), la.cholesky(H, upper=upper), a)
        equal(torch.cholesky_solve(deal(B, b), deal(L, a)), torch.cholesky_solve(B, L), b)
        for inverse in (la.inv, torch.inverse, torch.Tensor.inverse):
            equal(inverse(deal(A, a)), la.inv(A), a)
        equal(la.det(deal(A, a)), la.det(A))
        for got, want in zip(la.slogdet(deal(A, a)), la.slogdet(A), strict=True):
            equal(got, want)
        equal(torch.logdet(deal(H, a)), torch.logdet(H))
        equal(torch.cholesky_inverse(deal(L, a)), torch.cholesky_inverse(L), a)
        for power in (0, 1, 5, -2):
            equal(la.matrix_power(deal(A / 3, a), power), la.matrix_power(A / 3, power), a)

    on_mesh(mesh, program)


@pytest.mark.parametrize(("mesh", "a", "b"), PLACEMENTS, ids=IDS)
def test_decompositions(mesh, a, b):
    def program(deal):
        for M in (TALL, TALL.mT.contiguous()):
            Q, R = la.qr(deal(M, a))
            equal(Q @ R, M)
            equal(Q.mH @ Q, torch.eye(5, dtype=M.dtype))
            assert list(Q.placements) == list(R.placements) == fitting(M, a)
            U, S, Vh = la.svd(deal(M, a), full_matrices=False)
            equal((U * S) @ Vh, M)
            equal(la.svdvals(deal(M, a)), la.svdvals(M))
            for order in ("fro", "nuc", 1, -math.inf, 2):
                equal(la.matrix_norm(deal(M, a), order), la.matrix_norm(M, order))
                equal(la.norm(deal(M, a), order), la.norm(M, order))
            C = B[: M.shape[0]]
            equal(la.lstsq(deal(M, a), deal(C, b)).solution, la.lstsq(M, C).solution, b)
        E, V = la.eigh(deal(H, a))
        equal(E, la.eigvalsh(H))
        equal((V * E) @ V.mH, H)
        equal(la.cond(deal(A, a)), la.cond(A))
        equal(la.cond(deal(A, a), 1), la.cond(A, 1))

    on_mesh(mesh, program)


@pytest.mark.parametrize(("mesh", "a", "b"), PLACEMENTS, ids=IDS)
def test_gradients_have_the_operands_placements(mesh, a, b):
    def gradients(function, *inputs):
        leaves = [x.detach().requires_grad_() for x in inputs]
        function(*leaves).backward()
        return [x.grad for x in leaves]

    functions = [
        (lambda x, y: (la.solve(x, y) ** 2).sum(), A, B),
        (lambda x: (la.cholesky(x) ** 2).sum(), H),
        (lambda x: la.slogdet(x)[1], A),
        (lambda x: la.svdvals(x)[0], TALL),
        (lambda x: (la.qr(x).R ** 4).sum(), TALL),
    ]

    def program(deal):
        for function, *inputs in functions:
            expected = gradients(function, *inputs)
            dealt = [deal(x, p) for x, p in zip(inputs, (a, b), strict=False)]
            for got, want, p in zip(gradients(function, *dealt), expected, (a, b), strict=False):
                equal(got, want, p)

    on_mesh(mesh, program)


@pytest.mark.filterwarnings("ignore:.*gathers .* bytes on every rank")  # of operands that some ranks have whole
@pytest.mark.parametrize(("mesh", "a", "b"), PLACEMENTS, ids=IDS)
def test_products_that_would_gather_too_much_go_by_panels(mesh, a, b):
    n = 24
    X, Y = random(n, n), random(n, n, seed=1)

    def program(deal):
        x, y = deal(X, a), deal(Y, b)
        comm = x.device_mesh.comm
        dist.set_gather_limit(0)
        with comm.record() as calls:
            z = x @ y
        dist.set_gather_limit(None)
        equal(z, X @ Y)
        largest = max((c.received for c in calls), default=0)
        gathers = any(p.is_replicate() for p in (*a, *b)) or comm.size == 1
        assert gathers or largest <= n * n * 8 / comm.size, (largest, calls)
        assert gathers or z.to_local().numel() <= n * n / comm.size * 1.5

    on_mesh(mesh, program)


def test_batches_are_computed_where_they_lie():
    X = random(5, 3, 3)

    def program(deal):
        x = deal(X, [Shard(0)])
        equal(la.inv(x), la.inv(X), [Shard(0)])
        for got, want in zip(la.slogdet(x), la.slogdet(X), strict=True):
            equal(got, want, [Shard(0)])
        equal(la.inv(deal(X, [Shard(1)])), la.inv(X), [Shard(1)])  # whole matrices come together, and go back
        equal(la.solve(deal(X, [Shard(1)]), deal(X, [Shard(2)])), la.solve(X, X), [Shard(2)])

    on_mesh((2,), program)


def test_errors():
    def program(deal):
        with pytest.raises(la.LinAlgError, match="singular"):
            la.solve(deal(torch.ones(4, 4), [Shard(0)]), deal(torch.ones(4, 1), [Shard(0)]))
        with pytest.raises(RuntimeError, match="must be square"):
            la.inv(deal(torch.ones(4, 3), [Shard(0)]))
        with pytest.raises(RuntimeError, match="must be square"):
            la.matrix_power(deal(torch.ones(4, 3), [Shard(0)]), 2)
        with pytest.raises(RuntimeError, match="floating point"):
            la.inv(deal(torch.ones(4, 4, dtype=torch.int64), [Shard(0)]))
        with pytest.raises(NotImplementedError, match="driver"):
            la.lstsq(deal(torch.ones(4, 3), [Shard(0)]), deal(torch.ones(4, 1), [Shard(0)]), driver="gelsd")

    on_mesh((2,), program)


def test_matrices_without_elements_and_of_one_element():
    """Smaller than the mesh: the results of plain ones."""
    names = "inv det slogdet cholesky qr svd svdvals eigh eigvalsh cond pinv matrix_rank lu_factor lu".split()
    wholes = [torch.empty(0, 0, dtype=torch.float64), torch.full((1, 1), 2.0, dtype=torch.float64)]

    def results(name, x):
        found = getattr(la, name)(x)
        return list(found) if isinstance(found, tuple) else [found]

    def program(deal):
        for name in names:
            for whole in wholes:
                found = results(name, deal(whole, [Shard(0)]))
                for a, b in zip(found, results(name, whole), strict=True):
                    assert a.shape == b.shape and torch.allclose(a.full_tensor().abs(), b.abs()), name
        return la.solve(deal(wholes[0], [Shard(1)]), deal(wholes[0][:, :0], [Shard(0)])).shape

    assert on_mesh((3,), program) == [(0, 0)] * 3
