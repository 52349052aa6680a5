"""What a device is asked first: one operation of each family, beside the same on the CPU (`run.py first`).

A check gives (got, wanted) or (got, wanted, absolute tolerance), or a list of such; each runs in a process of its own.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

BASIC = ("a copy there and back", "a launch")  # without these nothing has a meaning
CHECKS = {}


def check(name):
    def keep(f):
        CHECKS[name] = f
        return f

    return keep


def both(torch, work, *tensors):
    return work(*(t.cuda() for t in tensors)), work(*tensors)


@check("a copy there and back")
def _(torch):
    x = torch.arange(6.0)
    return x.cuda().cpu(), x


@check("a launch")
def _(torch):
    return both(torch, lambda x: x + 1, torch.arange(6.0))


@check("views, 16 bytes at a time and not")
def _(torch):
    x = torch.arange(4096.0).reshape(64, 64)
    cuts = (lambda t: t, lambda t: t.t()[::2], lambda t: t[1:, 1:], lambda t: t.reshape(-1)[1:], lambda t: t[0])
    return [both(torch, lambda t, cut=cut: cut(t) * 2 + 1, x) for cut in cuts]


@check("conversions and a transposition")
def _(torch):
    x = torch.arange(5000.0).reshape(50, 100)
    kinds = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64)
    return [both(torch, lambda t: t.t().contiguous(), x)] + [both(torch, lambda t, k=k: t.to(k), x) for k in kinds]


@check("functions of elements")
def _(torch):
    x = torch.linspace(0.1, 3, 3000)
    names = ("exp", "log", "sin", "tanh", "erf", "lgamma", "sqrt", "rsqrt")
    return [both(torch, lambda t, n=n: getattr(torch, n)(t), y) for n in names for y in (x, x.double())]


@check("reductions")
def _(torch):
    x = torch.randn(300, 700)
    works = (
        lambda t: t.sum(), lambda t: t.sum(0), lambda t: t.mean(1), lambda t: t.amax(1), lambda t: t.argmax(0),
        lambda t: t.double().var(1), lambda t: t.logsumexp(1), lambda t: (t > 0).all(1),
    )  # fmt: skip
    large = torch.arange(1 << 20)
    return [both(torch, work, x) for work in works] + [both(torch, lambda t: t.sum(), large)]


@check("scans")
def _(torch):
    x, long = torch.randn(40, 50).double(), torch.arange(1 << 20)
    works = (lambda t: t.cumsum(1), lambda t: t.cumsum(0), lambda t: t.cummax(1).values, lambda t: t.logcumsumexp(1))
    return [both(torch, work, x) for work in works] + [both(torch, lambda t: t.cumsum(0), long)]


@check("softmax")
def _(torch):
    works = (lambda t: t.softmax(1), lambda t: t.log_softmax(0))
    return [both(torch, work, torch.randn(*shape)) for work in works for shape in ((50, 33), (4, 9000))]


@check("sorts")
def _(torch):
    pairs = []
    for n in (100, 100_000):
        for x in (torch.randint(0, 50, (n,)), torch.randn(n), torch.randn(n).half()):
            pairs += [both(torch, lambda t: t.sort(stable=True).values, x)]
            pairs += [both(torch, lambda t: t.sort(stable=True, descending=True).indices, x)]
    return pairs


@check("selection, unique, searches")
def _(torch):
    x = torch.randint(0, 1000, (50_000,)).float()
    works = (
        lambda t: t.topk(20).values, lambda t: t.kthvalue(77).values, lambda t: t.median(), lambda t: t.unique(),
        lambda t: torch.searchsorted(t.sort().values, t[:100]), lambda t: torch.isin(t, t[:50]),
    )  # fmt: skip
    return [both(torch, work, x) for work in works]


@check("indices and masks")
def _(torch):
    x, at = torch.randn(500, 30), torch.randint(0, 500, (2000,))
    works = (
        lambda t, i: t[i], lambda t, i: t.index_add(0, i, t[i]), lambda t, i: t.index_put((i,), t[i]),
        lambda t, i: t[t > 0], lambda t, i: t.nonzero(), lambda t, i: torch.where(t > 0, t, -t),
        lambda t, i: t.long().scatter_reduce(0, i[:500].reshape(-1, 1).expand(500, 30), t.long(), "amax"),
    )  # fmt: skip
    return [both(torch, work, x, at) for work in works]


@check("random numbers")
def _(torch):
    u, n = torch.rand(100_000, device="cuda"), torch.randn(100_000, device="cuda")
    kept = torch.randperm(5000, device="cuda").sort().values
    inside = (u >= 0).all() & (u < 1).all()
    wanted = torch.tensor([0.5, 0.0, 1.0])
    return [
        (inside, torch.tensor(True)),
        (torch.stack([u.mean(), n.mean(), n.std()]), wanted, 2e-2),
        (kept, torch.arange(5000)),
    ]


def product(dtype):
    def work(torch):
        pairs = []
        for m, n, k in ((5, 7, 6), (130, 70, 65), (300, 1, 500), (512, 1024, 512)):
            a, b = torch.randn(m, k).to(getattr(torch, dtype)), torch.randn(k, n).to(getattr(torch, dtype))
            wide = torch.complex128 if a.is_complex() else torch.float64
            most = 0.02 * k**0.5 if a.itemsize == 2 else 1e-3  # results are rounded to the dtype
            pairs.append(((a.cuda() @ b.cuda()).to(wide), a.to(wide) @ b.to(wide), most))
            pairs.append(((a.cuda() @ b.t().contiguous().t().cuda()).to(wide), a.to(wide) @ b.to(wide), most))
        return pairs

    return work


for _dtype in ("float32", "float64", "complex64", "float16", "bfloat16"):
    CHECKS[f"products of {_dtype}"] = product(_dtype)


@check("products of integers, and many small ones")
def _(torch):
    a, many = torch.randint(-5, 5, (100, 90)), torch.randn(500, 8, 8)
    return [both(torch, lambda t: t @ t.t(), a), both(torch, lambda t: t @ t, many)]


@check("linear systems")
def _(torch):
    pairs = []
    for n in (6, 30, 100, 400):
        a, b = (torch.eye(n) * n + torch.randn(n, n)).double(), torch.randn(n, 3).double()
        pairs.append(both(torch, torch.linalg.solve, a, b))
        pairs.append(both(torch, torch.linalg.cholesky, a @ a.t()))
    return pairs


@check("decompositions (cuSOLVER)")
def _(torch):
    a = torch.randn(40, 30).double()
    h = a.t() @ a
    return [
        both(torch, lambda t: torch.linalg.qr(t).R.abs(), a),
        both(torch, torch.linalg.svdvals, a),
        both(torch, torch.linalg.eigvalsh, h),
    ]


@check("Fourier transforms (cuFFT)")
def _(torch):
    x = torch.randn(20, 60)
    return [both(torch, torch.fft.fft, x), both(torch, lambda t: torch.fft.irfft(torch.fft.rfft(t)), x)]


@check("streams, events and page-locked memory")
def _(torch):
    x = torch.arange(100_000.0).pin_memory()
    side, begin, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(side):
        begin.record()
        y = x.to("cuda", non_blocking=True) * 2
        end.record()
    torch.cuda.current_stream().wait_stream(side)
    y.record_stream(torch.cuda.current_stream())
    z = y + 1
    end.synchronize()
    return [(z, x * 2 + 1), (torch.tensor(begin.elapsed_time(end) >= 0), torch.tensor(True))]


@check("a graph")
def _(torch):
    x = torch.ones(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x * 2).cumsum(0)
    x.fill_(3)
    graph.replay()
    return y, torch.full((1000,), 6.0).cumsum(0)


@check("a step of training")
def _(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 5))
    twin, x = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 5)), torch.randn(64, 20)
    twin.load_state_dict(model.state_dict())
    twin.cuda()
    for m, there in ((model, x), (twin, x.cuda())):
        optimizer = torch.optim.Adam(m.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            m(there).square().mean().backward()
            optimizer.step()
    return [(q.detach(), p.detach()) for p, q in zip(model.parameters(), twin.parameters())]


@check("a file")
def _(torch):
    x = torch.randn(10, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        torch.save(x, Path(folder) / "x.pt")
        return torch.load(Path(folder) / "x.pt"), x.cpu()


if "STRIDED_EMULATE_CUDA" not in os.environ:  # an emulated device runs no machine code

    @check("a kernel of the user (NVRTC)")
    def _(torch):
        x = torch.arange(1000.0)
        return torch.cuda.ElementwiseKernel("T x, T a", "T z", "z = a * x + 1")(x.cuda(), 2.0), x * 2 + 1


def run(name: str) -> int:
    """0, or 1 and what is wrong, said."""
    import strided as torch

    torch.manual_seed(0)
    found = CHECKS[name](torch)
    torch.cuda.synchronize()
    for got, wanted, *tolerance in found if isinstance(found, list) else [found]:
        atol = tolerance[0] if tolerance else 1e-3
        kind = torch.complex128 if wanted.is_complex() else torch.float64
        here, wanted = got.cpu().to(kind), wanted.cpu().to(kind)
        if here.shape != wanted.shape:
            print(f"shape {tuple(here.shape)} instead of {tuple(wanted.shape)}")
            return 1
        bad = ~torch.isclose(here, wanted, rtol=1e-3, atol=atol, equal_nan=True)
        if bad.any():
            at = bad.reshape(-1).nonzero()[0, 0].item()
            one, other = here.reshape(-1)[at].item(), wanted.reshape(-1)[at].item()
            print(f"{int(bad.sum())} of {bad.numel()} numbers differ, number {at} is {one} instead of {other}")
            return 1
    return 0
