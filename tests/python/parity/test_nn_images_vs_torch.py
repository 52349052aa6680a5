"""Interpolation, sampling at places, and the functions that PyTorch has at its top, as PyTorch has them."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import strided  # noqa: E402
from nn_compare import compare_call, compare_module, x  # noqa: E402


def places(*shape, seed=2):
    return (torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) * 2.6 - 1.3).requires_grad_()


INTERPOLATIONS = [
    ((2, 3, 5), {"size": 8}),
    ((2, 3, 5), {"scale_factor": 2.5, "mode": "linear"}),
    ((2, 3, 5), {"size": 3, "mode": "linear", "align_corners": True}),
    ((2, 3, 5, 4), {"scale_factor": 2}),
    ((2, 3, 5, 4), {"size": (7, 3), "mode": "nearest-exact"}),
    ((2, 3, 5, 4), {"size": (8, 7), "mode": "bilinear"}),
    ((2, 3, 5, 4), {"size": (3, 9), "mode": "bilinear", "align_corners": True}),
    ((2, 3, 5, 4), {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    ((2, 3, 5, 4), {"scale_factor": 1.7, "mode": "bilinear", "recompute_scale_factor": True}),
    ((2, 3, 5, 4), {"size": (8, 7), "mode": "bicubic"}),
    ((2, 3, 5, 4), {"size": (8, 7), "mode": "bicubic", "align_corners": True}),
    ((2, 3, 8, 9), {"size": (4, 3), "mode": "area"}),
    ((2, 3, 8, 9), {"size": (5, 4), "mode": "bilinear", "antialias": True}),
    ((2, 3, 8, 9), {"size": (5, 12), "mode": "bicubic", "antialias": True}),
    ((2, 3, 8, 9), {"size": (3, 12), "mode": "lanczos", "antialias": True}),
    ((2, 3, 8, 9), {"scale_factor": (0.4, 1.7), "mode": "lanczos", "antialias": True}),
    ((1, 2, 3, 4, 5), {"size": (5, 3, 7), "mode": "trilinear"}),
    ((1, 2, 3, 4, 5), {"scale_factor": 2, "mode": "trilinear", "align_corners": True}),
    ((1, 2, 3, 4, 5), {"scale_factor": 2}),
]


@pytest.mark.parametrize("shape, options", INTERPOLATIONS)
def test_interpolate(shape, options):
    compare_call(lambda lib, x: lib.nn.functional.interpolate(x, **options), [x(*shape)], tol=1e-4)


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, padding, align):
    run = lambda lib, x, g: lib.nn.functional.grid_sample(x, g, mode, padding, align)
    compare_call(run, [x(2, 3, 5, 4), places(2, 3, 6, 2)], tol=2e-4)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_of_volumes(mode):
    run = lambda lib, x, g: lib.nn.functional.grid_sample(x, g, mode, align_corners=False)
    compare_call(run, [x(2, 3, 5, 4, 3), places(2, 3, 2, 6, 3)], tol=2e-4)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_gradients_of_grid_sample_on_the_border(mode, padding):
    def run(lib):
        side = lib.tensor([-3.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0])
        grid = lib.stack(lib.meshgrid(side, side, indexing="ij"), -1)[None].requires_grad_()
        image = (lib.arange(25.0).view(1, 1, 5, 5) ** 2 % 7).requires_grad_()
        made = lib.nn.functional.grid_sample(image, grid, mode, padding, True)
        return [g.flatten().tolist() for g in lib.autograd.grad((made * made).sum(), (image, grid))]

    for found, wanted in zip(run(strided), run(torch)):
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("align", [True, False])
def test_affine_grid(align):
    run = lambda lib, t: lib.nn.functional.affine_grid(t, [2, 1, 4, 5], align)
    compare_call(run, [x(2, 2, 3)])
    compare_call(lambda lib, t: lib.nn.functional.affine_grid(t, [2, 1, 2, 4, 3], align), [x(2, 3, 4)])


@pytest.mark.parametrize(
    "text",
    [
        "Upsample(scale_factor=2)",
        "Upsample(size=(4, 5), mode='bilinear', align_corners=True)",
        "UpsamplingNearest2d(scale_factor=2)",
        "UpsamplingBilinear2d(size=6)",
    ],
)
def test_module(text):
    compare_module(lambda nn: eval("nn." + text, {"nn": nn}), [x(2, 3, 4, 4)])


BYTES = [("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True), ("lanczos", True)]


@pytest.mark.parametrize("mode, antialias", BYTES)
def test_bytes_are_those_of_pytorch(mode, antialias):
    import strided

    image = torch.randint(0, 256, (2, 3, 16, 17), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
    image[1] = (image[1] > 128) * 255  # edges, at which a cubic curve leaves 0 ... 255
    for size in ((7, 8), (33, 50), (9, 5), (16, 40), (3, 2)):
        for align in (False,) if mode == "lanczos" else (False, True):
            options = {"mode": mode, "antialias": antialias, "align_corners": align}
            want = torch.nn.functional.interpolate(image, size, **options)
            found = strided.nn.functional.interpolate(strided.from_numpy(image.numpy()), size, **options)
            assert found.numpy().tolist() == want.numpy().tolist()


TOP = {
    "conv1d": lambda t: t.conv1d(A_(t), ones(t, 2, 4, 3), padding="same"),
    "max_pool1d": lambda t: t.max_pool1d(A_(t), 2),
    "adaptive_max_pool1d": lambda t: t.adaptive_max_pool1d(A_(t), 4),
    "batch_norm": lambda t: t.batch_norm(A_(t), None, None, None, None, True, 0.1, 1e-5, False),
    "layer_norm": lambda t: t.layer_norm(A_(t), [6]),
    "group_norm": lambda t: t.group_norm(A_(t), 2),
    "instance_norm": lambda t: t.instance_norm(A_(t), None, None, None, None, True, 0.1, 1e-5, False),
    "rms_norm": lambda t: t.rms_norm(A_(t), [6]),
    "dropout": lambda t: t.dropout(A_(t), 0.3, True),
    "dropout_": lambda t: t.dropout_(A_(t), 0.3, True),
    "alpha_dropout": lambda t: t.alpha_dropout(A_(t), 0.3, True),
    "feature_dropout": lambda t: t.feature_dropout(A_(t), 0.3, True),
    "embedding": lambda t: t.embedding(ones(t, 3, 2), t.tensor([0, 2])),
    "kl_div": lambda t: t.kl_div(A_(t), ones(t, 2, 4, 6), 2),
    "poisson": lambda t: t.poisson_nll_loss(A_(t), ones(t, 2, 4, 6), True, False, 1e-8, 1),
    "bce": lambda t: t.binary_cross_entropy_with_logits(A_(t), ones(t, 2, 4, 6)),
    "triplet": lambda t: t.triplet_margin_loss(A_(t)[0], A_(t)[1], ones(t, 4, 6)),
    "pad": lambda t: t.constant_pad_nd(A_(t), [1, 2], 3.0),
    "pixel_shuffle": lambda t: t.pixel_shuffle(ones(t, 4, 2, 2), 2),
    "lstm_cell": lambda t: t.lstm_cell(
        ones(t, 2, 5), (ones(t, 2, 3), ones(t, 2, 3)), ones(t, 12, 5), ones(t, 12, 3), ones(t, 12), ones(t, 12)
    ),
    "gru_cell": lambda t: t.gru_cell(ones(t, 2, 5), ones(t, 2, 3), ones(t, 9, 5), ones(t, 9, 3)),
    "gru": lambda t: t.gru(
        ones(t, 4, 2, 5), ones(t, 1, 2, 3), [ones(t, 9, 5), ones(t, 9, 3)], False, 1, 0.0, False, False, False
    ),
    "prelu": lambda t: t.prelu(A_(t), ones(t, 4)),
    "selu": lambda t: t.selu(A_(t)),
    "grid_sampler": lambda t: t.grid_sampler(ones(t, 1, 1, 3, 3), ones(t, 1, 2, 2, 2) * 0.4, 0, 0, False),
}


def A_(t):
    return t.sin(t.arange(48.0)).view(2, 4, 6)


def ones(t, *shape):
    n = 1
    for s in shape:
        n *= s
    return t.cos(t.arange(float(n))).view(*shape)


@pytest.mark.parametrize("name", TOP)
def test_function_at_the_top(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_call(lambda lib: TOP[name](lib), [])
