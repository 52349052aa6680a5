"""Dual tensors: tangents of results, through views and writes, beside the backward pass, and their errors."""

import pytest
import strided
import strided.autograd.forward_ad as fwAD
from torch_compare import Scenarios, kind, numbers, outcome

scenario = Scenarios("test_forward_ad")


def forward(t):
    return t.autograd.forward_ad


def duals(t, *pairs, dtype=None):
    return [forward(t).make_dual(t.tensor(p, dtype=dtype), t.tensor(v, dtype=dtype)) for p, v in pairs]


def tangent(t, x):
    return numbers(forward(t).unpack_dual(x).tangent)


# ---------------------------------------------------------------- what make_dual and unpack_dual give


@scenario
def parts(t):
    fw = forward(t)
    x, v = t.tensor([1.0, 2.0]), t.tensor([1.0, 0.5])
    with fw.dual_level():
        d = fw.make_dual(x, v)
        primal, direction = fw.unpack_dual(d)
        y = d * d
        result = [d, primal, direction, y, fw.unpack_dual(y), tangent(t, x), type(fw.unpack_dual(y)).__name__]
        result += [list(fw.unpack_dual(y)._fields), d.data_ptr() == x.data_ptr(), d.is_leaf, y.is_leaf, y.grad_fn]
        result.append(tangent(t, t.ones(2)))
        result.append(tangent(t, d.detach()))
        result.append(tangent(t, d > 1))
        result.append(tangent(t, x * 2))
    result += [tangent(t, y), tangent(t, d), fw.unpack_dual(y).primal]
    return result


@scenario
def levels(t):
    fw = forward(t)
    x, v = t.tensor([1.0, 2.0]), t.tensor([1.0, 0.5])
    result = [outcome(lambda: fw.make_dual(x, v)), numbers(fw.unpack_dual(x).primal), fw.unpack_dual(x).tangent]
    level = fw.enter_dual_level()
    d = fw.make_dual(x, v, level=level)
    result += [level, tangent(t, d * 3), numbers(fw.unpack_dual(d * 3, level=level).tangent)]
    result += [outcome(fw.enter_dual_level), outcome(lambda: fw.exit_dual_level(level=level + 1))]
    fw.exit_dual_level(level=level)
    with fw.dual_level():
        result.append(tangent(t, d * 3))  # of a level that is gone
        e = fw.make_dual(x, v * 2)
        result.append(tangent(t, e * 3))

    @fw.dual_level()
    def f(k):
        return tangent(t, fw.make_dual(x, v) * k)

    result += [f(2), f(3)]

    def fails():
        with fw.dual_level():
            raise KeyError

    result.append(kind(fails))
    with fw.dual_level() as level:
        result.append(level)
    return result


@scenario
def errors(t):
    fw = forward(t)
    x = t.tensor([1.0, 2.0])
    with fw.dual_level():
        return [
            outcome(lambda: fw.make_dual(t.tensor([1, 2]), x)),
            outcome(lambda: fw.make_dual(x, t.tensor([1, 2]))),
            outcome(lambda: fw.make_dual(x, t.ones(3))),
            kind(lambda: fw.make_dual(x, t.ones(2, 1))),
            kind(lambda: fw.make_dual(x, None)),
            kind(lambda: fw.make_dual(None, x)),
        ]


@scenario
def tangents_of_another_dtype(t):
    fw = forward(t)
    result = []
    for primal, tangent in ((t.float64, t.float32), (t.float32, t.float16), (t.complex64, t.float32)):
        x = t.tensor([1.0, 2.0], dtype=primal)
        with fw.dual_level():
            made = fw.unpack_dual(fw.make_dual(x, t.tensor([3.0, 0.5], dtype=tangent)) * x).tangent
            result.append([str(made.dtype), numbers(made.real)])
    return result


# ---------------------------------------------------------------- operations

UNARY = {
    "neg": lambda x: -x,
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "sqrt": lambda x: x.sqrt(),
    "square": lambda x: x.square(),
    "pow": lambda x: x**3,
    "reciprocal": lambda x: 1 / x,
    "sigmoid": lambda x: x.sigmoid(),
    "abs": lambda x: (x - 1.2).abs(),
    "clamp": lambda x: x.clamp(0.5, 1.5),
    "relu": lambda x: (x - 1).relu(),
    "erf": lambda x: x.erf(),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(1),
    "prod": lambda x: x.prod(0),
    "amax": lambda x: x.amax(0),
    "var": lambda x: x.var(),
    "logsumexp": lambda x: x.logsumexp(1),
    "softmax": lambda x: x.softmax(1),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(1),
    "norm": lambda x: x.norm(),
    "max": lambda x: x.max(1).values,
    "sort": lambda x: x.sort(1).values,
    "median": lambda x: x.median(0).values,
    "t": lambda x: x.t(),
    "view": lambda x: x.view(-1),
    "select": lambda x: x[0],
    "slice": lambda x: x[:, 1:],
    "index": lambda x: x[[1, 0, 1]],
    "mask": lambda x: x[x > 1],
    "expand": lambda x: x.expand(2, 2, 3),
    "repeat": lambda x: x.repeat(2, 1),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 1),
    "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split([1, 2], 1)[1],
    "diagonal": lambda x: x.diagonal(),
    "tril": lambda x: x.tril(),
    "gather": lambda x: x.gather(1, (x > 1).long()),
    "where": lambda x: x.where(x > 1, x * 2),
    "detach": lambda x: x.detach() * x,
    "matmul": lambda x: x @ x.t(),
    "clone": lambda x: x.clone(),
    "to": lambda x: x.double() * 2,
    "complex": lambda x: (x * 1j).imag,
}


@scenario
def unary(t):
    result = {}
    with forward(t).dual_level():
        for key, f in UNARY.items():
            (x,) = duals(t, ([[0.5, 1.25, 2.0], [1.75, 0.75, 1.0]], [[1.0, -1.0, 0.5], [0.0, 2.0, 0.25]]))
            y = f(x)
            result[key] = [y.detach(), tangent(t, y)]
    return result


@scenario
def binary(t):
    result = []
    fs = [
        lambda x, y: x + y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**y,
        lambda x, y: t.atan2(x, y),
        lambda x, y: t.maximum(x, y),
        lambda x, y: t.where(x > y, x, y),
        lambda x, y: x @ y,
        lambda x, y: t.outer(x, y),
        lambda x, y: t.cat([x, y, x]),
        lambda x, y: t.stack([x, y]),
        lambda x, y: t.lerp(x, y, 0.25),
        lambda x, y: t.addcmul(x, y, y),
        lambda x, y: (x[:, None] * y).sum(0),
        lambda x, y: t.hypot(x, y),
        lambda x, y: x * 2 + 1,
        lambda x, y: t.ones(2) * y,
        lambda x, y: t.linalg.solve(t.stack([x, y + 1]), y),
        lambda x, y: t.einsum("i,j->ij", x, y),
        lambda x, y: x.dot(y),
        lambda x, y: t.cross(t.cat([x, y[:1]]), t.cat([y, x[1:]]), dim=0) if hasattr(t, "cross") else x,
    ]
    with forward(t).dual_level():
        for f in fs:
            x, y = duals(t, ([1.5, 2.0], [1.0, -1.0]), ([2.0, 0.5], [0.5, 3.0]))
            plain = t.tensor([2.0, 0.5])
            result.append([tangent(t, f(x, y)), tangent(t, f(x, plain)), tangent(t, f(plain, y))])
    return result


@scenario
def several_outputs(t):
    with forward(t).dual_level():
        (x,) = duals(t, ([[3.0, 1.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]))
        values, indices = x.sort(1)
        q = t.linalg.slogdet(x)
        a, b = x.unbind(0)
        mean, var = x.mean(), x.var()
        return [
            tangent(t, values),
            tangent(t, indices),
            tangent(t, q[1]),
            tangent(t, a),
            tangent(t, b),
            tangent(t, mean),
            tangent(t, var),
        ]


@scenario
def complex_numbers(t):
    result = []
    with forward(t).dual_level():
        for f in (
            lambda z: z * z,
            lambda z: z.exp(),
            lambda z: z.conj() * z,
            lambda z: z.abs(),
            lambda z: z.real,
            lambda z: z.imag * 2,
            lambda z: z.angle(),
            lambda z: t.view_as_real(z),
            lambda z: z.sum(),
            lambda z: z * 2j,
        ):
            z = forward(t).make_dual(t.tensor([1 + 2j, -0.5 + 1j]), t.tensor([1 - 1j, 2j]))
            result.append(tangent(t, f(z)))
        r = forward(t).make_dual(t.tensor([[1.0, 2.0]]), t.tensor([[0.5, 3.0]]))
        result += [tangent(t, t.view_as_complex(r) ** 2), tangent(t, t.complex(r[:, 0], r[:, 1]))]
    return result


# ---------------------------------------------------------------- views and writes


@scenario
def views(t):
    result = []
    with forward(t).dual_level():
        (x,) = duals(t, ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 0.5, 2.0], [0.0, 1.0, 3.0]]))
        b = x * 1
        v = b[1]
        v.mul_(2)
        result += [tangent(t, b), tangent(t, v)]
        b[:, 0] = 7
        result += [tangent(t, b), tangent(t, v), b.detach(), v.detach()]
        b.t()[2].copy_(v[:2])
        result += [tangent(t, b)]
        c = t.zeros(2, 3)
        w = c[0]
        c.add_(x)
        result += [tangent(t, c), tangent(t, w)]
        c = t.zeros(2, 3)
        w = c[0]
        w.copy_(x[1])
        result += [tangent(t, c), tangent(t, w)]
        c = x.clone()
        c.zero_()
        result.append(tangent(t, c))
        c = x.clone()
        c[c > 3] = 0
        c.exp_()
        result.append(tangent(t, c))
    return result


@scenario
def writes_to_plain_tensors(t):
    with forward(t).dual_level():
        (x,) = duals(t, ([1.0, 2.0], [3.0, 4.0]))
        a = t.ones(2)
        a.mul_(x)
        b = t.ones(2)
        b[0] = x[1] * 2
        c = t.ones(2)
        t.add(t.ones(2), 1, out=c)
        return [tangent(t, a), tangent(t, b), tangent(t, c), a.detach()]


# ---------------------------------------------------------------- beside the backward pass


@scenario
def forward_over_reverse(t):
    """The tangent of a gradient: the Hessian times the direction."""
    fw = forward(t)
    x, v = t.tensor([1.0, 2.0], dtype=t.float64), t.tensor([0.5, -1.0], dtype=t.float64)
    with fw.dual_level():
        d = fw.make_dual(x.clone().requires_grad_(), v)
        y = (d**3).sum() + d[0] * d[1] ** 2
        (g,) = t.autograd.grad(y, d, create_graph=True)
        return [y.requires_grad, d.requires_grad, numbers(g), tangent(t, g)]


@scenario
def reverse_over_forward(t):
    """The gradient of a tangent."""
    fw = forward(t)
    x = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
    v = t.tensor([0.5, -1.0], dtype=t.float64, requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, v)
        y = (d**3).sum() + d[0] * d[1] ** 2
        jvp = fw.unpack_dual(y).tangent
        result = [y.requires_grad, numbers(jvp), jvp.requires_grad]
        result += [numbers(g) for g in t.autograd.grad(jvp, (x, v), retain_graph=True)]
        result += [numbers(g) for g in t.autograd.grad(y, x, retain_graph=True)]
    jvp.backward()
    return result + [x.grad, v.grad]


@scenario
def backward_through_dual_tensors(t):
    fw = forward(t)
    w = t.tensor([3.0, 4.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(t.tensor([1.0, 2.0]), t.tensor([1.0, 1.0]))
        y = (w * d).sum()
        result = [d.requires_grad, y.requires_grad, tangent(t, y)]
        y.backward()
    return result + [w.grad, d.grad]


@scenario
def dual_tensors_look_plain(t):
    fw = forward(t)
    with fw.dual_level():
        d = fw.make_dual(t.tensor([1.0, 2.0]), t.tensor([1.0, 1.0]))
        y = (d * 2).sum()
        z = y.detach()
        return [
            d.requires_grad,
            d.grad_fn,
            d.is_leaf,
            y.requires_grad,
            y.grad_fn,
            y.is_leaf,
            y.tolist(),
            y.item(),
            tangent(t, z),
        ]


@scenario
def functions_of_the_user(t):
    """A Function with jvp in PyTorch; strided derives it from backward."""

    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

        @staticmethod
        def jvp(ctx, v):
            return 3 * ctx.saved_tensors[0] ** 2 * v

    with forward(t).dual_level():
        (x,) = duals(t, ([1.0, 2.0], [0.5, 1.0]))
        y = Cube.apply(x * 2)
        return [numbers(y), tangent(t, y)]


@pytest.mark.parametrize("name", [k for k in UNARY if k not in ("detach",)])
def test_against_jvp(name):
    """The tangent is what functional.jvp gives, in float64."""
    f = UNARY[name]
    x = strided.tensor([[0.5, 1.25, 2.0], [1.75, 0.75, 1.0]], dtype=strided.float64)
    v = strided.tensor([[1.0, -1.0, 0.5], [0.0, 2.0, 0.25]], dtype=strided.float64)
    y, want = strided.autograd.functional.jvp(f, x, v)
    with fwAD.dual_level():
        primal, got = fwAD.unpack_dual(f(fwAD.make_dual(x, v)))
    assert strided.allclose(primal, y) and strided.allclose(got, want, rtol=1e-12, atol=0)


def test_a_tangent_that_the_dtype_does_not_hold():
    """PyTorch computes with it."""
    with fwAD.dual_level():
        for dtype in (strided.float64, strided.complex64):
            with pytest.raises(RuntimeError, match="without loss"):
                fwAD.make_dual(strided.ones(2), strided.ones(2, dtype=dtype))


def test_levels_close_after_errors():
    for _ in range(3):
        with pytest.raises(KeyError), fwAD.dual_level():
            fwAD.make_dual(strided.ones(2), strided.ones(2))
            raise KeyError
    assert fwAD.unpack_dual(strided.ones(2)).tangent is None


@pytest.mark.parametrize("name", scenario.names)
def test_as_torch(name):
    scenario.check(name)


@pytest.mark.parametrize("write", ["zero_()", "fill_(3.)", "normal_()", "bernoulli_()", "copy_(strided.ones(2))"])
def test_what_overwrites_a_dual_tensor_takes_its_tangent(write):
    with fwAD.dual_level():
        x = fwAD.make_dual(strided.ones(2), strided.ones(2))
        eval("x." + write, {"x": x, "strided": strided})
        assert fwAD.unpack_dual(x).tangent.tolist() == [0, 0]
        x = fwAD.make_dual(strided.ones(2), strided.ones(2))
        x[:1].mul_(3)
        assert fwAD.unpack_dual(x).tangent.tolist() == [3, 1]


def test_writes_to_a_dual_tensor():
    """The tangent is that of the values now, also after a write, to the dual tensor or to a view of it."""
    with fwAD.dual_level():
        dual = fwAD.make_dual(strided.tensor([1.0, 2.0]), strided.ones(2))
        dual *= 2
        assert fwAD.unpack_dual(dual).tangent.tolist() == [2.0, 2.0]
        view = dual[:1]
        view *= 3
        assert fwAD.unpack_dual(view).tangent.tolist() == [6.0]
        assert fwAD.unpack_dual(dual).tangent.tolist() == [6.0, 2.0]


def test_primals_have_no_tangent_and_pass_gradients():
    x = strided.tensor([1.0, 2.0], dtype=strided.float64, requires_grad=True)
    with fwAD.dual_level():
        y = fwAD.make_dual(x, strided.tensor([3.0, 1.0], dtype=strided.float64)).exp()
        primal, tangent = fwAD.unpack_dual(y)
        assert (tangent == strided.tensor([3.0, 1.0]) * x.exp()).all()
        assert fwAD.unpack_dual(tangent).tangent is None
        assert fwAD.unpack_dual(primal).tangent is None and fwAD.unpack_dual(primal * 2).tangent is None
        assert (fwAD.unpack_dual(primal * y).tangent == primal * tangent).all()
        assert (strided.autograd.grad(primal.sum(), x)[0] == x.exp()).all()
        given = strided.ones(2)
        plain, same = fwAD.unpack_dual(fwAD.make_dual(strided.ones(2), given))
        assert same is given
        assert not plain.requires_grad and fwAD.unpack_dual(plain).tangent is None


def test_tangents_are_printed():
    with fwAD.dual_level():
        x = fwAD.make_dual(strided.tensor([1.0, 2.0]), strided.tensor([3.0, 0.0]))
        assert repr(x) == "tensor([1., 2.], tangent=tensor([3., 0.]))"
        assert repr(x * x) == "tensor([1., 4.], tangent=tensor([6., 0.]))"
        assert repr(fwAD.unpack_dual(x * x).primal) == "tensor([1., 4.])"
        assert repr(strided.ones(1)) == "tensor([1.])"
    assert repr(x) == "tensor([1., 2.])"


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_dual_tensors_have_tangents(create_graph):
    """The product of a Hessian and a vector, without a graph that the program keeps; one of the gradients too."""
    x, direction = strided.tensor([1.0, 2.0], requires_grad=True), strided.tensor([0.5, -1.0])
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, direction)
        y = (dual**3).sum()
        (grad,) = strided.autograd.grad(y, dual, create_graph=create_graph)
        assert fwAD.unpack_dual(grad).tangent.tolist() == [3.0, -12.0]
        given = fwAD.make_dual(strided.ones(2), strided.tensor([1.0, 0.0]))
        (grad,) = strided.autograd.grad(dual.square(), dual, given, create_graph=create_graph)
        assert fwAD.unpack_dual(grad).tangent.tolist() == [3.0, -2.0]
    (grad,) = strided.autograd.grad((x**3).sum(), x)
    assert not grad.requires_grad
