"""Programs with the classes of ``dispatch_classes``: functions of its ``Given``, of which each result is compared."""

import copy
import importlib

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


VALUES_ONLY = set()  # programs whose operations may differ


def larger(f):
    VALUES_ONLY.add(f.__name__)
    return program(f)


# ---------------------------------------------------------------- gradients


@program
def product(g):
    a, b = g.one(2, 3, grad=True), g.one(3, 4, grad=True)
    (a @ b).relu().sum().backward()
    return a.grad, b.grad, a.is_leaf


@program
def sum_of_gradients(g):
    x = g.one(3, grad=True)
    y = x * x + x
    y.sum().backward()
    (x * 2).sum().backward()
    return x.grad, type(y.grad_fn).__name__, y.requires_grad


@program
def views_of_a_leaf(g):
    x = g.one(2, 3, grad=True)
    x.t().reshape(-1)[1:3].view(2, 1).expand(2, 4).sum().backward()
    return x.grad


@program
def second_derivatives(g):
    x = g.one(3, grad=True)
    (first,) = g.lib.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = g.lib.autograd.grad(first.sum(), x)
    (slope,) = g.lib.autograd.grad(x.tanh().sum(), x, create_graph=True)
    return first, second, g.lib.autograd.grad(slope.sum(), x)


@program
def network(g):
    net = g.nn.Sequential(g.nn.Linear(3, 4), g.nn.GELU(), g.nn.LayerNorm(4), g.nn.Linear(4, 2))
    with g.lib.no_grad():
        for p in net.parameters():
            p.copy_(g.values(*p.shape))
    loss = g.F.cross_entropy(net(g.one(2, 3)), g.lib.tensor([0, 1]))
    loss.backward()
    return loss.detach(), [p.grad for p in net.parameters()]


@program
def pairs_in_a_network(g):
    x, w = g.two(2, 3, grad=True), g.two(3, 2, grad=True)
    loss = g.F.gelu(x @ w).softmax(1).log().mean()
    loss.backward()
    return loss.detach(), x.grad, w.grad


@program
def parameter_of_a_class(g):
    layer = g.nn.Linear(3, 2)
    layer.weight = g.nn.Parameter(g.one(2, 3))
    layer.bias.data.zero_()
    made = layer(g.values(4, 3))
    made.sum().backward()
    return (
        made.detach(), type(layer.weight).__name__, isinstance(layer.weight, g.nn.Parameter), layer.weight.grad,
        layer.bias.grad, list(layer.state_dict()),
    )  # fmt: skip


@program
def function_of_the_users(g):
    class Square(g.lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = g.two(3, grad=True)
    Square.apply(x).sum().backward()
    return x.grad


@program
def hooks(g):
    x, seen = g.two(3, grad=True), []
    x.register_hook(lambda grad: seen.append(type(grad).__name__))
    y = x * 2
    y.register_hook(lambda grad: grad * 3)
    y.sum().backward()
    return seen, x.grad


@program
def descent(g):
    p = g.nn.Parameter(g.two(2, 3))
    steps = g.lib.optim.SGD([p], lr=0.1, momentum=0.9)
    for _ in range(3):
        steps.zero_grad()
        (p * p).sum().backward()
        steps.step()
    return p.detach()


@program
def the_same_gradient_of_two(g):
    x, y = g.one(3, grad=True), g.one(3, grad=True)
    (x + y).sum().backward()
    x.grad.mul_(2)
    return x.grad, y.grad


@program
def gradients_of_many(g):
    x = g.one(3, 3, grad=True)
    y = (x.exp() + x.abs().sqrt().neg() - x.sin() / (x * x + 1)).sigmoid()
    z = g.lib.cat([y, y.flip([0])]).cumsum(0).mean(1) * g.lib.where(x > 0, x, 0.0).sum()
    parts = z.split(2)
    (parts[0].sum() + g.lib.stack(list(parts[1].unbind())).pow(2).sum() + x.clamp(-0.5, 0.5).sum()).backward()
    return x.grad


@program
def written_with_a_gradient(g):
    x = g.one(3, grad=True)
    y = x * 2
    y.mul_(x).add_(1).relu_()
    y.sum().backward()
    return x.grad


@larger
def written_through_views(g):
    x, w = g.one(2, 3, grad=True), g.one(3, grad=True)
    y = x.clone()
    before = y[1]
    y[0] = 0.0
    y[1, 1:] *= 3
    y.t()[0].mul_(w[:2]).add_(1)
    z = g.one(2, 3)
    z[1].copy_(w)  # of a tensor that wanted no gradient
    y.mul_(2)
    (y.sum() + before.exp().sum() + (z * z).sum()).backward()
    return x.grad, w.grad, y.detach(), before.detach(), z.detach(), z.requires_grad


@program
def writes_that_are_refused(g):
    x = g.one(2, 3, grad=True)
    y = x * 2
    z = y[0].exp()
    y.unbind(0)
    saved = error(lambda: (y[0] * y[0]).sum().backward() if y.add_(1) is None else None)
    return (
        error(lambda: x[0].add_(1)), error(lambda: y.unbind(0)[0].add_(1))[0], saved, error(lambda: z.sum().backward()),
    )  # fmt: skip


@larger
def values_that_a_graph_needs(g):
    x = g.one(2, 3, grad=True)
    y = x * 2
    row = y[0]
    z = row * row
    y.add_(1)
    return error(lambda: z.sum().backward())[0]


@program
def with_a_plain_operand(g):
    w = g.values(3, 2).requires_grad_()
    (g.one(2, 3) @ w).sum().backward()
    return type(w.grad).__name__, w.grad


# ---------------------------------------------------------------- operations


@program
def in_place(g):
    x = g.two(2, 3)
    y, z = x.add_(1), x.mul_(x)
    x[0] = 5.0
    x[1, 1] = g.lib.tensor(7.0)
    return y is x, z is x, x


@program
def in_place_of_views(g):
    x = g.two(2, 3)
    a, b = x.view(6), x.t()
    x.add_(1)
    b.mul_(2)
    return a, b, x


@program
def pieces(g):
    x = g.one(2, 3)
    return x[0], x[:, 1], x[g.lib.tensor([1, 0])], x[..., None], list(x), x.chunk(2, 1), x.unbind(1), x.split(1)


@program
def arithmetic(g):
    x = g.one(2)
    return x**2, 2**x, -x, abs(x), 1 - x, 1 / x, x // 2, x % 2, x == x, x > 0, x.clamp(0.1, 0.5), x + x, x @ x


@program
def reductions(g):
    x = g.two(2, 3)
    return (
        x.max(), x.sum(1), x.mean((0, 1), keepdim=True), x.norm(), x.std(), x.var(1), x.argmax(1), x.any(),
        list(x.max(1)), list(x.sort(1)), list(x.topk(1)), g.F.normalize(x),
    )  # fmt: skip


@program
def made_alike(g):
    x = g.one(2)
    return g.lib.zeros_like(x), g.lib.ones_like(x), x.new_zeros(3), x.clone(), x.new_ones(2, 2)


@program
def conversions(g):
    x = g.one(2)
    return (
        x.to(g.lib.float64), x.half().dtype == g.lib.float16, x.to("cpu") is x, x.float() is x, x.double(),
        x.to(x.double()), x.type(g.lib.int32), x.to(g.lib.float32, copy=True),
    )  # fmt: skip


@program
def numbers(g):
    x = g.Logging(g.lib.tensor(3.0))
    return x.item(), bool(x), float(x), int(x), g.lib.equal(g.one(2), g.one(2)), g.lib.allclose(g.one(2), g.one(2))


@program
def questions(g):
    x = g.one(2, 3)
    return (
        str(x.device), str(x.dtype), tuple(x.shape), x.stride(), x.is_cpu, x.is_meta, x.is_cuda, x.data_ptr(), len(x),
        str(x.layout), x.numel(), x.dim(), x.is_contiguous(), x.storage_offset(), x.element_size(), x.requires_grad,
        x.is_floating_point(), isinstance(x, g.lib.Tensor), g.lib.is_tensor(x), x.get_device(), x.is_sparse,
    )  # fmt: skip


@program
def attention(g):
    q = g.one(1, 1, 2, 4)
    return g.F.scaled_dot_product_attention(q, q, q)


@program
def convolution(g):
    return g.F.conv2d(g.one(1, 2, 4, 4), g.one(3, 2, 3, 3), padding=1)


@program
def normalization(g):
    return g.F.batch_norm(g.one(2, 3), g.lib.zeros(3), g.lib.ones(3)), g.F.layer_norm(g.one(2, 3), (3,))


@program
def layouts(g):
    x = g.one(2, 3)
    return x.t().contiguous(), x.reshape(-1), x.t().reshape(6), x.flatten(), x.permute(1, 0), x.T, x.view(3, 2)


# ---------------------------------------------------------------- objects


@program
def copies(g):
    x = g.one(2, grad=True)
    y = copy.deepcopy(x)
    return y, y.elem is x.elem, y.is_leaf


@program
def copies_of_pairs(g):
    return copy.deepcopy(g.two(2)), copy.copy(g.two(2))


@program
def data_and_detach(g):
    x = g.one(2, grad=True)
    return x.data, x.detach(), x.detach().requires_grad, type(x.data).__name__


@program
def without_gradients(g):
    x = g.two(3, grad=True)
    with g.lib.no_grad():
        x.mul_(2)
        y = x + 1
    return x, y, x._version


@program
def modules(g):
    layer = g.nn.Linear(3, 2, bias=False)
    layer.weight = g.nn.Parameter(g.two(2, 3))
    other = copy.deepcopy(layer)
    other.load_state_dict(layer.state_dict())
    layer.double()
    third = g.nn.Linear(3, 2, bias=False)
    third.load_state_dict({"weight": g.two(2, 3)}, assign=True)
    return layer.weight.detach(), type(other.weight).__name__, other(g.values(1, 3)).detach(), third.weight.detach()


@program
def taken_apart(g):
    x = g.two(2)
    changed = g.dispatch.transform_subclass(x, lambda name, t: t + 1)
    return (
        changed, g.dispatch.is_traceable_wrapper_subclass(x), g.dispatch.is_traceable_wrapper_subclass(g.values(2)),
        g.dispatch.is_traceable_wrapper_subclass(g.one(2)),
    )  # fmt: skip


@program
def texts(g):
    x, y = g.one(2), g.one(2, grad=True)
    return repr(x), str(x), f"{y}", repr(y * 2), repr(g.Logging(g.lib.ones(2, dtype=g.lib.float64))), str(g.two(1))


@program
def modes_above(g):
    x = g.two(2, 3, grad=True)
    with g.Names():
        y = (x * 2).sum()
        y.backward()
    return x.grad


@program
def functions_above(g):
    seen = []

    class Mode(g.lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = g.two(2, 2)
    with Mode():
        y = g.F.linear(x, x) + 1
    return seen, y


@program
def nested(g):
    x = g.Two(g.one(2, 2), g.one(2, 2), requires_grad=True)
    y = (x @ x).sum()
    y.backward()
    return y.detach(), x.grad


@program
def quantized_weight(g):
    layer = g.nn.Linear(4, 3)
    weight = g.values(3, 4)
    layer.weight = g.nn.Parameter(g.Int8.quantized(weight), requires_grad=False)
    layer.bias = g.nn.Parameter(g.values(3))
    x = g.values(2, 4).requires_grad_()
    made = layer(x)
    made.sum().backward()
    return made.detach(), x.grad, layer.bias.grad, type(copy.deepcopy(layer).weight).__name__, layer.weight


@program
def with_values_of_its_own(g):
    x = g.real(g.values(2, 3), True)
    (x * 2).sum().backward()
    return x.grad, x.shape, type(x).__name__


@program
def without_dispatch(g):
    x = g.real(g.values(2, 3))
    no_dispatch = importlib.import_module(f"{g.lib.__name__}.utils._mode_utils").no_dispatch
    with no_dispatch():
        y = g.lib.ops.aten.mul.Tensor(x, 2)
        z = (x + 1).sum(0)
        same = x.add_(1) is x
    return y, z, same, x.shape


@program
def shapes_only(g):
    x = g.Shapes(g.lib.empty(2, 3, device="meta"), "cpu")
    y = g.F.linear(x, x).relu().sum(0)
    return y, y.stride(), x.t(), (x + x).reshape(-1), x.half()


@program
def explicit_operations(g):
    x, aten = g.one(2, 2), g.lib.ops.aten
    return aten.add.Tensor(x, 1), aten.mm.default(x, x), aten.linear.default(x, x), aten.reshape.default(x, [4])


@program
def python_functions(g):
    x = g.one(2, 3)
    return g.lib.tensordot(x, x, dims=([1], [1])), g.lib.cdist(g.values(2, 2), g.values(2, 2)), g.lib.atleast_2d(x[0])


# ---------------------------------------------------------------- errors: their class and words


def error(f):
    try:
        f()
    except Exception as e:
        return type(e).__name__, str(e).partition("\n")[0]


@program
def no_numbers(g):
    return error(lambda: g.one(2).tolist())[0], error(lambda: g.one(2).numpy())[0]


@program
def leaves_are_not_written(g):
    return error(lambda: g.one(2, grad=True).add_(1)), error(lambda: g.one(2, grad=True).sin().backward())


@program
def nobody_takes_it(g):
    class Declines(g.lib.Tensor):
        @staticmethod
        def __new__(cls):
            return g.lib.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    return error(lambda: Declines() + 1)


# ---------------------------------------------------------------- larger programs: their operations may differ


def filled(g, module):
    with g.lib.no_grad():
        for p in module.parameters():
            p.copy_(g.values(*p.shape))
    return module


@larger
def transformer(g):
    layer = filled(g, g.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dropout=0.0))
    return layer(g.one(2, 2, 4)).detach()


@larger
def recurrent(g):
    layer = filled(g, g.nn.LSTM(3, 2))
    made, (state, _) = layer(g.one(2, 1, 3))
    return made.detach(), state.detach()


@larger
def convolutions_in_training(g):
    net = filled(g, g.nn.Sequential(g.nn.Conv2d(1, 2, 2), g.nn.BatchNorm2d(2), g.nn.ReLU(), g.nn.Flatten()))
    made = net(g.one(2, 1, 3, 3))
    made.square().mean().backward()
    return made.detach(), [p.grad for p in net.parameters()]


@larger
def losses(g):
    x, y = g.one(2, 3), g.lib.tensor([0, 1])
    return (
        g.F.cross_entropy(x, y, label_smoothing=0.1), g.F.kl_div(x, g.values(2, 3).softmax(1), reduction="batchmean"),
        g.F.cosine_similarity(x, x * 2 + 1), g.F.huber_loss(x, x * 2),
        g.F.binary_cross_entropy(x.sigmoid(), (x * 0).exp()),
    )  # fmt: skip


@larger
def transforms(g):
    return (
        g.lib.func.grad(lambda x: (x * x).sum())(g.one(3)), g.lib.vmap(lambda x: x * 2)(g.one(2, 3)),
        g.lib.einsum("ij,kj->ik", g.one(2, 3), g.one(4, 3)),
    )  # fmt: skip


@larger
def clipped_and_stepped(g):
    p = g.nn.Parameter(g.two(2, 3))
    steps = g.lib.optim.AdamW([p], lr=0.1, foreach=False)
    for _ in range(2):
        steps.zero_grad()
        (p * p).sum().backward()
        g.nn.utils.clip_grad_norm_([p], 1.0, foreach=False)
        steps.step()
    return p.detach(), p.grad


@program
def a_mode_that_wraps(g):
    class Wraps(g.dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            return g.Logging(made) if type(made) is g.lib.Tensor else made

    with Wraps():
        x = g.lib.ones(3)
        y = x * 2
    return x, y


@program
def masked(g):
    class Masked(g.lib.Tensor):
        @staticmethod
        def __new__(cls, data, mask, requires_grad=False):
            return g.lib.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype, requires_grad=requires_grad)

        def __init__(self, data, mask, requires_grad=False):
            self.values, self.mask = data, mask

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            name = str(func).removeprefix("aten.")
            if name in ("add.Tensor", "mul.Tensor"):
                values = [a.values if isinstance(a, cls) else a for a in args]
                masks = [a.mask for a in args if isinstance(a, cls)]
                return cls(func(*values), masks[0] if len(masks) == 1 else masks[0] & masks[1])
            if name in ("exp.default", "detach.default", "clone.default"):
                return cls(func(args[0].values), args[0].mask)
            if name == "sum.default":
                return args[0].values.masked_fill(~args[0].mask, 0).sum()
            return NotImplemented

    x = Masked(g.values(4), g.values(4) > 0.3, True)
    y = (x * 2 + 1).exp()
    y.sum().backward()
    declined = error(lambda: x.detach().cos())
    return y.detach().values, x.grad.values, x.grad.mask, declined


@program
def usual_function(g):
    class Made(g.lib.Tensor):
        @staticmethod
        def __new__(cls):
            return g.lib.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return g.values(2)

    off = g.lib._C._disabled_torch_function_impl
    return type(Made() + 1).__name__, Made.__torch_function__ is off, Made().new_tensor([1.0])


@program
def sorted_elements(g):
    x, sort = g.one(2, 3), g.lib.argsort
    made = [x.sort(stable=True), x.sort(dim=0, stable=True), x.sort(descending=True, stable=False), x.sort(0, True)]
    order = [x.argsort(), sort(x, 0), x.argsort(descending=True), sort(x, dim=0, descending=True, stable=True)]
    return [tuple(m) for m in made], order, x.argsort(stable=False), x.sort(-1)[0], g.lib.msort(x), x.msort()


# ---------------------------------------------------------------- formulas of gradients

# Functions of x, of shape (2, 3): their gradients are compared, and the operations of both passes.
FORMULAS = """
x.max(); x.amax(1); x.max(1)[0]; x[x > 0]; x[lib.tensor([1, 0])]; x.gather(1, index); x.index_select(0, lib.tensor([1]))
x.cumsum(0); x.repeat(2, 2); x.norm(); x.var(); x.std(1); x.prod(); x.logsumexp(1); x.masked_fill(x > 0, 1.0)
lib.maximum(x, x.detach()); lib.minimum(x, x.detach() * 2); x.atan(); x.erf(); x.acos(); x.asin(); x.sinh(); x.cosh()
x.tan(); x.asinh(); x.log2(); x.log10(); x.expm1(); x.log1p(); x.erfc(); x.rsqrt(); x.reciprocal(); x.frac()
F.silu(x); F.leaky_relu(x); F.elu(x); F.softplus(x); F.hardtanh(x); F.glu(x.t()); F.hardswish(x); F.mish(x)
F.mse_loss(x, x.detach() * 2); F.l1_loss(x, x.detach() * 2); F.smooth_l1_loss(x, x.detach() * 2)
F.binary_cross_entropy_with_logits(x, x.detach().abs()); x.squeeze(); x[None].squeeze(0); x.diagonal(); x.tril()
x.roll(1, 0); x.addcmul(x, x); x.lerp(x.detach() * 2, 0.3); x[0].outer(x[1]); x ** x.detach().abs(); 2**x
x.clamp(min=0); x.clamp(0, 0.5); x.softmax(0); x.nan_to_num(); F.pad(x, (1, 1)); x.unfold(1, 2, 1); x.expand(2, 2, 3)
x.kthvalue(1)[0]; x.sort(1)[0]; x.topk(2)[0]; x.median(); x.half().float(); x.movedim(0, 1); x.narrow(1, 0, 2)
F.embedding(lib.tensor([0, 1]), x); F.dropout(x, 0.0); lib.addmm(x, x, x.detach()[:, :1].expand(2, 3).t() @ x.detach())
lib.dist(x, x.detach() * 2); lib.linalg.norm(x); x.t().matmul(x); x.scatter(1, index, x[:, :1] * 2)
x.index_add(0, lib.tensor([1]), x[:1]); x.fmod(2); x.remainder(2); x.hypot(x.detach()); F.avg_pool2d(x[None], 2)
F.max_pool2d(x[None], 2); F.log_softmax(x, 1); x.mean(0, keepdim=True); x.sum((0, 1)); x / x.detach(); x - 2 * x
x.abs(); lib.baddbmm(x[None], x[None], x.detach().t()[None] @ x.detach()[None]); x.square()
lib.cat([x, x], 1); lib.stack([x, x * 2]); x.flip(0); x.permute(1, 0).contiguous(); x.triu(1); x.norm(1); x.norm(3, 1)
x.index_copy(0, lib.tensor([1]), x[:1] * 2); x.scatter_add(1, index, x[:, :1]); x.where(x > 0, x.detach()); x.sigmoid()
(x * 1).fill_(2) + x; (x * 1).masked_fill_(x > 0, 2); lib.linalg.vector_norm(x, 1); -x.neg()
"""

for _text in FORMULAS.replace("\n", ";").split(";"):
    if _text.strip():

        def _formula(g, text=_text.strip()):
            x = g.one(2, 3, grad=True)
            index = g.lib.zeros(2, 1, dtype=g.lib.int64)
            made = eval(text, {"x": x, "lib": g.lib, "F": g.F, "index": index})
            (made if made.dim() == 0 else made.sum()).backward()
            return x.grad, made.detach()

        PROGRAMS[_text.strip()] = _formula
