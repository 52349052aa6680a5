"""QR, singular values, eigenvalues, Fourier transforms, distinct elements, beside the CPU."""

import pytest
import strided as torch
from strided import linalg
from xla_calls import check_program

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_qr(dtype):
    torch.manual_seed(1)
    shapes = [(4, 3), (3, 4)] if dtype.is_complex else [(1, 1), (0, 2), (2, 3, 3), (132, 130)]
    matrices = [torch.randn(*shape, dtype=dtype) for shape in shapes]
    zeros = torch.zeros(3, 2, dtype=dtype)
    zeros[0, 1] = -2

    def program(*matrices):
        found = []
        for a in matrices:
            packed, tau = torch.geqrf(a)
            found += [packed, tau, *linalg.qr(a)]
            if a.shape[-2] > 100:
                continue
            found += [linalg.qr(a, "complete")[0], linalg.qr(a, "r")[1]]
            if a.shape[-2] >= a.shape[-1]:
                found.append(linalg.householder_product(packed, tau))
                found += [torch.ormqr(packed, tau, a, transpose=t) for t in (False, True)]
                found.append(torch.ormqr(packed, tau, a.mT, left=False, transpose=True))
        return found

    check_program(program, zeros, *matrices)


def test_gradients_of_qr():
    torch.manual_seed(2)

    def program(a):
        a = a.detach().requires_grad_()
        q, r = linalg.qr(a)
        (q.sin().sum() + r.cos().sum()).backward()
        return [a.grad]

    check_program(program, torch.randn(2, 4, 3, dtype=torch.float64))


def unit(q):
    """How far the columns are from orthonormal ones."""
    return q.mH @ q - torch.eye(q.shape[-1], dtype=q.dtype, device=q.device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
def test_singular_values(dtype):
    torch.manual_seed(3)
    shapes = [(2, 3, 4), (5, 3)] if dtype.is_complex else [(1, 1), (3, 2), (0, 2)]
    matrices = [torch.randn(*shape, dtype=dtype) for shape in shapes]
    if not dtype.is_complex:
        matrices.append(torch.stack([torch.zeros(4, 3), torch.ones(4, 3), 1e-20 * torch.randn(4, 3)]))

    def program(*matrices):
        found = []
        for a in matrices:
            for full in (True, False) if a.shape[-2:] == (3, 2) else (a.ndim == 2,):
                u, s, vh = linalg.svd(a, full_matrices=full)
                k = s.shape[-1]
                found += [s, unit(u), unit(vh.mH), (u[..., :k] * s.to(a.dtype)[..., None, :]) @ vh[..., :k, :]]
        if not dtype.is_complex:
            found += [linalg.pinv(matrices[1]), linalg.matrix_rank(matrices[-1])]
        return found

    check_program(program, *matrices)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64], ids=str)
def test_eigenvalues_of_hermitian_matrices(dtype):
    torch.manual_seed(4)
    matrices = [torch.randn(*shape, dtype=dtype) for shape in ([(2, 4, 4)] if dtype.is_complex else [(1, 1), (5, 5)])]
    rows = [[NAN, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    matrices.append(torch.stack([torch.zeros(3, 3), torch.eye(3), torch.ones(3, 3), torch.tensor(rows)]).to(dtype))

    def program(*matrices):
        found = []
        for a in matrices:
            for uplo in "LU" if a.ndim == 3 else "U":
                w, v = linalg.eigh(a, uplo)
                found += [
                    w,
                    unit(v),
                    linalg.eigvalsh(a) if a.shape[-1] == 5 else w,
                    (v * w.to(v.dtype)[..., None, :]) @ v.mH,
                ]
        return found

    check_program(program, *matrices)


def test_gradients_and_errors_of_singular_values():
    torch.manual_seed(5)

    def program(a, h):
        a, h = a.detach().requires_grad_(), h.detach().requires_grad_()
        u, s, vh = linalg.svd(a, full_matrices=False)
        w, v = linalg.eigh(h)
        loss = (u @ vh).sin().sum() + s.square().sum() + (v * w.cos()) @ v.mT
        loss.sum().backward()
        return [a.grad, h.grad]

    check_program(program, torch.randn(4, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64))
    for values in [[1.0, NAN], [2.0, 3.0]], [[INF, 1.0], [2.0, 3.0]]:
        a = torch.stack([torch.eye(2), torch.tensor(values)]).to("xla")
        with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 1\).*non-finite values"):
            linalg.svdvals(a).cpu()


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_least_squares(dtype):
    torch.manual_seed(5)
    pairs = [((5, 3), (5, 2)), ((2, 2, 3), (2, 2, 1))] + [((0, 2), (0, 1))] * (not dtype.is_complex)
    inputs = [torch.randn(*shape, dtype=dtype) for pair in pairs for shape in pair]

    def program(*inputs):
        drivers = ("gels", "gelsy") if dtype.is_complex else ("gels", "gelss")
        pairs = list(zip(inputs[::2], inputs[1::2]))
        return [t for (a, b), driver in zip(pairs, drivers * 2) for t in linalg.lstsq(a, b, driver=driver)] + [
            linalg.lstsq(inputs[2], inputs[3], driver="gels").solution
        ]

    check_program(program, *inputs)


def test_least_squares_of_deficient_matrices():
    a = torch.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1], [2, 2, 4]], dtype=torch.float64)
    b = torch.arange(8, dtype=torch.float64).view(4, 2).sin()
    check_program(lambda a, b: [t for t in linalg.lstsq(a, b, driver="gelsd")], a, b)
    with pytest.raises(linalg.LinAlgError, match="does not have full rank"):
        linalg.lstsq(torch.zeros(2, 2, device="xla"), torch.ones(2, 1, device="xla"), driver="gels").solution.cpu()
    with pytest.raises(linalg.LinAlgError, match="non-finite"):
        linalg.lstsq(torch.full((2, 2), NAN, device="xla"), torch.ones(2, 1, device="xla")).solution.cpu()
    with pytest.raises(RuntimeError, match="parameter `driver` should be one of"):
        linalg.lstsq(torch.eye(2, device="xla"), torch.ones(2, 1, device="xla"), driver="gel")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_fourier_transforms(dtype):
    torch.manual_seed(6)
    inputs = [torch.randn(3, n, dtype=dtype) for n in ((1, 7) if dtype == torch.float64 else (2, 12))]
    inputs += [torch.complex(x, x.flip(0)) for x in inputs]

    def program(*inputs):
        found = {}
        for i, x in enumerate(inputs):
            for norm in "backward", "forward", "ortho":
                names = ["fft", "ifft", "hfft", "irfft"] + ([] if x.is_complex() else ["rfft", "ihfft"])
                for name in names:
                    if name in ("hfft", "irfft") and x.shape[1] == 1:
                        continue
                    found[f"{name} {norm} {i}"] = getattr(torch.fft, name)(x, norm=norm)
            found[f"axis {i}"], found[f"longer {i}"] = torch.fft.fft(x, dim=0), torch.fft.fft(x.t(), n=5, dim=0)
            found[f"2 {i}"], found[f"odd {i}"] = torch.fft.fft2(x), torch.fft.irfft(x, n=5)
        return found

    check_program(program, *inputs)


def test_gradients_of_fourier_transforms():
    def program(x):
        x = x.detach().requires_grad_()
        torch.fft.irfft(torch.fft.rfft(x).abs().to(torch.complex128), n=5).square().sum().backward()
        return [x.grad]

    check_program(program, torch.arange(12.0, dtype=torch.float64).view(2, 6).sin())


def test_distinct_elements():
    floats = torch.tensor([3.0, NAN, -0.0, 1.0, 0.0, 3.0, NAN, -INF, 3.0])
    inputs = [floats, torch.tensor([[2, 1, 2], [0, 1, 0]]), torch.tensor([True, False]), floats[:0]]
    table = torch.tensor([[1, 2, 0], [0, 5, 1], [1, 2, 0], [1, 1, 9], [0, 5, 1]])

    def program(table, *inputs):
        found = []
        for x in inputs:
            found += [x.unique(), *x.unique(return_inverse=True, return_counts=True)]
        found += [*floats.to(x.device).unique_consecutive(return_inverse=True, return_counts=True)]
        for dim in 0, 1:
            found += [
                *table.unique(dim=dim, return_inverse=True, return_counts=True),
                table.unique_consecutive(dim=dim),
            ]
        return found

    check_program(program, table, *inputs)


def test_mode():
    x = torch.tensor([[3.0, 1, 3, 1, 2], [NAN, 5, NAN, 5, NAN], [0.0, -0.0, 7, 6, 5], [4, 3, 2, 1, 0]])
    check_program(lambda x, i: [*x.mode(1), *x.mode(0), *x[:, :1].mode(1), *i.mode(), *(x > 2).mode(1)], x, x[0].long())
