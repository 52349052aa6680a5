"""Subclasses of Tensor keep their type, __torch_function__ sees every call, modes see all of them."""

import copy
import gc
import operator
import pickle
import threading
import weakref

import pytest
import strided as torch
from strided import overrides


class Kept(torch.Tensor):
    """Says nothing of its own: results keep the type."""


class Derived(Kept):
    pass


class Logged(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func, types, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs)


class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Foreign:
    """No tensor at all."""

    def __init__(self, answer=NotImplemented):
        self.answer = answer

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


class Declines(torch.Tensor):
    asked = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(cls)
        return NotImplemented


class DeclinesToo(Declines):
    pass


def logged(call):
    """The functions that Logged was handed during the call."""
    Logged.calls.clear()
    call()
    return [func for func, *_ in Logged.calls]


# ---------------------------------------------------------------- subclasses


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: x @ x,
        lambda x: -x,
        lambda x: x > 0,
        lambda x: x.sum(),
        lambda x: x[0],
        lambda x: x[x > 0],
        lambda x: x.T,
        lambda x: x.data,
        lambda x: x.max(0).values,
        lambda x: x.split(1)[0],
        lambda x: next(iter(x)),
        lambda x: torch.stack([torch.ones(2, 2), x]),
        lambda x: torch.einsum("ij,jk", torch.ones(2, 2), x),
        lambda x: torch.zeros_like(x),
        lambda x: x.to(torch.float64),
        lambda x: x.double(),
        lambda x: x.detach(),
        lambda x: x.add_(1),
        lambda x: torch.add(torch.ones(2, 2), torch.ones(2, 2), out=x),
        lambda x: copy.copy(x),
        lambda x: copy.deepcopy(x),
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: torch.pairwise_distance(x, torch.ones(2, 2)),
    ],
)
@pytest.mark.parametrize("kind", [Kept, Derived, Logged])
def test_results_keep_the_type(make, kind):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    expected = make(x.clone())
    result = make(x.clone().as_subclass(kind))
    assert type(result) is kind and type(expected) is torch.Tensor
    assert result.as_subclass(torch.Tensor).equal(expected)


def test_empty_tuples_of_a_subclass_are_the_empty_tuple():
    empty = ()  # there is one, and Python 3.14 crashes over another
    x = torch.ones(()).as_subclass(Kept)
    assert x.stride() is empty and x.nonzero(as_tuple=True)[0].stride() == (1,)
    assert type(torch.Size(x.shape)) is torch.Size and x.shape == ()


def test_the_derived_type_wins():
    a, b = torch.ones(2).as_subclass(Kept), torch.ones(2).as_subclass(Derived)
    assert type(a + b) is type(b + a) is type(torch.stack([a, b])) is Derived


def test_parameters_make_plain_tensors():
    x = torch.ones(2, 2).as_subclass(Plain)
    for y in (x + x, x.detach(), x[0], x.T, x.sum()):
        assert type(y) is torch.Tensor
    assert type(x.add_(1)) is Plain and not overrides.has_torch_function((x,))


def test_subclass_of_the_same_memory_and_graph():
    x = torch.ones(2, requires_grad=True)
    y = x.as_subclass(Kept)
    assert type(y) is Kept and y.data_ptr() == x.data_ptr() and not y.is_leaf
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3, 3] and type(x.grad) is torch.Tensor
    made = torch.Tensor._make_subclass(Kept, x, True)
    assert type(made) is Kept and made.requires_grad and made.is_leaf and made.data_ptr() == x.data_ptr()
    assert not torch.Tensor._make_subclass(Kept, x).requires_grad


def test_constructor_of_a_subclass():
    x = Kept([1.0, 2.0])
    assert type(x) is Kept and x.tolist() == [1, 2] and not x._is_view() and x.is_leaf
    assert Kept(2, 3).shape == (2, 3) and Kept().numel() == 0

    class Tagged(torch.Tensor):
        def __new__(cls, data, tag):
            return super().__new__(cls, data)

        def __init__(self, data, tag):
            self.tag = tag

    y = Tagged([1.0], "here")
    assert type(y) is Tagged and y.tag == "here" and y.tolist() == [1]


def test_attributes_are_copied():
    x = torch.ones(2).as_subclass(Kept)
    x.tag = ["a"]
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.tag == ["a"] and type(y) is Kept
    assert copy.copy(x).tag is x.tag and copy.deepcopy(x).tag is not x.tag


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: x.as_subclass(int), TypeError, "does not inherit from Tensor"),
        (lambda x: x.as_subclass(3), TypeError, "cls must be a type"),
        (lambda x: torch.Tensor._make_subclass(int, x), TypeError, "does not inherit from Tensor"),
        (lambda x: torch.Tensor._make_subclass(Kept, 3), TypeError, "must be Tensor, not int"),
        (lambda x: torch.Tensor._make_subclass(Kept, x.int(), True), RuntimeError, "floating point and complex"),
    ],
)
def test_bad_classes(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2))


def test_objects_of_subclasses_are_freed():
    x = torch.ones(2).as_subclass(Kept)
    x.me = x
    gone = weakref.ref(x)
    for _ in range(1000):
        x + 1
    del x
    gc.collect()
    assert gone() is None


def test_printing_names_the_class():
    assert repr(torch.ones(2, 2).as_subclass(Kept)) == "Kept([[1., 1.],\n      [1., 1.]])"


# ---------------------------------------------------------------- which function, with what


OPERATORS = {
    "add": ("add", "add"), "sub": ("sub", "__rsub__"), "mul": ("mul", "mul"), "truediv": ("div", "__rtruediv__"),
    "floordiv": ("__floordiv__", "__rfloordiv__"), "mod": ("remainder", "__rmod__"), "pow": ("__pow__", "__rpow__"),
    "and_": ("__and__", "bitwise_and"), "or_": ("__or__", "bitwise_or"), "xor": ("__xor__", "bitwise_xor"),
    "lshift": ("__lshift__", "__rlshift__"), "rshift": ("__rshift__", "__rrshift__"), "eq": ("eq", "eq"),
    "lt": ("lt", "gt"), "le": ("le", "ge"), "gt": ("gt", "lt"), "ge": ("ge", "le"), "ne": ("ne", "ne"),
}  # fmt: skip
IN_PLACE = {
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "ifloordiv": "floor_divide_", "imod": "remainder_",
    "ipow": "__ipow__", "iand": "__iand__", "ior": "__ior__", "ixor": "__ixor__", "ilshift": "__ilshift__",
    "irshift": "__irshift__",
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    f, (straight, reflected) = getattr(operator, name), OPERATORS[name]
    x = torch.ones(2, dtype=torch.int64).as_subclass(Logged)
    assert logged(lambda: f(x, x)) == logged(lambda: f(x, 2)) == [getattr(torch.Tensor, straight)]
    assert logged(lambda: f(2, x)) == [getattr(torch.Tensor, reflected)]
    assert f(3, x).tolist() == f(3, torch.ones(2, dtype=torch.int64)).tolist()


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place(name):
    f = getattr(operator, name)
    x, y = torch.full((2,), 3).as_subclass(Logged), torch.ones(2, dtype=torch.int64)
    assert logged(lambda: f(x, y)) == [getattr(torch.Tensor, IN_PLACE[name])]
    assert x.tolist() == f(torch.full((2,), 3), y).tolist() and type(f(x, y)) is Logged


@pytest.mark.parametrize(
    "call, func",
    [
        (lambda x: x.shape, torch.Tensor.shape.__get__),
        (lambda x: x.grad, torch.Tensor.grad.__get__),
        (lambda x: setattr(x, "grad", None), torch.Tensor.grad.__set__),
        (lambda x: x.size(0), torch.Tensor.size),
        (lambda x: x.stride(), torch.Tensor.stride),
        (lambda x: x.is_contiguous(memory_format=torch.contiguous_format), torch.Tensor.is_contiguous),
        (lambda x: x.dim(), torch.Tensor.dim),
        (lambda x: x.tolist(), torch.Tensor.tolist),
        (lambda x: x.numpy(), torch.Tensor.numpy),
        (lambda x: len(x), torch.Tensor.__len__),
        (lambda x: next(iter(x)), torch.Tensor.unbind),
        (lambda x: bool(x), torch.Tensor.__bool__),
        (lambda x: float(x), torch.Tensor.__float__),
        (lambda x: int(x), torch.Tensor.__int__),
        (lambda x: operator.index(x), torch.Tensor.__index__),
        (lambda x: complex(x), torch.Tensor.__complex__),
        (lambda x: x[0], torch.Tensor.__getitem__),
        (lambda x: torch.ones(2)[x], torch.Tensor.__getitem__),
        (lambda x: x.__setitem__(0, 1), torch.Tensor.__setitem__),
        (lambda x: torch.ones(1).__setitem__(0, x), torch.Tensor.__setitem__),
        (lambda x: 1 in x, torch.Tensor.__contains__),
        (lambda x: repr(x), torch.Tensor.__repr__),
        (lambda x: -x, torch.Tensor.neg),
        (lambda x: ~x, torch.Tensor.__invert__),
        (lambda x: abs(x), torch.Tensor.abs),
        (lambda x: torch.add(x, x), torch.add),
        (lambda x: x.add(x), torch.Tensor.add),
        (lambda x: torch.linalg.norm(x.float()), torch.linalg.norm),
        (lambda x: torch.special.expit(x), torch.special.expit),
        (lambda x: torch.cat([torch.ones(1, dtype=torch.int64), x]), torch.cat),
        (lambda x: torch.einsum("i,i", x, x), torch.einsum),
        (lambda x: x.to(torch.float32), torch.Tensor.to),
        (lambda x: x.to_dense() if hasattr(x, "to_dense") else x.float(), None),
        (lambda x: torch.autograd.backward([x.float().requires_grad_().sum()]), torch.autograd.backward),
        (lambda x: hash(x), "nothing"),
        (lambda x: torch.is_tensor(x), "nothing"),
        (lambda x: torch.tensor(x), "nothing"),
    ],
)
def test_which_function(call, func):
    x = torch.ones(1, dtype=torch.int64).as_subclass(Logged)
    found = logged(lambda: call(x))
    if func is not None:
        assert found[-1:] == ([] if func == "nothing" else [func])


def test_arguments_arrive_as_they_were_given():
    x, y = torch.ones(2).as_subclass(Logged), torch.ones(2)
    Logged.calls.clear()
    torch.add(y, other=x, alpha=2)
    torch.exp(x)
    (func, types, args, kwargs), (_, _, _, none) = Logged.calls
    assert func is torch.add and types == (Logged,) and args[0] is y and len(args) == 1
    assert set(kwargs) == {"other", "alpha"} and kwargs["other"] is x and none is None


def test_foreign_types():
    f, x = Foreign(), torch.ones(2)
    assert torch.add(x, f)[:3] == (torch.add, (Foreign,), (x, f))
    assert (x + f)[0] is torch.Tensor.add and (f - x)[0] is torch.Tensor.__rsub__ and (f - x)[2] == (x, f)
    assert torch.stack([x, f])[1] == (Foreign,) and torch.add(2, f)[2] == (2, f)
    assert x.copy_(f)[0] is torch.Tensor.copy_ and torch.einsum("i,i", f, x)[0] is torch.einsum


def test_order_and_refusal():
    a, b = torch.ones(2).as_subclass(Declines), torch.ones(2).as_subclass(DeclinesToo)
    Declines.asked.clear()
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers"):
        torch.add(a, b)
    assert Declines.asked == [DeclinesToo, Declines]
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        a + b
    for call, name in ((lambda: a.shape, "torch.Tensor.shape.__get__"), (lambda: a.exp(), "torch.Tensor.exp")):
        with pytest.raises(TypeError, match=name):
            call()
    # An unrelated class that accepts: the default refuses to answer for others.
    assert torch.add(torch.ones(2).as_subclass(Kept), Foreign())[1] == (Kept, Foreign)


def test_switching_off():
    x = torch.ones(2).as_subclass(Logged)
    with torch._C.DisableTorchFunctionSubclass():
        assert logged(lambda: x + 1) == [] and type(x + 1) is torch.Tensor
        assert not torch._C._is_torch_function_enabled()
        with torch._C.DisableTorchFunction():
            assert torch._C._is_torch_function_all_disabled()
        assert not torch._C._is_torch_function_all_disabled()
    assert torch._C._is_torch_function_enabled() and type(x + 1) is Logged


def test_errors_pass_through():
    class Fails(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        torch.exp(torch.ones(2).as_subclass(Fails))
    with pytest.raises(KeyError, match="mine"):
        torch.ones(2).as_subclass(Fails) + 1
    with pytest.raises(RuntimeError):
        torch.ones(2).as_subclass(Kept) @ torch.ones(3)
    assert torch._C._is_torch_function_enabled()


# ---------------------------------------------------------------- modes


class Recording(overrides.TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def test_modes_see_every_function():
    x = torch.ones(2)
    with Recording() as mode:
        torch.zeros(2)
        x + x
        x.shape
        torch.tensor([1.0])
        torch.einsum("i,i", x, x)
        x[0]
        float(x[0])
        torch.get_default_dtype()
        torch.is_tensor(x)
    assert mode.seen == [
        torch.zeros, torch.Tensor.add, torch.Tensor.shape.__get__, torch.tensor, torch.einsum,
        torch.Tensor.__getitem__, torch.Tensor.__getitem__, torch.Tensor.__float__,
    ]  # fmt: skip
    torch.zeros(2)
    assert len(mode.seen) == 8


def test_modes_are_a_stack():
    with Recording() as outer, Recording() as inner:
        torch.ones(2)
        assert overrides._get_current_function_mode_stack() == [outer, inner]
    assert outer.seen == inner.seen == [torch.ones]

    class Declining(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="mode object"), Declining():
        torch.ones(2)
    with pytest.raises(NotImplementedError), overrides.TorchFunctionMode():
        torch.ones(2)
    foreign = Foreign()
    with Declining():
        assert torch.ones_like(foreign)[0] is torch.ones_like
    with overrides.BaseTorchFunctionMode():
        assert torch.ones(2).tolist() == [1, 1]
    assert torch._C._len_torch_function_stack() == 0


def test_modes_belong_to_a_thread():
    seen = []
    with Recording() as mode:
        thread = threading.Thread(target=lambda: seen.append(torch.ones(2)))
        thread.start()
        thread.join()
    assert len(seen) == 1 and mode.seen == []


# ---------------------------------------------------------------- torch.overrides


def test_what_is_asked_of_memory():
    x = torch.ones(2).as_subclass(Logged)
    for call in (
        lambda: x.is_shared(),
        lambda: x.share_memory_(),
        lambda: x.dim_order(),
        lambda: x.storage_type(),
        lambda: x.const_data_ptr(),
    ):
        Logged.calls.clear()
        call()
        assert len(Logged.calls) == 1
    Logged.calls.clear()
    assert x.set_(torch.zeros(3)) is x and not Logged.calls
    x.requires_grad_().grad = torch.ones(3).as_subclass(Logged)
    Logged.calls.clear()
    torch.optim.SGD([x], 0.1).step()
    assert torch.is_complex in [func for func, *_ in Logged.calls]


def test_questions():
    x, y, f = torch.ones(2), torch.ones(2).as_subclass(Kept), Foreign()
    assert not overrides.has_torch_function((x,)) and overrides.has_torch_function([f])
    assert overrides.has_torch_function_unary(y) and overrides.has_torch_function_variadic(x, y)
    assert overrides.is_tensor_like(f) and overrides.is_tensor_like(x) and not overrides.is_tensor_like(3)
    with pytest.raises(TypeError, match="expected a sequence"):
        overrides.has_torch_function(3)
    assert overrides.get_default_nowrap_functions() == {torch.Tensor._base.__get__, torch.Tensor.grad.__get__}


def test_lists_of_functions():
    taken, ignored = overrides.get_overridable_functions(), overrides.get_ignored_functions()
    assert torch.add in taken[torch] and torch.einsum in taken[torch] and torch.linalg.norm in taken[torch.linalg]
    assert torch.Tensor.add in taken[torch.Tensor] and torch.Tensor.__getitem__ in taken[torch.Tensor]
    assert taken[torch.Tensor.shape] == [torch.Tensor.shape.__get__]
    assert torch.is_tensor in ignored and torch.manual_seed in ignored and torch.add not in ignored
    assert not set(overrides.get_testing_overrides()) & ignored
    for dummy in list(overrides.get_testing_overrides().values())[:50]:
        assert dummy(1, 2, 3) == -1


def test_every_function_is_handed_over():
    """What the list says can be taken over is: the object comes first, the rest does not matter."""
    f = Foreign()
    for functions in overrides.get_overridable_functions().values():
        for function in functions:
            if isinstance(function, torch._C.Function) or hasattr(function, "__wrapped__"):
                assert function(f)[0] is function


def test_names():
    name = overrides.resolve_name
    assert name(torch.add) == "torch.add" and name(torch.Tensor.add) == "torch.Tensor.add"
    assert name(torch.linalg.norm) == "torch.linalg.norm" and name(print) is None
    assert name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert name(torch.Tensor.grad.__set__) == "torch.Tensor.grad.__set__"
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(torch.add)


def test_functions_of_the_users_own():
    def half(x):
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(half, (x,), x)
        return x / 2

    @overrides.wrap_torch_function(lambda a, b: (a, b))
    def both(a, b):
        return a + b

    f = Foreign()
    assert half(f)[0] is half and both(torch.ones(1), f)[0] is both
    assert half(torch.ones(1)).item() == 0.5 and both(1, 2) == 3


def test_redispatch():
    seen = []

    class Once(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x = torch.full((1,), 3.0).as_subclass(Once)
    assert scaled(x, x).as_subclass(torch.Tensor).item() == 10
    assert seen == [scaled, torch.Tensor.mul]


# ---------------------------------------------------------------- the examples of PyTorch's documentation


def test_scalar_tensor_of_the_documentation():
    handled = {}

    class ScalarTensor:
        def __init__(self, n, value):
            self._n, self._value = n, value

        def tensor(self):
            return self._value * torch.eye(self._n)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
                args = [a.tensor() if hasattr(a, "tensor") else a for a in args]
                return func(*args, **(kwargs or {}))
            return handled[func](*args, **(kwargs or {}))

    handled[torch.mean] = lambda input: float(input._value) / input._n
    d = ScalarTensor(5, 2)
    assert torch.mean(d) == 0.4 and torch.add(d, d).equal(4 * torch.eye(5))


def test_metadata_tensor_of_the_documentation():
    class MetadataTensor:
        def __init__(self, data, metadata=None):
            self._t, self._metadata = torch.as_tensor(data), metadata

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            metadatas = tuple(a._metadata for a in args if hasattr(a, "_metadata"))
            args = [getattr(a, "_t", a) for a in args]
            return MetadataTensor(func(*args, **(kwargs or {})), metadata=metadatas[0])

    m = torch.add(MetadataTensor([[1], [2]], metadata={"owner": "me"}), torch.ones(2, 1, dtype=torch.int64))
    assert m._t.tolist() == [[2], [3]] and m._metadata == {"owner": "me"}


@pytest.mark.parametrize("kind", [Kept, Plain])
def test_threads_and_many_calls(kind):
    def work():
        x = torch.ones(4).as_subclass(kind)
        for _ in range(200):
            x = (x * 0.5 + 1).as_subclass(kind)
        results.append(x.sum().item())

    results = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(results)) == 1 and len(results) == 4


FACTORIES = {
    "sparse_coo_tensor": lambda: torch.sparse_coo_tensor([[0]], [1.0], (2,)),
    "sparse_csr_tensor": lambda: torch.sparse_csr_tensor([0, 1], [0], [1.0]),
    "sparse_bsc_tensor": lambda: torch.sparse_bsc_tensor([0, 1], [0], [[[1.0]]]),
    "sparse_compressed_tensor": lambda: torch.sparse_compressed_tensor([0, 1], [0], [1.0], layout=torch.sparse_csr),
    "hann_window": lambda: torch.hann_window(4),
    "kaiser_window": lambda: torch.kaiser_window(4),
    "fftfreq": lambda: torch.fft.fftfreq(4),
    "rfftfreq": lambda: torch.fft.rfftfreq(4),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_modes_see_factories_as_one_call(name):
    class Names(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    seen = []
    with Names():
        made = FACTORIES[name]()
    assert seen == [name] and made.shape == FACTORIES[name]().shape
