"""The backward pass: its arguments and errors, which nodes run, what .grad is, long chains, memory."""

import contextlib
import gc
import sys
import threading
import warnings

import pytest
import strided
from torch_compare import Scenarios, kind, leaf, numbers, outcome, warned

scenario = Scenarios("test_autograd_engine")


def probe(t, log, tag):
    """The identity that notes when its backward runs."""

    class Probe(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            log.append(tag)
            return g

    return Probe.apply


# ---------------------------------------------------------------- arguments of backward


@scenario
def what_backward_starts_with(t):
    x = leaf(t)
    y = x * 2
    result = [
        outcome(lambda: y.backward()),
        outcome(lambda: y.backward(t.ones(2))),
        outcome(lambda: y.backward(t.ones(3, 1))),
        outcome(lambda: y.backward(t.tensor(1.0))),
        kind(lambda: y.backward(1)),
        kind(lambda: y.backward([1.0, 1.0, 1.0])),
        kind(lambda: y.backward("text")),
        outcome(lambda: y.backward(t.ones(3, dtype=t.complex64))),
        outcome(lambda: t.ones(3).backward()),
        outcome(lambda: t.ones(1).sum().backward()),
        outcome(lambda: (x > 1).sum().backward()),
        outcome(lambda: y.detach().sum().backward()),
        x.grad,
    ]
    y.backward(t.ones(3), retain_graph=True)
    result.append(x.grad)
    y.backward(gradient=t.tensor([1.0, 0.0, 0.0]), retain_graph=True)
    result.append(x.grad)
    y.backward(t.ones(3, dtype=t.float64), retain_graph=True)
    result.append(x.grad)
    y[1:2].backward(retain_graph=True)  # a single element of any shape
    result.append(x.grad)
    y.reshape(1, 3)[:, 0:1].backward()
    result.append(x.grad)
    x.backward(t.ones(3))
    result.append(x.grad)
    z = t.tensor([1 + 1j], requires_grad=True)
    result.append(outcome(lambda: (z * 2).backward()))
    result.append(outcome(lambda: (z * 2).backward(t.ones(1))))
    (z * 2).backward(t.tensor([1j]))
    return result + [z.grad]


@scenario
def several_outputs(t):
    x, w = leaf(t), leaf(t)
    y, z = (x * 2).sum(), x * w
    t.autograd.backward([y, z], [None, t.ones(3)])
    result = [x.grad, w.grad]
    y, z = (x * 2).sum(), (x * w).sum()
    t.autograd.backward((y, z))
    result += [x.grad, w.grad]
    y = (x * 2).sum()
    t.autograd.backward(y, t.tensor(3.0))
    result.append(x.grad)
    y, z = (x * 2).sum(), x * w
    result += [
        kind(lambda: t.autograd.backward([y, z], [None])),
        outcome(lambda: t.autograd.backward([y, z])),
        kind(lambda: t.autograd.backward([y, z], [None, t.ones(2)])),
        outcome(lambda: t.autograd.backward([y, t.ones(1)])),
        kind(lambda: t.autograd.backward([])),
        x.grad,
    ]
    t.autograd.backward([y, y], [t.tensor(1.0), t.tensor(10.0)])  # twice the same
    return result + [x.grad]


@scenario
def inputs_of_backward(t):
    x, w, u = leaf(t), leaf(t), leaf(t)
    y = x * w
    z = (y * y).sum()
    z.backward(inputs=[x], retain_graph=True)
    result = [x.grad, w.grad]
    z.backward(inputs=w, retain_graph=True)
    result += [x.grad, w.grad]
    z.backward(inputs=(x, y), retain_graph=True)
    result += [x.grad, y.grad]
    result += [
        outcome(lambda: z.backward(inputs=[], retain_graph=True)),
        kind(lambda: z.backward(inputs=[t.ones(2)], retain_graph=True)),
    ]
    z.backward(inputs=[u, x], retain_graph=True)  # one that is not in the graph is let pass
    result += [u.grad, x.grad]
    t.autograd.backward(z, inputs=[w])
    result += [w.grad, x.grad]
    v = y.detach().requires_grad_()
    v.backward(t.ones(3), inputs=[v])
    return result + [v.grad]


@scenario
def retain_graph(t):
    x = leaf(t)
    y = x.exp()
    z = y * 2
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    result = [outcome(lambda: z.sum().backward()), outcome(lambda: y.sum().backward()), x.grad]
    w = x + 1  # nothing saved: as often as wanted
    for _ in range(3):
        w.sum().backward()
    result.append(x.grad)
    y = x.exp()
    a, b = y * 2, y * 3
    a.sum().backward()
    result += [outcome(lambda: b.sum().backward()), x.grad]
    y = x * x
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    result += [g.requires_grad]
    y.sum().backward()
    result += [outcome(lambda: y.sum().backward())[0], outcome(lambda: numbers(t.autograd.grad(g.sum(), x)[0]))]
    y = x * x
    t.autograd.grad(y.sum(), x, retain_graph=False, create_graph=True)
    result.append(outcome(lambda: y.sum().backward()))
    return result


@scenario
def freeing_goes_part_way(t):
    """What the pass has come through is freed, also when inputs= ends it early."""
    x = leaf(t)
    y = x.exp()
    z = y.exp()
    t.autograd.grad(z.sum(), y)
    result = [outcome(lambda: t.autograd.grad(z.sum(), y)), outcome(lambda: numbers(t.autograd.grad(y.sum(), x)[0]))]
    return result


# ---------------------------------------------------------------- arguments of grad


@scenario
def grad(t):
    x, w, u = leaf(t), leaf(t), leaf(t)
    y = x * w
    z = (y * y).sum()
    f = t.autograd.grad
    result = [
        f(z, x, retain_graph=True),
        f(z, [x, w, y], retain_graph=True),
        f(z, (y, y, x), retain_graph=True),
        f(z, z, retain_graph=True),
        f([z, y], [x], [None, t.ones(3)], retain_graph=True),
        f(y, x, t.ones(3), retain_graph=True),
        f((y, z), x, (t.ones(3), t.tensor(2.0)), retain_graph=True),
        outcome(lambda: f(z, u, retain_graph=True)),
        outcome(lambda: f(z, [x, u], retain_graph=True)),
        f(z, [x, u], allow_unused=True, retain_graph=True),
        outcome(lambda: f(z, [x, u], allow_unused=False, retain_graph=True)),
        f(z, [x, u], materialize_grads=True, retain_graph=True),
        kind(lambda: f(z, [x, u], allow_unused=False, materialize_grads=True, retain_graph=True)),
        outcome(lambda: f(z, t.ones(3), retain_graph=True)),
        outcome(lambda: f(z, [x, t.ones(3)], retain_graph=True)),
        outcome(lambda: f(y, x, retain_graph=True)),
        outcome(lambda: f(y, x, t.ones(2), retain_graph=True)),
        f(z, {"first": x, 2: w}, retain_graph=True),
        warned(lambda: f(z, x, only_inputs=False, retain_graph=True)),
        outcome(lambda: f(t.ones(3).sum(), x)),
        outcome(lambda: f(z, [], retain_graph=True)),
        f(x, x, t.ones(3)),
        kind(lambda: f(x.sum(), w)),
        x.grad,
    ]
    return result


@scenario
def unused_inputs_with_graph(t):
    x, u = leaf(t), leaf(t)
    g, h = t.autograd.grad((x * 2).sum(), [x, u], create_graph=True, materialize_grads=True)
    result = [g.requires_grad, h.requires_grad, g, h]
    (g,) = t.autograd.grad((x * 2).sum(), x, create_graph=True)
    result.append(outcome(lambda: t.autograd.grad(g.sum(), x)))
    y = x.detach() * u
    return result + [outcome(lambda: t.autograd.grad(y.sum(), x))]


@scenario
def batched(t):
    x, w = leaf(t), leaf(t, 1.0, -1.0, 2.0)
    y = x * w
    v = t.arange(6.0).reshape(2, 3)
    result = list(t.autograd.grad(y, (x, w), v, is_grads_batched=True, retain_graph=True))
    result += list(
        t.autograd.grad((y, y.sum()), (x, w), (v, t.tensor([1.0, 2.0])), is_grads_batched=True, retain_graph=True)
    )
    result += list(t.autograd.grad(y, (x, leaf(t)), v, is_grads_batched=True, allow_unused=True, retain_graph=True))
    result += list(t.autograd.grad(y.sum(), x, t.ones(3), is_grads_batched=True, retain_graph=True))
    (g,) = t.autograd.grad((y * y).sum(), x, t.tensor([1.0, 2.0]), is_grads_batched=True, create_graph=True)
    result += [g, *t.autograd.grad(g.sum(), x)]
    y = x * w
    result += [
        kind(lambda: t.autograd.grad(y, x, t.ones(2, 2), is_grads_batched=True)),
        kind(lambda: t.autograd.grad(y, x, t.ones(3), is_grads_batched=True)),
        kind(lambda: t.autograd.grad(y, x, None, is_grads_batched=True)),
        kind(lambda: t.autograd.grad((y, y.sum()), x, (t.ones(2, 3), t.ones(3)), is_grads_batched=True)),
    ]
    return result


# ---------------------------------------------------------------- which nodes run


@scenario
def pruning(t):
    log = []
    x, w = leaf(t), leaf(t)
    a = probe(t, log, "a")(x)
    b = probe(t, log, "b")(w)
    c = probe(t, log, "c")(a * b)
    d = probe(t, log, "d")(c)
    e = probe(t, log, "e")(a)
    z = (d + e).sum()
    for tensor, tag in ((a, "hook a"), (b, "hook b"), (x, "hook x"), (w, "hook w"), (e, "hook e")):
        tensor.register_hook(lambda g, tag=tag: log.append(tag))
    w.register_post_accumulate_grad_hook(lambda p: log.append("post w"))
    b.grad_fn.register_hook(lambda i, o: log.append("node b"))
    b.grad_fn.register_prehook(lambda o: log.append("pre b"))

    def ran(call):
        log.clear()
        call()
        return sorted(log)

    grad = t.autograd.grad
    return [
        ran(lambda: grad(z, x, retain_graph=True)),
        ran(lambda: grad(z, w, retain_graph=True)),
        ran(lambda: grad(z, c, retain_graph=True)),
        ran(lambda: grad(z, b, retain_graph=True)),
        ran(lambda: grad(z, [c, e], retain_graph=True)),
        ran(lambda: grad(z, [a, w], retain_graph=True)),
        ran(lambda: z.backward(inputs=[x], retain_graph=True)),
        ran(lambda: z.backward(inputs=[x, w], retain_graph=True)),
        ran(lambda: z.backward(retain_graph=True)),
    ]


@scenario
def order_of_nodes(t):
    """Newest first."""
    log = []
    x = leaf(t)
    a = probe(t, log, "a")(x)
    b = probe(t, log, "b")(x)
    c = probe(t, log, "c")(a)
    d = probe(t, log, "d")(b)
    e = probe(t, log, "e")(a)
    (d + (e * c)).sum().backward()
    return log


@scenario
def diamonds(t):
    """A node runs once, when all of its gradients have come."""
    log = []
    x = leaf(t)
    y = probe(t, log, "y")(x)
    late = y * 3
    for _ in range(5):
        y = probe(t, log, "step")(y * 0.5 + y * y * 0.25)
    (y + late).sum().backward()
    return [log, x.grad]


@scenario
def undefined_gradients(t):
    """Nothing flows where a function gives None; what needs zeros gets them."""

    class Nothing(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x, w = leaf(t), leaf(t)
    y = Nothing.apply(x * 1)
    (y * w).sum().backward()
    result = [x.grad, w.grad]
    a, b, c = (x * 1).unbind()
    (a * 2).backward()
    result.append(x.grad)
    values, _ = (x * 1).sort()
    u, v = values.split([1, 2])
    v.sum().backward()
    return result + [x.grad]


# ---------------------------------------------------------------- accumulation


@scenario
def identity_of_grad(t):
    """Without a graph, what is there is added to: the same object, the same memory."""
    x = leaf(t)
    (x * 2).sum().backward()
    g = x.grad
    address, version = g.data_ptr(), g._version
    (x * 3).sum().backward()
    result = [x.grad is g, x.grad.data_ptr() == address, g, x.grad._version > version, g.requires_grad]
    (x**2).sum().backward(create_graph=True)
    result += [x.grad is g, g, x.grad, x.grad.requires_grad]
    x.grad = None
    (x**2).sum().backward(create_graph=True)
    result += [x.grad, x.grad.requires_grad]
    x.grad = g
    (x * 1).sum().backward()
    return result + [x.grad is g, g]


VIEWS = {
    "sum": lambda x: x + 0,
    "view": lambda x: x.view(3, 1),
    "reshape": lambda x: x.reshape(3),
    "expand": lambda x: x.expand(2, 3),
    "clone": lambda x: x.clone(),
    "subscript": lambda x: x[None],
    "to": lambda x: x.to(strided.float32),
    "transpose": lambda x: x.transpose(0, 0),
    "contiguous": lambda x: x.contiguous(),
    "itself": lambda x: x,
    "flip": lambda x: x.flip(0),
    "real": lambda x: x.to(strided.complex64).real,
}


@pytest.mark.parametrize("how", VIEWS)
def test_memory_of_grad(how):
    """.grad shares memory with nothing else: not with a gradient that was handed in (as PyTorch's does after a view),
    not with another leaf's, not with what a hook kept."""
    f = VIEWS[how]
    x, w = leaf(strided), leaf(strided)
    y = f(x) + f(w)
    start = strided.ones(y.shape)
    kept = []
    y.register_hook(kept.append)
    x.register_hook(kept.append)
    y.backward(start)
    before = [k.tolist() for k in kept]
    x.grad.mul_(5)
    assert start.tolist() == strided.ones(y.shape).tolist()
    assert w.grad.tolist() == [2.0 if how == "expand" else 1.0] * 3
    assert [k.tolist() for k in kept] == before


@scenario
def layout_of_grad(t):
    result = []
    for make in (
        lambda: t.ones(2, 3),
        lambda: t.ones(3, 2).t(),
        lambda: t.ones(2, 3, 4).permute(2, 0, 1),
        lambda: t.ones(4, 6)[::2, ::3],
        lambda: t.ones(3).expand(2, 3),
        lambda: t.ones(2, 1, 3),
        lambda: t.tensor(1.0),
        lambda: t.ones(0, 3),
    ):
        for f in (lambda x: x * 2, lambda x: x.sum(), lambda x: x.t() if x.ndim == 2 else x, lambda x: x.sin()):
            x = make().detach().requires_grad_()
            y = f(x)
            y.backward(t.ones(y.shape))
            g = x.grad
            result.append([list(g.stride()) if g.numel() else None, list(g.shape), g.is_contiguous()])
    return result


@scenario
def assigning_grad(t):
    x = leaf(t)
    result = []
    g = t.ones(3)
    x.grad = g
    (x * 2).sum().backward()
    result += [x.grad is g, g]
    del x.grad
    result.append(x.grad)
    for bad in (t.ones(2), t.ones(3, 1), t.ones(3, dtype=t.float64), 3, "text", t.ones(3, dtype=t.int64)):
        result.append(kind(lambda bad=bad: setattr(x, "grad", bad)))
    result.append(outcome(lambda: setattr(x, "grad", t.ones(2))))
    result.append(outcome(lambda: setattr(x, "grad", x)))
    plain = t.ones(2)
    plain.grad = t.ones(2)
    result.append(plain.grad)
    y = x * 2
    y.grad = t.zeros(3)
    result.append(y.grad)
    with t.no_grad():
        x.grad = x * 5
    x.grad.zero_()
    (x * 2).sum().backward()
    return result + [x.grad]


@scenario
def dtypes_of_gradients(t):
    """The gradient has the dtype of what it is the gradient of."""
    result = []
    x, d, c = leaf(t), leaf(t, dtype=t.float64), t.tensor([1 + 1j, 2.0, 1j], requires_grad=True)
    h = t.tensor([1.0, 2.0, 3.0], dtype=t.float16, requires_grad=True)
    for f in (
        lambda: x * d,
        lambda: x * c,
        lambda: d + c,
        lambda: h * x,
        lambda: t.where(x > 1, x, d),
        lambda: (x.to(t.complex64) * c).abs(),
        lambda: h.sum(dtype=t.float64),
    ):
        for v in (x, d, c, h):
            v.grad = None
        y = f()
        y.backward(t.ones(y.shape, dtype=y.dtype))
        result.append([str(y.dtype).split(".")[-1], *(v.grad for v in (x, d, c, h))])
    return result


@scenario
def the_grad_of_what_is_no_leaf(t):
    x = leaf(t)
    y = x * 2
    y.sum().backward()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        g = y.grad
    result = [g, len(caught), "non-leaf Tensor" in str(caught[0].message), caught[0].category.__name__]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x.grad, t.ones(2).grad, y.detach().grad
    return result + [len(caught)]


# ---------------------------------------------------------------- life


def chain(n):
    x = strided.ones(1, requires_grad=True)
    y = x
    for _ in range(n):
        y = y + 1
    return x, y


def test_a_million_nodes():
    """Neither backward nor destruction recurses: in a thread with a small stack, lest a large one hide it."""

    def work():
        try:
            x, y = chain(1_000_000)
            y.backward()
            assert x.grad.item() == 1
            (g,) = strided.autograd.grad(y, x)
            assert g.item() == 1
            del y
            x, y = chain(1_000_000)  # never used
            del x, y
            # wide ones: each node with two edges to the one before
            x = y = strided.ones(1, requires_grad=True)
            for _ in range(100_000):
                y = strided.add(y, y, alpha=-0.5)
            y.backward()
            del y
            y = strided.ones(1, requires_grad=True)
            for _ in range(100_000):
                y = y + y
            del y  # never used
            # through views of one base that is written to again and again
            b = x * 1
            for _ in range(20_000):
                b[:1].add_(1)
            b.backward()
            errors.append(None)
        except BaseException as error:
            errors.append(error)

    errors = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert errors == [None]


def test_a_long_chain_of_functions():
    class Next(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    def work():
        try:
            x = y = strided.ones(1, requires_grad=True)
            for _ in range(20_000):
                y = Next.apply(y)
            y.backward()
            assert x.grad.item() == 1
            del y
            x = y = strided.ones(1, requires_grad=True)
            for _ in range(20_000):
                y = Next.apply(y)
            del x, y
            gc.collect()
            errors.append(None)
        except BaseException as error:
            errors.append(error)

    errors = []
    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert errors == [None]


def allocated():
    gc.collect()
    strided.memory.empty_cache()
    return strided.memory.memory_stats()["allocated_bytes"]


def test_saved_tensors_are_freed_on_the_way():
    """While the pass is at the end of a chain, what its beginning saved is gone."""
    n, size = 20, 1 << 16
    x = strided.ones(size, requires_grad=True)
    seen = []
    y = x.exp() * 0.1
    y.register_hook(lambda g: seen.append(allocated()))
    for _ in range(n):
        y = y.exp() * 0.1
    y.register_hook(lambda g: seen.append(allocated()))
    start = strided.ones(size)
    y.backward(start)
    assert seen[0] - seen[1] > 0.8 * n * size * 4


@pytest.mark.parametrize("keep", [False, True])
def test_nothing_is_left_after_an_error(keep):
    """Memory after a pass that failed half way, once its graph is gone, is as before."""

    def fail(g):
        raise ValueError

    def run():
        x = strided.ones(1000, requires_grad=True)
        y = x.exp().sin()
        y.register_hook(fail)
        z = (y * y).tanh().sum()
        with contextlib.suppress(ValueError):
            z.backward(retain_graph=keep)

    run()
    before = allocated()
    run()
    run()
    assert allocated() == before


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)


# ---------------------------------------------------------------- the stack


def in_a_thread_of(kibibytes, f):
    found = []

    def run():
        try:
            found.append(f())
        except BaseException as problem:
            found.append(problem)

    limit, size = sys.getrecursionlimit(), threading.stack_size(kibibytes << 10)
    sys.setrecursionlimit(10**6)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    return found[0]


def nested(depth):
    """A backward pass in a backward pass, and so on."""

    class Nested(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.left:
                with strided.enable_grad():
                    x = strided.ones(1, requires_grad=True)
                    Nested.apply(x, ctx.left - 1).sum().backward()
            return grad, None

    x = strided.ones(1, requires_grad=True)
    Nested.apply(x, depth).sum().backward()
    return x.grad.item()


def hooked():
    """A hook that makes a backward pass that calls it."""
    x = strided.ones(1, requires_grad=True)

    def hook(grad):
        with strided.enable_grad():
            y = x * 2
            y.register_hook(hook)
            y.backward()

    hook(None)


def overridden():
    class Endless(strided.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    return Endless([1.0]) + 1


def test_calls_within_calls_end_before_the_stack_does():
    assert in_a_thread_of(8192, lambda: nested(100)) == 1
    for f in (lambda: nested(10**5), hooked, overridden):
        problem = in_a_thread_of(2048, f)
        assert isinstance(problem, RecursionError) and "stack" in str(problem)
        assert in_a_thread_of(2048, lambda: nested(10)) == 1
