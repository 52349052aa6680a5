"""Recorded programs: tracing, graphs that are changed, modules made of them, steps run one by one."""

import copy
import math
import operator
import pickle

import pytest
import strided
from strided import fx, nn
from strided.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.scale = nn.Parameter(strided.full((4,), 2.0))
        self.register_buffer("shift", strided.arange(4.0))

    def forward(self, x, k=2.0):
        a, b = strided.split(self.layers(x) * self.scale + self.shift, 2, -1)
        y = F.relu(a - b).sum(-1, keepdim=True) * k + x.shape[0]
        return y + strided.einsum("ij,ij->i", [a, b])[:, None] + strided.tensor([1.0])


@pytest.fixture
def net():
    strided.manual_seed(0)
    return Net()


def test_trace_of_a_module(net):
    x = strided.randn(3, 4)
    traced = fx.symbolic_trace(net)
    assert traced(x).equal(net(x)) and traced(x, 3.0).equal(net(x, k=3.0)) and type(traced).__name__ == "Net"
    steps = [(n.op, n.name) for n in traced.graph.nodes]
    assert steps[:5] == [
        ("placeholder", "x"), ("placeholder", "k"), ("call_module", "layers_0"), ("call_module", "layers_1"),
        ("get_attr", "scale"),
    ]  # fmt: skip
    assert steps[-1] == ("output", "output") and ("get_attr", "_tensor_constant0") in steps
    assert set(dict(traced.named_parameters())) == {"layers.0.weight", "layers.0.bias", "scale"}
    traced(x).sum().backward()
    assert net.scale.grad is not None  # the parameters are those of the module
    assert nn.Module.__call__ is Net.__call__  # and nothing stays patched
    assert fx.Interpreter(traced).run(x).equal(net(x))
    einsum = next(n for n in traced.graph.nodes if n.target is strided.einsum)
    assert len(einsum.args) == 3


def test_copies(net):
    x = strided.randn(2, 4)
    traced = fx.symbolic_trace(net)
    for made in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert made(x).equal(net(x)) and made.scale is not traced.scale
        assert made.code == traced.code


def test_a_graph_that_is_changed(net):
    traced = fx.symbolic_trace(lambda x: F.relu(x) * 2)
    graph = traced.graph
    for node in graph.nodes:
        if node.target is F.relu:
            with graph.inserting_after(node):
                new = graph.call_function(strided.tanh, node.args)
            node.replace_all_uses_with(new)
            graph.erase_node(node)
    graph.lint()
    traced.recompile()
    x = strided.randn(3)
    assert traced(x).equal(strided.tanh(x) * 2) and len(graph.nodes) == 4
    mul = next(n for n in graph.nodes if n.target is operator.mul)
    assert mul.all_input_nodes == [new] and list(new.users) == [mul]
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(new)
    mul.args = (mul.args[0], 5)
    with graph.inserting_before(mul):
        graph.call_method("exp", (new,))
    assert graph.eliminate_dead_code() and not graph.eliminate_dead_code()
    traced.graph = graph
    assert traced(x).equal(strided.tanh(x) * 5)


def test_a_graph_that_is_written():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"), tracer=fx.proxy.GraphAppendingTracer(graph))
    w = fx.Proxy(graph.get_attr("deep.w"))
    y = (1 - x[..., :2].reshape(2, -1)) @ w
    shape = x.shape[:-1]
    graph.output(x.tracer.create_arg({"y": (y, float("inf")), "n": [shape + (7,)]}))
    graph.lint()
    made = fx.GraphModule({"deep.w": strided.ones(2, 3)}, graph, "Made")
    found = made(strided.zeros(2, 2))
    assert found["y"][0].equal(strided.full((2, 3), 2.0)) and found["y"][1] == float("inf") and found["n"] == [(2, 7)]
    assert "deep.w" in made.state_dict() and "forward(self, x)" in made.code and "%x" in str(graph)
    with pytest.raises(RuntimeError, match="not provided"):
        fx.GraphModule({}, graph)


def test_values_that_are_not_known():
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(fx.proxy.TraceError, match="cannot be iterated"):
        fx.symbolic_trace(lambda x: [y + 1 for y in x])
    with pytest.raises(RuntimeError, match="len"):
        fx.symbolic_trace(lambda x: len(x))
    assert fx.symbolic_trace(lambda x, up: x + 1 if up else x, {"up": True})(strided.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="used before"):
        graph = fx.Graph()
        late = graph.placeholder("x")
        with graph.inserting_before(late):
            graph.call_method("sum", (late,))
        graph.lint()


@fx.wrap
def kept_whole(x):
    return x if x.sum() > 0 else -x


def test_functions_that_stay_whole():
    traced = fx.symbolic_trace(lambda x: kept_whole(x) + 1)
    assert [n.name for n in traced.graph.nodes] == ["x", "kept_whole", "add", "output"]
    assert traced(strided.tensor([-3.0])).item() == 4 and kept_whole.__name__ == "kept_whole"


class Pair(metaclass=fx.ProxyableClassMeta):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def add(self, other):
        return Pair(self.left + other.left, self.right + other.right)


def test_objects_that_are_made_while_recording():
    """What is made of proxies is a step of the program, and what is made of values a constant."""
    known = Pair(1, 2)
    gm = fx.symbolic_trace(lambda x, y: x.add(Pair(y, right=y)).right + known.left)
    assert [n.op for n in gm.graph.nodes if n.op.startswith("call")] == ["call_function", "call_method"] + [
        "call_function"
    ] * 2
    assert gm(Pair(strided.ones(1), strided.ones(1)), strided.tensor([4.0])).tolist() == [6.0]


def test_interpreters_that_watch():
    class Shapes(fx.Interpreter):
        def run_node(self, n):
            result = super().run_node(n)
            n.meta["shape"] = tuple(getattr(result, "shape", ()))
            return result

    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.Tanh()))
    Shapes(traced).run(strided.ones(5, 3))
    assert [n.meta["shape"] for n in traced.graph.nodes] == [(5, 3), (5, 2), (5, 2), (5, 2)]
    with pytest.raises(RuntimeError, match="positional argument"):
        fx.Interpreter(traced).run()


def test_conditions_that_are_checked_stay_checked():
    def halved(x):
        strided._assert(x.shape[-1] == 2, "two columns")
        return x / 2

    traced = fx.symbolic_trace(halved)
    assert any(n.target is strided._assert for n in traced.graph.nodes)
    assert traced(strided.ones(2)).tolist() == [0.5, 0.5]
    with pytest.raises(AssertionError, match="two columns"):
        traced(strided.ones(3))


def test_modules_are_put_and_taken_away(net):
    traced = fx.symbolic_trace(net)
    assert traced.add_submodule("extra.inner", nn.Tanh()) and isinstance(traced.extra.inner, nn.Tanh)
    assert not traced.add_submodule("scale.inner", nn.Tanh())  # a parameter is no module
    assert not traced.delete_submodule("nowhere.at") and not traced.delete_submodule("scale")
    for node in list(traced.graph.nodes):
        if node.target == "layers.1":
            with traced.graph.inserting_before(node):
                new = traced.graph.call_module("extra.inner", node.args)
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.recompile()
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_modules()] == ["", "layers", "layers.0", "extra", "extra.inner"]
    assert traced.delete_submodule("extra.inner") and not traced.delete_submodule("extra.inner")


def test_modules_inside_of_called_ones_stay():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.TransformerEncoderLayer(4, 2, 8)
            self.unused = nn.Linear(2, 2)

        def forward(self, x):
            return self.cell(x)

    traced = fx.symbolic_trace(Root())
    traced.add_submodule("other.one", nn.Linear(1, 1))
    traced.delete_all_unused_submodules()
    names = [name for name, _ in traced.named_modules()]
    assert "cell.self_attn.out_proj" in names and not any(n.startswith(("unused", "other")) for n in names)


def test_an_argument_is_put_between_others():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    node = graph.call_function(strided.cat, (x,))
    node.insert_arg(1, y)
    assert node.args == (x, y) and node in y.users
    with pytest.raises(AssertionError, match="between 0 and len"):
        node.insert_arg(3, x)


def double(x):
    return x * 2


fx.wrap("double")


def test_code_is_written_as_pytorch_writes_it():
    def f(x: strided.Tensor, k=-2):
        y = (k**x).T / 2 - x[0, ..., None]
        z = strided.cat([y, -y], dim=0).to(strided.float64)
        return {"a": (double(z),)}, z + float("-inf"), ~(z > 1), 3

    traced = fx.symbolic_trace(f)
    lines = traced.code.split("\n")
    assert lines[:4] == ["", f'torch.fx._symbolic_trace.wrap("{__name__.replace(".", "_")}_double")', "",
                         "def forward(self, x : torch.Tensor, k = -2):"]  # fmt: skip
    assert lines[4:-2] == [
        "    pow_1 = k ** x;  k = None",
        "    getattr_1 = pow_1.T;  pow_1 = None",
        "    truediv = getattr_1 / 2;  getattr_1 = None",
        "    getitem = x[(0, Ellipsis, None)];  x = None",
        "    sub = truediv - getitem;  truediv = getitem = None",
        "    neg = -sub",
        "    cat = torch.cat([sub, neg], dim = 0);  sub = neg = None",
        "    to = cat.to(torch.float64);  cat = None",
        f"    double = {__name__.replace('.', '_')}_double(to)",
        "    add = to + -inf",
        "    gt = to > 1;  to = None",
        "    invert = ~gt;  gt = None",
    ]
    assert lines[-2:] == ["    return ({'a': (double,)}, add, invert, 3)", "    "]
    x = strided.eye(2)
    for made in (traced, fx.symbolic_trace(traced)):  # the function that was kept whole is kept whole again
        (a, b, c, d), (e, g, h, i) = made(x), f(x)
        assert a["a"][0].equal(e["a"][0]) and b.equal(g) and c.equal(h) and d == i
        assert [n.name for n in made.graph.nodes if n.meta.get("is_wrapped")] == ["double"]
    graph = fx.Graph()
    graph.output(graph.call_function(operator.pow, (-2, graph.placeholder("x"))))
    assert fx.GraphModule({}, graph)(strided.tensor(2.0)).item() == 4


def test_texts_of_graphs_and_of_their_modules(capsys):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x: int, k=2):
            return F.gelu(self.act(x) * k, approximate="tanh"), x[0]

    traced = fx.symbolic_trace(Twice())
    assert str(traced.graph).split("\n") == [
        "graph():",
        "    %x : int [num_users=2] = placeholder[target=x]",
        "    %k : [num_users=1] = placeholder[target=k](default=2)",
        "    %act : [num_users=1] = call_module[target=act](args = (%x,), kwargs = {})",
        "    %mul : [num_users=1] = call_function[target=operator.mul](args = (%act, %k), kwargs = {})",
        "    %gelu : [num_users=1] = call_function[target=torch.nn.functional.gelu](args = (%mul,), "
        "kwargs = {approximate: tanh})",
        "    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%x, 0), kwargs = {})",
        "    return (gelu, getitem)",
    ]
    assert str(traced).startswith(f"Twice(\n  (act): ReLU()\n)\n{traced.code}\n# To see more debug info")
    text = traced.print_readable(print_output=False)
    assert text.startswith("class Twice(torch.nn.Module):\n    def forward(self, x : int, k = 2):\n        act = self.")
    assert capsys.readouterr().out == ""
    fx.symbolic_trace(double).graph.print_tabular()
    assert capsys.readouterr().out.split("\n") == [
        "opcode         name    target                   args    kwargs",
        "-------------  ------  -----------------------  ------  --------",
        "placeholder    x       x                        ()      {}",
        "call_function  mul     <built-in function mul>  (x, 2)  {}",
        "output         output  output                   (mul,)  {}",
        "",
    ]
    assert {fx.node.Target, fx.node.Argument}  # what programs annotate with


def test_options_of_functions_are_steps_arguments_by_name():
    def f(x, y):
        a = F.dropout(F.relu(x), 0.3, inplace=False)
        return F.pad(a, (1, 1)), F.linear(x, y, None), F.softmax(input=x, dim=1), F.max_pool2d(x, 2, 1)

    steps = [(n.args[1:], n.kwargs) for n in fx.symbolic_trace(f).graph.nodes if n.op == "call_function"]
    pooling = {"stride": 1, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False}
    assert [steps[0], steps[1], steps[2]] == [
        ((), {"inplace": False}),
        ((), {"p": 0.3, "training": True, "inplace": False}),
        (((1, 1),), {"mode": "constant", "value": None}),
    ]
    assert steps[3][0][1:] == (None,) and steps[3][1] == {}  # a compiled function in PyTorch: as it is called
    assert steps[4][0] == () and steps[4][1]["dim"] == 1 and steps[4][1]["dtype"] is None
    assert steps[5] == ((2,), pooling)
    wrong = fx.symbolic_trace(lambda x: F.relu(x, True, inplace=False))
    with pytest.raises(TypeError, match="inplace"):
        wrong(strided.ones(1))


def test_places_hold_from_the_call_on():
    graph = fx.Graph()
    x = graph.placeholder("x")
    out = graph.output(x)
    graph.inserting_after(x)
    first = graph.call_function(strided.tanh, (x,))
    graph.inserting_before(first)
    graph.call_function(strided.exp, (x,))
    with graph.inserting_after(first):
        graph.call_function(strided.relu, (first,))
    graph.call_function(strided.sin, (x,))
    assert [n.name for n in graph.nodes] == ["x", "exp", "sin", "tanh", "relu", "output"]
    out.args = (first,)
    graph.lint()


def test_functions_of_modules_become_steps():
    def scaled(x):
        return x / math.sqrt(x.size(0)) + math.floor(2.5) + double(x.size(-1))

    traced = fx.symbolic_trace(scaled)
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"].count(math.sqrt) == 1
    assert traced(strided.ones(4, 2)).equal(scaled(strided.ones(4, 2))) and not hasattr(math.sqrt, "__wrapped__")

    class Doubling(fx.Tracer):
        def __init__(self):
            super().__init__(autowrap_modules=(), autowrap_functions=(double,))

    graph = Doubling().trace(lambda x: double(x))
    assert [n.name for n in graph.nodes] == ["x", "double", "output"] and double(2) == 4


def test_tracers_with_a_trace_of_their_own(net):
    """Such as that of torch_geometric, made of the parts of Tracer.trace."""
    from strided.fx import _symbolic_trace as parts

    class Own(fx.Tracer):
        @parts.compatibility(is_backward_compatible=True)
        def trace(self, root, concrete_args=None):
            self.root, self.graph = root, fx.Graph(tracer_cls=type(self))
            self.submodule_paths = {module: path for path, module in root.named_modules()}
            self.tensor_attrs = {}
            function = type(root).forward
            assert isinstance(function, parts.FunctionType)
            function, args = self.create_args_for_root(function, True, concrete_args)
            proxies = {}

            def recorded_get(module, name):
                return self.getattr(name, parts._orig_module_getattr(module, name), proxies)

            def recorded_call(module, *args, **kwargs):
                return self.call_module(
                    module, lambda *a, **k: parts._orig_module_call(module, *a, **k), args, kwargs
                )  # fmt: skip

            with parts._Patcher() as patcher:
                patcher.patch_method(nn.Module, "__getattr__", recorded_get, deduplicate=False)
                patcher.patch_method(nn.Module, "__call__", recorded_call, deduplicate=False)
                parts._patch_wrapped_functions(patcher)
                parts._autowrap_check(patcher, type(root).forward.__globals__, self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(function(*args)),), {})
            return self.graph

    x = strided.randn(3, 4)
    tracer = Own()
    made = fx.GraphModule(net, tracer.trace(net))
    code = fx.symbolic_trace(Net()).code
    assert made(x).equal(net(x)) and made.code == code
    assert fx.symbolic_trace(net).code == code.replace("_tensor_constant0", "_tensor_constant1")  # the root has one
    assert tracer.get_fresh_qualname("layers") == "layers0"
    assert nn.Module.__call__ is parts._orig_module_call and nn.Module.__getattr__ is parts._orig_module_getattr


def test_tensors_that_modules_hold_keep_their_names():
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ReLU()
            self.inner.table = strided.arange(3.0)

        def forward(self, x):
            return self.inner(x) + self.inner.table + strided.tensor([1.0]) * strided.tensor([2.0])

    traced = fx.symbolic_trace(Holder())
    targets = [n.target for n in traced.graph.nodes if n.op == "get_attr"]
    assert targets == ["inner.table", "_tensor_constant0"] and traced(strided.ones(3)).tolist() == [3, 4, 5]


def test_a_program_may_ask_whether_it_is_recorded():
    from strided.fx._symbolic_trace import is_fx_symbolic_tracing, is_fx_tracing

    seen = []

    def f(x):
        seen.append((is_fx_tracing(), is_fx_symbolic_tracing()))
        return x + 1

    strided.fx.symbolic_trace(f)
    f(1)
    with pytest.raises(ZeroDivisionError):
        strided.fx.symbolic_trace(lambda x: 1 / 0)
    assert seen == [(True, True), (False, False)] and not is_fx_tracing()


def test_modules_with_two_programs():
    """As libraries make them: a GraphModule whose constructor is another one, of a graph for each mode."""
    from strided.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY, _CodeOnlyModule, _copy_attr

    class Two(fx.GraphModule):
        def __init__(self, root, first, second):
            super(fx.GraphModule, self).__init__()
            self.first, self.second = first, second
            for node in [*first.nodes, *second.nodes]:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
            self.graph = first

    class Own(fx.Tracer):
        pass

    source = Net()
    first = Own().trace(source)
    assert first._tracer_cls is Own and copy.deepcopy(first)._tracer_cls is Own and fx.Graph()._tracer_cls is None
    assert fx.symbolic_trace(source).graph._tracer_cls is fx.Tracer
    second = fx.Graph()
    second.output(second.get_attr("shift"))
    two = Two(source, first, second)
    x = strided.randn(3, 4)
    assert two(x).equal(source(x)) and getattr(two.layers, "0") is source.layers[0]
    whole = nn.Module()
    whole.layers = source.layers
    _copy_attr(source, whole, "layers.0")  # which it has with all of layers
    assert whole.layers is source.layers
    two.graph = second
    assert two() is source.shift
    again = Two(_CodeOnlyModule(copy.copy(two.__dict__)), first, second)
    assert again(x).equal(source(x)) and _USER_PRESERVED_ATTRIBUTES_KEY not in getattr(again, "meta", {})


def test_classes_of_graph_modules_have_the_qualified_name_that_libraries_ask_for():
    traced = fx.symbolic_trace(nn.Linear(2, 2))
    assert type(traced).__name__ == "Linear" and "GraphModuleImpl" in str(type(traced))


class Collecting(nn.Module):
    def forward(self, x, scale=4, *rest, shift=5.0, **named):
        return x * scale + rest[0] + named["last"] * shift

    def minus(self, x, y):
        return x - y


def test_collected_arguments_are_inputs():
    traced = fx.symbolic_trace(Collecting())
    assert [n.target for n in traced.graph.find_nodes(op="placeholder")] == ["x", "scale", "shift", "*rest", "**named"]
    one = strided.ones(2)
    assert traced(one, 3, 2.0, one, last=one * 7).tolist() == [18.0, 18.0]
    traced = fx.symbolic_trace(lambda x, *others: x + others[1])
    assert traced(one, one, one * 2).tolist() == fx.Interpreter(traced).run(one, one, one * 2).tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="cannot be part of"):
        fx.symbolic_trace(type("Bare", (nn.Module,), {"forward": lambda *args: args[1]})())


def test_another_method_is_traced():
    tracer, module = fx.Tracer(), Collecting()
    tracer.traced_func_name = "minus"
    assert fx.GraphModule(module, tracer.trace(module))(strided.ones(1), strided.ones(1) * 3).tolist() == [-2.0]
