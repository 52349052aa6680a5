"""float8_e4m3fn and float8_e5m2: stored in 8 bits, computed with in float32.

Beside PyTorch: parity/test_float8_vs_torch.py.
"""

import functools

import numpy as np
import pytest
import strided as torch

FLOAT8 = ["float8_e4m3fn", "float8_e5m2"]
ROWS = {row["name"]: row for row in torch._C.ops_table()}
NAN, INF = float("nan"), float("inf")


@pytest.fixture(params=FLOAT8)
def dtype(request):
    return getattr(torch, request.param)


def codes(dtype):
    return torch.arange(256, dtype=torch.uint8).view(dtype)


def same(a, b):
    """Dtype, shape and bits; any NaN for a NaN."""
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.is_complex():
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    if a.is_floating_point():
        a, b = a.float(), b.float()
        assert torch.equal(a.isnan(), b.isnan())
        a, b = a.nan_to_num(0), b.nan_to_num(0)
    assert torch.equal(a, b)


def stored(result, dtype):
    """What an operation on float32 gives, in the dtype of a result of float8."""
    return result.to(dtype) if result.dtype == torch.float32 else result


def layouts(x):
    """The same 6 x 8 values (or some of them) in other layouts."""
    wide = torch.zeros(6, 16, dtype=x.dtype)
    wide[:, ::2] = x
    yield x
    yield x.t()
    yield wide[:, ::2]
    yield x[::-1, ::-1]
    yield x[1:2].expand(5, 8)
    yield x[2:, 3:]
    yield x[:0]
    yield x[3, 4]


def samples(dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 2, 48)
    values[:4] = [0, NAN, INF, 1]
    return torch.tensor(rng.permutation(values)).view(6, 8).to(dtype)


ON_STORAGE = {"nextafter", "nan_to_num", "hardshrink"}  # their result depends on the format


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if "float32" in row["out_dtypes"]])
def test_elementwise_ops_are_those_of_float32(name, dtype):
    row, function = ROWS[name], torch._C.functions[name]
    if name in ON_STORAGE:
        with pytest.raises(NotImplementedError, match=f"{name}.*not implemented for 'Float8"):
            function(*[samples(dtype)] * row["arity"])
        return
    if name == "polygamma":
        function = lambda x, *_: torch.polygamma(2, x)  # noqa: E731
    if name == "threshold":
        function = lambda x, *_: torch.threshold(x, 0.5, 7.0)  # noqa: E731
    if name in ("_times_number", "_over_number"):
        function = functools.partial(function, number=2.5)
    if name in ("addcmul", "addcdiv"):
        function = lambda a, b, c, *_: getattr(torch, name)(a, b, c, value=2.5)  # noqa: E731
    operands = [list(layouts(samples(dtype, k))) for k in range(row["arity"])]
    for args in zip(*operands):
        same(function(*args), stored(function(*[a.float() for a in args]), dtype))


REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum_rows": lambda x: x.sum(-1) if x.dim() else x.sum(),
    "sum_columns": lambda x: x.sum(0, keepdim=True),
    "nansum": lambda x: x.nansum(),
    "prod": lambda x: x.prod(0),
    "mean": lambda x: x.mean(0),
    "var": lambda x: x.var(),
    "std": lambda x: x.std(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "norm": lambda x: torch.linalg.vector_norm(x),
    "norm_3": lambda x: torch.linalg.vector_norm(x, 3),
    "all": lambda x: x.all(),
    "any": lambda x: x.any(0),
    "count_nonzero": lambda x: x.count_nonzero(),
}
ORDERED = {
    "amax": lambda x: x.amax(0),
    "amin": lambda x: x.amin(),
    "max": lambda x: x.max(),
    "argmin": lambda x: x.argmin(),
    "min_dim_values": lambda x: x.min(0).values,
    "min_dim_indices": lambda x: x.min(0).indices,
    "aminmax": lambda x: x.aminmax().max,
}


@pytest.mark.parametrize("name", [*REDUCTIONS, *ORDERED])
def test_reductions_are_those_of_float32(name, dtype):
    function = {**REDUCTIONS, **ORDERED}[name]
    for x in layouts(samples(dtype)):
        if x.numel() or name in REDUCTIONS:
            same(function(x), stored(function(x.float()), dtype))


def test_a_reduction_in_another_dtype(dtype):
    x = samples(dtype)
    assert x.sum(dtype=torch.float64).dtype == torch.float64
    same(x.nansum(dtype=dtype), x.nansum())
    same(torch.ones(3).sum(dtype=dtype), torch.tensor(3.0, dtype=dtype))


def test_sums_are_rounded_once(dtype):
    # Steps rounded to 8 bits would stop at 16 (or 8).
    assert torch.ones(40, dtype=dtype).sum().item() == 40
    assert torch.full((100,), 0.125, dtype=dtype).sum().item() == 12 if dtype == torch.float8_e5m2 else 13


def test_numbers_and_zero_dims_promote_weakly(dtype):
    x = samples(dtype)
    for other in (2, 2.5, True, torch.tensor(2.5), torch.tensor(2, dtype=torch.int64)):
        assert (x * other).dtype == dtype
    for other in ("float32", "float64", "int8", "bool", "bfloat16", "complex64"):
        with pytest.raises(RuntimeError, match="Float8 Types is not supported, attempted to promote Float8_e.m.* and"):
            x + torch.ones(8).to(getattr(torch, other))
    with pytest.raises(RuntimeError, match="attempted to promote Float8_e4m3fn and Float8_e5m2"):
        torch.ones(2, dtype=torch.float8_e4m3fn) + torch.ones(2, dtype=torch.float8_e5m2)


def test_in_place_and_out(dtype):
    x = samples(dtype)
    want = (x.float() * 1.5).to(dtype)
    same(x.clone().mul_(1.5), want)
    out = torch.empty(6, 8, dtype=dtype)
    torch.mul(x, 1.5, out=out)
    same(out, want)
    into = torch.empty(6, 8)
    torch.mul(x, 1.5, out=into)
    same(into, want.float())
    same(x.t().clone().t().add_(1), (x.float() + 1).to(dtype))


def test_copies_between_layouts(dtype):
    x = samples(dtype)
    for a in layouts(x):
        same(a.clone(), a)
        same(a.contiguous(), a.float().contiguous().to(dtype))
        for other in torch._C.dtypes:
            got = a.to(other)
            if other not in (torch.float32, dtype):
                same(got, a.float().to(other))
            target = torch.zeros(a.shape[::-1], dtype=other).permute([*range(a.dim())[::-1]])
            same(target.copy_(a), got)
    big = torch.arange(5000, dtype=torch.int32).remainder(97).view(50, 100)
    for other in (torch.int32, torch.uint8, torch.float64, torch.bfloat16, torch.complex64):
        given = big.to(other)
        same(given.to(dtype), big.float().to(dtype))
        same(given.t().to(dtype).contiguous(), big.float().to(dtype).t().contiguous())
        same(big.to(dtype)[:, ::3].to(other), big.float().to(dtype).float()[:, ::3].to(other))


def test_gradients_are_float8(dtype):
    x = torch.tensor([1.0, -2, 0.5], dtype=dtype, requires_grad=True)
    (x * x).sum().backward()
    same(x.grad, torch.tensor([2.0, -4, 1], dtype=dtype))
    y = torch.tensor([1.0, -2, 0.5], requires_grad=True)
    y.to(dtype).float().sum().backward()
    same(y.grad, torch.ones(3))


def test_numpy_through_ml_dtypes(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = codes(dtype)
    array = x.numpy()
    assert array.dtype == np.dtype(getattr(ml_dtypes, str(dtype)[6:]))
    np.testing.assert_array_equal(array.astype(np.float32), x.float().numpy())
    array[5] = 1.5
    assert x[5].item() == 1.5
    back = torch.from_numpy(array[::3])
    assert back.dtype == dtype
    same(back, x[::3])
    same(torch.tensor(array), x)


def test_without_ml_dtypes(dtype, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match=f"NumPy has no {str(dtype)[6:]}; install ml_dtypes"):
        codes(dtype).numpy()
    with pytest.raises(BufferError, match="no format for float8"):
        memoryview(codes(dtype))


def test_dlpack(dtype):
    x = codes(dtype)
    y = torch.from_dlpack(x)
    assert y.dtype == dtype and y.data_ptr() == x.data_ptr()


def test_indexing(dtype):
    x = samples(dtype)
    f = x.float()
    rows, mask = torch.tensor([3, -1, 3]), f > 0
    for index in (0, (slice(None), 2), rows, (rows, rows), mask, (slice(1, None, 2), rows), ..., None):
        same(x[index], f[index].to(dtype))
        a, b = x.clone(), f.clone()
        a[index] = 0.7
        b[index] = torch.tensor(0.7).to(dtype).float()
        same(a, b.to(dtype))
    same(x.gather(1, rows[None] % 8), f.gather(1, rows[None] % 8).to(dtype))
    same(x.take(rows), f.take(rows).to(dtype))
    same(x.masked_fill(mask, 3.0), f.masked_fill(mask, 3.0).to(dtype))
    same(torch.where(mask, x, -x), torch.where(mask, f, -f).to(dtype))
    same(torch.cat([x, x[:2]]), torch.cat([f, f[:2]]).to(dtype))
    same(x.flip(0), f.flip(0).to(dtype))


def test_products_are_those_of_float32(dtype):
    a, b = samples(dtype), samples(dtype, 1)
    a, b = (x.masked_fill(x.isnan() | x.isinf(), 1) for x in (a, b))
    same(a @ b.t(), (a.float() @ b.float().t()).to(dtype))
    same(a @ b[0], (a.float() @ b[0].float()).to(dtype))
    wide = torch.addmm(a[:, :6].float(), a.float(), b.float().t(), beta=2)
    same(torch.addmm(a[:, :6], a, b.t(), beta=2), wide.to(dtype))
    eye = torch.eye(3, dtype=dtype) * 2
    same(torch.linalg.inv(eye), torch.eye(3, dtype=dtype) * 0.5)


def test_what_has_no_loops_raises(dtype):
    x = torch.ones(3, 3, dtype=dtype)
    index = torch.tensor([0, 1, 2])
    for call in (
        lambda: x.sort(), lambda: x.topk(1), lambda: x.median(), lambda: x.unique(), lambda: x.cumsum(0),
        lambda: x.cummax(0), lambda: x.softmax(0), lambda: x.clone().index_add_(0, index, x),
        lambda: x.scatter_add(0, index[None], x), lambda: x.clone().normal_(), lambda: x.clone().random_(3),
        lambda: x.clone().bernoulli_(0.5), lambda: x.clone().uniform_(), lambda: torch.rand(2, dtype=dtype),
        lambda: torch.randperm(4, dtype=dtype), lambda: torch.multinomial(x, 1), lambda: torch.poisson(x),
        lambda: torch.arange(3, dtype=dtype), lambda: torch.linspace(0, 1, 3, dtype=dtype),
        lambda: torch.searchsorted(x[0], x[0]), lambda: torch.isin(x, x),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="not implemented for 'Float8|torch.float8"):
            call()


def test_it_is_no_default_dtype(dtype):
    with pytest.raises(TypeError, match="default type"):
        torch.set_default_dtype(dtype)
    assert torch.get_default_dtype() == torch.float32


def test_pickle_and_storage(dtype):
    import pickle

    x = codes(dtype)
    assert torch.equal(pickle.loads(pickle.dumps(x)).view(torch.uint8), x.view(torch.uint8))
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert len(x.untyped_storage()) == 256
