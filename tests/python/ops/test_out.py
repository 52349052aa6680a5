"""out=: results go where the caller says, without a copy where they fit, and only after every check."""

import warnings

import numpy
import pytest
import strided

NO_GRADIENT = "functions with out=... arguments don't support automatic differentiation"


def spd(n=4):
    x = strided.arange(n * n, dtype=strided.float32).reshape(n, n)
    return x @ x.t() / n**3 + 3 * strided.eye(n)


# name -> (call with the matrix and out=, positions among the parts)
ONE = {
    "sum": lambda x, o: strided.sum(x, 0, out=o),
    "nansum": lambda x, o: strided.nansum(x, 0, out=o),
    "mean": lambda x, o: strided.mean(x, 1, True, out=o),
    "prod": lambda x, o: strided.prod(x, 1, out=o),
    "amax": lambda x, o: strided.amax(x, 0, out=o),
    "var": lambda x, o: strided.var(x, 0, out=o),
    "std": lambda x, o: strided.std(x, (0, 1), out=o),
    "norm": lambda x, o: strided.norm(x, 2, 0, out=o),
    "logsumexp": lambda x, o: strided.logsumexp(x, 0, out=o),
    "max": lambda x, o: strided.max(x, out=o),
    "max other": lambda x, o: strided.max(x, x.t(), out=o),
    "cumsum": lambda x, o: strided.cumsum(x, 1, out=o),
    "cumprod": lambda x, o: strided.cumprod(x, 0, out=o),
    "logcumsumexp": lambda x, o: strided.logcumsumexp(x, 0, out=o),
    "cat": lambda x, o: strided.cat([x, x], 1, out=o),
    "stack": lambda x, o: strided.stack([x, x], 1, out=o),
    "index_select": lambda x, o: strided.index_select(x, 0, strided.tensor([2, 0]), out=o),
    "gather": lambda x, o: strided.gather(x, 0, strided.tensor([[2, 0, 1, 1]]), out=o),
    "matmul": lambda x, o: strided.matmul(x, x, out=o),
    "mm": lambda x, o: strided.mm(x, x, out=o),
    "mv": lambda x, o: strided.mv(x, x[0], out=o),
    "dot": lambda x, o: strided.dot(x[0], x[1], out=o),
    "vector @ matrix": lambda x, o: strided.matmul(x[0], x, out=o),
    "batch @ matrix": lambda x, o: strided.matmul(x.reshape(2, 2, 4), x, out=o),
    "batch @ vector": lambda x, o: strided.matmul(x.reshape(2, 2, 4), x[1], out=o),
    "vector @ batch": lambda x, o: strided.matmul(x[0], strided.stack([x, x]), out=o),
    "bmm": lambda x, o: strided.bmm(x.reshape(1, 4, 4), x.reshape(1, 4, 4), out=o),
    "addmm": lambda x, o: strided.addmm(x, x, x, out=o),
    "baddbmm": lambda x, o: strided.baddbmm(x[None], x[None], x[None], out=o),
    "linalg.inv": lambda x, o: strided.linalg.inv(x, out=o),
    "linalg.solve": lambda x, o: strided.linalg.solve(x, x, out=o),
    "linalg.solve vector": lambda x, o: strided.linalg.solve(x, x[0], out=o),
    "linalg.solve right": lambda x, o: strided.linalg.solve(x, x, left=False, out=o),
    "linalg.det": lambda x, o: strided.linalg.det(x, out=o),
    "linalg.cholesky": lambda x, o: strided.linalg.cholesky(x, out=o),
    "linalg.matrix_power": lambda x, o: strided.linalg.matrix_power(x, 3, out=o),
    "add": lambda x, o: strided.add(x, 1, out=o),
    "add alpha": lambda x, o: strided.add(x, x, alpha=2, out=o),
    "clamp": lambda x, o: strided.clamp(x, min=1, out=o),
    "tril": lambda x, o: strided.tril(x, out=o),
    "take": lambda x, o: strided.take(x, strided.tensor([3, 1]), out=o),
    "t_copy": lambda x, o: strided.t_copy(x, out=o),
}
SEVERAL = {
    "max": lambda x, o: strided.max(x, 1, out=o),
    "min": lambda x, o: strided.min(x, 0, True, out=o),
    "median": lambda x, o: strided.median(x, 1, out=o),
    "mode": lambda x, o: strided.mode(x, 1, out=o),
    "kthvalue": lambda x, o: strided.kthvalue(x, 2, 1, out=o),
    "sort": lambda x, o: strided.sort(x, 1, out=o),
    "topk": lambda x, o: strided.topk(x, 2, out=o),
    "cummax": lambda x, o: strided.cummax(x, 1, out=o),
    "aminmax": lambda x, o: strided.aminmax(x, dim=1, out=o),
    "linalg.slogdet": lambda x, o: strided.linalg.slogdet(x, out=o),
    "linalg.eigh": lambda x, o: strided.linalg.eigh(x, out=o),
    "linalg.qr": lambda x, o: strided.linalg.qr(x, out=o),
    "linalg.svd": lambda x, o: strided.linalg.svd(x, out=o),
    "linalg.lu": lambda x, o: strided.linalg.lu(x, out=o),
    "linalg.lu_factor": lambda x, o: strided.linalg.lu_factor(x, out=o),
    "linalg.inv_ex": lambda x, o: strided.linalg.inv_ex(x, out=o),
}


def parts_of(result):
    return [result] if isinstance(result, strided.Tensor) else list(result)


def empties(expected):
    return [strided.empty(0, dtype=part.dtype) for part in expected]


def as_argument(outs, name):
    return outs[0] if name in ONE else tuple(outs)


CASES = [
    pytest.param(name, f, id=f"{kind} {name}")
    for kind, t in (("one", ONE), ("several", SEVERAL))
    for name, f in t.items()
]
PARTS = [pytest.param(name, f, id=name) for name, f in SEVERAL.items()]
SINGLE = [pytest.param(name, f, id=name) for name, f in ONE.items()]


def same(got, expected):
    assert [part.tolist() for part in got] == [part.tolist() for part in expected]


@pytest.mark.parametrize("name, f", SINGLE)
def test_one_result_goes_into_any_memory(name, f):
    x = spd()
    expected = f(x, None)
    shape = expected.shape
    twice = [2 * n for n in shape]
    spread = strided.full(twice, 7.0)
    views = {
        "fitting": strided.full(shape, 7.0),
        "empty": strided.empty(0),
        "double": strided.full(shape, 7.0, dtype=strided.float64),
        "transposed": strided.full(shape[::-1], 7.0).permute([*range(len(shape))[::-1]]),
        "stepped": spread[tuple(slice(None, None, 2) for _ in shape)],
        "offset": strided.full([n + 1 for n in shape], 7.0)[tuple(slice(1, None) for _ in shape)],
    }
    for look, out in views.items():
        assert f(x, out) is out
        assert out.shape == shape
        assert strided.allclose(out.to(strided.float32), expected, rtol=1e-5), look
    assert views["empty"].stride() == strided.empty(shape).stride()


@pytest.mark.parametrize("name, f", PARTS)
def test_several_results(name, f):
    x = spd()
    expected = parts_of(f(x, None))
    for outs in (
        empties(expected),
        [strided.empty_like(part) for part in expected],
        [p.t().clone().t() if p.ndim == 2 else p.clone() for p in expected],
    ):
        result = f(x, tuple(outs))
        assert all(a is b for a, b in zip(result, outs, strict=True))
        same(outs, expected)
        assert f(x, list(outs))[0] is outs[0]


@pytest.mark.parametrize("name, f", [*SINGLE])
def test_an_input_for_out(name, f):
    x = spd()
    expected = f(x, None)
    if expected.shape == x.shape and name not in ("cat", "max other"):
        same([f(x, x)], [expected])
    x = spd()
    if expected.ndim == 1 and len(expected) == 4:
        same([f(x, x[1])], [expected])


@pytest.mark.parametrize("name, f", [
    ("mm", lambda x, out: strided.mm(x, x, out=out)),
    ("cumsum", lambda x, out: strided.cumsum(x.t(), 0, out=out)),
    ("index_select", lambda x, out: strided.index_select(x, 0, strided.arange(39, -1, -1), out=out)),
    ("cat", lambda x, out: strided.cat([x[20:], x[:20]], out=out)),
])  # fmt: skip
def test_two_storages_on_one_memory(name, f):
    array = numpy.random.default_rng(0).standard_normal((40, 40))
    want = f(strided.tensor(array), strided.empty(40, 40, dtype=strided.float64))
    f(strided.from_numpy(array), strided.from_numpy(array))
    numpy.testing.assert_array_equal(array, want.numpy())


@pytest.mark.parametrize("name, f", CASES)
def test_an_argument_that_requires_grad(name, f):
    x = spd()
    expected = parts_of(f(x, None))
    outs = [strided.full_like(part, 7) for part in expected]
    with pytest.raises(RuntimeError, match=NO_GRADIENT):
        f(x.clone().requires_grad_(), as_argument(outs, name if f is ONE.get(name) else ""))
    for out in outs:
        assert (out == 7).all()
    with strided.no_grad():
        f(x.clone().requires_grad_(), as_argument(outs, name if f is ONE.get(name) else ""))
    same(outs, expected)
    floating = [out for out in outs if out.dtype.is_floating_point]
    floating[0].fill_(7).requires_grad_()
    with pytest.raises(RuntimeError, match=NO_GRADIENT):
        f(x, as_argument(outs, name if f is ONE.get(name) else ""))
    assert (floating[0] == 7).all()


def test_results_without_a_gradient_take_any_argument():
    x = spd().requires_grad_()
    assert strided.argmax(x, 1, out=strided.empty(0, dtype=strided.int64)).tolist() == x.argmax(1).tolist()
    assert strided.eq(x, 3, out=strided.empty(0, dtype=strided.bool)).tolist() == (x == 3).tolist()
    assert strided.isfinite(x).all()


@pytest.mark.parametrize("name, f", CASES)
def test_a_result_that_cannot_be_cast_leaves_all_parts_alone(name, f):
    expected = parts_of(f(spd(), None))
    one = f is ONE.get(name)
    for bad in range(len(expected)):
        outs = [strided.full_like(part, 3) for part in expected]
        outs[bad] = strided.ones(expected[bad].shape, dtype=strided.bool)
        if name in ("sum", "prod", "nansum", "cumsum", "cumprod") and one:
            continue  # computed in the dtype of out
        with pytest.raises(TypeError if name in ("cat", "stack") else RuntimeError):
            f(spd(), outs[0] if one else tuple(outs))
        assert all((out == (1 if i == bad else 3)).all() for i, out in enumerate(outs))


def test_only_what_joins_tensors_says_so():
    for product in (strided.chain_matmul, lambda *given, out: strided.linalg.multi_dot(given, out=out)):
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
            product(spd(), spd(), out=strided.empty(5, 5, dtype=strided.int64))
    for join in (strided.concat, strided.row_stack, strided.column_stack, strided.dstack):
        with pytest.raises(TypeError, match=r"torch.cat\(\): input types can't be cast"):
            join([spd(), spd()], out=strided.empty(0, dtype=strided.int64))


@pytest.mark.parametrize("name, f", CASES)
def test_a_wrong_shape_leaves_all_parts_alone(name, f):
    expected = parts_of(f(spd(), None))
    one = f is ONE.get(name)
    for bad in range(len(expected)):
        outs = [strided.full_like(part, 3) for part in expected]
        base = strided.full((6, 3), 3, dtype=expected[bad].dtype)
        outs[bad] = base[:5]  # not alone
        with pytest.raises(RuntimeError, match="shape"):
            f(spd(), outs[0] if one else tuple(outs))
        assert all((out == 3).all() for out in outs)


@pytest.mark.parametrize("name, f", CASES)
def test_a_wrong_shape_is_resized_where_nobody_shares_the_memory(name, f):
    expected = parts_of(f(spd(), None))
    one = f is ONE.get(name)
    for bad in range(len(expected)):
        outs = [strided.full_like(part, 3) for part in expected]
        outs[bad] = strided.full((5, 3), 3, dtype=expected[bad].dtype)
        with pytest.warns(UserWarning, match=r"was resized since it had shape \[5, 3\]") as told:
            f(spd(), outs[0] if one else tuple(outs))
        assert len(told) == 1
        same(outs, expected)


def test_a_warning_that_is_an_error_leaves_out_alone():
    out = strided.full((5,), 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (lambda: strided.add(strided.ones(2), 1, out=out), lambda: strided.arange(2.0, out=out)):
            with pytest.raises(UserWarning, match="resized"):
                call()
    assert out.tolist() == [3] * 5


def test_an_input_that_is_resized_as_out():
    x = strided.tensor([1.0, 2.0])
    with pytest.warns(UserWarning, match="resized"):
        assert strided.add(x, strided.tensor([[10.0], [20.0]]), out=x) is x
    assert x.tolist() == [[11, 12], [21, 22]]
    with pytest.warns(UserWarning, match="resized"):
        strided.sum(x, 0, out=x)
    assert x.tolist() == [32, 34]


@pytest.mark.parametrize("name, f", PARTS)
def test_two_results_in_one_memory(name, f):
    x = spd()
    expected = parts_of(f(x, None))
    outs = empties(expected)
    with pytest.raises(RuntimeError, match="single memory location"):
        f(x, (outs[0], *outs[:-1]))
    memory = strided.zeros(64)
    with pytest.raises(RuntimeError, match="single memory location"):
        f(x, tuple(memory[: part.numel()].view(part.shape) for part in expected))
    if name in POSITIONS:  # beside each other they may lie
        both = strided.zeros(2, 64, dtype=strided.int64)
        f(x.long(), tuple(both[i, : part.numel()].view(part.shape) for i, part in enumerate(expected)))
        same([both[1, : expected[1].numel()].view(expected[1].shape)], [f(x.long(), None)[1]])


POSITIONS = ["max", "min", "median", "mode", "kthvalue", "sort", "topk", "cummax"]


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_go_into_int64_only(name):
    values, indices = SEVERAL[name](spd(), None)
    for dtype in (strided.float32, strided.int32, strided.float64):
        outs = strided.full_like(values, 3), strided.full(indices.shape, 3, dtype=dtype)
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int"):
            SEVERAL[name](spd(), outs)
        assert (outs[0] == 3).all()
        assert (outs[1] == 3).all()
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int, but got int instead"):
        strided.argmax(spd(), 0, out=strided.zeros(4, dtype=strided.int32))


def test_the_dtype_of_out_is_computed_in():
    x = strided.tensor([[1.7, 2.7], [3.7, 4.9]])
    assert strided.sum(x, 0, out=strided.zeros(2, dtype=strided.int64)).tolist() == [4, 6]
    assert strided.prod(x, 0, out=strided.zeros(2, dtype=strided.int64)).tolist() == [3, 8]
    assert strided.cumsum(x, 0, out=strided.zeros(2, 2, dtype=strided.int64)).tolist() == [[1, 2], [4, 6]]
    big = strided.full((1000,), 255, dtype=strided.uint8)
    assert strided.sum(big, 0, out=strided.zeros((), dtype=strided.int32)).item() == 255000
    assert strided.sum(strided.full((3,), 60000.0, dtype=strided.float16), 0, out=strided.zeros(())).item() == 180000
    with pytest.raises(RuntimeError, match="can't be cast"):
        strided.sum(strided.ones(2, dtype=strided.complex64), 0, out=strided.zeros(()))


def test_what_out_is():
    x = spd()
    with pytest.raises(TypeError):
        strided.sum(x, 0, out=(strided.zeros(4),))
    with pytest.raises(TypeError):
        strided.max(x, 1, out=strided.zeros(4))
    with pytest.raises(TypeError):
        strided.max(x, 1, out=(strided.zeros(4), None))
    with pytest.raises(TypeError):
        strided.sum(x, 0, out=3)
    with pytest.raises(RuntimeError, match="single memory location"):
        strided.sum(x, 0, out=strided.zeros(1).expand(4))


def peak(call):
    before = strided.memory.memory_stats()["allocated_bytes"]
    strided.memory.reset_peak_memory_stats()
    call()
    return strided.memory.memory_stats()["peak_allocated_bytes"] - before


N = 512
MEASURED = {
    "matmul": (lambda x, o: strided.matmul(x, x, out=o), (N, N), 0),
    "bmm": (lambda x, o: strided.bmm(x[None], x[None], out=o), (1, N, N), 0),
    "batch @ matrix": (lambda x, o: strided.matmul(x.view(4, N // 4, N), x, out=o), (4, N // 4, N), 0),
    "addmm": (lambda x, o: strided.addmm(x, x, x, out=o), (N, N), 0),
    "sum": (lambda x, o: strided.sum(x.view(N, N, 1), 2, out=o), (N, N), 0),
    "mean": (lambda x, o: strided.mean(x.view(1, N, N), 0, out=o), (N, N), 0),
    "amax": (lambda x, o: strided.amax(x.view(1, N, N), 0, out=o), (N, N), 0),
    "cumsum": (lambda x, o: strided.cumsum(x, 1, out=o), (N, N), 0),
    "cat": (lambda x, o: strided.cat([x, x], out=o), (2 * N, N), 0),
    "stack": (lambda x, o: strided.stack([x, x], out=o), (2, N, N), 0),
    "index_select": (lambda x, o: strided.index_select(x, 0, strided.arange(N), out=o), (N, N), 0),
    "linalg.solve": (lambda x, o: strided.linalg.solve(x, x, out=o), (N, N), 1),  # the factors
    "linalg.inv": (lambda x, o: strided.linalg.inv(x, out=o), (N, N), 2),  # and the identity
}


@pytest.mark.parametrize("name", MEASURED)
def test_peak_memory(name):
    call, shape, copies = MEASURED[name]
    x = strided.eye(N)
    call(x, None)  # work space that stays
    room = N * N * 2  # half a matrix: packed blocks and the like
    most = copies * 4 * N * N + room
    out = strided.empty(shape)
    assert peak(lambda: call(x, out)) <= most
    # An empty out takes over the memory of the result.
    assert peak(lambda: call(x, strided.empty(0))) <= most + out.nbytes


def test_a_view_whose_base_nobody_has_is_resized():
    x, y = strided.ones(1, 3, 2), strided.ones(1, 2, 4)
    for out in (strided.zeros(4, 3).t(), strided.zeros(6)[::2], strided.zeros(6)[:0]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the resizing
            assert strided.bmm(x, y, out=out) is out
        assert out.shape == (1, 3, 4) and out.stride() == (12, 4, 1) and out.eq(2).all() and out._base is None
        out.add_(1)
        assert out.eq(3).all() and out.untyped_storage().nbytes() == 48
    base = strided.zeros(6)
    for out in (base[::2], base.t()[:0]):
        with pytest.raises(RuntimeError, match="only a tensor that nobody shares memory with is resized"):
            strided.bmm(x, y, out=out)
    assert base.shape == (6,) and not base.any()


REFUSED = {
    "division by zero": lambda o: strided.floor_divide(strided.tensor([4, 5]), strided.tensor([2, 0]), out=o),
    "division by the number zero": lambda o: strided.fmod(strided.tensor([4, 5]), 0, out=o),
    "negative power": lambda o: strided.pow(strided.tensor([4, 5]), -1, out=o),
    "bernoulli of no probability": lambda o: strided.bernoulli(strided.tensor([2.0, 0.5]), out=o),
    "bernoulli of integers": lambda o: strided.bernoulli(strided.tensor([0, 1]), out=o),
    "randint of nothing": lambda o: strided.randint(3, 3, (2,), out=o),
    "normal": lambda o: strided.normal(0.0, -1.0, (2,), out=o),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("n", [2, 3])
def test_a_call_that_is_refused_leaves_out_as_it_was(name, n):
    out = strided.arange(float(n))
    with pytest.raises(RuntimeError):
        REFUSED[name](out)
    assert out.tolist() == list(range(n))


@pytest.mark.parametrize("shape", [(), (0,), (1, 1), (5,)])
def test_the_position_in_all_elements_keeps_axes_in_out(shape):
    x, out = strided.tensor([[3, 1, 2], [5, 0, 4]]), strided.full(shape, 7, dtype=strided.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tensors that are resized
        assert strided.argmin(x, None, True, out=out) is out
    assert out.tolist() == [[4]]
    assert strided.argmax(x, keepdim=True).tolist() == [[3]] and strided.argmax(x[0, 0], keepdim=True).shape == ()


def test_integers_that_cannot_have_gradients_leave_out_as_it_was():
    out = strided.arange(3)
    with pytest.raises(RuntimeError, match="floating point"):
        strided.full((2,), 7, out=out, requires_grad=True)
    assert out.tolist() == [0, 1, 2]


def test_draws_into_tensors_of_another_shape_are_the_same():
    draws = [
        lambda o: strided.rand(4, out=o),
        lambda o: strided.randn(4, out=o),
        lambda o: strided.randint(9, (4,), out=o),
        lambda o: strided.normal(0.0, 1.0, (4,), out=o),
        lambda o: strided.bernoulli(strided.full((4,), 0.5), out=o),
    ]
    for draw in draws:
        made = []
        for out in (strided.empty(4), strided.empty(0), strided.empty(8)[::2]):
            strided.manual_seed(3)
            assert draw(out) is out
            made.append(out.tolist())
        assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("make", ["zeros", "full", "linspace", "arange", "randperm"])
def test_page_locked_memory_is_that_of_out(make):
    """As in PyTorch: `out` stays where it is, whatever is asked for new tensors."""
    args = {"full": ((2,), 3), "linspace": (0, 1, 2), "zeros": (2,)}.get(make, (2,))
    out = strided.ones(3)[:2]
    assert getattr(strided, make)(*args, out=out, pin_memory=True) is out
    assert out.tolist() == getattr(strided, make)(*args, out=strided.ones(2)).tolist() or make == "randperm"
