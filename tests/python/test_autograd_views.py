"""Gradients through views and writes in place: of a base seen in its views, of a view seen in its base, and what is refused."""

import re

import pytest
from side_by_side import Scenarios, kind, numbers, outcome

scenario = Scenarios("test_autograd_views")


def leaf(t, *shape, start=1.0, **options):
    n = 1
    for s in shape:
        n *= s
    return (t.arange(float(n), **options) + start).reshape(shape).clone().requires_grad_()


def grads(t, loss, *inputs):
    return [numbers(g) for g in t.autograd.grad(loss, inputs, allow_unused=True, retain_graph=True)]


def short(node):  # PyTorch puts the namespace before names of its own classes
    return None if node is None else node.name().split("::")[-1]


def name(x):
    return short(x.grad_fn)


def kind_of(x):  # a write has another number than the same without: FillBackward2
    return name(x).rstrip("0123456789")


def parents(x):
    return [[short(f), i] for f, i in x.grad_fn.next_functions]


def weights(t, x):
    return (t.arange(float(x.numel())) + 2).reshape(x.shape)


def run_writes(t, writes):
    """For each write: values and gradients of base, view and operand afterwards. write(base, view, w) -> None."""
    result = []
    for write in writes:
        x, w = leaf(t, 2, 3), leaf(t, 3, start=0.5)
        base = x * 2
        view = base[1]
        write(base, view, w)
        out = [base, view, kind_of(base), kind_of(view)]
        out += grads(t, (base * weights(t, base)).sum() + (view * view).sum(), x, w)
        result.append(out)
    return result


# ---------------------------------------------------------------- base and view


@scenario
def writes_to_the_view(t):
    return run_writes(t, [
        lambda b, v, w: v.mul_(w),
        lambda b, v, w: v.add_(w),
        lambda b, v, w: v.add_(1),
        lambda b, v, w: v.copy_(w),
        lambda b, v, w: v.zero_(),
        lambda b, v, w: v.fill_(4),
        lambda b, v, w: v.sub_(w, alpha=2),
        lambda b, v, w: v.div_(w),
        lambda b, v, w: v.exp_(),
        lambda b, v, w: v.div_(9).sigmoid_(),
        lambda b, v, w: v.pow_(2),
        lambda b, v, w: v.clamp_(3, 9),
        lambda b, v, w: v.neg_(),
        lambda b, v, w: v.sqrt_(),
        lambda b, v, w: v.masked_fill_(v > 9, 1.0),
        lambda b, v, w: v.addcmul_(w, w, value=2),
        lambda b, v, w: v.lerp_(w, 0.25),
        lambda b, v, w: v.cumsum_(0),
        lambda b, v, w: v.__setitem__(0, w[1]),
        lambda b, v, w: v.__setitem__(slice(1, None), w[:2]),
    ])  # fmt: skip


@scenario
def writes_to_the_base(t):
    return run_writes(t, [
        lambda b, v, w: b.mul_(w),
        lambda b, v, w: b.add_(w),
        lambda b, v, w: b.copy_(w),
        lambda b, v, w: b.zero_(),
        lambda b, v, w: b.fill_(2),
        lambda b, v, w: b.exp_(),
        lambda b, v, w: b.sin_(),
        lambda b, v, w: b.__setitem__(1, w),
        lambda b, v, w: b.__setitem__((slice(None), 0), w[0]),
        lambda b, v, w: b[:, 1:].mul_(w[1:]),
        lambda b, v, w: b.t()[2].copy_(w[:2]),
    ])  # fmt: skip


@scenario
def writes_in_turn(t):
    def several(b, v, w):
        v.mul_(w)
        b.add_(1)
        v.mul_(0.5)
        b[:, 0] = w[0]
        v[2:].mul_(v[:1].clone())

    def through_two_views(b, v, w):
        u = b[:, 1]
        u.mul_(w[:2])
        v.add_(w)
        u.add_(v[0].clone())

    def view_of_a_view(b, v, w):
        u = v[1:]
        u.mul_(w[1:])
        v.mul_(2)
        u.sub_(1)

    def made_after(b, v, w):
        v.mul_(w)
        u = b[1]
        u.mul_(2)
        v.add_(u[0].clone())

    return run_writes(t, [several, through_two_views, view_of_a_view, made_after])


@scenario
def chains_of_views(t):
    result = []
    for look in (
        lambda b: b.t(),
        lambda b: b.t()[1:],
        lambda b: b.t()[1:].select(1, 0),
        lambda b: b.view(-1),
        lambda b: b.view(3, 4).t()[::2, 1:].unsqueeze(0),
        lambda b: b.view(-1)[3:9].view(2, 3).transpose(0, 1),
        lambda b: b.permute(1, 0).narrow(0, 1, 2),
        lambda b: b.reshape(2, 2, 3).movedim(0, 2).flatten(0, 1)[2],
        lambda b: b.diagonal(),
        lambda b: b.diagonal()[1:],
        lambda b: b[1:].diagonal(1),
        lambda b: b.unfold(1, 2, 2)[:, 0],
        lambda b: b.as_strided((2, 2), (3, 1), 1),
        lambda b: b[1:].as_strided((2, 2), (1, 4), 5),
        lambda b: b.squeeze(),
        lambda b: b.unsqueeze(1).squeeze(1)[0],
        lambda b: b.swapaxes(0, 1).unflatten(0, (2, -1)) if b.shape[1] % 2 == 0 else b,
        lambda b: b.mT[..., 0],
        lambda b: b[None, ..., None][0],
    ):
        for write in (lambda v, w: v.mul_(w), lambda v, w: v.copy_(v.detach() * 2), lambda v, w: v.zero_()):
            x, w = leaf(t, 3, 4), leaf(t)
            b = x * 1
            v = look(b)
            write(v, w)
            out = [v, b._version, v._version, v._base is b if v is not b else None, name(v), name(b)]
            out += grads(t, (b * weights(t, b)).sum() + (v**2).sum(), x, w)
            result.append(out)
    return result


@scenario
def base_with_an_offset(t):
    """The base is itself somewhere inside a storage."""
    result = []
    for make in (
        lambda x: x.detach()[1:],
        lambda x: x.detach().view(-1)[5:11].view(2, 3),
        lambda x: x.detach().t()[1:],
        lambda x: x.detach()[1:, ::2],
    ):
        whole = leaf(t, 4, 4)
        x = make(whole).clone().requires_grad_()
        b = make(whole.detach().clone())  # no view of anything that wants a gradient
        w = t.tensor(1.5, requires_grad=True)
        b.mul_(x)
        b[1].mul_(w)
        b.view_as(b)[:, 1:].t().add_(w)
        result.append([b, b[1], b.storage_offset(), b._is_view(), *grads(t, (b * weights(t, b)).sum(), x, w)])
    return result


@scenario
def stale_views(t):
    """Views made before, and asked after, writes elsewhere."""
    result = []
    x = leaf(t, 4)
    b = x * 1
    v = b[:2]
    u = b[1:3]
    first = name(v)
    b[3] = 0
    result += [first, name(v), name(u), name(b), parents(v), v.is_leaf]
    result += grads(t, (v * u).sum(), x)
    v.mul_(x[2])
    result += [name(v), name(u), name(b), grads(t, (u * 2).sum(), x)]
    # A base without a gradient gets one by a write, and so do its views.
    b = t.zeros(3)
    v = b[1:]
    before = [b.requires_grad, v.requires_grad, name(v)]
    b[0] = x[1]
    result += before + [b.requires_grad, v.requires_grad, name(b), name(v), v]
    v[0] = x[2]
    result += [b, v, *grads(t, (b * b).sum() + (v * v).sum(), x)]
    b = t.zeros(3)
    v = b[1:]
    v.add_(x[0])
    result += [b.requires_grad, b.is_leaf, name(b), name(v), *grads(t, b.prod() + b.sum(), x)]
    return result


@scenario
def a_view_that_died(t):
    x = leaf(t, 3)
    b = x * 1
    b[0:2].mul_(3)
    b[1:].view(2, 1).t().add_(x[0])
    return [b, *grads(t, (b**2).sum(), x)]


@scenario
def a_base_that_died(t):
    x = leaf(t, 3)
    v = (x * 1)[1:]
    v.mul_(x[0])
    u = (x * 1)[1:][1:]
    u.mul_(x[0])
    return [v, name(v), v._base, u._base, *grads(t, (v**2).sum() + u.sum(), x)]


# ---------------------------------------------------------------- kinds of views


@scenario
def complex_views(t):
    def z():
        return t.tensor([1 + 2j, 3 - 1j, -2 + 0.5j], requires_grad=True)

    result = []
    for write in (
        lambda b, w: t.view_as_real(b).mul_(w),
        lambda b, w: t.view_as_real(b)[:, 0].mul_(w),
        lambda b, w: b.real.mul_(w),
        lambda b, w: b.imag.copy_(w * t.ones(3)),
        lambda b, w: b.real[1:].zero_(),
        lambda b, w: b[1:].imag.add_(w),
        lambda b, w: b.imag.fill_(2),
        lambda b, w: b.mul_(w * 1j),
        lambda b, w: b.real.add_(b.imag.clone() * w),
        lambda b, w: t.view_as_real(b[::2]).t()[1].sub_(w),
    ):
        x, w = z(), t.tensor(1.5, requires_grad=True)
        b = x * 1
        real, pairs = b.real, t.view_as_real(b)
        write(b, w)
        result.append([b, real, pairs, *grads(t, (b * b.conj()).real.sum() + real.sum() + (pairs**3).sum(), x, w)])
    r = leaf(t, 3, 2)
    for write in (
        lambda b, w: t.view_as_complex(b).mul_(w * 1j),
        lambda b, w: t.view_as_complex(b)[1:].real.mul_(w),
        lambda b, w: b[0].add_(w),
    ):
        w = t.tensor(1.5, requires_grad=True)
        b = r * 1
        c = t.view_as_complex(b)
        write(b, w)
        result.append([b, c, *grads(t, (c * c).real.sum() + (b**2).sum(), r, w)])
    return result


@scenario
def expanded(t):
    x = leaf(t, 3)
    e = (x * 1).expand(2, 3)
    result = [kind(lambda: e.mul_(2)), e._is_view(), name(e)]
    b = x * 1
    e = b.expand(2, 3)
    b.mul_(x)
    result += [e, name(e), *grads(t, (e * weights(t, e)).sum(), x)]
    b = x.unsqueeze(0) * 1
    e = b.expand(1, 3)
    e.mul_(x)
    result += [b, e, *grads(t, (b * weights(t, b)).sum(), x)]
    return result


@scenario
def several_views_at_once(t):
    result = []
    for make in (
        lambda b: b.unbind(0),
        lambda b: b.unbind(1),
        lambda b: b.split(1),
        lambda b: b.split([1, 1]),
        lambda b: b.chunk(2, 1),
        lambda b: b.tensor_split(2),
        lambda b: t.hsplit(b, [1]),
        lambda b: b.split(2),
    ):
        x = leaf(t, 2, 3)
        b = x * 1
        parts = make(b)
        out = [len(parts), [name(p) for p in parts], [p.output_nr for p in parts], [p._is_view() for p in parts]]
        out.append([outcome(lambda p=p: numbers(p.mul_(2))) for p in parts[:1]])
        out.append(outcome(lambda: numbers(parts[0][0].zero_())))  # a view of one of them
        out.append(b)
        out += grads(t, sum((p * (i + 1)).sum() for i, p in enumerate(parts)), x)
        result.append(out)
    # without a gradient they are written to like any view
    b = t.zeros(4)
    first, second = b.split(2)
    first.fill_(3)
    second += 1
    result.append([b, first, kind(lambda: second.mul_(t.ones(2, requires_grad=True)).tolist())])
    with t.no_grad():
        b = t.zeros(4)
        p = b.split(2)[0]
        p.add_(1)
    result.append([b, outcome(lambda: p.add_(1).tolist()), kind(lambda: p.mul_(t.ones(2, requires_grad=True)).tolist())])
    # the base of the parts is written to
    x = leaf(t, 4)
    b = x * 1
    a, c = b.chunk(2)
    b.mul_(x)
    result.append([outcome(lambda: name(a)), outcome(lambda: numbers(a * 2)), a.requires_grad])
    return result


@scenario
def made_without_recording(t):
    result = []
    x = leaf(t, 4)
    b = x * 1
    with t.no_grad():
        v = b[:2]
    result += [v._is_view(), v._base is b, v.is_leaf, name(v)]
    result.append(outcome(lambda: numbers(v.mul_(2))))
    result.append(kind(lambda: numbers(v[0].mul_(2))))
    with t.no_grad():
        v.mul_(2)
    result += [v.detach(), b, b._version, name(b), *grads(t, b.sum(), x)]
    b.mul_(x)
    result += [v.detach()]
    # of a base that wants no gradient (yet)
    b = t.zeros(3)
    with t.no_grad():
        v = b[1:]
    v.add_(1)
    result.append([v, b])
    result.append(outcome(lambda: numbers(v.add_(x[:2]))))
    b = t.zeros(3)
    with t.no_grad():
        v = b[1:]
    b.mul_(x[:3])
    result.append(outcome(lambda: numbers(v.add_(1))))
    # written to under no_grad, then read
    b = x * 1
    v = b[1:]
    with t.no_grad():
        v.zero_()
    result += [v, name(v), name(b), grads(t, (b * 2).sum() + v.sum(), x)]
    with t.no_grad():
        b = x[:2]
        b.mul_(3)
    return result + [x, b.detach()]


@scenario
def detached(t):
    result = []
    x = leaf(t, 3)
    b = x * 1
    d = b.detach()
    result += [d.requires_grad, d._is_view(), d._base, d.is_leaf, d._version]
    d.zero_()
    result += [b, b._version, d._version, name(b)]
    y = x * 2
    y.exp()
    e = y.exp()
    d = e.detach()
    d.add_(1)
    result.append(outcome(lambda: e.sum().backward())[1][:190])
    e = (x * 2).exp()
    e.data.mul_(0)  # not counted: the gradient is wrong, as asked for
    result += [e._version, *grads(t, e.sum(), x)]
    data = (x * 1).data
    data.add_(1)
    result += [data.requires_grad, data._is_view()]
    b = x * 1
    b.data[0] = 7
    result += [b, b._version]
    b = x * 1
    same = b.detach()
    same.requires_grad_()
    result += [same.is_leaf, outcome(lambda: same.add_(1)), numbers(x)]
    b = x * 3
    b.detach_()
    result += [b.requires_grad, b.is_leaf, name(b)]
    result.append(outcome(lambda: (x * 1)[0].detach_())[1][:46])
    result.append(outcome(lambda: t.zeros(3)[0].detach_())[1][:46])
    y = leaf(t, 3)
    y.detach_()
    result.append([y.requires_grad, y.is_leaf])
    result.append(outcome(lambda: leaf(t, 3)[0].detach_())[1][:46])
    return result


@scenario
def set_data(t):
    x = leaf(t, 3)
    x.data = t.tensor([7.0, 8.0])
    result = [x, x.is_leaf, *grads(t, (x * x).sum(), x)]
    x.data *= 2
    result.append(x)
    result.append(kind(lambda: setattr(x, "data", t.tensor([1, 2]))))
    result.append(kind(lambda: setattr(x, "data", 3)))
    x.grad = t.ones(2)
    x.data = x.data - 1
    result += [x, x.grad]
    return result


# ---------------------------------------------------------------- counting versions


@scenario
def versions(t):
    result = []
    x = t.zeros(2, 3)
    v, d = x[0], x.detach()
    for write in (
        lambda: x.add_(1), lambda: v.mul_(2), lambda: d.zero_(), lambda: x.data.add_(1), lambda: x[0, 1:].fill_(3),
        lambda: x.__setitem__(0, 1), lambda: x.__setitem__(x > 0, 2.0), lambda: x.__setitem__([0], 1.0),
        lambda: x.copy_(t.ones(3)), lambda: x.clamp_(0, 1), lambda: x.exp_(), lambda: x.t_(), lambda: x.t_(),
        lambda: x.unsqueeze_(0), lambda: x.squeeze_(0), lambda: x.transpose_(0, 1),
        lambda: t.add(t.ones(3, 2), 1, out=x), lambda: x.index_fill_(0, t.tensor([0]), 2.0), lambda: x.masked_fill_(x > 1, 0.0),
        lambda: x.index_add_(0, t.tensor([0]), t.ones(1, 2)), lambda: x.scatter_(0, t.zeros(1, 2, dtype=t.int64), 1.0),
        lambda: x.index_copy_(0, t.tensor([1]), t.ones(1, 2)), lambda: x.requires_grad_(False), lambda: x.normal_(),
    ):  # fmt: skip
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
    result = [outcome(f) for f in (
        lambda: x.add_(1), lambda: x.zero_(), lambda: x.copy_(t.ones(3)), lambda: x[0].add_(1), lambda: x.view(3).mul_(2),
        lambda: x.__setitem__(0, 1.0), lambda: x.__setitem__(x > 1, 1.0), lambda: x.masked_fill_(x > 1, 0.0),
        lambda: x.clamp_(0), lambda: x.uniform_(), lambda: x.exp_(), lambda: x.index_fill_(0, t.tensor([0]), 1.0),
        lambda: x.scatter_(0, t.tensor([0]), 1.0), lambda: x.expand(2, 3)[0].add_(1), lambda: x[:2].unsqueeze(0).fill_(1),
        lambda: x.index_add_(0, t.tensor([0]), t.ones(1)), lambda: x.index_put_((t.tensor([0]),), t.ones(1)),
    )]  # fmt: skip
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
        for v in (x, y, n, x.detach(), y.detach(), x[0], n[0], x.data, t.ones(2), t.arange(3), x > 1, x.long(), y.clone(), x.argmax(),
                  x.detach().requires_grad_(), y[0].detach().requires_grad_(), x.to(t.float64), x.to(t.float32), x.contiguous())
    ]  # fmt: skip


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


# ---------------------------------------------------------------- who is a view of whom


@scenario
def bases(t):
    result = []
    for x in (t.zeros(2, 3), leaf(t, 2, 3), leaf(t, 2, 3) * 1):
        views = [
            x[0], x[0][1:], x.t(), x.view(-1), x.view(-1)[1:].view(5, 1), x.unsqueeze(0), x.expand(2, 2, 3), x.transpose(0, 1), x.permute(1, 0),
            x.squeeze(), x.flatten(), x.reshape(3, 2), x.diagonal(), x.narrow(0, 0, 1), x.select(0, 1), x.unfold(1, 2, 1),
            x.split(1)[0], x.unbind()[1], x.chunk(2)[0], x.view_as(x), x.as_strided((2,), (1,)), x.movedim(0, 1), x.mT, x.T,
        ]  # fmt: skip
        result.append([[v._is_view(), v._base is x, name(v)] for v in views])
        others = [x.clone(), x.t().reshape(-1), x + 0, x.detach(), x[[0, 1]], x[x > 0], x.contiguous(), x.sum(), t.cat([x, x]), x.flip(0)]
        result.append([[v._is_view(), v._base is x, name(v)] for v in others])
    return result


@scenario
def names_of_nodes(t):
    """What grad_fn shows after views and writes."""
    x = leaf(t, 2, 3)
    result = []
    b = x * 1
    result += [name(b), parents(b)]
    b.add_(1)
    result += [name(b), parents(b)]
    b[0].mul_(2)
    result += [name(b), parents(b)[0], [short(f) for f, _ in b.grad_fn.next_functions[0][0].next_functions]]
    v = b[1]
    v.exp_()
    result += [name(b), parents(b)[0], name(v), parents(v)]
    b[0] = x[1]
    result += [name(b), parents(b)[0]]
    b[:, 1] = 0
    result += [name(b), parents(b)[0]]
    b.zero_()
    result += [name(b)]
    b.copy_(x)
    result += [name(b), parents(b)]
    return result


@scenario
def output_numbers(t):
    x = leaf(t, 2, 3)
    a, b = (x * 1).unbind()
    values, indices = x.max(1)
    return [x.output_nr, a.output_nr, b.output_nr, values.output_nr, indices.output_nr, indices.requires_grad, indices.is_leaf,
            x.sort(1)[0].output_nr, [f[1] for f in (a + b).grad_fn.next_functions]]  # fmt: skip


# ---------------------------------------------------------------- operands that broadcast


@scenario
def broadcasting_operands(t):
    result = []
    for write in (
        lambda b, w, s: b.add_(w), lambda b, w, s: b.mul_(w), lambda b, w, s: b.sub_(s), lambda b, w, s: b.div_(w),
        lambda b, w, s: b[0].mul_(s), lambda b, w, s: b[:, 1].add_(s), lambda b, w, s: b.t().mul_(w[:1]), lambda b, w, s: b.copy_(w),
        lambda b, w, s: b.copy_(s), lambda b, w, s: b[1:].copy_(w), lambda b, w, s: b.addcmul_(w, s), lambda b, w, s: b.addcdiv_(w, s, value=2),
        lambda b, w, s: b.lerp_(w.expand(2, 3), s), lambda b, w, s: b.pow_(s), lambda b, w, s: b.atan2_(w), lambda b, w, s: b.masked_fill_(b > 3, s),
        lambda b, w, s: b.__setitem__(slice(None), w), lambda b, w, s: b.__setitem__(slice(None), s), lambda b, w, s: b.__setitem__(b > 3, s),
        lambda b, w, s: b.__setitem__((slice(None), 0), w[0]), lambda b, w, s: b.mul_(b[:1].clone()), lambda b, w, s: b.add_(b[0].clone(), alpha=3),
    ):  # fmt: skip
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
        lambda b: b.mul_(b), lambda b: b.add_(b), lambda b: b[0].mul_(b[1]), lambda b: b.mul_(b[0]), lambda b: b.copy_(b.flip(0)),
        lambda b: b[:1].copy_(b[1:]), lambda b: b.sub_(b.t().t()), lambda b: b.div_(b), lambda b: b.t().mul_(b.t()),
    ):  # fmt: skip
        x = leaf(t, 2, 2)
        b = x * 1
        r = kind(lambda write=write, b=b: write(b) and None)
        result.append([r, b, outcome(lambda b=b, x=x: grads(t, (b * weights(t, b)).sum(), x)) if r is None else None])
    for i, r in enumerate(result):  # the text goes on with what strided tells in addition
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
    return [d, c, h, b, *grads(t, d.sum() + c.real.sum() + c.imag.sum() + (h * h).sum() + b.prod(), x),
            kind(lambda: t.zeros(3, dtype=t.int64).add_(x)), outcome(lambda: t.zeros(3, dtype=t.int64).copy_(x)),
            kind(lambda: (x * 1).copy_(c).tolist())]  # fmt: skip


# ---------------------------------------------------------------- writing by subscript


@scenario
def subscripts(t):
    keys = [
        0, (0, 1), (slice(None), 1), (slice(None), slice(None, None, 2)), slice(1, None), Ellipsis, (Ellipsis, 0), None,
        [0, 1], [1], ([0, 1], [2, 0]), (slice(None), [0, 2]), t.tensor([1, 1]), t.tensor([[0, 1], [1, 0]]),
        t.tensor([True, False]), t.tensor([[True, False, True], [False, True, False]]), (t.tensor([True, False]), 1), True,
        (slice(None), t.tensor([False, True, True])),
    ]  # fmt: skip
    result = []
    for i, key in enumerate(keys):
        for value in ("number", "tensor", "scalar tensor", "history"):
            x, w = leaf(t, 2, 3), leaf(t, start=0.5)
            b = x * 1
            shape = b[key].shape
            v = {"number": 7.0, "tensor": t.full(shape, 3.0), "scalar tensor": w,
                 "history": ((t.arange(float(shape.numel())).reshape(shape) + 1) * w)}[value]  # fmt: skip
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
        lambda b, w: b.index_fill_(0, i[:1], 4.0), lambda b, w: b.index_fill_(1, i, w[0, 0]), lambda b, w: b.index_add_(0, i, w),
        lambda b, w: b.index_add_(1, i, w[:, :2], alpha=2), lambda b, w: b.index_copy_(0, i, w), lambda b, w: b.index_copy_(1, i, w[:, 1:]),
        lambda b, w: b.scatter_(1, i.reshape(2, 1), w[:, :1]), lambda b, w: b.scatter_(0, i.reshape(1, 2), 5.0),
        lambda b, w: b.scatter_add_(1, t.tensor([[0, 2, 0], [1, 1, 2]]), w), lambda b, w: b.masked_fill_(b > 2, 3.0), lambda b, w: b.masked_fill_(b > 2, w[0, 1]),
        lambda b, w: b.masked_scatter_(b > 2, w), lambda b, w: b[1].index_fill_(0, i, 3.0), lambda b, w: b.t().index_add_(0, i, w.t()[:2]),
        lambda b, w: b.fill_(w[1, 1]), lambda b, w: b[:, 1:].fill_(w[1, 1]), lambda b, w: b.put_(i, w[0, :2]), lambda b, w: b.put_(i, w[0, :2], True),
        lambda b, w: b.tril_(), lambda b, w: b[:, 1:].triu_(), lambda b, w: b.fill_diagonal_(3.0),
    ):  # fmt: skip
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
        lambda b: b.t_(), lambda b: b.transpose_(0, 1), lambda b: b.unsqueeze_(1), lambda b: b.swapaxes_(0, 1), lambda b: b.swapdims_(1, 0),
        lambda b: b.t_().mul_(2), lambda b: b.unsqueeze_(0).squeeze_(0), lambda b: b.squeeze_(), lambda b: b.as_strided_((3, 2), (1, 3)),
        lambda b: b.unsqueeze_(0).squeeze_(), lambda b: b.t_().unsqueeze_(2)[1].zero_(), lambda b: b.squeeze_(0),
    ):  # fmt: skip
        x = leaf(t, 2, 3)
        b = x * 1
        v = b[0]
        write(b)
        result.append([b, list(b.stride()), kind_of(b), b._version, v, name(v), *grads(t, (b * weights(t, b)).sum() + v.sum(), x)])
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
        lambda b, v, w: v.mul_(w), lambda b, v, w: v.exp_(), lambda b, v, w: b.mul_(w[0]), lambda b, v, w: v.copy_(w * w), lambda b, v, w: b.sin_(),
        lambda b, v, w: (v.mul_(w), b.mul_(b.detach().clone()), v.pow_(2)), lambda b, v, w: b.__setitem__(b > 2, w[0] ** 2), lambda b, v, w: v[1:].mul_(v[:1].clone()),
    ):  # fmt: skip
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
