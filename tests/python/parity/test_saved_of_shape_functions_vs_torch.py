"""node._saved_dim and its like: what the nodes of shape and index functions show of their arguments."""

import pytest
import strided

torch = pytest.importorskip("torch")
BOTH = torch, strided


def x(t, *shape):
    return t.arange(1.0, 1.0 + t.Size(shape).numel()).reshape(shape).requires_grad_()


def m(t):
    return x(t, 2, 3, 4)


def at(t):
    return t.tensor([1, 0])


def places(t):
    return t.tensor([[[0, 1, 2, 0]], [[2, 1, 0, 1]]])


FUNCTIONS = {
    "view": lambda t, m: m.view(6, -1),
    "view_as": lambda t, m: m.view_as(m),
    "reshape of a copy": lambda t, m: m.mT.reshape(-1),
    "flatten": lambda t, m: m.flatten(-2),
    "unflatten": lambda t, m: m.unflatten(-1, (2, 2)),
    "transpose": lambda t, m: m.transpose(0, -1),
    "mT": lambda t, m: m.mT,
    "t": lambda t, m: m[0].t(),
    "permute": lambda t, m: m.permute(-1, 0, 1),
    "movedim": lambda t, m: m.movedim(0, 2),
    "squeeze": lambda t, m: m[:1].squeeze(),
    "squeeze one": lambda t, m: m[:1].squeeze(-3),
    "squeeze some": lambda t, m: m[:1].squeeze((0, 1)),
    "unsqueeze": lambda t, m: m.unsqueeze(-1),
    "expand": lambda t, m: m[:1].expand(5, 3, 4),
    "broadcast_to": lambda t, m: m[0].broadcast_to(2, 3, 4),
    "select": lambda t, m: m.select(-1, -2),
    "slice": lambda t, m: m[:, 1:3],
    "slice from the end": lambda t, m: m[:, -2:],
    "slice with a step": lambda t, m: m[:, :, ::2],
    "narrow": lambda t, m: m.narrow(-1, 1, 2),
    "narrow from the end": lambda t, m: m.narrow(1, -2, 1),
    "tensor_split": lambda t, m: m.tensor_split([1], -1)[0],
    "diagonal": lambda t, m: m.diagonal(-1, 1, 2),
    "unfold": lambda t, m: m.unfold(-1, 2, 1),
    "as_strided": lambda t, m: m.as_strided((2, 2), (1, 2)),
    "as_strided from a place": lambda t, m: m.as_strided((2,), (1,), 3),
    "split": lambda t, m: m.split(2, -2)[1],
    "split with sizes": lambda t, m: m.split([1, 2], 1)[0],
    "chunk": lambda t, m: m.chunk(2, -1)[0],
    "chunk of nothing": lambda t, m: m[:0].chunk(2)[0],
    "unbind": lambda t, m: m.unbind(-1)[0],
    "cat": lambda t, m: t.cat([m, m], -1),
    "hstack": lambda t, m: t.hstack([m, m]),
    "stack": lambda t, m: t.stack([m, m], -1),
    "repeat": lambda t, m: m.repeat(2, 1, 1),
    "tile": lambda t, m: m.tile(2),
    "roll": lambda t, m: m.roll((-1, 2), (-1, 0)),
    "flip": lambda t, m: m.flip(-1, 0),
    "rot90": lambda t, m: m.rot90(-1, (1, -1)),
    "tril": lambda t, m: m.tril(-1),
    "triu": lambda t, m: m.triu(1),
    "index of a number": lambda t, m: m[-1],
    "index of a new axis": lambda t, m: m[:, None],
    "index of several kinds": lambda t, m: m[:, None, 1:, 1],
    "index of a number, then a slice": lambda t, m: m[1, ..., 1:3],
    "index of a tensor": lambda t, m: m[:, at(t)],
    "index of two tensors": lambda t, m: m[at(t), :, at(t)],
    "index of a mask": lambda t, m: m[m > 3],
    "index_select": lambda t, m: m.index_select(-2, at(t)),
    "index_put": lambda t, m: m.index_put((at(t),), t.tensor(2.0), accumulate=True),
    "masked_fill": lambda t, m: m.masked_fill(m > 3, 0.0),
    "where": lambda t, m: t.where(m > 3, m, 2 * m),
    "scatter of a number": lambda t, m: m.scatter(1, places(t), 1.0),
    "scatter": lambda t, m: m.scatter(1, places(t), m[:, :1]),
    "scatter_add": lambda t, m: m.scatter_add(1, places(t), m[:, :1]),
    "scatter of a number, last axis": lambda t, m: m.scatter(-2, places(t), 1.0),
    "scatter, last axis": lambda t, m: m.scatter(-2, places(t), m[:, :1]),
    "scatter_add, last axis": lambda t, m: m.scatter_add(-2, places(t), m[:, :1]),
}


def plain(v):
    if hasattr(v, "tolist"):
        return v.tolist(), str(v.dtype)
    return tuple(plain(k) for k in v) if isinstance(v, tuple) else v


def saved(node):
    return {name: plain(getattr(node, name)) for name in dir(node) if name.startswith("_saved_")}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arguments_of_shape_functions(function):
    expected, got = (FUNCTIONS[function](t, m(t)).grad_fn for t in BOTH)
    assert type(got).__name__ == type(expected).__name__
    assert saved(got) == saved(expected)


def test_an_index_is_freed_with_the_graph():
    for t in BOTH:
        y = m(t).index_select(1, at(t))
        assert y.grad_fn._saved_index.tolist() == [1, 0]
        y.sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.grad_fn._saved_index  # noqa: B018
        with pytest.raises(AttributeError):
            y.grad_fn._saved_nothing  # noqa: B018


def test_arguments_stay_when_the_graph_is_gone():
    for t in BOTH:
        y = m(t).transpose(0, 1).split([1, 2])[1]
        y.sum().backward()
        assert y.grad_fn._saved_split_sizes == (1, 2)
        assert y.grad_fn.next_functions[0][0]._saved_dim1 == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_those_of_pytorch(function):
    def gradients(t):
        leaf = m(t)
        y = FUNCTIONS[function](t, leaf)
        g = (t.arange(1.0, 1.0 + y.numel()).reshape(y.shape) / 8).requires_grad_()
        (first,) = t.autograd.grad(y, leaf, g, create_graph=True)
        (second,) = t.autograd.grad(first, g, t.ones_like(first) / 2)
        return first.tolist(), second.tolist()

    assert gradients(strided) == gradients(torch)


def test_a_node_shows_nothing_of_another_function():
    import strided

    x = strided.rand(4, requires_grad=True)
    for y in (x.roll(1), x.take(strided.tensor([1])), x.masked_select(x > 2)):
        assert not [name for name in dir(y.grad_fn) if name.startswith("_saved_")], y.grad_fn


def test_the_axis_of_gather_is_the_given_one():
    assert len({m(t).gather(-1, t.zeros(3, 1, 1, dtype=t.int64)[:1]).grad_fn._saved_dim for t in BOTH}) == 1
