"""autograd.Function: forms, marks, results that are arguments, second derivatives; beside PyTorch."""

import pytest
from function_scenarios import function, name
from torch_compare import Scenarios, grads, kind, leaf, numbers, outcome, warned

scenario = Scenarios("test_autograd_function")


# ---------------------------------------------------------------- forms


@scenario
def saving_an_input(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    x = leaf(t)
    y = Cube.apply(x)
    result = [y, name(y), type(y.grad_fn).__name__, y.is_leaf]
    y.sum().backward(retain_graph=True)
    result.append(x.grad)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = t.autograd.grad(h.sum(), x)
    result += [g, h, k, Cube.apply(t.ones(2)).requires_grad]
    with t.no_grad():
        result.append(Cube.apply(x).requires_grad)
    return result


@scenario
def saving_an_output(t):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    Exp = function(t, forward, lambda ctx, g: ctx.saved_tensors[0] * g)
    x = leaf(t)
    y = Exp.apply(x)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x, retain_graph=True)
    result = [g, h, y.grad_fn.saved_tensors[0]]
    y = Exp.apply(x)
    y.mul_(2)
    result.append(outcome(lambda: y.sum().backward())[1][:190])
    return result


@scenario
def saving_an_intermediate(t):
    def forward(ctx, x):
        s = x.sin()
        ctx.save_for_backward(s, x)
        return s * s

    def backward(ctx, g):
        s, x = ctx.saved_tensors
        return 2 * s * x.cos() * g

    F = function(t, forward, backward)
    x = leaf(t)
    y = F.apply(x)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)  # an intermediate is a constant in the second derivative
    return [g, h]


@scenario
def several_of_each(t):
    def forward(ctx, a, factor, b, *, scale=1):
        ctx.save_for_backward(a, b)
        ctx.factor = factor
        return a * b * factor, None, a + b, "text", 3

    def backward(ctx, g, none, h, text, three):
        a, b = ctx.saved_tensors
        return g * b * ctx.factor + h, None, g * a * ctx.factor + h

    F = function(t, forward, backward)
    a, b = leaf(t), leaf(t, 4.0, 5.0, 6.0)
    u, none, v, text, three = F.apply(a, 10, b)
    result = [
        u,
        none,
        v,
        text,
        three,
        u.grad_fn is v.grad_fn,
        u.output_nr,
        v.output_nr,
        [i for _, i in u.grad_fn.next_functions],
    ]
    (u * 2 + v).sum().backward(retain_graph=True)
    result += [a.grad, b.grad]
    result += list(t.autograd.grad(v.sum(), [a, b], retain_graph=True))
    result += list(t.autograd.grad(u.sum(), b))
    u, *_ = F.apply(a.detach(), 10, b)
    return result + list(t.autograd.grad(u.sum(), b))


@scenario
def needs_input_grad(t):
    seen = []

    def forward(ctx, a, k, b):
        seen.append(list(ctx.needs_input_grad))
        return a * b * k

    def backward(ctx, g):
        seen.append(list(ctx.needs_input_grad))
        return g, None, g

    F = function(t, forward, backward)
    a, b = leaf(t), leaf(t)
    F.apply(a, 2, b).sum().backward()
    F.apply(a.detach(), 2, b).sum().backward()
    F.apply(a, 2.0, b.detach()).sum().backward()
    F.apply(a.detach(), 2, b.detach())
    with t.no_grad():
        F.apply(a, 2, b)
    return seen


@scenario
def with_setup_context(t):
    def forward(a, b, k):
        return a * b * k, a + b

    def setup_context(ctx, inputs, output):
        a, b, k = inputs
        ctx.k = k
        ctx.save_for_backward(a, b, output[0])
        ctx.mark_non_differentiable(output[1])

    def backward(ctx, g, h):
        a, b, out = ctx.saved_tensors
        return g * b * ctx.k, g * a * ctx.k + 0 * out, None

    F = function(t, forward, backward, setup_context=setup_context)
    a, b = leaf(t), leaf(t, 4.0, 5.0, 6.0)
    u, v = F.apply(a, b, 2)
    (g, h) = t.autograd.grad(u.sum(), (a, b), create_graph=True)
    return [u, v, v.grad_fn, name(u), g, h, *t.autograd.grad(g.sum() + h.sum(), (a, b))]


@scenario
def the_vjp_name(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    x = leaf(t)
    F.apply(x).sum().backward()
    return x.grad


@scenario
def numbers_and_other_arguments(t):
    seen = []

    def forward(ctx, x, *rest):
        seen.append([type(r).__name__ for r in rest])
        return x.clone()

    F = function(t, forward, lambda ctx, g: (g, None, None, None, None, None))
    x = leaf(t)
    F.apply(x, None, "text", [x], {"key": x}, lambda: 3).sum().backward()
    result = [seen, x.grad]
    G = function(t, lambda ctx, x: x.clone(), lambda ctx, g: (g, None, None))  # Nones too many are let pass
    G.apply(x).sum().backward()
    return result + [x.grad]


@scenario
def none_for_a_gradient(t):
    F = function(t, lambda ctx, a, b: a * b, lambda ctx, g: (None, g))
    a, b = leaf(t), leaf(t)
    y = F.apply(a, b)
    result = list(t.autograd.grad(y.sum(), (a, b), allow_unused=True, retain_graph=True))
    result.append(outcome(lambda: t.autograd.grad(y.sum(), (a,), retain_graph=True)))
    y.sum().backward()
    result += [a.grad, b.grad]
    N = function(t, lambda ctx, a: a * 2, lambda ctx, g: None)
    c = leaf(t)
    d = c * 3
    N.apply(d).sum().backward()
    return result + [c.grad]


@scenario
def gradients_not_asked_for(t):
    """What backward gives for an input without a gradient goes nowhere."""
    F = function(t, lambda ctx, a, b: a * b, lambda ctx, g: (g, g * 2))
    a, b = leaf(t), t.ones(3)
    F.apply(a, b).sum().backward()
    return [a.grad, b.grad]


@scenario
def smaller_and_other_gradients(t):
    """The engine brings gradients to shape and dtype of the input, or refuses."""

    def run(make, *shape, dtype=None):
        x = t.ones(*shape, dtype=dtype, requires_grad=True)
        F = function(t, lambda ctx, x: x.sum(), lambda ctx, g: make(g))
        return outcome(lambda: F.apply(x).backward() or x.grad)

    return [
        run(lambda g: t.ones(2, 3), 2, 3),
        run(lambda g: t.ones(4, 2, 3), 2, 3),
        run(lambda g: t.ones(2, 3), 1, 3),
        run(lambda g: t.ones(2, 3), 3),
        run(lambda g: t.ones(2, 3), 2, 2),
        run(lambda g: t.ones(3), 2, 3)[0],
        run(lambda g: t.ones(6), 2, 3),
        run(lambda g: t.ones(2, 3, dtype=t.float64), 2, 3),
        run(lambda g: t.ones(2, 3, dtype=t.float32), 2, 3, dtype=t.float64),
        run(lambda g: t.ones(2, 3, dtype=t.float16), 2, 3),
        run(lambda g: t.ones(2, 3, dtype=t.complex64), 2, 3)[0],
        run(lambda g: t.ones(2, 3), 2, 3, dtype=t.complex64),
    ]


# ---------------------------------------------------------------- marks


@scenario
def mark_dirty(t):
    seen = []

    def forward(ctx, x, k):
        ctx.mark_dirty(x)
        x.mul_(k)
        ctx.k = k
        return x

    def backward(ctx, g):
        seen.append(numbers(g))
        return g * ctx.k, None

    F = function(t, forward, backward)
    x = leaf(t)
    y = x * 1
    z = F.apply(y, 5)
    result = [z is y, y, name(y)]
    y.sum().backward()
    result += [x.grad, seen]
    result.append(outcome(lambda: F.apply(x, 2)))
    with t.no_grad():
        result.append(F.apply(x, 2).detach())
    c = t.ones(2)
    result += [F.apply(c, 3) is c, c]
    # of a view: the base follows
    x = leaf(t)
    b = x * 1
    v = b[:2]
    w = F.apply(v, 7)
    result += [w is v, b, *t.autograd.grad((b * b).sum(), x)]
    return result


@scenario
def dirty_without_a_gradient_before(t):
    """A plain tensor is overwritten by something with a history."""

    def forward(ctx, target, source):
        ctx.mark_dirty(target)
        target.copy_(source)
        return target

    F = function(t, forward, lambda ctx, g: (None, g * 3))
    x, target = leaf(t), t.zeros(3)
    y = F.apply(target, x)
    target.sum().backward()
    return [y is target, target.requires_grad, name(target), x.grad]


@scenario
def mark_non_differentiable(t):
    def forward(ctx, x):
        order = x.argsort()
        values = x[order]
        flags = x * 0 + 1
        ctx.mark_non_differentiable(order, flags)
        ctx.save_for_backward(order)
        return values, order, flags

    def backward(ctx, g, order_grad, flags_grad):
        (order,) = ctx.saved_tensors
        out = t.zeros(3)
        out[order] = g
        return out + flags_grad * 1000

    F = function(t, forward, backward)
    x = leaf(t, 3.0, 1.0, 2.0)
    values, order, flags = F.apply(x)
    (values * t.tensor([1.0, 2.0, 3.0])).sum().backward()
    return [values, order.tolist(), flags, flags.is_leaf, order.requires_grad, x.grad]


@scenario
def dirty_and_non_differentiable(t):
    """An argument that is both is given back without its history; each mark counts as one write."""

    def run(results, non_differentiable, start):
        class F(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                x.mul_(2)
                y = x * w
                made = results(x, w, y)
                ctx.mark_dirty(x)
                ctx.mark_non_differentiable(*non_differentiable(x, w, y))
                return made

            @staticmethod
            def backward(ctx, *grads):
                total = sum(g for g in grads if g is not None)
                return total * 3, total * 5

        x, w = leaf(t), leaf(t, 3.0, 4.0, 5.0)
        argument = start(x)
        made = outcome(lambda: F.apply(argument, w))
        if isinstance(made, list):
            return made
        made = made if isinstance(made, tuple) else (made,)
        shown = [[r.requires_grad, r is argument, r._is_view(), r._version, numbers(r)] for r in made]
        loss = sum((r.sum() * (k + 2) for k, r in enumerate(made) if r.requires_grad), t.zeros(()))
        if loss.requires_grad:
            loss.backward()
        return [shown, argument.requires_grad, argument._version, x.grad, w.grad]

    return [
        run(results, marked, start)
        for results in (
            lambda x, w, y: x,
            lambda x, w, y: (x, x),
            lambda x, w, y: (x, y),
            lambda x, w, y: (y, x),
            lambda x, w, y: (w, x),
            lambda x, w, y: y,
        )
        for marked in (lambda x, w, y: (), lambda x, w, y: (x,), lambda x, w, y: (y,), lambda x, w, y: (x, w, y))
        for start in (lambda x: x, lambda x: x * 1, lambda x: x.detach())
    ]


@scenario
def arguments_without_a_derivative(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.mark_non_differentiable(x)
            return w * 1, x

        @staticmethod
        def backward(ctx, *grads):
            return None, grads[0]

    x, w = leaf(t), leaf(t)
    result = []
    for a in (x, x * 1, x.detach()):
        made = F.apply(a, w)[1]
        result.append([made.requires_grad, made is a, made._is_view()])
    made = F.apply(x, w)[1]
    made.mul_(2)
    return [*result, made, x]


@scenario
def marked_dirty_but_no_argument(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(t)
    made = F.apply(x)
    return [[w[:120] for w in warned(lambda: F.apply(x))], made, *grads(t, made.sum(), x)]


@scenario
def integer_results(t):
    F = function(t, lambda ctx, x: (x * 2, x.long(), x > 1), lambda ctx, g, a, b: g * 2 + a.sum() + b.sum())
    x = leaf(t)
    y, i, b = F.apply(x)
    y.sum().backward()
    return [y.requires_grad, i.requires_grad, b.requires_grad, x.grad]


@scenario
def materialized(t):
    seen = []

    def make(materialize):
        def forward(ctx, x):
            if materialize is not None:
                ctx.set_materialize_grads(materialize)
            return x * 2, x * 3, (x > 1)

        def backward(ctx, *grads):
            seen.append([None if g is None else [numbers(g), str(g.dtype).split(".")[-1]] for g in grads])
            return sum(g for g in grads[:2] if g is not None)

        return function(t, forward, backward)

    for materialize in (None, True, False):
        x = leaf(t)
        u, v, w = make(materialize).apply(x)
        u.sum().backward()
        u, v, w = make(materialize).apply(x)
        (v[0] * 2).backward()
    return [seen, x.grad]


# ---------------------------------------------------------------- results that are arguments


@scenario
def returning_an_input(t):
    result = []
    F = function(t, lambda ctx, x: x, lambda ctx, g: g * 3)
    x = leaf(t)
    y = F.apply(x)
    result += [y is x, name(y), y._is_view()]
    y.sum().backward()
    result.append(x.grad)
    G = function(t, lambda ctx, x: (x, x * 2), lambda ctx, g, h: g * 3 + h)
    x = leaf(t)
    u, v = G.apply(x)
    (u + v).sum().backward()
    result += [u is x, x.grad]
    V = function(t, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3) * 5)
    x = leaf(t)
    y = V.apply(x * 1)
    result += [y, name(y)]
    y.sum().backward()
    result.append(x.grad)
    D = function(t, lambda ctx, x: x.detach(), lambda ctx, g: g * 7)
    x = leaf(t)
    D.apply(x).sum().backward()
    result.append(x.grad)
    c = t.ones(2)
    result += [F.apply(c) is c, F.apply(c).requires_grad]
    return result


@scenario
def writing_to_a_result_that_is_a_view(t):
    V = function(t, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3) * 5)
    S = function(t, lambda ctx, x: (x[:1], x[1:]), lambda ctx, g, h: t.cat([g, h]))
    x = leaf(t)
    result = []
    y = V.apply(x * 1)
    result.append(kind(lambda: y.add_(1) and None))
    a, b = S.apply(x * 1)
    result.append(kind(lambda: a.add_(1) and None))
    # a view of something made inside is refused by PyTorch alone
    R = function(t, lambda ctx, x: x, lambda ctx, g: g * 2)
    b = x * 1
    r = R.apply(b)
    result.append(outcome(lambda: r.add_(1) and None))
    b.add_(1)
    result.append(
        [outcome(lambda: name(r)), outcome(lambda: numbers(r + 1)), outcome(lambda: r[0].mul_(2) and None)[1][-90:]]
    )
    with t.no_grad():
        r.add_(1)
    result.append(b)
    for F in (V, R):
        v = t.ones(3)
        w = F.apply(v)
        w.add_(1)
        result.append([w, v])
    return result


@scenario
def the_same_output_twice(t):
    def forward(ctx, x):
        y = x * 2
        return y, y

    F = function(t, forward, lambda ctx, g, h: 2 * g + 20 * h)
    x = leaf(t)
    u, v = F.apply(x)
    return [outcome(lambda: numbers(t.autograd.grad(u.sum() + v.sum(), x)[0]))]


@scenario
def tuples_and_lists(t):
    result = []
    for make in (lambda x: (x * 2,), lambda x: x * 2, lambda x: (x * 2, [x * 3])):
        F = function(t, lambda ctx, x, make=make: make(x), lambda ctx, *g: g[0] * 2)
        x = leaf(t)
        y = F.apply(x)
        result += [type(y).__name__, len(y) if isinstance(y, tuple) else None]
        first = y[0] if isinstance(y, tuple) else y
        first.sum().backward()
        result.append(x.grad)
    F = function(t, lambda ctx, x: [x * 2, x * 3], lambda ctx, *g: g[0] * 2)
    result.append(kind(lambda: type(F.apply(leaf(t))).__name__))
    for gradients in (lambda g: (g,), lambda g: [g], lambda g: g):
        F = function(t, lambda ctx, x: x * 2, lambda ctx, g, gradients=gradients: gradients(g))
        x = leaf(t)
        result.append(kind(lambda: F.apply(x).sum().backward()))
        result.append(x.grad)
    return result


# ---------------------------------------------------------------- second derivatives


@scenario
def once_differentiable(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.append([t.is_grad_enabled(), g.requires_grad])
            return 2 * x * g

    seen = []
    x = leaf(t)
    F.apply(x).sum().backward()
    result = [x.grad]
    (g,) = t.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    result += [g.requires_grad, numbers(g)]
    w = leaf(t)
    (g,) = t.autograd.grad((F.apply(x) * w).sum(), x, create_graph=True)
    result += [g.requires_grad, numbers(g), outcome(lambda: g.sum().backward())]
    return result + [seen]


@scenario
def a_function_in_a_backward(t):
    """Double backward through functions that call functions."""

    class Inner(t.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return g * x.cos()

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return gg * x.cos(), -gg * g * x.sin()

    class Outer(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return Inner.apply(g, *ctx.saved_tensors)

    x = leaf(t, dtype=t.float64)
    result = []
    y = Outer.apply(x)
    for _ in range(4):
        result.append(numbers(y))
        (y,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return result


@scenario
def graphs_inside_a_backward(t):
    def backward(ctx, g):
        with t.enable_grad():
            x = ctx.x.detach().requires_grad_()
            return t.autograd.grad(x.sin(), x, g)[0]

    def forward(ctx, x):
        ctx.x = x
        return x.sin()

    F = function(t, forward, backward)
    x = leaf(t)
    F.apply(x * 1).sum().backward()
    return x.grad


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)
