"""Recording on and off, and anomaly mode."""

import inspect
import threading
import warnings

import numpy
import pytest
import strided
from torch_compare import Scenarios, kind, leaf, outcome

scenario = Scenarios("test_autograd_modes")


# ---------------------------------------------------------------- on and off


@scenario
def grad_modes(t):
    x = leaf(t)
    result = []
    with t.no_grad():
        y = x * 2
        result.append(outcome(lambda: y.sum().backward()))
        with t.enable_grad():
            y = (x * 2).sum()
        y.backward()
    result += [x.grad, t.is_grad_enabled()]
    t.set_grad_enabled(False)
    result.append((x * 2).requires_grad)
    t.set_grad_enabled(True)

    @t.no_grad()
    def f(k):
        return x * k

    @t.enable_grad()
    def g(k):
        return x * k

    @t.set_grad_enabled(False)
    def h(k):
        return x * k

    with t.no_grad():
        result.append([f(2).requires_grad, g(2).requires_grad, h(2).requires_grad, t.is_grad_enabled()])
    result.append([f(2).requires_grad, g(2).requires_grad, h(2).requires_grad, t.is_grad_enabled(), f.__name__])

    def generator():
        for _ in range(2):
            yield t.is_grad_enabled()

    with t.no_grad():
        inside = list(generator())
    result.append(inside)
    wrapped = t.no_grad()(generator)()
    seen = []
    for on in wrapped:
        seen.append([on, t.is_grad_enabled()])
    result.append(seen)

    def fails():
        with t.no_grad():
            raise ValueError

    result += [kind(fails), t.is_grad_enabled()]
    with t.inference_mode():
        result += [(x * 2).requires_grad, t.is_inference_mode_enabled()]
    result += [t.is_inference_mode_enabled()]
    with t.inference_mode(False):
        result.append((x * 2).requires_grad)
    return result + [t.is_grad_enabled()]


def test_a_mode_within_itself():
    for mode in (strided.no_grad(), strided.inference_mode(), strided.enable_grad()):
        with mode:
            with mode:
                pass
            assert strided.is_grad_enabled() == isinstance(mode, strided.enable_grad)
        assert strided.is_grad_enabled() and not strided.is_inference_mode_enabled()


def words(call):
    """The result of a call, or what it raises."""
    try:
        return call()
    except RuntimeError as error:
        return str(error)


@scenario
def inference_tensors(t):
    with t.inference_mode():
        a, b = t.ones(3), t.ones(3, requires_grad=True)
    x, g = t.ones(3), t.ones(3, requires_grad=True)
    made = [
        a,
        a.view(3),
        a[0],
        a.detach(),
        a.contiguous(),
        b,
        a.data,
        a.clone(),
        a + 1,
        a.to(t.float64),
        a.new_empty(2),
    ]
    result = [v.is_inference() for v in made] + [t.is_inference(a), b.requires_grad]
    writes = (
        lambda: a.add_(1), lambda: t.add(x, 1, out=a), lambda: a.fill_(0), lambda: a.zero_(), lambda: a.copy_(x),
        lambda: a.__setitem__(0, 3.0), lambda: a[:2].__setitem__(slice(None), 3.0), lambda: a.uniform_(),
        lambda: t.nn.functional.relu_(a), lambda: t._foreach_add_([a], 1), lambda: a.masked_fill_(a > 0, 1.0),
        lambda: a.t_(), lambda: a.squeeze_(),
    )  # fmt: skip
    result += [words(write) for write in writes]
    result += [
        words(lambda: a.requires_grad_()),
        words(lambda: setattr(a, "requires_grad", True)),
        words(lambda: a._version),
    ]
    result += [words(lambda: t.nn.Parameter(a)), t.nn.Parameter(a, requires_grad=False).is_inference()]
    result += [words(lambda: a * g), words(lambda: g.clone().mul_(a)), (g * a.clone()).tolist(), (a + g).requires_grad]
    result += [words(lambda: t.nn.functional.linear(a, g.expand(2, 3))), a.data.add_(1).tolist(), x.copy_(a).tolist()]
    with t.inference_mode():
        kept = [x.view(3), x.add_(1), x.detach(), x.T, g.clone(), t.from_numpy(numpy.ones(2))]
        result += [v.is_inference() for v in kept] + [a.add_(1).tolist(), a.clone().requires_grad_().requires_grad]
        with t.inference_mode(False):
            result += [(g * 2).requires_grad, t.ones(2).is_inference(), words(lambda: a.add_(1))]
        with t.enable_grad():
            result += [(g * 2).requires_grad, t.is_grad_enabled()]
        seen = x.view(3)
    return result + [seen.add_(1).tolist(), words(lambda: seen.mul_(g))]


def test_inference_mode_belongs_to_a_thread():
    made = []
    with strided.inference_mode():
        thread = threading.Thread(target=lambda: made.append(strided.ones(2).is_inference()))
        thread.start()
        thread.join()
        made.append(strided.ones(2).is_inference())
    assert made == [False, True]


def test_an_inference_tensor_keeps_its_size():
    with strided.inference_mode():
        a = strided.ones(3)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        a.resize_(2)
    assert a.shape == (3,)


@scenario
def generators(t):
    log = []

    @t.no_grad()
    def counting(n):
        try:
            for k in range(n):
                got = yield [k, t.is_grad_enabled()]
                log.append([got, t.is_grad_enabled()])
        except KeyError:
            log.append(["caught", t.is_grad_enabled()])
            yield "after"
        finally:
            log.append(["end", t.is_grad_enabled()])
        return "result"

    made = counting(3)
    result = [next(made), made.send("a"), t.is_grad_enabled(), made.throw(KeyError()), kind(lambda: next(made))]
    made = counting(2)
    next(made)
    made.close()
    result += [kind(lambda: next(made)), list(counting(1))]

    def outer():
        log.append((yield from counting(1)))

    return result + [list(outer()), log, t.is_grad_enabled()]


@scenario
def modes_belong_to_threads(t):
    seen = []
    with t.no_grad():
        thread = threading.Thread(target=lambda: seen.append(t.is_grad_enabled()))
        thread.start()
        thread.join()
        seen.append(t.is_grad_enabled())
    return seen


# ---------------------------------------------------------------- anomaly mode


class Catch:
    """Warnings and the error of a backward pass."""

    def __init__(self, call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.error = outcome(call)
        self.warnings = [
            str(w.message)
            for w in caught
            if "anomaly" not in str(w.message).lower() or "Error detected" in str(w.message)
        ]


@scenario
def anomaly(t):
    result = []

    def forward(x):
        return x.sqrt()

    x = leaf(t, -1.0, 4.0)
    with t.autograd.detect_anomaly():
        y = forward(x)
        caught = Catch(lambda: y.sum().backward())
    text = caught.warnings[0]
    result += [
        caught.error,
        len(caught.warnings),
        text.split(".")[0],
        "Traceback of forward call that caused the error" in text,
        "in forward" in text,
        "return x.sqrt()" in text,
    ]
    y = forward(x)
    y.sum().backward(retain_graph=True)
    result.append(x.grad)
    with t.autograd.detect_anomaly():  # the forward was outside
        caught = Catch(lambda: y.sum().backward(retain_graph=True))
    result += [caught.error, "No forward pass information available" in caught.warnings[0]]
    with t.autograd.detect_anomaly(check_nan=False):
        y = forward(x)
        caught = Catch(lambda: y.sum().backward())
    result += [caught.error, caught.warnings]
    with t.autograd.set_detect_anomaly(True):
        y = x.sqrt().log().sum()
        caught = Catch(lambda: y.backward())
        result += [caught.error]
        with t.autograd.set_detect_anomaly(False):
            y = x.sqrt().sum()
            caught = Catch(lambda: y.backward())
            result += [caught.error, caught.warnings]
    t.autograd.set_detect_anomaly(True)
    y = x.sqrt().sum()
    caught = Catch(lambda: y.backward())
    t.autograd.set_detect_anomaly(False)
    result += [caught.error, Catch(lambda: x.sqrt().sum().backward()).error]
    return result


@scenario
def anomaly_names_who_saved(t):
    """For a tensor changed in place the warning leads to the operation whose gradient failed."""
    x = leaf(t)
    with t.autograd.detect_anomaly():
        y = x.exp()
        z = y * 2
        y.add_(1)
        caught = Catch(lambda: z.sum().backward())
    text = caught.warnings[0]
    return [
        "Error detected in ExpBackward0" in text,
        "y = x.exp()" in text,
        "Good luck!" in caught.error[1],
        caught.error[0],
    ]


@scenario
def anomaly_in_a_function(t):
    class Bad(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    class Nan(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    x = leaf(t)
    result = []
    with t.autograd.detect_anomaly():
        for F in (Bad, Nan):
            y = F.apply(x).sum()
            caught = Catch(lambda: y.backward())
            result += [caught.error, len(caught.warnings), "F.apply(x).sum()" in caught.warnings[0]]
    return result


@scenario
def anomaly_in_a_backward_of_a_backward(t):
    x = leaf(t, 0.0, 4.0)
    with t.autograd.detect_anomaly(check_nan=True):
        y = (x * x).sqrt()[1:].sum() + x[1] ** 3
        caught = Catch(lambda: t.autograd.grad(y, x, create_graph=True))
        first = caught.error
        y = x[1:] ** 1.5
        (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
        z = (g - 3).sqrt() if False else (g * 0).sqrt()
        caught = Catch(lambda: z.sum().backward())
    return [first[0] if isinstance(first[0], str) else "fine", caught.error[0], caught.error[1][:9]]


def test_traces_show_the_users_line():
    """File and line of the call, not lines of this library."""
    x = strided.tensor([-1.0], requires_grad=True)
    with strided.autograd.detect_anomaly(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        y = x.sqrt()
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output."):
            y.backward()
    (text,) = [str(w.message) for w in caught if "Error detected" in str(w.message)]
    last = text.rstrip().splitlines()[-2:]
    assert f'"{__file__}", line {line}, in test_traces_show_the_users_line' in last[0]
    assert last[1].strip() == "y = x.sqrt()"


@scenario
def whether_all_leaves_are_filled(t):
    seen = []
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: seen.append(t.autograd._is_checkpoint_valid()))
    y.sum().backward(retain_graph=True)
    t.autograd.grad(y.sum(), x, retain_graph=True)
    y.sum().backward(inputs=[x])
    return [*seen, t.autograd._is_checkpoint_valid()]


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)


def test_gradients_lie_in_memory_as_their_leaves_do():
    x = strided.arange(15.0).view(5, 3)
    for create_graph in (False, True):
        w = strided.ones(2, 3, requires_grad=True)
        (strided.nn.functional.linear(x, w) ** 2).sum().backward(create_graph=create_graph)
        assert w.grad.stride() == (3, 1) and w.grad.requires_grad == create_graph
    (second,) = strided.autograd.grad(w.grad.sum(), w)
    wanted = (2 * x.sum(1, keepdim=True) * x).sum(0)
    assert second.tolist() == [wanted.tolist()] * 2


def test_multithreading_of_the_backward_pass():
    autograd = strided.autograd
    assert autograd.is_multithreading_enabled()
    with autograd.set_multithreading_enabled(False):
        assert not autograd.is_multithreading_enabled()

        @autograd.set_multithreading_enabled(True)
        def inner():
            return autograd.is_multithreading_enabled()

        assert inner() and not autograd.is_multithreading_enabled()
    autograd.set_multithreading_enabled(False)
    assert not autograd.is_multithreading_enabled()
    autograd.set_multithreading_enabled(True)
    assert autograd.is_multithreading_enabled()
