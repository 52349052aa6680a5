"""Hooks: on tensors, on nodes, after accumulation, on saved tensors; their order, their errors, and what is left after an error."""

import gc
import weakref

import pytest
from side_by_side import Scenarios, kind, numbers, outcome

import strided

scenario = Scenarios("test_autograd_hooks")


def leaf(t, *values):
    return t.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def short(node):
    return None if node is None else node.name().split("::")[-1]


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
    handles = [x.register_hook(lambda g: (log.append("e"), handles[0].remove()) and None), x.register_hook(lambda g: log.append("f"))]
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
    return [*result, x.grad, [line for line in log if line[0] != "view"]]  # PyTorch never calls "view": the old view is in no graph


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
    result = [short(accumulator), accumulator.variable is x, accumulator is (x * 3).grad_fn.next_functions[0][0], accumulator.next_functions]
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
        lambda i, o: (), lambda i, o: (i[0],), lambda i, o: (i[0], i[0], i[0]), lambda i, o: ("text", None), lambda i, o: (i[0][:1], None),
        lambda i, o: (None, None), lambda i, o: i,
    ):  # fmt: skip
        result.append(kind(lambda hook=hook: run("register_hook", hook)))
    for hook in (lambda o: (), lambda o: (o[0], o[0]), lambda o: ("text",), lambda o: (o[0][:1],), lambda o: o, lambda o: (o[0].double(),)):
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
    return [f is y.grad_fn, short(f), type(f).__name__, y.grad_fn.metadata, f == y.grad_fn, hash(f) == hash(y.grad_fn),
            (y + 1).grad_fn.next_functions[0][0] is f, len({f, y.grad_fn}), isinstance(f, t.autograd.graph.Node), f._sequence_nr() < (y + 1).grad_fn._sequence_nr()]  # fmt: skip


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
            with t.autograd.graph.saved_tensors_hooks(lambda v: (v.double().numpy().copy(), v.dtype), lambda p: t.from_numpy(p[0]).to(p[1])):
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
        return t.autograd.graph.saved_tensors_hooks(lambda x: log.append(f"pack {name}") or x, lambda x: log.append(f"unpack {name}") or x)

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

    same = lambda v: v  # noqa: E731
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
    result = [y.grad_fn._saved_self is x, y.grad_fn._saved_other, z.grad_fn._saved_result, outcome(lambda: kind(lambda: y.grad_fn._saved_nothing))]
    y.sum().backward()
    result.append(outcome(lambda: y.grad_fn._saved_self)[0])
    return result


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
        lambda x, y: x.register_hook(fail), lambda x, y: y.register_hook(fail), lambda x, y: y.grad_fn.register_hook(fail),
        lambda x, y: y.grad_fn.register_prehook(fail), lambda x, y: x.register_post_accumulate_grad_hook(fail),
    ):  # fmt: skip
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
    """A tensor has a hook, and the hook the tensor; also after an error in it. (PyTorch frees the leaf's only. Of either a hook
    of a leaf is lost that holds a result computed from it.)"""

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
    for register in (x.register_hook, y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook, x.register_post_accumulate_grad_hook):

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


@pytest.mark.parametrize("name", scenario.names)
def test_as_torch(name):
    scenario.check(name)
