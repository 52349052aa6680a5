"""Random programs of views, broadcasting, reductions and arithmetic: values and gradients equal PyTorch's.

A program is a list of steps; a step takes one or two of the tensors made so far and adds one. Shapes and choices are
drawn once, then the same program runs in both libraries, in float64. Values stay tame: sums of many terms become means,
and growing functions are bounded.
"""

import random
import re
import warnings

import numpy as np
import pytest
import strided
from random_programs import axis, broadcasts, some_axes

torch = pytest.importorskip("torch")

# ---------------------------------------------------------------- steps: draw(rng, shape) -> (text, function of
# (library, x))


def draw_unary(rng, shape):
    name = rng.choice(
        [
            "sin",
            "tanh",
            "sigmoid",
            "neg",
            "square_of_tanh",
            "exp_of_tanh",
            "log1p_of_square",
            "sqrt_of_square",
            "abs",
            "relu",
            "clamp",
            "pow3",
            "reciprocal",
            "erf",
            "atan",
        ]
    )
    c = round(rng.uniform(-1, 1), 3)
    functions = {
        "square_of_tanh": lambda t, x: x.tanh().square(),
        "exp_of_tanh": lambda t, x: t.exp(x.tanh()),
        "log1p_of_square": lambda t, x: t.log1p(x * x),
        "sqrt_of_square": lambda t, x: (x * x + 0.5).sqrt(),
        "clamp": lambda t, x: x.clamp(-0.8, abs(c) + 0.3),
        "pow3": lambda t, x: x.tanh() ** 3,
        "reciprocal": lambda t, x: c / (x * x + 1),
    }
    return name, functions.get(name, lambda t, x: getattr(x, name)())


def draw_view(rng, shape):
    choices = ["reshape", "flatten", "unsqueeze"]
    if shape:
        choices += [
            "transpose",
            "permute",
            "narrow",
            "steps",
            "select",
            "expand",
            "flip",
            "roll",
            "squeeze",
            "ints",
            "unbind",
            "split",
            "repeat",
        ]
    if len(shape) >= 2:
        choices += ["diagonal", "tril", "mT", "movedim", "mask"]
    name = rng.choice(choices)
    d = axis(rng, shape) if shape else 0
    n = shape[d] if shape else 1
    start = rng.randrange(n) if n else 0
    length = rng.randint(1, n - start) if n - start else 0
    order = rng.sample(range(len(shape)), len(shape))
    other = axis(rng, shape) if shape else 0
    ints = [rng.randrange(-n, n) for _ in range(rng.randint(1, 4))] if n else []
    at = (slice(None),) * (d % max(len(shape), 1))
    mask = [rng.random() < 0.6 for _ in range(n)]
    mask[start] = True
    shift = rng.randint(-3, 3)
    total = int(np.prod(shape, dtype=int))
    factor = rng.choice([k for k in range(1, total + 1) if total % k == 0]) if total else 0
    grown = rng.randint(2, 3)
    return name, {
        "reshape": lambda t, x: x.reshape(factor, -1),
        "flatten": lambda t, x: x.flatten(),
        "unsqueeze": lambda t, x: x.unsqueeze(d),
        "squeeze": lambda t, x: x.squeeze(),
        "transpose": lambda t, x: x.transpose(d, other),
        "permute": lambda t, x: x.permute(order),
        "movedim": lambda t, x: x.movedim(d, other),
        "narrow": lambda t, x: x.narrow(d, start, length),
        "steps": lambda t, x: x[at + (slice(start, None, grown),)],
        "select": lambda t, x: x.select(d, start),
        "expand": lambda t, x: x.expand(grown, *x.shape),
        "flip": lambda t, x: x.flip(d),
        "roll": lambda t, x: x.roll(shift, d),
        "ints": lambda t, x: x[at + (t.tensor(ints),)],
        "mask": lambda t, x: x[at + (t.tensor(mask),)],
        "unbind": lambda t, x: x.unbind(d)[start],
        "split": lambda t, x: x.split(max(length, 1), d)[0],
        "repeat": lambda t, x: x.repeat(*([1] * (x.ndim - 1)), grown),
        "diagonal": lambda t, x: x.diagonal(shift % min(x.shape[:2]), 0, 1),
        "tril": lambda t, x: x.tril(shift),
        "mT": lambda t, x: x.mT,
    }[name]


def draw_reduction(rng, shape):
    name = rng.choice(
        [
            "sum",
            "mean",
            "var",
            "prod",
            "amax",
            "norm",
            "logsumexp",
            "softmax",
            "log_softmax",
            "cumsum",
            "cumprod",
            "max",
            "median",
            "std",
            "sort",
        ]
    )
    axes, d, keep = some_axes(rng, shape), axis(rng, shape), rng.random() < 0.5
    return name, {
        "sum": lambda t, x: x.sum(axes, keepdim=keep) / 4,
        "mean": lambda t, x: x.mean(axes, keepdim=keep),
        "var": lambda t, x: x.var(axes, correction=0, keepdim=keep),
        "std": lambda t, x: x.std(d, correction=0, keepdim=keep) if x.shape[d] > 1 else x.mean(d, keepdim=keep),
        "prod": lambda t, x: x.tanh().prod(d, keepdim=keep),
        "amax": lambda t, x: x.amax(axes, keepdim=keep),
        "max": lambda t, x: x.max(d, keepdim=keep).values,
        "median": lambda t, x: (
            (x * 1).median(d, keepdim=keep).values
        ),  # a copy: PyTorch 2.13 reads outside an expanded tensor
        "norm": lambda t, x: t.linalg.vector_norm(x + 0.01, dim=axes, keepdim=keep),
        "logsumexp": lambda t, x: x.logsumexp(axes, keepdim=keep),
        "softmax": lambda t, x: x.softmax(d),
        "log_softmax": lambda t, x: x.log_softmax(d),
        "cumsum": lambda t, x: x.cumsum(d) / 3,
        "cumprod": lambda t, x: x.tanh().cumprod(d),
        "sort": lambda t, x: x.sort(d, descending=keep).values,
    }[name]


def draw_binary(rng, a, b):
    """Steps for two shapes that broadcast, or whose matrix product exists."""
    names = ["add", "sub", "mul", "div", "maximum", "where", "lerp", "atan2", "addcmul", "hypot"]
    if a == b and a:
        names += ["cat", "stack"]
    if len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2] and a[:-2] == b[:-2]:
        names += ["matmul"] * 6
    name = rng.choice(names)
    d = axis(rng, a) if a else 0
    w = round(rng.uniform(0, 1), 3)
    return name, {
        "add": lambda t, x, y: x + y,
        "sub": lambda t, x, y: t.sub(x, y, alpha=2),
        "mul": lambda t, x, y: x * y.tanh(),
        "div": lambda t, x, y: x / (1 + y * y),
        "maximum": lambda t, x, y: t.maximum(x, y + 0.003),
        "where": lambda t, x, y: t.where(x > y, x * 2, y),
        "lerp": lambda t, x, y: t.lerp(*t.broadcast_tensors(x, y), w),
        "atan2": lambda t, x, y: t.atan2(x, y * y + 0.2),
        "addcmul": lambda t, x, y: t.addcmul(x, y.sin(), y.cos(), value=2),
        "hypot": lambda t, x, y: t.hypot(x + 0.02, y - 0.05),
        "cat": lambda t, x, y: t.cat([x, y], d),
        "stack": lambda t, x, y: t.stack([x, y], d),
        "matmul": lambda t, x, y: x @ y / 3,
    }[name]


def multiplies(a, b):
    return len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2] and a[:-2] == b[:-2]


# ---------------------------------------------------------------- programs


class Program:
    """Inputs and steps; drawn by running it in strided, to know the shapes."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.inputs = []
        numbers = np.random.default_rng(seed)
        base = [rng.randint(2, 4) for _ in range(3)]
        for k in range(rng.randint(2, 3)):
            shape = base[rng.randint(0, 3) if k else 0 :]
            shape = [1 if rng.random() < 0.15 else n for n in shape]
            self.inputs.append(numbers.standard_normal(shape))
        self.steps, self.text = [], []
        made = [strided.tensor(x) for x in self.inputs]
        for _ in range(rng.randint(5, 30)):
            # Mostly the newest; of two random ones the larger, lest programs dwindle to single numbers.
            i = max(rng.choices(range(len(made)), k=2), key=lambda k: made[k].numel())
            if rng.random() < 0.5 and made[-1].numel() > 1:
                i = len(made) - 1
            partners = [
                j
                for j, y in enumerate(made)
                if broadcasts(made[i].shape, y.shape) or multiplies(made[i].shape, y.shape)
            ]
            kind = rng.random()
            if kind < 0.4:
                j = rng.choice(partners)
                a, b = tuple(made[i].shape), tuple(made[j].shape)
                if broadcasts(a, b):
                    name, f = draw_binary(rng, a, b)
                else:
                    name, f = "matmul", lambda t, x, y: x @ y / 3
                operands = (i, j)
            else:
                shape = tuple(made[i].shape)
                if kind < 0.55:
                    draw = draw_unary
                elif kind < 0.85 or not shape or made[i].numel() == 0:
                    draw = draw_view
                else:
                    draw = draw_reduction
                name, f = draw(rng, shape)
                operands = (i,)
            result = f(strided, *(made[k] for k in operands))
            if result.numel() > 400 or result.ndim > 5:
                continue
            self.steps.append((f, operands))
            self.text.append(f"t{len(made)} = {name}({', '.join(f't{k}' for k in operands)})  {tuple(result.shape)}")
            made.append(result)

    def run(self, t):
        """Values of all steps, gradients of a weighted sum of them, and gradients of those gradients' squares."""
        leaves = [t.tensor(x, requires_grad=True) for x in self.inputs]
        made = list(leaves)
        for f, operands in self.steps:
            made.append(f(t, *(made[k] for k in operands)))
        loss = sum((y * (1 + k % 3)).sum() / max(y.numel(), 1) for k, y in enumerate(made))
        first = t.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        again = sum((g * g).sum() for g in first if g is not None)
        linear = not again.requires_grad
        second = [None] * len(leaves) if linear else t.autograd.grad(again, leaves, allow_unused=True)
        return made[len(leaves) :], first, second

    def __str__(self):
        return "\n".join([f"t{i}  {x.shape}" for i, x in enumerate(self.inputs)] + self.text)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    # The tensors are tiny: PyTorch's threads would only wait for each other.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def zeros_for_none(grads, inputs):
    return [np.zeros(x.shape) if g is None else g.numpy(force=True) for g, x in zip(grads, inputs)]


@pytest.mark.parametrize("seed", range(100))
def test_program(seed):
    program = Program(seed)
    values, first, second = program.run(strided)
    want_values, want_first, want_second = program.run(torch)
    for text, got, want in zip(program.text, values, want_values):
        assert tuple(got.shape) == tuple(want.shape), f"{text}\n{program}"
        np.testing.assert_allclose(
            got.detach().numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=f"{text}\n{program}"
        )
    for order, grads, wants in ((1, first, want_first), (2, second, want_second)):
        for i, (got, want) in enumerate(
            zip(zeros_for_none(grads, program.inputs), zeros_for_none(wants, program.inputs))
        ):
            scale = 1 + np.nan_to_num(np.abs(want)).max(initial=0)
            if order == 2:  # PyTorch's second derivative of std is NaN where std is 0
                got = np.where(np.isnan(want), want, got)
            np.testing.assert_allclose(
                got, want, rtol=1e-7, atol=1e-9 * scale, err_msg=f"order {order}, input {i}\n{program}"
            )


STEADY = {
    "relu": lambda F, x: F.relu(x),
    "relu6": lambda F, x: F.relu6(x),
    "hardtanh": lambda F, x: F.hardtanh(x),
    "threshold": lambda F, x: F.threshold(x, 0.1, 20.0),
    "softshrink": lambda F, x: F.softshrink(x),
    "hardshrink": lambda F, x: F.hardshrink(x),
    "max_pool1d": lambda F, x: F.max_pool1d(x.view(1, 2, 8), 2),
    "max_pool2d": lambda F, x: F.max_pool2d(x.view(1, 4, 4), 2),
    "avg_pool1d": lambda F, x: F.avg_pool1d(x.view(1, 2, 8), 2),
    "avg_pool2d": lambda F, x: F.avg_pool2d(x.view(1, 4, 4), 3, 2, 1),
    "avg_pool3d": lambda F, x: F.avg_pool3d(x.view(1, 1, 4, 2, 2), 2),
    "adaptive_avg_pool1d": lambda F, x: F.adaptive_avg_pool1d(x.view(1, 2, 8), 3),
    "adaptive_avg_pool2d": lambda F, x: F.adaptive_avg_pool2d(x.view(1, 1, 4, 4), 3),
    "nll_loss": lambda F, x: F.nll_loss(x.view(4, 4), (x.detach()[:4] * 0).long()),
}


@pytest.mark.parametrize("name", STEADY)
def test_second_derivatives_of_linear_pieces_are_zero(name):
    for T in (strided, torch):
        x = T.linspace(-2, 3, 16).requires_grad_()
        w = T.tensor(2.0, requires_grad=True)
        (first,) = T.autograd.grad((STEADY[name](T.nn.functional, x * w)).sum(), x, create_graph=True)
        assert first.requires_grad
        (second, mixed) = T.autograd.grad(first.sum(), (x, w))
        assert second.shape == (16,) and not second.any() and mixed != 0


def function_with_jvp_alone(T, old):
    class Product(T.autograd.Function):
        @staticmethod
        def jvp(ctx, x_t, n, y_t):
            x, y = ctx.saved_tensors
            assert n is None
            return x_t * y + x * y_t, x_t * 0 + 2 * y_t

    def forward(x, n, y):
        return n * x * y, y * 2

    def setup(ctx, inputs, output):
        ctx.save_for_forward(inputs[0], inputs[2])

    def forward_and_setup(ctx, x, n, y):
        setup(ctx, (x, n, y), None)
        return forward(x, n, y)

    Product.forward = staticmethod(forward_and_setup if old else forward)
    if not old:
        Product.setup_context = staticmethod(setup)
    return Product


@pytest.mark.parametrize("old", [True, False])
def test_functions_with_jvp_alone(old):
    def results(T):
        f = function_with_jvp_alone(T, old)
        x, y, s, t = (T.tensor(v, dtype=T.float64) for v in ([1.0, 2.0], [3.0, 5.0], [1.0, -1.0], [0.5, 2.0]))
        ad = T.autograd.forward_ad
        with ad.dual_level():
            both = f.apply(ad.make_dual(x, s), 1, ad.make_dual(y, t))
            one = f.apply(ad.make_dual(x, s), 1, y)
            found = [ad.unpack_dual(r).tangent for r in (*both, one[0])]
        if not old:
            found += T.func.jvp(lambda a, b: f.apply(a, 1, b), (x, y), (s, t))[1]
        return [r.tolist() for r in found]

    assert results(strided) == results(torch)
    # The backward pass, which PyTorch does not have: the transpose, differentiated once more.
    f = function_with_jvp_alone(strided, old)
    x, y = (strided.tensor(v, dtype=strided.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 5.0]))
    first = strided.autograd.grad(f.apply(x, 1, y)[0].sum(), (x, y), create_graph=True)
    assert [g.tolist() for g in first] == [y.tolist(), x.tolist()]
    assert strided.autograd.grad(first[0].sum(), y)[0].tolist() == [1, 1]
    assert strided.autograd.gradcheck(lambda x, y: f.apply(x, 1, y), (x, y), check_forward_ad=True)


ERRORS = {
    "pack hooks that write": """
a = T.ones(2, requires_grad=True)
with T.autograd.graph.saved_tensors_hooks(lambda x: x.add_(1), lambda x: x):
    T.exp(a)
""",
    "batches of other shapes": """
x = T.ones(2, 2, requires_grad=True)
T.autograd.grad(x * 2, x, T.ones(2), is_grads_batched=True)
""",
    "gradients of another dtype": """
x = T.ones(2, requires_grad=True)
x.grad = T.ones(2, dtype=T.float64)
""",
    "no_grad of a class": """
import warnings
warnings.simplefilter("error")
T.no_grad()(type("A", (), {}))
""",
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_passes(name):
    found = []
    for T in (strided, torch):
        with warnings.catch_warnings(), pytest.raises((RuntimeError, FutureWarning)) as error:
            exec(ERRORS[name], {"T": T})
        found.append((error.type, re.split(r"[.:] | and will", str(error.value))[0]))
    assert found[0] == found[1]


def test_embedding_bag_takes_the_old_order():
    def bags(T):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return T.nn.functional.embedding_bag(
                T.arange(8.0).view(4, 2), T.tensor([0, 1, 2]), T.tensor([0, 1])
            ).tolist()

    assert bags(strided) == bags(torch)


OPERANDS = {
    "mm": lambda m, x: (m.mm, x[:2]),
    "bmm": lambda m, x: (lambda a, b: m.bmm(a[None], b[None]), x[:2]),
    "addmm": lambda m, x: (m.addmm, (x[2], *x[:2])),
    "mv": lambda m, x: (m.mv, (x[0], x[2])),
    "mul": lambda m, x: (m.mul, x[:2]),
    "atan2": lambda m, x: (m.atan2, x[:2]),
    "where": lambda m, x: (lambda a, b: m.where(a > 0, a, b), x[:2]),
    "conv2d": lambda m, x: (m.nn.functional.conv2d, (x[3], x[4], x[2])),
    "layer_norm": lambda m, x: (lambda a, w, b: m.nn.functional.layer_norm(a, (4,), w, b), (x[0], x[2], x[5])),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_gradients_that_nobody_asked_for_are_none(name):
    def seen(m):
        shapes = (4, 4), (4, 4), (4,), (1, 4, 5, 5), (4, 4, 3, 3), (4,)
        f, operands = OPERANDS[name](m, [m.ones(s, requires_grad=True) for s in shapes])
        found = []
        for operand in operands:
            made, passed = f(*operands), []
            made.grad_fn.register_hook(lambda inner, outer, passed=passed: passed.extend(g is not None for g in inner))
            m.autograd.grad(made.sum(), operand)
            found.append(passed)
        return found

    assert seen(strided) == seen(torch)
