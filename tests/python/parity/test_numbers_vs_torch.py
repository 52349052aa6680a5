"""Python numbers as operands, beside PyTorch: those that the dtype cannot hold, zero as a divisor, negative powers."""

import itertools

import pytest
import strided

torch_ref = pytest.importorskip("torch")

INTEGERS = "uint8 int8 int16 int32 int64".split()
NUMBERS = [0, 1, -1, 2, 127, 128, -128, -129, 255, 256, -255, -256, 300, 2**31, -(2**40), 2**63 - 1, 2**63]


def outcome(call, T):
    """dtype and values, or type and first words of the error."""
    try:
        result = call(T)
    except (RuntimeError, TypeError, OverflowError) as error:
        return type(error).__name__, str(error).split(":")[0]
    return str(result.dtype), result.tolist()


def same(call):
    ours, theirs = outcome(call, strided), outcome(call, torch_ref)
    assert ours == theirs
    return ours


def vector(T, dtype, values=(0, 1, 5, 100)):
    return T.tensor(values, dtype=getattr(T, dtype))


TAKE_A_NUMBER = {
    "add": lambda T, x, v: x + v,
    "mul": lambda T, x, v: x * v,
    "sub": lambda T, x, v: x - v,
    "rsub": lambda T, x, v: v - x,
    "and": lambda T, x, v: x & v,
    "xor": lambda T, x, v: x ^ v,
    "floor_divide": lambda T, x, v: x // v,
    "remainder": lambda T, x, v: x % v,
    "fmod": lambda T, x, v: T.fmod(x, v),
    "div floor": lambda T, x, v: T.div(x, v, rounding_mode="floor"),
    "div trunc": lambda T, x, v: T.div(x, v, rounding_mode="trunc"),
    "pow": lambda T, x, v: x**v,
    "pow_": lambda T, x, v: x.clone().pow_(v),
    "add alpha": lambda T, x, v: T.add(x, x, alpha=v),
    "sub alpha": lambda T, x, v: T.sub(x, x, alpha=v),
    "add_ alpha": lambda T, x, v: x.clone().add_(x, alpha=v),
    "addcmul": lambda T, x, v: T.addcmul(x, x, x, value=v),
    "fill_": lambda T, x, v: x.clone().fill_(v),
    "full_like": lambda T, x, v: T.full_like(x, v),
    "masked_fill": lambda T, x, v: x.masked_fill(x > 1, v),
    "where": lambda T, x, v: T.where(x > 1, x, v),
    "index_add": lambda T, x, v: x.index_add(0, T.tensor([1]), x[:1], alpha=v),
    "addmv": lambda T, x, v: T.addmv(x[:2], x.reshape(2, 2), x[:2], alpha=v),
    "addmm": lambda T, x, v: T.addmm(x.reshape(2, 2), x.reshape(2, 2), x.reshape(2, 2), beta=v),
    "0-d divisor": lambda T, x, v: x // T.tensor(v, dtype=T.uint64 if v >= 2**63 else T.int64).to(T.int64),
}


@pytest.mark.parametrize("name", TAKE_A_NUMBER)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_an_integer_beyond_the_dtype(name, dtype):
    call = TAKE_A_NUMBER[name]
    bits = torch_ref.iinfo(getattr(torch_ref, dtype)).bits
    for v in NUMBERS:
        if name.startswith("pow") and v == 2**63:  # PyTorch's text names int64_t
            ours, theirs = (outcome(lambda T, v=v: call(T, vector(T, dtype), v), T) for T in MODULES)
            assert ours[0] == theirs[0]
        elif name != "sub alpha" or abs(v) != 2 ** (bits - 1):  # PyTorch looks at -v
            same(lambda T, v=v: call(T, vector(T, dtype), v))


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_a_float_beyond_the_dtype(dtype):
    for v in [-1.0, -0.5, 127.5, 255.5, 1e5, -1e5, 1e30, 1e300, float("inf"), float("nan"), 1e30j, 1e300j]:
        for name in ["fill_", "full_like"]:
            ours, theirs = (outcome(lambda T, v=v: TAKE_A_NUMBER[name](T, vector(T, dtype), v), T)[0] for T in MODULES)
            assert ours == theirs, (name, v)


MODULES = strided, torch_ref


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["add alpha", "pow", "index_add", "mul", "add"])
def test_a_float_beyond_floats(dtype, name):
    for v in [1e5, 1e30, 1e300]:
        ours, theirs = (outcome(lambda T, v=v: TAKE_A_NUMBER[name](T, vector(T, dtype), v), T) for T in MODULES)
        assert ours[0] == theirs[0], v


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "div trunc"])
def test_nothing_divided_by_zero_is_nothing(name):
    for divisor in [0, 256, [0]]:
        of = lambda T, divisor=divisor: T.tensor(divisor) if isinstance(divisor, list) else divisor  # noqa: E731
        assert same(lambda T, of=of: TAKE_A_NUMBER[name](T, vector(T, "int8", ()), of(T)))[1] == []


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_no_integer_to_a_negative_number(dtype):
    for values in [(), (1,)]:
        for v in [-1, -300, -(2**40)]:
            assert same(lambda T, v=v, values=values: vector(T, dtype, values) ** v)[0] == "RuntimeError"
    same(lambda T: vector(T, dtype) ** -1.0)
    same(lambda T: vector(T, "int32") ** T.tensor(-1))


def test_sub_refuses_bool():
    for value, other in itertools.product([True, 1, 1.5], [True, 1, 1.5]):
        if isinstance(value, bool) or isinstance(other, bool):
            assert same(lambda T, v=value, o=other: T.tensor([v]) - o)[0] == "RuntimeError"
            assert same(lambda T, v=value, o=other: o - T.tensor([v]))[0] == "RuntimeError"


@pytest.mark.parametrize("low", ["complex64", "complex128"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "bfloat16", "float32", "float64", "complex64"])
def test_a_complex_number_keeps_the_precision_of_floats(dtype, low):
    same(lambda T: vector(T, dtype) * T.tensor(1j, dtype=getattr(T, low)))
    same(lambda T: vector(T, dtype) * 1j)


NOT_ROUNDED = {
    "mul": lambda T, x, c: x * c,
    "rmul": lambda T, x, c: c * x,
    "div": lambda T, x, c: x / c,
    "mul_": lambda T, x, c: x.clone().mul_(c),
    "div_": lambda T, x, c: x.clone().div_(c),
    "by a tensor": lambda T, x, c: x * T.tensor(c),
    "view": lambda T, x, c: x[::2] * c,
    "out": lambda T, x, c: T.mul(x, c, out=T.empty(0, dtype=T.float32)),
    "lerp": lambda T, x, c: T.lerp(x, x.flip(0), c),
    "addcmul": lambda T, x, c: T.addcmul(x, x, x, value=c),
    "addcdiv": lambda T, x, c: T.addcdiv(x, x, x.abs() + 1, value=c),
}


@pytest.mark.parametrize("name", NOT_ROUNDED)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("number", [0.1, -0.3, 3, 1e5, 1e-9, float("inf"), float("nan")])
def test_factors_are_not_rounded_to_16_bits(name, dtype, number):
    """A factor of 1e5 was infinity in float16, 1e-9 was 0, and 0.1 was 0.09998."""
    values = [i / 7 - 9 for i in range(128)]
    made = [NOT_ROUNDED[name](T, vector(T, dtype, values), number) for T in (strided, torch_ref)]
    assert str(made[0].dtype) == str(made[1].dtype)
    strided.testing.assert_close(*(strided.tensor(x.tolist()) for x in made), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_factors_are_not_rounded_to_16_bits(dtype):
    for number in (0.1, 1e-6):
        for f in (lambda x, c: x * c, lambda x, c: x / c):
            made = []
            for T in (strided, torch_ref):
                x = vector(T, dtype).requires_grad_()
                f(x, number).sum().backward()
                made.append(x.grad.tolist())
            assert made[0] == made[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8"])
def test_where_takes_numbers_beyond_16_bits(dtype):
    for number in (-1e9, 1e39, -1e300, 300):
        for flip in (False, True):
            x = [lambda T: vector(T, dtype), lambda T: number]
            same(lambda T, x=x[::-1] if flip else x: T.where(vector(T, dtype) > 2, x[0](T), x[1](T)))


# ---------------------------------------------------------------- other than PyTorch, on purpose

COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", COMPARE)
@pytest.mark.parametrize("dtype", [*INTEGERS, "uint16", "uint32", "uint64"])
def test_comparisons_answer_as_mathematics(name, dtype):
    values = [0, 1, 44, 127]
    x, compare, f = vector(strided, dtype, values), COMPARE[name], getattr(strided, name)
    for v in [*NUMBERS, 2**64 - 1, -(2**63)]:
        expected = [compare(value, v) for value in values]
        assert compare(x, v).tolist() == expected, v
        assert compare(v, x).tolist() == [compare(v, value) for value in values], v
        assert f(v, x).tolist() == [compare(v, value) for value in values], v
        assert f(x, v, out=strided.empty(4, dtype=strided.int32)).tolist() == [int(e) for e in expected], v
        assert f(x.reshape(2, 2).t(), v).flatten().tolist() == [expected[i] for i in (0, 2, 1, 3)], v
        assert f(x[:0], v).tolist() == []


@pytest.mark.parametrize("dtype", [*INTEGERS, "uint16", "uint32", "uint64"])
def test_clamp_saturates(dtype):
    info = strided.iinfo(getattr(strided, dtype))
    values = [info.min, 0, 1, 44, 127, info.max]
    x = vector(strided, dtype, values)
    for v in [*NUMBERS, 2**64 - 1, -(2**63)]:
        at = min(max(v, info.min), info.max)
        assert x.clamp(min=v).tolist() == [max(value, at) for value in values], v
        assert x.clamp(max=v).tolist() == [min(value, at) for value in values], v
        assert x.clamp(v, 2**62).tolist() == [min(max(value, at), min(info.max, 2**62)) for value in values], v
        assert x.clone().clamp_(max=v).tolist() == x.clamp(max=v).tolist()


def test_clamp_to_an_infinite_bound_has_a_gradient():
    x = strided.tensor([1.0, 5.0], requires_grad=True)
    x.clamp(-1e300, 1e300).sum().backward()
    assert x.grad.tolist() == [1, 1]
    x.grad = None
    (x * 1e300).sum().backward()
    assert x.grad.tolist() == [float("inf")] * 2


@pytest.mark.parametrize("number", [float, int, complex])
@pytest.mark.parametrize("size", [0, 2])
def test_one_number_of_several_elements(number, size):
    for T in (strided, torch_ref):
        with pytest.raises(ValueError, match="^only one element tensors can be converted to Python scalars$"):
            number(T.ones(size))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("value", [2**64, -(2**64), 2**63, -(2**63) - 1, 2**100, [2**65, 1.5], [-(2**80), 1]])
def test_integers_of_more_than_64_bits_become_floats(dtype, value):
    made = [T.tensor(value, dtype=getattr(T, dtype)).tolist() for T in (strided, torch_ref)]
    assert made[0] == made[1]


def test_integers_beyond_floats():
    for T in (strided, torch_ref):
        assert T.tensor([2**65, 1.5]).tolist() == [2.0**65, 1.5]
        with pytest.raises(OverflowError, match="int too large to convert to float"):
            T.tensor(2**1030, dtype=T.float64)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
def test_integers_are_no_parts_of_complex_numbers(dtype):
    for T in (strided, torch_ref):
        with pytest.raises(RuntimeError):
            getattr(T, dtype).to_complex()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_nan_can_stand_for_what_nan_to_num_replaces(dtype):
    inf, nan = float("inf"), float("nan")
    for given in ({"nan": nan}, {"posinf": nan}, {"nan": 2.0, "neginf": nan}, {"nan": None, "posinf": inf}):
        made = []
        for T in (strided, torch_ref):
            x = T.tensor([nan, inf, -inf, 0.5], dtype=getattr(T, dtype))
            made.append([str(v) for v in T.nan_to_num(x, **given).tolist()])
        assert made[0] == made[1], given


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_limit_of_hardshrink_is_rounded_to_the_dtype(dtype):
    for limit in (0.1, 0.3, 0.7, 1e-3):
        made = []
        for T in (strided, torch_ref):
            x = T.tensor([limit, -limit, limit * 1.01, limit * 0.99], dtype=getattr(T, dtype))
            made.append(T.nn.functional.hardshrink(x, limit).tolist())
        assert made[0] == made[1]


@pytest.mark.parametrize("name", ["addcmul", "addcdiv", "addcmul_", "addcdiv_"])
def test_the_value_is_a_number(name):
    made = []
    for T in (strided, torch_ref):
        x, value = T.tensor([1.0, 2.0]), T.tensor(0.5, requires_grad=True)
        with pytest.raises(TypeError, match=r"argument 'value' must be Number, not Tensor"):
            getattr(x, name)(x, x, value=value)
        with pytest.raises(TypeError):
            getattr(x, name)(x, x, value=T.ones(2))
        made.append(getattr(x, name)(x.clone(), x.clone() + 1, value=value.detach()).tolist())
    assert made[0] == made[1]


BYTES = {
    "integers": lambda T: T.tensor([1, 2, 255]),
    "uint8": lambda T: T.tensor([1, 2, 255], dtype=T.uint8),
    "bool": lambda T: T.tensor([True, False]),
    "one": lambda T: T.tensor(3),
    "one in a row": lambda T: T.tensor([[3]]),
    "rows of one": lambda T: T.tensor([[3], [4]]),
    "none": lambda T: T.tensor([]),
    "rows": lambda T: T.ones(2, 3, dtype=T.uint8),
    "too large": lambda T: T.tensor([256, 1]),
    "negative": lambda T: T.tensor(-1),
    "floats": lambda T: T.tensor([1.0, 2.0]),
    "a float": lambda T: T.tensor([1.0], requires_grad=True),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes(name):
    made = []
    for T in (strided, torch_ref):
        try:
            made.append(bytes(BYTES[name](T)))
        except Exception as error:
            made.append(type(error))
    assert made[0] == made[1]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_kthvalue_of_nothing(dim):
    made = []
    for T in (strided, torch_ref):
        try:
            made.append(T.kthvalue(T.ones(2, 0, 4), 1, dim).values.tolist())
        except IndexError as error:
            made.append(str(error))
    assert made[0] == made[1]
