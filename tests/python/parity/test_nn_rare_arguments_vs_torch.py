"""Rare arguments of nn.functional, found by PyTorch's operator database: values as PyTorch's."""

import numpy as np
import pytest
import strided

torch = pytest.importorskip("torch")

CALLS = [
    "F.conv_transpose2d(r(2, 2, 4, 4), r(2, 2, 4, 5), r(4), (3, 2), (1, 2), (2, 3), 2, 4)",
    "F.conv_transpose2d(r(1, 2, 3, 3), r(2, 1, 1, 1), None, 1, 0, 1, 1, 2)",
    "F.conv_transpose1d(r(1, 3, 4), r(3, 1, 2), None, 1, 0, 1, 3, 2)",
    "F.conv_transpose3d(r(1, 2, 3, 3, 3), r(2, 2, 2, 2, 1), r(2), (2, 1, 1), 1, (2, 1, 1), 1, 3)",
    "F.group_norm(r(0, 2), 1, r(2), r(2))",
    "F.group_norm(r(0, 4, 3), 2)",
    "F.local_response_norm(i(1, 6, 3), 2, 3e-05, 0.5, 1.25)",
    "F.pad(r(5, 3, 4, 4), (-4, 5, 0, 0), 'replicate')",
    "F.pad(r(2, 3, 4), (3, -2), 'replicate')",
    "F.pad(r(2, 3, 6), (-1, 2), 'reflect')",
    "F.pad(r(2, 3, 6, 5), (2, -1, -2, 3), 'reflect')",
    "F.pad(r(2, 3, 6, 5), (-2, -1, 0, -3), 'replicate')",
    "F.pad(r(2, 2, 4, 6, 5), (2, -1, -2, 3, -1, 2), 'replicate')",
    "F.pad(r(2, 3, 6, 5), (2, -1, -2, 3), 'circular')",
    "F.pad(r(2, 3, 6, 5), (0, 0, 0, -2), 'constant', 1.5)",
    "F.pad(r(2, 3, 6, 5), (-2, 2, -3, 3), 'constant', 1.5)",
    "F.pad(r(2, 3, 6, 5), (1, -5, 3, -3))",
    "F.pad(r(0, 3, 3), (1, 2), 'reflect')",
    "F.pad(r(0, 3, 3), (1, 2), 'replicate')",
    "F.pad(r(3, 0), (1, 2), value=2)",
    "F.pad(r(0, 3, 3), (-1, 2, 0, 1), 'constant', 2.0)",
    "F.pad(i(2, 3, 4), (-1, 2), 'constant', 2)",
    "F.multi_margin_loss(r(), i() % 1)",
    "F.multilabel_margin_loss(r(), i() % 1)",
    "F.multilabel_margin_loss(r(), i() % 1, reduction='none')",
    "F.avg_pool2d(r(2, 3, 9, 9), (3, 3), (1, 1), (1,), True, False, 2)",
    "F.avg_pool1d(i(2, 3, 9), (3,))",
    "F.avg_pool1d(r(2, 3, 9), 4, 2, 1, True, False)",
    "F.avg_pool2d(r(2, 3, 9, 8), (4, 3), (3, 2), (2, 1), True, True)",
    "F.avg_pool2d(r(2, 3, 8, 8), 2, 2, 0, True, True)",
    "F.avg_pool3d(r(2, 3, 5, 6, 7), 3, 2, 1, True, False)",
    "F.avg_pool2d(i(2, 3, 9, 9) - 50, 2, 2, 1, True, False)",
    "F.avg_pool3d(i(2, 2, 3, 4, 4) - 50, (2, 2, 2), count_include_pad=False)",
    "F.max_pool2d(r(2, 3, 9, 9), [3], [2], [1])",
    "F.conv2d(r(1, 2, 5, 5), r(2, 2, 3, 3), stride=[2], padding=[1])",
    "F.fractional_max_pool2d(r(2, 3, 9, 8), (3, 2), (4, 5), None, True, t.linspace(0, 0.99, 12).double().view(2, 3, 2))",
    "F.fractional_max_pool2d(r(3, 9, 8), 2, None, (0.5, 0.6), True, t.linspace(0, 0.99, 6).double().view(1, 3, 2))",
    "F.fractional_max_pool3d(r(2, 2, 7, 6, 9), (2, 3, 2), 3, None, True, t.linspace(0, 0.9, 12).double().view(2, 2, 3))",
    "F.fractional_max_pool2d(r(1, 1, 4, 4), 2, 1, None, True, t.full((1, 1, 2), 0.3).double())",
    "t.grid_sampler_2d(r(1, 2, 3, 4), r(1, 2, 2, 2), 0, 0, False)",
    "t.grid_sampler_3d(r(1, 2, 3, 4, 2), r(1, 2, 2, 2, 3), 1, 1, True)",
]


@pytest.mark.parametrize("text", CALLS)
def test_values(text):
    found = []
    for t in (strided, torch):
        rng = np.random.RandomState(0)
        names = {
            "t": t,
            "F": t.nn.functional,
            "r": lambda *s: t.from_numpy(np.asarray(rng.randn(*s))).requires_grad_(),
            "i": lambda *s: t.from_numpy(np.asarray(rng.randint(0, 100, s))),
        }
        made = eval(text, names)
        found.append(made if isinstance(made, tuple) else (made,))
    for a, b in zip(*found):
        assert tuple(a.shape) == tuple(b.shape) and str(a.dtype) == str(b.dtype)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "F.conv_transpose2d(x, w, None, (3, 2), (1, 2), (2, 3), 2, 4)",
        "F.pad(x, (2, -1, -2, 3), 'constant', 1.5) * w.sum()",
        "F.pad(x, (2, -1, -1, 1), 'reflect') * w.sum()",
        "F.pad(x, (3, -2, -2, 3), 'replicate') * w.sum()",
        "F.pad(x, (2, -1, -1, 2), 'circular') * w.sum()",
        "F.avg_pool2d(x, 3, 2, 1, True, False) * w.sum()",
        "F.fractional_max_pool2d(x, 2, 3, _random_samples=t.full((2, 2, 2), 0.4).double()) * w.sum()",
    ],
)
def test_gradients(text):
    found = []
    for t in (strided, torch):
        rng = np.random.RandomState(0)
        x, w = (t.from_numpy(rng.randn(*s)).requires_grad_() for s in ((2, 2, 4, 4), (2, 2, 4, 5)))
        made = eval(text, {"t": t, "F": t.nn.functional, "x": x, "w": w})
        first = t.autograd.grad(made.square().sum(), [x, w], create_graph=True)
        second = t.autograd.grad(sum(g.square().sum() for g in first), [x, w])
        found.append([g.detach().numpy() for g in (*first, *second)])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(130, 150), (20, 30)])
@pytest.mark.parametrize("align", [True, False])
def test_interpolation_of_bytes(mode, size, align):
    """PyTorch's weights have 8 to 16 bits there; results differ by 2 at most."""
    x = np.random.RandomState(0).randint(0, 256, (2, 3, 60, 70)).astype(np.uint8)
    a = strided.nn.functional.interpolate(strided.from_numpy(x), size, mode=mode, align_corners=align)
    b = torch.nn.functional.interpolate(torch.from_numpy(x), size, mode=mode, align_corners=align)
    assert a.dtype == strided.uint8 and np.abs(a.numpy().astype(int) - b.numpy().astype(int)).max() <= 2


@pytest.mark.parametrize("text", ["()", "(output_size=3, output_ratio=0.5)", "(output_ratio=1.5)"])
def test_errors_of_fractional_pools(text):
    errors = []
    for t in (strided, torch):
        with pytest.raises(ValueError) as caught:
            eval("t.nn.FractionalMaxPool2d(2, " + text[1:], {"t": t})
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    same = "FractionalMaxPool3d(2, output_ratio=0.5)"
    assert repr(eval("t.nn." + same, {"t": strided})) == repr(eval("t.nn." + same, {"t": torch}))


@pytest.mark.parametrize("turn", [(0, 1, 2), (1, 0, 2), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
@pytest.mark.parametrize("sides", [(0, -1), (-1, 0), (-1, 1), (3, -1), (-1, 3), (0, 0), (-2, -1), (-1, 2)], ids=str)
def test_sides_that_are_cut_and_padded(sides, mode, turn):
    x = torch.arange(60.0).reshape(3, 4, 5).permute(turn)

    def run(t, x):
        try:
            y = t.nn.functional.pad(x, sides, mode)
            return y.tolist(), y.stride()
        except RuntimeError:
            return "refused"

    assert run(strided, strided.from_numpy(x.numpy())) == run(torch, x)
