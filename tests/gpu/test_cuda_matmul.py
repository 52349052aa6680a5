"""Matrix products on a CUDA device against the CPU: every function, dtype, layout and gradient. On a GPU, or
emulated."""

import subprocess
import sys

import cuda_device
import pytest
import strided as torch

pytestmark = cuda_device.needs(1)
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
EPS = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12, "complex64": 4e-5, "complex128": 1e-12}


def operand(dtype, *shape):
    dtype = getattr(torch, dtype)
    if dtype.is_floating_point:
        return (torch.rand(shape, dtype=torch.float64) - 0.5).to(dtype)
    if dtype.is_complex:
        return torch.complex(
            torch.rand(shape, dtype=torch.float64) - 0.5, torch.rand(shape, dtype=torch.float64) - 0.5
        ).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)


def close(got, want):
    assert got.device.type == "cuda" and got.dtype == want.dtype and got.shape == want.shape
    name = str(want.dtype)[6:]
    got = got.cpu()
    if name not in EPS:
        assert got.tolist() == want.tolist()
        return
    wide = torch.complex128 if want.is_complex() else torch.float64
    error = (got.to(wide) - want.to(wide)).abs().max().item() if want.numel() else 0
    assert error <= EPS[name] * (1 + want.to(wide).abs().max().item() if want.numel() else 1), error


def on_both(f, *tensors):
    close(f(*(t.cuda() for t in tensors)), f(*tensors))


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_of_every_kind(dtype):
    shapes = [((5,), (5,)), ((4, 5), (5,)), ((5,), (5, 3)), ((4, 5), (5, 3)), ((2, 4, 5), (5, 3)), ((2, 4, 5), (5,)),
        ((5,), (2, 5, 3)),
              ((2, 1, 4, 5), (3, 5, 6)), ((33, 40), (40, 65)), ((0, 5), (5, 3)), ((4, 0), (0, 3)), ((70, 20), (20, 1)),
              ((1, 300), (300, 1))]  # fmt: skip
    for a, b in shapes:
        on_both(torch.matmul, operand(dtype, *a), operand(dtype, *b))


@pytest.mark.parametrize("dtype", ["int16", "bfloat16", "float32", "float64", "complex64"])
def test_layouts(dtype):
    a, b = operand(dtype, 40, 24), operand(dtype, 24, 56)
    for left in (
        a,
        a.t().contiguous().t(),
        operand(dtype, 24, 40).t()[::-1],
        operand(dtype, 80, 48)[::2, ::2],
        operand(dtype, 1, 24).expand(40, 24),
    ):
        for right in (b, b.t().contiguous().t(), operand(dtype, 24, 57)[:, 1:], operand(dtype, 24, 1).expand(24, 56)):
            on_both(torch.mm, left, right)
    batch = operand(dtype, 3, 24, 2, 40)
    on_both(torch.matmul, batch.permute(2, 0, 3, 1), operand(dtype, 2, 1, 24, 9))


def every_tile(dtype, tiles):
    force = torch._C.functions["_cuda_force_gemm_tile"]
    shapes = (
        [(40, 24, 56), (130, 70, 260)]
        if cuda_device.emulated()
        else [(40, 24, 56), (130, 70, 260), (1000, 1030, 777), (256, 4096, 512)]
    )
    try:
        for tile in tiles:
            force(tile)
            for m, k, n in shapes:
                a, b = operand(dtype, m, k), operand(dtype, k, n)
                try:
                    on_both(torch.mm, a, b)
                except ValueError as error:  # the table is shorter, for this dtype or on this device
                    assert "was asked for" in str(error) and tile > 1
                    break
                on_both(torch.mm, operand(dtype, k, m).t(), operand(dtype, n, k).t())
    finally:
        force(-1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int32"])
def test_every_tile(dtype):
    every_tile(dtype, range(3))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_tiles_that_no_gpu_has_run(dtype):
    """In a process of their own: a fault of the device ends a process's use of it."""
    code = f"import sys; sys.path[:] = {sys.path!r}; import test_cuda_matmul as t; t.every_tile({dtype!r}, range(3, 8))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_views_keep_their_strides_on_the_device():
    x = torch.rand(40, 24).cuda()
    y = torch.rand(48, 40).cuda()[::2, ::-1].t()  # negative and double steps, transposed
    close(x.t() @ y, x.cpu().t() @ y.cpu())


def test_named_functions():
    v, w, m, n, s = (operand("float64", *shape) for shape in ((6,), (4,), (4, 6), (6, 5), (4, 5)))
    b, c, d = operand("float64", 3, 4, 6), operand("float64", 3, 6, 5), operand("float64", 3, 4, 5)
    on_both(torch.dot, v, v)
    on_both(torch.vdot, v, v)
    on_both(torch.mv, m, v)
    on_both(torch.mm, m, n)
    on_both(torch.bmm, b, c)
    on_both(torch.inner, m, m)
    on_both(torch.outer, v, w)
    on_both(torch.kron, m, n)
    close(torch.linalg.multi_dot([m.cuda(), n.cuda(), s.t().cuda()]), torch.linalg.multi_dot([m, n, s.t()]))
    on_both(lambda a, x, y: torch.addmm(a, x, y, beta=0.5, alpha=2), s, m, n)
    on_both(lambda a, x, y: torch.addmm(a, x, y, beta=0), torch.full((4, 5), float("nan"), dtype=torch.float64), m, n)
    on_both(lambda a, x, y: torch.addmv(a, x, y, beta=0.5, alpha=2), w, m, v)
    on_both(lambda a, x, y: torch.baddbmm(a, x, y, beta=0.5, alpha=2), d, b, c)
    on_both(lambda a, x, y: torch.addbmm(a, x, y), s, b, c)
    on_both(lambda x, y: torch.tensordot(x, y, dims=([1, 2], [1, 0])), b, operand("float64", 6, 4, 7))
    on_both(lambda x, y: torch.einsum("bij,bjk->ik", x, y), b, c)
    on_both(lambda x, y: torch.einsum("ij,kj->ikj", x, y), m, m)
    on_both(lambda x: torch.linalg.matrix_power(x, 5), operand("float64", 5, 5))
    on_both(torch.linalg.vecdot, m, m)
    on_both(torch.trace, m)


def test_out_and_in_place():
    a, b = torch.rand(20, 30), torch.rand(30, 10)
    out = torch.zeros(10, 20).cuda().t()
    torch.mm(a.cuda(), b.cuda(), out=out)
    close(out, a @ b)
    c = torch.rand(20, 10)
    d = c.cuda()
    d.addmm_(a.cuda(), b.cuda(), beta=2, alpha=0.5)
    close(d, 2 * c + 0.5 * (a @ b))


def test_integers_wrap_as_on_the_cpu():
    a = torch.full((9, 70), 127, dtype=torch.int8)
    on_both(torch.mm, a, a.t())
    x = torch.full((33, 40), 2**62 + 3, dtype=torch.int64)
    on_both(torch.mm, x, x.t())


def test_gradients():
    for f, shapes in (
        (torch.matmul, ((3, 4, 5), (5, 6))),
        (torch.mv, ((4, 5), (5,))),
        (torch.dot, ((5,), (5,))),
        (torch.addmm, ((4, 6), (4, 5), (5, 6))),
    ):
        host = [operand("float64", *s).requires_grad_() for s in shapes]
        device = [h.detach().cuda().requires_grad_() for h in host]
        f(*host).sin().sum().backward()
        f(*device).sin().sum().backward()
        for h, d in zip(host, device):
            close(d.grad, h.grad)
    a, b = (operand("float64", *s).cuda().requires_grad_() for s in ((3, 4), (4, 2)))
    assert torch.autograd.gradcheck(torch.mm, (a, b)) and torch.autograd.gradgradcheck(torch.mm, (a, b))


def test_what_does_not_fit_is_told_as_on_the_cpu():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.rand(2, 3).cuda() @ torch.rand(2, 3).cuda()
    with pytest.raises(RuntimeError, match="same device"):
        torch.rand(2, 3).cuda() @ torch.rand(3, 3)


def test_tf32_only_when_asked_for():
    assert torch.get_float32_matmul_precision() == "highest" and not torch.backends.cuda.matmul.allow_tf32
    a, b = torch.rand(64, 64), torch.rand(64, 64)
    exact = a.double() @ b.double()

    def error():
        return ((a.cuda() @ b.cuda()).cpu().double() - exact).abs().max().item()

    assert error() < 1e-4
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        assert 1e-4 < error() < 1e-1
        torch.set_float32_matmul_precision("highest")
        assert not torch.backends.cuda.matmul.allow_tf32 and error() < 1e-4
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(ValueError, match="precision must be"):
        torch.set_float32_matmul_precision("low")
