"""Fourier transforms against NumPy's in double precision, and against sums in long double."""

import itertools
import math

import numpy as np
import pytest
import strided as torch
from gradient_checks import check_both

NAMES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
BOUND = {"float32": 4e-7, "float64": 8e-16}
COMPLEX = {"float32": "complex64", "float64": "complex128"}


def sample(name, n, dtype, *batch, seed=0):
    """An input of the function of that name for a transform of n elements, in NumPy."""
    rng = np.random.default_rng([n, seed])
    m = n // 2 + 1 if name in ("irfft", "hfft") else n
    x = rng.standard_normal((*batch, m))
    if name in ("rfft", "ihfft"):
        return x.astype(dtype)
    return (x + 1j * rng.standard_normal((*batch, m))).astype(COMPLEX[dtype])


def reference(name, x, n, axis=-1, norm=None):
    wide = x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
    return getattr(np.fft, name)(wide, n, axis, norm)


def distance(ours, expected):
    """The relative root mean square error."""
    assert ours.shape == expected.shape
    error = np.linalg.norm((ours.numpy() - expected).ravel())
    return error / max(np.linalg.norm(expected.ravel()), 1e-300)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", NAMES)
def test_every_length(name, dtype):
    """One row, and enough for lanes and a rest."""
    for n in range(1, 301):
        for batch in [(), (3,), (17,)] if n < 70 else [(3,)]:
            x = sample(name, n, dtype, *batch)
            ours = getattr(torch.fft, name)(torch.tensor(x), n)
            assert distance(ours, reference(name, x, n)) < BOUND[dtype], (n, batch)


LONG = [512, 729, 1000, 1021, 1024, 1536, 2310, 3 * 1021, 4096, 4099, 5040, 8192, 10007, 16384, 30030, 65536]


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", NAMES)
def test_long_rows(name, dtype):
    for n, batch in itertools.product(LONG, [(), (9,)]):
        if batch and n > 5000:
            continue
        x = sample(name, n, dtype, *batch)
        ours = getattr(torch.fft, name)(torch.tensor(x), n)
        assert distance(ours, reference(name, x, n)) < BOUND[dtype], (n, batch)


def test_a_million():
    x = sample("fft", 1 << 20, "float32")
    assert distance(torch.fft.fft(torch.tensor(x)), reference("fft", x, 1 << 20)) < BOUND["float32"]


@pytest.mark.parametrize("n", [8, 12, 17, 64, 97, 100, 360])
def test_against_sums_in_long_double(n):
    """The definition, with angles and sums in long double."""
    x = sample("fft", n, "float64")
    j = np.arange(n)
    pi = np.longdouble("3.14159265358979323846264338327950288")
    angle = -2 * pi * ((j[:, None] * j) % n).astype(np.longdouble) / n
    wide = x.astype(np.clongdouble)
    expected = (np.cos(angle) + 1j * np.sin(angle)) @ wide
    error = np.linalg.norm((torch.fft.fft(torch.tensor(x)).numpy() - expected).astype(complex))
    assert error / np.linalg.norm(expected.astype(complex)) < 5e-16


def layouts(x):
    """The same values in other layouts, the transformed dimension last."""
    t = torch.tensor(x)
    yield "contiguous", t
    yield "transposed", torch.tensor(np.ascontiguousarray(np.moveaxis(x, -1, 0))).movedim(0, -1)
    yield "every second", torch.tensor(np.repeat(x, 2, -1))[..., ::2]
    yield "offset", torch.tensor(np.concatenate([x[..., :3], x], -1))[..., 3:]
    negative = torch.from_numpy(np.ascontiguousarray(x[..., ::-1])[..., ::-1])
    yield "negative stride", negative


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", NAMES)
def test_layouts(name, dtype):
    for n in (8, 30, 31, 256, 1000):
        x = sample(name, n, dtype, 2, 9)
        expected = reference(name, x, n)
        for layout, t in layouts(x):
            assert distance(getattr(torch.fft, name)(t, n), expected) < BOUND[dtype], (n, layout)


@pytest.mark.parametrize("name", NAMES)
def test_stride_zero(name):
    x = sample(name, 24, "float64", 1)
    t = torch.tensor(x).expand(5, -1)
    assert distance(getattr(torch.fft, name)(t, 24), reference(name, np.repeat(x, 5, 0), 24)) < 1e-15
    for dtype, n in itertools.product(BOUND, (6, 7, 16, 100, 4096)):  # one value for all elements
        m = n // 2 + 1 if name in ("irfft", "hfft") else n
        one = sample(name, 2, dtype)[:1]
        t = torch.tensor(one).expand(3, m)
        assert distance(getattr(torch.fft, name)(t, n), reference(name, np.tile(one, (3, m)), n)) < BOUND[dtype], n


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_axes_lengths_and_norms(name, axis):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((6, 5, 7))
    if name not in ("rfft", "ihfft"):
        x = x + 1j * rng.standard_normal(x.shape)
    for n, norm in itertools.product([None, 1, 4, 9], [None, "backward", "ortho", "forward"]):
        ours = getattr(torch.fft, name)(torch.tensor(x), n, axis, norm)
        assert distance(ours, reference(name, x, n, axis, norm)) < 1e-15, (n, norm)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_several_axes(name):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 5, 6))
    if name != "rfft":
        x = x + 1j * rng.standard_normal(x.shape)
    t = torch.tensor(x)
    for s, dim in [(None, None), (None, (0, 2)), ((3, 8), (2, 0)), ((7, 2), None), ((3, 9, 4), (1, 2, 0))]:
        numpy_dim = dim if dim is not None or s is None else tuple(range(-len(s), 0))
        for norm in (None, "ortho"):
            expected = getattr(np.fft, name + "n")(x, s, numpy_dim, norm)
            for layout in (t, torch.tensor(x.transpose(2, 0, 1).copy()).permute(1, 2, 0)):
                assert distance(getattr(torch.fft, name + "n")(layout, s, dim, norm), expected) < 1e-15
    assert distance(getattr(torch.fft, name + "2")(t), getattr(np.fft, name + "2")(x)) < 1e-15


def test_hermitian_of_several_axes():
    """hfftn is irfftn of the conjugate, times the number of elements; ihfftn its inverse."""
    rng = np.random.default_rng(3)
    x = torch.tensor(rng.standard_normal((4, 5, 6)))
    half = torch.fft.ihfftn(x, dim=(0, 1))
    assert half.shape == (4, 3, 6)
    assert torch.allclose(half, torch.fft.rfftn(x, dim=(0, 1)).conj() / 20)
    assert torch.allclose(torch.fft.hfftn(half, s=(4, 5), dim=(0, 1)), x)
    assert torch.allclose(torch.fft.hfft2(torch.fft.ihfft2(x, norm="ortho"), norm="ortho"), x)


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_decide(name):
    for shape in [(65536,), (40, 1000), (3, 6007)]:
        n = shape[-1]
        x = torch.tensor(sample(name, n, "float32", *shape[:-1]))
        torch.set_num_threads(1)
        one = getattr(torch.fft, name)(x, n)
        torch.set_num_threads(2)
        two = getattr(torch.fft, name)(x, n)
        assert torch.equal(one, two)


def test_rows_do_not_mix():
    """A NaN in one row leaves the others alone."""
    x = torch.ones(9, 12)
    x[4, 3] = math.nan
    for name in ("fft", "rfft"):
        bad = torch.view_as_real(getattr(torch.fft, name)(x)).isnan().flatten(1).any(1)
        assert bad.tolist() == [row == 4 for row in range(9)]


def test_dtypes():
    for given, real in [
        ("bool", "float32"), ("int64", "float32"), ("uint8", "float32"), ("float16", "float32"),
        ("bfloat16", "float32"), ("float32", "float32"), ("float64", "float64"), ("complex64", "float32"),
        ("complex128", "float64"),
    ]:  # fmt: skip
        x = torch.ones(6).to(getattr(torch, given))
        assert torch.fft.fft(x).dtype == getattr(torch, COMPLEX[real])
        assert torch.fft.irfft(x).dtype == getattr(torch, real)
        if not x.dtype.is_complex:
            assert torch.fft.rfft(x).dtype == getattr(torch, COMPLEX[real])
    torch.set_default_dtype(torch.float64)
    assert torch.fft.fft(torch.arange(4)).dtype == torch.complex128


def test_empty_and_zero_dim():
    assert torch.fft.fft(torch.zeros(0, 3)).shape == (0, 3)
    assert torch.fft.rfft(torch.zeros(2, 0, 4)).shape == (2, 0, 3)
    assert torch.fft.fft(torch.zeros(0), 4).tolist() == [0, 0, 0, 0]
    assert torch.fft.fftn(torch.tensor(2.0)).item() == 2
    assert torch.fft.fftn(torch.ones(2, 3), dim=()).dtype == torch.complex64


def test_out():
    x = torch.arange(4.0)
    out = torch.empty(0, dtype=torch.complex64)
    assert torch.fft.fft(x, out=out) is out and out.shape == (4,)
    with pytest.raises(RuntimeError):
        torch.fft.fft(x, out=torch.empty(4))


def test_errors():
    x, z = torch.ones(4, 6), torch.ones(4, 6, dtype=torch.complex64)
    for call, error, text in [
        (lambda: torch.fft.fft(x, 0), RuntimeError, r"Invalid number of data points \(0\) specified"),
        (lambda: torch.fft.fft(x, -1), RuntimeError, r"Invalid number of data points \(-1\)"),
        (lambda: torch.fft.fft(x, 1 << 62), RuntimeError, ""),
        (lambda: torch.fft.fft(x, dim=2), IndexError, "Dimension out of range"),
        (lambda: torch.fft.fft(x, norm="foo"), RuntimeError, 'Invalid normalization mode: "foo"'),
        (lambda: torch.fft.fft(torch.tensor(1.0)), IndexError, "has no dimensions"),
        (lambda: torch.fft.fft(torch.zeros(0)), RuntimeError, "Invalid number of data points"),
        (lambda: torch.fft.irfft(torch.zeros(1)), RuntimeError, "Invalid number of data points"),
        (lambda: torch.fft.rfft(z), RuntimeError, "rfft expects a real input tensor, but got ComplexFloat"),
        (lambda: torch.fft.ihfftn(z), RuntimeError, "real"),
        (lambda: torch.fft.fft2(x, dim=(0, 0)), RuntimeError, "FFT dims must be unique"),
        (lambda: torch.fft.fftn(x, s=(1, 2, 3)), RuntimeError, "Got shape with 3 values"),
        (lambda: torch.fft.fftn(x, s=(1,), dim=(0, 1)), RuntimeError, "must have the same length"),
        (lambda: torch.fft.rfftn(x, dim=()), RuntimeError, "must transform at least one axis"),
        (lambda: torch.fft.fft([1.0]), TypeError, "must be Tensor"),
        (lambda: torch.fft.fft(x, 2.5), TypeError, "must be int"),
        (lambda: torch.fft.fft(x.to(torch.float8_e5m2)), RuntimeError, "Unsupported dtype Float8_e5m2"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_shifts_and_frequencies():
    for n in (1, 4, 5):
        assert np.allclose(torch.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5))
        assert np.allclose(torch.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5))
        x = np.arange(3.0 * n).reshape(3, n)
        for dim in (None, 0, (0, 1), (1,)):
            assert torch.fft.fftshift(torch.tensor(x), dim).tolist() == np.fft.fftshift(x, dim).tolist()
            assert torch.fft.ifftshift(torch.tensor(x), dim).tolist() == np.fft.ifftshift(x, dim).tolist()
    out = torch.empty(5, dtype=torch.float64)
    assert torch.fft.fftfreq(5, out=out) is out
    assert torch.fft.fftfreq(3, dtype=torch.float64, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        torch.fft.fftfreq(5, dtype=torch.int64)
    with pytest.raises(RuntimeError):
        torch.fft.fftfreq(-1)


GRADIENTS = [
    ("fft", "rc", {}), ("fft", "rc", {"n": 3}), ("ifft", "c", {"n": 7, "dim": 0}), ("rfft", "r", {}),
    ("rfft", "r", {"n": 4, "norm": "ortho"}), ("irfft", "rc", {}), ("irfft", "c", {"n": 7}), ("irfft", "c", {"n": 4}),
    ("hfft", "c", {}), ("hfft", "c", {"n": 5}), ("ihfft", "r", {}), ("ihfft", "r", {"n": 7}), ("fftn", "rc", {}),
    ("rfftn", "r", {"norm": "ortho"}), ("irfftn", "c", {"s": (3, 7)}), ("hfftn", "c", {}), ("ihfftn", "r", {}),
]  # fmt: skip


@pytest.mark.parametrize("name, kinds, options", GRADIENTS)
def test_gradients_of_every_order(name, kinds, options):
    for kind in kinds:
        x = torch.randn(4, 5, dtype=torch.float64 if kind == "r" else torch.complex128, requires_grad=True)
        check_both(lambda t: getattr(torch.fft, name)(t, **options), (x,))
