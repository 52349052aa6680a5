"""Shapes, strides, offsets, values and dtypes of views, joins and factories beside PyTorch's own, over many shapes."""

import itertools

import numpy as np
import pytest
import strided

torch_ref = pytest.importorskip("torch")

SHAPES = [
    (),
    (1,),
    (4,),
    (0,),
    (2, 3),
    (1, 3),
    (3, 1),
    (0, 2),
    (2, 0),
    (2, 3, 4),
    (2, 1, 4),
    (1, 1, 1),
    (2, 0, 3),
    (3, 1, 2, 2),
]
# How a base is looked at before the view under test: contiguous, transposed, every second element, offset, expanded.
LOOKS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T if x.dim() == 2 else x.transpose(0, -1) if x.dim() else x,
    "stepped": lambda x: x[..., ::2] if x.dim() else x,
    "offset": lambda x: x[1:] if x.dim() else x,
    "expanded": lambda x: x.unsqueeze(0).expand(2, *x.shape),
    "rolled": lambda x: x.permute(tuple(range(1, x.dim())) + (0,)) if x.dim() else x,
}


def outcome(f, x):
    """What a call gives, comparable between the two libraries."""
    try:
        got = f(x)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return type(error).__name__
    parts = got if isinstance(got, (tuple, list)) else [got]
    return [(tuple(p.shape), tuple(p.stride()), p.storage_offset(), str(p.dtype), p.tolist()) for p in parts]


def compare(f, make, text):
    ours, theirs = outcome(f, make(strided)), outcome(f, make(torch_ref))
    assert ours == theirs, text


def calls(ndim):
    """(text, call) for every view of a tensor of that rank, most of them with good arguments."""
    axes = range(-ndim - 1, ndim + 1)
    for shape in [(-1,), (1, -1), (2, -1), (-1, 2), (2, 2), (4, 3, 2), (3, 8), (), (0,), (1, 1), (3, 0, 2), (0, -1)]:
        yield f"view{shape}", lambda x, s=shape: x.view(s)
        yield f"reshape{shape}", lambda x, s=shape: x.reshape(s)
    yield "squeeze", lambda x: x.squeeze()
    yield "T", lambda x: x.T if x.dim() == 2 else x.reshape(-1)
    yield "flatten", lambda x: x.flatten()
    yield "ravel", lambda x: x.ravel()
    for i in axes:
        yield f"squeeze({i})", lambda x, i=i: x.squeeze(i)
        yield f"unsqueeze({i})", lambda x, i=i: x.unsqueeze(i)
        yield f"unbind({i})", lambda x, i=i: x.unbind(i)
        yield f"flatten({i})", lambda x, i=i: x.flatten(i)
        yield f"movedim({i}, 0)", lambda x, i=i: x.movedim(i, 0)
        for k in (0, 1, 2, 3):
            yield f"select({i}, {k})", lambda x, i=i, k=k: x.select(i, k - 1)
            yield f"split({k}, {i})", lambda x, i=i, k=k: x.split(k, i)
            yield f"chunk({k}, {i})", lambda x, i=i, k=k: x.chunk(k, i)
            yield f"tensor_split({k}, {i})", lambda x, i=i, k=k: x.tensor_split(k, dim=i)
            yield f"unfold({i}, {k}, 1)", lambda x, i=i, k=k: x.unfold(i, k, 1)
            yield f"unfold({i}, {k}, 2)", lambda x, i=i, k=k: x.unfold(i, k, 2)
            yield f"narrow({i}, {k}, 1)", lambda x, i=i, k=k: x.narrow(i, k, 1)
            if -ndim <= i < ndim:  # elsewhere PyTorch's narrow_copy raises a RuntimeError, unlike all other functions
                yield f"narrow_copy({i}, {k}, 0)", lambda x, i=i, k=k: x.narrow_copy(i, k, 0)
    for i, j in itertools.product(axes, axes):
        yield f"transpose({i}, {j})", lambda x, i=i, j=j: x.transpose(i, j)
        yield f"flatten({i}, {j})", lambda x, i=i, j=j: x.flatten(i, j)
    for i, j in itertools.permutations(range(-1, max(ndim, 2) - 1), 2):
        for offset in (-2, 0, 1, 5):
            yield f"diagonal({offset}, {i}, {j})", lambda x, o=offset, i=i, j=j: x.diagonal(o, i, j)
    for order in itertools.islice(itertools.permutations(range(ndim)), 24):
        yield f"permute{order}", lambda x, o=order: x.permute(o)
    yield "expand", lambda x: x.expand(3, *x.shape)
    yield "expand(1, ...)", lambda x: x.expand(1, *x.shape)
    yield "expand as wide", lambda x: x.expand(2, *[2 if n == 1 else -1 for n in x.shape])
    yield "view(uint8)", lambda x: x.view(strided.uint8 if isinstance(x, strided.Tensor) else torch_ref.uint8)
    yield "view(float64)", lambda x: x.view(strided.float64 if isinstance(x, strided.Tensor) else torch_ref.float64)
    for size, stride in [
        ((2,), (1,)),
        ((2, 2), (1, 1)),
        ((3,), (2,)),
        ((0,), (9,)),
        ((), ()),
        ((2, 3), (0, 1)),
        ((50,), (1,)),
    ]:
        yield f"as_strided({size}, {stride})", lambda x, s=size, t=stride: x.as_strided(s, t)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_views(shape, look):
    def make(torch):
        return LOOKS[look](torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape))

    for text, f in calls(make(strided).dim()):
        compare(f, make, text)


def library(x):
    return strided if isinstance(x, strided.Tensor) else torch_ref


def moves(ndim):
    for i in range(-ndim - 1, ndim + 1):
        yield f"cat({i})", lambda x, i=i: library(x).cat([x, x, x[:1] if x.dim() else x], i)
        yield f"stack({i})", lambda x, i=i: library(x).stack([x, x], i)
        if -ndim <= i < ndim:  # PyTorch looks at the axis only when there are elements
            yield f"roll(1, {i})", lambda x, i=i: x.roll(1, i)
        yield f"flip({i})", lambda x, i=i: x.flip(i)
        yield f"repeat_interleave(2, {i})", lambda x, i=i: x.repeat_interleave(2, i)
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        yield name, lambda x, n=name: getattr(library(x), n)([x, x])
    for name in (
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "diag",
        "diagflat",
        "fliplr",
        "flipud",
        "tril",
        "triu",
        "rot90",
        "diag_embed",
    ):
        yield name, lambda x, n=name: getattr(library(x), n)(x)
    for k in (1, 2, 3):
        yield f"tril({k - 2})", lambda x, k=k: x.tril(k - 2)
        yield f"rot90({k})", lambda x, k=k: x.rot90(k, (-1, 0))
        yield f"diag({k - 2})", lambda x, k=k: x.diag(k - 2)
    for reps in ((2,), (1, 2), (2, 1, 3), (0, 1)):
        yield f"tile{reps}", lambda x, r=reps: x.tile(r)
        yield f"repeat{reps}", lambda x, r=reps: x.repeat(r)
    yield "zeros_like", lambda x: library(x).zeros_like(x)
    yield "ones_like", lambda x: library(x).ones_like(x)
    yield "clone", lambda x: x.clone()


@pytest.mark.parametrize("look", ["contiguous", "transposed", "stepped", "expanded"])
@pytest.mark.parametrize("shape", SHAPES)
def test_joins_and_moves(shape, look):
    def make(torch):
        return LOOKS[look](torch.arange(int(np.prod(shape)), dtype=torch.int32).reshape(shape))

    for text, f in moves(make(strided).dim()):
        compare(f, make, text)


@pytest.mark.parametrize(
    "a, b",
    list(
        itertools.combinations_with_replacement(
            ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"], 2
        )
    ),
)
def test_dtypes_of_joins(a, b):
    def make(torch):
        return [
            torch.ones(2, dtype=getattr(torch, a)),
            torch.ones(1, dtype=getattr(torch, b)),
            torch.ones((), dtype=getattr(torch, b)),
        ]

    for f in (
        lambda x: library(x[0]).cat(x[:2]),
        lambda x: library(x[0]).stack([x[0], x[1].expand(2)]),
        lambda x: library(x[0]).hstack([x[0], x[2]]),
        lambda x: library(x[0]).block_diag(*x),
    ):
        compare(f, make, (a, b))


# ---------------------------------------------------------------- the same bits


def bits(x):
    return x.numpy().tobytes() if str(x.dtype) != "torch.bfloat16" else x.view(library(x).int16).numpy().tobytes()


@pytest.fixture
def one_thread():
    """PyTorch's arange depends on where its threads share the work; ours is its result for one thread."""
    before = torch_ref.get_num_threads()
    torch_ref.set_num_threads(1)
    yield
    torch_ref.set_num_threads(before)


@pytest.mark.skipif(
    torch_ref.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="PyTorch's values without fused multiply-adds differ",
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_spaced_floats_bit_for_bit(dtype, one_thread):
    rng = np.random.default_rng(0)
    for case in range(150):
        scale = 1.0 if dtype == "float16" else 10.0 ** rng.integers(-3, 4)
        start, end, step = rng.normal() * scale, rng.normal() * scale, rng.normal()
        n = int(rng.integers(1, 300)) if case < 145 else 70_000 if dtype in ("float32", "float64") else 3000
        if dtype == "float16":
            step *= 0.01
        kwargs = [{"dtype": getattr(torch, dtype)} for torch in (strided, torch_ref)]
        for make in (
            lambda torch, **k: torch.arange(start, start + step * (n - 0.5), step, **k),
            lambda torch, **k: torch.linspace(start, end, n, **k),
            lambda torch, **k: torch.logspace(min(start, 3), min(end, 3), n, 2.5, **k),
        ):
            ours, theirs = make(strided, **kwargs[0]), make(torch_ref, **kwargs[1])
            assert tuple(ours.shape) == tuple(theirs.shape)
            assert bits(ours) == bits(theirs), (case, start, end, step, n)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float32", "float64"])
def test_spaced_numbers(dtype):
    rng = np.random.default_rng(1)
    for _ in range(100):
        low, high = (0, 100) if dtype == "uint8" else (-100, 100)
        start, end, n = int(rng.integers(low, high)), int(rng.integers(low, high)), int(rng.integers(0, 40))
        step = int(rng.integers(1, 9)) * (1 if end >= start else -1)
        for make in (
            lambda torch, **k: torch.arange(start, end, step, **k),
            lambda torch, **k: torch.arange(start + 0.5, end + 0.7, step * 1.5, **k),
            lambda torch, **k: torch.range(start, end, step, **k),
            lambda torch, **k: torch.linspace(start, end, n, **k),
            lambda torch, **k: torch.logspace(abs(start) % 4, abs(end) % 5, n, 2, **k),
        ):
            results = []
            for torch in (strided, torch_ref):
                try:
                    made = make(torch, dtype=getattr(torch, dtype))
                    results.append((str(made.dtype), made.tolist()))
                except RuntimeError as error:
                    results.append(str(error).split("\n")[0])
            assert results[0] == results[1], (start, end, step, n)


def test_index_triangles():
    for n, m, k in itertools.product(range(5), range(5), range(-6, 7)):
        for name in ("tril_indices", "triu_indices"):
            assert getattr(strided, name)(n, m, k).tolist() == getattr(torch_ref, name)(n, m, k).tolist()


def test_broadcast_shapes():
    for shapes in itertools.product([(), (1,), (3,), (2, 1), (1, 3), (2, 3), (0,), 3, (-1,), (3, -2)], repeat=3):
        results = []
        for torch in (strided, torch_ref):
            try:
                results.append(tuple(torch.broadcast_shapes(*shapes)))
            except (RuntimeError, ValueError) as error:
                results.append((type(error), str(error)))
        assert results[0] == results[1], shapes
    for torch in (strided, torch_ref):
        with pytest.raises(TypeError):
            torch.broadcast_shapes((1.5,))


def test_views_of_bytes_have_no_gradient():
    for torch in (strided, torch_ref):
        x = torch.ones(4, requires_grad=True)
        for dtype in (torch.float32, torch.int32, torch.float64, torch.uint8):
            y = x.view(dtype)
            assert not y.requires_grad and y.grad_fn is None and y.data_ptr() == x.data_ptr() and y is not x
