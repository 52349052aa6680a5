"""autograd.graph.allow_mutation_on_saved_tensors: the backward pass uses what tensors were when they were saved."""

import pytest
import strided as torch
from strided.autograd.graph import allow_mutation_on_saved_tensors


def test_gradients_are_of_the_values_that_were_saved():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with allow_mutation_on_saved_tensors():
        y = x * 2
        z = y.exp() * y.sin()
        y.zero_()
        w = z.sqrt()
        w.mul_(5)
    (w.sum() + y.sum()).backward()
    g = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ((g * 2).exp() * (g * 2).sin()).sqrt().mul(5).sum().backward()
    assert torch.allclose(x.grad, g.grad, equal_nan=True)


def test_outside_it_is_still_an_error():
    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    z = y.sin()
    y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_it_cannot_be_nested_and_can_be_cleared():
    x = torch.ones(2, requires_grad=True)
    with allow_mutation_on_saved_tensors() as kept:
        with pytest.raises(RuntimeError, match="nested"), allow_mutation_on_saved_tensors():
            pass
        y = x.exp()
    kept.clear()
    with pytest.raises(RuntimeError, match="cleared"):
        y.sum().backward()
    with allow_mutation_on_saved_tensors():
        pass
