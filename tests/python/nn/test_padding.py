"""Padding without a gradient, which writes the result once, against NumPy and the way that is recorded; equal bags."""

import numpy as np
import pytest
import strided
from arrays import layouts
from strided.nn import functional as F

CONSTANTS = [((1, 0), 2), ((0, 2, 3, 0), None), ((1, 2, 0, 3), -1), ((2, 1, 0, 0, 1, 2), 3)]
MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
SIDES = [(0, 0), (1, 0), (0, 2), (2, 1), (1, 2, 0, 3), (0, 0, 2, 2), (3, 3, 3, 3), (2, 0, 1, 1, 0, 1)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64", "bool"])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("mode", MODES)
def test_pad(mode, sides, dtype):
    shape = (2, 3, 5, 4, 6)[-len(sides) // 2 - 2 :]
    whole = (strided.arange(int(np.prod(shape))) * 7 % 31).reshape(shape).to(getattr(strided, dtype))
    for x in layouts(whole):
        width = [(0, 0)] * x.ndim
        for i in range(len(sides) // 2):
            width[x.ndim - 1 - i] = (sides[2 * i], sides[2 * i + 1])
        got = F.pad(x, sides, mode)
        assert got.dtype == x.dtype
        assert np.array_equal(np.array(got.tolist()), np.pad(np.array(x.tolist()), width, mode=MODES[mode]))
        got.zero_()  # is no view of x
        assert x.equal(x.clone())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "complex128", "bool"])
@pytest.mark.parametrize("sides, value", CONSTANTS)
def test_pad_with_a_value(sides, value, dtype):
    for rest in (0, 1, 2):
        shape = (2, 3, 5, 4, 9)[-len(sides) // 2 - rest :]
        whole = (strided.arange(int(np.prod(shape))) * 7 % 31).reshape(shape).to(getattr(strided, dtype))
        for x in layouts(whole):
            if dtype in ("uint8", "bool") and value is not None:
                value = abs(value)
            width = [(0, 0)] * x.ndim
            for i in range(len(sides) // 2):
                width[x.ndim - 1 - i] = (sides[2 * i], sides[2 * i + 1])
            fill = np.array(value or 0).astype(dtype)
            wanted = np.pad(np.array(x.tolist()).astype(dtype), width, constant_values=fill)
            for got in (F.pad(x, sides, "constant", value), F.pad(x, sides, value=value)):
                assert got.dtype == x.dtype and np.array_equal(np.array(got.tolist()), wanted)
            got.zero_()  # is no view of x
            assert x.equal(x.clone())


def test_pad_with_a_value_and_a_gradient():
    x = strided.randn(2, 3, 4, dtype=strided.float64, requires_grad=True)
    for sides in ((1, 2), (0, 0), (2, 0, 0, 1), (-1, 2), (1, 1, 0, 0, 0, 2)):
        call = lambda x, sides=sides: F.pad(x, sides, value=1.5)
        assert strided.autograd.gradcheck(call, (x,)) and strided.autograd.gradgradcheck(call, (x,))
    assert F.pad(strided.zeros(0, 3), (1, 1)).shape == (0, 5) and F.pad(strided.zeros(3, 0), (1, 1)).shape == (3, 2)
    assert F.pad(strided.zeros(2), (1, 1), value=float("inf")).tolist() == [float("inf"), 0, 0, float("inf")]
    with pytest.raises(RuntimeError, match="divisible by 2"):
        F.pad(x, (1,))


@pytest.mark.parametrize("mode", MODES)
def test_pad_is_the_same_with_a_gradient_and_without(mode):
    for sides in ((1, 2), (2, 1, 0, 3), (-1, 2), (2, -1, 1, 1)):
        x = strided.randn((2, 3, 4, 5)[: 2 + len(sides) // 2])
        plain, recorded = F.pad(x, sides, mode), F.pad(x.clone().requires_grad_(), sides, mode)
        assert recorded.requires_grad and plain.equal(recorded.detach())
        each = strided.func.vmap(lambda t, sides=sides: F.pad(t, sides, mode), in_dims=1, out_dims=1)
        assert each(x).equal(plain)
        tangent = strided.randn_like(x)
        _, moved = strided.func.jvp(lambda t, sides=sides: F.pad(t, sides, mode), (x,), (tangent,))
        assert moved.equal(F.pad(tangent, sides, mode))
    assert F.pad(strided.zeros(0, 3, 4), (1, 1), mode).shape == (0, 3, 6)
    assert F.pad(strided.zeros(2, 3, 4, device="meta"), (1, 1), mode).shape == (2, 3, 6)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("shape", [(5, 3), (1, 1), (4, 0), (0, 3), (7, 40)])
def test_bags_of_one_length_are_those_with_offsets(mode, shape):
    generator = np.random.default_rng(4)
    weight = strided.tensor(generator.standard_normal((6, 5)).tolist(), dtype=strided.float64)
    index = strided.tensor(generator.integers(0, 6, shape).tolist(), dtype=strided.int64).reshape(shape)
    offsets = strided.arange(shape[0]) * shape[1]
    factors = strided.randn(*shape, dtype=strided.float64) if mode == "sum" else None
    results = []
    for given, options in (
        (index, {"per_sample_weights": factors}),
        (
            index.reshape(-1),
            {"offsets": offsets, "per_sample_weights": None if factors is None else factors.reshape(-1)},
        ),
    ):
        w = weight.clone().requires_grad_()
        made = F.embedding_bag(given, w, mode=mode, **options)
        made.square().sum().backward()
        results.append((made.detach(), w.grad))
    for a, b in zip(*results):
        assert a.shape == b.shape and strided.allclose(a, b, rtol=1e-14, atol=1e-14)


def test_sizes_that_no_memory_holds_are_refused_at_once():
    """Lists of places were made before the size of the result was looked at."""
    x, f = strided.rand(1, 3, 8, 8), strided.nn.functional
    for call in (
        lambda n: f.pad(x, (n, 0)),
        lambda n: f.pad(x, (0, n, n, n)),
        lambda n: f.pad(x, (n, 0, 0, 0), mode="replicate"),
        lambda n: f.interpolate(x, size=(n, n), mode="bilinear"),
        lambda n: f.interpolate(x, size=(n, n), mode="bicubic"),
        lambda n: f.interpolate(x, size=(n, n), mode="nearest"),
        lambda n: f.adaptive_avg_pool2d(x, (n, n)),
        lambda n: f.unfold(x, 2, padding=n),
        lambda n: f.unfold(x, 5, dilation=n),
        lambda n: f.fold(strided.rand(1, 25, 4), (6, 6), 5, dilation=n),
    ):
        for n in (2**40, 2**62):
            with pytest.raises(RuntimeError):
                call(n)
