"""float8_e4m3fn and float8_e5m2 on a CUDA device: the CPU's bits. On a GPU, or emulated."""

import cuda_device
import pytest
import strided as torch

pytestmark = cuda_device.needs(1)
FLOAT8 = ["float8_e4m3fn", "float8_e5m2"]


@pytest.fixture(params=FLOAT8)
def dtype(request):
    return getattr(torch, request.param)


def codes(dtype):
    return torch.arange(256, dtype=torch.uint8).view(dtype)


def numbers(dtype):
    """The finite codes, shuffled, as a matrix."""
    x = codes(dtype)
    x = x[x.float().isfinite()]
    return x[torch.arange(240) * 77 % 240].view(12, 20)


def same(got, want):
    assert got.device.type == "cuda" and got.dtype == want.dtype and got.shape == want.shape
    got, want = got.cpu().contiguous(), want.contiguous()
    if want.dtype.itemsize == 1 and want.is_floating_point():
        nan = want.isnan()
        assert torch.equal(got.isnan(), nan)
        got, want = (t.masked_fill(nan, 0).view(torch.uint8) for t in (got, want))
    assert torch.equal(got, want)


@pytest.mark.parametrize("other", [str(d)[6:] for d in torch._C.dtypes])
def test_casts(dtype, other):
    other = getattr(torch, other)
    x = numbers(dtype)
    for view in (lambda t: t, lambda t: t.t(), lambda t: t[:, ::3], lambda t: t[1:, 5:], lambda t: t[:0]):
        same(view(x.cuda()).to(other), view(x).to(other))
        same(view(x.to(other).cuda()).to(dtype), view(x.to(other)).to(dtype))
    if other == torch.float32:
        same(codes(dtype).cuda().to(other).nan_to_num(7), codes(dtype).to(other).nan_to_num(7))
        special = torch.tensor([float("inf"), -float("inf"), float("nan"), 1e30, -1e30, 1e-30, -0.0])
        same(special.cuda().to(dtype), special.to(dtype))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x,
        lambda x: x + 1.5,
        lambda x: -x,
        lambda x: x.abs().sqrt(),
        lambda x: x < 1,
        lambda x: x.t() + x.t(),
        lambda x: torch.where(x > 0, x, -x),
        lambda x: x.clone().mul_(0.3),
    ],
)
def test_elementwise(dtype, function):
    x = numbers(dtype)
    same(function(x.cuda()), function(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.amax(0),
        lambda x: x.min(1).indices,
        lambda x: x.t().any(0),
        lambda x: x.count_nonzero(),
        lambda x: x.argmax(),
    ],
)
def test_reductions(dtype, function):
    x = numbers(dtype)
    same(function(x.cuda()), function(x))


def test_sums(dtype):
    # Small integers: float32 sums are exact in any order.
    x = (torch.arange(240) % 5).view(12, 20).to(dtype)
    for dim in (0, 1, (0, 1)):
        same(x.cuda().sum(dim), x.sum(dim))


def test_memory_moves(dtype):
    x = numbers(dtype)
    index = torch.tensor([3, 0, 3])
    same(x.cuda()[index.cuda()], x[index])
    same(torch.cat([x.cuda(), x.cuda()]), torch.cat([x, x]))
    same(torch.full((3, 4), 1.3, dtype=dtype, device="cuda"), torch.full((3, 4), 1.3, dtype=dtype))
    y, z = x.clone(), x.cuda()
    y[:, 3] = 0.7
    z[:, 3] = 0.7
    same(z, y)
    same(torch.from_dlpack(x.cuda()), x)


def test_what_has_no_kernels_raises(dtype):
    x = numbers(dtype).cuda()
    for call in (
        lambda: x.sort(),
        lambda: x.cumsum(0),
        lambda: x.softmax(0),
        lambda: x.clone().normal_(),
        lambda: torch.arange(3, dtype=dtype, device="cuda"),
        lambda: x.clone().index_add_(0, torch.tensor([0], device="cuda"), x[:1]),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call()
