"""Factorisations, systems and what is made of them, beside the CPU; what is wrong with matrices is raised as there."""

import pytest
import strided as torch
from strided import linalg
from xla_calls import check_program


def random_matrices(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_lu(dtype):
    torch.manual_seed(1)
    shapes = [(5, 3), (3, 5)] if dtype.is_complex else [(1, 1), (0, 3), (2, 0, 0), (2, 3, 4, 4), (132, 130)]
    matrices = [random_matrices(*shape, dtype=dtype) for shape in shapes]

    def program(*matrices):
        return [t for m in matrices for t in (*linalg.lu_factor_ex(m), *linalg.lu(m))]

    check_program(program, *matrices)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_systems(dtype):
    torch.manual_seed(2)
    pairs = [((2, 3, 3), (2, 3, 2)), ((0, 0), (0, 2))]
    pairs += [((4, 4), (4,))] if dtype.is_complex else [((1, 1), (1, 2)), ((3, 3), (2, 3, 2))]
    inputs = [random_matrices(*shape, dtype=dtype) for pair in pairs for shape in pair]

    def program(*inputs):
        found = []
        for a, b in zip(inputs[::2], inputs[1::2]):
            lu, pivots = linalg.lu_factor(a)
            found += [linalg.solve(a, b), linalg.inv(a), linalg.det(a), *linalg.slogdet(a)]
            if b.ndim > 1:
                found += [linalg.solve(a, b.mT, left=False)]
                found += [linalg.lu_solve(lu, pivots, b, adjoint=adjoint) for adjoint in (False, True)]
        return found

    check_program(program, *inputs)


def test_pivots_are_those_of_lapack():
    nan = float("nan")
    matrices = torch.tensor(
        [
            [[1.0, 2, 3], [-1, 4, 5], [1, 6, 7]],  # of equal ones the first
            [[0, 1, 2], [0, 3, 4], [0, 5, 6]],
            [[nan, 1, 2], [3, nan, 4], [5, 6, 7]],
            [[nan, 1, 2], [nan, 3, 4], [nan, 5, 6]],
            [[1, 2, 3], [2, 4, 6], [nan, 1, 1]],
            [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        ]
    )
    check_program(lambda a: linalg.lu_factor_ex(a), matrices)
    check_program(lambda a: linalg.lu_factor_ex(a), torch.tensor([[3.0 + 3j, 1], [5 + 0j, 2]]))  # 3 + 3 is more than 5


def test_a_singular_matrix_is_an_error():
    a = torch.stack([torch.eye(3), torch.ones(3, 3)]).to("xla")
    b = torch.ones(2, 3, 1, device="xla")
    for call, text in [
        (lambda: linalg.solve(a, b), r"linalg.solve: \(Batch element 1\): The solver failed"),
        (lambda: linalg.inv(a), r"linalg.inv: \(Batch element 1\): The diagonal element 2 is zero"),
        (lambda: linalg.lu_factor(a)[0], r"lu_factor: \(Batch element 1\): U\[2,2\] is zero"),
    ]:
        with pytest.raises(linalg.LinAlgError, match=text):
            call().cpu()
    assert linalg.det(a).tolist() == [1, 0]
    with pytest.raises(linalg.LinAlgError, match="The diagonal element 2 is zero"):
        linalg.inv_ex(a[1], check_errors=True)
    assert linalg.solve_ex(a, b).info.tolist() == [0, 2]


def test_pivots_that_name_no_row_are_an_error():
    lu, b = torch.eye(2, device="xla"), torch.ones(2, 1, device="xla")
    for pivot in 0, 3, -(2**31), 2**31 - 1:
        pivots = torch.tensor([1, pivot], dtype=torch.int32, device="xla")
        side = "smaller or equal" if pivot > 0 else "greater or equal"
        with pytest.raises(RuntimeError, match=f"Pivots given to lu_solve must all be {side}"):
            linalg.lu_solve(lu, pivots, b).cpu()
        with pytest.raises(RuntimeError, match="pivots passed to lu_unpack"):
            torch.lu_unpack(lu, pivots)[0].cpu()


def symmetric(*shape, dtype, hermitian):
    a = torch.randn(*shape, dtype=dtype)
    a = a + (a.mH if hermitian else a.mT)
    a.diagonal(dim1=-2, dim2=-1).mul_(0.1)  # so that blocks of two rows are chosen
    return a


@pytest.mark.parametrize("hermitian", [False, True], ids=["symmetric", "hermitian"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_ldl(dtype, hermitian):
    torch.manual_seed(4)
    sizes = [1, 2, 7] if dtype.is_complex else [3, 7]
    matrices = [symmetric(2, n, n, dtype=dtype, hermitian=hermitian) for n in sizes]
    rights = [random_matrices(n, 2, dtype=dtype) for n in sizes]

    def program(*inputs):
        found = []
        for a, b in zip(inputs[: len(sizes)], inputs[len(sizes) :]):
            ld, pivots, info = linalg.ldl_factor_ex(a, hermitian=hermitian)
            found += [ld, pivots, info, linalg.ldl_solve(ld, pivots, b, hermitian=hermitian)]
        return found

    assert any((linalg.ldl_factor(m, hermitian=hermitian).pivots < 0).any() for m in matrices)
    check_program(program, *matrices, *rights)


def test_ldl_of_matrices_with_zero_blocks_and_pivots_that_are_not_its():
    a = torch.zeros(2, 3, 3)
    a[1, 0, 0] = a[1, 1, 2] = a[1, 2, 1] = 1
    check_program(lambda a: linalg.ldl_factor_ex(a), a)
    with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 0\): The diagonal block of D number 1 is zero"):
        linalg.ldl_factor(a.to("xla")).LD.cpu()
    ld, b = torch.ones(2, 2, device="xla"), torch.ones(2, 1, device="xla")
    for pivots in [0, 1], [3, 1], [-1, 1], [1, -2]:
        with pytest.raises(RuntimeError, match="pivots must name rows"):
            linalg.ldl_solve(ld, torch.tensor(pivots, dtype=torch.int32, device="xla"), b).cpu()


def test_eigenvalues_of_general_matrices():
    torch.manual_seed(6)
    special = [
        [[0.0, 1, 0], [0, 0, 1], [1, 0, 0]],  # a permutation: shifts alone do not move it
        [[2, 1, 0], [0, 2, 1], [0, 0, 2]],  # one eigenvector
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 1, 0], [-1, 0, 0], [0, 0, 5]],
    ]
    real = torch.tensor(special, dtype=torch.float64)
    for a in [real, random_matrices(2, 12, 12), random_matrices(3, 5, 5, dtype=torch.complex128), torch.ones(1, 1)]:
        w, v = (t.cpu() for t in linalg.eig(a.to("xla")))
        assert torch.allclose(a.to(w.dtype) @ v, v * w[..., None, :], rtol=0, atol=1e-12)
        assert torch.allclose(v.abs().square().sum(-2), torch.ones(v.shape[:-1], dtype=v.real.dtype))
        expected = linalg.eigvals(a)  # in another order
        nearest = (w[..., :, None] - expected[..., None, :]).abs().min(-1).values
        assert nearest.max() < 1e-10
        if not a.is_complex():
            assert torch.equal((w.imag == 0).sum(-1), (expected.imag == 0).sum(-1))
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        linalg.eig(torch.full((2, 2), float("nan"), device="xla"))


def test_gradients_of_eigenvalues():
    def program(a):
        a = a.detach().requires_grad_()
        linalg.eigvals(a).abs().square().sum().backward()
        return [a.grad]

    check_program(program, torch.arange(9, dtype=torch.float64).view(3, 3).sin())


def test_gradients_of_systems():
    torch.manual_seed(3)

    def program(a, b, singular):
        a, b, singular = [t.detach().requires_grad_() for t in (a, b, singular)]
        p, l, u = linalg.lu(a)
        loss = linalg.solve(a, b).square().sum() + linalg.inv(a).sin().sum() + (l @ u.tanh()).sum()
        (loss + linalg.slogdet(a)[1].sum() + linalg.det(singular)).backward()
        return [a.grad, b.grad, singular.grad]

    matrix = random_matrices(3, 3)
    matrix[2] = matrix[0] + matrix[1]
    check_program(program, random_matrices(2, 3, 3), random_matrices(2, 3, 2), matrix)
