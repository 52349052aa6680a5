"""Writes in place: what is counted, what is refused, operands, subscripts, changes of shape, second derivatives."""

import re

import pytest
import strided
from torch_compare import Scenarios, grads, kind, kind_of, name, name_of, numbers, outcome
from torch_compare import grid as leaf

scenario = Scenarios("test_autograd_inplace")


def weights(t, x):
    return (t.arange(float(x.numel())) + 2).reshape(x.shape)


# ---------------------------------------------------------------- counting versions


@scenario
def versions(t):
    result = []
    x = t.zeros(2, 3)
    v, d = x[0], x.detach()
    for write in (
        lambda: x.add_(1),
        lambda: v.mul_(2),
        lambda: d.zero_(),
        lambda: x.data.add_(1),
        lambda: x[0, 1:].fill_(3),
        lambda: x.__setitem__(0, 1),
        lambda: x.__setitem__(x > 0, 2.0),
        lambda: x.__setitem__([0], 1.0),
        lambda: x.copy_(t.ones(3)),
        lambda: x.clamp_(0, 1),
        lambda: x.exp_(),
        lambda: x.t_(),
        lambda: x.t_(),
        lambda: x.unsqueeze_(0),
        lambda: x.squeeze_(0),
        lambda: x.transpose_(0, 1),
        lambda: t.add(t.ones(3, 2), 1, out=x),
        lambda: x.index_fill_(0, t.tensor([0]), 2.0),
        lambda: x.masked_fill_(x > 1, 0.0),
        lambda: x.index_add_(0, t.tensor([0]), t.ones(1, 2)),
        lambda: x.scatter_(0, t.zeros(1, 2, dtype=t.int64), 1.0),
        lambda: x.index_copy_(0, t.tensor([1]), t.ones(1, 2)),
        lambda: x.requires_grad_(False),
        lambda: x.normal_(),
    ):
        write()
        result.append([x._version, v._version, d._version])
    y = t.zeros(3)
    y.data = t.zeros(3)
    result.append(y._version)
    with t.no_grad():
        y.add_(1)
    result.append(y._version)
    y += 1
    y *= 2
    y[0] += 1
    result.append(y._version)
    return result


@scenario
def saved_and_then_changed(t):
    """The error names the tensor, its shape, the versions."""
    result = []

    def changed(write, make=lambda x: x.exp(), use=lambda y: y):
        x = leaf(t, 2, 3)
        y = make(x)
        z = use(y)
        write(y, x)
        try:
            z.sum().backward()
            return numbers(x.grad)
        except RuntimeError as error:
            # strided tells who made, who saved and who wrote it; PyTorch tells the last writer as its maker
            text = str(error)
            return re.sub(r", which is output \d of \w+,", "", text[: text.index("instead.") + 8])

    result.append(changed(lambda y, x: y.add_(1)))
    result.append(changed(lambda y, x: (y.add_(1), y.mul_(2))))
    result.append(changed(lambda y, x: y[0].zero_()))
    result.append(changed(lambda y, x: y.detach().zero_()))
    result.append(changed(lambda y, x: y.t_()))
    result.append(changed(lambda y, x: y.add_(1), lambda x: x * 2))
    result.append(changed(lambda y, x: y.add_(1), lambda x: x * 2, lambda y: y * y))
    result.append(changed(lambda y, x: y.add_(1), lambda x: x * 2, lambda y: y.sin()))
    result.append(changed(lambda y, x: y.add_(1), lambda x: x * 2, lambda y: y + 1))
    result.append(changed(lambda y, x: y.add_(1), lambda x: (x * 2)[0], lambda y: y * y))
    result.append(changed(lambda y, x: y.add_(1), lambda x: x * 2, lambda y: y[0] ** 2))
    result.append(changed(lambda y, x: y.add_(1), lambda x: x.double(), lambda y: y**3))
    result.append(changed(lambda y, x: x.detach().add_(1), lambda x: x.sin()))
    result.append(changed(lambda y, x: x.data.add_(1), lambda x: x.sin()))
    result.append(changed(lambda y, x: y.add_(1), lambda x: x.split(1)[1] * 1, lambda y: y.log()))
    return result


# ---------------------------------------------------------------- refused writes


@scenario
def leaves(t):
    x = leaf(t, 3)
    result = [
        outcome(f)
        for f in (
            lambda: x.add_(1),
            lambda: x.zero_(),
            lambda: x.copy_(t.ones(3)),
            lambda: x[0].add_(1),
            lambda: x.view(3).mul_(2),
            lambda: x.__setitem__(0, 1.0),
            lambda: x.__setitem__(x > 1, 1.0),
            lambda: x.masked_fill_(x > 1, 0.0),
            lambda: x.clamp_(0),
            lambda: x.uniform_(),
            lambda: x.exp_(),
            lambda: x.index_fill_(0, t.tensor([0]), 1.0),
            lambda: x.scatter_(0, t.tensor([0]), 1.0),
            lambda: x.expand(2, 3)[0].add_(1),
            lambda: x[:2].unsqueeze(0).fill_(1),
            lambda: x.index_add_(0, t.tensor([0]), t.ones(1)),
            lambda: x.index_put_((t.tensor([0]),), t.ones(1)),
        )
    ]
    result.append(outcome(lambda: t.add(t.ones(3), 1, out=x)))
    y = t.zeros(3)
    result.append(outcome(lambda: t.add(x, 1, out=y)))
    result += [x, x._version]
    with t.no_grad():
        x.add_(1)
        x[0] = 5
        x.t_()
    result += [x, x.is_leaf, x.requires_grad, x._version]
    y = t.zeros(3)
    y.add_(x)
    result += [y.is_leaf, y.requires_grad, name(y), *grads(t, y.sum(), x)]
    return result


@scenario
def changing_shape_of_a_leaf(t):
    result = []
    x = leaf(t, 2, 3)
    for f in (lambda: x.t_(), lambda: x.unsqueeze_(0), lambda: x.squeeze_(), lambda: x.transpose_(0, 1)):
        result.append(outcome(lambda f=f: list(f().shape)))
    return result


@scenario
def is_leaf_rules(t):
    x = leaf(t, 3)
    y = x * 1
    with t.no_grad():
        n = x * 2
    return [
        [v.is_leaf, v.requires_grad]
        for v in (
            x,
            y,
            n,
            x.detach(),
            y.detach(),
            x[0],
            n[0],
            x.data,
            t.ones(2),
            t.arange(3),
            x > 1,
            x.long(),
            y.clone(),
            x.argmax(),
            x.detach().requires_grad_(),
            y[0].detach().requires_grad_(),
            x.to(t.float64),
            x.to(t.float32),
            x.contiguous(),
        )
    ]


@scenario
def requires_grad_(t):
    x = leaf(t, 3)
    y = x * 2
    return [
        outcome(lambda: setattr(y, "requires_grad", False)),
        outcome(lambda: y.requires_grad_(False)),
        outcome(lambda: setattr(y, "requires_grad", True)),
        kind(lambda: t.arange(3).requires_grad_()),
        outcome(lambda: setattr(t.ones(2, dtype=t.bool), "requires_grad", True)),
        [text.lower() for text in outcome(lambda: t.tensor([1, 2], requires_grad=True))],
        kind(lambda: setattr(x, "requires_grad", 3)),
        outcome(lambda: t.arange(3).requires_grad_(False)),
        x.requires_grad_(False) is x,
        x.requires_grad,
        outcome(lambda: x[0].requires_grad_()),
        outcome(lambda: t.ones(2, dtype=t.complex64).requires_grad_()),
        outcome(lambda: t.ones(2, dtype=t.float16, requires_grad=True)),
    ]


# ---------------------------------------------------------------- operands that broadcast


@scenario
def broadcasting_operands(t):
    result = []
    for write in (
        lambda b, w, s: b.add_(w),
        lambda b, w, s: b.mul_(w),
        lambda b, w, s: b.sub_(s),
        lambda b, w, s: b.div_(w),
        lambda b, w, s: b[0].mul_(s),
        lambda b, w, s: b[:, 1].add_(s),
        lambda b, w, s: b.t().mul_(w[:1]),
        lambda b, w, s: b.copy_(w),
        lambda b, w, s: b.copy_(s),
        lambda b, w, s: b[1:].copy_(w),
        lambda b, w, s: b.addcmul_(w, s),
        lambda b, w, s: b.addcdiv_(w, s, value=2),
        lambda b, w, s: b.lerp_(w.expand(2, 3), s),
        lambda b, w, s: b.pow_(s),
        lambda b, w, s: b.atan2_(w),
        lambda b, w, s: b.masked_fill_(b > 3, s),
        lambda b, w, s: b.__setitem__(slice(None), w),
        lambda b, w, s: b.__setitem__(slice(None), s),
        lambda b, w, s: b.__setitem__(b > 3, s),
        lambda b, w, s: b.__setitem__((slice(None), 0), w[0]),
        lambda b, w, s: b.mul_(b[:1].clone()),
        lambda b, w, s: b.add_(b[0].clone(), alpha=3),
    ):
        x, w, s = leaf(t, 2, 3), leaf(t, 3, start=0.5), t.tensor(2.5, requires_grad=True)
        b = x * 1
        write(b, w, s)
        result.append([b, *grads(t, (b * weights(t, b)).sum(), x, w, s)])
    b = leaf(t, 3) * 1
    result.append(kind(lambda: b.add_(t.ones(2, 3))))
    result.append([b, b._version])
    return result


@scenario
def operands_that_are_the_target(t):
    result = []
    for write in (
        lambda b: b.mul_(b),
        lambda b: b.add_(b),
        lambda b: b[0].mul_(b[1]),
        lambda b: b.mul_(b[0]),
        lambda b: b.copy_(b.flip(0)),
        lambda b: b[:1].copy_(b[1:]),
        lambda b: b.sub_(b.t().t()),
        lambda b: b.div_(b),
        lambda b: b.t().mul_(b.t()),
    ):
        x = leaf(t, 2, 2)
        b = x * 1
        r = kind(lambda write=write, b=b: write(b) and None)
        result.append([r, b, outcome(lambda b=b, x=x: grads(t, (b * weights(t, b)).sum(), x)) if r is None else None])
    for r in result:  # the text goes on with what strided tells in addition
        if r[2] and isinstance(r[2][1], str):
            r[2][1] = r[2][1][: r[2][1].index("instead.")]
    return result


@scenario
def other_dtypes(t):
    x = leaf(t, 3)
    d = t.zeros(3, dtype=t.float64)
    d.add_(x)
    c = t.zeros(3, dtype=t.complex64)
    c.copy_(x * 2)
    h = (x * 1).add_(t.arange(3))
    b = leaf(t, 3, dtype=t.float64) * 1
    b[0] = x[0]
    b[1:].copy_(x[:2])
    return [
        d,
        c,
        h,
        b,
        *grads(t, d.sum() + c.real.sum() + c.imag.sum() + (h * h).sum() + b.prod(), x),
        kind(lambda: t.zeros(3, dtype=t.int64).add_(x)),
        outcome(lambda: t.zeros(3, dtype=t.int64).copy_(x)),
        kind(lambda: (x * 1).copy_(c).tolist()),
    ]


# ---------------------------------------------------------------- writing by subscript


@scenario
def subscripts(t):
    keys = [
        0,
        (0, 1),
        (slice(None), 1),
        (slice(None), slice(None, None, 2)),
        slice(1, None),
        Ellipsis,
        (Ellipsis, 0),
        None,
        [0, 1],
        [1],
        ([0, 1], [2, 0]),
        (slice(None), [0, 2]),
        t.tensor([1, 1]),
        t.tensor([[0, 1], [1, 0]]),
        t.tensor([True, False]),
        t.tensor([[True, False, True], [False, True, False]]),
        (t.tensor([True, False]), 1),
        True,
        (slice(None), t.tensor([False, True, True])),
    ]
    result = []
    for i, key in enumerate(keys):
        for value in ("number", "tensor", "scalar tensor", "history"):
            x, w = leaf(t, 2, 3), leaf(t, start=0.5)
            b = x * 1
            shape = b[key].shape
            v = {
                "number": 7.0,
                "tensor": t.full(shape, 3.0),
                "scalar tensor": w,
                "history": ((t.arange(float(shape.numel())).reshape(shape) + 1) * w),
            }[value]
            repeated = i in (12, 13)
            if repeated and value == "history":
                continue  # which of two values stays is not defined
            b[key] = v
            r = [b, b._version]
            r += grads(t, (b * weights(t, b)).sum(), x, w)
            result.append(r)
    return result


@scenario
def index_put(t):
    result = []
    index = (t.tensor([0, 1, 0]), t.tensor([1, 2, 1]))
    for accumulate in (True, False):
        x, w = leaf(t, 2, 3), leaf(t, 3)
        b = x * 1
        v = w * 2 if accumulate else w[:1]
        b.index_put_(index, v, accumulate)
        y = t.index_put(x * 1, index, v, accumulate)
        result += [b, y, name(b), *grads(t, (b**2).sum() + (y * weights(t, y)).sum(), x, w)]
    x, w = leaf(t, 2, 3), leaf(t, 2)
    b = x * 1
    b.index_put_((t.tensor([True, False]), t.tensor([0, 2])), w)
    result += [b, *grads(t, (b**2).sum(), x, w)]
    return result


@scenario
def indexed_writes(t):
    i = t.tensor([1, 0])
    result = []
    for write in (
        lambda b, w: b.index_fill_(0, i[:1], 4.0),
        lambda b, w: b.index_fill_(1, i, w[0, 0]),
        lambda b, w: b.index_add_(0, i, w),
        lambda b, w: b.index_add_(1, i, w[:, :2], alpha=2),
        lambda b, w: b.index_copy_(0, i, w),
        lambda b, w: b.index_copy_(1, i, w[:, 1:]),
        lambda b, w: b.scatter_(1, i.reshape(2, 1), w[:, :1]),
        lambda b, w: b.scatter_(0, i.reshape(1, 2), 5.0),
        lambda b, w: b.scatter_add_(1, t.tensor([[0, 2, 0], [1, 1, 2]]), w),
        lambda b, w: b.masked_fill_(b > 2, 3.0),
        lambda b, w: b.masked_fill_(b > 2, w[0, 1]),
        lambda b, w: b.masked_scatter_(b > 2, w),
        lambda b, w: b[1].index_fill_(0, i, 3.0),
        lambda b, w: b.t().index_add_(0, i, w.t()[:2]),
        lambda b, w: b.fill_(w[1, 1]),
        lambda b, w: b[:, 1:].fill_(w[1, 1]),
        lambda b, w: b.put_(i, w[0, :2]),
        lambda b, w: b.put_(i, w[0, :2], True),
        lambda b, w: b.tril_(),
        lambda b, w: b[:, 1:].triu_(),
        lambda b, w: b.fill_diagonal_(3.0),
    ):
        x, w = leaf(t, 2, 3), leaf(t, 2, 3, start=0.5)
        b = x * 1
        write(b, w)
        result.append([b, *grads(t, (b * weights(t, b)).sum() + (b**2).sum(), x, w)])
    return result


# ---------------------------------------------------------------- shape in place


@scenario
def shape_in_place(t):
    result = []
    for write in (
        lambda b: b.t_(),
        lambda b: b.transpose_(0, 1),
        lambda b: b.unsqueeze_(1),
        lambda b: b.swapaxes_(0, 1),
        lambda b: b.swapdims_(1, 0),
        lambda b: b.t_().mul_(2),
        lambda b: b.unsqueeze_(0).squeeze_(0),
        lambda b: b.squeeze_(),
        lambda b: b.as_strided_((3, 2), (1, 3)),
        lambda b: b.unsqueeze_(0).squeeze_(),
        lambda b: b.t_().unsqueeze_(2)[1].zero_(),
        lambda b: b.squeeze_(0),
    ):
        x = leaf(t, 2, 3)
        b = x * 1
        v = b[0]
        write(b)
        result.append(
            [b, list(b.stride()), kind_of(b), b._version, v, name(v), *grads(t, (b * weights(t, b)).sum() + v.sum(), x)]
        )
    x = leaf(t, 2, 3)
    v = (x * 1)[:, 1:]
    v.t_()
    result += [v, kind_of(v), name(v._base), *grads(t, (v * weights(t, v)).sum(), x)]
    return result


@scenario
def alias_by_assignment(t):
    """Augmented assignment of a name, of an element, of a slice."""
    x = leaf(t, 2, 3)
    b = x * 1
    before = b
    b += 1
    b *= x
    b[0] += x[1]
    b[:, 1] *= 2
    b[b > 20] -= x[0, 0]
    b[0][0] /= 2
    b **= 2
    return [b is before, b, name(b), *grads(t, (b * weights(t, b)).sum(), x)]


# ---------------------------------------------------------------- second derivatives, hooks beside writes


@scenario
def second_derivatives(t):
    result = []
    for write in (
        lambda b, v, w: v.mul_(w),
        lambda b, v, w: v.exp_(),
        lambda b, v, w: b.mul_(w[0]),
        lambda b, v, w: v.copy_(w * w),
        lambda b, v, w: b.sin_(),
        lambda b, v, w: (v.mul_(w), b.mul_(b.detach().clone()), v.pow_(2)),
        lambda b, v, w: b.__setitem__(b > 2, w[0] ** 2),
        lambda b, v, w: v[1:].mul_(v[:1].clone()),
    ):
        x, w = leaf(t, 2, 3, dtype=t.float64), leaf(t, 3, start=0.5, dtype=t.float64)
        b = x**2 / 4
        v = b[1]
        write(b, v, w)
        loss = (b * weights(t, b)).sum() + (v**2).sum()
        first = t.autograd.grad(loss, (x, w), create_graph=True, materialize_grads=True)
        result.append([numbers(g) for g in first])
        result.append(grads(t, sum((g**2).sum() for g in first), x, w))
    return result


@scenario
def retained_gradients(t):
    x = leaf(t, 2, 3)
    b = x * 1
    v = b[0]
    b.retain_grad()
    v.retain_grad()
    v.mul_(2)
    u = b[1]
    u.retain_grad()
    b.mul_(3)
    (b * weights(t, b)).sum().backward()
    return [x.grad, b.grad, u.grad, b.retains_grad, v.retains_grad]


@scenario
def inference_and_modes(t):
    x = leaf(t, 3)
    result = []
    with t.set_grad_enabled(False):
        y = x * 2
        with t.enable_grad():
            z = x * 2
            z[0] = 1
    result += [y.requires_grad, z.requires_grad, name(z)]
    b = x * 1
    with t.no_grad():
        b.mul_(3)
    result += [b, name(b), *grads(t, b.sum(), x)]

    @t.no_grad()
    def f():
        b = x * 1
        b[0] = 2
        return b, b[1:]

    result += [[r.requires_grad, r._is_view()] for r in f()]
    return result


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)


def test_an_empty_tensor_is_written_as_any_other():
    import strided as torch

    x = torch.zeros(0, 3, requires_grad=True)
    y = x * 1
    y.clamp_(0, 1).mul_(y)
    y.sum().backward()
    assert x.grad.shape == (0, 3)


def test_views_of_what_became_a_leaf_later():
    a = strided.zeros(2, 3)
    view = a[:]
    a.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.add_(1)
    with strided.no_grad():
        view.add_(1)
    assert a.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("replace", [lambda p: p.set_(p[1:]), lambda p: setattr(p, "data", p.data[1:])])
def test_leaves_of_another_size_than_in_an_older_graph(replace):
    """The older graph is alive while gradients of the new size arrive."""
    p = strided.nn.Parameter(strided.ones(8))
    graphs = []
    for n in (7, 6):
        with strided.no_grad():
            replace(p)
            p.grad = None
        graphs.append(strided.cat((p, p)))
        graphs[-1].sum().backward()
        assert p.grad.tolist() == [2.0] * n


@scenario
def leaves_that_were_given_other_memory(t):
    """set_ is a change of the leaf, which the graph finds; x.data = ... is none, and the graph reads what is there."""

    def after(change):
        x, other = leaf(t, 3), t.tensor([7.0, 8.0, 9.0])
        other.add_(1).sub_(1)
        loss = (x * x).sum()
        with t.no_grad():
            change(x, other)
        return [x._version, kind(lambda: grads(t, loss, x)), x]

    def replace(x, other):
        x.data = other

    def replace_and_write(x, other):
        x.data = other
        x.add_(1)

    def twice(x, other):
        x.set_(other)
        x.data = other

    return [
        after(lambda x, other: x.set_(other)),
        after(lambda x, other: x.set_(other.untyped_storage(), 0, (3,))),
        after(replace),
        after(replace_and_write),
        after(twice),
        after(lambda x, other: x.set_(x)),
        after(lambda x, other: setattr(x, "data", x.data)),
        after(lambda x, other: x.data.add_(1)),
    ]


@scenario
def other_memory_for_results(t):
    """As networks do that compute their inputs again from their outputs."""
    x = leaf(t)
    y = x * 2
    y.untyped_storage().resize_(0)
    with t.no_grad():
        same = y.set_(t.tensor([5.0, 6.0, 7.0])) is y
    found = grads(t, (y * y).sum(), x)
    return [same, y.requires_grad, name_of(y.grad_fn), y, found, kind(lambda: grads(t, y.set_(x).sum(), x))]


def test_memory_that_a_graph_holds_stays_when_its_tensor_gets_other_memory():
    """PyTorch raises after set_, and computes with the new numbers after x.data = ..."""
    w = strided.ones(2, requires_grad=True)
    for change in (lambda x, y: x.set_(y), lambda x, y: setattr(x, "data", y)):
        x = strided.tensor([1.0, 2.0])
        loss = (x * w).sum()
        change(x, strided.tensor([5.0, 6.0]))
        assert strided.autograd.grad(loss, w)[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", "eq ne lt le gt ge logical_and logical_or logical_xor logical_not".split())
def test_comparisons_in_place_have_a_zero_gradient(name):
    x, other = strided.tensor([1.0, 2.0, 0.0], requires_grad=True), strided.ones(3, requires_grad=True)
    operands = () if name == "logical_not" else (other * 1,)
    y = x * 1
    made = getattr(y, name + "_")(*operands)
    assert made is y and y.tolist() == getattr(strided, name)(x, *operands).tolist() and y.requires_grad
    assert strided.autograd.grad((y * 3).sum(), x)[0].tolist() == [0.0] * 3
    if operands:
        y = (strided.zeros(3) * 1).detach()
        getattr(y, name + "_")(other)
        assert strided.autograd.grad(y.sum(), other)[0].tolist() == [0.0] * 3
