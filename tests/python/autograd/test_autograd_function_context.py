"""autograd.Function: what its context offers, its errors, and how long it lives."""

import gc
import weakref

import numpy as np
import pytest
import strided
from function_scenarios import function, name
from torch_compare import Scenarios, kind, leaf, numbers, outcome

scenario = Scenarios("test_autograd_function_context")


# ---------------------------------------------------------------- context


@scenario
def the_context_is_the_node(t):
    contexts = []

    def forward(ctx, x):
        ctx.note = [1]
        contexts.append(ctx)
        return x * 2

    def backward(ctx, g):
        contexts.append(ctx)
        return g * ctx.note[0] * 2

    F = function(t, forward, backward)
    x = leaf(t)
    y = F.apply(x)
    y.grad_fn.note[0] = 5
    y.sum().backward()
    f = y.grad_fn
    return [
        contexts[0] is contexts[1],
        contexts[0] is f,
        x.grad,
        f.name(),
        f.next_functions[0][0].name().split("::")[-1],
        isinstance(f, t.autograd.graph.Node),
        isinstance(f, t.autograd.function.FunctionCtx),
    ]


@scenario
def saved_tensors(t):
    result = []

    def forward(ctx, x, w):
        result.append(kind(lambda: len(ctx.saved_tensors)))
        ctx.save_for_backward(x, None, w)
        return x * w

    def backward(ctx, g):
        x, none, w = ctx.saved_tensors
        result.append([none, x.requires_grad, len(ctx.saved_tensors)])
        return g * w, g * x

    F = function(t, forward, backward)
    x, w = leaf(t), t.ones(3)
    y = F.apply(x, w)
    result.append(len(y.grad_fn.saved_tensors))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    result += [outcome(lambda: y.sum().backward()), outcome(lambda: y.grad_fn.saved_tensors)]
    y = F.apply(x, w)
    w.add_(1)
    text = outcome(lambda: y.sum().backward())[1]
    result.append(text[: text.index("instead.")])
    return result[1:]


@scenario
def saving_what_is_no_tensor(t):
    result = []
    for thing in (3, "text", [1], (t.ones(1),)):
        F = function(t, lambda ctx, x, thing=thing: (ctx.save_for_backward(thing), x * 2)[1], lambda ctx, g: g)
        result.append(kind(lambda: F.apply(leaf(t)).requires_grad))
    result = result[:2]
    result.append(F.apply(t.ones(1)).requires_grad)  # no backward pass: nothing is kept
    with t.no_grad():
        result.append(F.apply(leaf(t)).requires_grad)
    return result


@scenario
def with_saved_tensors_hooks(t):
    log = []
    F = function(t, lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    x = leaf(t)
    with t.autograd.graph.saved_tensors_hooks(
        lambda v: log.append(["pack", numbers(v)]) or numbers(v), lambda p: log.append(["unpack", p]) or t.tensor(p)
    ):
        y = F.apply(x)
    y.sum().backward()
    return [log, x.grad]


@scenario
def modes_and_flags(t):
    seen = []

    def forward(ctx, x):
        seen.append([t.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad])
        return x * 2

    def backward(ctx, g):
        seen.append([t.is_grad_enabled(), g.requires_grad])
        return g * 2

    F = function(t, forward, backward)
    x = leaf(t)
    F.apply(x).sum().backward()
    F.apply(x).sum().backward(create_graph=True)
    with t.no_grad():
        F.apply(x)
    return seen


# ---------------------------------------------------------------- errors


@scenario
def errors(t):
    x = leaf(t)
    ok = lambda ctx, x: x * 2

    def run(forward, backward, *args, **more):
        F = function(t, forward, backward, **more)
        return outcome(lambda: F.apply(*(args or (x,))).sum().backward())

    def raises(*args):
        raise KeyError("mine")

    result = [
        run(ok, lambda ctx, g: (g, g)),
        run(ok, lambda ctx, g: ()),
        run(ok, lambda ctx, g: (g, None)),
        run(ok, lambda ctx, g: 3),
        run(ok, lambda ctx, g: "text"),
        run(lambda ctx, x, k: x * k, lambda ctx, g: (g, g), x, 2),
        run(lambda ctx, x, k: x * k, lambda ctx, g: (g, 3), x, 2),
        run(lambda ctx, x, k: x * k, lambda ctx, g: g, x, 2),
        run(ok, None),
        run(raises, ok),
        run(ok, raises),
        run(lambda ctx, x: x * 2, lambda ctx: x)[0],
        outcome(lambda: type("Empty", (t.autograd.Function,), {}).apply(x)),
        run(lambda ctx, x: None, lambda ctx, g: g)[0],
        kind(lambda: t.autograd.Function.apply(x)),
        run(lambda x: x * 2, lambda ctx, g: g)[0],
        run(lambda x: x * 2, lambda ctx, g: g, setup_context=raises),
    ]
    F = function(t, ok, lambda ctx, g: g)
    y = F.apply(x)
    y.sum().backward()
    y.sum().backward()  # saved nothing: nothing was freed
    result.append(numbers(x.grad))
    return result


@scenario
def errors_of_marks(t):
    x = leaf(t)

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    F = function(t, forward, lambda ctx, g: g)
    result = [outcome(lambda: F.apply(x)), kind(lambda: numbers(F.apply(x * 1)))]
    R = function(t, lambda ctx, x: (ctx.mark_dirty(x), x)[1], lambda ctx, g: g)
    for target in (x, x[:2], (x * 1).split(2)[0], t.ones(3), (x * 1)[:2]):
        result.append(outcome(lambda target=target: name(R.apply(target)) is None))
    F = function(t, lambda ctx, x: (ctx.mark_dirty(3), x * 2)[1], lambda ctx, g: g)
    result.append(kind(lambda: numbers(F.apply(x))))
    F = function(t, lambda ctx, x: (ctx.mark_non_differentiable(3), x * 2)[1], lambda ctx, g: g)
    result.append(kind(lambda: numbers(F.apply(x))))
    F = function(t, lambda ctx, x: (ctx.set_materialize_grads(3), x * 2)[1], lambda ctx, g: g)
    result.append(kind(lambda: numbers(F.apply(x))))
    return result


@scenario
def an_error_in_a_backward(t):
    """Passes through as it is; the graph is as after any other error."""

    class Mine(Exception):
        pass

    fail = [True]

    def backward(ctx, g):
        if fail:
            raise Mine("as it was")
        return g * ctx.saved_tensors[0]

    F = function(t, lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], backward)
    result = []
    for keep in (False, True):
        fail[:] = [True]
        x = leaf(t)
        z = F.apply(x * 2).exp()
        result.append(outcome(lambda: z.sum().backward(retain_graph=keep)))
        result.append([x.grad is None, t.is_grad_enabled()])
        fail.clear()
        result.append(outcome(lambda: z.sum().backward() or numbers(x.grad)))
    return result


@scenario
def deprecated_forms(t):
    x = leaf(t)
    F = type("Old", (t.autograd.Function,), {"forward": lambda self, x: x * 2, "backward": lambda self, g: g})
    return [kind(lambda: F()(x)), kind(lambda: F.apply(x).requires_grad)]


@scenario
def inheritance(t):
    class Base(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

    class Child(Base):
        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

        @classmethod
        def run(cls, x):
            return cls.apply(x)

    x = leaf(t)
    y = Child.run(x)
    y.sum().backward()
    return [x.grad, name(y), Child.__name__]


# ---------------------------------------------------------------- life


def test_contexts_die():
    """Neither a context nor what it holds outlives the graph, also when it holds its result or an error happened."""

    class Held:
        pass

    def make(how):
        held = Held()

        def forward(ctx, x):
            ctx.held = held
            y = x * 2
            if how == "output":
                ctx.y = y
            ctx.save_for_backward(x, y)
            return y

        def backward(ctx, g):
            ctx.g = g
            if how == "error":
                raise ValueError
            return g * 2

        F = function(strided, forward, backward)
        x = leaf(strided)
        y = F.apply(x)
        if how == "on itself":
            y.grad_fn.y = y
        if how != "unused":
            try:
                y.sum().backward(retain_graph=how == "retained")
            except ValueError:
                pass
        return weakref.ref(held)

    seen = {how: make(how) for how in ("plain", "retained", "unused", "error", "output", "on itself")}
    gc.collect()
    assert {how: r() for how, r in seen.items()} == dict.fromkeys(seen)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_mark_counts_as_a_write(requires_grad):
    """forward may write through memory that it shares with NumPy, which nothing else sees."""

    def forward(ctx, x):
        array = x.detach().numpy()
        array += 1
        ctx.mark_dirty(x)
        return x

    F = function(strided, forward, lambda ctx, g: g)
    x = strided.ones(3, requires_grad=requires_grad)
    y, w = x.clone(), leaf(strided)
    product = (y * w).sum()
    assert F.apply(y) is y and y._version == 1 and y.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*mark_dirty"):
        product.backward()
    y.sum().backward() if requires_grad else None
    with strided.no_grad():
        F.apply(y)
    assert y._version == 2


def test_saving_what_was_overwritten():
    """A dirty argument that is saved is an output of the node; a result without a gradient is a constant."""

    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.exp_()
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(x, sign)
        return x, sign

    def backward(ctx, g, none):
        y, sign = ctx.saved_tensors
        assert not sign.requires_grad
        return g * y * sign

    F = function(strided, forward, backward)
    x = strided.tensor([0.5, 1.0], dtype=strided.float64, requires_grad=True)
    assert strided.autograd.gradgradcheck(lambda x: F.apply(x * 1)[0], x)
    y, _ = F.apply(x * 1)
    seen = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert seen() is None


def test_gradcheck_finds_a_wrong_backward():
    F = function(strided, lambda ctx, x: x.sin(), lambda ctx, g: g)
    x = strided.tensor([0.3, 1.2], dtype=strided.float64, requires_grad=True)
    with pytest.raises(strided.autograd.GradcheckError):
        strided.autograd.gradcheck(F.apply, x)


def test_numpy_inside():
    """The classic use: a function that autograd cannot see into."""

    class Solve(strided.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            x = strided.from_numpy(np.linalg.solve(a.numpy(), b.numpy()))
            ctx.save_for_backward(a, x)
            return x

        @staticmethod
        def backward(ctx, g):
            a, x = ctx.saved_tensors
            gb = strided.linalg.solve(a.mT, g)
            return -gb[:, None] * x, gb

    a = strided.tensor([[4.0, 1.0], [2.0, 3.0]], dtype=strided.float64, requires_grad=True)
    b = strided.tensor([1.0, 2.0], dtype=strided.float64, requires_grad=True)
    assert strided.autograd.gradcheck(Solve.apply, (a, b))
    assert strided.autograd.gradgradcheck(Solve.apply, (a, b))


@scenario
def types_are_not_asked_for_attributes(t):
    class Strict(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError(func.__name__)

    def made(recorded=False):
        x = t.Tensor._make_subclass(Strict, t.ones(2), recorded)
        x.unit = "m"
        return x

    def dirty(ctx, x):
        ctx.mark_dirty(x)
        return x

    def constant(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    result = []
    results = [lambda ctx, x: made(), lambda ctx, x: made(True), lambda ctx, x: t.ones(2)]
    for forward in [lambda ctx, x: x, *results, dirty, constant]:
        body = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, grad: grad)}
        function = type("F", (t.autograd.Function,), body)
        for x in (made(), made(True), t.ones(2), t.ones(2, requires_grad=True)):
            y = outcome(function.apply, x)
            if not isinstance(y, list):
                with t._C.DisableTorchFunctionSubclass():
                    y = [type(y).__name__, getattr(y, "unit", None), y.requires_grad, y.grad_fn is not None]
                    y.append(isinstance(function.apply(x).grad_fn, function._backward_cls))
            result.append(y)
    return result


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)


def test_saved_tensors_are_the_objects_that_were_saved():
    seen = []

    class Product(strided.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            out = tensors[0] * tensors[1] * tensors[2]
            ctx.save_for_backward(*tensors, out, None)
            return out

        @staticmethod
        def backward(ctx, grad):
            seen.append([any(t is given for given in (leaf, inner, plain)) for t in ctx.saved_tensors])
            return grad, None, None

    leaf, plain = strided.ones(2, requires_grad=True), strided.ones(2)
    inner = leaf * 2
    out = Product.apply(leaf, inner, plain)
    out.sum().backward(retain_graph=True)
    assert seen == [[True, True, True, False, False]]
    plain.extra = "kept"
    plain.requires_grad_()  # it has another record than what was saved
    out.sum().backward()
    assert seen[1] == [True, True, False, False, False]


def test_saved_tensors_outlive_their_objects():
    class Twice(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x

    leaf = strided.tensor([3.0], requires_grad=True)
    Twice.apply(leaf * 5).backward()
    assert leaf.grad.tolist() == [75.0]


def test_setup_context_gets_defaults_and_keywords():
    class Power(strided.autograd.Function):
        @staticmethod
        def forward(x, exponent=3, scale=1.0):
            return scale * x**exponent

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.exponent, ctx.scale = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.scale * ctx.exponent * x ** (ctx.exponent - 1), None, None

    for arguments, keywords, expected in [((), {}, 12.0), ((2,), {}, 4.0), ((), {"scale": 2.0}, 24.0)]:
        x = strided.tensor(2.0, requires_grad=True)
        Power.apply(x, *arguments, **keywords).backward()
        assert x.grad.item() == expected


def test_backward_and_vjp_are_one_too_many():
    class Both(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def vjp(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(strided.ones(1, requires_grad=True)).backward()
