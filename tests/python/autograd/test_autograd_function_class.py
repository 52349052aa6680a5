"""autograd.Function: instances, older names, and the nodes of its calls."""

import pytest
import strided


def test_old_programs_derive_from_another_name():
    from strided.autograd.function import InplaceFunction

    class Rounded(InplaceFunction):
        @staticmethod
        def forward(ctx, x, inplace=False):
            if inplace:
                ctx.mark_dirty(x)
            return x.round_() if inplace else x.round()

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    for inplace in (False, True):
        x = strided.tensor([0.4, 1.7], requires_grad=True)
        y = Rounded.apply(x.clone(), inplace)
        y.sum().backward()
        assert y.tolist() == [0, 2] and x.grad.tolist() == [1, 1]


def test_instances_of_functions():
    class Cube(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return 3 * ctx.saved_tensors[0] ** 2 * grad

    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        cube = Cube()
    x = strided.tensor(2.0, requires_grad=True)
    cube.apply(x).backward()
    assert x.grad.item() == 12
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        cube(x)


def test_saved_tensors_by_their_old_name():
    class Double(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with pytest.warns(DeprecationWarning, match="saved_variables"):
                (x,) = ctx.saved_variables
            return grad * 2 + 0 * x

    x = strided.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_the_class_of_a_node_is_the_modules_that_has_function():
    class Double(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    node = Double.apply(strided.ones(2, requires_grad=True)).grad_fn
    assert type(node).__module__ == type(node).__mro__[1].__module__
    assert repr(node).startswith(f"<{type(node).__module__}.DoubleBackward object at 0x")


def test_a_node_applies_its_rule():
    class Product(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    x, y = strided.tensor(2.0, requires_grad=True), strided.tensor(5.0)
    node = Product.apply(x, y).grad_fn
    assert [g.item() for g in node.apply(strided.tensor(3.0))] == [15, 6] and x.grad is None


def test_a_mode_says_what_it_sets():
    assert repr(strided.set_grad_enabled(True)).endswith("grad_mode.set_grad_enabled(mode=True)")
