"""vmap: where axes go, nesting, random functions, mistakes."""

import numpy as np
import pytest
import strided as torch
from strided.func import vmap


def draw(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.randn(shape)


@pytest.mark.parametrize("in_dim", [0, 1, 2, -1])
@pytest.mark.parametrize("out_dim", [0, 1, -1])
def test_axes(in_dim, out_dim):
    x = draw(2, 3, 4)
    expected = torch.stack([row.cumsum(0) for row in x.unbind(in_dim)], out_dim)
    assert vmap(lambda a: a.cumsum(0), in_dims=in_dim, out_dims=out_dim)(x).equal(expected)


def test_nests():
    x, y = draw(3, 2), draw(4, 3, seed=1)
    found = vmap(lambda d: {"s": d["a"].sum() + d["b"][0].sum()}, in_dims=({"a": 0, "b": [1]},))({"a": x, "b": [y]})
    assert torch.allclose(found["s"], x.sum(1) + y.sum(0))
    a, b = vmap(lambda a: (a, a * 2), out_dims=(0, 1))(x)
    assert a.equal(x) and b.equal((2 * x).T)


def test_levels():
    x, y = draw(3, 5), draw(4, 5, seed=1)
    table = vmap(vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(x, y)
    assert torch.allclose(table, x @ y.T, atol=1e-6)
    other = vmap(vmap(lambda a, b: a.sum() * b, in_dims=(0, None)), in_dims=(None, 0), out_dims=1)(x, y)
    assert torch.allclose(other, x.sum(1)[:, None, None] * y[None])
    # A tensor of the outer level is one for all samples of the inner one.
    found = vmap(lambda a: vmap(lambda b: (a * b).sum())(y))(x)
    assert torch.allclose(found, x @ y.T, atol=1e-6)
    assert vmap(vmap(vmap(torch.sin)))(draw(2, 3, 4)).equal(torch.sin(draw(2, 3, 4)))


def test_results_that_do_not_vary():
    x = draw(3, 2)
    assert vmap(lambda a: torch.ones(4))(x).equal(torch.ones(3, 4))
    assert vmap(lambda a: torch.ones(4), out_dims=None)(x).equal(torch.ones(4))
    assert vmap(lambda a, b: b, in_dims=(0, None))(x, torch.arange(2)).equal(torch.arange(2).expand(3, 2))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 100])
def test_chunks(chunk_size):
    x, y = draw(5, 3), draw(3)
    expected = vmap(lambda a, b: (a * b, a.sum()), in_dims=(0, None), out_dims=(1, 0))(x, y)
    found = vmap(lambda a, b: (a * b, a.sum()), in_dims=(0, None), out_dims=(1, 0), chunk_size=chunk_size)(x, y)
    assert all(a.equal(b) for a, b in zip(found, expected))


def test_what_a_tensor_says_of_itself():
    def f(x):
        assert isinstance(x, torch.Tensor) and x.shape == x.size() == (3, 4) and x.ndim == x.dim() == 2
        assert x.size(-1) == 4 and x.numel() == 12 and len(x) == 3 and x.stride() == (4, 1) and x.stride(0) == 4
        assert x.dtype == torch.float32 and x.device == torch.device("cpu") and not x.requires_grad
        assert x.is_floating_point() and not torch.is_complex(x) and torch.result_type(x, 1) == torch.float32
        assert x.is_contiguous() and torch.numel(x) == 12 and "BatchedTensor" in repr(x)
        a, b, c = x
        assert a.shape == (4,) and x.T.shape == x.mT.shape == (4, 3)
        return a + b + c

    x = draw(2, 3, 4)
    assert torch.allclose(vmap(f)(x), x.sum(1), atol=1e-6)


def test_each_sample_says_whether_it_is_contiguous():
    def f(x):
        return torch.tensor(x.is_contiguous())

    x = torch.ones(5, 3, 2)
    assert vmap(f, in_dims=1)(torch.ones(2, 3, 7)).tolist() == [False] * 3
    assert vmap(f, in_dims=1)(torch.ones(1, 3, 7)).all() and vmap(f)(torch.ones(2, 3).t()[:, :1]).all()
    assert vmap(vmap(f), in_dims=1)(x).all() and vmap(vmap(f))(x.movedim(0, 1)).all()
    assert not vmap(vmap(f, in_dims=1), in_dims=1)(torch.ones(2, 5, 3, 4)).any()
    assert vmap(f, in_dims=1)(torch.ones(0, 3, 7)).all()
    last = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert vmap(lambda t: torch.tensor(t.is_contiguous(memory_format=torch.channels_last)))(last[None]).all()


def test_conversions_of_each_sample():
    x = torch.rand(3, 4)
    for convert in (torch.as_tensor, torch.asarray):
        assert torch.equal(torch.vmap(convert)(x), x)
        made = torch.vmap(lambda v, convert=convert: convert(v, dtype=torch.float64) * 2)(x)
        assert made.dtype == torch.float64 and torch.equal(made, x.double() * 2)


def test_dtypes_of_numbers():
    """A sample without axes is a number for promotion, though a batch of them is a row."""
    x64, x32 = torch.ones(3, dtype=torch.float64), torch.ones(2)
    assert vmap(lambda a: a * x32)(x64).dtype == torch.float32
    assert vmap(lambda a: a * torch.tensor(2.0, dtype=torch.float64))(torch.ones(3)).dtype == torch.float64
    assert vmap(lambda a: torch.arange(2) * a)(x64).dtype == torch.float64
    assert vmap(lambda a: a * 1.5)(torch.ones(3, dtype=torch.int64)).dtype == torch.float32


INDEXED = {
    "int": lambda x, i: x[1],
    "slices": lambda x, i: x[1:, ::2],
    "new axis": lambda x, i: x[None, ..., -1],
    "one for all": lambda x, i: x[torch.tensor([0, 2, 0])],
    "apart": lambda x, i: x[torch.tensor([0, 1]), :, torch.tensor([1, 2])],
    "mask for all": lambda x, i: x[torch.tensor([True, False, True])],
    "number": lambda x, i: x[i[0]],
    "row": lambda x, i: x[i],
    "second": lambda x, i: x[:, i],
    "both": lambda x, i: x[i, i],
    "apart, each": lambda x, i: x[i, :, i],
    "with one for all": lambda x, i: x[i, torch.tensor([[0], [1]])],
    "last": lambda x, i: x[..., i],
    "list": lambda x, i: x[[0, 2]],
    "empty list": lambda x, i: x[:, []],
    "empty list beside a number": lambda x, i: x[0, [], ..., [1]],
    "array": lambda x, i: x[np.array([2, 0])],
    "empty array": lambda x, i: x[np.zeros(0, dtype=int), i[:0]],
    "take": lambda x, i: x.take(i),
    "index_select": lambda x, i: x.index_select(1, i),
    "gather": lambda x, i: x[0, 0].gather(0, i),
    "index_add": lambda x, i: x.index_add(1, i, torch.ones(3, 2, 3)),
    "index_fill": lambda x, i: x.index_fill(2, i, 5.0),
    "index_put": lambda x, i: x.index_put((i,), torch.tensor(1.0), accumulate=True),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None), (3, 1)])
def test_indexing(name, dims):
    function = INDEXED[name]
    x, i = draw(3, 3, 3, 3), torch.tensor([[0, 2], [1, 1], [2, 0]])
    xs = [x[0]] * 3 if dims[0] is None else x.unbind(dims[0])
    rows = [i[0]] * 3 if dims[1] is None else i
    given = (x[0] if dims[0] is None else x, i[0] if dims[1] is None else i.T if dims[1] else i)
    assert vmap(function, in_dims=dims)(*given).equal(torch.stack([function(*row) for row in zip(xs, rows)]))


def test_writes_by_index():
    def f(x, i, v):
        y = x.clone()
        y[0] = 1.0
        y[1, 1:] = v
        y[i] = v.sum()
        y[:, i[0]] = 7
        y[:, []] += v[0]
        y[y > 2] = 0.0
        y += v.sum()
        return y

    x, i, v = draw(4, 3, 3), torch.tensor([[0, 2], [1, 1], [2, 0], [0, 0]]), draw(4, 2, seed=1)
    expected = torch.stack([f(*row) for row in zip(x, i, v)])
    assert vmap(f)(x, i, v).equal(expected)
    assert vmap(f, in_dims=(2, 0, 1))(x.movedim(0, 2), i, v.T).equal(expected)


def test_random_functions():
    x = torch.zeros(4, 3)
    functions = [
        lambda a: torch.rand(3),
        torch.rand_like,
        lambda a: a.clone().uniform_(),
        lambda a: torch.randperm(30),
        lambda a: torch.bernoulli(torch.full((30,), 0.5)),
        lambda a: torch.normal(torch.zeros(3), 1.0),
    ]
    for f in functions:
        with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
            vmap(f)(x)
        torch.manual_seed(0)
        same = vmap(f, randomness="same")(x)
        assert all(row.equal(same[0]) for row in same) and same.shape[0] == 4
        torch.manual_seed(0)
        different = vmap(f, randomness="different")(x)
        assert different.shape == same.shape and not all(row.equal(different[0]) for row in different)
    p = torch.tensor([[0.0], [1.0]]).expand(2, 5)
    assert vmap(torch.bernoulli, randomness="different")(p).equal(p)
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(torch.bernoulli, randomness="same")(p)
    torch.manual_seed(0)
    inner = vmap(lambda a: vmap(lambda b: torch.rand(1), randomness="same")(a), randomness="different")(x)
    assert inner[0].eq(inner[0, 0]).all() and not inner[0].equal(inner[1])
    torch.rand(1)  # as ever outside


def test_each_sample_draws_from_tensors_of_several_axes():
    """mean and std have axes of their own; the draws are those of one call with the batch in front."""
    mean, std = torch.arange(8.0).reshape(4, 2), torch.tensor([1.0, 3.0])
    for m, s in ((mean, std), (std, mean + 1), (mean, torch.tensor(2.0)), (torch.tensor(0.0), mean + 1)):
        torch.manual_seed(0)
        drawn = vmap(lambda a: torch.normal(m, s) + a, randomness="different")(torch.zeros(3))
        torch.manual_seed(0)
        assert drawn.equal(torch.normal(m.expand(3, 4, 2), s.expand(3, 4, 2)))


def test_errors_end_the_level():
    with pytest.raises(ZeroDivisionError):
        vmap(lambda a: 1 // 0)(torch.ones(2))
    assert torch.rand(2).shape == (2,)
    from strided.func._batched import running

    assert running() == ()


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: vmap(torch.sin)(), ValueError, "got no inputs"),
        (lambda x: vmap(torch.sin, in_dims="a")(x), ValueError, "expected `in_dims` to be int or a"),
        (lambda x: vmap(torch.sin, in_dims=None)(x), ValueError, "expected `in_dims` to be int or a"),
        (lambda x: vmap(torch.sin, in_dims=(0, 0))(x), ValueError, "in_dims is not compatible with the structure"),
        (lambda x: vmap(torch.sin, in_dims=(1.5,))(x), ValueError, "must be either an integer dimension or None"),
        (lambda x: vmap(torch.mul)(x, 3), ValueError, "cannot vmap over non-Tensor arguments"),
        (lambda x: vmap(torch.sin, in_dims=2)(x), ValueError, "expected in_dim to satisfy -2 <= in_dim < 2"),
        (lambda x: vmap(torch.sin)(x[0, 0]), ValueError, "Tensor of dimensionality 0"),
        (
            lambda x: vmap(torch.add)(x, torch.ones(3)),
            ValueError,
            r"same size in the mapped dimension, got sizes \[2, 3\]",
        ),
        (lambda x: vmap(lambda a: 3)(x), ValueError, "must only return Tensors, got type <class 'int'>"),
        (lambda x: vmap(lambda a: (a, a), out_dims=(0, 0, 0))(x), ValueError, "out_dims is not compatible"),
        (lambda x: vmap(torch.sin, out_dims=3)(x), IndexError, r"range of \[-2, 1\], but got 3"),
        (
            lambda x: vmap(torch.sin, out_dims=None)(x),
            ValueError,
            "can not return a BatchedTensor",
        ),
        (
            lambda x: vmap(torch.sin, out_dims="a")(x),
            ValueError,
            "`out_dims` must be an int, None or a",
        ),
        (lambda x: vmap(torch.sin, randomness="x"), RuntimeError, "Only allowed values for randomness"),
        (lambda x: vmap(torch.sin, chunk_size=0), ValueError, "chunk_size should be None or greater than 0"),
        (lambda x: vmap(lambda a: a.sum().item())(x), RuntimeError, r"calling .item\(\) on a Tensor"),
        (lambda x: vmap(lambda a: float(a.sum()))(x), RuntimeError, r"calling .item\(\) on a Tensor"),
        (lambda x: vmap(lambda a: a if a.sum() > 0 else -a)(x), RuntimeError, "data-dependent control flow"),
        (lambda x: vmap(lambda a: a.numpy())(x), RuntimeError, "cannot be accessed"),
        (lambda x: vmap(lambda a: np.asarray(a))(x), RuntimeError, "cannot be accessed"),
        (lambda x: vmap(lambda a: memoryview(a))(x), BufferError, "no memory of its own"),
        (lambda x: vmap(torch.nonzero)(x), RuntimeError, "dynamic shape"),
        (lambda x: vmap(lambda a: a[a > 0])(x), RuntimeError, "dynamic shape"),
        (lambda x: vmap(torch.histc)(x), RuntimeError, "no batching rule for histc"),
        (lambda x: vmap(lambda a, b: a.add_(b), in_dims=(None, 0))(x[0], x), RuntimeError, "inplace arithmetic"),
        (lambda x: vmap(lambda a: torch.add(a, a, out=torch.empty(3)))(x), RuntimeError, "out="),
        (lambda x: vmap(lambda a: a.sum(5))(x), IndexError, "Dimension out of range"),
        (lambda x: vmap(lambda a: a @ torch.ones(7))(x), RuntimeError, ""),
    ],
)
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2, 3))


def test_new_tensors_of_batched_ones():
    x = torch.arange(3.0)
    assert vmap(lambda x: torch.tensor(x) + 1)(x).tolist() == [1, 2, 3]
    with pytest.raises(NotImplementedError, match="cannot be copied one by one"):
        vmap(lambda x: torch.tensor([x, x]))(x)


@pytest.mark.parametrize("name", ["binomial", "_standard_gamma", "_sample_dirichlet"])
def test_samplers_draw_for_each_sample_or_for_all(name):
    x = torch.rand(4, 3) + 0.1
    sampler = getattr(torch, name)

    def sample(p):
        return sampler(torch.full((3,), 9.0), p / 2) if name == "binomial" else sampler(p)

    torch.manual_seed(0)
    each = torch.vmap(sample, randomness="different")(x)
    torch.manual_seed(0)
    assert torch.equal(each, sampler(torch.full((4, 3), 9.0), x / 2) if name == "binomial" else sampler(x))
    same = torch.vmap(lambda _: sample(x[0]), randomness="same")(x)
    assert same.shape == (4, 3) and torch.equal(same, same[:1].expand(4, 3))
    for randomness in ("error", "same"):
        with pytest.raises(RuntimeError, match="random"):
            torch.vmap(sample, randomness=randomness)(x)


@pytest.mark.parametrize("dims", [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)])
def test_vectors_of_no_elements_are_joined_to_anything(dims):
    full, empty, last = torch.arange(12.0).reshape(2, 2, 3), torch.zeros(2, 0, dtype=torch.float64), torch.ones(2, 2, 1)
    given = [t if d == 0 else t[0] for t, d in zip((full, empty, last), dims)]
    made = torch.vmap(lambda a, b, c: torch.cat([b, a, c], 1), in_dims=dims)(*given)
    order = [(given[k], dims[k]) for k in (1, 0, 2)]
    rows = [torch.cat([t[i] if d == 0 else t for t, d in order], 1) for i in range(2)]
    assert made.dtype is torch.float64 and torch.equal(made, torch.stack(rows))


def rows_of(f, *xs):
    return torch.stack([f(*row) for row in zip(*xs)])


def test_numbers_of_each_sample():
    """Samples without axes: functions along an axis, and draws of their shape."""
    x = draw(4)
    for f in (
        lambda a: torch.logsumexp(a, ()),
        lambda a: torch.logsumexp(a, 0, True),
        lambda a: torch.linalg.vander(a, N=3),
        lambda a: torch.nonzero_static(a, size=2),
    ):
        assert vmap(f)(x).equal(rows_of(f, x))
    for draw_like in (torch.rand_like, torch.randn_like, lambda a: torch.randint_like(a, 10), lambda a: a.normal_()):
        for randomness in ("same", "different"):
            assert vmap(draw_like, randomness=randomness)(x).shape == x.shape


def test_nonzero_static():
    x = draw(3, 2, 3).round()
    for size in (0, 1, 4, 9):
        f = lambda a: torch.nonzero_static(a, size=size, fill_value=7)  # noqa: B023, E731
        assert vmap(f)(x).equal(rows_of(f, x))
        assert vmap(f, in_dims=2)(x.movedim(0, 2)).equal(rows_of(f, x))
    assert vmap(vmap(lambda a: a.nonzero_static(size=2)))(x).shape == (3, 2, 2, 1)
    with pytest.raises(RuntimeError, match="non-negative"):
        vmap(lambda a: torch.nonzero_static(a, size=-1))(x)


def test_places_in_images():
    """Rounded places have a gradient of zero, sample by sample too."""
    image, grid = draw(2, 1, 2, 4, 5), draw(2, 1, 3, 3, 2, seed=1)
    f = torch.nn.functional
    for call in (
        lambda a, g: f.grid_sample(a, g, mode="nearest", align_corners=False),
        lambda a, g: f.fractional_max_pool2d(a, 2, 2, _random_samples=g[:, :2, 0].abs().clamp(max=0.9)),
    ):
        assert vmap(call)(image, grid).equal(rows_of(call, image, grid))
