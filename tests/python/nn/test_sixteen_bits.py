"""Sums of products of 16-bit floats are rounded once: results lie beside those in float64."""

import pytest
import strided as torch

F = torch.nn.functional

CASES = {
    "conv2d depthwise": (lambda x, w: F.conv2d(x, w, groups=8), (2, 8, 9, 9), (8, 1, 3, 3)),
    "conv1d dilated": (lambda x, w: F.conv1d(x, w, padding="same", groups=2, dilation=2), (2, 4, 9), (2, 2, 5)),
    "conv2d": (lambda x, w: F.conv2d(x, w, stride=2), (2, 3, 9, 9), (4, 3, 3, 3)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), (1, 6, 5, 5), (6, 3, 4, 4)),
    "conv_transpose3d": (lambda x, w: F.conv_transpose3d(x, w), (1, 3, 4, 4, 4), (3, 3, 3, 3, 3)),
    "conv_transpose2d depthwise": (lambda x, w: F.conv_transpose2d(x, w, groups=6), (1, 6, 5, 5), (6, 1, 3, 3)),
    "attention": (lambda q, k: F.scaled_dot_product_attention(q, k, k), (2, 6, 8), (2, 9, 8)),
    "causal attention": (lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True), (2, 6, 8), (2, 6, 8)),
    "interpolate": (lambda x, w: F.interpolate(x, scale_factor=1.7, mode="trilinear"), (1, 2, 4, 5, 6), (1,)),
    "bicubic": (lambda x, w: F.interpolate(x, (9, 5), mode="bicubic"), (1, 2, 6, 7), (1,)),
    "embedding_bag": (
        lambda w, f: F.embedding_bag(torch.arange(40).view(2, 20), w, mode="sum", per_sample_weights=f),
        (40, 3),
        (2, 20),
    ),
    "addbmm": (lambda a, b: torch.addbmm(torch.zeros(3, 4, dtype=a.dtype), a, b), (20, 3, 5), (20, 5, 4)),
    "softmax backward": (
        lambda g, y: torch._softmax_backward_data(g, y, -1, g.dtype),
        (4, 30),
        (4, 30),
    ),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_one_rounding(name, dtype):
    function, *shapes = CASES[name]
    generator = torch.Generator().manual_seed(1)
    args = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    result, exact = function(*args), function(*(x.double() for x in args))
    assert result.dtype == dtype
    step = exact.abs().double() * torch.finfo(dtype).eps + exact.abs().max() * 1e-6
    assert bool(((result.double() - exact).abs() <= 0.51 * step).all())


def test_gradients_of_convolutions_are_rounded_once():
    generator = torch.Generator().manual_seed(2)
    for c, groups in ((6, 1), (6, 6)):
        x, w = torch.randn(4, 6, 12, 12, generator=generator), torch.randn(c, 6 // groups, 3, 3, generator=generator)
        x, w = x.bfloat16(), w.bfloat16()
        found = {}
        for dtype in (torch.bfloat16, torch.float64):
            leaves = [t.to(dtype).requires_grad_() for t in (x, w)]
            found[dtype] = torch.autograd.grad(F.conv2d(*leaves, groups=groups).sum(), leaves)
        for near, exact in zip(found[torch.bfloat16], found[torch.float64]):
            step = exact.abs() * torch.finfo(torch.bfloat16).eps + exact.abs().max() * 1e-6
            assert bool(((near.double() - exact).abs() <= 0.51 * step).all())


def test_channels_stay_last_in_what_is_joined():
    x = torch.arange(120.0).view(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    for dim in range(4):
        joined = torch.cat([last, last + 1], dim)
        assert joined.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(joined, torch.cat([x, x + 1], dim))
    assert torch.cat([last, x]).is_contiguous()
    out = torch.empty(2, 6, 4, 5)
    assert torch.equal(torch.cat([last, last], 1, out=out), torch.cat([x, x], 1)) and out.is_contiguous()


def test_statistics_of_groups_have_gradients():
    x = torch.arange(12.0, dtype=torch.float64).square().view(1, 4, 3).requires_grad_()
    parts = torch.native_group_norm(x, None, None, 1, 4, 3, 2, 0.5)
    assert [part.requires_grad for part in parts] == [True, True, True]
    assert torch.autograd.gradcheck(lambda t: torch.native_group_norm(t, None, None, 1, 4, 3, 2, 0.5), [x])
    assert not torch.native_group_norm(x.detach(), None, None, 1, 4, 3, 2, 0.5)[1].requires_grad


def test_a_vandermonde_row_of_a_number():
    assert torch.linalg.vander(torch.tensor(3.0), N=3).tolist() == [[1, 3, 9]]
    with pytest.raises(RuntimeError, match="N must be greater than 1"):
        torch.linalg.vander(torch.tensor(3.0))
