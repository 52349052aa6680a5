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
