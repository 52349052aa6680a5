"""The cases of gradient_cases.py under both libraries: values, gradients, gradients of gradients. Then ties, zeros and
NaN, where a gradient is a matter of convention."""

import math

import gradient_cases
import numpy as np
import pytest
import strided
from gradient_cases import CASES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

# No such function in PyTorch, or none that takes such arguments, or none with a derivative. "name c": of complex
# numbers.
NOT_IN_TORCH = {
    "item reversed": "no negative strides",
    "select_scatter c": "no derivative of complex numbers",
    "slice_scatter c": "no derivative of complex numbers",
    "scatter_reduce prod complex": "no derivative of complex numbers",
    "scatter_reduce mean complex": "no derivative of complex numbers",
    "scatter add": "no derivative",
    "scatter multiply": "no derivative",
    "scatter add value": "no derivative",
    "scatter multiply value": "no derivative",
    "0-d scatter_": "no derivative",
    "0-d take_along_dim": "takes no 0-d tensor",
    "alias_copy slice_copy c": "no derivative of complex numbers",
    "histogramdd": "no derivative",
    "lobpcg c": "no complex numbers",
    "lobpcg smallest c": "no complex numbers",
    "0-d index_put": "takes no mask for a 0-d tensor",
    "0-d index_put_": "takes no mask for a 0-d tensor",
}
# Where PyTorch 2.13 raises, or gives other gradients, which its own gradcheck or gradgradcheck finds wrong.
NO_GRADIENT_IN_TORCH = {
    "scatter part of src": "the gradient has the shape of the index",
    "0-d scatter of a row": "the gradient has the shape of the index",
    "scatter_reduce prod part of src": "the gradient has the shape of the index",
    "as_strided_scatter": "the two gradients are exchanged",
    "0-d as_strided_scatter": "the two gradients are exchanged",
    "vander": "an intermediate result is overwritten",
}
NO_SECOND_GRADIENT_IN_TORCH = {
    "scatter_reduce prod zeros": "two zeros in one place",
    "scatter_reduce prod long zeros": "two zeros in one place",
    "scatter_reduce_ zeros": "two zeros in one place",
    "index_reduce prod zeros": "two zeros in one place",
    "0-d scatter_reduce index": "two zeros in one place",
    **{
        name: "no derivative"
        for name in ("cdist", "cdist 0", "cdist 1", "cdist 1.5", "cdist 3", "cdist inf", "cdist broadcast")
    },
    **{f"segment_reduce{kind}": "no derivative" for kind in ("", " mean", " prod", " max")},
    **{name: "no derivative" for name in ("pdist", "pdist 1", "pdist 3")},
    "det singular c": "a wrong one",
    "det zero": "NaN",
}


TORCH_CASES = gradient_cases.of_torch()


def irregular():
    for name, case in CASES.items():
        options = case[-1] if isinstance(case[-1], dict) else {}
        for letter in options.get("kinds", "rc"):
            if not {name, f"{name} {letter}"} & {*NOT_IN_TORCH, *NO_GRADIENT_IN_TORCH}:
                twice = not {name, f"{name} {letter}"} & set(NO_SECOND_GRADIENT_IN_TORCH)
                dtype = "float64" if letter == "r" else "complex128"
                yield pytest.param(name, dtype, twice, id=f"{name} {dtype}")


def array(t, shape):
    return np.zeros(shape) if t is None else t.detach().resolve_conj().numpy(force=True)


def differentiated(lib, f, inputs, twice):
    """(results, gradients, gradients of the gradients) as arrays, with weights that are the same for both libraries."""
    rng = np.random.default_rng(3)

    def weights(tensors):
        pairs = [(rng.uniform(-1, 1, tuple(t.shape)), rng.uniform(-1, 1, tuple(t.shape))) for t in tensors]
        return [lib.tensor(a + 1j * b if t.dtype.is_complex else a, dtype=t.dtype) for (a, b), t in zip(pairs, tensors)]

    leaves = [lib.tensor(x, requires_grad=True) for x in inputs]
    out = f(*leaves)
    results = [t for t in (out if isinstance(out, (tuple, list)) else [out]) if t.requires_grad]
    grads = lib.autograd.grad(results, leaves, weights(results), allow_unused=True, create_graph=twice)
    seconds = [None] * len(leaves)
    if twice:
        recorded = [(g, w) for g, w in zip(grads, weights(leaves)) if g is not None and g.requires_grad]
        if recorded:
            outputs, along = zip(*recorded)
            seconds = lib.autograd.grad(outputs, leaves, along, allow_unused=True)
    return (
        [array(r, None) for r in results],
        [array(g, x.shape) for g, x in zip(grads, inputs)],
        [array(g, x.shape) for g, x in zip(seconds, inputs)],
    )


def compare(ours, theirs, inputs, twice=True, equal_nan=False):
    names = ("results", "gradients", "gradients of gradients")
    pairs = zip(names, differentiated(strided, ours, inputs, twice), differentiated(torch, theirs, inputs, twice))
    for what, found, expected in pairs:
        assert len(found) == len(expected), what
        for a, b in zip(found, expected):
            assert a.shape == b.shape, what
            scale = max(1, np.abs(np.nan_to_num(b)).max(initial=0))
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * scale, equal_nan=equal_nan, err_msg=what)


@pytest.mark.parametrize("name, dtype, twice", list(irregular()))
def test_case(name, dtype, twice):
    makers = [m for m in CASES[name][1:] if not isinstance(m, dict)]
    inputs = [make(getattr(strided, dtype)).numpy() for make in makers]
    compare(CASES[name][0], TORCH_CASES[name][0], inputs, twice)


def test_lists_name_cases():
    for entry in (*NOT_IN_TORCH, *NO_GRADIENT_IN_TORCH, *NO_SECOND_GRADIENT_IN_TORCH):
        assert entry in CASES or entry.removesuffix(" c") in CASES, entry


# ---------------------------------------------------------------- conventions

# Functions of a matrix of few different numbers: who gets the gradient of equal elements, what comes of zeros.
TIES = {
    "max": lambda lib, x: x.max(),
    "min": lambda lib, x: x.min(),
    "amax": lambda lib, x: x.amax(1),
    "amin": lambda lib, x: x.amin((0, 1)),
    "aminmax": lambda lib, x: tuple(lib.aminmax(x, dim=1)),
    "max dim": lambda lib, x: x.max(1).values,
    "min dim": lambda lib, x: x.min(0).values,
    "max two": lambda lib, x: lib.max(x, x.flip(0)),
    "median": lambda lib, x: x.median(),
    "nanmedian": lambda lib, x: x.nanmedian(),
    "msort": lambda lib, x: lib.msort(x),
    "cummax": lambda lib, x: x.cummax(1).values,
    "cummin": lambda lib, x: x.cummin(0).values,
    "norm inf": lambda lib, x: lib.norm(x, math.inf),
    "norm -inf": lambda lib, x: lib.norm(x, -math.inf, dim=1),
    "norm 0": lambda lib, x: lib.norm(x, 0) + x.sum(),
    "norm 0.5": lambda lib, x: lib.norm(x, 0.5, dim=1),
    "norm 1": lambda lib, x: lib.norm(x, 1),
    "norm 1.5": lambda lib, x: lib.norm(x, 1.5, dim=0),
    "norm 3": lambda lib, x: lib.norm(x, 3, dim=0),
    "norm of zeros": lambda lib, x: lib.norm(x * 0),
    "matrix_norm 1": lambda lib, x: lib.linalg.matrix_norm(x, 1),
    "matrix_norm -inf": lambda lib, x: lib.linalg.matrix_norm(x, -math.inf),
    "dist 1": lambda lib, x: lib.dist(x, x.flip(0), 1),
    "dist inf": lambda lib, x: lib.dist(x, x.flip(0) * 2, math.inf),
    "std of equals": lambda lib, x: (x * 0).std(),
    "prod": lambda lib, x: x.prod(1),
    "cumprod": lambda lib, x: x.cumprod(1),
    "quantile": lambda lib, x: lib.quantile(x, 0.4, dim=1),
}


@pytest.mark.parametrize("name", TIES)
def test_ties_and_zeros(name):
    rng = np.random.default_rng(len(name))
    for x in [*(rng.integers(-1, 3, (3, 4)).astype(float) for _ in range(6)), np.ones((3, 4)), np.zeros((3, 4))]:
        compare(lambda x: TIES[name](strided, x), lambda x: TIES[name](torch, x), [x], twice=False)


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "norm 1", "cummax", "prod", "quantile"])
def test_nan(name):
    x = np.array([[1.0, np.nan, 2.0, 1.0], [np.nan] * 4, [0.0, 3.0, 3.0, 1.0]])
    compare(lambda x: TIES[name](strided, x), lambda x: TIES[name](torch, x), [x], twice=False, equal_nan=True)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("name", ["scatter_reduce", "scatter_reduce_", "index_reduce", "index_reduce_"])
def test_reductions_by_index(name, kind, include_self):
    """Random shapes, axes and indices, with ties and zeros."""
    if name.startswith("index") and kind == "sum":
        return  # no such reduction
    rng = np.random.default_rng(7)
    for _ in range(40):
        ndim = rng.integers(1, 4)
        shape = rng.integers(1, 5, ndim)
        dim = int(rng.integers(-ndim, ndim))
        src = shape.copy()
        src[dim] = rng.integers(1, 7)
        self_, src_ = (rng.integers(-1, 3, s).astype(float) for s in (shape, src))
        at = rng.integers(0, shape[dim], src[dim] if name.startswith("index") else src)
        if (
            not include_self and kind[0] == "a"
        ):  # PyTorch gives a share to a self that was left out, if it equals the result
            self_ += 0.5

        def f(lib):
            def reduced(x, y):
                index = lib.tensor(at)
                return getattr(x * 1, name)(dim, index, y, kind, include_self=include_self)

            return reduced

        compare(f(strided), f(torch), [self_, src_], twice=kind != "prod")
