"""What compiled functions are beside values: gradients, control flow, writes, random numbers, modules, guards."""

import copy
import gc
import pickle
import threading
import warnings
import weakref

import pytest
import strided as torch
import strided.nn.functional as F
from strided import _dynamo, nn
from strided._dynamo.exc import Unsupported

SCALE = 2.0
WEIGHT = torch.arange(3.0)
NOTES = []


def ones(*shape):
    return torch.ones(shape, dtype=torch.float64)


def ran_fused(f, *args):
    return bool(f.explain(*args).groups)


# ---------------------------------------------------------------- gradients


def formula(x, w, b):
    h = torch.tanh(x * w + b)
    s = h - h.mean(-1, keepdim=True)
    return (s * s).sum(-1) * 2, h.exp()


@pytest.mark.parametrize("wants", [(True, True, True), (True, False, False), (False, True, False)])
def test_gradients_of_both_orders(wants):
    g = torch.Generator().manual_seed(0)
    arguments = [torch.randn(4, 6, dtype=torch.float64, generator=g), torch.randn(6, dtype=torch.float64, generator=g),
                 torch.randn(4, 1, dtype=torch.float64, generator=g)]  # fmt: skip
    compiled = torch.compile(formula)
    compiled(*[t.clone().requires_grad_(w) for t, w in zip(arguments, wants)])
    results = []
    for f in (formula, compiled):
        inputs = [t.clone().requires_grad_(w) for t, w in zip(arguments, wants)]
        of = [t for t in inputs if t.requires_grad]
        rows, full = f(*inputs)
        assert rows.requires_grad and full.requires_grad
        first = torch.autograd.grad(rows.sum() + (full * full).sum(), of, create_graph=True)
        second = torch.autograd.grad(sum((d * d).sum() for d in first), of)
        results.append([*first, *second])
    assert compiled(*inputs)[1].grad_fn.name() == "CompiledBackward0"
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_gradcheck():
    f = torch.compile(lambda a, b: torch.where(a > 0.1, a * b, b.sin() / 3).exp())
    a, b = (
        torch.tensor([0.3, -0.4, 1.0]).double().requires_grad_(),
        torch.tensor([[0.5], [2.0]]).double().requires_grad_(),
    )
    f(a, b)
    assert torch.autograd.gradcheck(f, (a, b)) and torch.autograd.gradgradcheck(f, (a, b))


def test_an_input_that_depends_on_another():
    f = torch.compile(lambda x, y: x * y + x)
    for _ in range(2):
        x = ones(3).requires_grad_()
        y = x * 3
        (d,) = torch.autograd.grad(f(x, y).sum(), x, create_graph=True)
        assert d.tolist() == [7.0, 7.0, 7.0]  # of 3 x^2 + x
        assert torch.autograd.grad(d.sum(), x)[0].tolist() == [6.0, 6.0, 6.0]


def test_only_results_that_depend_on_a_leaf_want_gradients():
    f = torch.compile(lambda x, y: (x * y, y + 1, x > y))
    x, y = ones(3).requires_grad_(), ones(3)
    for _ in range(2):
        assert [t.requires_grad for t in f(x, y)] == [True, False, False]
        with torch.no_grad():
            assert not f(x, y)[0].requires_grad


def test_training_gives_the_same_parameters():
    models = [nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 1)) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    models[1] = torch.compile(models[1])
    x = torch.linspace(-1, 1, 15).reshape(5, 3)
    for model in models:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()
    for a, b in zip(models[0].parameters(), models[1].parameters()):
        torch.testing.assert_close(a, b)


# ---------------------------------------------------------------- what runs as it is


def test_control_flow_on_values():
    @torch.compile
    def f(x):
        return x * 2 if x.sum() > 0 else x - 1

    for _ in range(2):
        assert f(ones(2)).tolist() == [2.0, 2.0] and f(-ones(2)).tolist() == [-2.0, -2.0]
    assert "__bool__" in str(f.explain(ones(2))) and f.explain(ones(2)).break_reasons


def test_control_flow_on_shapes_and_numbers_is_traced():
    @torch.compile
    def f(x, times, *, twice=False):
        for _ in range(times):
            x = x * x.shape[0] + 1
        return x * 2 if twice else x

    for _ in range(2):
        assert f(ones(2), 2).tolist() == [7.0, 7.0] and f(ones(3), 1).tolist() == [4.0] * 3
        assert f(ones(2), 2, twice=True).tolist() == [14.0, 14.0]
    assert ran_fused(f, ones(2), 2)


@pytest.mark.parametrize("n", [3, 5000])
def test_writes_in_place_stay_in_order(n):
    def f(x, y):
        a = x * y + 1
        x.add_(a)
        b = x * y
        b[0] = 7.0
        b *= 2
        return a, b + x

    compiled = torch.compile(f)
    pairs = [[ones(n), torch.arange(n).double()] for _ in range(2)]
    for _ in range(3):
        expected, got = f(*pairs[0]), compiled(*pairs[1])
        for a, b in zip((*expected, *pairs[0]), (*got, *pairs[1])):
            assert torch.equal(a, b)
    assert compiled.explain(ones(n), ones(n)).eager


def test_random_numbers_are_drawn_in_order():
    def f(x):
        a = torch.rand(4, dtype=torch.float64) * x
        b = F.dropout(x, 0.5)
        return a + b, torch.randn_like(x) * 2 + x

    compiled = torch.compile(f)
    compiled(ones(4))
    torch.manual_seed(3)
    expected = [f(ones(4)), f(ones(4))]
    torch.manual_seed(3)
    got = [compiled(ones(4)), compiled(ones(4))]
    for a, b in zip(expected, got):
        assert torch.equal(a[0], b[0]) and torch.equal(a[1], b[1])
    assert ran_fused(compiled, ones(4))


def test_side_effects_happen_in_every_call():
    seen = []

    def f(x):
        seen.append(1)
        return x * 2 + 1

    def g(x, out):
        out.append(x * 2 + 1)
        return x

    def h(x):
        global SCALE
        SCALE = SCALE + 1
        return x * SCALE

    compiled = torch.compile(f)
    for _ in range(3):
        compiled(ones(2))
    assert len(seen) == 3 and "list" in str(compiled.explain(ones(2)))
    compiled, out = torch.compile(g), []
    for _ in range(3):
        compiled(ones(2), out)
    assert len(out) == 3
    before, compiled = SCALE, torch.compile(h)
    assert [compiled(ones(1)).item() for _ in range(2)] == [before + 1, before + 2]


def test_calls_that_are_not_elementwise_stay():
    @torch.compile
    def f(x, w):
        h = F.relu(x @ w + 1) * 2
        first, second = torch.split(h, 2, dim=1)
        top, at = h.max(1)
        return torch.cat([first * 3 + second, second], 1), top * 2, at, {"shape": h.shape, "sum": h.sum(0)}

    x, w = torch.arange(6.0).reshape(2, 3) - 2, torch.arange(12.0).reshape(3, 4) - 5
    expected = f._strided_original(x, w)
    for _ in range(2):
        got = f(x, w)
        assert all(torch.equal(a, b) for a, b in zip(expected[:3], got)) and got[3]["shape"] == (2, 4)
        assert torch.equal(got[3]["sum"], expected[3]["sum"])
    explained = f.explain(x, w)
    assert {"matmul", "split", "cat"} <= {name for name, _ in explained.eager} and explained.op_count >= 4


def test_shapes_that_depend_on_values():
    f = torch.compile(lambda x: x[x > 0] * 2 + 1)
    assert f(torch.tensor([1.0, -1, 2])).tolist() == [3, 5] and f(torch.tensor([-1.0, -1, 2])).tolist() == [5]


def test_subclasses_and_modes_see_every_call():
    class Named(torch.Tensor):
        pass

    f = torch.compile(lambda x: x * 2 + 1)
    f(torch.ones(2))
    assert type(f(torch.ones(2).as_subclass(Named))) is Named

    class Counts(torch.overrides.TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Counts() as counts:
        f(x)
    assert counts.calls == 2
    assert torch.func.vmap(f)(torch.ones(3, 2)).shape == (3, 2)
    assert torch.func.grad(lambda x: f(x).sum())(torch.ones(2)).tolist() == [2, 2]


def test_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.compile(lambda x: x + 1)(torch.ones(2))
        torch.compile(nn.Linear(2, 2))(torch.ones(1, 2))


# ---------------------------------------------------------------- guards


def test_another_dtype_shape_or_layout_is_another_trace():
    f = torch.compile(lambda a, b: a * b + a)
    cases = [ones(3), torch.ones(3), ones(2, 3), ones(3, 2).t(), torch.ones(3, dtype=torch.int64), ones(0), ones()]
    for _ in range(2):
        for x in cases:
            y = f(x, x[:] if x.ndim else x.clone())
            assert y.dtype == x.dtype and y.shape == x.shape and torch.equal(y, x * 2)
    assert len(f._traces) == len(cases)


def test_the_same_tensor_twice_is_another_trace():
    f = torch.compile(lambda a, b: (a.add_(1), a * b + 1)[1])
    assert f(ones(2), ones(2)).tolist() == [3.0, 3.0]
    x = ones(2)
    assert f(x, x).tolist() == [5.0, 5.0]
    assert f(ones(2), ones(2)).tolist() == [3.0, 3.0]


def test_globals_and_closures_are_looked_at(monkeypatch):
    factor = 3.0

    def helper(x):
        return x * factor

    f = torch.compile(lambda x: helper(x) * SCALE + WEIGHT)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    for _ in range(2):
        assert f(torch.ones(3)).tolist() == [6, 7, 8]
    monkeypatch.setitem(globals(), "SCALE", 1.0)
    assert f(torch.ones(3)).tolist() == [3, 4, 5]
    factor = 4.0
    assert f(torch.ones(3)).tolist() == [4, 5, 6]
    monkeypatch.setitem(globals(), "WEIGHT", torch.zeros(3))
    assert f(torch.ones(3)).tolist() == [4, 4, 4]
    WEIGHT.add_(1)  # in place: the same tensor
    assert f(torch.ones(3)).tolist() == [5, 5, 5] and ran_fused(f, torch.ones(3))
    assert f(WEIGHT).tolist() == [5, 5, 5]  # an argument that is read besides


@pytest.mark.parametrize("kind", ["list", "object", "attribute", "print", "generator"])
def test_what_cannot_be_looked_at_is_not_traced(kind):
    settings, x = {"list": [1.0], "object": type("Settings", (), {"scale": 1.0})()}, torch.ones(2)
    held = settings.get(kind)
    f = {
        "list": lambda x: x * held[0],
        "object": lambda x: x * held.scale,
        "attribute": lambda x: x * x.note,
        "print": lambda x: (print(end=""), x * 2)[1],
        "generator": lambda x: (yield x * 2),
    }[kind]
    x.note = 1.0
    f = torch.compile(f)
    first = f(x)
    if kind == "list":
        held[0] = 2.0
    if kind == "object":
        held.scale = 2.0
    x.note = 2.0
    if kind == "generator":
        assert next(first).tolist() == [2, 2]
        return
    assert f(x).tolist() == [2, 2] and f.explain(x).reason


@pytest.mark.parametrize("deep", [20, 40, 100_000, None], ids=["20", "40", "100000", "holds itself"])
def test_nested_arguments(deep):
    x, nested = torch.ones(3), []
    for _ in range(deep or 0):
        nested = [nested]
    if deep is None:
        nested.append({"again": nested})
    f = torch.compile(lambda x, nested: (x * 2 + 1, len(nested)))
    for _ in range(2):
        y, n = f(x, nested)
        assert y.tolist() == [3, 3, 3] and n == len(nested)
    assert ran_fused(f, x, nested) == (deep == 20)


def test_many_shapes():
    f = torch.compile(lambda x: x * 2 + 1)
    for n in range(80):
        assert f(torch.ones(n)).shape == (n,)
    assert "64 traces" in str(f.explain(torch.ones(79)))
    torch.compiler.reset()
    assert ran_fused(f, torch.ones(79))


def test_threads():
    f, failures = torch.compile(lambda a, b: (a * b + a).sin().sum(-1)), []

    def work(seed):
        for n in (3, 4, 2000):
            x, y = torch.full((n, 5), seed), torch.arange(5.0)
            for _ in range(5):
                if not torch.equal(f(x, y), f._strided_original(x, y)):
                    failures.append((seed, n))

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_nothing_is_kept_of_the_first_arguments():
    f = torch.compile(lambda x: (x * 2).exp() + x)
    x = torch.ones(5)
    held = weakref.ref(x)
    y = weakref.ref(f(x))
    del x
    gc.collect()
    assert held() is None and y() is None


# ---------------------------------------------------------------- the interface


def test_options():
    def f(x):
        return x * 2 + 1

    x = torch.ones(2)
    assert torch.compile(f, disable=True) is f and torch.compile(f, backend="eager") is f
    assert torch.compile(mode="max-autotune", dynamic=True)(f)(x).tolist() == [3, 3]
    assert torch.compile(f).__name__ == "f"
    with pytest.raises(TypeError):
        torch.compile(3)
    with pytest.raises(NotImplementedError, match="backend"):
        torch.compile(f, backend=lambda graph, inputs: graph)
    with pytest.raises(Unsupported, match="__bool__"):
        torch.compile(lambda x: x if x.sum() > 0 else -x, fullgraph=True)(x)
    assert torch.compile(f, fullgraph=True)(x).tolist() == [3, 3]
    asks = torch.compile(lambda x: x.new_zeros(int(x.sum().item())), fullgraph=True)
    for _ in range(2):
        with pytest.raises(Unsupported, match="item"):
            asks(x)
    settings = [2.0]  # whose changes would not be seen; PyTorch watches it
    assert torch.compile(lambda x: x * settings[0] + 1, fullgraph=True)(x).tolist() == [3, 3]
    assert torch.compile(lambda x, y: type(y)(x * 2 + 1), fullgraph=True)(x, []) is not None
    assert _dynamo.explain(f)(x).graph_count == 1
    g = torch.compile(f)
    g(x)
    with torch.compiler.set_stance("force_eager"):
        assert g(x).tolist() == [3, 3]
    with pytest.raises(ValueError, match="stance"):
        torch.compiler.set_stance("left")


def test_a_compiled_function_in_another():
    inner = torch.compile(lambda x: x * 2 + 1)
    outer = torch.compile(lambda x: inner(x) * 3)
    for _ in range(2):
        assert outer(torch.ones(2)).tolist() == [9, 9]
    assert outer.explain(torch.ones(2)).groups == [["mul", "add", "mul"]]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = 2.0
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x):
        return self.activated(self.layer(x)) + self.shift

    def activated(self, x):
        return F.dropout(torch.tanh(x) * self.scale + 1, 0.5, self.training)


def test_modules():
    net = Net().eval()
    compiled = torch.compile(net)
    x = torch.ones(2, 3)
    for _ in range(2):
        assert torch.equal(compiled(x), net(x))
    assert compiled.explain(x).groups == [["tanh", "mul", "add", "add"]] or compiled.explain(x).groups
    net.scale = 5.0
    assert torch.equal(compiled(x), net(x))
    compiled.scale = 7.0
    assert net.scale == 7.0 and torch.equal(compiled(x), net(x))
    net.layer.weight = nn.Parameter(torch.eye(3))
    assert torch.equal(compiled(x), net(x))
    net.shift.mul_(3)
    assert torch.equal(compiled(x), net(x))
    compiled.train()
    assert net.training and net.layer.training
    torch.manual_seed(1)
    expected = net(x)
    torch.manual_seed(1)
    assert torch.equal(compiled(x), expected)
    handle = net.layer.register_forward_hook(lambda module, args, out: out * 0)
    assert torch.equal(compiled.eval()(x), net(x))
    handle.remove()


def test_compiled_modules_are_the_originals():
    net = Net()
    compiled = torch.compile(net)
    assert isinstance(compiled, (nn.Module, _dynamo.OptimizedModule)) and compiled._orig_mod is net
    assert list(compiled.state_dict()) == [f"_orig_mod.{k}" for k in net.state_dict()]
    assert compiled.layer is net.layer and compiled.shift is net.shift
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in net.parameters()]
    compiled.load_state_dict(compiled.state_dict())
    again = copy.deepcopy(compiled)
    assert again._orig_mod is not net and torch.equal(again.eval()(torch.ones(1, 3)), net.eval()(torch.ones(1, 3)))
    again = pickle.loads(pickle.dumps(compiled))
    assert torch.equal(again(torch.ones(1, 3)), net(torch.ones(1, 3)))
    compiled.extra = 3
    assert net.extra == 3
    compiled._orig_mod = other = Net().eval()  # as libraries do that take a wrapper out
    assert compiled._orig_mod is other and not hasattr(net, "_orig_mod")
    assert torch.equal(compiled(torch.ones(1, 3)), other(torch.ones(1, 3)))


def test_functions_that_are_not_compiled_say_so():
    @torch.compiler.disable(reason="why")
    def one():
        return 1

    assert one() == 1 and one._torchdynamo_disable and one._torchdynamo_disable_msg == "why"
    assert torch.compiler.disable(net := Net()) is net


class Wave(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x, k=2):
        return torch.sin(self.linear(x)) * k + 1


def test_compile_in_place():
    net, x = Wave(), torch.ones(2, 3)
    want = net(x)
    assert net.compile() is None and type(net) is Wave
    for _ in range(3):
        assert torch.equal(net(x), want)
    assert "fused: sin, mul, add" in str(net._compiled_call_impl.explain(x))
    assert list(net.state_dict()) == ["linear.weight", "linear.bias"]
    net(x, k=3).sum().backward()
    assert net.linear.weight.grad.shape == (4, 3)
    net.linear.weight.data.zero_()
    assert torch.equal(net(x), (torch.sin(net.linear.bias) * 2 + 1).expand(2, 4))


def test_compile_in_place_stays_out_of_copies_and_hooks_run():
    net, x = Wave(), torch.ones(2, 3)
    net.compile(disable=True)
    assert "_compiled_call_impl" not in net.__dict__
    net.compile()
    net(x)
    copied = copy.deepcopy(net)
    assert "_compiled_call_impl" not in copied.__dict__ and torch.equal(copied(x), net(x))
    seen = []
    net.register_forward_hook(lambda *a: seen.append(1))
    net(x), net(x)
    assert seen == [1, 1]


def test_compile_in_place_of_parts():
    parts = torch.nn.Sequential(Wave(), torch.nn.Tanh())
    x = torch.ones(2, 3)
    want = parts(x)
    parts[0].compile()
    assert torch.equal(parts(x), want)
    parts.compile()
    assert torch.equal(parts(x), want) and torch.equal(parts(x), want)
    assert "fused: sin, mul, add, tanh" in str(parts._compiled_call_impl.explain(x))
