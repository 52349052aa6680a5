"""Module: registration, state dicts, iterators, hooks, errors and their texts are PyTorch's."""

import copy
import pickle
import re
import warnings

import pytest
import strided

torch = pytest.importorskip("torch")


def outcome(call, lib):
    lib.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call(lib)
        except Exception as error:
            return type(error).__name__, str(error).replace("strided", "torch")
    return repr(plain(made)).replace("strided", "torch")


def plain(value):
    if isinstance(value, (strided.Tensor, torch.Tensor)):
        return [
            list(value.shape),
            str(value.dtype),
            type(value).__name__,
            value.requires_grad,
            [round(v, 4) + 0.0 if isinstance(v, float) else v for v in value.detach().flatten().tolist()],
        ]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def net(t):
    nn = t.nn
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))


def custom(t, **attributes):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = t.nn.Linear(2, 2)
            self.w = t.nn.Parameter(t.ones(2))
            self.register_buffer("b", t.zeros(3))
            self.register_buffer("c", t.zeros(1), persistent=False)
            self.register_buffer("n", None)
            self.twin = self.a
            for name, value in attributes.items():
                setattr(self, name, value)

        def forward(self, x, scale=1):
            return self.a(x) * scale + self.w

    return Net()


def log_of_hooks(t):
    m, log = custom(t), []
    m.register_forward_pre_hook(lambda m, a: log.append(("pre", len(a))))
    m.register_forward_pre_hook(lambda m, a, k: log.append(("pre k", sorted(k))), with_kwargs=True, prepend=True)
    m.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
    h = m.register_forward_hook(lambda m, a, y: log.append(("post", tuple(y.shape))))
    m.register_forward_hook(lambda m, a, y: y + 1)
    m.register_forward_hook(lambda m, a, k, y: log.append(("post k", k)), with_kwargs=True)
    m.register_full_backward_pre_hook(lambda m, go: log.append(("bpre", plain(go))))
    m.register_full_backward_hook(lambda m, gi, go: log.append(("back", plain(gi), plain(go))))
    m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))
    x = t.ones(4, 2, requires_grad=True)
    m(x, scale=2).sum().backward()
    h.remove()
    m(x)
    return log, x.grad, m.w.grad


def hooks_without_input_gradient(t):
    m, log = t.nn.Linear(2, 1), []
    m.register_full_backward_hook(lambda m, gi, go: log.append((plain(gi), plain(go))))
    m(t.ones(3, 2)).sum().backward()
    return log


def always_called(t):
    class Bad(t.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m, log = Bad(), []
    m.register_forward_hook(lambda m, a, y: log.append(y), always_call=True)
    try:
        m(1)
    except ValueError as e:
        log.append(str(e))
    return log


def global_hooks(t):
    log, m = [], net(t)
    mod = t.nn.modules.module
    handles = [
        mod.register_module_forward_pre_hook(lambda m, a: log.append("pre " + type(m).__name__)),
        mod.register_module_forward_hook(lambda m, a, y: log.append("post " + type(m).__name__)),
        mod.register_module_full_backward_hook(lambda m, gi, go: log.append("back " + type(m).__name__)),
    ]
    m(t.ones(4, 2, requires_grad=True)).sum().backward()
    for h in handles:
        h.remove()
    m(t.ones(4, 2))
    mod.register_module_forward_pre_hook(lambda m, a: log.append("not called"))
    mod._global_forward_pre_hooks = type(mod._global_forward_pre_hooks)()  # as PyTorch's own tests clean up
    m(t.ones(4, 2))
    mod._global_forward_pre_hooks[0] = lambda m, a: log.append("put")
    m(t.ones(4, 2))
    del mod._global_forward_pre_hooks[0]
    return log


def state_dict_hooks(t):
    m, log = custom(t), []
    m.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("pre", prefix, keep)))
    m.register_state_dict_post_hook(lambda m, d, prefix, meta: log.append(("post", list(d), prefix)))
    m._register_state_dict_hook(lambda m, d, prefix, meta: log.append(meta))
    m.register_load_state_dict_pre_hook(lambda m, d, *rest: log.append(("load", sorted(d), rest[2])))
    m.register_load_state_dict_post_hook(lambda m, keys: log.append(("loaded", keys)))
    d = m.state_dict(prefix="x.")
    m.load_state_dict({k[2:]: v for k, v in d.items()})
    return log, list(d._metadata)


def assigned(t):
    m = t.nn.Linear(2, 1)
    m.weight.requires_grad_(False)
    made = {"weight": t.ones(1, 2, dtype=t.float64), "bias": t.ones(1)}
    m.load_state_dict(made, assign=True)
    return m.weight, m.bias, m.weight.data_ptr() == made["weight"].data_ptr()


def extra_state(t):
    class Extra(t.nn.Linear):
        def get_extra_state(self):
            return {"k": 7}

        def set_extra_state(self, state):
            self.got = state

    m, n = Extra(2, 1), Extra(2, 1)
    n.load_state_dict(m.state_dict())
    return list(m.state_dict()), n.got


def raised(t, change):
    m = custom(t)
    d = m.state_dict()
    change(d)
    return m.load_state_dict(d)


def copies(t):
    m = custom(t)
    made = [copy.deepcopy(m), copy.copy(m)]
    m.w.data.fill_(7)
    linear = pickle.loads(pickle.dumps(t.nn.Linear(2, 1)))
    return [c.w for c in made], made[0].twin is made[0].a, linear, linear.weight, type(linear.weight).__name__


def shared(t):
    a, b = t.nn.Linear(2, 2), t.nn.Linear(2, 2)
    b.weight = a.weight
    m = t.nn.ModuleList([a, b, a])
    names = lambda **k: [n for n, _ in m.named_parameters(**k)]
    return names(), names(remove_duplicate=False), [n for n, _ in m.named_modules()], len(list(m.children()))


def moved(t):
    m = net(t)
    before = m[0].weight
    before.grad = t.ones(3, 2)
    m.double()
    return (
        m[0].weight is before,
        m[0].weight.dtype,
        before.grad.dtype,
        m[1].num_batches_tracked.dtype,
        m.half()[0].weight,
    )


def nothing(t):
    return None


CALLS = {
    "iterators": lambda t: [
        [n for n, _ in getattr(custom(t), f)()]
        for f in ("named_parameters", "named_buffers", "named_modules", "named_children")
    ],
    "not recursive": lambda t: [n for n, _ in custom(t).named_parameters(prefix="x", recurse=False)],
    "state_dict": lambda t: net(t).state_dict(),
    "custom state_dict": lambda t: custom(t).state_dict(),
    "metadata": lambda t: dict(net(t).state_dict()._metadata),
    "keep_vars": lambda t: custom(t).state_dict(keep_vars=True)["w"].requires_grad,
    "load": lambda t: net(t).load_state_dict(net(t).state_dict()),
    "load missing": lambda t: raised(t, lambda d: d.pop("w")),
    "load none": lambda t: custom(t).load_state_dict({}),
    "load more": lambda t: raised(t, lambda d: d.update({"x": 1, "a.y.z": 2, "q.r": 3})),
    "load size": lambda t: raised(t, lambda d: d.update(w=t.ones(5))),
    "load kind": lambda t: raised(t, lambda d: d.update(w=[1, 2])),
    "load list": lambda t: net(t).load_state_dict([1]),
    "load loosely": lambda t: custom(t).load_state_dict({"w": t.ones(2), "z": t.ones(1)}, strict=False),
    "assign": assigned,
    "extra state": extra_state,
    "hooks": log_of_hooks,
    "no input grad": hooks_without_input_gradient,
    "always": always_called,
    "global": global_hooks,
    "state dict hooks": state_dict_hooks,
    "copies": copies,
    "shared": shared,
    "moved": moved,
    "repr": lambda t: custom(t),
    "repr net": lambda t: net(t),
    "no init": lambda t: setattr(type("M", (t.nn.Module,), {"__init__": nothing})(), "w", t.nn.Parameter(t.ones(1))),
    "no init m": lambda t: setattr(type("M", (t.nn.Module,), {"__init__": nothing})(), "w", t.nn.ReLU()),
    "no init b": lambda t: type("M", (t.nn.Module,), {"__init__": nothing})().register_buffer("w", t.ones(1)),
    "no init p": lambda t: type("M", (t.nn.Module,), {"__init__": nothing})().register_parameter("w", None),
    "init args": lambda t: t.nn.Module(1, 2),
    "init kw": lambda t: t.nn.Module(a=2),
    "no forward": lambda t: t.nn.Module()(1),
    "getattr": lambda t: net(t).nope,
    "param is tensor": lambda t: setattr(custom(t), "w", t.ones(2)),
    "param None": lambda t: custom(t, w=None),
    "module is int": lambda t: setattr(custom(t), "a", 3),
    "module None": lambda t: custom(t, a=None),
    "buffer is int": lambda t: setattr(custom(t), "b", 3),
    "buffer tensor": lambda t: custom(t, b=t.ones(7)).state_dict(),
    "Buffer": lambda t: custom(t, z=t.nn.Buffer(t.ones(2)), y=t.nn.Buffer(t.ones(2), persistent=False)).state_dict(),
    "param over buffer": lambda t: custom(t, b=t.nn.Parameter(t.ones(1))).state_dict(),
    "module over param": lambda t: [n for n, _ in custom(t, w=t.nn.ReLU()).named_modules()],
    "bad name": lambda t: custom(t).register_parameter("a.b", None),
    "empty name": lambda t: custom(t).register_buffer("", None),
    "int name": lambda t: custom(t).add_module(3, None),
    "known name": lambda t: custom(t).register_buffer("a", None),
    "known attr": lambda t: custom(t).add_module("forward", t.nn.ReLU()),
    "dot": lambda t: custom(t).add_module("a.b", None),
    "not module": lambda t: custom(t).add_module("x", 3),
    "not param": lambda t: custom(t).register_parameter("x", t.ones(1)),
    "non leaf": lambda t: custom(t).register_parameter(
        "x", t.nn.Parameter(t.ones(1)) and (lambda p: p)(t.nn.Parameter(t.ones(1)))
    ),
    "not buffer": lambda t: custom(t).register_buffer("x", 3),
    "get_submodule": lambda t: net(t).get_submodule("2.1"),
    "get_submodule no": lambda t: net(t).get_submodule("2.7"),
    "get_submodule kind": lambda t: custom(t).get_submodule("w"),
    "get_parameter": lambda t: net(t).get_parameter("0.bias"),
    "get_parameter no": lambda t: net(t).get_parameter("0.nope"),
    "get_parameter kind": lambda t: custom(t).get_parameter("b"),
    "get_buffer": lambda t: custom(t).get_buffer("b"),
    "get_buffer kind": lambda t: custom(t).get_buffer("w"),
    "set_submodule": lambda t: (m := net(t), m.set_submodule("2.1", t.nn.Linear(3, 5)))[0],
    "delattr": lambda t: (m := custom(t), delattr(m, "w"), delattr(m, "a"))[0].state_dict(),
    "delattr no": lambda t: delattr(custom(t), "nope"),
    "dir": lambda t: "w" in dir(custom(t)) and "a" in dir(custom(t)),
    "train": lambda t: [m.training for m in net(t).eval().modules()],
    "train 3": lambda t: net(t).train(3),
    "requires_grad_": lambda t: [p.requires_grad for p in net(t).requires_grad_(False).parameters()],
    "to int": lambda t: net(t).to(t.int32),
    "to": lambda t: net(t).to("cpu", t.float64)[0].weight.dtype,
    "to tensor": lambda t: net(t).to(t.ones(1).double())[1].running_mean.dtype,
    "type": lambda t: net(t).type(t.float64)[0].bias,
    "zero_grad": lambda t: (m := net(t), m(t.ones(4, 2)).sum().backward(), m.zero_grad(False))[0][0].bias.grad,
    "apply": lambda t: (log := [], net(t).apply(lambda m: log.append(type(m).__name__)))[0],
    "backward kinds": lambda t: (m := net(t), m.register_backward_hook(print), m.register_full_backward_hook(print)),
    # containers
    "seq slice": lambda t: net(t)[1:],
    "seq -1": lambda t: net(t)[-1],
    "seq range": lambda t: net(t)[3],
    "seq append": lambda t: net(t).append(t.nn.Tanh()),
    "seq insert": lambda t: net(t).insert(1, t.nn.Tanh()),
    "seq insert far": lambda t: net(t).insert(9, t.nn.Tanh()),
    "seq del": lambda t: (m := net(t), m.__delitem__(1))[0],
    "seq pop": lambda t: net(t).pop(1),
    "seq add": lambda t: net(t) + net(t),
    "seq mul": lambda t: t.nn.Sequential(t.nn.ReLU()) * 3,
    "seq add 3": lambda t: net(t) + 3,
    "seq mul 0": lambda t: net(t) * 0,
    "seq extend": lambda t: net(t).extend([t.nn.ReLU()]),
    "seq dict": lambda t: t.nn.Sequential(__import__("collections").OrderedDict(a=t.nn.ReLU(), b=t.nn.Linear(1, 2))),
    "seq set": lambda t: (m := net(t), m.__setitem__(0, t.nn.Tanh()))[0],
    "seq empty": lambda t: t.nn.Sequential(),
    "list": lambda t: t.nn.ModuleList([t.nn.Linear(1, 2), t.nn.Linear(1, 2), t.nn.ReLU(), net(t), net(t)]),
    "list empty": lambda t: t.nn.ModuleList(),
    "list bad": lambda t: t.nn.ModuleList(3),
    "list ops": lambda t: (t.nn.ModuleList([t.nn.ReLU()]) + [t.nn.Tanh()]).insert(0, t.nn.GELU()),
    "list slice": lambda t: t.nn.ModuleList([t.nn.ReLU(), t.nn.Tanh(), t.nn.GELU()])[::2],
    "list range": lambda t: t.nn.ModuleList([t.nn.ReLU()])[1],
    "list call": lambda t: t.nn.ModuleList()(3),
    "list del": lambda t: (m := t.nn.ModuleList([t.nn.ReLU(), t.nn.Tanh(), t.nn.GELU()]), m.__delitem__(slice(0, 2)))[
        0
    ],
    "dict": lambda t: t.nn.ModuleDict({"b": t.nn.ReLU(), "a": t.nn.Linear(1, 1)}),
    "dict pairs": lambda t: t.nn.ModuleDict([["b", t.nn.ReLU()], ["a", t.nn.Tanh()]]),
    "dict bad": lambda t: t.nn.ModuleDict([["b"]]),
    "dict bad 2": lambda t: t.nn.ModuleDict(3),
    "dict ops": lambda t: (m := t.nn.ModuleDict({"b": t.nn.ReLU()}), m.pop("b"), "b" in m, len(m))[1:],
    "plist": lambda t: t.nn.ParameterList([t.ones(2), t.ones(2, 3), t.nn.Parameter(t.ones(1)), "x"]),
    "plist state": lambda t: t.nn.ParameterList([t.ones(2), t.ones(2, 3)]).state_dict(),
    "plist slice": lambda t: list(t.nn.ParameterList([t.ones(2), t.ones(2, 3)])[1:]),
    "plist range": lambda t: t.nn.ParameterList([t.ones(2)])[5],
    "plist call": lambda t: t.nn.ParameterList()(2),
    "pdict": lambda t: t.nn.ParameterDict({"b": t.ones(2), "a": t.ones(1)}),
    "pdict state": lambda t: t.nn.ParameterDict({"b": t.ones(2), "a": t.ones(1)}).state_dict(),
    "pdict ops": lambda t: (
        m := t.nn.ParameterDict({"b": t.ones(2)}),
        m.get("x", 3),
        m.setdefault("c", t.ones(1)),
        list(m),
        m.popitem(),
        list(m.copy()),
        list(m | t.nn.ParameterDict({"q": t.ones(1)})),
    )[1:],
    "pdict key": lambda t: t.nn.ParameterDict({3: t.ones(1)}),
    "pdict no": lambda t: t.nn.ParameterDict()["x"],
    "parameter": lambda t: [t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(2), False), t.nn.Parameter()],
    "parameter text": lambda t: repr(t.nn.Parameter(t.ones(2))) + str(t.nn.Parameter(t.ones(2), False)),
    "parameter results": lambda t: [
        type(v).__name__ for v in (lambda p: (p + 1, p.data, p.detach(), p.view(2, 1), p.T))(t.nn.Parameter(t.ones(2)))
    ],
    "isinstance": lambda t: [
        isinstance(t.nn.Parameter(t.ones(1)), t.Tensor),
        isinstance(t.ones(1), t.nn.Parameter),
        isinstance(t.ones(1), t.nn.Buffer),
        isinstance(t.nn.Buffer(t.ones(1)), t.nn.Buffer),
    ],
    "clip": lambda t: (
        m := net(t),
        (m(t.rand(4, 2)) ** 2).sum().mul(100).backward(),
        t.nn.utils.clip_grad_norm_(m.parameters(), 1.0),
        [p.grad for p in m.parameters()],
    )[2:],
    "clip value": lambda t: (
        m := net(t),
        (m(t.rand(4, 2)) ** 2).sum().backward(),
        t.nn.utils.clip_grad_value_(m.parameters(), 0.01),
        [p.grad for p in m.parameters()],
    )[3:],
    "vector": lambda t: (
        m := t.nn.Linear(2, 1),
        v := t.nn.utils.parameters_to_vector(m.parameters()),
        t.nn.utils.vector_to_parameters(v * 2, m.parameters()),
        m.weight,
    )[1:],
    "paths": lambda t: [
        t.nn.modules.module.Module is t.nn.Module,
        t.nn.parameter.Parameter is t.nn.Parameter,
        issubclass(t.nn.MSELoss, t.nn.modules.loss._Loss),
        issubclass(t.nn.BatchNorm2d, t.nn.modules.batchnorm._BatchNorm),
        t.nn.modules.utils._pair(3),
        t.nn.modules.utils._triple((1, 2, 3)),
    ],
}


@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name):
    assert outcome(CALLS[name], strided) == outcome(CALLS[name], torch)


# The constructors of these come from bases in PyTorch, too.
OF_BASES = re.compile("(Lazy)?(Batch|Instance)Norm.d|RNN$|LSTM$|GRU$|Lazy")


@pytest.mark.parametrize(
    "name", [n for n in dir(torch.nn) if isinstance(getattr(torch.nn, n), type) and not OF_BASES.match(n)]
)
def test_wrong_keywords_name_the_class(name):
    def message(lib):
        try:
            getattr(lib.nn, name)(bogus=1)
        except Exception as error:
            return type(error), str(error)

    assert message(strided) == message(torch)
