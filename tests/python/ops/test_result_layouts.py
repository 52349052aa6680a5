"""Strides of results that are laid out like a tensor (PyTorch's preserve_format), and which results share memory."""

import pytest
import strided as torch

X = torch.arange(24.0).reshape(2, 3, 4)

# name: (view, strides of a tensor like it). The numbers are PyTorch's.
VIEWS = {
    "contiguous": (X, (12, 4, 1)),
    "permuted": (X.permute(2, 0, 1), (1, 12, 4)),
    "permuted with gaps": (X.permute(2, 0, 1)[::2], (1, 6, 2)),
    "gaps": (X[:, ::2], (8, 4, 1)),
    "rows repeated": (torch.ones(1, 3).expand(2, 3), (3, 1)),
    "columns repeated": (torch.ones(3, 1).expand(3, 2), (2, 1)),
    "repeated between": (torch.ones(2, 1, 3).expand(2, 4, 3), (12, 3, 1)),
    "repeated, transposed": (torch.ones(1, 3).expand(2, 3).t(), (2, 1)),
    "repeated, permuted": (torch.ones(2, 3, 1).expand(2, 3, 4).permute(1, 0, 2), (4, 12, 1)),
    "permuted, repeated": (torch.ones(2, 3, 1).permute(1, 0, 2).expand(3, 2, 4), (4, 12, 1)),
    "one number": (torch.ones(()).expand(2, 3), (3, 1)),
    "one number, 0-d": (torch.ones(()), ()),
    "size 1": (X[:, :1].permute(1, 2, 0), (4, 1, 4)),
    "one row": (X.permute(2, 0, 1)[:1], (1, 3, 1)),
    "overlapping": (torch.as_strided(X, (2, 2), (1, 1)), (2, 1)),
    "overlapping, not in step": (torch.as_strided(X, (2, 3), (1, 3)), (1, 2)),
    "empty": (torch.ones(0, 3).t(), (1, 3)),
}
LIKE = {
    "clone": lambda x: x.clone(),
    "to": lambda x: x.to(torch.float64),
    "empty_like": torch.empty_like,
    "zeros_like": torch.zeros_like,
    "full_like": lambda x: torch.full_like(x, 2),
    "rand_like": torch.rand_like,
    "fill": lambda x: torch.fill(x, 2),
}


@pytest.mark.parametrize("function", LIKE)
@pytest.mark.parametrize("name", VIEWS)
def test_like(name, function):
    view, strides = VIEWS[name]
    y = LIKE[function](view)
    assert y.stride() == strides
    if function == "clone":
        assert y.tolist() == view.tolist()


@pytest.mark.parametrize("name", [name for name, (view, _) in VIEWS.items() if view.numel()])
def test_elementwise_results_are_laid_out_the_same(name):
    view, strides = VIEWS[name]
    assert (view + 1).stride() == strides


def test_negative_strides_give_contiguous_results():
    assert X[:, ::-1].clone().stride() == (12, 4, 1)


# ---------------------------------------------------------------- which results are views


EQUATIONS = {
    "ij->ji": True,
    "ij->ij": True,
    "ii->i": True,
    "...->...": True,
    "ij->i": False,
    "ij->": False,
    "ii->": False,
    "i,j->ij": False,
    "ij,jk->ik": False,
    "ij,ij->ji": False,
    "ij,ij->": False,
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_results_are_views_of_operands_or_of_nothing(equation, requires_grad):
    terms = equation.partition("->")[0].split(",")
    operands = [torch.ones((2,) * (2 if "." in t else len(t)), requires_grad=requires_grad) for t in terms]
    y = torch.einsum(equation, *operands)
    if EQUATIONS[equation]:
        assert y._base is operands[0] and y.data_ptr() == operands[0].data_ptr()
    else:
        assert y._base is None and all(y.data_ptr() != x.data_ptr() for x in operands)
    if requires_grad and not EQUATIONS[equation]:
        y.mul_(2).sum().backward()  # of a view its base would be written to
        assert operands[0].grad.shape == operands[0].shape


def test_sum_to_size():
    x = torch.ones(2, 3)
    assert x.sum_to_size(2, 3) is x and x.sum_to_size((2, 3)) is x
    for size in ((1, 3), (2, 1), (1, 1)):
        y = x.sum_to_size(size)
        assert y.shape == size and y._base is None
    assert x.sum_to_size(3).tolist() == [2, 2, 2] and x.sum_to_size(()).item() == 6
    x.requires_grad_()
    x.sum_to_size(3)[1].backward()
    assert x.grad.tolist() == [[0, 1, 0], [0, 1, 0]]


# ---------------------------------------------------------------- as_strided_scatter: positions count in the storage

BASE = torch.arange(24.0).reshape(4, 6)
SCATTERED = {
    "behind the start": (BASE[1:, 2:], 9, [[8, 100, 10, 100], [100, 15, 100, 17], [20, 21, 22, 23]]),
    "before the start": (BASE[1:, 2:], 1, [[100, 9, 10, 11], [14, 15, 16, 17], [20, 21, 22, 23]]),
    "across the start": (BASE[1:, 2:], 3, [[100, 9, 100, 11], [14, 15, 16, 17], [20, 21, 22, 23]]),
    "behind the end": (BASE[:2, :2], 6, [[0, 1], [100, 7]]),
    "expanded": (torch.arange(6.0).expand(2, 6), 1, [[0, 100, 2, 100, 4, 5], [100, 1, 100, 3, 4, 5]]),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_as_strided_scatter(name):
    view, start, expected = SCATTERED[name]
    x, src = view.detach().requires_grad_(), torch.full((2, 2), 100.0, requires_grad=True)
    y = torch.as_strided_scatter(x, src, (2, 2), (5, 2), start)
    assert y.tolist() == expected
    y.sum().backward()
    written = torch.tensor(expected) == 100
    assert x.grad.tolist() == (~written).float().tolist()
    assert src.grad.sum() == written.sum()
