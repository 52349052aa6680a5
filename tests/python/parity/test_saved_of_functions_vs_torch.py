"""node._saved_self and its like: what the nodes of reductions, products, networks and decompositions show."""

import pytest
import strided

torch = pytest.importorskip("torch")
BOTH = torch, strided


def x(t, *shape, over=8):
    return (t.arange(1.0, 1.0 + t.Size(shape).numel()).reshape(shape) / over).requires_grad_()


def m(t):
    return x(t, 2, 3, 4)


def square(t):
    return x(t, 2, 2) + t.eye(2)


def labels(t):
    return t.tensor([1, 0])


# The function, and what PyTorch shows and strided does not: its backward pass reads something else.
FUNCTIONS = {
    "sum": (lambda t, f: m(t).sum(), ""),
    "sum of axes": (lambda t, f: m(t).sum((0, -1), keepdim=True), ""),
    "mean": (lambda t, f: m(t).mean(), "self_sym_numel"),
    "mean of an axis": (lambda t, f: m(t).mean(-1), "self_sym_numel"),
    "nansum": (lambda t, f: m(t).nansum(-1), ""),
    "prod": (lambda t, f: m(t).prod(), ""),
    "prod of an axis": (lambda t, f: m(t).prod(-1, keepdim=True), ""),
    "amax": (lambda t, f: m(t).amax((0, 1), True), ""),
    "max": (lambda t, f: m(t).max(), ""),
    "max of an axis": (lambda t, f: m(t).max(-1)[0], ""),
    "logsumexp": (lambda t, f: m(t).logsumexp((0, 1), True), ""),
    "var": (lambda t, f: m(t).var(-1, correction=0), ""),
    "std": (lambda t, f: m(t).std(1, keepdim=True), ""),
    "var_mean": (lambda t, f: t.var_mean(m(t), 1)[0], ""),
    "std_mean": (lambda t, f: t.std_mean(m(t), 1)[0], ""),
    "vector_norm": (lambda t, f: t.linalg.vector_norm(m(t), 3, (-1,)), ""),
    "dist": (lambda t, f: t.dist(m(t), 2 * m(t), 3), ""),
    "median": (lambda t, f: m(t).median(), ""),
    "median of an axis": (lambda t, f: m(t).median(-1)[0], ""),
    "mode": (lambda t, f: m(t).mode(-1, True)[0], ""),
    "kthvalue": (lambda t, f: m(t).kthvalue(2, -1)[0], ""),
    "sort": (lambda t, f: m(t).sort(-1)[0], ""),
    "topk": (lambda t, f: m(t).topk(2, 1)[0], ""),
    "cumsum": (lambda t, f: m(t).cumsum(-1), ""),
    "cumprod": (lambda t, f: m(t).cumprod(-1), ""),
    "logcumsumexp": (lambda t, f: m(t).logcumsumexp(-1), ""),
    "softmax": (lambda t, f: m(t).softmax(-1), ""),
    "log_softmax": (lambda t, f: m(t).log_softmax(1), ""),
    "mm": (lambda t, f: x(t, 2, 3) @ x(t, 3, 2), "self_sym_sizes self_sym_strides mat2_sym_sizes mat2_sym_strides"),
    "mm of a constant": (
        lambda t, f: x(t, 2, 3) @ x(t, 3, 2).detach(),
        "self_sym_sizes self_sym_strides mat2_sym_sizes mat2_sym_strides",
    ),
    "bmm": (lambda t, f: x(t, 2, 2, 3).bmm(x(t, 2, 3, 2)), ""),
    "mv": (lambda t, f: x(t, 2, 3).mv(x(t, 3)), ""),
    "dot": (lambda t, f: x(t, 3).dot(x(t, 3)), ""),
    "linear": (
        lambda t, f: f.linear(x(t, 2, 3), x(t, 4, 3), x(t, 4)),
        "mat1_sym_sizes mat1_sym_strides mat2_sym_sizes mat2_sym_strides",
    ),
    "baddbmm": (lambda t, f: t.baddbmm(x(t, 2, 2), x(t, 2, 2, 3), x(t, 2, 3, 2), beta=2, alpha=3), ""),
    "conv1d": (lambda t, f: f.conv1d(x(t, 1, 2, 5), x(t, 3, 2, 2), x(t, 3)), ""),
    "conv2d": (lambda t, f: f.conv2d(x(t, 1, 2, 5, 5), x(t, 2, 1, 2, 2), None, 2, 1, 2, 2), ""),
    "conv_transpose2d": (lambda t, f: f.conv_transpose2d(x(t, 1, 2, 5, 5), x(t, 2, 3, 2, 2), x(t, 3), 2, 1, 1), ""),
    "batch_norm": (
        lambda t, f: f.batch_norm(m(t), t.zeros(3), t.ones(3), x(t, 3), x(t, 3), True),
        "running_mean running_var result1 result2",
    ),
    "layer_norm": (lambda t, f: f.layer_norm(m(t), (4,), x(t, 4), x(t, 4)), "normalized_shape result1 result2"),
    "relu": (lambda t, f: f.relu(m(t) - 1), ""),
    "elu": (lambda t, f: f.elu(m(t) - 1, 0.5), ""),
    "leaky_relu": (lambda t, f: f.leaky_relu(m(t) - 1, 0.5), ""),
    "hardtanh": (lambda t, f: f.hardtanh(m(t), -1.0, 2.0), ""),
    "softplus": (lambda t, f: f.softplus(m(t)), ""),
    "softshrink": (lambda t, f: f.softshrink(m(t), 0.25), ""),
    "nll_loss": (lambda t, f: f.nll_loss(x(t, 2, 3), labels(t), t.ones(3)), "self"),
    "cross_entropy": (lambda t, f: f.cross_entropy(x(t, 2, 3), labels(t)), "self"),
    "mse_loss": (lambda t, f: f.mse_loss(m(t), 2 * m(t).detach()), ""),
    "huber_loss": (lambda t, f: f.huber_loss(m(t), 2 * m(t).detach(), delta=0.5), ""),
    "smooth_l1_loss": (lambda t, f: f.smooth_l1_loss(m(t), 2 * m(t).detach(), reduction="sum", beta=0.5), ""),
    "add": (lambda t, f: m(t) + m(t), ""),
    "mul by a number": (lambda t, f: m(t) * 2, ""),
    "pow of a number": (lambda t, f: m(t) ** 3, ""),
    "pow": (lambda t, f: m(t) ** m(t), "result"),
    "clamp": (lambda t, f: m(t).clamp(1, 2), ""),
    "lerp by a tensor": (lambda t, f: m(t).lerp(2 * m(t), m(t)), ""),
    "addcmul": (lambda t, f: t.addcmul(m(t), m(t), 2 * m(t), value=2), ""),
    "logit": (lambda t, f: (m(t) / 4).logit(0.1), ""),
    "logit without eps": (lambda t, f: (m(t) / 4).logit(), ""),
    "polygamma": (lambda t, f: t.polygamma(2, m(t)), ""),
    "cholesky": (lambda t, f: t.linalg.cholesky(square(t) @ square(t).mT), ""),
    "solve_triangular": (lambda t, f: t.linalg.solve_triangular(square(t), x(t, 2, 1), upper=True), ""),
    "inv": (lambda t, f: t.linalg.inv(square(t)), ""),
    "pinv": (lambda t, f: t.linalg.pinv(square(t)), ""),
    "svd": (lambda t, f: t.linalg.svd(square(t))[1], "S_sym_argsize_minus_1"),
    "qr": (lambda t, f: t.linalg.qr(square(t))[0], ""),
    "eigh": (lambda t, f: t.linalg.eigh(square(t))[0], ""),
    "matrix_exp": (lambda t, f: t.linalg.matrix_exp(square(t)), ""),
    "cross": (lambda t, f: t.linalg.cross(x(t, 2, 3), x(t, 2, 3), dim=-1), ""),
    "cdist": (lambda t, f: t.cdist(x(t, 2, 3), x(t, 4, 3), 3.0), ""),
    "pdist": (lambda t, f: t.pdist(x(t, 3, 3), 1.0), ""),
    "renorm": (lambda t, f: m(t).renorm(2, -1, 1.0), ""),
    "lerp by a number": (lambda t, f: m(t).lerp(2 * m(t), 0.5), ""),
    "fmod by a number": (lambda t, f: t.fmod(m(t), 2), ""),
    "fmod": (lambda t, f: t.fmod(m(t), m(t)), ""),
    "remainder by a number": (lambda t, f: t.remainder(m(t), 2.0), ""),
    "erfinv": (lambda t, f: (m(t) / 4).erfinv(), "self"),
    "sinc": (lambda t, f: m(t).sinc(), ""),
    "round": (lambda t, f: m(t).round(), ""),
    "nan_to_num": (lambda t, f: m(t).nan_to_num(1.0), ""),
    "threshold": (lambda t, f: f.threshold(m(t), 0.5, 0.25), ""),
    "ldexp": (lambda t, f: t.ldexp(m(t), m(t)), "result"),
    "cummax": (lambda t, f: m(t).cummax(1)[0], "self"),
    "std of all": (lambda t, f: m(t).std(), ""),
    "var without correction": (lambda t, f: m(t).var(unbiased=False), ""),
    "var of half a correction": (lambda t, f: m(t).var(1, correction=0.5), ""),
    "std_mean of all": (lambda t, f: t.std_mean(m(t))[0], ""),
    "norm": (lambda t, f: m(t).norm(), ""),
    "norm of a floating order": (lambda t, f: m(t).norm(3.0, 1), ""),
    "linalg.norm": (lambda t, f: t.linalg.norm(m(t)), ""),
    "linalg.norm of an order": (lambda t, f: t.linalg.norm(x(t, 2, 3), 3, 1), ""),
    "vector_norm of all": (lambda t, f: t.linalg.vector_norm(m(t)), ""),
    "dist of order 2": (lambda t, f: t.dist(m(t), 2 * m(t)), ""),
    "renorm to an int": (lambda t, f: m(t).renorm(2.0, -1, 1), ""),
}
SIGNS = {"svd", "qr", "eigh"}  # of vectors: any


def shown(node):
    return {name.removeprefix("_saved_"): getattr(node, name) for name in dir(node) if name.startswith("_saved_")}


def plain(v, signs):
    if hasattr(v, "tolist"):
        return [round(abs(e) if signs else e, 4) for e in v.flatten().tolist()], v.shape, str(v.dtype).split(".")[-1]
    return tuple(plain(k, signs) for k in v) if isinstance(v, tuple) else v


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_nodes_show(function):
    call, others = FUNCTIONS[function]
    expected, got = (call(t, t.nn.functional).grad_fn for t in BOTH)
    assert type(got).__name__ == type(expected).__name__
    expected, got = ({k: plain(v, function in SIGNS) for k, v in shown(node).items()} for node in (expected, got))
    assert got == {k: v for k, v in expected.items() if k not in others.split()}


# Python compares 2 with 2.0 as equal.
NUMBERS = {
    "std": lambda t: m(t).std(),
    "std of an axis": lambda t: m(t).std(1),
    "std, unbiased": lambda t: m(t).std(1, unbiased=True),
    "var, not unbiased": lambda t: m(t).var(unbiased=False),
    "var of a correction": lambda t: m(t).var(1, correction=2.0),
    "var_mean": lambda t: t.var_mean(m(t), 1, correction=2)[0],
    "norm": lambda t: m(t).norm(),
    "norm of a floating order": lambda t: m(t).norm(2.0),
    "vector_norm": lambda t: t.linalg.vector_norm(m(t)),
    "linalg.norm": lambda t: t.linalg.norm(m(t)),
    "linalg.norm of an order": lambda t: t.linalg.norm(m(t), 3, 1),
    "dist": lambda t: t.dist(m(t), 2 * m(t), 3),
    "renorm": lambda t: m(t).renorm(2, -1, 1.0),
    "renorm to an int": lambda t: m(t).renorm(2.0, -1, 1),
}


@pytest.mark.parametrize("function", NUMBERS)
def test_numbers_are_of_the_kind_that_the_user_gave(function):
    names = "correction", "ord", "p", "maxnorm"
    expected, got = ({k: repr(v) for k, v in shown(NUMBERS[function](t).grad_fn).items() if k in names} for t in BOTH)
    assert got == expected and got


# Of several operands: shapes tell which is which.
ORDERS = {
    "mm": lambda t, f: x(t, 2, 3).mm(x(t, 3, 4)),
    "bmm": lambda t, f: x(t, 2, 2, 3).bmm(x(t, 2, 3, 4)),
    "addmm": lambda t, f: t.addmm(x(t, 4), x(t, 2, 3), x(t, 3, 4)),
    "baddbmm": lambda t, f: t.baddbmm(x(t, 4), x(t, 2, 2, 3), x(t, 2, 3, 4)),
    "mv": lambda t, f: x(t, 2, 3).mv(x(t, 3)),
    "linear": lambda t, f: f.linear(x(t, 2, 3), x(t, 4, 3), x(t, 4)),
    "linear without bias": lambda t, f: f.linear(x(t, 2, 3), x(t, 4, 3)),
    "cross": lambda t, f: t.linalg.cross(x(t, 2, 3), x(t, 1, 3)),
    "dist": lambda t, f: t.dist(x(t, 2, 3), x(t, 3), 3),
    "cdist": lambda t, f: t.cdist(x(t, 2, 3), x(t, 4, 3), 3.0),
    "mul": lambda t, f: x(t, 2, 3) * x(t, 3),
    "div": lambda t, f: x(t, 2, 3) / x(t, 3),
    "hypot": lambda t, f: t.hypot(x(t, 2, 3), x(t, 3)),
    "clamp": lambda t, f: t.clamp(x(t, 2, 3), x(t, 3), x(t, 1, 3)),
    "lerp": lambda t, f: t.lerp(x(t, 2, 1), x(t, 2, 3), x(t, 3)),
    "addcmul": lambda t, f: t.addcmul(x(t, 2, 1), x(t, 2, 3), x(t, 3)),
    "conv2d": lambda t, f: f.conv2d(x(t, 1, 2, 5, 5), x(t, 3, 2, 2, 2), x(t, 3)),
    "std": lambda t, f: m(t).std(1),
    "prod": lambda t, f: m(t).prod(1),
    "logsumexp": lambda t, f: m(t).logsumexp(1),
    "pinv": lambda t, f: t.linalg.pinv(x(t, 4, 3)),
    "qr": lambda t, f: t.linalg.qr(x(t, 4, 3)),
}


@pytest.mark.parametrize("function", ORDERS)
def test_order_of_saving(function):
    orders = []
    for t in BOTH:
        saved = []
        with t.autograd.graph.saved_tensors_hooks(lambda v, saved=saved: saved.append(tuple(v.shape)), lambda v: v):
            ORDERS[function](t, t.nn.functional)
        orders.append(saved)
    assert orders[0] == orders[1]


def test_tensors_go_with_the_graph_and_numbers_stay():
    for t in BOTH:
        y = t.nn.functional.conv2d(x(t, 1, 2, 5, 5), x(t, 2, 2, 2, 2), stride=2)
        z = m(t).std(1)
        (y.sum() + z.sum()).backward()
        assert y.grad_fn._saved_stride == (2, 2) and z.grad_fn._saved_dim == (1,)
        for node, name in ((y.grad_fn, "_saved_weight"), (z.grad_fn, "_saved_self"), (z.grad_fn, "_saved_result")):
            with pytest.raises(RuntimeError, match="backward through the graph a second time"):
                getattr(node, name)


def test_a_node_of_another_name_shows_nothing():
    y = strided.nn.functional.celu(strided.rand(3, requires_grad=True))  # made by elu
    assert type(y.grad_fn).__name__ == "CeluBackward0" and not shown(y.grad_fn)
