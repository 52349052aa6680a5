"""The layout of the operands never changes an answer: every function, on equal values that lie differently in memory.

The calls are those of test_fuzz.py that should fit. Each is made with contiguous operands and with the same values
transposed, reversed and spread in memory; result or kind of error must be the same.
"""

import math

import hostile_calls as fuzz
import pytest
import strided

pytestmark = pytest.mark.filterwarnings("ignore:cov")  # of few random observations

CALLS = range(0, 40, 2)  # the even ones are not hostile
# What tells the layout, asks for one, or leaves memory as it finds it.
LEFT_OUT = {
    "as_strided", "as_strided_", "as_strided_scatter", "contiguous", "data_ptr", "detach_", "empty",
    "empty_like",
    "empty_permuted", "empty_strided",
    "is_contiguous", "new_empty", "new_empty_strided", "resize_", "resize_as_", "set_", "stride", "storage_offset",
    "view", "view_as",
    "view_as_complex",
}  # fmt: skip


def transposed(t):
    """The axes stand in memory in the opposite order."""
    axes = list(range(t.dim()))[::-1]
    return t.permute(axes).contiguous().permute(axes)


def reversed_(t):
    """Every stride is negative."""
    flipped = t.flip(list(range(t.dim())))
    return flipped[(slice(None, None, -1),) * t.dim()]


def spread(t):
    """Every second element of a larger storage, the rest of which holds something else."""
    if t.dim() > 8:
        return t
    room = strided.ones([2 * n + 1 for n in t.shape], dtype=t.dtype)
    view = room[(slice(1, None, 2),) * t.dim()]
    view.copy_(t)
    return view


def rearranged(value, layout):
    if isinstance(value, strided.Tensor):
        value = strided.empty(value.shape, dtype=value.dtype).copy_(value.detach())
        return layout(value) if layout else value
    if isinstance(value, (list, tuple)):
        return type(value)(rearranged(v, layout) for v in value)
    return value


def outcome(name, signature, number, layout):
    """The result of a call as plain values, or the type of its error."""
    args, keywords, _ = fuzz.make_call(name, signature, number)
    args = [rearranged(a, layout) for a in args]
    # (Only an `out` that owns its storage may be resized: that does depend on it.)
    keywords = {k: rearranged(v, None if k == "out" else layout) for k, v in keywords.items()}
    strided.manual_seed(0)
    try:
        return plain(fuzz.lookup(strided, name)(*args, **keywords))
    except Exception as error:  # noqa: BLE001
        return type(error)


def plain(value):
    if isinstance(value, strided.Tensor):
        return (str(value.dtype), tuple(value.shape), value.tolist() if value.numel() < 10000 else None)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def alike(a, b, tolerance):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, complex) and isinstance(b, complex):
        return alike(a.real, b.real, tolerance) and alike(a.imag, b.imag, tolerance)
    if isinstance(a, float) and isinstance(b, float):
        # Sums may be taken in another order, so infinities may come from elsewhere in what overflows.
        return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= tolerance * (1 + abs(a))
    return a == b


def tolerance_of(result):
    text = str(result)
    return 2e-2 if "bfloat16" in text else 2e-3 if "float16" in text else 1e-4


@pytest.mark.parametrize("layout", [transposed, reversed_, spread], ids=lambda f: f.__name__.strip("_"))
def test_layout_makes_no_difference(layout):
    wrong, compared = [], 0
    for name, signature in fuzz.all_targets(strided):
        if signature is None or name not in strided._C.functions or name.rpartition(".")[2] in LEFT_OUT:
            continue
        if "Generator" in signature:  # random numbers are written in the order of memory
            continue
        for number in CALLS:
            expected = outcome(name, signature, number, None)
            got = outcome(name, signature, number, layout)
            compared += not isinstance(expected, type)
            if not alike(expected, got, tolerance_of(expected)):
                wrong.append(
                    f"{name} {number}: {str(got)[:300]}, contiguous: {str(expected)[:300]}\n  {fuzz.describe(name, signature, number)}"
                )
                break
    if wrong:
        pytest.fail(f"{len(wrong)} functions depend on the layout:\n\n" + "\n\n".join(wrong), pytrace=False)
    assert compared > 4000  # calls that gave a result


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int16", "uint8", "complex64", "bool"])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 100, 511, 512, 513, 1100])
def test_operands_constant_along_rows(dtype, n):
    """Rows are computed in place where 16 elements and more of them lie together, else through buffers."""
    dtype = getattr(strided, dtype)
    x = (strided.arange(5 * n) % 13).reshape(5, n).to(dtype)
    column, row, one = x[:, :1] + x[:, n // 2 :][:, :1], x[2:3], x[3:4, n // 2 :][:, :1]
    two = strided.stack([x, x], 2)[:, :, 0]  # not contiguous along rows
    for a in (x, two, x.T.contiguous().T, x.flip(1), strided.cat([x, x], 1)[:, :n]):
        for b in (column, row, one, two):
            full = b.expand(5, n).contiguous()
            for got, want in (
                (a * b, a.contiguous() * full),
                (b + a, full + a.contiguous()),
                (a == b, a.contiguous() == full),
                (strided.where(a == b, a, b), strided.where(a.contiguous() == full, a.contiguous(), full)),
            ):
                assert got.equal(want)
            if dtype.is_floating_point:
                assert (a / (b + 1)).equal(a.contiguous() / (full + 1)), "one divisor"
                assert (b / (a + 1)).equal(full / (a.contiguous() + 1)), "one dividend"
                assert a.clone().mul_(b).equal(a.contiguous() * full)
            if dtype != strided.bool:
                assert strided.addcmul(b, a, column).equal(
                    strided.addcmul(full, a.contiguous(), column.expand(5, n).contiguous())
                )
                written = strided.zeros(5, 2 * n, dtype=dtype)[:, ::2]
                assert strided.mul(a, b, out=written).equal(a.contiguous() * full)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32", "uint8"])
@pytest.mark.parametrize("alpha", [3, 0.3, -2.5, 0, math.inf, math.nan])
def test_add_with_alpha_has_the_bits_of_two_steps(dtype, alpha):
    if dtype in ("int32", "uint8"):
        alpha = 3
    dtype = getattr(strided, dtype)
    a, b = (strided.arange(40 * 700).reshape(40, 700) % n for n in (97, 89))
    a, b = a.to(dtype) / 7 if dtype.is_floating_point else a.to(dtype), b.to(dtype)
    if dtype.is_floating_point:
        a[0, :3], b[0, 1:4] = (
            strided.tensor([math.inf, -math.inf, math.nan]),
            strided.tensor([math.inf, -0.0, math.nan]),
        )

    def same(x, y):
        return x.dtype == y.dtype and strided.equal(x.nan_to_num(0.5), y.nan_to_num(0.5)) and (x != x).equal(y != y)

    for x, y in (
        (a, b),
        (a.T, b.T),
        (a, b[:1]),
        (a, b[:, :1]),
        (a[:, ::2], b[:, 1::2]),
        (a[3, 5], b[2, 7]),
        (a, b[0, 4]),
    ):
        assert same(strided.add(x, y, alpha=alpha), x + y * alpha)
        assert same(x.sub(y, alpha=alpha), x - y * alpha)
        assert same(x.clone().add_(y, alpha=alpha), x + y * alpha)
        assert same(x.clone().sub_(y, alpha=alpha), x - y * alpha)


def test_add_with_alpha_keeps_its_errors_and_its_gradient():
    x = strided.ones(2)
    for alpha, message in ((True, "Boolean alpha"), (1e300, "without overflow"), (2j, "")):
        for f in (x.add, x.sub, x.add_, x.sub_):
            with pytest.raises(RuntimeError, match=message):
                f(strided.ones(2), alpha=alpha)
    y = strided.ones(3, requires_grad=True)
    made = strided.ones(3).add(y, alpha=2)
    assert type(made.grad_fn).__name__ == "AddBackward0"
    made.sum().backward()
    assert y.grad.tolist() == [2.0, 2.0, 2.0]
