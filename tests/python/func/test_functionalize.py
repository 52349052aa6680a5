"""func.functionalize: results, writes into arguments, other transforms around it."""

import pytest
import strided as torch
from strided.func import functionalize, grad, vmap


def f(x):
    y = x.clone()
    y.mul_(x)
    y[0] += 1
    return y.sum()


def test_results_and_transforms():
    x = torch.tensor([2.0, 3.0])
    assert functionalize(f)(x).item() == 14
    assert grad(functionalize(f, remove="mutations_and_views"))(x).tolist() == [4, 6]
    assert vmap(functionalize(f))(torch.stack([x, 2 * x])).tolist() == [14, 53]
    assert functionalize(f).__name__ == "f"


def test_arguments_are_written():
    x = torch.zeros(2)
    assert functionalize(lambda a: a.add_(1) * 2)(x).tolist() == [2, 2]
    assert x.tolist() == [1, 1]


def test_remove():
    with pytest.raises(RuntimeError, match="invalid argument for remove=views"):
        functionalize(f, remove="views")
