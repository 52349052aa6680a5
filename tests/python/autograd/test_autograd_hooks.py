"""Hooks on tensors and after accumulation; passes within passes; exceptions in hooks, and what is left after them."""

import gc
import weakref

import pytest
import strided
from torch_compare import Scenarios, kind, leaf, numbers, outcome

scenario = Scenarios("test_autograd_hooks")


# ---------------------------------------------------------------- on tensors


@scenario
def replacing_in_order(t):
    log = []

    def times(k, tag):
        def hook(g):
            log.append([tag, numbers(g)])
            return None if k is None else g * k

        return hook

    x = leaf(t)
    y = x * 2
    y.register_hook(times(2, "y1"))
    y.register_hook(times(None, "y2"))
    y.register_hook(times(5, "y3"))
    x.register_hook(times(10, "x1"))
    x.register_hook(times(-1, "x2"))
    (y * y).sum().backward(retain_graph=True)
    first = x.grad.tolist()
    (y.sum() + x.sum()).backward()
    return [log, first, x.grad]


@scenario
def once_for_all_uses(t):
    log = []
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: log.append(["y", numbers(g)]))
    x.register_hook(lambda g: log.append(["x", numbers(g)]))
    (y.sum() + (y * x).sum() + y[0] + x[1]).backward()
    return [log, x.grad]


@scenario
def on_the_root(t):
    log = []
    x = leaf(t)
    y = (x * 2).sum()
    y.register_hook(lambda g: log.append(numbers(g)) or g * 3)
    y.backward()
    x.register_hook(lambda g: g + 1)
    x.backward(t.ones(3))
    x.sum().backward()
    return [log, x.grad]


@scenario
def removal(t):
    log = []
    x = leaf(t)
    y = x * 2
    a = y.register_hook(lambda g: log.append("a"))
    b = y.register_hook(lambda g: log.append("b"))
    c = y.register_hook(lambda g: log.append("c"))
    b.remove()
    b.remove()
    y.sum().backward(retain_graph=True)
    a.remove()
    y.sum().backward(retain_graph=True)
    log.append("with")
    with y.register_hook(lambda g: log.append("d")) as d:
        y.sum().backward(retain_graph=True)
    c.remove()
    y.sum().backward(retain_graph=True)
    log.append("itself")
    handles = [
        x.register_hook(lambda g: (log.append("e"), handles[0].remove()) and None),
        x.register_hook(lambda g: log.append("f")),
    ]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return [log, d is not None, a is not b]


@scenario
def adding_within_a_hook(t):
    log = []
    x = leaf(t)
    y = x * 2

    def hook(g):
        log.append("first")
        y.register_hook(lambda g: log.append("later"))
        x.register_hook(lambda g: log.append("leaf"))

    handle = y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    handle.remove()
    log.append("again")
    y.sum().backward()
    return [log.count("first"), log[log.index("again") :], "leaf" in log]


@scenario
def errors(t):
    def returning(value, target="y"):
        x = leaf(t)
        y = x * 2

        def named(g):
            return value(g)

        (x if target == "x" else y).register_hook(named)
        return outcome(lambda: y.sum().backward() or numbers(x.grad))

    result = [returning(lambda g, v=v: v) for v in (3, "text", [1, 2], (1,), True)]
    for target in "xy":
        result.append(returning(lambda g: g[:2], target))
        result.append(returning(lambda g: g.double(), target))
        result.append(returning(lambda g: g.half(), target))
        result.append(returning(lambda g: g.reshape(1, 3), target))
        result.append(returning(lambda g: g.sum(), target))
        result.append(returning(lambda g: g.expand(3), target))
    result.append(outcome(lambda: t.ones(3).register_hook(print)))
    result.append(outcome(lambda: (t.ones(3) * 2).register_hook(print)))
    with t.no_grad():
        result.append(outcome(lambda: (leaf(t) * 2).register_hook(print)))
    result.append(kind(lambda: leaf(t).register_hook()))
    return result


@scenario
def coming_and_going_while_they_run(t):
    """A hook that is removed by another one runs once more; one that comes runs from the next pass on."""

    def passes(kind, change):
        log, handles = [], []
        x = leaf(t)
        y = (x * 1)[:] if kind == "pre" else x * 1
        register = {
            "leaf": x.register_hook,
            "tensor": y.register_hook,
            "sum": x.register_post_accumulate_grad_hook,
            "pre": y.grad_fn.register_prehook,
            "post": y.grad_fn.register_hook,
        }[kind]

        def first(*given):
            log.append("first")
            change(handles, lambda: handles.append(register(lambda *given: log.append("new"))))

        handles.append(register(first))
        handles.append(register(lambda *given: log.append("second")))
        handles.append(register(lambda *given: log.append("third")))
        for _ in range(2):
            y.sum().backward(retain_graph=True)
            log.append("|")
        return log

    changes = [
        lambda handles, add: handles[0].remove(),
        lambda handles, add: handles[1].remove(),
        lambda handles, add: [h.remove() for h in handles],
        lambda handles, add: add(),
        lambda handles, add: (handles[2].remove(), add()),
    ]
    return [passes(kind, change) for kind in ("leaf", "tensor", "sum", "pre", "post") for change in changes]


@scenario
def of_two_results_of_one_node(t):
    log, handles = [], []
    x = leaf(t)
    a, b = (x * 1).split((1, 2))

    def first(g):
        log.append("b")
        for h in handles:
            h.remove()

    b.register_hook(first)
    handles.append(a.register_hook(lambda g: log.append("a")))
    handles.append(b.register_hook(lambda g: log.append("b again")))
    (a.sum() + b.sum()).backward(retain_graph=True)
    return log


@scenario
def before_and_after_a_write(t):
    """A hook stays with the value it was registered on."""
    log = []
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: log.append(["before", numbers(g)]) or g * 10)
    y.mul_(3)
    y.register_hook(lambda g: log.append(["after", numbers(g)]))
    y.sum().backward()
    result = [x.grad]
    x.grad = None
    b = x * 1
    v = b[:2]
    v.register_hook(lambda g: log.append(["view", numbers(g)]))
    b.register_hook(lambda g: log.append(["base", numbers(g)]))
    v.mul_(5)
    v.register_hook(lambda g: log.append(["view after", numbers(g)]))
    b.register_hook(lambda g: log.append(["base after", numbers(g)]))
    (b.sum() + v.sum()).backward()
    return [
        *result,
        x.grad,
        [line for line in log if line[0] != "view"],
    ]  # PyTorch never calls "view": the old view is in no graph


@scenario
def which_calls_run_them(t):
    log = []
    x, w = leaf(t), leaf(t, 2.0, 2.0, 2.0)
    y = x * w
    x.register_hook(lambda g: log.append("x") or g * 10)
    w.register_hook(lambda g: log.append("w") or g * 10)
    y.register_hook(lambda g: log.append("y") or g * 2)
    z = y.sum()

    def grad(*inputs):
        log.clear()
        found = [numbers(g) for g in t.autograd.grad(z, inputs, retain_graph=True)]
        return [found, sorted(log)]

    result = [grad(x), grad(w), grad(y), grad(x, y)[1], grad(z)]  # of (x, y) PyTorch gives y's gradient before its hook
    log.clear()
    z.backward(inputs=[w], retain_graph=True)
    result += [sorted(log), x.grad, w.grad]
    log.clear()
    z.backward(inputs=[x, y], retain_graph=True)
    return result + [sorted(log), x.grad, w.grad]


@scenario
def outputs_that_get_nothing(t):
    log = []
    x = leaf(t, 3.0, 1.0, 2.0)
    values, indices = (x * 1).sort()
    a, b, c = (x * 1).unbind()
    for tag, v in (("values", values), ("a", a), ("b", b), ("c", c)):
        v.register_hook(lambda g, tag=tag: None if g is None else log.append([tag, numbers(g)]))
    (a * c).backward()
    return [log, x.grad]


@scenario
def modes_inside(t):
    log = []
    x = leaf(t)
    y = x * x
    y.register_hook(lambda g: log.append([t.is_grad_enabled(), g.requires_grad]))
    y.sum().backward(retain_graph=True)
    with t.no_grad():
        y.sum()
    t.autograd.grad((y * y).sum(), x, create_graph=True)
    z = (y * y).sum()
    with t.no_grad():
        z.backward(retain_graph=True)
        log.append(t.is_grad_enabled())
    z.backward(create_graph=True)
    return log


@scenario
def differentiable_hooks(t):
    x = leaf(t)
    y = x * x
    y.register_hook(lambda g: g * x.detach() * g)
    (g,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return [g, h]


@scenario
def kept_gradients_do_not_change(t):
    """Neither a gradient that a hook keeps, nor one that was handed in, is what .grad adds to."""
    kept = []
    x = leaf(t)
    x.register_hook(kept.append)
    y = x + 0
    y.register_hook(kept.append)
    y.retain_grad()
    z = y.view(3)
    start = t.tensor([1.0, 2.0, 3.0])
    z.backward(start, retain_graph=True)
    before = [numbers(k) for k in kept]
    for _ in range(2):
        z.backward(start, retain_graph=True)
    x.grad.mul_(100)
    y.grad.mul_(7)
    return [before, [numbers(k) for k in kept], start, x.grad, y.grad]


# ---------------------------------------------------------------- retain_grad


@scenario
def retain_grad(t):
    x = leaf(t)
    y = x * 2
    z = y * 3
    y.retain_grad()
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    z.sum().backward(retain_graph=True)
    result = [y.grad, x.grad, y.retains_grad, z.retains_grad, x.retains_grad]
    z.sum().backward(retain_graph=True)
    result += [y.grad]
    y.grad = None
    result += [y.grad, y.retains_grad]
    z.sum().backward()
    result += [y.grad]
    x.retain_grad()
    result += [x.retains_grad]
    result.append(outcome(lambda: t.ones(2).retain_grad()))
    result.append(outcome(lambda: (t.ones(2) * 2).retain_grad()))
    y = x * 2
    y.retain_grad()
    (a,) = t.autograd.grad(y.sum(), x, retain_graph=True)
    result += [a, y.grad]  # autograd.grad retains as well
    y.retain_grad()
    y.mul_(3)
    y.mul_(y.detach().clone())
    y.sum().backward()
    return result + [y.grad]


@scenario
def retain_grad_of_the_root(t):
    x = leaf(t)
    y = (x * 2).sum()
    y.retain_grad()
    y.backward(t.tensor(3.0))
    u = x * 2
    u.retain_grad()
    u[0].backward()
    return [y.grad, u.grad, x.grad]


@scenario
def retain_grad_with_graph(t):
    x = leaf(t)
    y = x**3
    y.retain_grad()
    (y**2).sum().backward(create_graph=True)
    return [y.grad, y.grad.requires_grad, *t.autograd.grad(y.grad.sum(), x)]


# ---------------------------------------------------------------- after accumulation


@scenario
def post_accumulate(t):
    log = []
    x, w = leaf(t), leaf(t)
    x.register_post_accumulate_grad_hook(lambda p: log.append(["first", numbers(p.grad)]))
    h = x.register_post_accumulate_grad_hook(lambda p: log.append(["second", p is x]))
    w.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    y = (x * w).sum() + x.sum()
    y.backward(retain_graph=True)
    result = [w.grad]
    t.autograd.grad(y, x, retain_graph=True)
    log.append("grad ran none")
    y.backward(inputs=[x], retain_graph=True)
    h.remove()
    y.backward()
    result += [log, x.grad]
    result.append(outcome(lambda: (x * 2).register_post_accumulate_grad_hook(print)))
    result.append(outcome(lambda: t.ones(2).register_post_accumulate_grad_hook(print)))
    v = leaf(t)
    v.register_post_accumulate_grad_hook(lambda p: 3)
    result.append(kind(lambda: v.sum().backward()))
    return result


@scenario
def optimiser_in_backward(t):
    """A step for each parameter as soon as its gradient is there."""
    ps = [leaf(t, 1.0 + k, 2.0) for k in range(3)]

    def step(p):
        with t.no_grad():
            p.add_(p.grad, alpha=-0.1)
        p.grad = None

    for p in ps:
        p.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        (ps[0] * ps[1].sin() + ps[2] ** 2).sum().backward()
    return [ps, [p.grad for p in ps]]


# ---------------------------------------------------------------- backward within backward


@scenario
def backward_in_a_hook(t):
    x, w = leaf(t), leaf(t)
    log = []

    def hook(g):
        with t.enable_grad():
            u = (w * w).sum()
        u.backward()
        log.append(numbers(w.grad))
        with t.enable_grad():
            v = (w.detach().requires_grad_() ** 3).sum()
        log.append(outcome(lambda: t.autograd.grad(v, w, allow_unused=True)[0]))

    y = x * 2
    y.register_hook(hook)
    (y * y).sum().backward()
    return [log, x.grad, w.grad]


@scenario
def the_same_leaf_in_a_hook(t):
    x = leaf(t)

    def hook(g):
        with t.enable_grad():
            (x * 3).sum().backward()

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    return x.grad


@scenario
def nested_deeply(t):
    x = leaf(t)
    depth = []

    def again(g):
        if len(depth) < 60:
            depth.append(1)
            with t.enable_grad():
                y = x * 2
                z = y.sum()
            y.register_hook(again)
            z.backward()

    y = x * 2
    y.register_hook(again)
    y.sum().backward()
    return [len(depth), x.grad]


# ---------------------------------------------------------------- exceptions


@scenario
def exceptions_pass_through(t):
    class Mine(Exception):
        pass

    def fail(*args):
        raise Mine("as it was")

    result = []
    for register in (
        lambda x, y: x.register_hook(fail),
        lambda x, y: y.register_hook(fail),
        lambda x, y: y.grad_fn.register_hook(fail),
        lambda x, y: y.grad_fn.register_prehook(fail),
        lambda x, y: x.register_post_accumulate_grad_hook(fail),
    ):
        for keep in (False, True):
            x, w = leaf(t), leaf(t)
            y = x * w
            z = y.exp()
            handle = register(x, y)
            out = [outcome(lambda: z.sum().backward(retain_graph=keep))]
            out += [x.grad is None, t.is_grad_enabled()]
            handle.remove()
            x.grad = w.grad = None
            out.append(outcome(lambda: z.sum().backward() or numbers(x.grad)))
            result.append(out)
    return result


REGISTERS = {
    "leaf": lambda x, y, f: x.register_hook(f),
    "result": lambda x, y, f: y.register_hook(f),
    "accumulated": lambda x, y, f: x.register_post_accumulate_grad_hook(f),
    "node": lambda x, y, f: y.grad_fn.register_hook(f),
    "before": lambda x, y, f: y.grad_fn.register_prehook(f),
    "all": lambda x, y, f: strided.autograd.graph.register_multi_grad_hook([y], f),
    "any": lambda x, y, f: strided.autograd.graph.register_multi_grad_hook([y], f, mode="any"),
}


@pytest.mark.parametrize("how", REGISTERS)
@pytest.mark.parametrize("error", [False, True])
def test_cycles_are_collected(how, error):
    """A tensor has a hook, and the hook the tensor; also after an error in it. (PyTorch frees the leaf's only. Both
    lose a hook of a leaf that holds a result computed from it.)"""

    class Held:
        pass

    def make():
        x = leaf(strided)
        y = x * 2
        held = Held()
        held.tensor = x if how in ("leaf", "accumulated") else y

        def hook(*args):
            held.args = args
            if error:
                raise ValueError

        held.handle = REGISTERS[how](x, y, hook)
        try:
            y.sum().backward(retain_graph=True)
        except ValueError:
            held.seen = True
        return weakref.ref(held)

    seen = [make() for _ in range(3)]
    gc.collect()
    assert [r() for r in seen] == [None] * 3


@scenario
def removed_hooks_are_forgotten(t):
    x = leaf(t)
    y = x * 2
    result = []
    for register in (
        x.register_hook,
        y.register_hook,
        y.grad_fn.register_hook,
        y.grad_fn.register_prehook,
        x.register_post_accumulate_grad_hook,
    ):

        def hook(*args):
            pass

        seen = weakref.ref(hook)
        handle = register(hook)
        del hook
        before = seen() is not None
        handle.remove()
        gc.collect()
        result.append([before, seen() is None])
    return result


@scenario
def handles_do_not_keep_tensors(t):
    x = leaf(t)
    y = x * 2
    handle = y.register_hook(lambda g: None)
    seen = weakref.ref(y)
    del y
    gc.collect()
    result = [seen() is None]
    handle.remove()
    return result


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)


def test_callbacks_are_called_when_the_pass_has_ended():
    queue = strided.autograd.Variable._execution_engine.queue_callback
    calls = []

    def inner_pass(grad):
        y = strided.ones(1, requires_grad=True)
        y.register_hook(lambda g: queue(lambda: calls.append("inner")))
        with strided.enable_grad():
            y.clone().backward()
        calls.append("hook")

    def at_end():
        calls.append(x.grad.tolist())
        queue(lambda: calls.append("last"))

    x = strided.ones(2, requires_grad=True)
    x.register_hook(inner_pass)
    y = x * 2
    y.register_hook(lambda g: queue(at_end))
    y.sum().backward()
    assert calls == ["inner", "hook", [2.0, 2.0], "last"]

    def fails():
        raise ValueError("in the callback")

    z = x * 2
    z.register_hook(lambda g: queue(fails))
    with pytest.raises(ValueError, match="in the callback"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue(at_end)
    with pytest.raises(TypeError, match="callable"):
        queue(3)
    assert calls == ["inner", "hook", [2.0, 2.0], "last", "inner", "hook"]


def test_hooks_of_the_nodes_of_inputs_run():
    def run(inputs):
        log = []
        a = strided.tensor(1.0, requires_grad=True)
        b = a.clone()
        b.grad_fn.register_prehook(lambda grads: log.append("before"))
        b.register_hook(lambda g: log.append("tensor"))
        b.grad_fn.register_hook(lambda given, received: log.append("after"))
        if inputs == "grad":
            strided.autograd.grad(b.sum(), b)
        else:
            b.sum().backward(inputs=(b,))
            assert b.grad == 1 and a.grad is None
        return log

    assert run("backward") == ["tensor", "before", "after"] and run("grad") == ["tensor"]


def test_what_a_hook_takes_away_is_not_added_to_a_leaf():
    def run(hook, of_node=False):
        log = []
        x = strided.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda t: log.append("added"))
        y = x * 2
        accumulator = y.grad_fn.next_functions[0][0]
        accumulator.register_hook(lambda given, received: log.append((given, received)))
        if of_node:
            accumulator.register_prehook(lambda grads: hook(x))
        else:
            x.register_hook(lambda grad: hook(x))
        y.sum().backward()
        return x.grad, [entry if entry == "added" else numbers(entry) for entry in log]

    def numbers(entry):
        given, received = entry
        return given, [None if g is None else g.tolist() for g in received]

    assert run(lambda x: (None,), of_node=True) == (None, ["added", ((), [None])])
    for of_node in (False, True):
        for forgets in (lambda x: x.requires_grad_(False), lambda x: x.detach_()):
            assert run(lambda x: forgets(x) is None or None, of_node) == (None, ["added", ((), [[2.0, 2.0]])])
