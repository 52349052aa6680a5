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
    "as_strided", "as_strided_", "as_strided_scatter", "combinations", "fill_diagonal_", "index_reduce_",
    "masked_scatter", "masked_scatter_", "pdist", "quantile", "repeat_interleave", "tensorinv", "tensorsolve",
    "vander",
}  # fmt: skip
DEPENDS_ON_VALUES = {"masked_select", "mvlgamma", "mvlgamma_", "lobpcg", "svd_lowrank", "pca_lowrank"}
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
