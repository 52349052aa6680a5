"""strided.func and torch.overrides beside PyTorch: the same program in both libraries."""

import operator
import warnings

import numpy as np
import pytest
import strided

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", category=UserWarning)


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def numbers(result):
    if hasattr(result, "detach"):
        return [np.asarray(result.detach().numpy())]
    if isinstance(result, dict):
        return [x for key in sorted(result) for x in numbers(result[key])]
    return [x for part in result for x in numbers(part)]


def mlp(lib, p, x):
    return lib.tanh(p["w"] @ x + p["b"]).square().sum() + p["b"].sin().prod()


PROGRAMS = {
    "per sample": lambda lib, f, w, b, x: f.vmap(f.grad(lambda p, x: mlp(lib, p, x)), in_dims=(None, 0))(
        {"w": w, "b": b}, x
    ),
    "jacrev": lambda lib, f, w, b, x: f.jacrev(lambda w, b: (w @ x[0] + b) ** 2, argnums=(0, 1))(w, b),
    "jacfwd": lambda lib, f, w, b, x: f.jacfwd(lambda w, b: {"y": (w @ x[0] + b) ** 2}, argnums=(1, 0))(w, b),
    "hessian": lambda lib, f, w, b, x: f.hessian(lambda p: mlp(lib, p, x[0]))({"w": w, "b": b}),
    "hessians": lambda lib, f, w, b, x: f.vmap(f.hessian(lambda x: (x.sum() * x.cos()).exp().sum()))(x),
    "vjp": lambda lib, f, w, b, x: f.vjp(lambda w, x: lib.softmax(x @ w.T, -1), w, x)[1](x @ w.T),
    "vjp of a batch": lambda lib, f, w, b, x: f.vmap(f.vjp(lib.sin, w)[1])(lib.stack([w, 2 * w])),
    "jvp": lambda lib, f, w, b, x: f.jvp(lambda w, b: (w.exp() * b[:, None], b.cos()), (w, b), (w * 2, b + 1)),
    "jvp that writes": lambda lib, f, w, b, x: (
        w0 := w * 1,
        f.jvp(lambda w: w.mul_(b[:, None]).exp_() * 2, (w0,), (w,)),
    ),
    "jvp that writes to a batch": lambda lib, f, w, b, x: f.vmap(
        lambda x, t: f.jvp(lambda x: x.mul_(2).sin(), (x,), (t,))
    )(x * 1, x.cos()),
    "jvp of a batch": lambda lib, f, w, b, x: f.vmap(lambda t: f.jvp(lib.sin, (x,), (t,)))(lib.stack([x, 2 * x])),
    "jvp of a function with a branch": lambda lib, f, w, b, x: f.vmap(
        lambda t: f.jvp(lambda x: x.sin() if x.sum() > 0 else x[x < 0.5], (b,), (t,))
    )(w.T),
    "hessian of a function with a number": lambda lib, f, w, b, x: f.hessian(lambda b: (b**3).sum() * b.max().item())(
        b
    ),
    "linearize": lambda lib, f, w, b, x: f.linearize(lib.tanh, x)[1](x * 2),
    "value": lambda lib, f, w, b, x: f.grad_and_value(lambda p: (mlp(lib, p, x[0]), p["b"]), has_aux=True)(
        {"w": w, "b": b}
    ),
    "nested vmap": lambda lib, f, w, b, x: f.vmap(f.vmap(lib.dot, in_dims=(None, 0)), in_dims=(0, None))(x, x * 2),
    "axes": lambda lib, f, w, b, x: f.vmap(lambda a, c: (a * c, a.cumsum(0)), in_dims=(1, None), out_dims=(1, -1))(
        x, lib.ones_like(x[:, 0])
    ),
    "indices": lambda lib, f, w, b, x: f.vmap(lambda a, i: (a[i], a.index_select(0, i)))(
        x, lib.tensor([[0, 1], [2, 0], [1, 1], [0, 0]])
    ),
    "third": lambda lib, f, w, b, x: f.grad(f.grad(f.grad(lambda t: (t**5).sin())))(b[0]),
    "laplacian": lambda lib, f, w, b, x: f.vmap(lambda r: f.jacfwd(f.jacrev(lambda r: (r**4).sum()))(r).trace())(x),
    "ensemble": lambda lib, f, w, b, x: f.vmap(lambda w, x: x @ w.T, in_dims=(0, None))(lib.stack([w, w * 2]), x),
    "solve": lambda lib, f, w, b, x: f.vmap(lib.linalg.solve, in_dims=(None, 0))(
        x[:3] @ x[:3].T + 3 * lib.eye(3, dtype=x.dtype), x
    ),
    "einsum": lambda lib, f, w, b, x: f.vmap(lambda a: lib.einsum("i,ji->j", a, w))(x),
    "eigenvalues": lambda lib, f, w, b, x: f.vmap(lambda a: lib.linalg.eigvalsh(lib.outer(a, a)))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transforms(name):
    found = []
    for lib, func in ((strided, strided.func), (torch, __import__("torch.func").func)):
        given = [lib.tensor(data(*shape, seed=i)) for i, shape in enumerate([(2, 3), (2,), (4, 3)])]
        found.append(numbers(PROGRAMS[name](lib, func, *given)))
    assert len(found[0]) == len(found[1])
    for a, b in zip(*found):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


CALLS = {
    **{
        f"{op} {kind}": (
            lambda x, y, f=getattr(operator, op), k=kind: f(*{"ss": (x, x), "sy": (x, y), "3s": (3, x)}[k])
        )
        for op in "add sub mul truediv floordiv mod pow lt le gt ge ne".split()
        for kind in ("ss", "sy", "3s")
        if (op, kind) != ("truediv", "3s")
    },
    "neg": lambda x, y: -x,
    "bool": lambda x, y: bool(x[0, 0]),
    "len": lambda x, y: len(x),
    "getitem": lambda x, y: x[0],
    "setitem": lambda x, y: x.__setitem__(0, 1),
    "contains": lambda x, y: 1.0 in x,
    "shape": lambda x, y: x.shape,
    "real": lambda x, y: x.real,
    "grad": lambda x, y: x.grad,
    "stack": lambda x, y: "torch.stack".split(".")[0] and type(x).mean(x),
    "to": lambda x, y: x.double(),
    "matmul": lambda x, y: y @ x,
    "iadd": lambda x, y: operator.iadd(y, x),
    "hash": lambda x, y: hash(x),
    "size": lambda x, y: x.size(0),
    "numpy": lambda x, y: x.numpy(),
    "requires_grad_": lambda x, y: x.requires_grad_(),
    "requires_grad": lambda x, y: setattr(x, "requires_grad", True),
}


@pytest.mark.parametrize("name", CALLS)
def test_which_function_is_handed_over(name):
    found = []
    for lib in (strided, torch):
        seen = []

        class Logged(lib.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None, seen=seen, lib=lib):
                names = __import__(f"{lib.__name__}.overrides").overrides.resolve_name
                seen.append((names(func), len(args), [t.__name__ for t in types if t is not lib.Tensor]))
                return super().__torch_function__(func, types, args, kwargs)

        result = CALLS[name](lib.ones(2, 2).as_subclass(Logged), lib.ones(2, 2))
        found.append((seen, type(result).__name__))
    assert found[0] == found[1]


def filled(lib):
    y = lib.zeros(2, 3)
    lib.vmap(lambda row, value: row.fill_(value))(y, lib.arange(2.0))
    return y


def of_dtypes(lib, *args):
    """The dtype that each sample of vectors and 64-bit numbers is said to have."""
    return lib.vmap(lambda *samples: lib.empty((), dtype=lib.result_type(*samples)))(*args)


BAGS = lambda lib: lib.tensor([[0, 1, 2, 2, 1], [3, 0, 0, 1, 2]])  # noqa: E731
ROWS = lambda lib: lib.arange(8.0).reshape(4, 2)  # noqa: E731


def bags(lib, mode, **options):
    function = lib.nn.functional.embedding_bag
    return lib.vmap(lambda i: function(i, ROWS(lib), lib.tensor([0, 2]), mode=mode, **options))(BAGS(lib))


def labels(lib, reduction):
    scores = lib.sin(lib.arange(120.0)).reshape(3, 5, 2, 4).log_softmax(-1)
    targets = lib.tensor([[[1, 2], [2, 3]], [[1, 1], [3, 1]], [[3, 2], [2, 1]]])
    steps, lengths = lib.tensor([5, 4]), lib.tensor([2, 1])
    function = lib.nn.functional.ctc_loss
    made = lib.vmap(lambda s, t: function(s, t, steps, lengths, reduction=reduction))(scores, targets)
    return (made * 1000).round()


UNDER_VMAP = {
    "bags with padding": lambda lib: bags(lib, "mean", padding_idx=0),
    "sums of bags with padding": lambda lib: bags(lib, "sum", padding_idx=1),
    "maxima of bags with padding": lambda lib: bags(lib, "max", padding_idx=2),
    "bags of a matrix": lambda lib: lib.vmap(
        lambda i: lib.nn.functional.embedding_bag(i, ROWS(lib), padding_idx=1)
    )(BAGS(lib)[:, None]),
    "labels": lambda lib: labels(lib, "none"),
    "mean over labels": lambda lib: labels(lib, "mean"),
    "new_empty_strided": lambda lib: lib.vmap(
        lambda x: x.new_empty_strided((2, 3), (1, 4)).zero_() + x.sum()
    )(lib.ones(2, 4)),
    "dropout of what does not vary": lambda lib: lib.vmap(
        lambda x: lib.nn.functional.dropout(lib.ones(6)) + 0 * x, randomness="different"
    )(lib.ones(3, 1)),
    "alpha_dropout of what does not vary": lambda lib: lib.vmap(
        lambda x: lib.nn.functional.alpha_dropout(lib.ones(6), 0.5, True) + 0 * x, randomness="different"
    )(lib.ones(3, 1)),
    "one dropout for all": lambda lib: lib.vmap(
        lambda x: lib.nn.functional.dropout(lib.ones(6)) + 0 * x, randomness="same"
    )(lib.ones(3, 1)),
    "fill_": filled,
    "two numbers": lambda lib: of_dtypes(lib, lib.ones(3), lib.ones(3).double()),
    "a number, and one that does not vary": lambda lib: lib.vmap(
        lambda x: lib.empty((), dtype=lib.result_type(x, lib.tensor(1.0, dtype=lib.float64)))
    )(lib.ones(3)),
    "a vector and a number": lambda lib: of_dtypes(lib, lib.ones(3, 2), lib.ones(3).double()),
    "mm of vectors": lambda lib: lib.vmap(lib.mm)(lib.ones(2, 3), lib.ones(2, 3)),
    "bmm of matrices": lambda lib: lib.vmap(lib.bmm)(lib.ones(2, 3, 3), lib.ones(2, 3, 3)),
    "mv of a batch": lambda lib: lib.vmap(lib.mv)(lib.ones(2, 3, 3, 3), lib.ones(2, 3)),
    "dot of matrices": lambda lib: lib.vmap(lib.dot)(lib.ones(2, 3, 3), lib.ones(2, 3, 3)),
    "mm": lambda lib: lib.vmap(lib.mm)(lib.ones(2, 3, 4), lib.ones(2, 4, 3)),
    "in_dims in a list": lambda lib: lib.vmap(lib.sin, in_dims=[0])(lib.ones(2)),
    "in_dims of None": lambda lib: lib.vmap(lib.sin, in_dims=(None,))(lib.ones(2)),
    "out_dims of texts": lambda lib: lib.vmap(lib.sin, out_dims=("x",))(lib.ones(2)),
    "the same draw from a batch": lambda lib: lib.vmap(lib.bernoulli, randomness="same")(lib.ones(2, 3)),
    "multinomial of a matrix for each": lambda lib: lib.vmap(
        lambda p: lib.multinomial(p, 4, True, generator=lib.Generator().manual_seed(3)), randomness="different"
    )(lib.arange(1.0, 25.0).reshape(2, 3, 4)),
    "multinomial of a matrix that does not vary": lambda lib: lib.vmap(
        lambda x: lib.multinomial(lib.ones(3, 4), 4, True) + 0 * x.long(), randomness="different"
    )(lib.ones(2, 1)),
    "draws into what does not vary": lambda lib: lib.vmap(
        lambda p: lib.ones(2).bernoulli_(p), randomness="different"
    )(lib.ones(2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDER_VMAP)
def test_under_vmap(name):
    found = []
    for lib in (strided, torch):
        lib.manual_seed(0)
        try:
            result = UNDER_VMAP[name](lib)
            found.append((str(result.dtype).rpartition(".")[2], result.tolist() if "number" not in name else None))
        except (RuntimeError, ValueError, TypeError) as error:
            found.append(type(error).__name__)
    assert found[0] == found[1]


REFUSED = {
    "grad of a complex value": lambda f, x: f.grad(lambda x: x.sum() + 0j)(x),
    "vjp of integers": lambda f, x: f.vjp(lambda x: x.int(), x),
    "vjp of nothing": lambda f, x: f.vjp(lambda x: [], x),
    "jvp of nothing": lambda f, x: f.jvp(lambda x: (), (x,), (x,)),
    "jacrev of integers": lambda f, x: f.jacrev(lambda x: x.int())(x),
    "jacrev of complex values": lambda f, x: f.jacrev(lambda x: x + 0j)(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused(name):
    def error(t):
        with pytest.raises(RuntimeError) as caught:
            REFUSED[name](t.func, t.ones(3))
        return str(caught.value)

    assert error(strided) == error(torch)


def test_names_that_two_dicts_have():
    for t in (strided, torch):
        weight = {"weight": t.ones(2, 2)}
        with pytest.raises(ValueError, match=r"^\['weight'\] appeared in multiple dictionaries"):
            t.func.functional_call(t.nn.Linear(2, 2), [weight, weight], t.ones(2))


def test_tensors_of_a_vmap_print_their_levels():
    def texts(lib):
        seen = []
        f = lambda x: seen.append(str(x)) or x
        x = lib.arange(4.0).view(2, 2)
        lib.vmap(f)(x), lib.vmap(lib.vmap(f))(x), lib.vmap(f)(lib.arange(2)), lib.vmap(lambda x: lib.vmap(f)(x * x))(x)
        return seen

    assert texts(strided) == texts(torch)
