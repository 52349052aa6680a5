"""Distributed linear algebra on real processes, where mpiexec and mpi4py are."""

import pytest
from test_mpi import mpiexec, pytestmark  # noqa: F401

PROGRAM = """
    la = dist.linalg
    grid = la.Grid(comm)
    n = 48
    A = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    B, H = A[:, :5] + 1, A @ A.T + torch.eye(n, dtype=A.dtype)
    a, b, h = (la.from_full(x, 8, grid) for x in (A, B, H))
    size = lambda x: torch.linalg.vector_norm(x).item()
    X = la.to_full(la.solve(a, b))
    assert size(A @ X - B) <= 1e-13 * size(A) * size(X)
    L = la.to_full(la.cholesky(h))
    assert size(L @ L.T - H) <= 1e-13 * size(H)
    Q, R = (la.to_full(x) for x in la.qr(a))
    assert size(Q @ R - A) <= 1e-13 * size(A)
    C = la.to_full(la.matmul(a, a, layers=comm.size))
    assert size(C - A @ A) <= 1e-13 * size(A) ** 2
    E, V = la.eigh(la.from_full(H[:12, :12], 4, grid), base=4)
    V = la.to_full(V)
    assert size((V * E) @ V.T - H[:12, :12]) <= 1e-12 * size(H)
    a.local.requires_grad_()
    la.slogdet(a)[1].backward()
    assert size(la.to_full(a.with_local(a.local.grad)) - torch.linalg.inv(A).T) <= 1e-9 * size(torch.linalg.inv(A))
    try:
        la.solve(la.from_full(torch.ones(9, 9), 2, grid), la.from_full(torch.ones(9, 1), 2, grid))
    except torch.linalg.LinAlgError:
        print("singular on", comm.rank)
"""


@pytest.mark.parametrize("n", [1, 2, 4])
def test_results_on_processes(n):
    done = mpiexec(n, PROGRAM)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == [f"singular on {r}" for r in range(n)]
