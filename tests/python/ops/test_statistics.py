"""Covariances, integrals by trapezoids, distances between rows, renorm and histograms of several dimensions, against
NumPy."""

import math
import warnings

import numpy as np
import pytest
import strided as torch

FLOATS = ["float32", "float64"]
EPS = {
    "float16": 1e-3,
    "bfloat16": 8e-3,
    "float32": 1.2e-7,
    "complex64": 1.2e-7,
    "float64": 2.3e-16,
    "complex128": 2.3e-16,
}
NAN, INF = math.nan, math.inf


def sample(shape, dtype="float64", seed=0):
    """A tensor of normal numbers, and its values in float64 or complex128."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    x = torch.tensor(values).to(getattr(torch, dtype))
    return x, wide(x)


def wide(x):
    return x.to(torch.complex128 if x.dtype.is_complex else torch.float64).numpy().copy()


def close(got, want, dtype, factor=30.0):
    assert str(got.dtype) == f"torch.{dtype}"
    assert tuple(got.shape) == np.shape(want)
    scale = max(1.0, float(np.nan_to_num(np.abs(want)).max(initial=0)))
    np.testing.assert_allclose(wide(got), want, rtol=0, atol=EPS[dtype] * factor * scale)


def layouts(x):
    """The same values: contiguous, by columns, with gaps, reversed in memory."""
    yield x
    yield x.mT.contiguous().mT
    yield torch.stack([x, x], -1)[..., 0]
    yield x.flip(0)[::-1]


# ---------------------------------------------------------------- trapezoids


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_trapezoid(dtype, dim):
    y, ny = sample((4, 5, 3), dtype)
    x, nx = sample((ny.shape[dim],), dtype, 1)
    for view in layouts(y):
        close(torch.trapezoid(view, dx=0.5, dim=dim), np.trapezoid(ny, dx=0.5, axis=dim), dtype)
        close(torch.trapezoid(view, x, dim=dim), np.trapezoid(ny, nx, axis=dim), dtype)
    close(torch.trapz(y, x, dim=dim), np.trapezoid(ny, nx, axis=dim), dtype)
    close(torch.trapezoid(y, y, dim=dim), np.trapezoid(ny, ny, axis=dim), dtype)
    points = np.expand_dims(nx, [a for a in range(3) if a != dim % 3])
    parts = (
        (np.take(ny, range(1, ny.shape[dim]), dim) + np.take(ny, range(ny.shape[dim] - 1), dim))
        * np.diff(points, axis=dim)
        / 2
    )
    close(torch.cumulative_trapezoid(y, x, dim=dim), np.cumsum(parts, dim), dtype, 60)


def test_trapezoid_of_integers():
    y, x = torch.tensor([0, 200, 255], dtype=torch.uint8), torch.tensor([5, 3, 0], dtype=torch.uint8)
    assert torch.trapezoid(y).item() == 327.5 and torch.trapezoid(y).dtype == torch.float32
    assert torch.trapezoid(y, x).item() == np.trapezoid([0, 200, 255], [5, 3, 0])
    assert torch.cumulative_trapezoid(y, dx=2).tolist() == [200, 655]
    assert torch.cumulative_trapezoid(y, x).tolist() == [-200, -882.5]
    assert torch.trapezoid(torch.tensor([2**62, 2**62]), torch.tensor([0, 0])).item() == 0


def test_trapezoid_of_points_with_more_dimensions():
    y, ny = sample((3,))
    x, nx = sample((2, 3), seed=1)
    close(torch.trapezoid(y, x), np.trapezoid(ny, nx, axis=-1), "float64")


def test_trapezoid_of_nothing():
    assert torch.trapezoid(torch.zeros(0)).item() == 0 and torch.trapezoid(torch.zeros(2, 0)).tolist() == [0, 0]
    assert torch.trapezoid(torch.zeros(0, 2)).shape == (0,) and torch.trapezoid(torch.ones(1)).item() == 0
    assert torch.cumulative_trapezoid(torch.zeros(1)).shape == (0,) and torch.cumulative_trapezoid(
        torch.zeros(2, 0)
    ).shape == (2, 0)
    assert math.isnan(torch.trapezoid(torch.tensor([1.0, NAN])).item())


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
def test_trapezoid_errors(name):
    f, y = getattr(torch, name), torch.ones(2, 3)
    with pytest.raises(IndexError, match="0-d tensor"):
        f(torch.tensor(1.0))
    with pytest.raises(IndexError, match="out of range"):
        f(y, dim=2)
    for x in (torch.ones(2), torch.tensor(1.0), torch.ones(2, 1), torch.ones(1)):
        with pytest.raises(RuntimeError, match="one `x` value for each sample point"):
            f(y, x)
    with pytest.raises(RuntimeError, match="real number"):
        f(y, dx=1j)
    with pytest.raises(RuntimeError, match="bool"):
        f(y > 0)
    with pytest.raises(RuntimeError, match="bool"):
        f(y, y > 0)
    with pytest.raises(TypeError):
        f(y, 2)


# ---------------------------------------------------------------- covariance


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 5), (3, 7), (7,), (20, 100)])
def test_cov_and_corrcoef(dtype, shape):
    x, nx = sample(shape, dtype)
    n = shape[-1]
    f, a = np.arange(n) % 3 + 1, np.abs(np.random.default_rng(1).standard_normal(n))
    tf, ta = torch.tensor(f), torch.tensor(a).to(x.real.dtype)
    for view in layouts(x) if x.ndim == 2 else [x]:
        close(view.cov(), np.cov(nx), dtype)
        close(torch.cov(view, correction=0), np.cov(nx, ddof=0), dtype)
        close(torch.cov(view, fweights=tf), np.cov(nx, fweights=f), dtype)
        close(
            torch.cov(view, correction=2, fweights=tf, aweights=ta), np.cov(nx, ddof=2, fweights=f, aweights=a), dtype
        )
    want = np.corrcoef(nx)
    close(torch.corrcoef(x), want if want.ndim else np.array(1.0), dtype)


def test_cov_of_integers_and_16_bit_floats():
    x = torch.tensor([[0, 1, 2], [3, 4, 9]], dtype=torch.int8)
    np.testing.assert_allclose(x.cov().numpy(), np.cov(x.numpy()), rtol=1e-6)
    assert x.cov().dtype == torch.float32 and x.half().cov().dtype == torch.float16
    assert (
        x.half().corrcoef().dtype == torch.float16
        and x.cov(aweights=torch.ones(3, dtype=torch.float64)).dtype == torch.float64
    )


def test_cov_without_freedom_warns():
    x = torch.tensor([[0.0, 1.0], [2.0, 4.0]])
    for f in (
        lambda: x.cov(correction=2),
        lambda: x[:, :1].cov(),
        lambda: x[:, :0].corrcoef(),
        lambda: torch.cov(torch.tensor(1.0)),
    ):
        with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
            assert not f().isfinite().any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.cov(correction=-3).shape == (2, 2) and torch.cov(torch.tensor(1.0), correction=0).item() == 0
        with pytest.raises(UserWarning):
            x.cov(correction=5)


def test_correlations_stay_within_one():
    x = torch.tensor([0.1, 0.2, 0.7]).expand(50, 3) * torch.linspace(1e-3, 1e3, 50)[:, None]
    assert (x.corrcoef().abs() <= 1).all()
    assert torch.ones(2, 3).corrcoef().isnan().all()


def test_cov_errors():
    x = torch.ones(2, 3)
    for f, message in (
        (lambda: torch.ones(1, 2, 3).cov(), "two or fewer dimensions"),
        (lambda: torch.ones(1, 2, 3).corrcoef(), "two or fewer dimensions"),
        (lambda: (x > 0).cov(), "bool"),
        (lambda: x.cov(fweights=torch.ones(3)), "integral dtype"),
        (lambda: x.cov(fweights=torch.tensor([True, True, True])), "integral dtype"),
        (lambda: x.cov(aweights=torch.tensor([1, 2, 3])), "floating point dtype"),
        (lambda: x.cov(fweights=torch.tensor([1, 2])), "got 2 != 3"),
        (lambda: x.cov(aweights=torch.ones(1, 3)), "one or fewer dimensions"),
        (lambda: x.cov(fweights=torch.tensor([1, -1, 1])), "cannot be negative"),
        (lambda: x.cov(aweights=torch.tensor([1, NAN, 1])), "cannot be negative"),
        (lambda: x.cov(aweights=torch.zeros(3)), "sum to zero"),
    ):
        with pytest.raises(RuntimeError, match=message):
            f()
    with pytest.raises(TypeError):
        x.cov(correction=1.5)


# ---------------------------------------------------------------- distances


def distances(x, y, p):
    d = np.abs(x[..., :, None, :] - y[..., None, :, :])
    if p == 0:
        return (d != 0).sum(-1).astype(float)
    return d.max(-1, initial=0) if p == INF else (d**p).sum(-1) ** (1 / p)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", *FLOATS])
@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, INF])
@pytest.mark.parametrize("shapes", [((3, 4), (5, 4)), ((1, 1), (1, 1)), ((2, 1, 3, 2), (4, 6, 2)), ((40, 3), (30, 3))])
def test_cdist(dtype, p, shapes):
    (x, nx), (y, ny) = sample(shapes[0], dtype), sample(shapes[1], dtype, 1)
    want = distances(nx, ny, p)
    for view in layouts(x):
        close(torch.cdist(view, y, p, "donot_use_mm_for_euclid_dist"), want, dtype)
    close(torch.cdist(x, y, p), want, dtype, 60)
    close(torch.cdist(x, y, p, compute_mode="use_mm_for_euclid_dist"), want, dtype, 60)


def test_cdist_in_parts():
    """More differences than are formed at a time; the same bits as row by row."""
    (x, nx), (y, ny) = sample((300, 64), "float32"), sample((200, 64), "float32", 1)
    got = torch.cdist(x, y, 1)
    close(got, distances(nx, ny, 1), "float32")
    assert torch.equal(got, torch.cat([torch.cdist(row[None], y, 1) for row in x]))
    x.requires_grad_()
    torch.cdist(x, y, 3).sum().backward()
    whole, x.grad = x.grad, None
    torch.linalg.vector_norm(x[:, None] - y, 3, -1).sum().backward()
    assert torch.allclose(whole, x.grad, atol=1e-4)


def test_gradient_of_cdist_at_zero_is_zero():
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        for p in (0, 0.5, 1, 1.5, 2, 3, INF):
            x = torch.tensor([[1.0, 2.0]], requires_grad=True)
            torch.cdist(x, torch.tensor([[1.0, 2.0]]), p, mode).sum().backward()
            assert x.grad.tolist() == [[0, 0]]


def test_equal_largest_differences_share_the_gradient():
    x = torch.tensor([[3.0, -3.0, 1.0]], requires_grad=True)
    torch.cdist(x, torch.zeros(1, 3), INF).sum().backward()
    assert x.grad.tolist() == [[0.5, -0.5, 0]]


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, INF])
@pytest.mark.parametrize("dtype", ["float16", *FLOATS])
def test_pdist(p, dtype):
    x, nx = sample((9, 4), dtype)
    want = distances(nx, nx, p)[np.triu_indices(9, 1)]
    for view in layouts(x):
        close(torch.pdist(view, p), want, dtype)
    twice = torch.cat([x[:2], x[:2]]).requires_grad_()
    torch.pdist(twice, p).sum().backward()
    assert twice.grad.isfinite().all()


def test_pdist_in_parts():
    x, nx = sample((400, 8), "float32")
    close(torch.pdist(x), distances(nx, nx, 2)[np.triu_indices(400, 1)], "float32")


@pytest.mark.parametrize("p", [0, 1, 2, INF])
def test_distances_of_few_and_many(p):
    """Rows and columns about as many as are computed side by side, and a NaN among them."""
    for dtype in FLOATS:
        for n, columns in ((2, 1), (33, 31), (65, 33), (66, 70)):
            x, nx = sample((n, columns), dtype)
            want = distances(nx, nx, p)
            close(torch.pdist(x, p), want[np.triu_indices(n, 1)], dtype)
            close(torch.cdist(x, x[: n - 1], p, "donot_use_mm_for_euclid_dist"), want[:, : n - 1], dtype)
        x[3, 5] = math.nan
        made = torch.cdist(x, x, p, "donot_use_mm_for_euclid_dist").isnan()
        assert made[3].all() and made[:, 3].all() and made.sum() == 2 * n - 1


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_of_distances(p, dtype):
    """Rows and columns about as many as are computed side by side; rows that are equal; a NaN, which stays in its
    rows; and the second derivative, which is composed."""

    def by_rows(nx, ny, g):
        d = nx[:, None] - ny
        size = np.linalg.norm(d, axis=-1, keepdims=True)
        return g[..., None] * (np.sign(d) if p == 1 else d / np.where(size == 0, 1, size))

    for n, m, columns in ((2, 1, 1), (33, 34, 15), (40, 7, 16), (70, 65, 33)):
        (x, nx), (y, ny), (g, ng) = (
            sample((n, columns), dtype),
            sample((m, columns), dtype, 1),
            sample((n, m), dtype, 2),
        )
        x[-1] = y[0]
        nx[-1] = ny[0]
        want = by_rows(nx, ny, ng)
        for a, b in zip(layouts(x), layouts(y)):
            a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
            made = torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist")
            to_a, to_b = torch.autograd.grad(made, (a, b), g, retain_graph=True)
            close(to_a, want.sum(1), dtype)
            close(to_b, -want.sum(0), dtype)
            again = torch.autograd.grad(made, (a, b), g, create_graph=True)
            close(again[0].detach(), want.sum(1), dtype)
            close(again[1].detach(), -want.sum(0), dtype)
        i, j = np.triu_indices(n, 1)
        g, ng = sample((len(i),), dtype, 3)
        both = np.zeros((n, n))
        both[i, j] = both[j, i] = ng
        leaf = x.requires_grad_()
        close(torch.autograd.grad(torch.pdist(leaf, p), leaf, g)[0], by_rows(nx, nx, both).sum(1), dtype)
    x = sample((40, 5), dtype)[0]
    x[3, 2] = NAN
    leaf = x.requires_grad_()
    assert torch.autograd.grad(torch.pdist(leaf, p).sum(), leaf)[0].isnan().any(0)[2]


def test_distances_of_nothing():
    for p in (0, 1, 2, INF):
        assert torch.cdist(torch.zeros(0, 3), torch.zeros(2, 3), p).shape == (0, 2)
        assert torch.cdist(torch.zeros(2, 0), torch.zeros(3, 0), p).tolist() == [[0, 0, 0]] * 2
        assert torch.cdist(torch.zeros(0, 2, 3), torch.zeros(5, 3), p).shape == (0, 2, 5)
        assert torch.pdist(torch.zeros(3, 0), p).tolist() == [0, 0, 0]
        assert torch.pdist(torch.zeros(0, 3), p).shape == torch.pdist(torch.zeros(1, 3), p).shape == (0,)
        x = torch.zeros(0, 3, requires_grad=True)
        torch.cdist(x, torch.zeros(2, 3), p).sum().backward()
        assert x.grad.shape == (0, 3)


def test_the_slope_of_a_distance_to_nan_is_nan_however_it_is_computed():
    for create_graph in (False, True):
        x = torch.tensor([[NAN, 1.0]], requires_grad=True)
        slope = torch.autograd.grad(torch.cdist(x, torch.zeros(1, 2), 1.0).sum(), x, create_graph=create_graph)[0]
        assert math.isnan(slope[0, 0]) and slope[0, 1] == 1


def test_distances_of_nan_and_inf():
    x = torch.tensor([[NAN, 0.0]])
    for p in (0, 1, 2, 3, INF):
        assert torch.cdist(x, torch.zeros(1, 2), p).isnan().all() and torch.pdist(torch.cat([x, x]), p).isnan().all()
        assert torch.cdist(torch.tensor([[INF, 0.0]]), torch.zeros(1, 2), p).item() == (1 if p == 0 else INF)
        infinite = torch.full((2, 2), INF)
        assert torch.cdist(infinite, infinite, p).isnan().all() and torch.pdist(infinite, p).isnan().all()


def test_distance_errors():
    x = torch.ones(2, 3)
    for f, message in (
        (lambda: torch.cdist(x, torch.ones(2, 4)), "same number of columns. X1: 3 X2: 4"),
        (lambda: torch.cdist(x[0], x), "at least 2D tensors, X1 got: 1D"),
        (lambda: torch.cdist(x, x[0]), "at least 2D tensors, X2 got: 1D"),
        (lambda: torch.cdist(x.long(), x.long()), "X1 got: Long"),
        (lambda: torch.cdist(x, x.to(torch.complex64)), "X2 got: ComplexFloat"),
        (lambda: torch.cdist(x, x.double()), "expected scalar type Float but found Double"),
        (lambda: torch.cdist(x, x, -1), "non-negative p"),
        (lambda: torch.cdist(x, x, NAN), "non-negative p"),
        (lambda: torch.cdist(torch.ones(2, 2, 3), torch.ones(3, 2, 3)), "must match"),
        (lambda: torch.pdist(x[0]), "2D tensors, got: 1D"),
        (lambda: torch.pdist(x.long()), "floating-point"),
        (lambda: torch.pdist(x, NAN), "non-negative p"),
    ):
        with pytest.raises(RuntimeError, match=message):
            f()
    for mode in ("abc", None):
        with pytest.raises(ValueError, match="not a valid value for compute_mode"):
            torch.cdist(x, x, compute_mode=mode)


def test_pairwise_distance_and_cosine_similarity():
    (x, nx), (y, ny) = sample((4, 3)), sample((3,), seed=1)
    close(torch.pairwise_distance(x, y, p=3), (np.abs(nx - ny + 1e-6) ** 3).sum(-1) ** (1 / 3), "float64")
    assert torch.pairwise_distance(x, y, keepdim=True).shape == (4, 1)
    want = (nx * ny).sum(-1) / np.linalg.norm(nx, axis=-1) / np.linalg.norm(ny)
    close(torch.cosine_similarity(x, y), want, "float64")
    close(torch.cosine_similarity(x.mT, y[:, None], dim=0), want, "float64")
    assert torch.cosine_similarity(x * 0, y).tolist() == [0] * 4
    assert torch.cosine_similarity(x.float(), y).dtype == torch.float64
    with pytest.raises(RuntimeError, match="common dtype to be floating point, yet common dtype is Long"):
        torch.cosine_similarity(x.long(), y.long())
    with pytest.raises(IndexError):
        torch.cosine_similarity(x, x, dim=3)


# ---------------------------------------------------------------- renorm


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("p", [0.5, 1, 2, 3, INF])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_renorm(dtype, p, dim):
    x, nx = sample((3, 4, 2), dtype)
    axes = tuple(a for a in range(3) if a != dim % 3)
    size = np.abs(nx)
    norm = size.max(axes, keepdims=True) if p == INF else (size**p).sum(axes, keepdims=True) ** (1 / p)
    limit = 0.99 * float(np.median(norm))
    want = nx * np.where(norm > limit, limit / (norm + 1e-7), 1)  # PyTorch's formula
    for view in layouts(x):
        close(view.renorm(p, dim, limit), want, dtype, 60)
    assert torch.renorm(x, p, dim, limit, out=torch.empty_like(x)).shape == x.shape
    here = x.clone()
    assert here.renorm_(p, dim, limit) is here and torch.equal(here, x.renorm(p, dim, limit))


def test_renorm_keeps_short_slices():
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert x.renorm(2, 0, 1.0)[1:].tolist() == x[1:].tolist()
    assert x.renorm(2, 0, 0).abs().sum().item() == 0
    x = torch.full((1, 2), 200.0, dtype=torch.float16)  # whose sum of squares does not fit float16
    assert x.renorm(2, 0, 1.0).tolist() == [[0.70703125, 0.70703125]]


def test_renorm_errors():
    x = torch.ones(2, 3)
    for args, message in (
        ((0, 0, 1), "non-positive-norm"), ((NAN, 0, 1), "non-positive-norm"), ((1j, 0, 1), "p must be real"),
        ((2, 0, 1j), "maxnorm must be real"),
        ((2, 0, -1), ">= 0 but got -1"), ((2, 0, NAN), ">= 0 but got nan"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            x.renorm(*args)
    with pytest.raises(IndexError):
        x.renorm(2, 2, 1)
    with pytest.raises(RuntimeError, match="at least 2 dimensions, got 1"):
        x[0].renorm(2, 0, 1)
    with pytest.raises(RuntimeError, match="floating point or complex"):
        x.long().renorm(2, 0, 1)
    with pytest.raises(RuntimeError, match="leaf"):
        x.requires_grad_().renorm_(2, 0, 1)


# ---------------------------------------------------------------- histograms


def test_histogramdd():
    x, nx = sample((200, 3), "float64")
    weight = np.random.default_rng(5).random(200)
    hist, edges = torch.histogramdd(x, [3, 4, 5], weight=torch.tensor(weight))
    want, want_edges = np.histogramdd(nx, [3, 4, 5], weights=weight)
    close(hist, want, "float64")
    for a, b in zip(edges, want_edges):
        close(a, b, "float64")
    cuts = [np.array([-1.0, 0, 2]), np.array([-2.0, -1, 0.5, 1]), np.array([0.0, 1])]
    found = torch.histogramdd(x.reshape(10, 20, 3), [torch.tensor(c) for c in cuts])
    close(found.hist, np.histogramdd(nx, cuts)[0], "float64")
    close(
        torch.histogramdd(x, 4, range=(-1, 1, -1, 2, 0, 1), density=True).hist,
        np.histogramdd(nx, 4, range=((-1, 1), (-1, 2), (0, 1)), density=True)[0],
        "float64",
    )
    assert torch.histogramdd(torch.tensor([[NAN, 0.0], [0.5, 0.5]]), 2, range=(0, 1, 0, 1)).hist.tolist() == [
        [0, 0],
        [0, 1],
    ]


def test_histogramdd_errors():
    x = torch.zeros(4, 2)
    for f, message in (
        (lambda: torch.histogramdd(x[:, 0], 2), "at least 2 dimensions"),
        (lambda: torch.histogramdd(x, [2]), "innermost dimension"),
        (lambda: torch.histogramdd(x, 2, range=(0, 1)), "should have 4 elements"),
        (lambda: torch.histogramdd(x, 2, weight=torch.ones(3)), "got 3"),
        (lambda: torch.histogramdd(x, 0), "bins"),
    ):
        with pytest.raises(RuntimeError, match=message):
            f()
