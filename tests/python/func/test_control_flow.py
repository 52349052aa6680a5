"""torch.cond, torch.while_loop, and scan and map of _higher_order_ops: what they give, gradients, vmap, errors."""

import pytest
import strided
from strided._higher_order_ops import map as mapped
from strided._higher_order_ops import scan


def test_cond_runs_one_branch():
    x = strided.tensor([1.0, -3.0], requires_grad=True)
    made = strided.cond(x.sum() > 0, lambda x: 1 / 0, lambda x: {"y": x * x}, (x,))
    made["y"].sum().backward()
    assert x.grad.tolist() == [2, -6]
    assert strided.cond(True, lambda: 1, lambda: 2) == 1
    assert strided.cond(strided.tensor([[False]]), lambda: 1, lambda: 2) == 2
    assert strided.cond(x.ndim > 3, lambda d: d["a"] + 1, lambda d: d["a"] - 1, [{"a": x}]).tolist() == [0, -4]


def test_cond_for_each_sample():
    x = strided.tensor([[1.0, 2.0], [-1.0, -2.0]])

    def f(x):
        return strided.cond(x.sum() > 0, lambda x: (x * x).sum(), lambda x: x.sum(), (x,))

    assert strided.vmap(f)(x).tolist() == [5, -3]
    assert strided.vmap(strided.func.grad(f))(x).tolist() == [[2, 4], [1, 1]]
    with pytest.raises(RuntimeError, match="different trees"):
        strided.vmap(lambda x: strided.cond(x.sum() > 0, lambda x: x, lambda x: (x, x), (x,)))(x)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((strided.ones(2), abs, abs, ()), "single-element tensor"),
        (("yes", abs, abs, ()), "single-element tensor"),
        ((True, 3, abs, ()), "callable"),
        ((True, abs, abs, strided.ones(1)), "tensor leaves"),
        ((True, abs, abs, (3,)), "tensor leaves"),
    ],
)
def test_cond_refuses(arguments, match):
    with pytest.raises(RuntimeError, match=match):
        strided.cond(*arguments)


def test_while_loop():
    x = strided.ones(2, requires_grad=True)
    i, y = strided.while_loop(lambda i, x: i.sum() < 3, lambda i, x: (i + 1, x * 2), (strided.tensor(0), x))
    assert i.item() == 3 and y.tolist() == [8, 8]
    y.sum().backward()
    assert x.grad.tolist() == [8, 8]
    assert strided.while_loop(lambda i: i < 5, lambda i: i + 1, (strided.tensor(0),)).item() == 5
    for wrong, match in [
        ((lambda i: i, lambda i: i, (strided.ones(2),)), "boolean scalar tensor"),
        ((lambda i: 1, lambda i: i, (strided.ones(2),)), "boolean scalar tensor"),
        ((lambda i: True, lambda i: (i, i), (strided.ones(2),)), "should return 1 values"),
        ((lambda i: True, lambda i: i, strided.ones(2)), "tuple or list"),
        ((3, lambda i: i, (strided.ones(2),)), "callable"),
    ]:
        with pytest.raises(RuntimeError, match=match):
            strided.while_loop(*wrong)


def test_scan_and_map():
    x = strided.arange(6.0).view(3, 2)
    for reverse, last, outputs in [
        (False, [6, 9], [[0, 0], [0, 3], [8, 20]]),
        (True, [6, 9], [[0, 8], [8, 15], [0, 0]]),
    ]:
        state, made = scan(lambda c, x: (c + x, [c * x]), strided.zeros(2), x, reverse=reverse)
        assert state.tolist() == last and made[0].tolist() == outputs
    state, made = scan(lambda c, x: (c + x, c), strided.zeros(3), x, dim=1)
    assert state.tolist() == [1, 5, 9] and made.tolist() == [[0, 0, 0], [0, 2, 4]]
    made = mapped(lambda x, y: (x + y, x), x, strided.ones(2))
    assert made[0].tolist() == (x + 1).tolist() and made[1].tolist() == x.tolist()
    with pytest.raises(ValueError, match="no slices"):
        scan(lambda c, x: (c, x), x[0], x[:0])
    with pytest.raises(RuntimeError, match="requires init leaves"):
        scan(lambda c, x: (c, x), 3, x)
    for wrong, match in [([x, x[0]], "lengths along dim 0 differ"), (x[:0], "no slices"), (x[0, 0], "at least one")]:
        with pytest.raises(ValueError, match=match):
            mapped(lambda x: x, wrong)
    with pytest.raises(ValueError, match="lengths along dim 1 differ"):
        scan(lambda c, x: (c, c), x[0], [x, x.t()], dim=1)


def test_slices_whose_trees_differ():
    x, calls = strided.arange(6.0).view(3, 2), []

    def growing(x):
        calls.append(x)
        return (x,) * len(calls)  # the results beyond the first would have been left out

    with pytest.raises(RuntimeError, match="map: the function gives different trees"):
        mapped(growing, x)
    calls.clear()
    with pytest.raises(RuntimeError, match="scan: the function gives different trees"):
        scan(lambda c, x: (c, growing(x)), x[0], x)
