"""Linear algebra on a CUDA device against the CPU: values, pivots, info, errors and when they are raised, gradients."""

import cuda_device
import pytest
import strided as torch
from cuda_matrices import DTYPES, LA, close, matrices, raised

pytestmark = cuda_device.needs(1)


def positive(*shape, dtype="float64", seed=0):
    x = matrices(*shape, dtype=dtype, seed=seed)
    return x @ x.mH + torch.eye(shape[-1], dtype=x.dtype)


SMALL = [(n, dtype) for n in (1, 2, 3, 4, 5, 8, 9, 17, 32) for dtype in DTYPES]
LARGE = [(33, "float64"), (33, "complex64"), (60, "complex128"), (64, "float32"), (130, "float64"), (130, "complex64")]


@pytest.mark.parametrize("n, dtype", SMALL + LARGE)
def test_values(n, dtype):
    for batch in ((), (3,), (2, 2)) if n < 33 else ((2,),):
        a, b = matrices(*batch, n, n, dtype=dtype), matrices(*batch, n, n, dtype=dtype, seed=1)[..., :3]
        for f in (
            lambda a, b: LA.lu_factor(a)[1], LA.lu_factor_ex, LA.solve, LA.solve_ex, lambda a, b: LA.inv(a),
            lambda a, b: LA.inv_ex(a), lambda a, b: LA.det(a),
            lambda a, b: LA.slogdet(a), lambda a, b: LA.lu(a),
            lambda a, b: LA.solve(a, b[..., 0]) if n > 3 else LA.solve(a, b),
            lambda a, b: LA.solve(a, b.mT, left=False),
            lambda a, b: LA.solve_triangular(a + 6 * torch.eye(n, dtype=a.dtype, device=a.device), b, upper=True),
            lambda a, b: LA.lu_solve(*LA.lu_factor(a), b), lambda a, b: LA.lu_solve(*LA.lu_factor(a), b, adjoint=True),
            lambda a, b: LA.lu_solve(*LA.lu_factor(a), b.mT, left=False),
        ):  # fmt: skip
            args = (a.cuda(), b.cuda())
            if f is LA.lu_factor_ex:
                close(f(args[0]), f(a))
            else:
                close(f(*args), f(a, b))
        p = positive(*batch, n, n, dtype=dtype)
        for f in (
            LA.cholesky, lambda p: LA.cholesky(p, upper=True), LA.cholesky_ex,
            lambda p: torch.cholesky_inverse(LA.cholesky(p)),
            lambda p: torch.cholesky_solve(p[..., :2], LA.cholesky(p)),
            lambda p: torch.cholesky_solve(p[..., :2], LA.cholesky(p, upper=True), upper=True),
        ):  # fmt: skip
            close(f(p.cuda()), f(p))


def test_half_precision_is_computed_in_float32():
    for dtype in ("float16", "bfloat16"):
        a = matrices(3, 5, 5).to(getattr(torch, dtype))
        close(LA.solve(a.cuda(), a.cuda()), LA.solve(a, a))
        close(LA.lu(a.cuda()), LA.lu(a))
        close(LA.det(a.cuda()), LA.det(a))


def test_functions_made_of_these():
    a, v = matrices(3, 6, 6), matrices(6, 6)[0]
    for f in (
        lambda a: LA.matrix_power(a, 3), lambda a: LA.matrix_power(a, -2), lambda a: LA.matrix_power(a, 0),
        torch.logdet, LA.norm, LA.matrix_norm,
        lambda a: LA.matrix_norm(a, 1), lambda a: LA.matrix_norm(a, float("inf")), lambda a: LA.vector_norm(a, 3),
        lambda a: LA.multi_dot([a[0], a[1], a[2]]),
        lambda a: LA.tensorinv(a[0].reshape(2, 3, 6), 2),
        lambda a: LA.tensorsolve(a[0].reshape(2, 3, 6), a[1, 0].reshape(2, 3)),
        lambda a: torch.trace(a[0]), lambda a: torch.inverse(a), lambda a: torch.det(a), lambda a: torch.slogdet(a),
    ):  # fmt: skip
        close(f(a.cuda()), f(a))
    close(torch.addcdiv(v.cuda(), v.cuda(), v.cuda() + 9, value=0.5), torch.addcdiv(v, v, v + 9, value=0.5))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(
    "shape", [(5, 5), (3, 7), (7, 3), (2, 40, 33), (2, 20, 70), (200, 20), (0, 3), (3, 0), (0, 4, 4), (2, 0, 0)]
)
def test_shapes_of_factorisations(shape, dtype):
    torch.manual_seed(0)
    a = torch.randn(*shape, dtype=getattr(torch, dtype))
    lu, pivots, info = LA.lu_factor_ex(a)
    close(LA.lu_factor_ex(a.cuda()), (lu, pivots, info))
    close(torch.lu_unpack(lu.cuda(), pivots.cuda()), torch.lu_unpack(lu, pivots))
    close(LA.lu(a.cuda()), LA.lu(a))
    if shape[-1] == shape[-2]:
        for f in (LA.det, LA.inv, LA.slogdet, lambda a: LA.solve(a, a)):
            close(f(a.cuda()), f(a))


def test_views_broadcasting_and_shared_factors():
    for n in (6, 40):
        a, b = matrices(4, n, n), matrices(4, n, n, seed=1)
        for view in (
            lambda t: t.mT, lambda t: t[::2], lambda t: t.flip(0), lambda t: t[:, ::-1], lambda t: t[1],
            lambda t: t[:1],
            lambda t: t[:1].expand(3, -1, -1), lambda t: t.reshape(2, 2, *t.shape[1:])[:, 1],
            lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
        ):  # fmt: skip
            close(LA.solve(view(a.cuda()), view(b.cuda())[..., :2]), LA.solve(view(a), view(b)[..., :2]))
            close(LA.inv(view(a.cuda())), LA.inv(view(a)))
            lower = view(a) + 4 * torch.eye(n, dtype=a.dtype)
            for upper in (False, True):
                for unit in (False, True):
                    args = {"upper": upper, "unitriangular": unit}
                    close(
                        LA.solve_triangular(lower.cuda(), view(b.cuda()), **args),
                        LA.solve_triangular(lower, view(b), **args),
                    )
                    close(
                        LA.solve_triangular(lower.mT.cuda(), b.cuda()[0], left=False, **args),
                        LA.solve_triangular(lower.mT, b[0], left=False, **args),
                    )
        # One matrix for many right-hand sides, many matrices for one.
        close(LA.solve(a[0].cuda(), b.cuda()), LA.solve(a[0], b))
        close(LA.solve(a.cuda(), b[0].cuda()), LA.solve(a, b[0]))
        close(
            LA.solve(a.reshape(2, 2, n, n).cuda(), b[:2].unsqueeze(1).cuda()),
            LA.solve(a.reshape(2, 2, n, n), b[:2].unsqueeze(1)),
        )
        lu, pivots = LA.lu_factor(a[0])
        close(LA.lu_solve(lu.cuda(), pivots.cuda(), b.cuda()), LA.lu_solve(lu, pivots, b))


SINGULAR = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
CHECKED = {
    "solve": lambda a: LA.solve(a, torch.ones(2, 1, device=a.device)),
    "inv": lambda a: LA.inv(a),
    "lu_factor": lambda a: LA.lu_factor(a),
    "cholesky": lambda a: LA.cholesky(a - torch.eye(2, device=a.device) * 2),
    "solve_ex": lambda a: LA.solve_ex(a, torch.ones(2, 1, device=a.device), check_errors=True),
    "inv_ex": lambda a: LA.inv_ex(a, check_errors=True),
    "lu_factor_ex": lambda a: LA.lu_factor_ex(a, check_errors=True),
    "cholesky_ex": lambda a: LA.cholesky_ex(a - torch.eye(2, device=a.device) * 2, check_errors=True),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("batched", [False, True])
def test_errors_and_when_they_are_raised(name, batched):
    a = torch.eye(2).expand(600, 2, 2).clone() * 5 if batched else SINGULAR
    if batched:
        a[300], a[301] = SINGULAR, SINGULAR
    kind, words = raised(CHECKED[name], a)
    assert kind is LA.LinAlgError and ("(Batch element 300)" in words) == batched
    d = a.cuda()
    if name.endswith("_ex"):  # asked for: at once
        assert raised(CHECKED[name], d) == (kind, words)
    else:
        CHECKED[name](d)  # nobody waits for the device
        assert raised(torch.cuda.synchronize) == (kind, words)
    torch.cuda.synchronize()  # it works on
    close(LA.inv((SINGULAR + torch.eye(2)).cuda()), LA.inv(SINGULAR + torch.eye(2)))


def test_error_is_raised_by_whatever_waits():
    for wait in (
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: x.tolist(),
        lambda x: torch.cuda.current_stream().synchronize(),
    ):
        x = LA.inv(SINGULAR.cuda())
        assert raised(wait, x)[0] is LA.LinAlgError
        torch.cuda.synchronize()


def test_unchecked_functions_do_not_raise():
    assert LA.inv_ex(SINGULAR.cuda())[1].item() == 2
    assert LA.lu_factor_ex(SINGULAR.cuda())[2].item() == 2
    assert LA.cholesky_ex(-SINGULAR.cuda())[1].item() == 1
    assert LA.det(SINGULAR.cuda()).item() == 0 and LA.slogdet(SINGULAR.cuda())[1].item() == -float("inf")
    torch.cuda.synchronize()


@pytest.mark.parametrize("bad", [0, -3, 4, 2**31 - 1, -(2**31)])
def test_bad_pivots(bad):
    lu, pivots = LA.lu_factor(matrices(4, 3, 3))
    pivots[2, 1] = bad
    for f in (lambda lu, p: LA.lu_solve(lu, p, lu), lambda lu, p: torch.lu_unpack(lu, p)):
        kind, words = raised(f, lu, pivots)
        assert kind is RuntimeError
        f(lu.cuda(), pivots.cuda())
        assert raised(torch.cuda.synchronize) == (kind, words)
        torch.cuda.synchronize()


GRADIENTS = {
    "solve": lambda a: LA.solve(a, a[..., :2] * 2),
    "solve_vector": lambda a: LA.solve(a, a[..., 0] * 2),
    "solve_right": lambda a: LA.solve(a, a[..., :2, :], left=False),
    "inv": LA.inv,
    "det": LA.det,
    "slogdet": lambda a: LA.slogdet(a)[1],
    "lu_factor": lambda a: LA.lu_factor(a)[0],
    "lu": lambda a: LA.lu(a)[1] @ LA.lu(a)[2],
    "lu_solve": lambda a: LA.lu_solve(*LA.lu_factor(a), a[..., :2] * 2),
    "lu_solve_adjoint": lambda a: LA.lu_solve(*LA.lu_factor(a), a[..., :2], adjoint=True),
    "cholesky": lambda a: LA.cholesky(a @ a.mH),
    "cholesky_upper": lambda a: LA.cholesky(a @ a.mH, upper=True),
    "cholesky_solve": lambda a: torch.cholesky_solve(a[..., :2], a),
    "cholesky_inverse": lambda a: torch.cholesky_inverse(a),
    "solve_triangular": lambda a: LA.solve_triangular(a, a[..., :2], upper=False),
    "solve_triangular_right": lambda a: LA.solve_triangular(a, a[..., :2, :], upper=True, left=False),
    "matrix_power": lambda a: LA.matrix_power(a, -2),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, dtype):
    for shape in ((4, 4), (2, 3, 3), (36, 36)):
        a = matrices(*shape, dtype=dtype) + 5 * torch.eye(shape[-1], dtype=getattr(torch, dtype))
        found = []
        for x in (a, a.cuda()):
            x = x.clone().requires_grad_()
            (g,) = torch.autograd.grad(GRADIENTS[name](x).abs().square().sum(), x, create_graph=True)
            (h,) = torch.autograd.grad(g.abs().square().sum(), x)
            found.append((g, h))
        close(found[1], found[0])


def test_gradient_of_det_of_singular_matrices():
    a = matrices(4, 5, 5)
    a[1, 3] = a[1, 0]
    a[2] = 0
    a[3, :, 1] = a[3, :, 2] = 0
    found = []
    for x in (a.clone(), a.cuda()):
        x.requires_grad_()
        found.append(torch.autograd.grad(LA.det(x).sum(), x))
    close(found[1], found[0])
    assert found[0][0][1].abs().max() > 0.1


def test_two_devices_keep_their_errors():
    if torch.cuda.device_count() < 2:
        pytest.skip("needs 2 CUDA devices")
    LA.inv(SINGULAR.to("cuda:1"))
    torch.cuda.synchronize(0)
    assert raised(torch.cuda.synchronize, 1)[0] is LA.LinAlgError
    with pytest.raises(RuntimeError, match="same device"):
        LA.solve(SINGULAR.to("cuda:0"), SINGULAR.to("cuda:1"))
