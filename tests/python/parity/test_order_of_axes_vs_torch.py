"""Strides of results of torch.nn.functional for images and volumes in channels_last, and of gradients of matrices."""

import pytest
import strided

torch = pytest.importorskip("torch")

CASES = {
    "max_pool": lambda f, n, x: f[f"max_pool{n}d"](x, 2),
    "positions": lambda f, n, x: f[f"max_pool{n}d"](x, 3, 2, 1, return_indices=True)[1],
    "avg_pool": lambda f, n, x: f[f"avg_pool{n}d"](x, 2),
    "lp_pool": lambda f, n, x: f[f"lp_pool{n}d"](x, 2, 2),
    "adaptive_avg_pool": lambda f, n, x: f[f"adaptive_avg_pool{n}d"](x, 2),
    "adaptive_avg_pool, uneven": lambda f, n, x: f[f"adaptive_avg_pool{n}d"](x, 3),
    "adaptive_max_pool": lambda f, n, x: f[f"adaptive_max_pool{n}d"](x, 3),
    "adaptive_max_pool, uneven": lambda f, n, x: f[f"adaptive_max_pool{n}d"](x, 4),
    "max_unpool": lambda f, n, x: f[f"max_unpool{n}d"](*f[f"max_pool{n}d"](x, 2, return_indices=True), 2),
    "nearest": lambda f, n, x: f["interpolate"](x, scale_factor=2),
    "nearest-exact": lambda f, n, x: f["interpolate"](x, scale_factor=2, mode="nearest-exact"),
    "linear": lambda f, n, x: f["interpolate"](x, (5,) * n, mode="bilinear" if n == 2 else "trilinear"),
    "area": lambda f, n, x: f["interpolate"](x, (3,) * n, mode="area"),
    "constant": lambda f, n, x: f["pad"](x, (1, 2) * n),
    "reflect": lambda f, n, x: f["pad"](x, (1, 2) * n, mode="reflect"),
    "replicate": lambda f, n, x: f["pad"](x, (1, 2) * n, mode="replicate"),
    "circular": lambda f, n, x: f["pad"](x, (1, 2) * n, mode="circular"),
    "conv": lambda f, n, x: f[f"conv{n}d"](x, x.new_ones(5, 8, *[3] * n), x.new_ones(5), padding=1),
    "conv, every second": lambda f, n, x: f[f"conv{n}d"](x, x.new_ones(5, 8, *[3] * n), stride=2),
    "conv to one channel": lambda f, n, x: f[f"conv{n}d"](x, x.new_ones(1, 8, *[1] * n)),
    "conv to one element": lambda f, n, x: f[f"conv{n}d"](x, x.new_ones(5, 8, *[6] * n)),
    "conv of a usual image to one channel": lambda f, n, x: f[f"conv{n}d"](x.contiguous(), x.new_ones(1, 8, *[1] * n)),
    "conv of float64": lambda f, n, x: f[f"conv{n}d"](x.double(), x.new_ones(5, 8, *[3] * n).double()),
    "conv by channels": lambda f, n, x: f[f"conv{n}d"](x, x.new_ones(8, 1, *[3] * n), groups=8),
    "conv by a kernel in that order": lambda f, n, x: f[f"conv{n}d"](x.contiguous(), x[(..., *[slice(3)] * n)].clone()),
    "conv without a batch": lambda f, n, x: f[f"conv{n}d"](x[0], x.new_ones(5, 8, *[3] * n)),
    "conv_transpose": lambda f, n, x: f[f"conv_transpose{n}d"](x, x.new_ones(8, 5, *[3] * n), x.new_ones(5), stride=2),
    "group_norm": lambda f, n, x: f["group_norm"](x, 2),
    "batch_norm": lambda f, n, x: f["batch_norm"](x, None, None, training=True),
    "channel_shuffle": lambda f, n, x: f["channel_shuffle"](x, 2),
    "dropout": lambda f, n, x: f["dropout"](x),
    "gelu": lambda f, n, x: f["gelu"](x),
    "softmax": lambda f, n, x: f["softmax"](x, 1),
    "mse_loss": lambda f, n, x: f["mse_loss"](x, x, reduction="none"),
}
IMAGES = {
    "bicubic": lambda f, n, x: f["interpolate"](x, (5, 3), mode="bicubic"),
    "antialias": lambda f, n, x: f["interpolate"](x, (3, 5), mode="bilinear", antialias=True),
    "pixel_shuffle": lambda f, n, x: f["pixel_shuffle"](x, 2),
    "pixel_unshuffle": lambda f, n, x: f["pixel_unshuffle"](x, 2),
    "fractional_max_pool": lambda f, n, x: f["fractional_max_pool2d"](x, 2, 3),
    "grid_sample": lambda f, n, x: f["grid_sample"](x, x.new_zeros(2, 3, 3, 2), align_corners=False),
}
ALL = [(name, n) for name in CASES for n in (2, 3)] + [(name, 2) for name in IMAGES]


@pytest.fixture
def two_threads():
    """With one thread PyTorch gives the single channel of a volume another stride."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("name", "n"), ALL, ids=[f"{name}-{n}" for name, n in ALL])
def test_strides(name, n):
    strides = []
    for t in (strided, torch):
        order = t.channels_last if n == 2 else t.channels_last_3d
        x = t.arange(2 * 8 * 6**n, dtype=t.float32).reshape(2, 8, *[6] * n).contiguous(memory_format=order)
        made = {**CASES, **IMAGES}[name](vars(t.nn.functional), n, x)
        strides.append((tuple(made.shape), made.stride()))
    assert strides[0] == strides[1]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_strides_of_adaptive_maxima_of_a_volume_without_a_batch(whole, channels, size):
    """Neither the order of images, whose shape it has, nor that of the batch that it is from."""
    strides = []
    for t in (strided, torch):
        if whole:
            x = t.rand(channels, 4, 6, 8).contiguous(memory_format=t.channels_last)
        else:
            x = t.rand(1, channels, 4, 6, 8).contiguous(memory_format=t.channels_last_3d)[0]
        pool = t.nn.functional.adaptive_max_pool3d
        made = (pool(x, size), *pool(x, size, return_indices=True))
        strides.append([part.stride() for part in made])
    assert strides[0] == strides[1]


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("n", [2, 3])
def test_strides_of_maxima_of_a_volume_without_a_batch(n, channels):
    strides = []
    for t in (strided, torch):
        x = t.rand(1, channels, *[6] * n).contiguous(memory_format=t.channels_last if n == 2 else t.channels_last_3d)[0]
        pool = getattr(t.nn.functional, f"max_pool{n}d")
        strides.append([pool(x, 2).stride(), *(part.stride() for part in pool(x, 2, return_indices=True))])
    assert strides[0] == strides[1]


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dim", range(-3, 2))
def test_strides_of_joined_slices(n, channels, dim):
    strides = []
    for t in (strided, torch):
        order = t.channels_last if n == 2 else t.channels_last_3d
        x = t.arange(2 * channels * 4**n).reshape(2, channels, *[4] * n).contiguous(memory_format=order)
        for part in (
            x[..., 1:3],
            x[:, :, :1],
            x[:1],
            x[:, :1],
            x.contiguous()[..., :2],
            x[..., :1, :1].contiguous(memory_format=order),
        ):
            made = t.cat((part, part), dim)
            strides.append((part.stride(), tuple(made.shape), made.stride(), made.tolist()))
    assert strides[: len(strides) // 2] == strides[len(strides) // 2 :]


GRADIENTS = {
    "linear": lambda F, x, w: F.linear(x, w),
    "linear of rows": lambda F, x, w: F.linear(x.view(2, 2, 3), w),
    "linear with a bias": lambda F, x, w: F.linear(x, w, w[:, 0]),
    "mm": lambda F, x, w: x @ w.t(),
    "pad": lambda F, x, w: F.pad(w, (1, 2, 0, 1)) * 2,
    "cumsum": lambda F, x, w: w.cumsum(0),
    "prod": lambda F, x, w: (w * (w > 1)).prod(0),
    "conv1d": lambda F, x, w: F.conv1d(x.view(1, 3, 4), w.view(5, 3, 1)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_contiguous_tensors_are_contiguous(name):
    for T in (strided, torch):
        x, w = T.ones(4, 3, requires_grad=True), T.arange(15.0).view(5, 3).requires_grad_()
        made = GRADIENTS[name](T.nn.functional, x, w)
        grads = T.autograd.grad(made, (x, w), T.ones_like(made), allow_unused=True)
        assert [g is None or g.stride() for g in grads] == [g is None or (3, 1) for g in grads]


PRODUCTS = {
    "linear": lambda t, x, w, v: t.nn.functional.linear(x, w, x.new_ones(3)),
    "linear without a bias": lambda t, x, w, v: t.nn.functional.linear(x, w),
    "linear of a vector": lambda t, x, w, v: t.nn.functional.linear(x[0], w),
    "linear of a batch": lambda t, x, w, v: t.nn.functional.linear(x.expand(2, 5, 4), w),
    "mm": lambda t, x, w, v: x @ w.t() @ v.t(),
    "both transposed": lambda t, x, w, v: w.t().mm(v.t()),
    "addmm": lambda t, x, w, v: t.addmm(x.new_ones(1), w.t(), v.t(), alpha=2),
    "chain": lambda t, x, w, v: v @ w @ x.t(),
    "einsum": lambda t, x, w, v: t.einsum("bi,oi->bo", x, w),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_strides_of_gradients_of_matrices(name, graph, dtype):
    """Gradients of weights are in one piece: programs call view() on them."""
    found = []
    for t in (strided, torch):
        shapes = ((5, 4), (3, 4), (2, 3))
        given = [t.arange(1.0, n * m + 1).reshape(n, m).to(getattr(t, dtype)).requires_grad_() for n, m in shapes]
        grads = t.autograd.grad(PRODUCTS[name](t, *given).abs().sum(), given, create_graph=graph, allow_unused=True)
        found.append([g if g is None else (g.stride(), g.is_contiguous(), g.tolist()) for g in grads])
    assert [g and g[:2] for g in found[0]] == [g and g[:2] for g in found[1]]
    torch.testing.assert_close([g and g[2] for g in found[0] if g], [g and g[2] for g in found[1] if g])


ODD = (
    "m.ones(1, 3).select(1, 0)",
    "m.ones(64).as_strided((1, 4, 1), (7, 1, 9))",
    "m.ones(2, 1).t()",
    "m.ones(2, 3).t()",
    "m.ones(())",
)
FRESH = (
    "x.clone(memory_format=m.contiguous_format)",
    "x.to(m.float64, memory_format=m.contiguous_format)",
    "x.to(x.dtype, copy=True, memory_format=m.contiguous_format)",
    "x.double(memory_format=m.contiguous_format)",
    "x.contiguous(memory_format=m.contiguous_format)",
    "x.clone()",
)


@pytest.mark.parametrize("of", ODD)
@pytest.mark.parametrize("text", FRESH)
def test_copies_asked_for_in_rows_have_fresh_strides(text, of):
    """Those of axes of one element too; a tensor that is contiguous already and not copied keeps its own."""
    ours, theirs = (eval(text, {"m": m, "x": eval(of, {"m": m})}) for m in (strided, torch))
    assert ours.stride() == theirs.stride()


OF_PARTS = {
    "complex": lambda t, x: t.complex(x, x),
    "polar": lambda t, x: t.polar(x, 0 * x),
    "complex of a row": lambda t, x: t.complex(x, x[:1]),
    "complex of a row first": lambda t, x: t.complex(x[:1], x),
    "pixel_shuffle by 1": lambda t, x: t.pixel_shuffle(x, 1),
    "pixel_unshuffle by 1": lambda t, x: t.pixel_unshuffle(x, 1),
}


@pytest.mark.parametrize("name", OF_PARTS)
@pytest.mark.parametrize("order", ["contiguous", "transposed", "every second", "channels_last"])
def test_order_and_memory_of_parts(name, order):
    seen = []
    for t in (strided, torch):
        x = t.arange(2 * 4 * 6 * 8.0).reshape(2, 4, 6, 8)
        x = {
            "contiguous": x,
            "transposed": x.transpose(2, 3),
            "every second": x[..., ::2],
            "channels_last": x.contiguous(memory_format=t.channels_last),
        }[order]
        made = OF_PARTS[name](t, x)
        seen.append((made.stride(), made.data_ptr() == x.data_ptr(), t.view_as_real(made + 0j).tolist()))
    assert seen[0] == seen[1]


ONE_BY_ONE = {
    "Conv2d": lambda t, x: t.nn.Conv2d(3, 4, 4).to(memory_format=t.channels_last)(x),
    "weight": lambda t, x: t.nn.Conv2d(3, 4, 1).to(memory_format=t.channels_last).weight,
    "1x1 of 1x1": lambda t, x: t.nn.Conv2d(3, 4, 1).to(memory_format=t.channels_last)(t.ones(2, 3, 1, 1)),
    "max_pool": lambda t, x: t.nn.functional.max_pool2d(x, 4),
    "avg_pool": lambda t, x: t.nn.functional.avg_pool2d(x, 4),
    "adaptive_max_pool": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, 1),
    "adaptive_avg_pool": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1),
    "adaptive_avg_pool3d": lambda t, x: t.nn.functional.adaptive_avg_pool3d(
        t.ones(2, 3, 4, 4, 4).contiguous(memory_format=t.channels_last_3d), 1
    ),
    "adaptive_max_pool3d": lambda t, x: t.nn.functional.adaptive_max_pool3d(
        t.ones(2, 3, 4, 4, 4).contiguous(memory_format=t.channels_last_3d), 1
    ),
    "interpolate": lambda t, x: t.nn.functional.interpolate(x, (1, 1), mode="bilinear"),
    "pad": lambda t, x: t.nn.functional.pad(x, (-1, -2, -1, -2)),
    "to": lambda t, x: t.ones(2, 3, 1, 1).to(memory_format=t.channels_last),
    "to and back": lambda t, x: t.empty(2, 3, 1, 1, memory_format=t.channels_last).to(
        memory_format=t.contiguous_format
    ),
    "to another dtype": lambda t, x: t.ones(2, 3, 1, 1).to(t.float64, memory_format=t.channels_last),
    "contiguous": lambda t, x: t.ones(2, 3, 1, 1).contiguous(memory_format=t.channels_last),
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.parametrize("order", ["contiguous_format", "channels_last"])
def test_strides_of_images_of_one_pixel(name, order):
    made = []
    for t in (strided, torch):
        x = t.arange(96.0).reshape(2, 3, 4, 4).to(memory_format=getattr(t, order)).requires_grad_()
        y = ONE_BY_ONE[name](t, x)
        (y * y).sum().backward() if y.requires_grad and not y.is_leaf and "ool" in name else None
        made.append((y.stride(), x.grad.tolist() if x.grad is not None else None))
    assert made[0] == made[1]


def test_to_gives_the_tensor_itself_where_its_strides_look_like_the_format():
    for t in (strided, torch):
        plain, last = t.ones(2, 3, 1, 1), t.empty(2, 3, 1, 1, memory_format=t.channels_last)
        assert plain.to(memory_format=t.contiguous_format) is plain and last.to(memory_format=t.channels_last) is last
        assert plain.to(memory_format=t.channels_last) is not plain
        assert last.to(memory_format=t.contiguous_format) is not last
