"""float8_e4m3fn and float8_e5m2 beside PyTorch: casts bit for bit, promotion, errors, printing, limits."""

import itertools

import pytest
import strided

torch = pytest.importorskip("torch")

FLOAT8 = ["float8_e4m3fn", "float8_e5m2"]
DTYPES = [str(d)[6:] for d in strided._C.dtypes]
FLOATS = ["bfloat16", "float16", "float32", "float64"]


def codes(dtype, module=strided):
    return module.arange(256, dtype=module.uint8).view(getattr(module, dtype))


def bits(x):
    """The bytes of a float8 tensor as a list."""
    return x.contiguous().view(strided.uint8 if isinstance(x, strided.Tensor) else torch.uint8).tolist()


def around(dtype):
    """Every number of the dtype, every midpoint of two, and the float32 numbers next to these; both signs."""
    t = torch.arange(256, dtype=torch.uint8).view(getattr(torch, dtype)).double()
    numbers = t[t.isfinite() & (t >= 0)].sort().values
    beyond = 2 * numbers[-1] - numbers[-2]
    numbers = torch.cat([numbers, beyond[None]])
    points = torch.cat([numbers, (numbers[1:] + numbers[:-1]) / 2]).float()
    up, down = torch.nextafter(points, torch.tensor(torch.inf)), torch.nextafter(points, torch.tensor(-torch.inf))
    special = torch.tensor([torch.inf, torch.nan, 1e-45, 1e-38, 3.4e38, 1e30, 479.9, 480, 61439.9, 61440, 65504, 65536])
    x = torch.cat([points, up, down, special])
    return torch.cat([x, -x])


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("step", [1, -1, 3])
def test_cast_from_floats(dtype, source, step):
    given = around(dtype).to(getattr(torch, source))
    if source == "float64":
        given = torch.cat([given, given * (1 + 2**-40)])  # rounded to float32 first
    random = torch.randn(4000, generator=torch.Generator().manual_seed(1)) * 100
    given = torch.cat([given, random.to(given.dtype), (random * 1e-3).to(given.dtype)])
    ours = strided.from_dlpack(given)
    if step < 0:
        ours, given = ours.flip(0)[::-1].flip(0), given.flip(0)
    else:
        ours, given = ours[::step], given[::step]
    assert bits(ours.to(getattr(strided, dtype))) == bits(given.to(getattr(torch, dtype)))


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("source", [d for d in DTYPES if d not in FLOATS and d not in FLOAT8])
def test_cast_from_others(dtype, source):
    values = [0, 1, 5, 17, 100, 127]
    values += [] if source in ("bool", "int8") else [200, 255]
    values += [-1, -9, -128] if getattr(strided, source).is_signed else []
    want = torch.tensor(values).to(getattr(torch, source)).to(getattr(torch, dtype))
    assert bits(strided.tensor(values).to(getattr(strided, source)).to(getattr(strided, dtype))) == bits(want)


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("target", DTYPES)
def test_cast_of_every_code(dtype, target):
    ours = codes(dtype).to(getattr(strided, target))
    want = codes(dtype, torch).to(getattr(torch, target))
    if target in FLOAT8:
        assert bits(ours) == bits(want)
    else:
        # What PyTorch makes of numbers that an unsigned or a narrow integer does not hold depends on the machine.
        number = codes(dtype, torch).double()
        sure = torch.ones(256, dtype=torch.bool)
        if "int" in target:
            limits = strided.iinfo(getattr(strided, target))
            sure = (number >= limits.min) & (number <= limits.max)
        ours, want, sure = ours.tolist(), want.tolist(), sure.tolist()
        assert [repr(v) for v, s in zip(ours, sure) if s] == [repr(v) for v, s in zip(want, sure) if s]


def outcome(function):
    try:
        return str(function())
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("a, b", [p for p in itertools.product(DTYPES, repeat=2) if set(p) & set(FLOAT8)])
def test_promotion(a, b):
    def both(function):
        return [outcome(lambda: function(m, getattr(m, a), getattr(m, b))) for m in (strided, torch)]

    ours, want = both(lambda m, x, y: m.promote_types(x, y))
    assert ours == want
    ours, want = both(lambda m, x, y: m.can_cast(x, y))
    assert ours == want
    for shapes in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
        ours, want = both(lambda m, x, y: m.result_type(m.ones(shapes[0], dtype=x), m.ones(shapes[1], dtype=y)))
        if "Unknown Complex" in want:  # other words for the same
            ours, want = ours.partition(":")[0], want.partition(":")[0]
        assert ours == want, shapes


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("number", [True, 2, 2.5])
def test_promotion_with_numbers(dtype, number):
    for shape in ((2,), ()):
        ours, want = (str(m.result_type(m.ones(shape, dtype=getattr(m, dtype)), number)) for m in (strided, torch))
        assert ours == want


@pytest.mark.parametrize("dtype", FLOAT8)
def test_names_and_limits(dtype):
    ours, want = getattr(strided, dtype), getattr(torch, dtype)
    assert repr(ours) == repr(want)
    for name in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, name) == getattr(want, name)
    assert repr(strided.finfo(ours)) == repr(torch.finfo(want))
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(strided.finfo(ours), name) == getattr(torch.finfo(want), name)
    assert strided.ones(2, dtype=ours).type() == torch.ones(2, dtype=want).type()


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize(
    "values",
    [[1.0, 2, -3, 0.1], [[1.5, -2], [448, 0.002]], [], 1.5, [float("nan"), -0.0, 4.4e1], [5e4, 1e-5, float("inf")]],
)
def test_printing(dtype, values):
    assert repr(strided.tensor(values, dtype=getattr(strided, dtype))) == repr(
        torch.tensor(values, dtype=getattr(torch, dtype))
    )


PROGRAMS = {
    "zeros": lambda m, t: m.zeros(2, 3, dtype=t),
    "ones": lambda m, t: m.ones(2, 3, dtype=t),
    "full": lambda m, t: m.full((3,), 2.7, dtype=t),
    "full_overflow": lambda m, t: m.full((3,), 1e30, dtype=t),
    "eye": lambda m, t: m.eye(3, dtype=t),
    "scalar_tensor": lambda m, t: m.scalar_tensor(3, dtype=t),
    "tensor_saturates": lambda m, t: m.tensor([1000.0, 1e30, float("inf"), -1e30, float("nan")], dtype=t),
    "new_tensor": lambda m, t: m.ones(2, dtype=t).new_tensor([1.3]),
    "zeros_like": lambda m, t: m.zeros_like(m.ones(2, 3, dtype=t)),
    "full_like": lambda m, t: m.full_like(m.ones(2, 3, dtype=t), 3.3),
    "frombuffer": lambda m, t: m.frombuffer(bytearray(range(250, 256)), dtype=t),
    "item": lambda m, t: m.tensor(0.3, dtype=t).item(),
    "tolist": lambda m, t: m.tensor([[0.3, 7], [-5, 60]], dtype=t).tolist(),
    "index": lambda m, t: m.arange(12.0).view(3, 4).to(t)[1:, ::2],
    "index_tensor": lambda m, t: m.arange(12.0).to(t)[m.tensor([3, -1, 3])],
    "index_mask": lambda m, t: m.arange(4.0).to(t)[m.tensor([True, False, True, True])],
    "index_select": lambda m, t: m.arange(12.0).view(3, 4).to(t).index_select(1, m.tensor([2, 0])),
    "set_number": lambda m, t: m.zeros(4, dtype=t).__setitem__(slice(1, 3), 0.7),
    "cat": lambda m, t: m.cat([m.ones(2, dtype=t), m.zeros(3, dtype=t)]),
    "cat_mixed": lambda m, t: m.cat([m.ones(2, dtype=t), m.zeros(3)]),
    "stack": lambda m, t: m.stack([m.ones(2, dtype=t), m.zeros(2, dtype=t)]),
    "transposed": lambda m, t: m.arange(12.0).view(3, 4).to(t).t().contiguous(),
    "roll": lambda m, t: m.arange(5.0).to(t).roll(2),
    "repeat": lambda m, t: m.arange(3.0).to(t).repeat(2),
    "where": lambda m, t: m.where(m.tensor([True, False]), m.ones(2, dtype=t), m.zeros(2, dtype=t)),
    "copy_": lambda m, t: m.zeros(3, dtype=t).copy_(m.tensor([0.3, 1e9, -2.2])),
    "copy_out": lambda m, t: m.zeros(3).copy_(m.tensor([0.3, 100, -2.2], dtype=t)),
    "fill_overflow": lambda m, t: m.zeros(3, dtype=t).fill_(1e30),
    "zero_": lambda m, t: m.ones(3, dtype=t).zero_(),
    "eq": lambda m, t: m.tensor([1.0, 2, float("nan")], dtype=t) == m.tensor([1.0, 3, float("nan")], dtype=t),
    "ne_number": lambda m, t: m.tensor([1.0, 2, float("nan")], dtype=t) != 2,
    "abs": lambda m, t: m.tensor([1.0, -2, -0.3], dtype=t).abs(),
    "isnan": lambda m, t: m.tensor([1.0, -2, float("nan")], dtype=t).isnan(),
    "any": lambda m, t: m.tensor([0.0, 0, 1], dtype=t).any(),
    "mixed_add": lambda m, t: m.ones(2, dtype=t) + m.ones(2),
    "mixed_inplace": lambda m, t: m.ones(2).add_(m.ones(2, dtype=t)),
    "arange": lambda m, t: m.arange(3, dtype=t),
    "linspace": lambda m, t: m.linspace(0, 1, 3, dtype=t),
    "sort": lambda m, t: m.ones(3, dtype=t).sort(),
    "cumsum": lambda m, t: m.ones(3, dtype=t).cumsum(0),
    "rand": lambda m, t: m.rand(3, dtype=t),
    "clone_of_grad": lambda m, t: m.tensor([1.25, 2.0], requires_grad=True).to(t),
}


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, dtype):
    def run(m):
        try:
            return repr(PROGRAMS[name](m, getattr(m, dtype)))
        except NotImplementedError:
            return "NotImplementedError"
        except (RuntimeError, TypeError) as error:
            return f"{type(error).__name__}: {error}"

    assert run(strided) == run(torch)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_dlpack_both_ways(dtype):
    ours = codes(dtype)
    there = torch.from_dlpack(ours)
    assert there.dtype == getattr(torch, dtype)
    assert bits(there) == list(range(256))
    there.view(torch.uint8)[3] = 99
    assert bits(ours)[3] == 99
    back = strided.from_dlpack(codes(dtype, torch)[::2])
    assert back.dtype == getattr(strided, dtype)
    assert bits(back) == list(range(0, 256, 2))
