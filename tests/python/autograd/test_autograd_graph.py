"""Nodes and their hooks, hooks on several tensors, and hooks on what operations save (autograd.graph)."""

import pytest
from torch_compare import Scenarios, kind, leaf, name_of, numbers, outcome

scenario = Scenarios("test_autograd_graph")


# ---------------------------------------------------------------- on nodes


@scenario
def node_hooks(t):
    log = []
    x = leaf(t)
    y = x * 2

    def after(inputs, outputs):
        log.append(["after", [None if g is None else numbers(g) for g in inputs], [numbers(g) for g in outputs]])

    def before(outputs):
        log.append(["before", [numbers(g) for g in outputs]])

    a = y.grad_fn.register_hook(after)
    b = y.grad_fn.register_prehook(before)
    y.sum().backward(retain_graph=True)
    c = y.grad_fn.register_hook(lambda i, o: tuple(None if g is None else g * 10 for g in i))
    d = y.grad_fn.register_prehook(lambda o: (o[0] + 1,))
    y.grad_fn.register_hook(after)
    y.grad_fn.register_prehook(before)
    y.sum().backward(retain_graph=True)
    for handle in (a, b, c, d):
        handle.remove()
    y.sum().backward()
    return [log, x.grad]


@scenario
def node_and_tensor_hooks(t):
    """In which order: the node's prehooks, the tensor's hooks, retained gradients, the node, its hooks."""
    log = []
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_hook(lambda i, o: log.append(["node", numbers(i[0]), numbers(o[0])]))
    y.register_hook(lambda g: log.append(["tensor", numbers(g)]) or g * 2)
    y.grad_fn.register_prehook(lambda o: log.append(["pre", numbers(o[0])]) or (o[0] * 3,))
    y.register_hook(lambda g: log.append(["tensor 2", numbers(g)]))
    y.sum().backward()
    return [log, y.grad, x.grad]


@scenario
def accumulator_hooks(t):
    log = []
    x = leaf(t)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    result = [
        name_of(accumulator),
        accumulator.variable is x,
        accumulator is (x * 3).grad_fn.next_functions[0][0],
        accumulator.next_functions,
    ]
    accumulator.register_hook(lambda i, o: log.append(["after", len(i), numbers(o[0]), numbers(x.grad)]))
    accumulator.register_prehook(lambda o: log.append(["before", numbers(o[0]), x.grad is None]) or (o[0] * 2,))
    x.register_hook(lambda g: log.append(["tensor", numbers(g)]))
    x.register_post_accumulate_grad_hook(lambda p: log.append(["post", p is x]))
    y.sum().backward()
    return result + [log, x.grad]


@scenario
def node_hook_errors(t):
    def run(register, hook):
        x = leaf(t)
        y = x * 2
        getattr(y.grad_fn, register)(hook)
        return outcome(lambda: y.sum().backward() or numbers(x.grad))

    def named(*grads):
        return 3

    result = [run("register_hook", named)[0], run("register_prehook", named)[0]]
    for hook in (
        lambda i, o: (),
        lambda i, o: (i[0],),
        lambda i, o: (i[0], i[0], i[0]),
        lambda i, o: ("text", None),
        lambda i, o: (i[0][:1], None),
        lambda i, o: (None, None),
        lambda i, o: i,
        lambda i, o: i[0],
    ):
        result.append(kind(lambda hook=hook: run("register_hook", hook)))
    for hook in (
        lambda o: (),
        lambda o: (o[0], o[0]),
        lambda o: ("text",),
        lambda o: (o[0][:1],),
        lambda o: o,
        lambda o: (o[0].double(),),
        lambda o: o[0],
    ):
        result.append(kind(lambda hook=hook: run("register_prehook", hook)))
    y = leaf(t) * 2
    result.append(kind(lambda: y.grad_fn.register_hook()))
    return result


@scenario
def nodes_as_objects(t):
    x = leaf(t)
    y = x * 2
    f = y.grad_fn
    f.metadata["key"] = 3
    return [
        f is y.grad_fn,
        name_of(f),
        type(f).__name__,
        y.grad_fn.metadata,
        f == y.grad_fn,
        hash(f) == hash(y.grad_fn),
        (y + 1).grad_fn.next_functions[0][0] is f,
        (1 + y).grad_fn.next_functions[0][0] is f,
        (2 * y).grad_fn.next_functions[0][0] is f,
        len({f, y.grad_fn}),
        isinstance(f, t.autograd.graph.Node),
        f._sequence_nr() < (y + 1).grad_fn._sequence_nr(),
    ]


@scenario
def gradient_edges(t):
    """Places in the graph where tensors stand, or stood."""
    edge = t.autograd.graph.get_gradient_edge
    x = leaf(t)
    y = x * x
    y.register_hook(lambda g: g * 10)
    e, end = edge(y), edge(x)
    a, b = (y * 2).unbind()[:2]
    second = edge(b)
    result = [e.node is y.grad_fn, e.output_nr, second.output_nr, name_of(end.node)]
    del b
    z = y.sum() + a
    grad = t.autograd.grad
    result += [
        *grad(z, e, retain_graph=True),
        *grad(z, [end, x], retain_graph=True),
        *grad(z, (second, e), allow_unused=True, retain_graph=True),
    ]
    result += [
        *grad(e, x, t.ones(3), retain_graph=True),
        *grad([e, second], [x], [t.ones(3), t.tensor(2.0)], retain_graph=True),
    ]
    t.autograd.backward(e, t.ones(3), retain_graph=True)
    t.autograd.backward(z, inputs=[end])
    result.append(x.grad)
    result.append(outcome(lambda: edge(t.ones(2))))
    return result


# ---------------------------------------------------------------- several tensors together


@scenario
def multi_grad_all(t):
    log = []
    register = t.autograd.graph.register_multi_grad_hook
    x, w, u = leaf(t), leaf(t), leaf(t)
    y = x * w

    def hook(grads):
        log.append([None if g is None else numbers(g) for g in grads])

    def alone(grads):
        log.append(["a, b, x", *map(numbers, grads)])

    handle = register((x, w, y, u), hook)
    (y.sum() + u.sum()).backward(retain_graph=True)
    log.append("part")
    (x * 2).sum().backward()
    (x * w).sum().backward()
    log.append("of one node")
    a, b, c = y.unbind()
    handle.remove()
    register([a, b, x], alone)
    (a * 2 + b).backward()
    (x * w).sum().backward()
    (x * u).sum().backward()
    return log


@scenario
def multi_grad_any(t):
    log = []
    register = t.autograd.graph.register_multi_grad_hook
    x, w = leaf(t), leaf(t)
    with register((x, w), lambda g: log.append(numbers(g)), mode="any"):
        (x * 1).sum().backward()
        (x * 2).sum().backward()
        (w * 3).sum().backward()
        (x * 4 + w * 4).sum().backward()
    (x * 5).sum().backward()
    return [log, kind(lambda: register((x,), print, mode="some"))]


# ---------------------------------------------------------------- on saved tensors


@scenario
def pack_and_unpack(t):
    log = []

    def pack(x):
        log.append(["pack", [round(v, 3) for v in numbers(x)]])
        return numbers(x)

    def unpack(x):
        log.append(["unpack", [round(v, 3) for v in x]])
        return t.tensor(x)

    x, w = leaf(t), leaf(t, 0.25, 0.5, 0.75)
    with t.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * w
        z = y.exp()
    u = z.sin()  # not packed
    packs = len(log)
    u.sum().backward(retain_graph=True)
    first = [x.grad, w.grad]
    log_first = sorted(map(str, log))
    u.sum().backward()
    return [packs, log_first, len(log), first, x.grad]


@scenario
def packing_is_transparent(t):
    """With hooks that compress, results are as without; second derivatives as well."""
    result = []

    def f(x):
        return (x.exp() * x.sin()).tanh().sum() + (x.sigmoid() ** 3).sum() + (x[1:] * x[:-1]).sum()

    for hooked in (False, True):
        x = t.tensor([0.1, 0.2, 0.4], dtype=t.float64, requires_grad=True)
        if hooked:
            with t.autograd.graph.saved_tensors_hooks(
                lambda v: (v.double().numpy().copy(), v.dtype), lambda p: t.from_numpy(p[0]).to(p[1])
            ):
                y = f(x)
        else:
            y = f(x)
        (g,) = t.autograd.grad(y, x, create_graph=not hooked)
        result.append(numbers(g))
        if hooked:
            continue
        with t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
            y = f(x)
            (g,) = t.autograd.grad(y, x, create_graph=True)
            (h,) = t.autograd.grad(g.sum(), x)
        result += [numbers(g), numbers(h)]
    return result


@scenario
def nested_saved_tensors_hooks(t):
    log = []

    def tag(name):
        return t.autograd.graph.saved_tensors_hooks(
            lambda x: log.append(f"pack {name}") or x, lambda x: log.append(f"unpack {name}") or x
        )

    x = leaf(t)
    with tag("outer"):
        a = x.exp()
        with tag("inner"):
            b = a.sin()
        c = b.exp()
    d = c.exp()
    log.append("backward")
    d.sum().backward()
    return [log, x.grad]


@scenario
def disabled(t):
    hooks = t.autograd.graph
    result = []

    def enter():
        with hooks.saved_tensors_hooks(lambda x: x, lambda x: x):
            return 1

    with hooks.disable_saved_tensors_hooks("not here"):
        result.append(outcome(enter))
        with hooks.disable_saved_tensors_hooks("nor here"):
            result.append(outcome(enter))
        result.append(outcome(enter))
    result.append(outcome(enter))

    def disable():
        with hooks.disable_saved_tensors_hooks("no"):
            return 2

    with hooks.saved_tensors_hooks(lambda x: x, lambda x: x):
        result.append(outcome(disable))

    @hooks.disable_saved_tensors_hooks("as decorator")
    def f():
        return enter()

    result += [outcome(f), outcome(enter)]
    return result


@scenario
def saved_hook_errors(t):
    hooks = t.autograd.graph.saved_tensors_hooks
    result = []

    def fail(x):
        raise ValueError("cannot")

    def change(x):
        x *= 2
        return x

    x = leaf(t)

    def forward(pack, unpack, f=lambda x: x.exp()):
        with hooks(pack, unpack):
            return f(x)

    same = lambda v: v
    result.append(outcome(lambda: numbers(forward(fail, same))))
    y = forward(same, fail)
    result.append(outcome(lambda: y.sum().backward()))
    y = forward(same, lambda v: 3)
    result.append(outcome(lambda: y.sum().backward()))
    y = forward(same, lambda v: None)
    result.append(kind(lambda: y.sum().backward()))
    result.append(kind(lambda: numbers(forward(lambda: None, same))))
    y = forward(same, lambda: None)
    result.append(kind(lambda: y.sum().backward()))
    # afterwards all is well
    y = x.exp() * 2
    y.sum().backward()
    result += [x.grad, t.is_grad_enabled()]
    return result


@scenario
def a_changed_tensor_is_still_an_error(t):
    x = leaf(t)
    y = x * 1
    with t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
        z = y.sin()
    y.add_(1)
    # the hooks own what is saved: nothing is checked
    return kind(lambda: numbers(t.autograd.grad(z.sum(), x)[0]))


@scenario
def save_on_cpu(t):
    x = leaf(t)
    with t.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    y.backward()
    return [x.grad]


@scenario
def saved_attributes(t):
    x, w = leaf(t), leaf(t, 4.0, 5.0, 6.0)
    y = x * w
    z = x.exp()
    result = [
        y.grad_fn._saved_self is x,
        y.grad_fn._saved_other,
        z.grad_fn._saved_result,
        outcome(lambda: kind(lambda: y.grad_fn._saved_nothing)),
    ]
    y.sum().backward()
    result.append(outcome(lambda: y.grad_fn._saved_self)[0])
    return result


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)


def test_the_grad_mode_is_as_before_after_a_pack_hook_that_sets_it():
    import strided

    seen = []

    def pack(t):
        seen.append(strided.is_grad_enabled())
        with strided.no_grad():
            return t.clone()

    class Mine(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].exp()

    x = strided.ones(2, requires_grad=True)
    for function in (strided.exp, Mine.apply):
        with strided.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            y = function(x)
            assert strided.is_grad_enabled() and y.requires_grad and (y * 2).requires_grad
    assert seen == [False, False]


def test_an_edge_that_is_not_used_has_no_zeros():
    import strided
    from strided.autograd.graph import get_gradient_edge

    x, y = strided.ones(2, requires_grad=True), strided.ones(2, requires_grad=True)
    used, unused = get_gradient_edge(x), get_gradient_edge(y)
    got = strided.autograd.grad(x.sum(), (used, y), materialize_grads=True)
    assert [g.tolist() for g in got] == [[1, 1], [0, 0]]
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        strided.autograd.grad(x.sum(), (x, unused), materialize_grads=True)


def test_nodes_by_the_names_of_the_compiled_module():
    import strided

    x = strided.ones(2, requires_grad=True)
    assert isinstance(x.clone().grad_fn.next_functions[0][0], strided._C._functions.AccumulateGrad)
    strided._C._functions.UndefinedGrad()(x).sum().backward()
    assert x.grad is None
    first, second = strided._C._functions.DelayedError("later", 2)(x, x)
    with pytest.raises(RuntimeError, match="later"):
        (first + second).sum().backward()
    with pytest.raises(AttributeError):
        strided._C._functions.Other
