"""Nodes of the graph as Python sees them: called, described, and as places where gradients are asked for."""

import gc
import re
import weakref

import pytest
import strided

torch = pytest.importorskip("torch")
BOTH = torch, strided


def text(error):
    return re.sub(r"\s*Exception raised from.*", "", str(error), flags=re.S)


def shown(x):
    if isinstance(x, (torch.Tensor, strided.Tensor)):
        return x.tolist(), tuple(x.shape), x.requires_grad
    return [shown(y) for y in x] if isinstance(x, (list, tuple)) else x


def outcome(t, f):
    try:
        return shown(f(t))
    except Exception as e:
        return type(e).__name__, text(e)


def leaf(t, *values):
    return t.tensor(values or (1.0, 2.0), requires_grad=True)


def called_and_freed(t):
    y = leaf(t).exp()
    (y * 1).sum().backward()
    return y.grad_fn(t.ones(2))


def hooked(t):
    y, calls = leaf(t) * leaf(t), []
    y.grad_fn.register_prehook(lambda grads: calls.append("before"))
    y.grad_fn.register_hook(lambda *grads: calls.append("after"))
    return y.grad_fn(t.ones(2)), calls


def filled(t):
    x = leaf(t)
    node = (x * 2).grad_fn.next_functions[0][0]
    return node(t.ones(2)), node(t.tensor([1.0, 10.0])), x.grad


CALLS = {
    "of two inputs": lambda t: (leaf(t) * leaf(t, 3.0, 4.0)).grad_fn(t.tensor([1.0, 10.0])),
    "of one": lambda t: leaf(t).exp().grad_fn(t.ones(2)),
    "by a number": lambda t: (leaf(t) * 2).grad_fn(t.ones(2, requires_grad=True)),
    "nothing": lambda t: leaf(t).exp().grad_fn(None),
    "one of two outputs": lambda t: leaf(t).unbind(0)[0].grad_fn(t.tensor(3.0), None),
    "a sum": lambda t: leaf(t).sum().grad_fn(t.tensor(2.0)),
    "twice": lambda t: [node(t.ones(2)) for node in [leaf(t).exp().grad_fn] * 2],
    "freed": called_and_freed,
    "hooks stay silent": hooked,
    "a leaf": filled,
    "too few": lambda t: leaf(t).unbind(0)[0].grad_fn(t.tensor(3.0)),
    "too many": lambda t: leaf(t).exp().grad_fn(t.ones(2), t.ones(2)),
    "a keyword": lambda t: leaf(t).exp().grad_fn(g=t.ones(2)),
    "a number as gradient": lambda t: leaf(t).exp().grad_fn(1.0),
}


@pytest.mark.parametrize("what", CALLS)
def test_nodes_are_called(what):
    assert outcome(strided, CALLS[what]) == outcome(torch, CALLS[what])


def test_a_call_under_no_grad_is_not_recorded():
    for t in BOTH:
        with t.no_grad():
            assert not leaf(t).exp().requires_grad
        y = leaf(t).exp()
        with t.no_grad():
            assert not y.grad_fn(t.ones(2)).requires_grad
        assert y.grad_fn(t.ones(2)).requires_grad


def test_what_a_node_knows_of_its_outputs():
    def described(t):
        x = t.ones(2, 3, dtype=t.float64, requires_grad=True)
        nodes = (x * 2).grad_fn, x.unbind(0)[1].grad_fn, (x * 2).grad_fn.next_functions[0][0]
        return [
            (str(m.dtype), str(m.device), list(m.shape), m.is_nested_tensor) for n in nodes for m in n._input_metadata
        ]

    assert described(strided) == described(torch)


def test_names_of_saved_tensors_are_listed():
    for t in BOTH:
        x = leaf(t)
        assert {"_saved_self", "_saved_other"} <= set(dir((x * x.exp()).grad_fn))
        assert "_saved_result" in dir(x.exp().grad_fn)
        assert "_saved_result" not in dir((x + x).grad_fn)


def test_the_node_of_a_leaf_has_a_long_name():
    for lib in BOTH:
        y = lib.ones(2, requires_grad=True) * 2
        assert y.grad_fn.name() == "MulBackward0"
        assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_classes_of_nodes_have_short_names():
    for t in BOTH:
        node = leaf(t).exp().grad_fn
        assert repr(type(node)) == "<class 'ExpBackward0'>"
        with pytest.raises(AttributeError, match="^'ExpBackward0' object has no attribute 'nothing'$"):
            node.nothing  # noqa: B018


def backward_to(choose):
    def run(t):
        x = leaf(t)
        y = x * 3
        y.sum().backward(inputs=choose(t.autograd.graph.get_gradient_edge(x)))
        return x.grad

    return run


def under_no_grad(t):
    x = leaf(t)
    with t.no_grad():
        edge = t.autograd.graph.get_gradient_edge(x)
    return type(edge.node).__name__, edge.output_nr, edge._fields, t.autograd.grad((x * 3).sum(), edge)


EDGES = {
    "backward to one": backward_to(lambda edge: edge),
    "backward to some": backward_to(lambda edge: [edge]),
    "backward to none": backward_to(lambda edge: []),
    "under no_grad": under_no_grad,
}


@pytest.mark.parametrize("what", EDGES)
def test_places_in_the_graph(what):
    assert outcome(strided, EDGES[what]) == outcome(torch, EDGES[what])


@pytest.mark.parametrize("given", [3, [3], ()], ids=repr)
def test_changes_are_counted_for_tensors_only(given):
    def count(t):
        return t.autograd.graph.increment_version(given)

    assert outcome(strided, count) == outcome(torch, count)


def test_hooks_on_several_tensors_have_a_removable_handle():
    for t in BOTH:
        x, calls = leaf(t), []
        handle = t.autograd.graph.register_multi_grad_hook((x,), calls.append)
        assert isinstance(handle, t.utils.hooks.RemovableHandle)
        with handle:
            x.sum().backward()
        x.sum().backward()
        assert len(calls) == 1


def test_no_hook_stays_when_one_tensor_takes_none():
    for t in BOTH:
        x = leaf(t)
        with pytest.raises((RuntimeError, AssertionError)):
            t.autograd.graph.register_multi_grad_hook((x, t.ones(2)), lambda grads: 1 / 0)
        x.sum().backward()


def functions_of_leaf(t):
    x = leaf(t)
    found = [x._backward_hooks, x._post_accumulate_grad_hooks]
    handles = x.register_hook(abs), x.register_hook(len), x.register_post_accumulate_grad_hook(repr)
    for hooks, own in (x._backward_hooks, handles[:2]), (x._post_accumulate_grad_hooks, handles[2:]):
        found += type(hooks).__name__, list(hooks) == [h.id for h in own], list(hooks.values())
    handles[0].remove()
    found += (list(x._backward_hooks.values()),)
    handles[1].remove()
    return [*found, len(x._backward_hooks)]


def functions_of_result(t):
    x = leaf(t)
    first, second = (x * 2).split(1)
    second.register_hook(abs)
    return first._backward_hooks, list(second._backward_hooks.values()), x._backward_hooks


def functions_that_were_set(t):
    x, y = leaf(t), leaf(t)
    x.register_hook(lambda g: g * 2)
    x._backward_hooks = {7: lambda g: g * 10}
    (x * 3).sum().backward()
    y.register_hook(lambda g: g * 2)
    y._backward_hooks = None
    (y * 3).sum().backward()
    plain = t.ones(1)
    plain._backward_hooks = {}
    return x.grad, len(x._backward_hooks), y.grad, y._backward_hooks


@pytest.mark.parametrize("functions", [functions_of_leaf, functions_of_result, functions_that_were_set])
def test_functions_of_hooks_are_shown(functions):
    assert outcome(strided, functions) == outcome(torch, functions)


def test_the_node_that_a_pass_has_come_to():
    import strided._as_torch.core_names as names

    names.install()

    def seen(t):
        log, x = [], leaf(t)

        def look(*grads):
            log.append((type(t._C._current_autograd_node()).__name__, t._C._current_graph_task_id() >= 0))

        y = x.exp()
        for register in x.register_hook, y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook:
            register(look)
        y.sum().backward()
        return log, t._C._current_autograd_node(), t._C._current_graph_task_id()

    assert outcome(strided, seen) == outcome(torch, seen)


@pytest.mark.parametrize("name", ["data", "grad", "_backward_hooks"])
def test_attributes_are_deleted_as_there(name):
    assert outcome(strided, lambda t: delattr(leaf(t), name)) == outcome(torch, lambda t: delattr(leaf(t), name))


def small_network(t, watched):
    functional = t.nn.functional
    w, b, scale, shift = (watched(name, *shape) for name, shape in zip("wbsh", ((4, 3), (4,), (4,), (4,))))
    return functional.layer_norm(functional.linear(t.ones(2, 3), w, b).exp(), (4,), scale, shift)


GRAPHS = {
    "two leaves of one node": lambda t, leaf: leaf("a", 2) + leaf("b", 2),
    "a leaf for each node": lambda t, leaf: leaf("a", 2) * leaf("b", 2) * leaf("c", 2),
    "three leaves of one node": lambda t, leaf: t.addmm(leaf("a", 2, 2), leaf("b", 2, 2), leaf("c", 2, 2)),
    "leaves of two branches": lambda t, leaf: (leaf("a", 2) + leaf("b", 2)) * (leaf("c", 2) + leaf("d", 2)),
    "a list": lambda t, leaf: t.stack([leaf("a", 2), leaf("b", 2), leaf("c", 2)]),
    "a leaf used twice": lambda t, leaf: (lambda a: leaf("b", 2) * a * leaf("c", 2) * a)(leaf("a", 2)),
    "a leaf used by the first and the last node": lambda t, leaf: (lambda a: (a * leaf("b", 2)).exp() + a)(
        leaf("a", 2)
    ),
    "a network": small_network,
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_order_in_which_leaves_get_their_gradients(graph):
    orders = []
    for t in BOTH:
        order = []

        def leaf(name, *shape, t=t, order=order):
            made = t.ones(shape).requires_grad_()
            made.register_hook(lambda g: order.append(f"gradient of {name}"))
            made.register_post_accumulate_grad_hook(lambda made: order.append(name))
            return made

        GRAPHS[graph](t, leaf).sum().backward()
        orders.append(order)
    assert orders[0] == orders[1]


def test_the_number_of_a_leaf_s_node_is_the_largest():
    for t in BOTH:
        y = t.ones(2, requires_grad=True).exp()
        assert y.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1 > y.grad_fn._sequence_nr()


@pytest.mark.parametrize(
    "make", [lambda t, x: x.exp(), lambda t, x: t._foreach_exp([x, x])[0], lambda t, x: x.expand(2, 2)]
)
def test_metadata_stays_with_the_node(make):
    class Object:
        pass

    for t in BOTH:
        y = make(t, leaf(t))
        y.grad_fn.metadata["a"] = Object()
        gc.collect()
        assert list(y.grad_fn.metadata) == ["a"]
        seen = weakref.ref(y.grad_fn.metadata["a"])
        del y
        gc.collect()
        assert seen() is None


def test_metadata_that_leads_back_to_its_node_is_collected():
    y = leaf(strided).exp()
    y.grad_fn.metadata["node"] = y.grad_fn
    seen = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert seen() is None
