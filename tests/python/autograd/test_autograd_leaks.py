"""Graphs, hooks, functions of the user and weak references: whatever is in a cycle is found by the garbage collector,
and nothing that is in use is. The counting is test_leaks.py's.
"""

import gc
import weakref

import pytest
import strided as torch
from leak_checks import CALLS, FAILURES, MINE, check, tensor_bytes


class Box:
    """Something to keep references in."""


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class KeepsAll(torch.autograd.Function):
    """Has what it should not have as attributes of ctx: its argument and its result."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.x, ctx.y = x, y
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[1]


class Overwrites(torch.autograd.Function):
    @staticmethod
    def forward(x):
        x.mul_(2)
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, where):
        ctx.save_for_backward(x, x * 2)
        ctx.where = where
        if where == "forward":
            raise ZeroDivisionError(ctx)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        if ctx.where == "value":
            return "gradient", None
        raise ZeroDivisionError(ctx, ctx.saved_tensors)


def leaf(n=8):
    return torch.ones(n, requires_grad=True)


def hooked_leaf():
    x = leaf()
    x.register_hook(lambda g: x * 0)
    x.register_post_accumulate_grad_hook(lambda t: (x, t) and None)
    (x * x).sum().backward()


def hooked_result():
    y = leaf() * 2
    y.register_hook(lambda g: y * g)
    (y * y).sum().backward()


def hooked_nodes():
    y = leaf() * 2
    y.grad_fn.register_hook(lambda *grads: (y, grads) and None)
    y.grad_fn.register_prehook(lambda *grads: (y, grads) and None)
    y.sum().backward()
    node = (leaf() * 2).grad_fn
    node.register_hook(lambda *grads: (node, grads) and None)
    node.metadata["self"] = node
    accumulator = (leaf() * 2).grad_fn.next_functions[0][0]  # as wrappers of models keep it
    accumulator.register_hook(lambda *grads: (accumulator, grads) and None)


def handles_kept():
    """As modules do: the object has the parameter and the handle, the hook is a method of the object."""
    box = Box()
    box.x = leaf()
    box.y = leaf() * 2
    box.grads = []
    box.handles = [
        box.x.register_hook(lambda g: box.grads.append(g)),
        box.y.register_hook(lambda g: box.grads.append(g)),
        box.x.register_post_accumulate_grad_hook(lambda t: box.grads.append(t)),
        box.y.grad_fn.register_prehook(lambda g: box.grads.append(g)),
    ]
    (box.y * box.x).sum().backward()
    assert len(box.grads) == 4


def several_hooked():
    x, y = leaf(), leaf()
    handle = torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: (x, y, grads) and None)
    (x * y).sum().backward()
    x.handle = handle


def gradient_with_graph():
    """x.grad leads to x."""
    x = leaf()
    (x * x * x).sum().backward(create_graph=True)
    x.grad.sum().backward()
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    assert y.grad.requires_grad and x.grad.requires_grad


def gradients_of_gradients():
    x = leaf(3).double().detach().requires_grad_()
    (g,) = torch.autograd.grad((x**3).sum(), [x], create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), [x], create_graph=True)
    gg.sum().backward()
    torch.autograd.functional.hessian(lambda t: (t**3).sum(), x)
    torch.autograd.functional.jvp(lambda t: t * t, x, torch.ones_like(x))
    assert torch.autograd.gradcheck(torch.sin, x)


def own_functions():
    x = leaf()
    Double.apply(Double.apply(x)).sum().backward()
    KeepsAll.apply(x).sum().backward()
    y = KeepsAll.apply(x)
    y.grad_fn.y = y
    KeepsAll.apply(y * 2)
    Overwrites.apply(x * 1).sum().backward()
    z = x * 1
    Overwrites.apply(z[2:])
    z.sum().backward()


def saved_elsewhere():
    box = Box()

    def pack(t):
        # Not t itself, which has its graph: what the graph has packed would lead to the graph, out of sight of the
        # collector, as in PyTorch.
        box.last = t.detach()
        return box, t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept[1]):
        y = (leaf().exp() * leaf()).sin()
    y.sum().backward(retain_graph=True)
    with torch.autograd.graph.save_on_cpu():
        (leaf() * leaf()).sum().backward()


def written_views():
    x = leaf()
    y = x * 1
    view = y[2:]
    part = view[:3]
    part.mul_(view[1:4].detach() * 2)
    view.add_(part.sum())
    saved = view.clone() * y[:6].clone()
    y.mul_(saved.sum())
    base = y.view(2, 4)
    base[0] = base[1].clone() * y.sum()
    base.sum().backward()


def duals():
    import strided.autograd.forward_ad as forward_ad

    box = Box()
    with forward_ad.dual_level():
        box.x = forward_ad.make_dual(leaf(), torch.ones(8))
        box.y = (box.x * box.x).sin()
        box.tangent = forward_ad.unpack_dual(box.y).tangent
    box.again = box
    try:
        with forward_ad.dual_level():
            forward_ad.make_dual(leaf(), torch.ones(7))
    except RuntimeError:
        pass


def traced():
    with torch.autograd.detect_anomaly():
        y = leaf() * 2
        y.register_hook(lambda g: y * 0)
        y.sum().backward()


def other_ways():
    x = leaf()
    y = x * 2
    torch.autograd.backward([y.sum(), (y * x).sum()], inputs=[x])
    y.detach_()
    z = x * 3
    z.data = torch.ones(4)
    x.grad = x.grad * 2
    x.grad.back = x
    with torch.no_grad():
        x += 1
    with torch.inference_mode() if hasattr(torch, "inference_mode") else torch.no_grad():
        x * 2


def attributes():
    for x in (torch.ones(3), leaf(), leaf() * 2, MINE([1.0, 2.0])):
        x.me = [x]
    y = leaf() * 2
    y.grad_fn.y = y


def weak_references():
    x = leaf()
    x.seen = []
    first, second = weakref.ref(x), weakref.ref(x, x.seen.append)
    table = weakref.WeakKeyDictionary({x: x})
    del x
    assert first() is second() is next(iter(table))


GRAPHS = [
    hooked_leaf, hooked_result, hooked_nodes, handles_kept, several_hooked, gradient_with_graph, gradients_of_gradients,
    own_functions, saved_elsewhere, written_views, duals, traced, other_ways, attributes, weak_references,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("work", GRAPHS, ids=[f.__name__ for f in GRAPHS])
def test_the_collector_finds_it_all(work):
    check(work, 500)


def raising_hook():
    x = leaf()
    y = x * 2

    def hook(grad):
        raise ZeroDivisionError(grad, y)

    y.register_hook(hook)
    (y * y).sum().backward()


def raising_leaf_hook():
    x = leaf()

    def hook(leaf):
        raise ZeroDivisionError(x, leaf)

    x.register_post_accumulate_grad_hook(hook)
    (x * x).sum().backward()


def raising_node_hook():
    y = leaf() * 2
    y.grad_fn.register_hook(lambda *grads: 1 / 0)
    y.sum().backward()


def raising_pack(where):
    def fail(t):
        raise ZeroDivisionError(t)

    with torch.autograd.graph.saved_tensors_hooks(fail if where == "pack" else lambda t: [t], fail):
        y = (leaf() * leaf()).exp()
    y.sum().backward()


def raising_in_anomaly_mode():
    with torch.autograd.detect_anomaly():
        x = torch.zeros(8, requires_grad=True)
        (x * (x / x)).sum().backward()


def modified():
    x = leaf()
    y = x.exp()
    z = y * 2
    y.add_(1)
    z.sum().backward()


def twice():
    y = (leaf() ** 2).sum()
    y.backward()
    y.backward()


RAISING_GRAPHS = {
    "hook": raising_hook,
    "leaf hook": raising_leaf_hook,
    "node hook": raising_node_hook,
    "forward": lambda: Fails.apply(leaf(), "forward"),
    "backward": lambda: (Fails.apply(leaf() * 1, "backward") * 2).sum().backward(),
    "value": lambda: Fails.apply(leaf(), "value").sum().backward(),
    "pack": lambda: raising_pack("pack"),
    "unpack": lambda: raising_pack("unpack"),
    "anomaly": raising_in_anomaly_mode,
    "modified": modified,
    "twice": twice,
    "no scalar": lambda: (leaf() * 2).backward(),
    "shape": lambda: (leaf() * 2).backward(torch.ones(7)),
    "unused": lambda: torch.autograd.grad((leaf() * 2).sum(), [leaf()]),
    "no graph": lambda: torch.ones(1).backward(),
    "hook on nothing": lambda: torch.ones(1).register_hook(print),
    "not callable": lambda: leaf().register_hook(3),
    "view of leaf": lambda: leaf()[:2].mul_(2),
    "no jvp": lambda: torch.autograd.functional.jvp(lambda x: x, leaf(), torch.ones(7)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RAISING_GRAPHS)
def test_errors_of_graphs_leave_nothing(name):
    def call():
        try:
            RAISING_GRAPHS[name]()
        except (RuntimeError, TypeError, ZeroDivisionError):
            return
        raise AssertionError("the call was meant to raise")

    check(call, FAILURES)
    assert torch.is_grad_enabled()


def test_removed_hooks_are_forgotten():
    x = leaf()
    y = x * 2
    node, kept = y.grad_fn, []

    def replace():
        """One is always there: the new one comes before the old one goes."""
        kept.append(x.register_hook(lambda g: None))
        if len(kept) > 1:
            kept.pop(0).remove()

    for add in (
        lambda: x.register_hook(len).remove(),
        lambda: y.register_hook(len).remove(),
        lambda: x.register_post_accumulate_grad_hook(len).remove(),
        lambda: node.register_hook(len).remove(),
        lambda: node.register_prehook(len).remove(),
        replace,
    ):
        check(add, CALLS)


@pytest.mark.parametrize("kind", ["leaf", "result", "accumulated", "pre", "post"])
def test_hooks_come_and_go_while_they_run(kind):
    """Each that is there when the pass comes by is called once, also one that another removes then, as in PyTorch; one
    that is added then, from the next pass on."""
    x = leaf()
    y = x * 2
    add = {
        "leaf": lambda: x.register_hook,
        "result": lambda: y.register_hook,
        "accumulated": lambda: x.register_post_accumulate_grad_hook,
        "pre": lambda: y.grad_fn.register_prehook,
        "post": lambda: y.grad_fn.register_hook,
    }[kind]()
    calls, handles = [], []

    def hook(name, *, meanwhile=None):
        def called(*grads):
            calls.append(name)
            if meanwhile:
                meanwhile()

        handles.append(add(called))

    def change():
        for i in range(20):
            hook(f"new {i}")
        handles[5].remove()

    for i in range(4):
        hook(f"early {i}")
    for i in range(3):
        handles[i].remove()
    hook("first", meanwhile=lambda: calls.count("first") == 1 and change())
    for name in ("gone", "second", "third"):
        hook(name)
    y.sum().backward(retain_graph=True)
    assert calls == ["early 3", "first", "gone", "second", "third"]
    del calls[:]
    y.sum().backward()
    assert calls == ["early 3", "first", "second", "third", *(f"new {i}" for i in range(20))]


def test_only_what_can_be_in_a_cycle_is_looked_after():
    """Note [Tensors and the garbage collector] in csrc/python/py_tensor.cpp, both ways."""
    x = leaf()
    for t in (torch.ones(3), x, x * 2, (x * 2)[1:], x.detach(), torch.ones(2, 2) @ torch.ones(2, 2)):
        assert not gc.is_tracked(t)
    with_attribute, hooked, hooked_result, asked, own = torch.ones(3), leaf(), x * 2, x * 2, Double.apply(x)
    with_attribute.note = 1
    hooked.register_hook(len)
    hooked_result.register_hook(len)
    assert asked.grad_fn is not None  # which may get hooks
    for t in (with_attribute, hooked, hooked_result, asked, own, MINE([1.0])):
        assert gc.is_tracked(t)


def test_weak_references_end_with_the_object():
    x = leaf()
    y = x * x  # the graph keeps the memory of x, not the object
    accumulator = y.grad_fn.next_functions[0][0]
    calls = []

    def died(reference):
        calls.append(reference)
        assert reference() is None
        found = accumulator.variable  # not the object that is just being taken apart
        found.again = found
        calls.append(found)

    reference = weakref.ref(x, died)
    old = id(x)
    del x
    assert calls[0] is reference and reference() is None
    assert id(calls[1]) != old and calls[1].again is calls[1] and calls[1].tolist() == [1.0] * 8
    assert calls[1] is accumulator.variable
    y.sum().backward()
    assert calls[1].grad.tolist() == [2.0] * 8

    t = torch.ones(3)
    t.me = t
    reference = weakref.ref(t)
    del t
    gc.collect()
    assert reference() is None


def test_objects_that_come_back():
    saved = []

    class Returns(torch.Tensor):
        def __del__(self):
            saved.append(self)

    for in_a_cycle in (False, True):
        gc.collect()
        before = tensor_bytes()
        x = Returns([1.0, 2.0, 3.0])
        assert type(x) is Returns
        x.note = "kept"
        if in_a_cycle:
            x.me = x
        del x
        gc.collect()
        x = saved.pop()
        assert x.note == "kept" and x.sum().item() == 6.0 and (x + 1).tolist() == [2.0, 3.0, 4.0]
        x.requires_grad_()
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0, 4.0, 6.0]
        del x
        gc.collect()
        saved.clear()  # it comes back only once
        gc.collect()
        assert tensor_bytes() == before


def test_attributes_come_back():
    class Thing:
        pass

    thing = Thing()
    seen = weakref.ref(thing)
    leaf, grad = torch.zeros(2), torch.ones(2)
    grad.label, grad.thing = "first", thing
    leaf.grad = grad
    del grad, thing
    gc.collect()
    assert leaf.grad.label == "first" and leaf.grad.thing is seen()
    leaf.grad.label = "second"
    assert leaf.grad.label == "second" and type(leaf.grad) is torch.Tensor
    leaf.grad = None
    gc.collect()
    assert seen() is None


def test_a_hook_outlives_the_object_of_its_leaf():
    """What the graph needs is not garbage, although only the graph leads to it."""
    seen = []

    def graph():
        x = leaf()
        x.register_hook(lambda g: seen.append(("leaf", x.shape)))
        y = Double.apply(x)
        y.register_hook(lambda g: seen.append(("result", y.shape)))
        y.grad_fn.note = y
        y.grad_fn.register_prehook(lambda g: seen.append(("node", y.grad_fn.note.shape)))
        return y.sum()

    z = graph()
    for _ in range(3):
        gc.collect()
    z.backward()
    assert sorted(seen) == [("leaf", (8,)), ("node", (8,)), ("result", (8,))]
