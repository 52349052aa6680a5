"""Nodes of the graph that are called like functions."""

import pytest
import strided


def test_gradients_that_do_not_fit_are_refused():
    x = strided.randn(4, 8, requires_grad=True)
    for y in (x * 2, strided.nn.functional.layer_norm(x, (8,)), x.softmax(1), x[1:3, 2:5], x.max(1).values):
        for shape in ((5,), (9, 9), (0,)):
            with pytest.raises(RuntimeError, match="size"):
                y.grad_fn(strided.ones(shape))
        with pytest.raises(RuntimeError, match="is on meta, but the output is on cpu"):
            y.grad_fn(strided.ones(y.shape, device="meta"))
    leaf_node = (x * 1).grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match="size"):
        leaf_node(strided.ones(3))
    assert x.grad is None
