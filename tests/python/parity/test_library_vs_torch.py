"""Operations registered by schema, with rules for batches, devices and gradients, beside PyTorch's."""

import itertools
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union  # noqa: UP035

import pytest
import strided

torch = pytest.importorskip("torch")
PROGRAMS = []
numbers = itertools.count()


def program(function):
    PROGRAMS.append(function)
    return function


def tried(call, *args, **kwargs):
    try:
        return call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


@program
def schemas(t, ns):
    def a(
        x: t.Tensor, n: int = 1, s: Optional[float] = None, *, k: List[t.Tensor], b: bool = True, c: str = "hi",  # noqa: UP006, UP045
        d: t.dtype = t.float32, e: Sequence[int] = (), f: Union[int, float, bool] = 2, v: t.device = "cpu",  # noqa: UP007
    ) -> Tuple[t.Tensor, t.Tensor]: ...  # fmt: skip  # noqa: UP006

    def b(x: t.Tensor, y: list[t.Tensor], z: int | None = None) -> None: ...
    def c(x) -> t.Tensor: ...
    def d(x: t.Tensor): ...
    def e(x: t.Tensor, *rest: t.Tensor) -> t.Tensor: ...
    def f(x: dict) -> list[t.Tensor]: ...
    def g(x: t.Tensor) -> List[t.Tensor]: ...  # noqa: UP006

    a.__defaults__ = (1, None)
    a.__kwdefaults__ = {**a.__kwdefaults__, "e": None}
    return [
        tried(t.library.infer_schema, function, mutates_args=mutates, op_name=name)
        for function in (a, b, c, d, e, f, g)
        for mutates in ((), ("x",), "unknown", ("nothing",), "known")
        for name in (None, "foo")
    ]


@program
def a_fragment(t, ns):
    library = t.library.Library(ns, "FRAGMENT")
    made = [
        library.define("scaled(Tensor x, float by=2.0, *, bool twice=False) -> Tensor"),
        library.define("none() -> int"),
    ]
    calls = []

    def cpu(x, by=2.0, *, twice=False):
        calls.append("cpu")
        return x * by * (2 if twice else 1)

    library.impl("scaled", cpu, "CPU")
    library.impl("none", lambda: 7, "CompositeExplicitAutograd")
    library.impl("later", lambda x: x + 5, "CPU")
    library.define("later(Tensor x) -> Tensor")
    space = getattr(t.ops, ns)
    x = t.ones(2)
    return [
        made, space.later(t.ones(1)).item(), space.scaled(x).tolist(), space.scaled(x, 3.0, twice=True).tolist(),
        space.scaled.default(x=x, by=5.0).tolist(),
        space.none(), tried(space.scaled, x, 1.0, True), tried(space.scaled), tried(space.scaled, x, wrong=1), calls,
        tried(library.define, "scaled(Tensor x) -> Tensor"), tried(library.define, "broken(Tensor"),
        tried(library.impl, "absent", cpu, "CPU"), tried(library.impl, "scaled", 3, "CPU"),
        tried(t.library.Library, ns, "OTHER"), tried(t.library.Library, "prim", "DEF"), hasattr(space, "absent"),
        str(space.scaled.default), space.scaled.default.name(), str(space.scaled.default._schema).replace("2.0", "2."),
        [(a.name, a.kwarg_only, a.has_default_value()) for a in space.scaled.default._schema.arguments],
        tried(space.scaled, t.ones(2, device="meta")),
    ]  # fmt: skip


@program
def composites_and_gradients(t, ns):
    library = t.library.Library(ns, "DEF")
    library.define("square(Tensor x) -> Tensor")
    library.impl("square", lambda x: x * x, "CompositeImplicitAutograd")
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x.detach() ** 3, "CPU")

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    t.library.register_autograd(
        f"{ns}::cube", lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, setup_context=keep, lib=library
    )
    x = t.tensor([2.0], requires_grad=True)
    space = getattr(t.ops, ns)
    space.square(x).backward()
    first = x.grad.tolist()
    space.cube(x).backward()
    return first, x.grad.tolist()


@program
def a_kernel_for_autograd(t, ns):
    library = t.library.Library(ns, "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x * 2, "CPU")

    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with t._C._AutoDispatchBelowAutograd():
                return getattr(t.ops, ns).double(x)

        @staticmethod
        def backward(ctx, g):
            return g * 10

    library.impl("double", Double.apply, "Autograd")
    x = t.ones(1, requires_grad=True)
    y = getattr(t.ops, ns).double(x)
    y.backward()
    return y.tolist(), x.grad.tolist()


@program
def functions_of_the_module(t, ns):
    t.library.define(f"{ns}::shifted", "(Tensor x, int n=1) -> Tensor")

    @t.library.impl(f"{ns}::shifted", "cpu")
    def shifted(x, n=1):
        return x + n

    @t.library.register_fake(f"{ns}::shifted")
    def shape(x, n=1):
        return x.new_empty((n, *x.shape))

    space = getattr(t.ops, ns)
    return [
        space.shifted(t.zeros(2)).tolist(), list(space.shifted(t.ones(2, device="meta"), 3).shape),
        tried(t.library.define, "none", "(Tensor x) -> Tensor"), tried(t.library.define, 3, "(Tensor x) -> Tensor"),
        tried(t.library.fallthrough_kernel),
    ]  # fmt: skip


@program
def overloads(t, ns):
    library = t.library.Library(ns, "DEF")
    library.define("plus.Tensor(Tensor x, Tensor y) -> Tensor")
    library.define("plus.int(Tensor x, int y) -> Tensor")
    library.impl("plus.Tensor", lambda x, y: x + y, "CPU")
    library.impl("plus.int", lambda x, y: x + 10 * y, "CPU")
    packet = getattr(t.ops, ns).plus
    return sorted(packet.overloads()), packet.Tensor(t.ones(1), t.ones(1)).item(), packet.int(t.ones(1), 3).item()


@program
def a_library_that_is_gone(t, ns):
    library = t.library.Library(ns, "DEF")
    library.define("short(Tensor x) -> Tensor")
    library.impl("short", lambda x: x, "CPU")
    there = hasattr(getattr(t.ops, ns), "short")
    with t.library._scoped_library(ns, "FRAGMENT") as scoped:
        scoped.define("scoped(Tensor x) -> Tensor")
        inside = hasattr(getattr(t.ops, ns), "scoped")
    return there, inside


@program
def a_rule_for_batches(t, ns):
    seen = []

    @t.library.custom_op(f"{ns}::sine", mutates_args=())
    def sine(x: t.Tensor, k: float) -> t.Tensor:
        return t.from_numpy(x.detach().numpy().copy()) * k

    @sine.register_vmap
    def rule(info, in_dims, x, k):
        seen.append((info.batch_size, info.randomness, in_dims[1]))
        return sine(x, k), in_dims[0]

    out = t.vmap(sine, in_dims=(0, None))(t.ones(3, 2), 2.0)
    other = t.vmap(sine, in_dims=(1, None), out_dims=1)(t.ones(3, 2), 2.0)
    return out.tolist(), other.tolist(), seen


@program
def what_an_operation_says(t, ns):
    @t.library.custom_op(f"{ns}::filled", mutates_args={"x"})
    def filled(x: t.Tensor, value: float = 1.0) -> None:
        x.detach().numpy().fill(value)

    x = t.zeros(2)
    before = x._version
    filled(x)
    op = filled._opoverload
    return x.tolist(), x._version - before, repr(filled), op._schema.is_mutable, str(op._schema.arguments[0].type)


@program
def kernels_and_devices(t, ns):
    @t.library.custom_op(f"{ns}::where_am_i", mutates_args=(), device_types="cuda")
    def op(x: t.Tensor) -> int: ...

    @t.library.custom_op(f"{ns}::two", mutates_args=())
    def two(x: t.Tensor) -> int:
        return 1

    two.register_kernel("cpu")(lambda x: 2)
    found = [tried(op, t.ones(1)), two(t.ones(1))]
    with two.set_kernel_enabled("cpu", False):
        found.append(two(t.ones(1)))
    return [*found, two(t.ones(1))]


@program
def under_autocast(t, ns):
    seen = []

    @t.library.custom_op(f"{ns}::seen", mutates_args=())
    def op(x: t.Tensor, n: t.Tensor) -> t.Tensor:
        seen.append((str(x.dtype)[-8:], str(n.dtype)[-5:], t.is_autocast_enabled("cpu")))
        return x.clone()

    t.library.register_autocast(op, "cpu", t.bfloat16)
    with t.autocast("cpu", dtype=t.bfloat16):
        op(t.ones(1), t.ones(1, dtype=t.int64))
    op(t.ones(1), t.ones(1, dtype=t.int64))
    return seen, tried(op.register_autocast, "nowhere", t.half), tried(op.register_autocast, 3, t.half)


@program
def tags(t, ns):
    @t.library.custom_op(f"{ns}::tagged", mutates_args=(), tags=(t.Tag.needs_fixed_stride_order,))
    def op(x: t.Tensor) -> t.Tensor:
        return x.clone()

    return sorted(t.Tag.__members__), repr(t._C.Tag.core), str(t.Tag.core), t.Tag.pointwise in op._opoverload.tags


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_same(f):
    n = next(numbers)
    ours, theirs = (str(f(module, f"{name}parity{n}")) for module, name in ((strided, "s"), (torch, "t")))
    assert ours.replace(f"sparity{n}", "NS") == theirs.replace(f"tparity{n}", "NS")
