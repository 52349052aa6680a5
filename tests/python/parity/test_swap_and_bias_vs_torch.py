"""swap_tensors, __future__, opcheck and the causal masks beside PyTorch."""

import importlib

import pytest
import strided

torch = pytest.importorskip("torch")


def attention(lib, name, n, m):
    bias = importlib.import_module(f"{lib.__name__}.nn.attention.bias")
    q, k = (lib.arange(8.0 * size).view(1, 2, size, 4).sin() for size in (n, m))
    q.requires_grad_()
    made = lib.nn.functional.scaled_dot_product_attention(q, k, k.cos(), attn_mask=getattr(bias, name)(n, m))
    made.sum().backward()
    return made.detach().flatten().tolist() + q.grad.flatten().tolist()


@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("n, m", [(2, 3), (3, 3)])
def test_causal_masks(name, n, m):
    assert attention(strided, name, n, m) == pytest.approx(attention(torch, name, n, m), rel=1e-5, abs=1e-6)


def conversions(lib, way):
    future = importlib.import_module(f"{lib.__name__}.__future__")
    net = lib.nn.Linear(2, 1)
    net.weight.note = "mine"
    net(lib.ones(1, 2)).sum().backward()
    before, grad = net.weight, net.weight.grad
    getattr(future, f"set_{way}_module_params_on_conversion")(True)
    try:
        net.double()
    finally:
        getattr(future, f"set_{way}_module_params_on_conversion")(False)
    after = net.weight
    return (after is before, after.grad is grad, str(after.dtype), str(after.grad.dtype), type(after).__name__,
            after.is_leaf,
            after.requires_grad, getattr(after, "note", None) if way == "swap" else 0)  # fmt: skip


@pytest.mark.parametrize("way", ["overwrite", "swap"])
def test_conversions(way):
    ours, theirs = conversions(strided, way), conversions(torch, way)
    assert (ours[0], *ours[2:]) == (theirs[0], *theirs[2:])


def swapped(lib):
    a, b = lib.nn.Parameter(lib.ones(2)), lib.zeros(3, dtype=lib.float64)
    a.note, a.grad = 1, lib.full((2,), 5.0)
    lib.utils.swap_tensors(a, b)
    return [
        (type(t).__name__, t.tolist(), str(t.dtype), t.requires_grad, hasattr(t, "note"), t.grad is None)
        for t in (a, b)
    ]


def test_swap():
    assert swapped(strided) == swapped(torch)


def checked(lib, with_fake, with_gradient, writes):
    def f(x):
        return x.add_(1).clone() if writes else x * 2

    f.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    name = f"both{lib.__name__}::f{with_fake}{with_gradient}{writes}".lower()
    op = lib.library.custom_op(name, f, mutates_args=())
    if with_fake:
        op.register_fake(lambda x: lib.empty_like(x))
    if with_gradient:
        op.register_autograd(lambda ctx, g: g * 2)
    given = lib.ones(3, requires_grad=with_gradient)
    names = ("test_schema", "test_faketensor")
    found = lib.library.opcheck(op, (given,), test_utils=names, raise_exception=False)
    return [found[name] == "SUCCESS" for name in names]


@pytest.mark.parametrize("case", [(True, True, False), (False, False, False), (True, False, True)], ids=str)
def test_opcheck(case):
    assert checked(strided, *case)[0] == checked(torch, *case)[0]
    assert checked(strided, *case)[1] == checked(torch, *case)[1] or case[2]
