"""The printed text of random tensors against PyTorch's own, through the same NumPy data."""

import math
import random

import numpy as np
import pytest
import strided

torch = pytest.importorskip("torch")

INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, 1000.0]


@pytest.fixture(autouse=True)
def restored():
    yield
    for lib in (strided, torch):
        lib.set_printoptions(profile="default")
        lib.set_default_dtype(lib.float32)


def floats(r, rng, n):
    """Float64 numbers of one of the kinds that the notation depends on."""
    kind = r.randrange(6)
    scale = 10.0 ** r.randint(-6, 9)
    if kind == 0:
        v = rng.standard_normal(n) * scale
    elif kind == 1:
        v = np.round(rng.standard_normal(n) * scale)
    elif kind == 2:
        v = rng.standard_normal(n) * 10.0 ** rng.integers(-4, 5, n)
    elif kind == 3:
        v = rng.random(n) * r.choice([1, 999, 1000, 1001])
    elif kind == 4:
        v = np.full(n, r.choice([1e-4, 9.99e-5, 1e8, 1e8 + 8, 0.5, 2.5, 123456789.0, 5e-324, 1e300]))
    else:
        v = np.zeros(n)
    if r.random() < 0.4:
        v[rng.random(n) < r.random()] = r.choice(SPECIAL)
    if r.random() < 0.3:
        v[rng.random(n) < 0.3] = r.choice(SPECIAL)
    return v


def data(r, rng, dtype, n):
    """NumPy data for a dtype; of bfloat16, which NumPy lacks, in float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "bool":
            return rng.random(n) < r.random()
        if dtype in INTEGERS:
            limits = np.iinfo(dtype)
            low, high = (limits.min, limits.max) if r.random() < 0.4 else (max(limits.min, -r.choice([1, 99])), 120)
            return rng.integers(low, high, n, dtype=dtype, endpoint=True)
        if dtype.startswith("complex"):
            return (floats(r, rng, n) + 1j * floats(r, rng, n)).astype(dtype)
        return floats(r, rng, n).astype("float32" if dtype == "bfloat16" else dtype)


def shape(r):
    kind = r.random()
    if kind < 0.1:
        return ()
    if kind < 0.2:
        return tuple(r.choice([0, 1, 2, 3]) for _ in range(r.randint(1, 4)))
    if kind < 0.45:
        return (r.choice([1, 2, 5, 7, 12, 30, 100, 999, 1000, 1001, 3000]),)
    if kind < 0.8:
        return tuple(r.choice([1, 2, 3, 6, 7, 8]) for _ in range(r.randint(2, 4)))
    return tuple(r.choice([1, 3, 6, 7, 11, 40]) for _ in range(r.randint(2, 3)))


def options(r):
    found = {"profile": r.choice(["default", "default", "short", "full"])}
    choices = {
        "precision": [0, 1, 2, 6, 10],
        "threshold": [0, 1, 5, 50, 5000, math.inf],
        "edgeitems": [0, 1, 2, 5],
        "linewidth": [1, 10, 20, 60, 100, 200],
        "sci_mode": [True, False],
    }
    return found | {name: r.choice(values) for name, values in choices.items() if r.random() < 0.15}


def build(lib, array, dtype, view, grad):
    """The same tensor in either library: from NumPy, cast, viewed, and perhaps recorded by autograd."""
    # A copy: neither library may see the other's memory, nor an axis of no elements with NumPy's odd strides.
    t = lib.from_numpy(np.array(array))
    if dtype == "bfloat16":
        t = t.to(lib.bfloat16)
    if grad:
        t = t.requires_grad_()
    axes, step, expand = view
    if axes and t.dim() >= 2:
        t = t.transpose(axes[0] % t.dim(), axes[1] % t.dim())
    if step and t.dim() >= 1:
        t = t[..., ::step]
    if expand:
        t = t.expand((expand, *t.shape))
    return t * 2 if grad == "op" else t.detach().requires_grad_() if grad else t


@pytest.mark.parametrize("seed", range(20))
def test_same_text(seed):
    r, rng = random.Random(seed), np.random.default_rng(seed)
    for _ in range(100):
        dtype, sizes = r.choice(DTYPES), shape(r)
        array = data(r, rng, dtype, math.prod(sizes)).reshape(sizes)
        view = (
            (r.randrange(4), r.randrange(4)) if r.random() < 0.4 else None,
            r.choice([0, 0, 0, 2]),
            r.choice([0, 0, 0, 0, 0, 9]),
        )
        grad = r.choice([None, None, "leaf", "op"]) if dtype in FLOATS or dtype.startswith("complex") else None
        chosen, default = options(r), r.choice(["float32"] * 3 + ["float64", "float16", "bfloat16"])
        texts = []
        for lib in (strided, torch):
            lib.set_printoptions(**chosen)
            lib.set_default_dtype(getattr(lib, default))
            texts.append(repr(build(lib, array, dtype, view, grad)))
        assert texts[0] == texts[1], f"{dtype} {sizes} {view} {grad} {chosen} default {default}"


def test_parameters_of_other_classes():
    texts = []
    for lib in (strided, torch):

        class Mine(lib.Tensor):
            pass

        class Own(lib.Tensor):
            def __repr__(self):
                return "Parameter of its own"

            def with_contents(self):
                return super().__repr__(tensor_contents="two ones")

        x = lib.ones(2)
        made = [lib.nn.Parameter(x.as_subclass(kind)) for kind in (Mine, Own)]
        texts.append([repr(made[0]), str(made), repr(x.as_subclass(Mine)), made[1].with_contents()])
        texts[-1].append(repr(lib.nn.Parameter(x, requires_grad=False)))
    assert texts[0] == texts[1]


def test_texts_of_the_module_below():
    for contents in (None, "abc"):
        texts = [
            [lib._tensor_str._str(x, tensor_contents=contents) for x in (lib.ones(2, 3), lib.ones(2, device="meta"))]
            for lib in (strided, torch)
        ]
        assert texts[0] == texts[1]
