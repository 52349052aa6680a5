"""Random programs that write in place: to results, to views of them, to bases of views. Values, gradients and errors as
PyTorch's.

A step makes a tensor from earlier ones, or writes to one; it may be refused. Where PyTorch's backward pass refuses
because a saved tensor was changed, strided may refuse as well or be right: then the gradients are those that PyTorch
finds when it saves copies. `python test_autograd_writes_vs_torch.py FROM TO` runs those seeds and prints what differs.
"""

import random
import sys

import numpy as np
import pytest
import strided
from random_programs import axis, broadcasts, some_axes

torch = pytest.importorskip("torch")

# ---------------------------------------------------------------- steps that make a tensor


def draw_view(rng, shape):
    """A view, as its name and a function of (library, x)."""
    names = ["view", "unsqueeze", "view_as"]
    if shape:
        names += [
            "transpose",
            "permute",
            "narrow",
            "steps",
            "select",
            "select",
            "slice",
            "expand",
            "squeeze",
            "unbind",
            "split",
            "chunk",
            "movedim",
        ]
    if len(shape) >= 2:
        names += ["diagonal", "mT", "subscripts", "as_strided"]
    name = rng.choice(names)
    d = axis(rng, shape) if shape else 0
    n = shape[d] if shape else 1
    start = rng.randrange(n) if n else 0
    length = rng.randint(1, n - start) if n - start else 0
    order = rng.sample(range(len(shape)), len(shape))
    other = axis(rng, shape) if shape else 0
    at = (slice(None),) * (d % max(len(shape), 1))
    step = rng.randint(1, 2)
    total = int(np.prod(shape, dtype=int))
    factor = rng.choice([k for k in range(1, total + 1) if total % k == 0]) if total else 0
    return name, {
        "view": lambda t, x: x.view(factor, -1),
        "view_as": lambda t, x: x.view_as(x),
        "unsqueeze": lambda t, x: x.unsqueeze(d),
        "squeeze": lambda t, x: x.squeeze(),
        "transpose": lambda t, x: x.transpose(d, other),
        "permute": lambda t, x: x.permute(order),
        "movedim": lambda t, x: x.movedim(d, other),
        "narrow": lambda t, x: x.narrow(d, start, length),
        "slice": lambda t, x: x[at + (slice(start, start + length),)],
        "steps": lambda t, x: x[at + (slice(start, None, step),)],
        "select": lambda t, x: x.select(d, start),
        "subscripts": lambda t, x: x[0, ..., -1:],
        "expand": lambda t, x: x.expand(2, *x.shape),
        "unbind": lambda t, x: x.unbind(d)[start],
        "split": lambda t, x: x.split(max(length, 1), d)[0],
        "chunk": lambda t, x: x.chunk(2, d)[-1],
        "diagonal": lambda t, x: x.diagonal(0, 0, 1),
        "mT": lambda t, x: x.mT,
        "as_strided": lambda t, x: x.as_strided(tuple(x.shape)[::-1], tuple(x.stride())[::-1]),
    }[name]


def draw_result(rng, shape):
    """A tensor of its own memory."""
    names = ["tanh", "sin", "sigmoid", "scaled", "square", "exp", "clone", "relu", "detached"]
    if shape:
        names += ["sum", "mean", "amax", "softmax", "cumsum", "flip", "ints", "repeat"]
    name = rng.choice(names)
    d = axis(rng, shape) if shape else 0
    axes = some_axes(rng, shape) if shape else ()
    keep = rng.random() < 0.5
    n = shape[d] if shape else 1
    ints = [rng.randrange(n) for _ in range(3)] if n else []
    at = (slice(None),) * (d % max(len(shape), 1))
    return name, {
        "tanh": lambda t, x: x.tanh(),
        "sin": lambda t, x: x.sin(),
        "sigmoid": lambda t, x: x.sigmoid(),
        "scaled": lambda t, x: x * 0.7,
        "square": lambda t, x: x * x / 2,
        "exp": lambda t, x: (x / 4).exp(),
        "clone": lambda t, x: x.clone(),
        "relu": lambda t, x: x.relu(),
        "detached": lambda t, x: x.detach(),
        "sum": lambda t, x: x.sum(axes, keepdim=keep) / 3,
        "mean": lambda t, x: x.mean(axes, keepdim=keep),
        "amax": lambda t, x: x.amax(axes, keepdim=keep),
        "softmax": lambda t, x: x.softmax(d),
        "cumsum": lambda t, x: x.cumsum(d) / 3,
        "flip": lambda t, x: x.flip(d),
        "ints": lambda t, x: x[at + (t.tensor(ints),)],
        "repeat": lambda t, x: x.repeat(*([1] * (x.ndim - 1)), 2),
    }[name]


def draw_pair(rng):
    name = rng.choice(["add", "sub", "mul", "div", "maximum", "where", "cat"])
    return name, {
        "add": lambda t, x, y: x + y,
        "sub": lambda t, x, y: x - y,
        "mul": lambda t, x, y: x * y / 2,
        "div": lambda t, x, y: x / (1 + y * y),
        "maximum": lambda t, x, y: t.maximum(x, y + 0.003),
        "where": lambda t, x, y: t.where(x > y, x, y * 2),
        "cat": lambda t, x, y: t.cat([x.reshape(-1), y.reshape(-1)]),
    }[name]


# ---------------------------------------------------------------- steps that write


def draw_write(rng, shape, spread):
    """A write without another tensor. `spread`: elements of the target share memory; of such, PyTorch refuses some."""
    names = [
        "add_",
        "mul_",
        "tanh_",
        "sin_",
        "sigmoid_",
        "exp_",
        "square_",
        "clamp_",
        "neg_",
        "abs_",
        "pow_",
        "reciprocal_",
        "relu_",
        "leaky",
    ]
    names += ["zero_", "fill_"]
    if not spread:
        names += ["mask_number", "where_"]
    if shape and not spread:
        names += ["set_slice", "set_ints", "index_fill_", "cumsum_", "set_first", "augmented"]
    if len(shape) == 2 and not spread:
        names += ["tril_", "t_"]
    name = rng.choice(names)
    c = round(rng.uniform(-0.9, 0.9), 3)
    d = axis(rng, shape) if shape else 0
    n = shape[d] if shape else 1
    at = (slice(None),) * (d % max(len(shape), 1))
    start = rng.randrange(n) if n else 0
    ints = [rng.randrange(n) for _ in range(2)] if n else []

    def setitem(x, key, value):
        x[key] = value

    def augmented(t, x):
        x[start // 2 :] *= c

    return name, {
        "add_": lambda t, x: x.add_(c),
        "mul_": lambda t, x: x.mul_(c),
        "tanh_": lambda t, x: x.tanh_(),
        "sin_": lambda t, x: x.sin_(),
        "sigmoid_": lambda t, x: x.sigmoid_(),
        "exp_": lambda t, x: x.mul_(0.25).exp_(),
        "square_": lambda t, x: x.mul_(0.5).square_(),
        "clamp_": lambda t, x: x.clamp_(-0.7, 0.8),
        "relu_": lambda t, x: x.relu_(),
        "leaky": lambda t, x: x.abs_().add_(0.2).sqrt_(),
        "neg_": lambda t, x: x.neg_(),
        "zero_": lambda t, x: x.zero_(),
        "fill_": lambda t, x: x.fill_(c),
        "abs_": lambda t, x: x.abs_(),
        "pow_": lambda t, x: x.pow_(2),
        "reciprocal_": lambda t, x: x.square_().add_(1).reciprocal_(),
        "mask_number": lambda t, x: setitem(x, x > c, c),
        "where_": lambda t, x: x.masked_fill_(x < c, 0.5),
        "set_slice": lambda t, x: setitem(x, at + (slice(start, None),), c),
        "set_first": lambda t, x: setitem(x, 0, c),
        "set_ints": lambda t, x: setitem(x, at + (t.tensor(ints),), c),
        "index_fill_": lambda t, x: x.index_fill_(d, t.tensor(ints), c),
        "cumsum_": lambda t, x: x.cumsum_(d),
        "augmented": augmented,
        "tril_": lambda t, x: x.tril_(),
        "t_": lambda t, x: x.t_() and None if x.numel() == 1 else (x.t_(), None)[1],
    }[name]


def apart(write):
    """With a copy of an operand that lies in the target's memory: what is refused then differs."""

    def f(t, x, y):
        return write(t, x, y.clone() if x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr() else y)

    return f


def draw_write_from(rng, shape, spread):
    """A write of something made of another tensor, which broadcasts to the target."""
    names = ["add_", "mul_", "sub_", "div_", "tanh_mul", "pow_", "hypot_", "addcmul_"]
    if not spread:
        names += ["copy_", "setitem", "lerp_", "mask", "maximum", "fill_"]
    if shape and not spread:
        names += ["set_part", "index_add_"]
    name = rng.choice(names)
    d = axis(rng, shape) if shape else 0
    n = shape[d] if shape else 1
    at = (slice(None),) * (d % max(len(shape), 1))
    start = rng.randrange(n) if n else 0
    c = round(rng.uniform(0, 1), 3)

    def setitem(x, key, value):
        x[key] = value

    def set_part(t, x, y):
        x[at + (slice(start, None),)] = (y.expand(x.shape))[at + (slice(start, None),)] * c

    return name, apart(
        {
            "add_": lambda t, x, y: x.add_(y, alpha=c),
            "sub_": lambda t, x, y: x.sub_(y),
            "mul_": lambda t, x, y: x.mul_(y).tanh_(),
            "tanh_mul": lambda t, x, y: x.mul_(y.tanh()),
            "div_": lambda t, x, y: x.div_(y * y + 1),
            "copy_": lambda t, x, y: x.copy_(y),
            "setitem": lambda t, x, y: setitem(x, ..., y),
            "addcmul_": lambda t, x, y: x.addcmul_(y, y, value=c / 4),
            "lerp_": lambda t, x, y: x.lerp_(y.expand(x.shape), c),
            "mask": lambda t, x, y: setitem(x, x > c, y.sum() / max(y.numel(), 1)),
            "maximum": lambda t, x, y: x.copy_(t.maximum(x, y)),
            "pow_": lambda t, x, y: x.square_().add_(0.3).pow_(y.sigmoid()),
            "hypot_": lambda t, x, y: x.hypot_(y - 0.05),
            "fill_": lambda t, x, y: x.fill_(y.mean()) if y.numel() else None,
            "set_part": set_part,
            "index_add_": lambda t, x, y: x.index_add_(
                d, t.tensor([start]), y.expand(x.shape).narrow(d, start, 1) if n else y.expand(x.shape)
            ),
        }[name]
    )


# ---------------------------------------------------------------- programs

ERRORS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)


class Program:
    """Inputs and steps; drawn by running it in strided, to know the shapes. A step that is refused stays in it."""

    def __init__(self, seed):
        rng = random.Random(seed)
        numbers = np.random.default_rng(seed)
        base = [rng.randint(2, 3) for _ in range(3)]
        self.inputs = []
        for k in range(rng.randint(1, 3)):
            shape = base[rng.randint(0, 2) if k else rng.randint(0, 1) :]
            self.inputs.append(numbers.standard_normal([1 if rng.random() < 0.15 else n for n in shape]))
        self.wanted = [k == 0 or rng.random() < 0.7 for k in range(len(self.inputs))]  # whose gradients
        self.again = rng.random() < 0.4  # second derivatives too
        self.steps, self.text = [], []
        made = self.leaves(strided)
        for _ in range(rng.randint(5, 30)):
            i = rng.choices(
                range(len(made)), [1 + 2 * (k >= len(self.inputs)) + 3 * (k == len(made) - 1) for k in range(len(made))]
            )[0]
            shape = tuple(made[i].shape)
            spread = any(n > 1 and s == 0 for n, s in zip(shape, made[i].stride()))
            kind = rng.random()
            operands, writes = (i,), False
            if kind < 0.3:
                name, f = draw_view(rng, shape)
            elif kind < 0.5:
                name, f = draw_result(rng, shape)
            elif kind < 0.6:
                name, f = draw_pair(rng)
                operands = (i, rng.choice([j for j, y in enumerate(made) if broadcasts(shape, tuple(y.shape))]))
            elif kind < 0.8:
                writes = True
                name, f = draw_write(rng, shape, spread)
            else:
                writes = True
                name, f = draw_write_from(rng, shape, spread)
                fits = [
                    j
                    for j, y in enumerate(made)
                    if y.ndim <= len(shape) and all(m in (1, n) for m, n in zip(tuple(y.shape)[::-1], shape[::-1]))
                ]
                operands = (i, rng.choice(fits))
            try:
                made[operands[0]].grad_fn
                result = f(strided, *(made[k] for k in operands))
            except ERRORS:
                result = None
            if not writes and result is not None:
                if result.numel() > 150 or result.ndim > 5:
                    continue
                made.append(result)
            target = f"t{len(made) - 1} = " if result is not None and not writes else ""
            self.steps.append((f, operands, writes))
            self.text.append(f"{target}{name}({', '.join(f't{k}' for k in operands)})  {shape}")

    def leaves(self, t):
        return [t.tensor(x, requires_grad=w) for x, w in zip(self.inputs, self.wanted)]

    def run(self, t):
        """What each step gave (None, or the kind of its error), the tensors, their gradients or the kind of error."""
        leaves = self.leaves(t)
        made, outcomes = list(leaves), []
        for f, operands, writes in self.steps:
            try:
                made[
                    operands[0]
                ].grad_fn  # PyTorch takes a view whose base got a history later for a leaf until it is asked
                result = f(t, *(made[k] for k in operands))
                outcomes.append(None)
                if not writes:
                    made.append(result)
            except ERRORS as error:
                outcomes.append(type(error).__name__)
        terms = []
        for k, y in enumerate(made):
            try:
                terms.append((y * (1 + k % 3)).sum() / max(y.numel(), 1))
                outcomes.append(None)
            except ERRORS as error:  # a view that may not be used any more
                outcomes.append(type(error).__name__)
        leaves = [x for x, w in zip(leaves, self.wanted) if w]
        loss, grads = sum(terms), []
        try:
            first = t.autograd.grad(loss, leaves, create_graph=self.again, allow_unused=True)
            grads.append(first)
            again = sum((g * g).sum() for g in first if g is not None)
            if self.again and again.requires_grad:
                grads.append(t.autograd.grad(again, leaves, allow_unused=True))
        except ERRORS as error:
            grads.append(type(error).__name__)
        return outcomes, [y.detach() for y in made], grads

    def run_with_copies(self, t):
        """The gradients, if what is saved is saved as a copy, so that later writes do not matter."""
        with t.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            return self.run(t)[2]

    def __str__(self):
        lines = [
            f"t{i}  {x.shape}{'  wants a gradient' if w else ''}"
            for i, (x, w) in enumerate(zip(self.inputs, self.wanted))
        ]
        return "\n".join(lines + self.text)


def close(got, want, where):
    assert tuple(got.shape) == tuple(want.shape), where
    want = (want.detach() + 0).numpy()  # PyTorch crashes on the numpy() of some zeros
    scale = 1 + np.nan_to_num(np.abs(want), posinf=0).max(initial=0)
    np.testing.assert_allclose(got.detach().numpy(force=True), want, rtol=1e-7, atol=1e-9 * scale, err_msg=where)


def check(seed):
    program = Program(seed)
    outcomes, values, grads = program.run(strided)
    want_outcomes, want_values, want_grads = program.run(torch)
    for k, (got, want) in enumerate(zip(outcomes, want_outcomes)):
        assert got == want, f"{(program.text + ['its sum'] * 99)[k]}: {got}, PyTorch: {want}\n{program}"
    for k, (got, want) in enumerate(zip(values, want_values)):
        close(got, want, f"t{k}\n{program}")
    if not any(isinstance(g, str) for g in want_grads):
        compare(grads, want_grads, program)
    else:
        copies = [program.run_with_copies(t) for t in (strided, torch)]
        if not any(isinstance(g, str) for g in grads):  # right where PyTorch refused
            compare(grads, copies[1], program)
        compare(*copies, program)


def compare(grads, want_grads, program):
    if want_grads and isinstance(
        want_grads[-1], str
    ):  # zero_ on an expanded tensor, which PyTorch cannot differentiate
        want_grads.pop()
    for order, (found, wants) in enumerate(zip(grads, want_grads)):
        assert not isinstance(found, str), f"{found}, PyTorch has gradients\n{program}"
        for i, (got, want) in enumerate(zip(found, wants)):
            if got is None or want is None:  # zeros and nothing are the same
                assert (got is None or not got.any()) and (want is None or not want.any()), f"{got} {want}\n{program}"
            else:
                close(got, want, f"order {order + 1}, input {i}\n{program}")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    # The tensors are tiny: PyTorch's threads would only wait for each other.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("block", range(30))
def test_programs(block):
    for seed in range(10 * block, 10 * block + 10):
        check(seed)


def main():
    torch.set_num_threads(1)
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            check(seed)
        except Exception as error:
            print(f"---- {seed}: {type(error).__name__}: {error}", flush=True)


RETAINED = {
    "same gradient": lambda t, x: [x * 2, lambda y: y + 1],
    "of a reduction": lambda t, x: [x * 2, lambda y: y.sum(0)],
    "turned": lambda t, x: [(x * 2).t(), lambda y: y.t()],
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", RETAINED)
def test_gradients_of_results_are_tensors_of_their_own(name, named):
    seen = []
    for t in (strided, torch):
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        y, follow = RETAINED[name](t, x)
        z = follow(y)
        if not named:
            y.retain_grad()
            z.retain_grad()
        for _ in range(2):
            z.sum().backward(inputs=[x, y, z] if named else None, retain_graph=True)
            y.grad.mul_(3)
        seen.append([(g.tolist(), g.stride()) for g in (x.grad, y.grad, z.grad)])
    assert seen[0] == seen[1]


if __name__ == "__main__":
    main()


# ---------------------------------------------------------------- hooks of leaves, and of what is saved


@pytest.mark.parametrize("result", ["leaf", "none", "other"])
def test_results_of_post_accumulate_hooks(result):
    def run(t):
        x = t.zeros(3, requires_grad=True)
        answers = {"leaf": lambda p: p.add_(p.grad, alpha=-0.5), "none": lambda p: None, "other": lambda p: p.grad}
        x.register_post_accumulate_grad_hook(answers[result])
        try:
            x.backward(t.tensor([1.0, 2.0, 4.0]))
        except Exception as error:
            return str(error)
        return x.tolist()

    assert run(strided) == run(torch)


def test_saved_inputs_are_themselves():
    """The function that packs sees the leaf and the tensors that were given, with their graph."""

    def run(t):
        seen = []
        a, c = t.ones(2, requires_grad=True), t.full((2,), 3.0)
        b = a * 2

        def pack(x):
            of = [name for name, given in (("a", a), ("b", b), ("c", c)) if given is x]
            seen.append((of, x.requires_grad, x.is_leaf))
            return x.detach() * 10

        with t.autograd.graph.saved_tensors_hooks(pack, lambda x: x / 10):
            y = (a * b).sum() + (b * c).sum()
        (g,) = t.autograd.grad(y, a)
        return sorted(seen), g.tolist()

    assert run(strided) == run(torch)
