"""Nodes that no gradient arrives at: they run, and hooks see None."""

import pytest
from torch_compare import Scenarios, leaf, numbers, outcome

scenario = Scenarios("test_autograd_undefined")


def _stops(t, log):
    class Stops(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            log.append("stops")

    return Stops


def _triples(t, log, materializes=True):
    class Triples(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materializes)
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            log.append(numbers(grad))
            return None if grad is None else grad * 3

    return Triples


@scenario
def backward_without_a_gradient(t):
    result = []
    for materializes in (True, False):
        for between in (lambda x: x, lambda x: x.sin().exp(), lambda x: x.unbind()[1]):
            log = []
            f, stops = _triples(t, log, materializes).apply, _stops(t, log).apply
            x = leaf(t)
            (stops(between(f(x) + f(x * 1))).sum()).backward()
            result.append([log.copy(), numbers(x.grad)])
            log.clear()
            found = t.autograd.grad(stops(between(f(x))).sum(), x, allow_unused=True)[0]
            result.append([log, numbers(found)])
    return result


@scenario
def waits_for_what_gets_no_gradient(t):
    log = []

    class Joins(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            return x.detach()

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x = leaf(t)
    other = _triples(t, log).apply(leaf(t))
    Joins.apply(x * 2, other).sum().backward()
    return [log, numbers(x.grad)]


@scenario
def hooks_without_a_gradient(t):
    log = []
    x = leaf(t)
    middle = x * 3
    middle.retain_grad()
    first, second = middle.unbind()[:2]
    second.register_hook(lambda g: log.append(["second", numbers(g)]))
    for tensor, name in ((x, "x"), (middle, "middle")):
        tensor.register_hook(lambda g, name=name: log.append([name, numbers(g)]))
    x.register_post_accumulate_grad_hook(lambda p: log.append(["post", numbers(p.grad)]))
    middle.grad_fn.register_prehook(lambda given: log.append(["before", [numbers(g) for g in given]]))
    middle.grad_fn.register_hook(lambda gives, given: log.append(["after", [numbers(g) for g in gives]]))
    first.backward(retain_graph=True)
    _stops(t, log).apply(middle).sum().backward()
    _stops(t, log).apply(x).sum().backward()
    y = leaf(t)
    y.register_hook(lambda g: t.ones(3))
    replaced = outcome(lambda: _stops(t, log).apply(y).sum().backward())
    return [log, numbers(middle.grad), numbers(x.grad), replaced, numbers(y.grad)]


@scenario
def numbers_of_gradients(t):
    x = leaf(t)
    one, two, three = t.tensor(1.0), t.tensor(2.0), t.tensor(3.0)

    def both(losses, given):
        x.grad = None
        t.autograd.backward(losses(), given)
        return [numbers(x.grad), numbers(t.autograd.grad(losses(), x, given)[0])]

    return [
        both(lambda: [(x * 2).sum()], [one, two]),
        both(lambda: ((x * 2).sum(), (x * x).sum()), (one, two, three)),
        outcome(both, lambda: [(x * 2).sum(), x.sum()], [one]),
    ]


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)
