"""Every elementwise op of the table x dtype x layout x values, derived from the table itself."""

import functools
import math
import operator

import elementwise_reference as ref
import numpy as np
import pytest
import strided as torch
from elementwise_cases import CASES, NAN, REFERENCE_CASES, ROWS, call, check, function, kind, operands, wide


def test_every_op_has_a_reference():
    assert set(ref.REFERENCES) == set(ROWS)


@pytest.mark.parametrize("name, dtype", REFERENCE_CASES)
def test_values(name, dtype):
    if ref.REFERENCES[name] is None:
        pytest.skip("tested by itself")
    args = operands(name, dtype)
    for params in ref.PARAMS.get(name, [{}]):
        if "decimals" in params and kind(dtype) != "f":
            continue
        check(name, dtype, call(name, args, **params), args, params)


def bits(x):
    """The bytes of a tensor's values in order, NaN made one."""
    a = wide(x)
    return np.where(np.isnan(a), np.nan, a) if a.dtype.kind in "fc" else a


def layouts(x):
    """The same 4 x 6 values in different memory."""
    yield "contiguous", x.contiguous()
    yield "transposed", x.t().contiguous().t()
    yield "negative", x.flip(0).contiguous()[::-1]
    big = torch.zeros(6, 13, dtype=x.dtype)
    big[1:5, 1:13:2] = x
    yield "offset and stepped", big[1:5, 1:13:2]


@pytest.mark.parametrize("name, dtype", CASES)
def test_layouts(name, dtype):
    args = [a.reshape(8, 6)[:4] if isinstance(a, torch.Tensor) else a for a in operands(name, dtype)]
    params = ref.PARAMS.get(name, [{}])[0]
    want = bits(call(name, args, **params))
    forms = [list(layouts(a)) if isinstance(a, torch.Tensor) else [("number", a)] * 4 for a in args]
    for shift in range(4):
        # different layouts meet in one call, and the same
        for step in (0, 1):
            chosen = [form[(shift + step * i) % 4] for i, form in enumerate(forms)]
            got = call(name, [c[1] for c in chosen], **params)
            np.testing.assert_array_equal(bits(got), want, err_msg=str([c[0] for c in chosen]))
    rows = [a[1:2].expand(4, 6) if isinstance(a, torch.Tensor) else a for a in args]
    np.testing.assert_array_equal(bits(call(name, rows, **params)), want[1:2].repeat(4, 0))
    if len(args) > 1:
        mixed = [args[0]] + [a[1:2].expand(4, 6) if isinstance(a, torch.Tensor) else a for a in args[1:]]
        plain = [args[0]] + [a[1:2].expand(4, 6).contiguous() if isinstance(a, torch.Tensor) else a for a in args[1:]]
        np.testing.assert_array_equal(bits(call(name, mixed, **params)), bits(call(name, plain, **params)))
        column = [args[0]] + [a[:, :1] if isinstance(a, torch.Tensor) else a for a in args[1:]]  # broadcast
        plain = [args[0]] + [a[:, :1].expand(4, 6).contiguous() if isinstance(a, torch.Tensor) else a for a in args[1:]]
        np.testing.assert_array_equal(bits(call(name, column, **params)), bits(call(name, plain, **params)))


@pytest.mark.parametrize(
    "name, dtype", [case for case in REFERENCE_CASES if case.values[0] in ("add", "sub", "mul", "div")]
)
def test_one_number_for_each_row(name, dtype):
    row, number = (a.repeat(4)[: 5 * 37].reshape(5, 37) for a in operands(name, dtype)[:2])
    for first, second in ((row, number[:, :1]), (number[:, :1], row), (row, number[0, 0]), (number[0, 0], row)):
        plain = [a.expand(5, 37).contiguous() for a in (first, second)]
        np.testing.assert_array_equal(bits(call(name, [first, second])), bits(call(name, plain)))
        into = torch.empty(5, 40, dtype=call(name, plain).dtype)[:, 2:39]
        call(name, [first, second], out=into)
        np.testing.assert_array_equal(bits(into), bits(call(name, plain)))


# Some processors have other loops for operands that are longer than the second-level cache.
LIGHT = ("add", "sub", "mul", "maximum", "clamp", "abs", "neg", "floor", "lt", "bitwise_and", "logical_not")


@pytest.mark.parametrize("name, dtype", [case for case in REFERENCE_CASES if case.values[0] in LIGHT])
def test_long_operands(name, dtype):
    params = ref.PARAMS.get(name, [{}])[0]
    args = operands(name, dtype)
    times = 2**21 // (48 * args[0].element_size()) + 1
    long = [a.repeat(times) if isinstance(a, torch.Tensor) else a for a in args]
    want = bits(call(name, args, **params))
    for into in (None, torch.empty(0, dtype=call(name, args, **params).dtype)):
        got = bits(call(name, long, **params, out=into)).reshape(times, -1)
        np.testing.assert_array_equal(got, np.broadcast_to(want, got.shape))


@pytest.mark.parametrize("name, dtype", CASES)
def test_empty_and_0d(name, dtype):
    params = ref.PARAMS.get(name, [{}])[0]
    args = operands(name, dtype)
    flat = call(name, args, **params)
    first = call(name, [a[20] if isinstance(a, torch.Tensor) else a for a in args], **params)
    assert first.shape == () and first.dtype == flat.dtype
    np.testing.assert_array_equal(bits(first), bits(flat)[20])
    none = call(name, [a.reshape(6, 8)[:0] if isinstance(a, torch.Tensor) else a for a in args], **params)
    assert none.shape == (0, 8) and none.dtype == flat.dtype


@pytest.mark.parametrize("name, dtype", CASES)
def test_out_and_inplace(name, dtype):
    params = ref.PARAMS.get(name, [{}])[0]
    args = operands(name, dtype)
    want = call(name, args, **params)
    out = torch.empty(0, dtype=want.dtype)
    assert call(name, args, **params, out=out) is out
    np.testing.assert_array_equal(bits(out), bits(want))
    holder = torch.empty(96, dtype=torch.complex128 if want.dtype.is_complex else torch.float64)
    call(name, args, **params, out=holder[::2])
    np.testing.assert_array_equal(bits(holder[::2]), bits(want.to(holder.dtype)))
    if kind(str(want.dtype)[6:]) in "fc":
        with pytest.raises(RuntimeError, match="result type .* can't be cast to the desired output type Long"):
            call(name, args, **params, out=torch.empty(48, dtype=torch.int64))
    if not ROWS[name]["inplace"]:
        assert not hasattr(torch.Tensor, name + "_") and name + "_" not in torch._C.functions
        return
    self = args[0].clone()
    is_method = ROWS[name]["method"] and "." not in name
    assert is_method == hasattr(torch.Tensor, name + "_")
    method = getattr(self, name + "_") if is_method else functools.partial(function(name + "_"), self)
    rest = args[1:]
    if name in ("addcmul", "addcdiv"):
        rest, params = args[1:3], {"value": args[3]}
    if want.dtype != self.dtype and not castable(str(want.dtype)[6:], dtype):
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
            method(*rest, **params)
        np.testing.assert_array_equal(bits(self), bits(args[0]))
        return
    if name == "abs" and self.dtype.is_complex:
        with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
            method()
        return
    version = self._version
    assert method(*rest, **params) is self
    assert self._version == version + 1
    np.testing.assert_array_equal(bits(self), bits(want.to(self.dtype)))


def castable(source, target):
    order = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    return order[kind(source)] <= order[kind(target)]


@pytest.mark.parametrize("name", ROWS)
def test_unsupported_dtypes(name):
    row = ROWS[name]
    params = ref.PARAMS.get(name, [{}])[0]
    for dtype in ("bool", "int16", "uint32", "float32", "complex64"):
        if dtype in row["out_dtypes"] or (row["promotes_to_float"] and dtype in ("bool", "int16", "uint32")):
            continue
        if name == "addcmul" and dtype == "bool":
            continue  # `value` is an integer, and so is the result
        args = [torch.ones(2).to(getattr(torch, dtype)) for _ in range(row["arity"])]
        with pytest.raises(
            (NotImplementedError, RuntimeError), match="implemented for|is not supported|no longer supported"
        ):
            call(name, args[:3] + [2] if row["arity"] == 4 else args, **params)


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row["promotes_to_float"]])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "uint16"])
def test_integers_become_the_default_float(name, dtype):
    params = ref.PARAMS.get(name, [{}])[0]
    args = [torch.tensor([0, 1, 1]).to(getattr(torch, dtype)) for _ in range(ROWS[name]["arity"])]
    got = call(name, args, **params)
    want = call(name, [a.to(torch.float32) for a in args], **params)
    assert got.dtype == torch.float32
    np.testing.assert_array_equal(bits(got), bits(want))


@pytest.mark.parametrize("name", ROWS)
def test_aliases_methods_and_docs(name):
    row = ROWS[name]
    for alias in [name] + row["aliases"].split():
        if alias.startswith("nn."):  # (what is made of it there has PyTorch's own signature)
            assert callable(function(alias))
            continue
        where = torch
        *path, last = alias.split(".")
        for part in path:
            where = getattr(where, part)
        if not last.startswith("_"):
            assert callable(getattr(where, last)), alias
        if not path:
            assert hasattr(torch.Tensor, last) == row["method"]
    text = function(name).__doc__
    assert row["doc"].split(";")[0].split(".")[0] in text
    assert all(dtype in text for dtype in row["out_dtypes"])


def test_nextafter():
    for dtype, up in (
        (torch.float16, 2.0**-10),
        (torch.bfloat16, 2.0**-7),
        (torch.float32, 2.0**-23),
        (torch.float64, 2.0**-52),
    ):
        one = torch.ones(3, dtype=dtype)
        target = torch.tensor([2.0, 0.0, 1.0], dtype=dtype)
        got = torch.nextafter(one, target).to(torch.float64).tolist()
        assert got == [1 + up, 1 - up / 2, 1.0]
        smallest = torch.nextafter(torch.zeros(1, dtype=dtype), -torch.ones(1, dtype=dtype))
        assert (smallest < 0).item() and (smallest.to(torch.float64) * 0.5).to(dtype).item() == 0
        assert torch.isnan(torch.nextafter(one, torch.full((3,), NAN, dtype=dtype))).all()


def test_integer_division_by_zero():
    for dtype in (torch.int8, torch.int32, torch.int64, torch.uint8, torch.uint64):
        a = torch.ones(3, dtype=dtype)
        zero = torch.tensor([1, 0, 1]).to(dtype)
        for f in (torch.floor_divide, torch.remainder, torch.fmod, lambda x, y: torch.div(x, y, rounding_mode="trunc")):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                f(a, zero)
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                f(a, 0)


def test_messages_that_users_quote():
    b = torch.tensor([True])
    with pytest.raises(RuntimeError, match=r"Subtraction, the `-` operator, with two bool tensors is not supported"):
        b - b
    with pytest.raises(RuntimeError, match=r"Negation, the `-` operator, on a bool tensor is not supported"):
        -b
    with pytest.raises(
        RuntimeError,
        match=r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 0",
    ):
        torch.ones(2) + torch.ones(3)
    with pytest.raises(
        RuntimeError, match=r"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"
    ):
        torch.div(torch.ones(1), 2, rounding_mode="up")


@pytest.mark.parametrize(
    "mode, value, dtype", [("trunc", -3, torch.int64), ("floor", -4, torch.int64), (None, -3.5, torch.float32)]
)
def test_div_of_two_numbers(mode, value, dtype):
    made = torch.div(-7, 2, rounding_mode=mode)
    assert made.item() == value and made.dtype == dtype and made.shape == ()


def test_division_of_the_lowest_integer_wraps():
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        low = torch.tensor([torch.iinfo(dtype).min], dtype=dtype)
        assert (low // -1 == low).all() and (low % -1 == 0).all() and (low.abs() == low).all() and (-low == low).all()
        assert (torch.fmod(low, -1) == 0).all() and (torch.div(low, -1, rounding_mode="trunc") == low).all()


def test_signed_zeros_and_nan():
    x = torch.tensor([-0.0, 0.0, NAN])
    assert torch.signbit(torch.trunc(torch.tensor([-0.5]))).item()
    assert torch.signbit(torch.relu(x)).tolist() == [True, False, False]
    assert torch.sign(x).tolist() == [0.0, 0.0, 0.0]
    assert math.isnan(torch.maximum(x, torch.ones(3))[2].item()) and torch.fmax(x, torch.ones(3))[2].item() == 1.0
    assert torch.signbit(torch.remainder(x[:2], 3.0)).tolist() == [True, False]
    assert torch.clamp(torch.ones(1), torch.tensor([3.0]), torch.tensor([2.0])).item() == 2.0
    assert torch.logical_not(x).tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_of_usual_and_unusual_operands(dtype):
    """Exact for every quotient: those that vector code may take, large ones, and what is not finite, side by side."""
    kind, rng = getattr(torch, dtype), np.random.default_rng(0)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 5e-324, 1e-45, 3e38, 1.5, 2.0**23, 2.0**52]
    for n in (1, 7, 127, 128, 129, 1000):
        x = np.ldexp(rng.standard_normal(n), rng.integers(-30, 31, n)).astype(dtype)
        y = np.ldexp(rng.standard_normal(n), rng.integers(-3, 4, n)).astype(dtype)
        for unusual in (0, 1, 5, n):
            at = rng.integers(0, n, unusual)
            x[at] = rng.choice(np.array(special).astype(dtype), unusual)
            y[rng.permutation(at)] = rng.choice(np.array(special).astype(dtype), unusual)
            a, b = torch.from_numpy(x.copy()), torch.from_numpy(y.copy())
            with np.errstate(all="ignore"):
                mod = np.fmod(x, y)
                want = np.where((mod != 0) & ((y < 0) != (mod < 0)), mod + y, mod)
                np.testing.assert_array_equal(torch.fmod(a, b).numpy(), mod)
                np.testing.assert_array_equal(a.clone().fmod_(b).numpy(), mod)
                np.testing.assert_array_equal(np.signbit(torch.fmod(a, b).numpy()), np.signbit(mod))
                np.testing.assert_array_equal(torch.remainder(a, b).numpy(), want)
                quotient = torch.floor_divide(a, b).numpy()
                one = [
                    float(torch.floor_divide(torch.tensor(p, dtype=kind), torch.tensor(q, dtype=kind)))
                    for p, q in zip(x.tolist(), y.tolist())
                ]
                np.testing.assert_array_equal(quotient, np.array(one, dtype))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integer_quotients_of_usual_and_unusual_operands(dtype):
    """Exact, whichever way a block of elements goes: beside large ones and the one overflow."""
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    for size in (10, 1000, 2**31 - 1, 2**50, 2**51 + 5, 2**62):
        for divisor in (3, 10**6, size):
            high, by = min(size, info.max), min(size, divisor, info.max)
            x = rng.integers(-high, high, 777).astype(dtype)
            y = rng.integers(-by, by, 777).astype(dtype)
            y[y == 0] = 1
            x[:300:100], y[:300:100] = info.min, -1
            a, b = torch.from_numpy(x), torch.from_numpy(y)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(torch.floor_divide(a, b).numpy(), np.floor_divide(x, y))
                np.testing.assert_array_equal(torch.remainder(a, b).numpy(), np.remainder(x, y))
                np.testing.assert_array_equal(torch.fmod(a, b).numpy(), np.fmod(x, y))
                np.testing.assert_array_equal(a.clone().fmod_(b).numpy(), np.fmod(x, y))
                np.testing.assert_array_equal(
                    torch.div(a, b, rounding_mode="trunc").numpy(),
                    np.floor_divide(x, y) + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0))).astype(dtype),
                )


def slopes(f, x):
    leaf = x.detach().requires_grad_()
    return torch.autograd.grad(f(leaf).sum(), leaf)[0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(
    "name",
    [
        *("exp", "log", "log1p", "sigmoid", "sin", "cos", "tan", "lgamma", "digamma", "pow", "atan2", "logaddexp"),
        *("nn.functional.gelu", "gradient of nn.functional.gelu"),
        *("nn.functional.softplus", "gradient of nn.functional.softplus"),
    ],
)
def test_an_element_does_not_depend_on_its_neighbours(name, dtype):
    """Blocks of usual operands take shorter code: with some or many unusual ones beside, the bits are the same."""
    kind, rng = getattr(torch, dtype), np.random.default_rng(0)
    f, operands = operator.attrgetter(name.split()[-1])(torch), 2 if name in ("pow", "atan2", "logaddexp") else 1
    if name.startswith("gradient"):
        f = functools.partial(slopes, f)
    usual = [torch.tensor(np.exp(rng.standard_normal(500))).to(kind) for _ in range(operands)]
    want = f(*usual)
    for unusual in (1, 3, 40, 300):
        at = torch.tensor(rng.permutation(500)[:unusual])
        odd = torch.tensor(
            rng.choice([-math.inf, math.inf, NAN, -0.0, -1.0, -2.0, 1e30, -1e30, 1e-42], (operands, unusual))
        )
        mixed = [x.clone() for x in usual]
        for x, values in zip(mixed, odd, strict=True):
            x[at] = values.to(kind)
        kept = torch.ones(500, dtype=torch.bool)
        kept[at] = False
        got, single = f(*mixed), [f(*(x[i] for x in mixed)) for i in at.tolist()]
        assert torch.equal(got[kept], want[kept])
        assert torch.equal(torch.nan_to_num(got[at], 77.0), torch.nan_to_num(torch.stack(single), 77.0))
        inplace = getattr(torch.Tensor, name + "_")(mixed[0], *mixed[1:]) if hasattr(torch.Tensor, name + "_") else got
        assert torch.equal(torch.nan_to_num(inplace, 77.0), torch.nan_to_num(got, 77.0))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid"])
def test_a_complex_element_does_not_depend_on_its_neighbours(name, dtype):
    kind, rng, f = getattr(torch, dtype), np.random.default_rng(0), getattr(torch, name)
    parts = rng.standard_normal((2, 500)) * 3
    usual = torch.complex(*torch.tensor(parts)).to(kind)
    want, exact = f(usual), {"exp2": lambda z: np.exp(z * np.log(2)), "sigmoid": lambda z: 1 / (1 + np.exp(-z))}
    reference = exact.get(name, getattr(np, name, None))(usual.numpy().astype(complex))
    assert np.allclose(want.numpy(), reference, rtol=1e-6 if dtype == "complex64" else 1e-13, atol=0)
    odd = [0.0, -0.0, 1.0, -1.0, 50.0, -50.0, 1e3, -1e3, 1e30, 1e-42, math.inf, -math.inf, NAN]
    for unusual in (1, 3, 40, 300):
        at = torch.tensor(rng.permutation(500)[:unusual])
        mixed = usual.clone()
        mixed[at] = torch.complex(*torch.tensor(rng.choice(odd, (2, unusual)))).to(kind)
        kept = torch.ones(500, dtype=torch.bool)
        kept[at] = False
        got, single = f(mixed), torch.stack([f(mixed[i]) for i in at.tolist()])
        assert torch.equal(got[kept], want[kept])
        bits = [torch.nan_to_num(torch.view_as_real(z), 77.0) for z in (got[at], single)]
        assert torch.equal(*bits) and torch.equal(*(b.signbit() for b in bits))


def exactly_scaled(x, e):
    try:
        return math.ldexp(x, e)
    except OverflowError:
        return math.copysign(math.inf, x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("copies", [1, 40])
def test_ldexp_scales_by_whole_exponents(dtype, copies):
    kind, info = getattr(torch, dtype), torch.finfo(getattr(torch, dtype))
    x = [0.0, -0.0, 1.0, -1.5, info.max, info.min, info.tiny, info.smallest_normal * 1.5, math.inf, -math.inf, NAN]
    t = torch.tensor(x * copies, dtype=kind)
    for e in (
        -5000,
        -2100,
        -1080,
        -1023,
        -300,
        -150,
        -127,
        -60,
        -1,
        0,
        1,
        14,
        60,
        126,
        127,
        128,
        300,
        1023,
        2100,
        5000,
    ):
        want = torch.tensor([exactly_scaled(v, e) for v in x] * copies, dtype=torch.float64).to(kind)
        for exponent in (torch.tensor(e), torch.full((len(t),), e)):
            got = torch.ldexp(t, exponent)
            assert torch.equal(torch.nan_to_num(got, 77.0, 1e4, -1e4), torch.nan_to_num(want, 77.0, 1e4, -1e4)), e
            assert torch.equal(got.signbit()[~t.isnan()], want.signbit()[~t.isnan()])
    mantissa, exponent = torch.frexp(t)
    assert torch.equal(torch.nan_to_num(torch.ldexp(mantissa, exponent), 77.0), torch.nan_to_num(t, 77.0))
    assert torch.ldexp(torch.tensor(3.0).to(kind), torch.tensor(0.5)).item() == pytest.approx(3 * 2**0.5, rel=0.01)


def test_ldexp_of_complex_numbers():
    z = torch.tensor([1 + 2j, -3j, 1e30 + 1e-30j] * 20, dtype=torch.complex64)
    assert torch.ldexp(z, torch.tensor(-20)).equal(z * 2.0**-20)
    got = torch.ldexp(z[:2], torch.tensor([1 + 1j, 2.5]))
    assert np.allclose(got.numpy(), z[:2].numpy() * 2 ** np.array([1 + 1j, 2.5]), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_signs_of_16_bits(dtype):
    bits = torch.arange(-(2**15), 2**15).to(torch.int16)
    x = bits.view(getattr(torch, dtype))
    number = ~x.isnan()
    for n in (1, 7, 33, len(x)):
        a, b, kept = x[:n], x.flip(0)[:n], number[:n]
        assert torch.equal((-a).view(torch.int16)[kept], (bits[:n] ^ -(2**15))[kept])
        assert torch.equal(a.abs().view(torch.int16)[kept], (bits[:n] & 0x7FFF)[kept])
        signed = (bits[:n] & 0x7FFF) | (b.view(torch.int16) & -(2**15))
        assert torch.equal(torch.copysign(a, b).view(torch.int16)[kept], signed[kept])
        assert (-a).isnan().equal(~kept) and a.abs().isnan().equal(~kept)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rows_of_16_bits_of_any_length(dtype):
    """Every number of 16 bits there and back, and rows that end within a vector."""
    kind = getattr(torch, dtype)
    bits = np.arange(1 << 16, dtype=np.uint16)
    wide = bits.view(np.float16).astype(np.float32) if dtype == "float16" else (bits.astype(np.uint32) << 16).view("f4")
    x = torch.from_numpy(bits.view(np.int16)).view(kind)
    assert np.array_equal(x.float().numpy(), wide, equal_nan=True)
    back = torch.from_numpy(wide).to(kind)
    assert torch.equal(back.view(torch.int16)[~x.isnan()], x.view(torch.int16)[~x.isnan()])
    assert back.isnan().tolist() == x.isnan().tolist()
    x, y = (torch.from_numpy(np.random.default_rng(i).standard_normal(80).astype("f4")).to(kind) for i in range(2))
    whole = [(x.double() + y.double()).to(kind), (x.double() * y.double()).float().to(kind)]
    for start in (0, 1):
        for n in range(start, 80):
            a, b = x[start:n], y[start:n]
            assert torch.equal(a + b, whole[0][start:n]) and torch.equal(a * b, whole[1][start:n])
            assert torch.equal(a.float().to(kind), a)


def test_multiples_are_added_to_numbers():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert torch.add(2, x, alpha=3).tolist() == [5, 8] and torch.sub(input=2, other=x, alpha=3).tolist() == [-1, -4]
    assert torch.subtract(2.5, torch.tensor([1, 2]), alpha=3).tolist() == [-0.5, -3.5]
    assert torch.add(1j, x, alpha=2).dtype == torch.complex64
    assert torch.add(2, 3, alpha=2).equal(torch.tensor(8)) and torch.sub(2, 3.5, alpha=2).item() == -5
    torch.sub(2, x, alpha=3).sum().backward()
    assert x.grad.tolist() == [-3, -3]
    with pytest.raises(RuntimeError, match="alpha must not be a floating point"):
        torch.add(2, torch.tensor([1]), alpha=0.5)
