"""Backward passes in several Python threads at once: over graphs of their own and over one, into the same leaves."""

import sys
import threading
import warnings

import pytest
import strided as torch
from threads_at_once import run_at_once


def _network(x, w, k):
    return ((x * w).sum() * k + (x.view(2, -1).sum(0) * 2)[:3].sum()) * 1.0


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("n", [6, 60_000])
def test_backward_into_the_same_leaves(n, create_graph):
    """Whole numbers, so that sums are exact in any order. Large ones are added without the interpreter's lock."""
    torch.set_num_threads(1)
    x = torch.ones(n, dtype=torch.float64, requires_grad=True)
    w = torch.full((n,), 2.0, dtype=torch.float64, requires_grad=True)
    rounds = 20 if n > 6 else 100
    seen = []
    w.register_post_accumulate_grad_hook(lambda t: seen.append(t is w))

    def work(k):
        for _ in range(rounds):
            loss = _network(x, w, k)
            if create_graph:
                gx, gw = torch.autograd.grad(loss, [x, w], create_graph=True)
                assert gx.requires_grad
                loss = (gx * gx.detach()).sum() + gw.sum()  # a gradient for each leaf through both
            loss.backward()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_at_once([lambda k=k: work(k) for k in (1, 2, 3)])

    alone_x, alone_w = (t.detach().clone().requires_grad_() for t in (x, w))
    shared, x, w = (x, w), alone_x, alone_w
    for k in (1, 2, 3):
        work(k)
    for together, alone in zip(shared, (x, w)):
        assert torch.equal(together.grad, alone.grad) and bool((alone.grad != 0).any())
    assert seen == [True] * (3 * rounds)


def test_recorded_accumulation_from_threads():
    x = torch.ones(4, dtype=torch.float64, requires_grad=True)

    def work():
        for _ in range(50):
            (x * 3.0).sum().backward(create_graph=True)
            (x * x.detach()).sum().backward(create_graph=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_at_once([work] * 3)
    assert x.grad.tolist() == [3 * 50 * 4.0] * 4


def test_everything_at_once():
    """Backward passes beside all kinds of other work on the same tensors."""
    torch.set_num_threads(2)
    a = torch.rand(60, 60, dtype=torch.float64) + 10 * torch.eye(60)
    x = torch.ones(60, 60, dtype=torch.float64, requires_grad=True)
    b = torch.rand(20_000, dtype=torch.float64)
    product, solved, ordered = a @ a, torch.linalg.solve(a, a), b.sort().values
    stop = threading.Event()

    def backward():
        try:
            for _ in range(40):
                (torch.linalg.solve(a, x) @ a).sum().backward()
                (x * 2).tanh().cumsum(0).sum().backward()
        finally:
            stop.set()

    def matrices():
        while not stop.is_set():
            assert torch.equal(a @ a, product) and torch.equal(torch.linalg.solve(a, a), solved)

    def orders():
        while not stop.is_set():
            assert torch.equal(b.sort().values, ordered)

    def reads():
        while not stop.is_set():
            repr(x), x[3, 4:].tolist(), x[x > 0].sum().item(), repr(x.grad)
            assert x.detach()[1, 2].item() == 1.0

    def draws():
        while not stop.is_set():
            assert torch.rand(10_000).max().item() < 1
            torch.get_rng_state()

    run_at_once([backward, matrices, orders, reads, draws])
    assert bool(torch.isfinite(x.grad).all())


def test_gradients_taken_away_meanwhile():
    """x.grad is added to without the interpreter's lock; who sets it to None must not free what is written to."""
    torch.set_num_threads(1)
    x = torch.ones(400_000, requires_grad=True)
    stop = threading.Event()

    def take():
        while not stop.is_set():
            x.grad = None

    def give():
        try:
            for _ in range(60):
                x.sum().backward()
        finally:
            stop.set()

    run_at_once([take, give])
    x.grad = None
    x.sum().backward()
    assert x.grad.sum().item() == 400_000


def test_one_graph_in_two_threads():
    """Both may run it when it is kept. When it is freed the later one is told so, or is as fast as the other."""
    torch.set_num_threads(1)
    a = torch.rand(120, 120, dtype=torch.float64, requires_grad=True)
    m = torch.rand(120, 120, dtype=torch.float64) / 60

    def graph():
        y = a
        for _ in range(6):
            y = ((y @ m) * y).tanh()
        return y.sum()

    y = graph()
    (expected,) = torch.autograd.grad(y, [a], retain_graph=True)

    def keep():
        for _ in range(10):
            assert torch.equal(torch.autograd.grad(y, [a], retain_graph=True)[0], expected)

    run_at_once([keep] * 3)
    outcomes = []

    def once(y):
        try:
            outcomes.append(torch.equal(torch.autograd.grad(y, [a])[0], expected))
        except RuntimeError as error:
            outcomes.append("a second time" in str(error))

    for _ in range(30):
        y = graph()
        run_at_once([lambda: once(y)] * 2)
    assert outcomes == [True] * 60


def test_anomaly_mode_in_threads():
    """Every new node runs Python there: no lock may be held meanwhile."""
    x = torch.ones(3, requires_grad=True)
    before = sys.getswitchinterval()

    def work():
        for _ in range(60):
            (x * 2).sum().backward()

    sys.setswitchinterval(1e-5)
    try:
        with torch.autograd.detect_anomaly():
            run_at_once([work] * 4)
    finally:
        sys.setswitchinterval(before)
    assert x.grad.tolist() == [480.0] * 3


def test_hooks_and_functions_in_threads():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx, grad):
            assert ctx.saved_tensors[0].shape == grad.shape
            return grad * ctx.k, None

    x = torch.ones(5, dtype=torch.float64, requires_grad=True)

    def work(k):
        for _ in range(60):
            kept = []
            y = Scale.apply(x, k)
            y.register_hook(kept.append)
            handle = x.register_hook(lambda g: g * 1)
            with torch.autograd.graph.saved_tensors_hooks(lambda t: (k, t), lambda kept: kept[1]):
                z = (y * y.detach()).sum()
            z.backward()
            handle.remove()
            assert kept[0].tolist() == [k] * 5

    run_at_once([lambda k=k: work(k) for k in (1.0, 2.0, 3.0)])
    assert x.grad.tolist() == [60.0 * (1 + 4 + 9)] * 5
