"""Covariances, integrals, distances, renorm and the functions composed of others, beside PyTorch where it is installed:
values, shapes, dtypes, errors. Gradients: gradient_cases.py."""

import warnings

import numpy as np
import pytest
import strided
from torch_compare import check_same_error

torch = pytest.importorskip("torch")

SAME = [
    # trapezoids
    "m.trapezoid(x)", "m.trapezoid(x, v)", "m.trapezoid(x, x=v)", "m.trapezoid(x, dx=2.5, dim=0)", "m.trapezoid(i)",
    "m.trapezoid(i, dx=.5)", "m.trapezoid(i, i)", "m.trapezoid(z)", "m.trapezoid(h)",
    "m.trapezoid(z, v)", "m.trapezoid(x, m.zeros(2), dim=0)", "m.trapezoid(m.zeros(0))", "m.trapezoid(m.zeros(0, 2))",
    "m.trapezoid(m.zeros(1))", "m.trapz(x, v)", "m.trapz(x, dx=2, dim=0)", "m.trapz(x)",
    "m.cumulative_trapezoid(x)", "m.cumulative_trapezoid(x, v)", "m.cumulative_trapezoid(x, dx=2, dim=0)",
    "m.cumulative_trapezoid(i)", "m.cumulative_trapezoid(i, i)", "m.cumulative_trapezoid(h)",
    "m.cumulative_trapezoid(m.zeros(2, 0))",
    # covariance
    "x.cov()", "m.cov(x, correction=0)", "m.cov(x, correction=-2)", "m.cov(x, correction=5)", "m.cov(x, fweights=n)",
    "m.cov(x, fweights=n, aweights=v)", "m.cov(x, aweights=v)", "m.cov(x, correction=0, aweights=v)",
    "m.cov(x, aweights=v.double())", "m.cov(x, aweights=v.half())", "m.cov(i)", "m.cov(h)", "m.cov(z)", "m.cov(v)",
    "m.cov(v[:1])", "m.cov(m.tensor(1.))", "m.cov(m.zeros(0))", "m.cov(m.zeros(2, 0))",
    "m.cov(m.zeros(0, 2))", "x.corrcoef()", "m.corrcoef(i)", "m.corrcoef(z)", "m.corrcoef(h)", "m.corrcoef(v)",
    "m.corrcoef(m.tensor(1.))", "m.corrcoef(m.ones(2, 3))", "m.corrcoef(m.zeros(2, 0))",
    # distances
    "m.cdist(x, x)", "m.cdist(x, x[:1], p=0)", "m.cdist(x, x, p=float('inf'))", "m.cdist(x, x, p=.5)",
    "m.cdist(x, x, 3)", "m.cdist(x, x + 1, 2, 'donot_use_mm_for_euclid_dist')",
    "m.cdist(x, x + 1, compute_mode='use_mm_for_euclid_dist')", "m.cdist(m.zeros(0, 3), x)",
    "m.cdist(m.zeros(2, 0), m.zeros(3, 0))", "m.cdist(m.ones(2, 1, 2, 3), m.zeros(3, 5, 3))",
    "m.cdist(x, m.tensor([[float('nan'), 0, 0]]))", "m.cdist(x, m.tensor([[float('inf'), 0, 0]]), p=3)",
    "m.cdist(x1=x, x2=x.expand(30, 2, 3).reshape(60, 3) + .5)", "m.cdist(x * 1e30, x * 0)",
    "m.pdist(B[0])", "m.pdist(B[0], 1)", "m.pdist(B[0], p=0)", "m.pdist(B[0], float('inf'))", "m.pdist(m.zeros(1, 3))",
    "m.pdist(m.zeros(3, 0))", "m.pairwise_distance(x, v)", "m.pairwise_distance(x, v, 1, .5, True)",
    "m.pairwise_distance(i, i)", "m.cosine_similarity(x, x + 1)", "m.cosine_similarity(x, v)",
    "m.cosine_similarity(x * 0, x)", "m.cosine_similarity(v, v, 0)", "m.cosine_similarity(x, x.double() + 1)",
    # renorm, other norms
    "m.renorm(x, 2, 0, 3)", "m.renorm(x, 1, -1, 3)", "m.renorm(x, float('inf'), 1, 3)", "m.renorm(x, .5, 1, 3)",
    "m.renorm(x, 2, 1, 0)", "m.renorm(h, 2, 0, 3)", "m.renorm(z, 2, 0, 3)", "m.renorm(m.zeros(2, 0), 2, 0, 3)",
    "m.renorm(m.full((2, 2), float('nan')), 2, 1, 3)", "m.renorm(input=x, p=2, dim=0, maxnorm=3)",
    "x.clone().renorm_(2, 0, 3)", "m.frobenius_norm(x, 1)", "m.frobenius_norm(B, (0, 1), True)", "m.nuclear_norm(x)",
    "m.nuclear_norm(B, (0, 1), True)", "m.norm_except_dim(x)", "m.norm_except_dim(B, 2, 1)",
    "m.norm_except_dim(B, 2, -1)",
    # factorisations under their old names, low rank
    "m.lu(A)", "m.lu(A, get_infos=True)", "m.lu(A.expand(2, 2, 2), pivot=True)", "A.lu(get_infos=True)",
    "m.lu(m.zeros(2, 2), get_infos=True)", "m.triangular_solve(x, A)", "m.triangular_solve(A, A, False)",
    "m.triangular_solve(A, A, upper=False, transpose=True)", "A.triangular_solve(A, True, False, True)",
    "m.triangular_solve(A, A.expand(3, 2, 2))", "m.triangular_solve(A * (1 + 0j), A * 1j, transpose=True)",
    "m.svd_lowrank(x, q=2)[1]", "m.svd_lowrank(x, q=5)[1]", "m.svd_lowrank(x, q=0)[0]", "m.svd_lowrank(z)[1]",
    "m.svd_lowrank(x, M=v)[1]", "m.svd_lowrank(x, q=None, niter=None)[1]", "m.svd_lowrank(B.expand(2, 3, 3, 3))[1]",
    "m.svd_lowrank(B, 1)[1]", "m.svd_lowrank(B, 1, niter=0)[1]", "m.svd_lowrank(x, 1)[2].abs()", "m.pca_lowrank(x)[1]",
    "m.pca_lowrank(B[0], q=2)[0].abs()", "m.pca_lowrank(x, center=False)[1]",
    "m.pca_lowrank(B, 1, niter=0)[1]", "m.lobpcg(D)[0]", "m.lobpcg(D, k=3)[0]", "m.lobpcg(D, k=3, largest=False)[0]",
    "m.lobpcg(D, k=1, n=3)[0]", "m.lobpcg(D, method='basic')[0]", "m.lobpcg(D, k=2, tol=1e-6)[1].abs()",
    "m.lobpcg(D, B=D.flip(0, 1), k=2, tol=1e-6)[0]", "m.lobpcg(D, iK=D.inverse(), largest=False)[0]",
    "m.lobpcg(D.expand(2, 9, 9), k=2)[0]", "m.lobpcg(m.eye(9), k=2)[0]",
    # the rest
    "m.add(2, x, alpha=3)", "m.sub(2, x, alpha=.5)", "m.subtract(2.5, i, alpha=3)", "m.add(2, 3, alpha=2)",
    "m.sub(2, 3.5)", "m.add(True, i, alpha=2)", "m.add(2, v.double()[0], alpha=2)", "m.add(1j, x, alpha=2)",
    "m.sub(1, z, alpha=1j)", "m.isreal(z)", "x.isreal()", "m.isreal(z.real)", "m.rsub(x, 2)", "m.rsub(i, 2, alpha=3)",
    "m.rsub(x, v, alpha=.5)", "m.nonzero_static(x, size=3)", "m.nonzero_static(x, size=8, fill_value=5)",
    "x.nonzero_static(size=0)",
    "m.nonzero_static(m.tensor(1.), size=2)", "m.as_strided_scatter(x, m.ones(2), (2,), (2,))",
    "x.as_strided_scatter(m.ones(2), (2,), (2,), 1)", "m.histogramdd(x[:, :2], [2, 3]).hist",
    "m.histogramdd(x[:, :2], 2, range=[0., 1., 0., 5.]).hist",
    "m.histogramdd(x[:, :2], 2, weight=m.tensor([1., 2.]), density=True).hist", "x.float_power(2)",
    "x.double().float_power_(2)", "(x + 3).mvlgamma(2)",
    "(x + 3).mvlgamma_(2)", "m.special.multigammaln(x + 3, 2)", "x.frexp()", "x.sum_to_size(1, 3)",
    "x.sum_to_size((3,))", "x.sum_to_size(())", "x.apply_(lambda a: a * 2)", "x.map_(v, lambda a, b: a * b)",
    "x.map2_(v, x, lambda a, b, c: a * b + c)", "m.empty_permuted((2, 3, 4), (0, 2, 1)).fill_(0)", "m.resolve_neg(x)",
    "m.detach(x)", "m.clamp_max_(x, 2)", "m.gcd_(i, i + 2)", "m.index_put_(x, (m.tensor([0]),), v)",
    "m.unsafe_chunk(x, 2)", "x.unsafe_split(1, 1)", "m.expand_copy(v, (2, 3))", "m.squeeze_copy(x[None], 0)",
    "m.view_copy(x, (3, 2))", "m.view_copy(x.t(), (6,))", "m.view_copy(x, m.int32)", "m.split_copy(x, 1)",
    "m.unbind_copy(x)",
    "m.slice_copy(x, 1, 0, 3, 2)", "m.select_copy(x, 0, 1)", "m.t_copy(x)", "m.alias_copy(x)",
    "x.clone().copy_(2.5)", "i.clone().copy_(2.5)", "i.char().copy_(300)", "x.clone().copy_(True)",
    "m.histc(x, 4, 2, 2)", "m.histc(x, 3, 9, 9)", "m.histc(x[:0], 3, 2, 2)", "m.histogramdd(m.zeros(3, 0), []).hist",
    "m.histogramdd(m.zeros(0, 2), [2, 3]).hist", "m.masked.prod(x, dim=[])", "m.masked.prod(x, dim=[], keepdim=True)",
    "m.masked.prod(x, dim=())", "m.masked.sum(x, dim=[], keepdim=True)", "m.masked.mean(x, dim=[])",
    "m.masked.std(x, dim=[])", "m.masked.var(x, dim=[], keepdim=True)",
    "m.nonzero_static(x, size=3, out=m.empty(0, dtype=m.int64))",
    "m.gradient(x, spacing=(m.tensor([1., 3.]), m.tensor([2., 5., 4.])))",
    "m.gradient(x, spacing=(m.tensor([1., 3.]), m.tensor([2., 5., 2.])))",
    "m.gradient(x, spacing=(m.tensor([1., 3.]), m.tensor([2., 2., 5.])), edge_order=1)",
    "m.gradient(i, spacing=(m.tensor([1, 1]), m.tensor([2, 2, 2])))",
    "m.unfold_copy(v, 0, 2, 1)", "m.view_as_real_copy(z)", "m.permute_copy(x, (1, 0), out=m.empty(3, 2))",
]  # fmt: skip

ERRORS = [
    "m.trapezoid(x, dx=1j)", "m.trapezoid(x, dx=True)", "m.trapezoid(x > 1)", "m.trapezoid(x > 1, x > 1)",
    "m.trapezoid(x, m.zeros(2))", "m.trapezoid(x, m.zeros(1), dim=0)", "m.trapezoid(x, m.zeros(2, 4))",
    "m.trapezoid(x, m.tensor(1.))", "m.trapezoid(x, dim=5)", "m.trapezoid(m.tensor(1.))",
    "m.cumulative_trapezoid(z, dx=1j)", "m.cumulative_trapezoid(x > 1)", "m.cumulative_trapezoid(x, m.zeros(2))",
    "m.cov(B)", "m.cov(x > 1)", "m.cov(x, fweights=v)", "m.cov(x, fweights=v > 1)", "m.cov(x, fweights=n[:2])",
    "m.cov(x, fweights=-n)", "m.cov(x, fweights=n[None])", "m.cov(x, fweights=n * 0)", "m.cov(x, aweights=n)",
    "m.cov(x, aweights=v[:2])", "m.cov(x, aweights=-v)", "m.cov(x, aweights=v[None])", "m.cov(x, aweights=v * 0)",
    "m.corrcoef(B)", "m.corrcoef(x > 1)",
    "m.cdist(x, x, p=-1)", "m.cdist(x, x, p=float('nan'))", "m.cdist(x, x, compute_mode='abc')",
    "m.cdist(x, x, compute_mode=None)", "m.cdist(i, i)", "m.cdist(x, i)", "m.cdist(z, z)", "m.cdist(x, x.double())",
    "m.cdist(v, v)",
    "m.cdist(x, v)", "m.cdist(x, m.zeros(2, 4))", "m.cdist(m.zeros(2, 2, 3), m.zeros(3, 2, 3))", "m.cdist(x, x, '2')",
    "m.pdist(v)", "m.pdist(B)", "m.pdist(i)", "m.pdist(z)", "m.pdist(x, -1)", "m.pdist(x, float('nan'))",
    "m.cosine_similarity(i, i)", "m.cosine_similarity(z, z)", "m.cosine_similarity(x, x, dim=5)",
    "m.renorm(x, 0, 1, 3)", "m.renorm(x, float('nan'), 1, 3)", "m.renorm(x, 1j, 1, 3)", "m.renorm(x, 2, 1, -3)",
    "m.renorm(x, 2, 1, float('nan'))", "m.renorm(x, 2, 1, 1j)", "m.renorm(x, 2, 5, 3)", "m.renorm(v, 2, 0, 3)",
    "m.renorm(i, 2, 0, 3)", "m.renorm(m.zeros(2, 0), float('inf'), 0, 3)",
    "m.lu(A, False)", "m.lu(v)", "m.triangular_solve(A, v)", "m.triangular_solve(v, A)", "m.triangular_solve(x.t(), A)",
    "m.triangular_solve(A, x)", "m.triangular_solve(A, A.double())",
    "m.svd_lowrank(x, q=-1)", "m.svd_lowrank(v)", "m.svd_lowrank(x * float('nan'))", "m.svd_lowrank(x, q=10**12)",
    "m.pca_lowrank(x, q=3)", "m.pca_lowrank(x, q=-1)", "m.pca_lowrank(x, niter=-1)", "m.pca_lowrank(i)",
    "m.lobpcg(D, k=4)", "m.lobpcg(D, k=1, n=4)", "m.lobpcg(D * float('nan'), k=2)", "m.lobpcg(D.long())",
    "m.lobpcg(D.requires_grad_(), B=D)[0].sum().backward()",
    "m.nonzero_static(x, size=-1)", "m.as_strided_scatter(x, m.ones(3), (2,), (2,))", "m.rsub(i, 2, alpha=.5)",
    "m.sub(2, i, alpha=.5)", "m.sub(True, i, alpha=2)", "m.add(2, i, alpha=True)",
    "m.empty_permuted((2, 3), (0, 0))", "m.empty_permuted((2, 3, 4), (0, 2))", "x.sum_to_size(2)", "x.float_power_(2)",
    "i.frexp()", "m.histc(i, 3, 2, 1)", "m.histc(x, 3, 0, float('inf'))", "~x", "~z",
    "m.set_deterministic_debug_mode(7)", "m.set_deterministic_debug_mode('abc')", "m.frobenius_norm(x)",
]  # fmt: skip
# Where these have other words or another type, because PyTorch's are those of its implementation.
OTHER_WORDS = {
    "m.trapezoid(x, m.zeros(2, 4))", "m.trapezoid(x, m.tensor(1.))", "m.trapezoid(m.tensor(1.))",
    "m.svd_lowrank(x, q=-1)", "m.svd_lowrank(v)", "m.svd_lowrank(x, q=10**12)", "m.lobpcg(D * float('nan'), k=2)",
    "m.lobpcg(D.long())", "x.float_power_(2)", "m.frobenius_norm(x)",
}  # fmt: skip


def run(m, code):
    m.manual_seed(3)
    names = {
        "m": m, "x": m.arange(6, dtype=m.float32).reshape(2, 3), "i": m.arange(6).reshape(2, 3),
        "v": m.tensor([1.0, 2.0, 4.0]), "n": m.tensor([1, 2, 3]), "A": m.tensor([[4.0, 1.0], [2.0, 3.0]]),
        "B": ((m.arange(27, dtype=m.float32) * 7) % 11 - 5).reshape(3, 3, 3), "D": m.diag(m.arange(1.0, 10)),
        "h": m.arange(6).reshape(2, 3).half(),
    }  # fmt: skip
    names["z"] = names["x"] * (1 + 1j) - m.tensor([0, 1j, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code, names)


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


def numbers(t):
    return np.array((t.float() if t.dtype.is_floating_point else t).tolist())


@pytest.mark.parametrize("code", SAME)
def test_same_result(code):
    ours, theirs = parts(run(strided, code)), parts(run(torch, code))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert tuple(a.shape) == tuple(b.shape) and str(a.dtype) == str(b.dtype)
        assert "_copy" not in code or a.stride() == b.stride()
        tolerance = 2e-2 if "h" in code.split("(")[-1] else 1e-3 if "lobpcg" in code else 2e-5
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("code", ERRORS)
def test_same_error(code):
    check_same_error(lambda: run(strided, code), lambda: run(torch, code), code not in OTHER_WORDS)


@pytest.mark.parametrize("seed", range(20))
def test_bins_without_order(seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(40, 2)).astype("float32")
    edges = [generator.normal(size=n).astype("float32") for n in (5, 4)]
    for e in edges:
        if seed % 2:  # the least one first and the greatest one last: points inside are counted
            e[0], e[-1] = -2, 2
    for density in (False, True):
        made = []
        for lib in (torch, strided):
            points, bins = lib.from_numpy(x.copy()), [lib.from_numpy(e.copy()) for e in edges]
            made.append(lib.histogram(points[:, 0].contiguous(), bins[0], density=density).hist.numpy())
            made.append(lib.histogramdd(points, bins, density=density).hist.numpy())
        np.testing.assert_allclose(made[2], made[0], rtol=1e-5)
        np.testing.assert_allclose(made[3], made[1], rtol=1e-5)
