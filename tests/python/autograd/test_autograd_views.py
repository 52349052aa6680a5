"""Gradients through views and writes in place: a base seen in its views, a view in its base; who is a view of whom."""

import pytest
import strided
from torch_compare import Scenarios, grads, kind, kind_of, name, name_of, numbers, outcome
from torch_compare import grid as leaf

scenario = Scenarios("test_autograd_views")


def parents(x):
    return [[name_of(f), i] for f, i in x.grad_fn.next_functions]


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
    return run_writes(
        t,
        [
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
        ],
    )


@scenario
def writes_to_the_base(t):
    return run_writes(
        t,
        [
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
        ],
    )


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
    result.append(
        [b, outcome(lambda: p.add_(1).tolist()), kind(lambda: p.mul_(t.ones(2, requires_grad=True)).tolist())]
    )
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
    result += [kind(lambda k=k: v.__setitem__(k, 1.0)) for k in (0, slice(1), [0], v > 0)]
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


# ---------------------------------------------------------------- who is a view of whom


@scenario
def bases(t):
    result = []
    for x in (t.zeros(2, 3), leaf(t, 2, 3), leaf(t, 2, 3) * 1):
        views = [
            x[0],
            x[0][1:],
            x.t(),
            x.view(-1),
            x.view(-1)[1:].view(5, 1),
            x.unsqueeze(0),
            x.expand(2, 2, 3),
            x.transpose(0, 1),
            x.permute(1, 0),
            x.squeeze(),
            x.flatten(),
            x.reshape(3, 2),
            x.diagonal(),
            x.narrow(0, 0, 1),
            x.select(0, 1),
            x.unfold(1, 2, 1),
            x.split(1)[0],
            x.unbind()[1],
            x.chunk(2)[0],
            x.view_as(x),
            x.as_strided((2,), (1,)),
            x.movedim(0, 1),
            x.mT,
            x.T,
        ]
        result.append([[v._is_view(), v._base is x, name(v)] for v in views])
        others = [
            x.clone(),
            x.t().reshape(-1),
            x + 0,
            x.detach(),
            x[[0, 1]],
            x[x > 0],
            x.contiguous(),
            x.sum(),
            t.cat([x, x]),
            x.flip(0),
        ]
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
    result += [name(b), parents(b)[0], [name_of(f) for f, _ in b.grad_fn.next_functions[0][0].next_functions]]
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
    return [
        x.output_nr,
        a.output_nr,
        b.output_nr,
        values.output_nr,
        indices.output_nr,
        indices.requires_grad,
        indices.is_leaf,
        x.sort(1)[0].output_nr,
        [f[1] for f in (a + b).grad_fn.next_functions],
    ]


NEGATIVE = {
    "rows": (slice(None, None, -1),),
    "both": (slice(None, None, -1), slice(None, None, -1)),
    "steps": (slice(None, None, -1), slice(2, None, -2)),
    "a column": (slice(None, None, -1), 1),
    "a part": (slice(1, 0, -1), slice(1, None, -1)),
}


@pytest.mark.parametrize("key", NEGATIVE)
@pytest.mark.parametrize("write", ["mul_", "copy_", "tanh_", "zero_", "__setitem__"])
def test_negative_strides(key, write):
    """A view that runs backwards, which PyTorch has not: as the same write with the indices it shows."""
    key = NEGATIVE[key]
    x, w = leaf(strided, 2, 3, dtype=strided.float64), leaf(strided, dtype=strided.float64, start=0.5)
    where = strided.arange(6).reshape(2, 3)[key]  # which elements, in the view's order
    order = weights(strided, x)

    def written(v):
        return {
            "mul_": lambda: v * w * strided.arange(1, v.numel() + 1).reshape(v.shape),
            "copy_": lambda: (v.detach() * w) * strided.arange(1, v.numel() + 1).reshape(v.shape),
            "tanh_": lambda: v.tanh(),
            "zero_": lambda: v * 0,
            "__setitem__": lambda: w * strided.arange(1, v.numel() + 1).reshape(v.shape),
        }[write]()

    b = x * 1
    v = b[key]
    assert any(s < 0 for s in v.stride()) or v.numel() < 2
    if write == "mul_":
        v.mul_(w * strided.arange(1, v.numel() + 1).reshape(v.shape))
    elif write == "copy_":
        v.copy_(written(v.detach().clone()))
    elif write == "__setitem__":
        b[key] = written(v)
    else:
        getattr(v, write)()
    got = grads(strided, (b * order).sum() + (v**3).sum(), x, w)
    flat = (x * 1).reshape(-1)
    part = written(flat[where])
    whole = flat.index_put((where,), part)
    want = grads(strided, (whole * order.reshape(-1)).sum() + (part**3).sum(), x, w)
    assert strided.allclose(b.reshape(-1), whole) and strided.equal(v, b[key])
    for a, e in zip(got, want):
        assert (a is None and e is None) or strided.allclose(strided.tensor(a or 0.0), strided.tensor(e or 0.0))


def test_a_leaf_that_is_a_view():
    """tensor(...).reshape(...).requires_grad_(), the commonest way to make a parameter."""
    x = strided.arange(4.0).reshape(2, 2).requires_grad_()
    for _ in range(2):
        (x[0] ** 2).sum().backward()
        with strided.no_grad():
            x -= 0.25 * x.grad
            x.grad.zero_()
    assert x.tolist() == [[0, 0.25], [2, 3]] and x.is_leaf and x._base is not None
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0].add_(1)


@pytest.mark.parametrize("name_", scenario.names)
def test_as_torch(name_):
    scenario.check(name_)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: strided.nn.functional.conv2d(x, strided.ones(1, 1, 3, 3, dtype=x.dtype)),
        lambda x: strided.nn.functional.conv_transpose2d(x, strided.ones(1, 1, 3, 3, dtype=x.dtype)),
        lambda x: strided.nn.functional.fold(strided.nn.functional.unfold(x, 2), (6, 6), 2),
    ],
    ids=["conv2d", "conv_transpose2d", "fold"],
)
def test_results_of_functions_can_be_written_into(f, recorded):
    x = strided.rand(1, 1, 6, 6, dtype=strided.float64, requires_grad=recorded)
    value = strided.tensor(3.0, dtype=strided.float64, requires_grad=True)
    y = f(x)
    assert y._base is None
    y[..., ::2] = value
    y[..., 1].mul_(2)
    y.sum().backward()
    assert value.grad.item() == y[..., ::2].numel() and (y[..., ::2] == 3).all()
    if recorded:
        plain = x.detach().requires_grad_()
        made = f(plain)
        (made[..., 1].sum() * 2 + made[..., 3::2].sum()).backward()
        assert strided.allclose(x.grad, plain.grad)


def test_a_view_of_a_parameter_stays_one():
    table = strided.ones(3, requires_grad=True)

    class Row(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return table[1:]

    assert Row.apply(strided.ones(2))._base is table


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: x.unsafe_split(2),
        lambda x: x.unsafe_split([2, 2]),
        lambda x: strided.unsafe_split_with_sizes(x, (2, 2)),
        lambda x: strided.unsafe_chunk(x, 2),
    ],
    ids=["split", "sizes", "split_with_sizes", "chunk"],
)
def test_unsafe_parts_can_be_written_to(parts):
    x = strided.arange(4.0, requires_grad=True)
    a, b = parts(x)
    c = a.sigmoid_()  # saves what it wrote: a write to the other part does not touch that
    b.mul_(3)
    (c.sum() + b.sum()).backward()
    assert a._base is None
    want = strided.sigmoid(strided.tensor([0.0, 1.0]))
    strided.testing.assert_close(x.grad, strided.cat([want * (1 - want), strided.tensor([3.0, 3.0])]))
    plain = strided.zeros(4)
    parts(plain)[1].fill_(1)
    assert plain.tolist() == [0, 0, 1, 1]
