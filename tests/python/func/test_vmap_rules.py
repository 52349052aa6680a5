"""Every batching rule against a loop over the samples: one test, driven by tables of calls."""

import re

import pytest
import strided as torch
from gradient_cases import CASES
from strided import _C
from strided.func import vmap

N = 2


def leaves(result):
    return [result] if isinstance(result, torch.Tensor) else [t for part in result for t in leaves(part)]


def assert_same(found, expected):
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        same = (
            torch.isclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True)
            if a.dtype.is_floating_point or a.dtype.is_complex
            else a == b
        )
        assert same.all(), (a, b)


def variants(n):
    """Which arguments vary, and where their batch axis stands: front, end, only some."""
    yield [-(k % 2) for k in range(n)]
    yield [-1] * n
    if n > 1:
        for i in range(n):
            yield [0 if k == i else None for k in range(n)]


def check(function, make):
    """`make(i)` gives the i-th sample's tensors."""
    samples = [make(i) for i in range(N)]
    for dims in variants(len(samples[0])):
        given = [column[0] if d is None else torch.stack(list(column), d) for d, column in zip(dims, zip(*samples))]
        rows = [
            function(*[column[0] if d is None else column[i] for d, column in zip(dims, zip(*samples))])
            for i in range(N)
        ]
        try:
            found = vmap(function, in_dims=tuple(dims))(*given)
        except RuntimeError as error:
            # A write to what is one for all samples: PyTorch refuses it too.
            if any(d is None for d in dims) and "inplace arithmetic is not possible" in str(error):
                continue
            raise
        columns = [torch.stack(list(c)) for c in zip(*map(leaves, rows))]
        assert_same(found, columns)


# ---------------------------------------------------------------- the op table


def operand(op, i, shape):
    torch.manual_seed(i)
    x = torch.rand(shape, dtype=torch.float64) * 0.8 + 0.1
    return x if "float64" in op["out_dtypes"] else (x * 7).to(torch.int64) + 1


@pytest.mark.parametrize("name", [op["name"] for op in _C.ops_table()])
def test_elementwise(name):
    op = next(o for o in _C.ops_table() if o["name"] == name)
    if "polygamma" in name:
        function = lambda x: _C.functions[name](x, 1)
    elif name == "threshold":
        function = lambda x: torch.threshold(x, 0.4, 7.0)
    else:
        function = _C.functions[name]
    n = op["arity"] - ("addc" in name)
    check(function, lambda i: [operand(op, 10 * i + k, (2, 4)) for k in range(n)])
    if n > 1:  # of other shapes, and numbers
        check(function, lambda i: [operand(op, 10 * i + k, ((), (2, 1), (1,))[k]) for k in range(n)])


# ---------------------------------------------------------------- differentiable functions, by their cases

# What has no rule, and says so; and what asks for numbers, or for memory, or has another shape for each sample.
NO_RULE = {
    "as_strided_", "as_strided_scatter", "fill_diagonal_", "quantile", "repeat_interleave", "vander",
}  # fmt: skip
DEPENDS_ON_VALUES = {"masked_select", "lobpcg", "svd_lowrank", "pca_lowrank"}
REFUSED = (
    "there is no batching rule for|has no batching rule|data-dependent|dynamic shape|item|random operation|inplace"
)


def words(name):
    return {word.removeprefix("0-d ") for word in name.split()}


@pytest.mark.parametrize("name", [n for n in CASES if words(n) & (NO_RULE | DEPENDS_ON_VALUES) and "of a" not in n])
def test_what_has_no_rule_says_so(name):
    function, *makers = CASES[name]
    makers = [m for m in makers if not isinstance(m, dict)]
    torch.manual_seed(0)
    given = [torch.stack([m(torch.float64), m(torch.float64)]) for m in makers]
    try:
        vmap(function)(*given)
    except RuntimeError as error:
        assert re.search(REFUSED, str(error)), error


# Indices of a number by a list, as if it were a row: PyTorch takes them, vmap here does not.
ROWS_OF_NUMBERS = {"0-d item mask", "0-d scatter into a row", "0-d scatter_reduce_", "0-d index_fill",
                   "0-d index_fill_", "0-d index_put", "0-d index_put_", "0-d index_reduce"}  # fmt: skip


@pytest.mark.parametrize(
    "name", [n for n in CASES if not words(n) & (NO_RULE | DEPENDS_ON_VALUES) and n not in ROWS_OF_NUMBERS]
)
def test_functions(name):
    function, *makers = CASES[name]
    options = makers.pop() if isinstance(makers[-1], dict) else {}
    dtype = torch.complex128 if options.get("kinds") == "c" else torch.float64

    def make(i):
        torch.manual_seed(i)
        return [m(dtype) for m in makers]

    check(function, make)


def reals(*shape):
    return lambda: torch.rand(shape, dtype=torch.float64) * 0.8 + 0.1


def whole(high, *shape):
    return lambda: torch.randint(high, shape)


def permuted(n):
    return lambda: torch.randperm(n)


F = torch.nn.functional
OTHERS = {
    "binary_cross_entropy": (F.binary_cross_entropy, reals(3, 2), reals(3, 2)),
    "binary_cross_entropy, weights": (
        lambda x, y, w: F.binary_cross_entropy(x, y, w, reduction="none"), reals(3), reals(3), reals(3)),
    "gaussian_nll_loss": (F.gaussian_nll_loss, reals(3), reals(3), reals(3)),
    "one_hot": (lambda i: F.one_hot(i, 4), whole(4, 3)),
    "multi_margin_loss": (F.multi_margin_loss, reals(3, 4), whole(4, 3)),
    "multilabel_margin_loss": (F.multilabel_margin_loss, reals(3, 4), lambda: whole(5, 3, 4)() - 1),
    "max_unpool1d": (lambda x, i: F.max_unpool1d(x, i, 2), reals(1, 1, 3), lambda: permuted(3)().view(1, 1, 3) * 2),
    "max_unpool2d": (lambda x, i: F.max_unpool2d(x, i, 2), reals(1, 2, 2), lambda: permuted(4)().view(1, 2, 2)),
    "mvlgamma": (lambda x: torch.mvlgamma(x + 1, 2), reals(3, 2)),
    "prelu of a number": (F.prelu, reals(), reals(1)),
    "isin": (torch.isin, whole(5, 3, 2), whole(5, 2)),
    "isin, inverted": (lambda x, y: torch.isin(x, y, invert=True), whole(5, 3), whole(5, 2)),
    "to another": (lambda x, y: x.to(y), reals(3), whole(5, 2)),
    "type_as": (lambda x, y: x.type_as(y), reals(3), whole(5, 2)),
    "searchsorted, sorter": (
        lambda x, v: torch.searchsorted(x, v, sorter=x.argsort()), reals(5), reals(3)),
    "searchsorted of a number": (lambda x: torch.searchsorted(x.sort().values, 0.5), reals(5)),
    "linspace": (lambda a, b: torch.linspace(a, b, 7, dtype=torch.float64), reals(), reals()),
    "linspace of one": (lambda a, b: torch.linspace(a, b, 1, dtype=torch.float64), reals(), reals()),
    "logspace": (lambda a, b: torch.logspace(a, b, 5, base=3.0, dtype=torch.float64), reals(), reals()),
    "unravel_index": (lambda i: torch.unravel_index(i, (2, 3, 4)), whole(24, 5)),
    "cov of integers": (lambda x, w: torch.cov(x, aweights=w), whole(9, 2, 4), reals(4)),
    "cov, counted": (lambda x, n: torch.cov(x, fweights=n + 1), reals(2, 4), whole(3, 4)),
    "repeat_interleave": (lambda x: torch.repeat_interleave(x, torch.tensor([2, 0, 1]), 1), reals(2, 3)),
    "combinations": (lambda x: torch.combinations(x, 2, True), reals(4)),
    "masked_scatter": (torch.masked_scatter, reals(2, 3), lambda: reals(3)() > 0.5, reals(2, 3)),
    "pdist": (lambda x: F.pdist(x, 1.5), reals(4, 3)),
    "tensorinv": (lambda x: torch.linalg.tensorinv(x, 1), reals(6, 2, 3)),
    "tensorsolve": (torch.linalg.tensorsolve, reals(2, 3, 6), reals(2, 3)),
    **{
        f"index_reduce {how}": (
            lambda x, i, y, how=how: x.index_reduce(1, i, y, how, include_self=how != "mean"),
            reals(2, 4, 3), whole(4, 5), reals(2, 5, 3))
        for how in ("mean", "prod", "amin", "amax")
    },
    "index_reduce of a number": (lambda x, y: x.index_reduce(0, torch.tensor([0]), y, "amax"), reals(), reals()),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    function, *makers = OTHERS[name]

    def make(i):
        torch.manual_seed(i)
        return [m() for m in makers]

    check(function, make)


def test_values_are_checked_in_all_samples():
    x = torch.tensor([[0.5, 0.5], [0.5, 1.5]])
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        vmap(F.binary_cross_entropy)(x, x.clamp(max=1.0))
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        vmap(lambda i: F.one_hot(i, 2))(torch.tensor([[0], [2]]))
    with pytest.raises(RuntimeError, match="one_hot needs num_classes"):
        vmap(F.one_hot)(torch.tensor([[0], [2]]))


def test_as_strided():
    """Places in memory: the samples stand one after the other."""
    x = torch.arange(12.0).view(3, 4)
    for function in (lambda t: t.as_strided((2, 2), (1, 2)), lambda t: torch.as_strided_copy(t, (2, 2), (1, 1))):
        assert torch.equal(vmap(function)(x), torch.stack([function(row) for row in x.clone().unbind()]))
    assert torch.equal(vmap(lambda t: t.as_strided((2,), (2,), 1))(x), x[:, 1::2])
    jacobian = torch.func.jacfwd(lambda t: t.as_strided((2, 2), (1, 2)))(x[0].clone())
    assert torch.equal(jacobian, torch.eye(4)[[0, 2, 1, 3]].view(2, 2, 4))


@pytest.mark.parametrize(
    "name",
    "linalg.inv linalg.cholesky linalg.det linalg.eigh linalg.eigvals linalg.svd linalg.qr linalg.lu linalg.pinv "
    "linalg.slogdet linalg.matrix_rank linalg.matrix_norm linalg.ldl_factor pinverse matrix_exp geqrf "
    "adjoint logdet linalg.cond".split(),
)
def test_functions_of_matrices_refuse_samples_that_are_vectors(name):
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(RuntimeError, match="dimension"):  # the axis of the samples was taken for the rows
        torch.vmap(function)(torch.eye(3))


@pytest.mark.parametrize("name", ["linalg.solve", "linalg.lstsq", "cdist", "cholesky_solve"])
def test_functions_of_two_matrices_refuse_samples_that_are_vectors(name):
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(RuntimeError, match="dimension"):
        torch.vmap(function)(torch.eye(3), torch.eye(3))


def test_parameters_of_samples():
    def f(w):
        made = torch.nn.Parameter(w)
        assert isinstance(made, torch.nn.Parameter) and made.requires_grad and made.shape == (3,)
        return made * 2  # was empty

    assert torch.vmap(f)(torch.ones(2, 3)).tolist() == [[2, 2, 2], [2, 2, 2]]


def test_leaves_inside_of_functions_of_the_library():
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
    found = torch.vmap(torch.ops.aten.silu_backward)(torch.ones(2, 2), x)
    torch.testing.assert_close(found, torch.ops.aten.silu_backward(torch.ones(2, 2), x))


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.vmap(torch.vdot)(torch.ones(2, 1), torch.ones(2, 3)),
        lambda: torch.vmap(torch.trace)(torch.ones(2, 3, 4, 5)),
        lambda: torch.vmap(torch.diag)(torch.ones(2, 1, 1, 1)),
        lambda: torch.vmap(torch.cov)(torch.ones(2, 5, 5, 5)),
        lambda: torch.vmap(torch.fft.fft)(torch.ones(2)),
        lambda: torch.vmap(torch.fft.rfftn, in_dims=(0, None, None))(torch.ones(2), None, (0,)),
        lambda: torch.vmap(torch.unbind)(torch.ones(2)),
        lambda: torch.vmap(lambda x: x.narrow(0, 0, 1))(torch.ones(2)),
        lambda: torch.vmap(torch.flipud)(torch.ones(2)),
        lambda: torch.vmap(lambda x: torch.roll(x, 0, 0))(torch.ones(2)),
        lambda: torch.vmap(lambda x: torch.nn.functional.group_norm(x, 2))(torch.ones(2, 2, 7, 4)),
        lambda: torch.vmap(torch.nn.functional.prelu)(torch.ones(2), torch.ones(2, 2)),
        lambda: torch.vmap(torch.nn.functional.conv2d)(torch.ones(2, 1, 4, 4), torch.ones(2, 1, 1, 2, 2).double()),
        lambda: torch.vmap(torch.linalg.cross)(torch.ones(2, 5, 5, 3), torch.ones(2, 5, 3)),
    ],
)
def test_what_one_sample_may_not_have(call):
    with pytest.raises((RuntimeError, IndexError)):
        call()


NAMED = {
    "squeeze": lambda x: x.squeeze(dim=1) + torch.squeeze(x, dim=-2),
    "permute": lambda x: x.permute(dims=(2, 0, 1)) + torch.permute(input=x, dims=(2, 0, 1)),
    "repeat": lambda x: x.repeat(repeats=(1, 2, 1)),
    "tile": lambda x: x.tile(dims=(2,)) + torch.tile(x, dims=(1, 1, 2)),
    "hsplit": lambda x: [*torch.hsplit(x[:, 0], indices=[1]), *x[:, 0].hsplit(sections=2)],
    "isin": lambda x: torch.isin(element=3, test_elements=x),
    "addmv": lambda x: torch.addmv(input=x[:, 0, 0], mat=x[:, 0], vec=x[0, 0], alpha=2),
    "layer_norm": lambda x: torch.layer_norm(x, (4,), cudnn_enable=False),
    "group_norm": lambda x: torch.group_norm(x.transpose(0, 1), 3, cudnn_enabled=False),
    "tensorsolve": lambda x: torch.linalg.tensorsolve(input=torch.eye(4), other=x[0, 0]),
}


@pytest.mark.parametrize("name", NAMED)
def test_arguments_may_be_named(name):
    check(NAMED[name], lambda i: [torch.arange(12.0).view(3, 1, 4) * (i + 1)])


def test_views_and_what_cannot_be_one():
    x = torch.arange(1.0, 31).view(3, 2, 5)
    for function in (torch.squeeze, lambda t: t.squeeze(0), lambda t: t.view_as(torch.ones(5, 2))):
        assert torch.vmap(function)(x)._base is x._base
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        torch.vmap(torch.Tensor.view_as, in_dims=(1, 0))(torch.ones(2, 3, 5), torch.ones(3, 10))
    assert torch.vmap(torch.Tensor.reshape_as, in_dims=(1, 0))(torch.ones(2, 3, 5), torch.ones(3, 10)).shape == (3, 10)


SOLVERS = {
    "lu_solve": lambda A, B: (torch.linalg.lu_solve, (*torch.linalg.lu_factor(A), B)),
    "lu_solve of before": lambda A, B: (lambda B, *f: torch.lu_solve(B, *f), (B, *torch.linalg.lu_factor(A))),
    "ldl_solve": lambda A, B: (torch.linalg.ldl_solve, (*torch.linalg.ldl_factor(A + A.mT), B)),
    "lstsq": lambda A, B: (lambda A, B: torch.linalg.lstsq(A, B).solution, (A, B)),
    "solve": lambda A, B: (torch.linalg.solve, (A, B)),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("one", [None, 0, -1])
@pytest.mark.parametrize(
    ("batch", "right"), [((), ()), ((2,), (2,)), ((), (2,)), ((2,), ()), ((5, 2), (2,)), ((2,), (5, 2)), ((), (5, 2))]
)
def test_batches_of_matrices_and_right_hand_sides_broadcast(name, one, batch, right):
    """The number of samples is that of an axis of a batch, too: which is which may not depend on sizes."""
    torch.manual_seed(0)
    A = torch.rand(2, *batch, 4, 4, dtype=torch.float64) + 3 * torch.eye(4, dtype=torch.float64)
    function, given = SOLVERS[name](A, torch.rand(2, *right, 4, 3, dtype=torch.float64))
    dims = [0] * len(given)
    if one is not None:
        dims[one] = None
    given = [t if d == 0 else t[0] for t, d in zip(given, dims)]
    made = torch.vmap(function, in_dims=tuple(dims))(*given)
    each = [function(*(t[i] if d == 0 else t for t, d in zip(given, dims))) for i in range(2)]
    torch.testing.assert_close(made, torch.stack(each))


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_bounds_of_rows_get_no_gradient(name):
    def total(start, end):
        return getattr(torch, name)(start, end, 5).cos().sum()

    ends = torch.tensor([0.3, 0.5]), torch.tensor([1.0, 2.0])
    for made in (vmap(torch.func.grad(total, (0, 1)))(*ends), torch.func.grad(total, (0, 1))(*(t[0] for t in ends))):
        assert all(not t.any() for t in made)


@pytest.mark.parametrize("index", [[0, 0, 1, 2, 2], [0, 1, 2, 3], [1, 1, 1, 1], []])
@pytest.mark.parametrize("dims", [(0, None, None), (0, None, 0), (None, None, 0), (0, 0, 0), (None, 0, None)])
def test_gradients_of_index_fill_with_an_index_twice(index, dims):
    def total(x, index, value):
        return x.index_fill(-1, index, value).cos().sum()

    index = torch.tensor([index, index[::-1]], dtype=torch.int64)
    given = torch.arange(40.0).reshape(2, 4, 5), index, torch.tensor([1.5, 2.0])
    given = [t if d == 0 else t[0] for t, d in zip(given, dims)]
    made = vmap(torch.func.grad(total, (0, 2)), in_dims=dims)(*given)
    for i in range(2):
        alone = torch.func.grad(total, (0, 2))(*(t[i] if d == 0 else t for t, d in zip(given, dims)))
        torch.testing.assert_close([m[i] for m in made], list(alone))


def test_index_fill_counts_from_the_end():
    x = torch.arange(6.0).reshape(2, 3)
    filled = vmap(lambda row: row.index_fill(0, torch.tensor([-1]), 9.0))(x)
    assert filled.tolist() == [[0.0, 1.0, 9.0], [3.0, 4.0, 9.0]]
