"""Decompositions on a CUDA device against the CPU: values, what defines them, errors and when they are raised,
gradients."""

import os
import sys
import threading
from pathlib import Path

import cuda_device
import numpy as np
import pytest
import strided as torch
from cuda_matrices import DTYPES, EPS, LA, close, matrices, raised

pytestmark = cuda_device.needs(1)
REAL = {"complex64": "float32", "complex128": "float64"}
SHAPES = [(1, 1), (4, 4), (6, 3), (3, 6), (3, 5, 5), (2, 2, 7, 4), (3, 4, 7), (40, 33), (2, 33, 40)]
SQUARES = [(1, 1), (2, 2), (5, 5), (3, 4, 4), (2, 2, 3, 3), (40, 40), (2, 36, 36)]
DRIVERS = [None, "gesvd", "gesvdj", "gesvda"]


def sample(shape, dtype, seed=0):
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=getattr(torch, dtype))


def same(f, *args):
    close(f(*[a.cuda() for a in args]), f(*args))


def is_unitary(q, dtype):
    q = q.cpu().to(torch.complex128).numpy()
    got = np.conj(q.swapaxes(-1, -2)) @ q
    np.testing.assert_allclose(got, np.broadcast_to(np.eye(q.shape[-1]), got.shape), atol=EPS[dtype] * 10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_qr(shape, dtype):
    a = sample(shape, dtype)
    for mode in ("reduced", "complete"):
        q, r = LA.qr(a.cuda(), mode)
        is_unitary(q, dtype)
        assert q.is_cuda and q.shape == LA.qr(a, mode).Q.shape and not r.tril(-1).any()
        close(q @ r, a)
        close(r.abs(), LA.qr(a, mode).R.abs())
    packed, tau = torch.geqrf(a.cuda())
    k = min(shape[-2:])
    q = LA.qr(a.cuda(), "complete").Q
    close(LA.householder_product(packed[..., :k], tau), q[..., :k].cpu())
    for left in (True, False):
        c = sample((*shape[:-2], *((shape[-2], 2) if left else (2, shape[-2]))), dtype, 1).cuda()
        for transpose in (True, False):
            op = q.mH if transpose else q
            close(torch.ormqr(packed[..., :k], tau, c, left, transpose), (op @ c if left else c @ op).cpu())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("driver", DRIVERS)
def test_svd(shape, dtype, driver):
    a = sample(shape, dtype)
    for full in (False, True):
        if full and driver == "gesvda" and shape[-1] != shape[-2]:
            kind, words = raised(lambda: LA.svd(a.cuda(), True, driver=driver))
            assert kind is NotImplementedError or "full_matrices must be False" in words
            continue
        u, s, vh = LA.svd(a.cuda(), full, driver=driver)
        is_unitary(u, dtype)
        is_unitary(vh.mH, dtype)
        k = s.shape[-1]
        close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)
        close(s, LA.svdvals(a))
        assert u.shape == LA.svd(a, full).U.shape and vh.shape == LA.svd(a, full).Vh.shape
    close(LA.svdvals(a.cuda(), driver=driver), LA.svdvals(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_eigenvalues(shape, dtype):
    a = sample(shape, dtype)
    h = a + a.mH
    for uplo in "LU":
        w, v = LA.eigh(h.cuda(), uplo)
        is_unitary(v, dtype)
        close(w, LA.eigvalsh(h, uplo))
        close(h.cuda() @ v, (v * w.unsqueeze(-2)).cpu())
        close(LA.eigvalsh(h.cuda(), uplo), LA.eigvalsh(h, uplo))
    w, v = LA.eig(a.cuda())
    close(a.cuda().to(v.dtype) @ v, (v * w.unsqueeze(-2)).cpu())
    close(LA.vector_norm(v, dim=-2), torch.ones(w.shape, dtype=w.real.dtype))
    if "64" in dtype or "128" in dtype:  # sorted by size, of which random ones are apart
        got, want = (LA.eigvals(x).abs().sort()[0] for x in (a.cuda(), a))
        close(got, want)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_ldl(shape, hermitian, dtype):
    a = sample(shape, dtype)
    a = a + (a.mH if hermitian else a.mT)
    b = sample((*shape[:-1], 3), dtype, 1)
    ld, pivots, info = LA.ldl_factor_ex(a.cuda(), hermitian=hermitian)
    assert not info.any() and ld.is_cuda and pivots.is_cuda
    x = LA.ldl_solve(ld, pivots, b.cuda(), hermitian=hermitian)
    close(a.cuda() @ x, b)
    same(lambda a, b: LA.ldl_solve(*LA.ldl_factor(a, hermitian=hermitian), b, hermitian=hermitian), a, b)


def test_what_is_made_of_these():
    for shape in ((4, 4), (6, 3), (3, 6), (2, 5, 4)):
        a, b = sample(shape, "float64"), sample((*shape[:-1], 2), "float64", 1)
        for f in (
            LA.pinv, LA.matrix_rank, LA.cond, lambda a: LA.matrix_norm(a, 2), lambda a: LA.matrix_norm(a, "nuc"),
            lambda a: LA.pinv(a, rtol=0.1),
            lambda a: torch.svd(a)[1], torch.pinverse,
        ):  # fmt: skip
            same(f, a)
        if shape[-2] >= shape[-1]:
            same(lambda a, b: LA.lstsq(a, b).solution, a, b)
    s = matrices(2, 4, 4)
    same(lambda s: LA.pinv(s + s.mH, hermitian=True), s)
    same(LA.matrix_exp, s)


def test_half_precision_is_computed_in_float32():
    for dtype in ("float16", "bfloat16"):
        a = matrices(3, 5, 5).to(getattr(torch, dtype))
        same(LA.svdvals, a)
        same(lambda a: LA.eigvalsh(a + a.mT), a)


def test_views():
    a = matrices(4, 6, 6)
    for view in (
        lambda t: t.mT,
        lambda t: t[::2],
        lambda t: t.flip(0),
        lambda t: t[:, ::-1, 1:],
        lambda t: t[:1].expand(3, -1, -1),
        lambda t: t[0],
    ):
        same(lambda t: LA.svdvals(view(t)), a)
        same(lambda t: LA.qr(view(t)).R.abs(), a)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 3, 3), (2, 0, 4)], ids=str)
def test_no_elements(shape):
    a = sample(shape, "float64")
    for f in (LA.svd, lambda a: LA.svd(a, full_matrices=False), LA.qr, lambda a: LA.qr(a, "complete"), LA.svdvals):
        same(f, a)
    if shape[-1] == shape[-2]:
        same(LA.eigh, a)
        same(LA.eig, a)


def test_errors_and_when_they_are_raised():
    bad = torch.eye(3).expand(4, 3, 3).clone()
    bad[2, 0, 1] = float("nan")
    for f in (LA.svd, LA.svdvals):
        want = raised(f, bad)
        f(bad.cuda())  # nobody waits for the device
        assert want[0] is LA.LinAlgError and "(Batch element 2)" in want[1] and raised(torch.cuda.synchronize) == want
        torch.cuda.synchronize()
    assert raised(LA.eigvals, bad.cuda()) == raised(LA.eigvals, bad)
    w = LA.eigvalsh(bad.mT.cuda())
    assert w.isnan().any(-1).tolist() == [False, False, True, False]
    torch.cuda.synchronize()
    a = sample((3, 3), "float64").cuda()
    assert "unknown svd driver" in raised(lambda: LA.svd(a, driver="gesdd"))[1]


GRADIENTS = {
    "qr": lambda a: LA.qr(a),
    "svd": lambda a: (lambda u, s, vh: (s, (u * (s**2).unsqueeze(-2)) @ vh))(*LA.svd(a, full_matrices=False)),
    "svdvals": LA.svdvals,
    "eigh": lambda a: (lambda w, v: (w, (v * (w**2).unsqueeze(-2)) @ v.mH))(*LA.eigh(a + a.mH)),
    "eigvalsh": lambda a: LA.eigvalsh(a + a.mH),
    "eig": lambda a: (lambda w, v: torch.view_as_real((v * (w**2).unsqueeze(-2)) @ LA.inv(v)))(*LA.eig(a)),
    "pinv": LA.pinv,
    "lstsq": lambda a: LA.lstsq(a, a[..., :2] + 1).solution,
    "cond": LA.cond,
    "householder_product": lambda a: LA.householder_product(a, a[..., 0, :] / 8),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients(name, dtype):
    a = matrices(2, 4, 4, dtype=dtype)
    grads = []
    for x in (a.clone().requires_grad_(), a.cuda().requires_grad_()):
        out = GRADIENTS[name](x)
        # Signs and phases of columns of Q are not determined.
        total = sum(
            (y.abs() ** 2 * torch.arange(1, y.numel() + 1, device=y.device).reshape(y.shape)).sum()
            for y in (out if isinstance(out, tuple) else (out,))
        )
        grads.append(torch.autograd.grad(total, x)[0])
    close(grads[1], grads[0])


def test_streams_and_threads():
    a = matrices(6, 5, 5)
    want, failed = LA.svdvals(a), []

    def work():
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(5):
                    close(LA.svdvals(a.cuda()), want)
                    LA.eig(a.cuda())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


@cuda_device.needs(2)
def test_second_device():
    a = matrices(3, 5, 5)
    s = LA.svdvals(a.to("cuda:1"))
    assert s.device.index == 1
    np.testing.assert_allclose(s.cpu().numpy(), LA.svdvals(a).numpy())
    close(LA.svdvals(a.cuda()), LA.svdvals(a))


def test_without_it():
    """One error that names the function and says what to install; what needs none of it works on."""
    code = """
import strided as torch
a = torch.eye(3).cuda()
try:
    torch.linalg.svd(a)
except RuntimeError as error:
    print(error)
print(torch.linalg.det(a).item())
"""
    words = cuda_device.run(code, STRIDED_CUSOLVER_LIBRARY="/nowhere/libcusolver.so")
    assert (
        words.startswith("linalg.svd on device 'cuda' needs cuSOLVER of CUDA 1")
        and "Install it by: pip install " in words
        and words.endswith("\n1.0\n")
    )


@pytest.mark.skipif(not cuda_device.emulated(), reason="needs the emulated cuSOLVER of former times")
@pytest.mark.parametrize(
    "found, words",
    [("path", "has no eigenvalues of general matrices"), ("1 / 0", "no error\n"), ("None", "no error\n")],
)
def test_the_one_that_is_found_is_opened(found, words):
    library = os.environ.get("STRIDED_CUDA_LIBRARY") or torch._C.__file__
    old = Path(library).with_name("libcusolver_emulated_old.so")
    code = f"""
import threading
import strided as torch
path = {str(old)!r}
torch._C.set_hook("find_nvidia_library", lambda name, cuda: {found})
def work():
    try:
        torch.linalg.eigvals(torch.eye(3).cuda())
        print("no error")
    except NotImplementedError as error:
        print(error)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    assert words in cuda_device.run(code)


def no_toolkit(monkeypatch, folder):
    """None but what a test puts into the folder."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("strided.cuda._nvidia._INSTALLED", str(folder / "cuda"))


def test_it_is_found_in_a_toolkit(tmp_path, monkeypatch):
    from strided.cuda import _nvidia

    no_toolkit(monkeypatch, tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    for toolkit, version in (("cuda-12.4", 11), ("cuda-12.8", 11), ("cuda", 12), ("named", 12)):
        file = tmp_path / toolkit / "lib64" / f"libcusolver.so.{version}"
        file.parent.mkdir(parents=True)
        file.touch()
        if toolkit != "named":  # of several the newest
            assert _nvidia.find("cusolver", version + 1) == str(file)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "named"))
    assert _nvidia.find("cusolver", 13) == str(file)
    assert _nvidia.find("cufft", 13) == ""


def test_it_is_found_where_pip_puts_it(tmp_path, monkeypatch):
    from strided.cuda import _nvidia

    no_toolkit(monkeypatch, tmp_path)
    for name in ("cusolver", "cufft"):
        for cuda, folder in ((12, name), (13, "cu13")):
            monkeypatch.setattr(sys, "path", [str(tmp_path)])
            monkeypatch.delitem(sys.modules, "nvidia", raising=False)
            assert _nvidia.find(name, cuda) == ""
            file = tmp_path / "nvidia" / folder / "lib" / f"lib{name}.so.{cuda - 1}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            assert _nvidia.find(name, cuda) == str(file)
    assert "nvidia" not in sys.modules
