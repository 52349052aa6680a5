"""Subclasses of Tensor with a ``__torch_dispatch__``: what arrives there, gradients, errors.

``parity/test_dispatch_classes_vs_torch.py`` runs the same programs beside PyTorch.
"""

import gc
import io
import os
import pickle
import subprocess
import sys
import weakref

import pytest
import strided

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from dispatch_classes import Given  # noqa: E402
from dispatch_programs import PROGRAMS  # noqa: E402


@pytest.fixture
def g():
    return Given(strided)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_runs(name, g):
    PROGRAMS[name](g)


def test_operations_of_both_passes(g):
    PROGRAMS["product"](g)
    assert " ".join(n.partition(".")[0] for n in g.log) == (
        "mm relu sum ones_like expand threshold_backward t mm t mm detach detach"
    )


def test_gradients_are_those_of_plain_tensors(g):
    x, w = g.one(2, 3, grad=True), g.one(3, 2, grad=True)
    a, b = g.values(2, 3).requires_grad_(), g.values(3, 2).requires_grad_()
    for one, two in ((x, w), (a, b)):
        strided.nn.functional.gelu(one @ two).softmax(1).log().mean().backward()
    assert isinstance(x.grad, g.Logging) and strided.allclose(x.grad.elem, a.grad)
    assert strided.allclose(w.grad.elem, b.grad)


def test_pickle_calls_no_operation():
    x = Wrapper(strided.ones(2, 3).t())
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is Wrapper and y.inner.equal(x.inner) and y.stride() == (1, 3) and y.device.type == "cpu"


class Wrapper(strided.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return strided.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(func)


def test_what_the_core_keeps_has_the_attributes(g):
    x = g.one(3, grad=True)
    y = x * 2  # in a slot: elem
    z = y * y
    del y
    gc.collect()
    z.sum().backward()
    assert x.grad.elem.equal(8 * x.elem)


def test_nothing_is_left_behind(g):
    x = g.one(3, grad=True)
    inner = (x * 2).sum()
    inner.backward()
    seen = weakref.ref(inner.elem)
    del inner, x
    gc.collect()
    assert seen() is None


def test_device_is_an_attribute(g):
    x = g.Shapes(strided.empty(2, device="meta"), "cuda:1")
    assert (x.device, x.is_cuda, x.is_cpu, x.get_device()) == (strided.device("cuda:1"), True, False, 1)
    assert (x + 1).device == strided.device("cuda:1")


def test_a_write_that_is_no_operation_of_the_class(g):
    x = g.one(3)
    before = x._version
    x.add_(1)
    y = x.detach().requires_grad_()
    z = y * y
    with strided.no_grad():
        y.add_(1)
    assert x._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_freed_graph(g):
    x = g.one(3, grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_shape_in_place(g):
    x = g.two(2, 3)
    assert x.t_() is x and x.shape == (3, 2) and x.a.shape == (3, 2)


def test_class_without_a_super_call_in_init_subclass(g):
    class Base(strided.Tensor):
        def __init_subclass__(cls):
            pass

    class Derived(Base):
        @staticmethod
        def __new__(cls):
            return strided.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return str(func)

    assert Derived() + 1 == "aten.add.Tensor"


def test_no_dispatch_no_wrapper():
    class Plain(strided.Tensor):
        pass

    with pytest.raises(RuntimeError, match="__torch_dispatch__"):
        strided.Tensor._make_wrapper_subclass(Plain, (2,))


def written(x, w):
    y = x * 1
    other = y.t()
    row = y[0]
    row.mul_(w)
    y[1].sub_(row)
    row.add_(1).neg_()
    other[:, 1].add_(other[:, 0])
    y[0, 0] = 3.0
    return (y * y).sum() + row.sin().sum() + other[1].sum()


def test_writes_through_views_are_those_of_plain_tensors(g):
    x, w = g.one(3, 3, grad=True), g.one(3, grad=True)
    a, b = g.values(3, 3).requires_grad_(), g.values(3).requires_grad_()
    first = strided.autograd.grad(written(x, w), (x, w), create_graph=True)
    plain = strided.autograd.grad(written(a, b), (a, b), create_graph=True)
    for one, two in zip(first, plain):
        assert strided.allclose(one.elem, two)
    second = strided.autograd.grad(sum((t * t).sum() for t in first), (x, w))
    for one, two in zip(second, strided.autograd.grad(sum((t * t).sum() for t in plain), (a, b))):
        assert strided.allclose(one.elem, two, rtol=1e-4)


def test_views_leave_nothing_behind(g):
    x = g.one(3, 3, grad=True)
    inner = x * 2
    row = inner[0]
    row.mul_(row)
    y = (inner * row).sum()
    y.backward()
    seen = weakref.ref(inner.elem)
    del inner, row, y, x
    gc.collect()
    assert seen() is None


# ---------------------------------------------------------------- limits


def test_no_formula(g):
    x = g.one(3, grad=True)
    y = strided.special.airy_ai(x).sum()
    with pytest.raises(NotImplementedError, match=r"special_airy_ai: no gradient"):
        y.backward()


def test_gradient_of_a_plain_operation(g):
    w = g.values(3, 2).requires_grad_() * 2  # recorded before the class was met
    y = (g.one(2, 3) @ w).sum()
    with pytest.raises(NotImplementedError, match="MulBackward0 is of plain tensors"):
        y.backward()


def test_str_is_repr_of_the_class():
    class Named(strided.Tensor):
        def __repr__(self):
            return "named"

    assert str(strided.ones(2).as_subclass(Named)) == "named" == f"{strided.ones(2).as_subclass(Named)}"


def test_without_dispatch_a_wrapper_has_no_values(g):
    from strided.utils._mode_utils import no_dispatch

    x = g.one(3)
    with no_dispatch():
        assert x.shape == (3,) and x.device.type == "cpu"
        with pytest.raises(RuntimeError, match="has no values of its own"):
            x + 1
        with pytest.raises(RuntimeError, match="has no values of its own"):
            strided.ops.aten.add.Tensor(x, 1)
    assert (x + 1).elem.equal(x.elem + 1)


def test_shallow_copies():
    compatible = strided._has_compatible_shallow_copy_type
    x = strided.ones(2)
    assert compatible(x, x.half()) and not compatible(x, x.to_sparse()) and not compatible(x, x.to("meta"))


def test_attributes_of_what_comes_back_are_not_collected(g):
    x = g.one(2, grad=True)
    x.itself = [x]  # a cycle, which the collector finds
    y = x * x
    del x
    gc.collect()
    leaf = y.grad_fn.next_functions[0][0].variable
    assert leaf.elem.shape == (2,) and leaf.itself[0].elem is leaf.elem


def test_gradient_of_plain_parameters_of_recurrent_networks(g):
    layer = strided.nn.GRU(3, 2)
    y, _ = layer(g.one(2, 1, 3))
    with pytest.raises(NotImplementedError, match="is of plain tensors"):
        y.sum().backward()


def test_functions_that_a_program_replaced():
    """The operations of the original arrive, also when the program put its own in its place before the first call."""
    program = """
import strided
original = strided.index_select
strided.index_select = lambda *args: original(*args)

class Wrapper(strided.Tensor):
    @staticmethod
    def __new__(cls, elem):
        made = strided.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print(func)
        return func(*(a.elem if isinstance(a, cls) else a for a in args))

print(strided.index_select(Wrapper(strided.arange(3)), 0, strided.tensor([2])))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "aten.index_select.default\ntensor([2])\n", done.stderr[-2000:]


def test_saving_asks_the_class(g, monkeypatch):
    """Objects of a class that was allowed are saved as they are pickled; others are named."""
    x, file = g.one(2), io.BytesIO()
    with pytest.raises(pickle.PicklingError, match="Logging"):
        strided.save([x], file)
    kind = type(x)
    monkeypatch.setattr(kind, "__reduce_ex__", lambda self, protocol: (kind, (self.elem,)))
    with strided.serialization.safe_globals([kind]):
        strided.save([x], file)
        file.seek(0)
        (loaded,) = strided.load(file)
    assert type(loaded) is kind and loaded.elem.equal(x.elem)
