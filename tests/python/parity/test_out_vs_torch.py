"""out= beside PyTorch: which calls are refused, with which words, and what dtype is computed in."""

import pickle
import warnings

import pytest
import strided

torch_ref = pytest.importorskip("torch")

E = lambda T, *shape, dtype="float32": T.zeros(shape, dtype=getattr(T, dtype))  # noqa: E731
X = [[1.7, 2.7], [3.7, 4.9]]


def outcome(call, T):
    try:
        result = call(T)
    except (RuntimeError, TypeError, IndexError) as error:
        return type(error).__name__, str(error).split("arguments require")[0]
    return [(str(part.dtype), part.tolist()) for part in ([result] if isinstance(result, T.Tensor) else result)]


CASES = {
    "sum int64": lambda T, x: T.sum(x, 0, out=E(T, 2, dtype="int64")),
    "sum int8 of int64": lambda T, x: T.sum(x.long(), 0, out=E(T, 2, dtype="int8")),
    "sum float of int64": lambda T, x: T.sum(x.long(), 0, out=E(T, 2)),
    "sum bool": lambda T, x: T.sum(x.long(), 0, out=E(T, 2, dtype="bool")),
    "prod int64": lambda T, x: T.prod(x, 0, out=E(T, 2, dtype="int64")),
    "cumsum int64": lambda T, x: T.cumsum(x, 0, out=E(T, 2, 2, dtype="int64")),
    "cumprod int64": lambda T, x: T.cumprod(x, 0, out=E(T, 2, 2, dtype="int64")),
    "argmax": lambda T, x: T.argmax(x, 0, out=E(T, 2, dtype="int64")),
    "argmax int32": lambda T, x: T.argmax(x, 0, out=E(T, 2, dtype="int32")),
    "argmax float": lambda T, x: T.argmax(x, 0, out=E(T, 2)),
    "argmax grad": lambda T, x: T.argmax(x.requires_grad_(), 0, out=E(T, 2, dtype="int64")),
    "eq grad": lambda T, x: T.eq(x.requires_grad_(), 3.7, out=E(T, 2, 2, dtype="bool")),
    "all grad": lambda T, x: T.all(x.requires_grad_(), 0, out=E(T, 2, dtype="bool")),
    "max float": lambda T, x: T.max(x, 1, out=(E(T, 2), E(T, 2))),
    "max int32": lambda T, x: T.max(x, 1, out=(E(T, 2), E(T, 2, dtype="int32"))),
    "sort float": lambda T, x: T.sort(x, out=(E(T, 2, 2), E(T, 2, 2))),
    "topk float": lambda T, x: T.topk(x, 1, out=(E(T, 2, 1), E(T, 2, 1))),
    "max other": lambda T, x: T.max(x, T.tensor(3.0)),
    "max 0-d integer": lambda T, x: T.max(x, T.tensor(1)),
    "max 0-d integer of integers": lambda T, x: T.max(x.long(), T.tensor(2)),
    "max 0-d integer as method": lambda T, x: x.long().min(T.tensor(2)),
    "max dim": lambda T, x: T.max(x, dim=T.tensor(1)),
    "sum dim": lambda T, x: T.sum(x, T.tensor(1)),
    "std": lambda T, x: T.std(x, T.tensor(1)),
    **{
        f"{name} grad": lambda T, x, f=f: f(T, x.requires_grad_())
        for name, f in {
            "sum": lambda T, x: T.sum(x, 0, out=E(T, 2)),
            "mean": lambda T, x: T.mean(x, 0, out=E(T, 2)),
            "cumsum": lambda T, x: T.cumsum(x, 0, out=E(T, 2, 2)),
            "cat": lambda T, x: T.cat([T.ones(2, 2), x], out=E(T, 4, 2)),
            "stack": lambda T, x: T.stack([x, x], out=E(T, 2, 2, 2)),
            "matmul": lambda T, x: T.matmul(x, x, out=E(T, 2, 2)),
            "mv": lambda T, x: T.mv(x, T.ones(2), out=E(T, 2)),
            "sort": lambda T, x: T.sort(x, out=(E(T, 2, 2), E(T, 2, 2, dtype="int64"))),
            "topk": lambda T, x: T.topk(x, 1, out=(E(T, 2, 1), E(T, 2, 1, dtype="int64"))),
            "max": lambda T, x: T.max(x, 1, out=(E(T, 2), E(T, 2, dtype="int64"))),
            "index_select": lambda T, x: T.index_select(x, 0, T.tensor([0]), out=E(T, 1, 2)),
            "add": lambda T, x: T.add(x, 1, out=E(T, 2, 2)),
            "bernoulli": lambda T, x: T.bernoulli(x, out=E(T, 2, 2)),
            "bernoulli int64": lambda T, x: T.bernoulli(x, out=E(T, 2, 2, dtype="int64")),
        }.items()
    },
}


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name):
    assert outcome(lambda T: CASES[name](T, T.tensor(X)), strided) == outcome(
        lambda T: CASES[name](T, T.tensor(X)), torch_ref
    )


LATER = {
    "gelu": lambda T, x, out: T.nn.functional.gelu(x, out=out),
    "softplus": lambda T, x, out: T.nn.functional.softplus(x, 2.0, out=out),
    "hardshrink": lambda T, x, out: T.nn.functional.hardshrink(x, 2.0, out=out),
    "softshrink": lambda T, x, out: T.nn.functional.softshrink(x, 2.0, out=out),
    "logsigmoid": lambda T, x, out: T.nn.functional.logsigmoid(x, out=out),
    "linear": lambda T, x, out: T.nn.functional.linear(x, T.ones(3, 2), out=out),
    "avg_pool2d": lambda T, x, out: T.nn.functional.avg_pool2d(x[None], 2, out=out),
    "avg_pool3d": lambda T, x, out: T.nn.functional.avg_pool3d(x[None, None], (1, 2, 1), out=out),
    "narrow_copy": lambda T, x, out: T.narrow_copy(x, 1, 1, 1, out=out),
    "slice_scatter": lambda T, x, out: T.slice_scatter(x, T.ones(2, 1), 1, 0, 1, out=out),
    "mvlgamma": lambda T, x, out: T.mvlgamma(x, 2, out=out),
}


@pytest.mark.parametrize("size", [0, 7])
@pytest.mark.parametrize("name", LATER)
def test_results_are_written_to_out(name, size):
    made = []
    for T in (strided, torch_ref):
        out = T.zeros(size)
        if size == 7:  # one of the right shape, whose memory stays
            out = T.zeros_like(LATER[name](T, T.tensor(X), None))
        address = out.data_ptr()
        assert LATER[name](T, T.tensor(X), out) is out
        assert size == 0 or out.data_ptr() == address
        made.append(out)
    torch_ref.testing.assert_close(torch_ref.from_numpy(made[0].numpy()), made[1])


def test_several_results_are_written_to_out():
    calls = (
        lambda T, x, out: T.frexp(x, out=out),
        lambda T, x, out: T.linalg.lstsq(x, x[:, :1], driver="gelsd", out=out),
        lambda T, x, out: T.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5, out=out),
    )
    dtypes = (["float32", "int32"], ["float32", "float32", "int64", "float32"], ["float32"] * 3)
    for call, kinds in zip(calls, dtypes):
        found = []
        for T in (strided, torch_ref):
            outs = tuple(T.empty(0, dtype=getattr(T, kind)) for kind in kinds)
            made = call(T, T.tensor(X), outs)
            assert all(a is b for a, b in zip(made, outs))
            found.append(outs)
        for a, b in zip(*found):
            torch_ref.testing.assert_close(torch_ref.from_numpy(a.numpy()), b)


ROWS = {
    "arange": lambda T, out: T.arange(6, out=out),
    "range": lambda T, out: T.range(1, 6, out=out),
    "linspace": lambda T, out: T.linspace(0, 1, 6, out=out),
    "logspace": lambda T, out: T.logspace(0, 1, 6, out=out),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("view", [lambda t: t[:, 1:3], lambda t: t[:, 1:3].t(), lambda t: t[:, 1:3].view(3, 2, 1)])
def test_a_row_fills_a_tensor_of_as_many_elements(name, view):
    made = []
    for T in (strided, torch_ref):
        base = T.zeros(3, 4)
        out = view(base)
        result = ROWS[name](T, out)
        assert result is out
        made.append((tuple(out.shape), out.stride(), base.double().numpy().round(5).tolist()))
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["empty", "zeros", "ones", "full"])
def test_requires_grad_reaches_out(name):
    for T in (strided, torch_ref):
        out = T.ones(2)
        arguments = ((2,), 3.0) if name == "full" else ((2,),)
        assert getattr(T, name)(*arguments, out=out, requires_grad=True) is out and out.requires_grad


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize("step", [1, 2])
def test_out_that_is_resized_has_the_order_of_the_operands(order, step):
    seen = []
    for T in (strided, torch_ref):
        x = T.arange(24.0).reshape(2, 3, 4)[:, :, ::step].permute(order)
        row = T.arange(float(x.shape[-1]))
        for call in (T.add, T.eq, T.mul):
            for a, b in ((x, x), (x, row), (row, x)):
                out = T.empty(0, dtype=T.bool if call is T.eq else T.float32)
                made = call(a, b, out=out)
                assert made is out and out.equal(call(a, b))
                seen.append(out.stride())
        out = T.empty(0)
        seen.append(T.exp(x, out=out).stride())
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]


RESIZING = {
    "ones": lambda T, o: T.ones(3, out=o),
    "full": lambda T, o: T.full((3,), 2.0, out=o),
    "empty": lambda T, o: T.empty(3, out=o),
    "randn": lambda T, o: T.randn(3, out=o),
    "randint": lambda T, o: T.randint(0, 5, (3,), out=o),
    "randperm": lambda T, o: T.randperm(3, out=o.long()),
    "linspace": lambda T, o: T.linspace(0, 1, 3, out=o),
    "logspace": lambda T, o: T.logspace(0, 1, 3, out=o),
    "eye": lambda T, o: T.eye(3, out=o),
    "range": lambda T, o: T.range(0, 3, out=o),
    "normal": lambda T, o: T.normal(0.0, 1.0, (3,), out=o),
    "arange": lambda T, o: T.arange(3, out=o),
    "bernoulli": lambda T, o: T.bernoulli(T.full((3,), 0.5), out=o),
    "multinomial": lambda T, o: T.multinomial(T.ones(4), 2, out=o.long()),
    "narrow_copy": lambda T, o: T.narrow_copy(T.ones(4), 0, 0, 2, out=o),
    "addbmm": lambda T, o: T.addbmm(T.ones(2, 2), T.ones(2, 2, 2), T.ones(2, 2, 2), out=o),
    "baddbmm": lambda T, o: T.baddbmm(T.ones(2, 2, 2), T.ones(2, 2, 2), T.ones(2, 2, 2), out=o),
    "add": lambda T, o: T.add(T.ones(3), 1, out=o),
    "sum": lambda T, o: T.sum(T.ones(3, 2), 0, out=o),
    "cat": lambda T, o: T.cat([T.ones(3)], out=o),
}


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("name", RESIZING)
def test_who_warns_of_a_resize(name):
    seen = []
    for T in (strided, torch_ref):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            RESIZING[name](T, T.ones(5))
        seen.append(any("resized" in str(warning.message) for warning in caught))
    assert seen[0] == seen[1]


def test_words_of_a_row_of_another_length():
    said = []
    for T in (strided, torch_ref):
        with pytest.warns(UserWarning) as caught:
            T.arange(5, out=T.ones(2))
        said.append(str(caught[0].message).partition(" (Triggered")[0])
    assert said[0] == said[1]


NAMED = {
    "max": lambda T: T.max(T.ones(2, 2), 0, out=(T.ones(2), T.ones(2).long())),
    "sort": lambda T: T.sort(T.ones(2), out=(T.ones(2), T.ones(2).long())),
    "aminmax": lambda T: T.aminmax(T.ones(2), out=(T.ones(()), T.ones(()))),
    "frexp": lambda T: T.frexp(T.ones(2), out=(T.ones(2), T.ones(2).int())),
    "histogram": lambda T: T.histogram(T.ones(3), 2, out=(T.ones(2), T.ones(3))),
    "eigh": lambda T: T.linalg.eigh(T.eye(2), out=(T.ones(2), T.eye(2))),
    "lu": lambda T: T.linalg.lu(T.eye(2), out=(T.eye(2), T.eye(2), T.eye(2))),
}


@pytest.mark.parametrize("name", NAMED)
def test_names_of_results_that_stand_in_out(name):
    ours, theirs = NAMED[name](strided), NAMED[name](torch_ref)
    assert type(ours).__name__ == type(theirs).__name__ and repr(ours).split("(")[0] == repr(theirs).split("(")[0]
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is type(ours) is getattr(strided.return_types, type(ours).__name__)


def test_arange_in_integers_of_a_step_that_has_only_a_fraction():
    for T in (strided, torch_ref):
        with pytest.raises(ValueError, match="step must be nonzero"):
            T.arange(0, 2, 0.5, dtype=T.int64)
