"""Functions of networks under vmap, against a loop over the samples."""

import math

import pytest
import strided as torch
import strided.nn.functional as F
from strided import nn
from strided.func import functional_call, grad, vmap

N = 3


def draw(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64)


CALLS = {
    "linear": (F.linear, (4, 3), (5, 3), (5,)),
    "linear of a row": (F.linear, (3,), (5, 3), (5,)),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1, stride=2), (2, 4, 7), (6, 4, 3), (6,)),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, groups=2, dilation=2), (2, 4, 7, 6), (6, 2, 3, 2), (6,)),
    "conv2d of one image": (F.conv2d, (4, 5, 5), (2, 4, 3, 3)),
    "conv3d": (F.conv3d, (1, 2, 3, 4, 3), (2, 2, 2, 2, 2)),
    "conv_transpose2d": (lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2), (2, 4, 3, 3), (4, 3, 2, 2), (3,)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (2, 3, 4, 6)),
    "max_pool1d of one row": (lambda x: F.max_pool1d(x, 2, return_indices=True), (3, 6)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, padding=1), (2, 3, 4, 6)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), (2, 3, 5, 6)),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 2), (2, 3, 5)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), (3, 4), (4,), (4,)),
    "group_norm": (lambda x: F.group_norm(x, 2), (2, 4, 3)),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), (4, 2, 3)),
    "instance_norm": (F.instance_norm, (4, 2, 3)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2.0), (1, 2, 3, 3)),
    "normalize": (F.normalize, (3, 4)),
    "gelu": (F.gelu, (3,)),
    "silu": (F.silu, (3,)),
    "elu": (F.elu, (3,)),
    "softplus": (F.softplus, (3,)),
    "leaky_relu": (F.leaky_relu, (3,)),
    "hardtanh": (F.hardtanh, (3,)),
    "softmax": (lambda x: F.softmax(x, -1), (3, 4)),
    "prelu": (F.prelu, (2, 3, 2), (3,)),
    "mse_loss": (F.mse_loss, (3, 4), (3, 4)),
    "smooth_l1_loss": (F.smooth_l1_loss, (3, 4), (3, 4)),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, (3,), (3,)),
    "cross_entropy of probabilities": (lambda x, y: F.cross_entropy(x, y.softmax(1)), (3, 4), (3, 4)),
    "cosine_similarity": (F.cosine_similarity, (3, 4), (3, 4)),
    "pad": (lambda x: F.pad(x, (1, 2), value=3.0), (2, 3)),
    "bilinear": (F.bilinear, (2, 3), (2, 4), (5, 3, 4)),
    "attention": (F.scaled_dot_product_attention, (2, 5, 4), (2, 6, 4), (2, 6, 4)),
    "fft": (lambda x: (torch.fft.fft(x), torch.fft.rfft2(x), torch.fft.fftn(x), torch.fft.fftshift(x, 0)), (3, 4)),
}


def leaves(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    function, *shapes = CALLS[name]
    given = [draw(N, *shape, seed=i) for i, shape in enumerate(shapes)]
    for varies in [range(len(shapes)), *([i] for i in range(len(shapes)) if len(shapes) > 1)]:
        args = [x if i in varies else x[0] for i, x in enumerate(given)]
        rows = [function(*(x[k] if i in varies else x for i, x in enumerate(args))) for k in range(N)]
        found = vmap(function, in_dims=tuple(0 if i in varies else None for i in range(len(args))))(*args)
        for a, parts in zip(leaves(found), zip(*map(leaves, rows))):
            b = torch.stack(parts)
            assert a.shape == b.shape and a.dtype == b.dtype
            assert torch.allclose(a, b, rtol=1e-9, atol=1e-11), name


def test_class_losses():
    x, y = draw(N, 4, 5), torch.tensor([[0, 1, 2, 4], [3, 3, 0, 1], [2, 0, 4, 4]])
    found = vmap(F.cross_entropy)(x, y)
    assert torch.allclose(found, torch.stack([F.cross_entropy(a, b) for a, b in zip(x, y)]))
    w = draw(6, 2)
    assert vmap(F.embedding, in_dims=(0, None))(y, w).equal(F.embedding(y, w))


def test_dropout_draws_for_each_sample():
    x = torch.ones(N, 100)
    different = vmap(F.dropout, randomness="different")(x)
    assert not different[0].equal(different[1])
    same = vmap(F.dropout, randomness="same")(x)
    assert same[0].equal(same[1]) and not same[0].equal(x[0])
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(F.dropout)(x)


def test_gradients_of_a_convolutional_network():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3), nn.LogSoftmax(-1)
    ).double()
    params = {n: p.detach() for n, p in model.named_parameters()}
    x, y = draw(N, 1, 8, 8), torch.tensor([0, 2, 1])

    def loss(params, x, y):
        return F.nll_loss(functional_call(model, params, (x[None],)), y[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for k in range(N):
        model.zero_grad()
        F.nll_loss(model(x[k : k + 1]), y[k : k + 1]).backward()
        for name, p in model.named_parameters():
            assert torch.allclose(found[name][k], p.grad, rtol=1e-9, atol=1e-11), name


class Scaled(torch.autograd.Function):
    """x**2 * w, with a gradient that says so."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        assert x.ndim == 1
        return x**2 * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return 2 * x * w * g, x**2 * g


class Product(torch.autograd.Function):
    """x * y, whose backward pass leaves it to the engine to add up what was broadcast."""

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


@pytest.mark.parametrize(
    ("shapes", "dims"),
    [
        (((2, 4), (2, 3, 4)), (0, 0)),
        (((4,), (2, 3, 4)), (None, 0)),
        (((2, 4), (3, 4)), (0, None)),
        (((2, 1, 4), (2, 3, 4)), (0, 0)),
        (((2, 3, 4), (2,)), (0, 0)),
    ],
)
def test_gradients_are_added_up_where_samples_were_broadcast(shapes, dims):
    x, y = (torch.arange(1.0, 1 + math.prod(s)).reshape(s).requires_grad_() for s in shapes)
    found, expected = (vmap(f, dims)(x, y) for f in (Product.apply, torch.mul))
    assert torch.equal(found, expected)
    for a, b in zip(*(torch.autograd.grad(r.square().sum(), (x, y)) for r in (found, expected))):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("swap", [False, True])
def test_gradients_of_functions_of_tensors_of_different_levels(swap):
    def of(function):
        def f(a, b):
            def call(p, q):
                return function(q, p) if swap else function(p, q)

            return vmap(lambda p: vmap(lambda q: call(p, q))(b))(a).sin().sum()

        return f

    a, b = torch.arange(6.0).reshape(3, 2), torch.arange(8.0).reshape(4, 2)
    for found, expected in zip(*(grad(of(f), argnums=(0, 1))(a, b) for f in (Product.apply, torch.mul))):
        torch.testing.assert_close(found, expected)


class Ruled(torch.autograd.Function):
    seen = []

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def vmap(info, in_dims, x):
        Ruled.seen.append((info.batch_size, info.randomness, in_dims))
        return Ruled.apply(x.movedim(in_dims[0], 0)), 0


def test_rules_are_inherited_and_unambiguous():
    class Heir(Ruled):
        pass

    class Both(Ruled):
        generate_vmap_rule = True

    Ruled.seen.clear()
    assert torch.equal(vmap(Heir.apply)(torch.ones(N, 4)), torch.full((N, 4), 2.0))
    assert Ruled.seen == [(N, "error", (0,))]
    assert not torch.autograd.Function.generate_vmap_rule
    with pytest.raises(RuntimeError, match="generate_vmap_rule"):
        vmap(Both.apply)(torch.ones(N, 4))


class OfLists(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, others, factor=1):
        return x * factor, [y * factor for y in others]

    @staticmethod
    def vmap(info, in_dims, x, others, *, factor=1):
        assert in_dims == (0, [0, None])
        return (x * factor, [y * factor for y in others]), (0, [0, None])


def test_rules_of_lists():
    x, y = torch.ones(N, 4), torch.ones(4)
    made, others = vmap(lambda x: OfLists.apply(x, [x, y], factor=2))(x)
    assert torch.equal(made, torch.full((N, 4), 2.0)) and [t.shape for t in others] == [(N, 4), (N, 4)]


def test_rules_run_outside_of_their_level_and_see_nests():
    weight = draw(4).requires_grad_()  # its gradient does not vary with the samples of the rule
    kinds = []

    class Gradients(torch.autograd.Function):
        @staticmethod
        def forward(ctx, nest):
            return torch.func.vjp(lambda w: w * w, weight)[1](nest["x"][0])[0]

        @staticmethod
        def vmap(info, in_dims, nest):
            assert in_dims == ({"x": (0,)},)
            (ones,) = torch.func.vjp(lambda w: w * w, weight)[1](torch.ones(4, dtype=weight.dtype))
            kinds.append(type(ones))
            return vmap(Gradients.forward, in_dims=(None, *in_dims))(None, nest), 0

    x = draw(N, 4)
    assert torch.allclose(vmap(lambda x: Gradients.apply({"x": (x,)}))(x), 2 * weight * x) and kinds == [torch.Tensor]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda x: x, "Few.vmap to have two returns, the results and out_dims, got 1"),
        (lambda x: (x, 0, 0), "to have two returns, the results and out_dims, got 3"),
        (lambda x: (x, (None,)), "Few.vmap returned an incompatible out_dims"),
        (lambda x: ([x], (None,)), "returned an incompatible out_dims"),
    ],
)
def test_what_rules_return(returned, words):
    class Few(Ruled):
        @staticmethod
        def vmap(info, in_dims, x):
            return returned(x)

    with pytest.raises(RuntimeError, match=words):
        vmap(Few.apply)(torch.ones(N, 4))


def test_rules_take_no_tensors_by_keyword():
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        vmap(lambda x: Ruled.apply(x, y=torch.ones(4)))(torch.ones(N, 4))


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
def test_functions_of_the_users_own(dims):
    x, w = (draw(*([N] if d == 0 else []), 4, seed=i) for i, d in enumerate(dims))
    assert torch.allclose(vmap(Scaled.apply, in_dims=dims)(x, w), x**2 * w)
    found = vmap(grad(lambda x, w: Scaled.apply(x, w).sum(), argnums=(0, 1)), in_dims=dims)(x, w)
    assert torch.allclose(found[0], (2 * x * w).expand(N, 4)) and torch.allclose(found[1], (x**2).expand(N, 4))
    found = vmap(grad(lambda x, w: grad(lambda x: Scaled.apply(x, w).sum())(x).sum()), in_dims=dims)(x, w)
    assert torch.allclose(found, (2 * w).expand(N, 4))
    a, b = (t.clone().requires_grad_() for t in (x, w))
    vmap(Scaled.apply, in_dims=dims)(a, b).sum().backward()
    expected = torch.autograd.grad((a**2 * b).expand(N, 4).sum(), (a, b))
    assert torch.allclose(a.grad, expected[0]) and torch.allclose(b.grad, expected[1])


def test_functions_with_a_rule_of_their_own():
    x = draw(2, N, 4)
    assert vmap(Ruled.apply)(x[0]).equal(2 * x[0]) and Ruled.seen[-1] == (N, "error", (0,))
    assert vmap(vmap(Ruled.apply))(x).equal(2 * x)


def test_what_was_saved_for_forward_does_not_replace_the_rest():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output)
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            x, _ = ctx.saved_tensors
            return 3 * x**2 * g

    x = draw(N, 4)
    assert torch.allclose(vmap(grad(lambda x: Cube.apply(x).sum()))(x), 3 * x**2)


def test_gradients_of_a_graph_from_outside():
    x, w = (draw(4, seed=i).requires_grad_() for i in range(2))
    y, z, rows = x**3, x * w, torch.eye(4, dtype=x.dtype)
    (jacobian,) = vmap(lambda v: torch.autograd.grad(y, x, v, retain_graph=True))(rows)
    assert torch.allclose(jacobian, torch.diag(3 * x**2))

    def both(u, v):
        return torch.autograd.grad((y, z), (x, w), (u, v), retain_graph=True)

    dx, dw = vmap(both)(rows, 2 * rows)
    assert torch.allclose(dx, torch.diag(3 * x**2 + 2 * w)) and torch.allclose(dw, torch.diag(2 * x))
    nested = vmap(vmap(both, in_dims=(None, 0)), in_dims=(0, None))(rows, 2 * rows)[0]
    assert torch.allclose(nested, torch.diag(3 * x**2)[:, None] + torch.diag(2 * w)[None])
    again = vmap(lambda v: torch.autograd.grad(y, x, v, create_graph=True)[0])(rows)
    assert torch.allclose(torch.autograd.grad(again.sum(), x)[0], 6 * x)
    found = vmap(lambda v: torch.autograd.grad(y, {"w": w}, v, retain_graph=True, materialize_grads=True))(rows)
    assert found["w"].equal(torch.zeros(4, 4, dtype=x.dtype))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar"):
        vmap(lambda v: torch.autograd.grad((y, z), x, (v, None), retain_graph=True))(rows)


def test_functions_and_hooks_see_a_batch_of_gradients_at_once():
    shapes = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            shapes.append((type(g).__name__, g.shape))
            x, w = ctx.saved_tensors
            return g * w, g * x  # the sum over what was broadcast is the engine's

    x, w = draw(3, 4).requires_grad_(), draw(4, seed=1).requires_grad_()
    x.register_hook(lambda g: shapes.append((type(g).__name__, g.shape)) or 2 * g)
    y = (Scaled.apply(x, w).tanh() @ draw(4, 2, seed=2)).sum(0) + x.sum()
    rows = draw(5, 2, seed=3)
    expected = [torch.autograd.grad(y, (x, w), row, retain_graph=True) for row in rows]
    shapes.clear()
    for run in (
        lambda v: torch.autograd.grad(y, (x, w), v, retain_graph=True, is_grads_batched=True),
        vmap(lambda v: torch.autograd.grad(y, (x, w), v, retain_graph=True)),
    ):
        found = run(rows)
        assert shapes == [("BatchedTensor", (3, 4))] * 2
        assert all(torch.allclose(g, torch.stack(e)) for g, e in zip(found, zip(*expected)))
        shapes.clear()
    (nested,) = vmap(lambda v: torch.autograd.grad(y, w, v, retain_graph=True, is_grads_batched=True))(rows[:, None])
    assert torch.allclose(nested[:, 0], torch.stack([e[1] for e in expected]))
    (again,) = torch.autograd.grad(y, x, rows, is_grads_batched=True, create_graph=True)
    assert torch.autograd.gradcheck(
        lambda x, w: torch.autograd.grad(Scaled.apply(x, w).sin().sum(0), w, rows[:, [0, 1, 0, 1]],
                                         is_grads_batched=True, create_graph=True), (x.detach().requires_grad_(), w)
    ) and again.requires_grad  # fmt: skip


def test_the_name_of_older_versions():
    from strided._vmap_internals import _vmap
    from strided._vmap_internals import vmap as older

    x = draw(N, 4)
    assert older(torch.sum)(x).equal(x.sum(1))
    with_none = _vmap(lambda x: (x * 2, None, x + 1), allow_none_pass_through=True)(x)
    assert with_none[0].equal(x * 2) and with_none[1] is None and with_none[2].equal(x + 1)
    assert _vmap(lambda x: None, allow_none_pass_through=True)(x) is None
    with pytest.raises(NotImplementedError, match="not one int"):
        _vmap(torch.sum, out_dims=(0,), allow_none_pass_through=True)


# ---------------------------------------------------------------- what functional_call exchanges


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count = torch.nn.Buffer(torch.zeros(1))
        self.scale = torch.ones(1)

    def forward(self, x):
        self.count = self.count + 1
        return x * self.scale + self.count


def test_functional_call_takes_plain_attributes_and_returns_what_was_written():
    module, values = Counting(), {"count": torch.tensor([2.0]), "scale": torch.tensor([5.0])}
    before = values["count"]
    assert torch.func.functional_call(module, values, torch.ones(1)).tolist() == [8]
    assert values["count"].tolist() == [3] and before.tolist() == [2]
    assert module.count.tolist() == [0] and module.scale.tolist() == [1]
    assert torch.func.functional_call(module, {"other": torch.ones(1)}, torch.ones(1)).tolist() == [2]
    assert not hasattr(module, "other")
    with pytest.raises(TypeError, match="is not an instance of torch.Tensor"):
        torch.func.functional_call(module, {"count": 3}, torch.ones(1))


def test_functional_call_of_a_module_in_itself():
    module = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
    module[0].around = module
    given = {"0.around.0.weight": torch.tensor([[3.0]])}
    assert torch.func.functional_call(module, given, torch.ones(1, 1), tie_weights=False).item() == 3


def test_functional_call_of_tied_parameters():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = torch.nn.Parameter(torch.ones(1))

        def forward(self):
            return self.a + self.b

    module, one = Tied(), torch.tensor([3.0])
    assert torch.func.functional_call(module, {"a": one}, (), strict=True).item() == 6
    assert torch.func.functional_call(module, {"a": one, "b": one}, ()).item() == 6
    with pytest.raises(ValueError, match="which are tied"):
        torch.func.functional_call(module, {"a": one, "b": torch.ones(1)}, ())
    with pytest.raises(RuntimeError, match="Missing key"):
        torch.func.functional_call(module, {"a": one}, (), strict=True, tie_weights=False)


def test_models_that_want_different_gradients_are_not_stacked():
    from strided.func import stack_module_state

    models = [nn.Linear(2, 2) for _ in range(3)]
    models[1].bias.requires_grad_(False)
    with pytest.raises(RuntimeError, match=r"Expected bias from each model to have the same \.requires_grad"):
        stack_module_state(models)
    for model in models:
        model.bias.requires_grad_(False)
    parameters, _ = stack_module_state(models)
    assert parameters["weight"].requires_grad and not parameters["bias"].requires_grad


def test_group_norm_of_no_elements():
    assert vmap(lambda x: F.group_norm(x, 1))(torch.ones(N, 0, 2)).shape == (N, 0, 2)
    assert vmap(lambda x: F.group_norm(x, 2))(torch.ones(N, 3, 2, 0)).shape == (N, 3, 2, 0)
