"""Gradients of the functions that take an index, with every index that may occur: each position once, some repeated,
some counted from the end, none. Finite differences know nothing of how a function treats them."""

import itertools
import re

import pytest
import strided as torch
from strided.autograd import gradcheck, gradgradcheck

DOUBLE = torch.float64
SHAPE = (3, 4)
DIM = 1

INDICES = {
    "once": [2, 0, 3],
    "repeated": [2, 0, 2, 2],
    "from the end": [-1, 0, -3],
    "repeated from the end": [2, -2, 0, 2],
    "all": [3, 2, 1, 0],
    "none": [],
}
FROM_THE_END = [key for key in INDICES if "end" in key]
REPEATED = [key for key in INDICES if "repeated" in key]

# name: (function of x, index and source, shape of the source for n indices (None: there is no source), properties).
# wraps: takes negative indices. overwrites: of several values for one position one is kept; which one is not promised,
# and as in PyTorch the gradient is that of all of them, so an index must not repeat a position.


def repeated_rows(index):
    """The index of a function that wants one for each element: the same in every row."""
    return index.expand(SHAPE[0], -1)


def assigned(x, where, value):
    x = x.clone()
    x[where] = value
    return x


def reduced(name, kind, include_self):
    if name == "index_reduce":
        return lambda x, i, y: x.index_reduce(DIM, i, y, kind, include_self=include_self)
    return lambda x, i, y: x.scatter_reduce(DIM, repeated_rows(i), y, kind, include_self=include_self)


def ROWS(n):
    return (SHAPE[0], n)


def VECTOR(n):
    return (n,)


def NUMBER(n):
    return ()


FUNCTIONS = {
    "index_select": (lambda x, i: x.index_select(DIM, i), None, ""),
    "gather": (lambda x, i: x.gather(DIM, repeated_rows(i)), None, ""),
    "take_along_dim": (lambda x, i: torch.take_along_dim(x, repeated_rows(i), DIM), None, ""),
    "take": (lambda x, i: x.take(i), None, "wraps"),
    "x[:, i]": (lambda x, i: x[:, i], None, "wraps"),
    "x[i, i]": (lambda x, i: x[:, :3][i % 3, i % 3], None, ""),
    "index_add": (lambda x, i, y: x.index_add(DIM, i, y, alpha=3), ROWS, ""),
    "scatter_add": (lambda x, i, y: x.scatter_add(DIM, repeated_rows(i), y), ROWS, ""),
    "scatter add": (lambda x, i, y: x.scatter(DIM, repeated_rows(i), y, reduce="add"), ROWS, ""),
    "scatter multiply": (lambda x, i, y: x.scatter(DIM, repeated_rows(i), y, reduce="multiply"), ROWS, ""),
    "scatter value": (lambda x, i: x.scatter(DIM, repeated_rows(i), 2.0), None, ""),
    "index_fill": (lambda x, i, y: x.index_fill(DIM, i, y), NUMBER, "wraps"),
    "index_fill number": (lambda x, i: x.index_fill(DIM, i, 2.0), None, "wraps"),
    "put accumulate": (lambda x, i, y: x.put(i, y, accumulate=True), VECTOR, "wraps"),
    "index_put accumulate": (lambda x, i, y: x.index_put((None, i), y, accumulate=True), ROWS, "wraps"),
    "index_put accumulate number": (lambda x, i, y: x.index_put((None, i), y, accumulate=True), NUMBER, "wraps"),
    "x[:, i] = number": (lambda x, i: assigned(x, (slice(None), i), 2.0), None, "wraps"),
    **{
        f"{name} {kind}{'' if include_self else ' not self'}": (reduced(name, kind, include_self), ROWS, "")
        for name, kinds in (("index_reduce", ("prod", "mean", "amax", "amin")),
                            ("scatter_reduce", ("sum", "prod", "mean", "amax", "amin")))
        for kind in kinds
        for include_self in (True, False)
    },
    "index_copy": (lambda x, i, y: x.index_copy(DIM, i, y), ROWS, "overwrites"),
    "scatter": (lambda x, i, y: x.scatter(DIM, repeated_rows(i), y), ROWS, "overwrites"),
    "put": (lambda x, i, y: x.put(i, y), VECTOR, "wraps overwrites"),
    "index_put": (lambda x, i, y: x.index_put((None, i), y), ROWS, "wraps overwrites"),
    "x[:, i] =": (lambda x, i, y: assigned(x, (slice(None), i), y), ROWS, "wraps overwrites"),
}  # fmt: skip

CASES = [
    pytest.param(name, key, id=f"{name}-{key}")
    for name, key in itertools.product(FUNCTIONS, INDICES)
    if (key not in FROM_THE_END or "wraps" in FUNCTIONS[name][2])
    and (key not in REPEATED or "overwrites" not in FUNCTIONS[name][2])
]

LAYOUTS = {
    "contiguous": lambda x: x.clone(),
    "transposed": lambda x: x.t().clone().t(),
    "with gaps": lambda x: torch.stack([x, x], -1)[..., 0],
    "from the end": lambda x: x.flip(0, 1)[::-1, ::-1],
}


def operands(name, key):
    """(function, index, arguments): no two elements of the arguments are equal, for amax and amin."""
    function, source, _ = FUNCTIONS[name]
    shapes = [SHAPE] if source is None else [SHAPE, source(len(INDICES[key]))]
    sizes = [torch.Size(shape).numel() for shape in shapes]
    values = (torch.randperm(sum(sizes)).to(DOUBLE) - sum(sizes) / 2 + 0.25) / 4
    arguments = [part.reshape(shape) for part, shape in zip(values.split(sizes), shapes)]
    return function, torch.tensor(INDICES[key], dtype=torch.int64), arguments


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name, key", CASES)
def test_against_differences(name, key, layout):
    function, index, arguments = operands(name, key)
    leaves = [LAYOUTS[layout](x).detach() if x.ndim == 2 else x.detach() for x in arguments]
    leaves = [x.requires_grad_() for x in leaves]
    assert gradcheck(lambda *a: function(a[0], index, *a[1:]), leaves)
    if layout == "contiguous":
        assert gradgradcheck(lambda *a: function(a[0], index, *a[1:]), leaves)


def test_every_function_with_an_index_is_here():
    takes_index = re.compile(r"\bTensors? (index|indices)\b")
    named = {
        name.rpartition(".")[2].rstrip("_")
        for name, function in torch._C.functions.items()
        if any(takes_index.search(signature) for signature in function.signatures)
    }
    assert len(named) > 10
    without_gradient = {"unravel_index"}
    assert named - without_gradient - {name.split()[0] for name in FUNCTIONS} == set()
