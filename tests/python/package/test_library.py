"""Operations of the user's own, and type hints of classes, which libraries evaluate."""

import copy
import typing

import numpy as np
import pytest
import strided
from strided.library import custom_op, register_autograd, register_fake


def test_an_operation_with_a_gradient():
    calls = []

    @custom_op("tests::scaled", mutates_args=())
    def scaled(x: strided.Tensor, factor: float = 2.0) -> strided.Tensor:
        calls.append(x.device.type)
        return x.detach() * factor

    x = strided.ones(2, requires_grad=True)
    with pytest.raises(
        NotImplementedError, match="Trying to backward through tests.scaled.default but no autograd formula"
    ):
        scaled(x).sum().backward()

    def keep(ctx, inputs, output):
        ctx.factor = inputs[1]

    register_autograd("tests::scaled", lambda ctx, grad: (grad * ctx.factor, None), setup_context=keep)
    assert strided.ops.tests.scaled is scaled and strided.ops.tests.scaled.default is scaled
    strided.ops.tests.scaled(x, factor=3.0).sum().backward()
    assert x.grad.tolist() == [3, 3] and not scaled(x.detach()).requires_grad

    @register_fake("tests::scaled")
    def shape(x, factor=2.0):
        return strided.empty_like(x)

    calls.clear()
    assert scaled(strided.ones(3, device="meta")).shape == (3,) and not calls
    scaled.register_kernel("cpu", lambda x, factor: x - factor)
    assert scaled(strided.zeros(1), 4.0).item() == -4 and not calls


def test_keywords():
    made = custom_op("tests::keywords", lambda x, *, n=1: x + n, mutates_args=())
    assert made(strided.zeros(1)).item() == 1 and made(x=strided.zeros(1), n=5).item() == 5


def test_the_older_home():
    from strided import _custom_ops

    assert _custom_ops.custom_op is custom_op and _custom_ops.impl_abstract is register_fake


def test_a_shape_given_before_the_operation():
    register_fake("tests::early", lambda x: x.new_empty(7))
    early = custom_op("tests::early", lambda x: x, mutates_args=())
    assert early(strided.ones(2, device="meta")).shape == (7,) and early(strided.ones(2)).tolist() == [1, 1]


def test_refuses():
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op("name", lambda x: x, mutates_args=())
    with pytest.raises(RuntimeError, match="tests::nothing"):
        register_autograd("tests::nothing", lambda ctx, g: g)
    with pytest.raises(ValueError, match="Unsupported kind"):
        strided.library.Library("tests", "KIND")
    with pytest.raises(NotImplementedError, match="aten::add"):
        strided.library.Library("aten", "IMPL").impl("add", lambda x, y: x, "CPU")
    with pytest.raises(RuntimeError, match="no schema"):
        strided.library.Library("tests", "FRAGMENT").define("broken(Tensor x")


def test_a_written_tensor_without_a_letter():
    library = strided.library.Library("tests_written", "DEF")
    library.define("doubled.out(Tensor x, Tensor! out) -> ()")
    schema = strided.ops.tests_written.doubled.out._schema
    assert [(a.name, str(a.type), a.is_write) for a in schema.arguments] == [
        ("x", "Tensor", False), ("out", "Tensor", True)
    ]  # fmt: skip
    assert schema.is_mutable
    strided.library.impl("tests_written::doubled.out", "cpu", lambda x, out: out.copy_(x * 2), lib=library)
    out = strided.zeros(2)
    strided.ops.tests_written.doubled.out(strided.ones(2), out)
    assert out.tolist() == [2, 2]


@pytest.mark.parametrize("space", ["nn", "optim", "distributions", "utils.data", "autograd"])
def test_hints_of_classes_are_there_at_run_time(space):
    module = strided
    for part in space.split("."):
        module = getattr(module, part)
    classes = [c for c in vars(module).values() if isinstance(c, type) and c.__module__.startswith("strided")]
    assert classes
    for cls in classes:
        typing.get_type_hints(cls)


def test_modes_are_told_of_registered_operations():
    from strided.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __init__(self, names):
            super().__init__()
            self.names = names

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    @strided.library.custom_op("strided_library_test::twice", mutates_args=())
    def twice(x: strided.Tensor, *, by: float = 2.0) -> strided.Tensor:
        return x * by

    twice.register_autograd(lambda ctx, grad: grad * 2)
    x = strided.ones(2, requires_grad=True)
    inner, outer = [], []
    with Names(outer), Names(inner):
        y = twice(x, by=2.0).exp()
    assert inner == outer == ["strided_library_test.twice.default", "aten.exp.default"]
    assert (strided.autograd.grad(y.sum(), x)[0] == 2 * strided.tensor(2.0).exp()).all()


def test_classes_are_told_of_registered_operations():
    seen = []

    class Wrapper(strided.Tensor):
        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            made = strided.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype, requires_grad=requires_grad)
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((str(func), types))
            given = [a.elem if isinstance(a, cls) else a for a in args]
            return cls(func(*given, **(kwargs or {})))

    @custom_op("strided_library_test::by_numpy", mutates_args=())
    def by_numpy(x: strided.Tensor, y: strided.Tensor) -> strided.Tensor:
        return strided.from_numpy(x.numpy() * y.numpy())

    by_numpy.register_autograd(
        lambda ctx, grad: (grad * ctx.saved_tensors[0], None),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[1]),
    )
    x, y = Wrapper(strided.ones(2), True), strided.tensor([2.0, 3.0])
    made = by_numpy(x, y)
    assert type(made) is Wrapper and made.elem.tolist() == [2, 3] and made.requires_grad
    assert seen == [("strided_library_test.by_numpy.default", (Wrapper,))]
    made.sum().backward()
    assert type(x.grad) is Wrapper and x.grad.elem.tolist() == [2, 3]


def test_impl_by_name_takes_dispatch_keys():
    strided.library.define("testing_keys::twice", "(Tensor x) -> Tensor")
    strided.library.define("testing_keys::made", "(Tensor x) -> Tensor")
    calls = []

    @strided.library.impl("testing_keys::twice", "CPU")
    def on_cpu(x):
        calls.append("CPU")
        return x * 2

    @strided.library.impl("testing_keys::twice", ("Meta", "CUDA"))
    def of_shapes(x):
        calls.append("Meta")
        return strided.empty_like(x)

    strided.library.impl("testing_keys::made", "CompositeImplicitAutograd", lambda x: x * x)
    x = strided.tensor([3.0], requires_grad=True)
    assert strided.ops.testing_keys.twice(x.detach()).tolist() == [6] and calls == ["CPU"]
    assert strided.ops.testing_keys.twice(strided.ones(2, device="meta")).is_meta and calls == ["CPU", "Meta"]
    strided.ops.testing_keys.made(x).backward()
    assert x.grad.tolist() == [6]
    with pytest.raises(RuntimeError, match="device"):
        strided.library.impl("testing_keys::twice", "nowhere", lambda x: x)
    with pytest.raises(ValueError, match='expected schema to look like .* but got "third.Tensor x. -> Tensor"'):
        strided.library.define("testing_keys::third", "third(Tensor x) -> Tensor")


def test_overloads_beside_an_operation():
    @strided.library.custom_op("beside::f", mutates_args=())
    def f(x: strided.Tensor) -> strided.Tensor:
        return x + 1

    @strided.library.custom_op("beside::f.two", mutates_args=())
    def two(x: strided.Tensor, y: strided.Tensor) -> strided.Tensor:
        return x * y

    x, packet = strided.full((2,), 3.0), strided.ops.beside.f
    assert packet(x).tolist() == packet.default(x).tolist() == [4, 4]
    assert packet(x, x).tolist() == packet.two(x, x).tolist() == [9, 9]
    with pytest.raises(RuntimeError, match="too many positional arguments"):
        packet(x, x, x)

    @strided.library.custom_op("beside::f", mutates_args=())
    def again(x: strided.Tensor) -> strided.Tensor:
        return x + 2

    assert strided.ops.beside.f(x).tolist() == [5, 5] and strided.ops.beside.f(x, x).tolist() == [9, 9]


def test_overloads_leave_with_their_library():
    with strided.library._scoped_library("leaving", "FRAGMENT") as lib:
        lib.define("f.one(Tensor x) -> Tensor")
        lib.define("f.two(Tensor x, Tensor y) -> Tensor")
        assert strided.ops.leaving.f.overloads() == ["one", "two"]
    assert not hasattr(strided.ops.leaving, "f")


def test_an_operation_that_may_write_to_anything():
    @strided.library.custom_op("unknown::sin", mutates_args="unknown")
    def sin(x: strided.Tensor) -> None:
        array = x.numpy()
        np.sin(array, out=array)

    x = strided.ones(2)
    before = x._version
    sin(x)
    assert x._version > before


def test_the_classes_of_operations_by_pytorch_s_private_name():
    assert strided._ops.OpOverload is type(strided.ops.aten.add.Tensor)
    spaces = strided.ops.aten, strided.ops.profiler, strided.ops.c10d_functional, strided.ops.nobody
    assert all(isinstance(space, strided._ops._OpNamespace) for space in spaces)


def test_gradients_of_lists_of_tensors():
    wants = []

    @strided.library.custom_op("lists::stack", mutates_args=())
    def stack(xs: typing.Sequence[strided.Tensor], y: strided.Tensor, k: int, *, z: int = 2) -> strided.Tensor:
        return strided.stack(list(xs)) * y * z + k

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        xs, ctx.y, _ = inputs
        ctx.z = keyword_only_inputs["z"]
        ctx.save_for_backward(*xs)

    def backward(ctx, grad):
        wants.append(ctx.needs_input_grad)
        xs = [g * ctx.y * ctx.z for g in grad.unbind(0)]
        return xs, (strided.stack(ctx.saved_tensors) * grad).sum() * ctx.z, None

    stack.register_autograd(backward, setup_context=setup_context)
    xs = [strided.full((2,), i + 1.0, requires_grad=i != 1) for i in range(3)]
    y = strided.tensor(3.0, requires_grad=True)
    out = stack(xs, y, 1)
    assert type(out.grad_fn).__name__ == "GeneratedBackwardFor_lists_stack_defaultBackward"
    for _ in range(2):
        gx, gy = strided.autograd.grad(out.sum(), [xs[2], y], retain_graph=True)
        assert (gx.tolist(), gy.item()) == ([6, 6], 24)
    assert wants[0] == ([True, False, True], True, False, False)
    stack(xs, strided.tensor(3.0), 1).sum().backward()
    assert xs[0].grad.tolist() == [6, 6] and xs[1].grad is None


def test_gradients_of_a_list_of_results():
    @strided.library.custom_op("lists::rows", mutates_args=())
    def rows(x: strided.Tensor) -> list[strided.Tensor]:
        return [r.clone() for r in x.unbind(0)]

    rows.register_autograd(lambda ctx, grads: strided.stack(list(grads)))

    @strided.library.custom_op("lists::both", mutates_args=())
    def both(x: strided.Tensor) -> tuple[strided.Tensor, list[strided.Tensor]]:
        return x.sum(0), [r.clone() for r in x.unbind(0)]

    both.register_autograd(lambda ctx, g, grads: strided.stack(list(grads)) + g)
    x = strided.ones(2, 3, requires_grad=True)
    found = rows(x)
    assert type(found) is list and found[1].requires_grad
    (found[0].sum() + 2 * found[1].sum()).backward()
    assert x.grad.tolist() == [[1, 1, 1], [2, 2, 2]]
    whole, parts = both(x)
    (gradient,) = strided.autograd.grad(whole.sum() + 5 * parts[0].sum(), x)
    assert gradient.tolist() == [[6, 6, 6], [1, 1, 1]] and type(parts) is list


def test_a_gradient_that_has_not_the_form_of_a_list():
    @strided.library.custom_op("lists::wrong", mutates_args=())
    def wrong(xs: list[strided.Tensor], n: list[int]) -> strided.Tensor:
        return xs[0] + xs[1]

    wrong.register_autograd(lambda ctx, g: ([g], None))
    with pytest.raises(RuntimeError, match="same structure as the inputs: a list of 2"):
        wrong([strided.ones(1, requires_grad=True)] * 2, [1, 2]).backward()
    wrong.register_autograd(lambda ctx, g: (None, [None, None]))
    x = strided.ones(1, requires_grad=True)
    wrong([x, x], [1, 2]).backward()
    assert x.grad is None


def test_a_batching_rule_of_lists():
    @strided.library.custom_op("lists::total", mutates_args=())
    def total(xs: typing.Sequence[strided.Tensor]) -> list[strided.Tensor]:
        return [xs[0] + xs[1], xs[0] * xs[1]]

    def rule(info, in_dims, xs):
        assert info.batch_size == 3 and in_dims == ([0, None],)
        return total([xs[0], xs[1].expand_as(xs[0])]), [0, 0]

    total.register_vmap(rule)
    a, b = strided.arange(6.0).view(3, 2), strided.ones(2)
    added, multiplied = strided.vmap(lambda x: tuple(total([x, b])))(a)
    assert added.tolist() == (a + 1).tolist() and multiplied.tolist() == a.tolist()


def test_writes_to_arguments_that_there_are_not():
    with pytest.raises(ValueError, match=r"\{'y'\} in mutates_args were not found"):

        @strided.library.custom_op("wrong::writes", mutates_args={"y"})
        def writes(x: strided.Tensor) -> None:
            x.add_(1)


def test_copies_of_tables_have_the_same_keys():
    @strided.library.custom_op("copied::twice", mutates_args=())
    def twice(x: strided.Tensor) -> strided.Tensor:
        return x * 2

    aten, registered = strided.ops.aten, strided.ops.copied.twice
    for op in (aten.mm, aten.mm.default, aten.add.Tensor, registered, registered.default):
        assert copy.deepcopy({op: 1})[op] == 1
