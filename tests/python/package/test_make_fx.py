"""make_fx and export: programs recorded by the operations that tensors meet."""

import copy
import pickle

import pytest
import strided
from strided import nn
from strided.export import export
from strided.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from strided.nn import functional as F

aten = strided.ops.aten


def targets(program):
    return [str(n.target).removeprefix("aten.") for n in program.graph.nodes if n.op == "call_function"]


def test_programs_do_what_the_function_did():
    def f(x, y):
        z = F.linear(x, y).relu()
        z.add_(1)
        return z, z.sum() * 2

    x, y = strided.randn(2, 3), strided.randn(4, 3)
    program = make_fx(f)(x, y)
    assert targets(program) == ["t.default", "mm.default", "relu.default", "add_.Tensor", "sum.default", "mul.Tensor"]
    assert [n.name for n in program.graph.nodes if n.op == "placeholder"] == ["x_1", "y_1"]
    a, b = strided.randn(2, 3), strided.randn(4, 3)
    for one in (program, pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        for left, right in zip(one(a, b), f(a, b)):
            assert strided.equal(left, right)
    assert program.graph.find_nodes(op="placeholder")[0].meta["val"].device.type == "meta"
    program.graph.lint()


def test_trees():
    def f(x, d):
        return {"a": x + d["w"], "b": (d["n"] * x).max(1)}

    d = {"w": strided.ones(3), "n": 2}
    program = make_fx(f)(strided.ones(2, 3), d)
    x = strided.randn(2, 3)
    for one in (program, pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        found, wanted = one(x, d), f(x, d)
        assert strided.equal(found["a"], wanted["a"]) and strided.equal(found["b"].indices, wanted["b"].indices)
    assert type(found["b"]) is type(wanted["b"])
    with pytest.raises(ValueError, match="structure"):
        program(x, {"w": x})


def test_constants_and_parameters():
    net, c = nn.Linear(3, 2), strided.ones(2)
    program = make_fx(lambda x: net(x) * c + strided.tensor([1.0, 2.0]))(strided.ones(1, 3))
    assert sorted(dict(program.named_buffers())) == ["_tensor_constant0", "_tensor_constant1"]
    assert [id(p) for p in program.parameters()] == [id(net.weight), id(net.bias)]
    x = strided.randn(4, 3)
    assert strided.equal(program(x), net(x) * c + strided.tensor([1.0, 2.0]))


def test_a_table_replaces_operations():
    table = {aten.silu.default: lambda x: x * x.sigmoid()}
    program = make_fx(lambda x: F.silu(x) + 1, decomposition_table=table)(strided.ones(2))
    assert targets(program) == ["sigmoid.default", "mul.Tensor", "add.Tensor"]


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="get value out of a tracing tensor"):
        make_fx(lambda x: x if x.sum() > 0 else -x)(strided.ones(2))
    with pytest.raises(NotImplementedError, match="make_fx: strided does not record backward passes"):
        make_fx(lambda x: strided.autograd.grad((x * x).sum(), x))(strided.ones(2, requires_grad=True))
    with pytest.raises(NotImplementedError, match="make_fx: strided .*symbolic"):
        make_fx(strided.exp, tracing_mode="symbolic")(strided.ones(2))
    assert get_proxy_mode() is None and targets(make_fx(strided.exp)(strided.ones(2))) == ["exp.default"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.unused, self.c = nn.Linear(3, 2), nn.Linear(1, 1), strided.ones(2)
        self.register_buffer("b", strided.ones(2))
        self.register_buffer("hidden", strided.ones(2), persistent=False)

    def forward(self, x, *, k):
        return {"a": self.l(x).relu() + self.b, "b": (x * k["z"]).sum(), "n": 3, "c": x[:, :2] * self.c * self.hidden}


def test_export():
    net, k = Net(), {"z": strided.ones(3)}
    program = export(net, (strided.ones(4, 3),), {"k": k})
    signature = program.graph_signature
    assert signature.parameters == ("l.weight", "l.bias") and signature.buffers == ("b", "hidden")
    assert signature.inputs_to_parameters == {"p_l_weight": "l.weight", "p_l_bias": "l.bias"}
    assert signature.user_inputs == ("x_1", "k_1") and 3 in signature.user_outputs
    assert list(program.state_dict) == ["l.weight", "l.bias", "b"]
    assert sorted(program.constants) == ["_tensor_constant0", "hidden"]
    assert "p_l_weight: PARAMETER target='l.weight'" in str(program)
    x, wanted = strided.randn(4, 3), None
    for one in (program.module(), pickle.loads(pickle.dumps(program.module()))):
        found, wanted = one(x, k=k), net(x, k=k)
        assert found["n"] == 3 and all(strided.equal(found[i], wanted[i]) for i in "abc")
    lifted = program.graph_module(*program.parameters(), *program.buffers(), net.c, x, k["z"])
    assert strided.equal(lifted[0], wanted["a"])
    found["a"].sum().backward()
    program.module()(x, k=k)["a"].sum().backward()  # the module's own parameters
    assert net.l.weight.grad is not None and program.run_decompositions() is program
    assert "aten.addmm.default" in [str(n.target) for n in program.graph.nodes]


def test_export_refuses():
    net = nn.Linear(2, 2)
    with pytest.raises(NotImplementedError, match="export: strided .*dynamic_shapes"):
        export(net, (strided.ones(1, 2),), dynamic_shapes={"x": {0: 1}})
    with pytest.raises(TypeError, match="tuple"):
        export(net, strided.ones(1, 2))
    with pytest.raises(ValueError, match="Module"):
        export(strided.exp, (strided.ones(1),))
    with pytest.raises(RuntimeError, match="module\\(\\)"):
        export(net, (strided.ones(1, 2),))(strided.ones(1, 2))
    with pytest.raises(NotImplementedError, match=r"export.save: strided"):
        strided.export.save(export(net, (strided.ones(1, 2),)), "a")


@pytest.mark.parametrize("transform", ["grad", "jacrev", "jacfwd", "hessian"])
def test_derivatives_inside_are_refused(transform):
    f = getattr(strided.func, transform)(lambda x: x.sin().sum())
    with pytest.raises(NotImplementedError, match="does not record backward passes"):
        make_fx(f)(strided.ones(3))
    with pytest.raises(NotImplementedError, match="does not record backward passes"):  # an operation without a formula
        make_fx(strided.func.grad(lambda x: strided.special.erfcx(x).sum()))(strided.ones(3))


@pytest.mark.parametrize(
    "options", [(3, 2, 1), (3, 2, 1, 2), (3, None, 1), (3, 2, 1, 1, False, True), (2,), (3, 2, 0, 2), (3, 2, (1, 0))]
)
def test_options_of_pools_are_recorded(options):
    net, x = nn.MaxPool2d(*options), strided.randn(1, 2, 9, 8)
    assert strided.equal(export(net, (x,)).module()(x), net(x))


@pytest.mark.parametrize(
    "kind", [nn.Hardswish, nn.Hardsigmoid, nn.SiLU, nn.Mish, nn.ReLU6, nn.ELU, nn.CELU, nn.Hardtanh, nn.LeakyReLU]
)
def test_activations_in_place_are_recorded(kind):
    net, x = kind(inplace=True), strided.randn(2, 3)
    assert strided.equal(export(net, (x.clone(),)).module()(x.clone()), net(x.clone()))


def _of_networks():
    """{name: (shape of the input, a function of nn.functional)}: those whose work functions of the core do."""
    found = {}
    for axes, shape in ((1, (2, 4, 12)), (2, (2, 4, 8, 8)), (3, (2, 4, 6, 6, 6))):
        for kind, options in (("avg", (3, 2, 1)), ("max", (3, 2, 1)), ("adaptive_avg", (3,)), ("adaptive_max", (3,))):
            pool = getattr(F, f"{kind}_pool{axes}d")
            found[pool.__name__] = shape, lambda x, pool=pool, options=options: pool(x, *options)
            if "max" in kind:
                both = getattr(F, f"{kind}_pool{axes}d_with_indices")
                found[both.__name__] = shape, lambda x, both=both, options=options: both(x, *options)
                found[both.__name__ + " told"] = (
                    shape,
                    lambda x, pool=pool, options=options: pool(x, *options, return_indices=True),
                )
        power, undo = getattr(F, f"lp_pool{axes}d"), getattr(F, f"max_unpool{axes}d")
        maxima = getattr(F, f"max_pool{axes}d")
        found[power.__name__] = shape, lambda x, power=power: power(x.abs(), 2, 2)
        found[undo.__name__] = shape, lambda x, undo=undo, maxima=maxima: undo(*maxima(x, 2, return_indices=True), 2)
        for mode in ("reflect", "replicate", "circular", "constant"):
            found[f"pad {mode} {axes}"] = shape, lambda x, mode=mode, axes=axes: F.pad(x, (1, 2) * axes, mode)
    picture = (2, 4, 8, 8)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        found[f"interpolate {mode}"] = picture, lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode)
        found[f"interpolate {mode} to"] = picture, lambda x, mode=mode: F.interpolate(x, (5, 7), mode=mode)
    bags = strided.tensor([[0, 1], [2, 3]])
    grid = strided.rand(2, 3, 5, 2) * 2 - 1
    return found | {
        "upsample_nearest": (picture, lambda x: F.upsample_nearest(x, scale_factor=2)),
        "grid_sample": (picture, lambda x: F.grid_sample(x, grid, align_corners=False)),
        "pixel_shuffle": (picture, lambda x: F.pixel_shuffle(x, 2)),
        "pixel_unshuffle": (picture, lambda x: F.pixel_unshuffle(x, 2)),
        "channel_shuffle": (picture, lambda x: F.channel_shuffle(x, 2)),
        "unfold": (picture, lambda x: F.unfold(x, 3, 1, padding=1, stride=2)),
        "Tensor.unfold": (picture, lambda x: x.unfold(2, 3, 1)),
        "fold": ((2, 36, 36), lambda x: F.fold(x, (8, 8), 3)),
        "instance_norm": (picture, lambda x: F.instance_norm(x, weight=strided.arange(4.0))),
        "embedding_bag": ((6, 5), lambda x: F.embedding_bag(bags, x)),
        "embedding_bag by offsets": ((6, 5), lambda x: F.embedding_bag(bags[0], x, strided.tensor([0, 1]), mode="sum")),
        "mse_loss broadcast": ((2, 5), lambda x: F.mse_loss(x, x[:1])),
        "mse_loss weight": ((2, 5), lambda x: F.mse_loss(x, 2 * x, weight=strided.arange(5.0).expand(2, 5))),
        "huber_loss weight": ((2, 5), lambda x: F.huber_loss(x, 2 * x, weight=strided.arange(5.0).expand(2, 5))),
        "bce pos_weight": (
            (2, 5),
            lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid(), pos_weight=strided.arange(5.0)),
        ),
        "multi_margin_loss": ((2, 5), lambda x: F.multi_margin_loss(x, strided.tensor([1, 3]))),
    }


_OF_NETWORKS = _of_networks()


@pytest.mark.parametrize("name", _OF_NETWORKS)
@pytest.mark.filterwarnings("ignore")  # upsample_nearest is deprecated
def test_results_depend_on_other_inputs_too(name):
    shape, f = _OF_NETWORKS[name]
    program = make_fx(f)(strided.randn(shape))
    x = strided.randn(shape)
    found, wanted = program(x), f(x)
    if not isinstance(wanted, tuple):
        found, wanted = (found,), (wanted,)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert strided.equal(one, other)
