"""What programs do with tensors, for type checkers: test_stubs.py has mypy read this file, and runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided as torch
from strided import Tensor
from strided.autograd import Function

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: Any, kind: Any) -> Any:
        return value


def creation() -> Tensor:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, device="cpu", requires_grad=True)
    b = torch.zeros(2, 3) + torch.ones((2, 3), dtype=torch.float32) + torch.empty(2, 3).fill_(0)
    c = torch.full((2,), 7, dtype=int) + torch.arange(2) + torch.arange(0, 2, 1, dtype=torch.int64)
    d = torch.linspace(0, 1, steps=5) + torch.eye(5)[0] + torch.zeros_like(torch.rand(5), dtype=torch.float)
    e = torch.randint(0, 10, (3,)) + torch.randint(10, size=(3,)) + torch.randperm(3)
    f = torch.randn(2, 2, generator=torch.Generator().manual_seed(0))
    g = torch.as_tensor(a.detach().numpy()) + torch.from_numpy(a.detach().numpy())
    assert_type(a, Tensor)
    assert_type(a.shape, torch.Size)
    assert_type(a.dtype, torch.dtype)
    assert_type(a.device, torch.device)
    assert_type(torch.float32.itemsize, int)
    for x in (b, c, d, e, f, g):
        assert x.numel() > 0
    rows, columns = a.shape
    assert rows * columns == a.size(0) * a.size(-1) == len(a) * a.stride(0)
    return torch.tensor(3, device=torch.device("cpu"))


def arithmetic(x: Tensor, y: Tensor) -> Tensor:
    z = 2 * x + y / 3 - x**2 + 1.5 - (-y) + abs(x) % 2 + x // 2 + x @ y
    z += 1
    z *= x
    mask = (x > 0) & ~(y <= 1) | (x == y)
    assert_type(mask, Tensor)
    assert_type(x == y, Tensor)
    z = torch.where(mask, z, 0.0) + torch.where(mask, x, y)
    total: float = x.sum().item() + float(y.mean())
    assert total > -1e9 and bool(mask.any()) in (True, False) and int(mask.sum()) >= 0
    return torch.add(x, y, alpha=2).mul_(2).clamp(min=0).clamp(0, 1e9) + torch.pow(2, x) + torch.maximum(x, y) + z


def methods(x: Tensor) -> Tensor:
    assert_type(x.sum(), Tensor)
    y = (
        x.sum(0).unsqueeze(0)
        + x.sum(dim=(0, 1), keepdim=True)
        + x.mean(-1, keepdim=True)
        + x.std()
        + x.var(0, correction=0)
    )
    y = y.exp().log().relu().sigmoid().view(-1).reshape(2, 2).view(2, -1).t().permute(1, 0).transpose(0, 1).contiguous()
    y = y.expand(2, 2, 2).squeeze().flatten(1).to(torch.float64).to("cpu").float().long().double().type(torch.float32)
    parts = y.split(1) + y.chunk(2)
    assert_type(parts, tuple[Tensor, ...])
    assert_type(torch.cat(parts), Tensor)
    assert_type(torch.stack([p for p in y]), Tensor)
    return torch.cat([*parts, y], dim=0).softmax(dim=-1).cumsum(0).flip(0).sort(descending=True).values


def indexing(x: Tensor) -> Tensor:
    index = torch.tensor([0, 1])
    y = x[0] + x[0, 1] + x[:, None, ...][-1] + x[::2, 1:] + x[index] + x[index, index] + x[[0, 1]] + x[x > 0].sum()
    x[0, 0] = 1.0
    x[:, 1] = x[:, 0]
    x[x < 0] = 0
    return y.gather(1, torch.zeros(2, 1, dtype=torch.long)).index_select(0, index).masked_fill(y[:, :1] > 0, 0)


def named_tuples(x: Tensor) -> Tensor:
    assert_type(torch.max(x), Tensor)
    assert_type(x.max(), Tensor)
    assert_type(torch.max(x, x), Tensor)
    assert_type(torch.max(x, 1), torch.return_types.max)
    values, indices = x.max(dim=1, keepdim=True)
    assert_type(values, Tensor)
    assert_type(x.topk(1).indices, Tensor)
    assert_type(torch.unique(x), Tensor)
    assert_type(torch.unique(x, return_counts=True), tuple[Tensor, ...])
    assert_type(torch.nonzero(x, as_tuple=True), tuple[Tensor, ...])
    assert_type(torch.where(x > 0), tuple[Tensor, ...])
    return torch.sort(x).values + indices + torch.median(x, 0).values + torch.frexp(x).mantissa


def linear_algebra(a: Tensor, b: Tensor) -> Tensor:
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    assert_type(torch.linalg.svd(a), torch.return_types.linalg_svd)
    assert_type(torch.linalg.eigh(a).eigenvalues, Tensor)
    q, r = torch.linalg.qr(a, mode="reduced")
    try:
        x = torch.linalg.solve(a, b)
    except torch.linalg.LinAlgError:
        x = torch.linalg.lstsq(a, b).solution
    sign, logabsdet = torch.linalg.slogdet(a)
    n = torch.linalg.norm(a) + torch.linalg.norm(a, "fro") + torch.linalg.vector_norm(a, ord=float("inf"), dim=0).sum()
    return u @ torch.diag(s) @ vh + q @ r + x + sign * logabsdet + n + torch.einsum("ij,jk->ik", a, b) + a.T @ a.mH


def results_in_place(x: Tensor) -> Tensor:
    out = torch.empty_like(x)
    torch.add(x, 1, out=out)
    torch.matmul(x, x, out=out)
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    return out.copy_(x).zero_().add_(x)


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x: Tensor = ctx.saved_tensors[0]
        return 2 * x * grad


@torch.no_grad()
def evaluate(x: Tensor) -> float:
    return float(x.sum())


def gradients(x: Tensor) -> None:
    x = x.detach().clone().requires_grad_(True)
    assert_type(x.grad, "Tensor | None")
    handle = x.register_hook(lambda g: 2 * g)
    loss = (Square.apply(x) ** 2).sum()
    loss.backward(retain_graph=True)
    handle.remove()
    if x.grad is not None:
        x.grad.zero_()
    x.grad = None
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    with torch.no_grad(), torch.autograd.detect_anomaly(check_nan=False):
        x -= 0.1 * g
    with torch.enable_grad():
        assert torch.is_grad_enabled()
    assert_type(evaluate(x), float)
    assert_type(torch.autograd.gradcheck(lambda t: t * t, x.double().detach().requires_grad_()), bool)


def devices() -> None:
    where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.zeros(2, device=where)
    assert_type(torch.cuda.device_count(), int)
    if torch.cuda.is_available():
        with torch.cuda.stream(torch.cuda.Stream()):
            x = x.cuda()
        torch.cuda.synchronize()
    assert_type(torch.get_default_dtype(), torch.dtype)
    assert_type(torch.finfo(torch.float32).eps, float)
    torch.manual_seed(0)
    torch.set_printoptions(precision=4)
    assert x.cpu().tolist() == [0.0, 0.0]


def main() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    creation()
    arithmetic(x, x + 1)
    methods(x.clone())
    indexing(x.clone())
    named_tuples(x)
    linear_algebra(x, x)
    results_in_place(x)
    gradients(x)
    devices()


if __name__ == "__main__":
    main()
