"""The whole promotion table as a picture, and against the neighbours where they define it.

`python tests/python/ops/test_promotion.py` prints the picture that the library gives now.
"""

import itertools
from pathlib import Path

import numpy
import pytest
import strided

PICTURE = Path(__file__).parents[1] / "support" / "promotion_table.txt"
# The short name stands in the picture.
DTYPES = {
    "bool": "bool",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "c64": "complex64", "c128": "complex128",
}  # fmt: skip
PAIRS = list(itertools.product(DTYPES.values(), repeat=2))


def draw() -> str:
    """The table of `promote_types`, one row and one column for each dtype."""
    short = {getattr(strided, name): abbreviation for abbreviation, name in DTYPES.items()}

    def line(cells):
        return "".join(f"{cell:>5}" for cell in cells).rstrip() + "\n"

    rows = [line(["", *DTYPES])]
    for abbreviation, name in DTYPES.items():
        row = [
            short[strided.promote_types(getattr(strided, name), getattr(strided, other))] for other in DTYPES.values()
        ]
        rows.append(line([abbreviation, *row]))
    return "".join(rows)


def test_table_is_the_committed_picture():
    assert draw() == PICTURE.read_text("utf-8")


@pytest.mark.parametrize("a, b", PAIRS)
def test_arithmetic_follows_the_table(a, b):
    a, b = getattr(strided, a), getattr(strided, b)
    expected = strided.promote_types(a, b)
    x, y = strided.ones(2, dtype=a), strided.ones(2, dtype=b)
    assert (x * y).dtype == expected
    assert strided.result_type(x, y) == expected
    assert strided.cat([x, y]).dtype == expected
    # A 0-d tensor only raises the kind; the precision of floats stays when they become complex.
    zero_dim = (x * strided.ones((), dtype=b)).dtype
    assert zero_dim == strided.result_type(x, strided.ones((), dtype=b))
    if a.is_floating_point and b.is_complex:
        expected = strided.complex128 if a is strided.float64 else strided.complex64
    assert zero_dim in (a, expected)


@pytest.mark.parity
def test_agrees_with_torch_where_it_is_defined():
    torch = pytest.importorskip("torch")
    compared = 0
    for a, b in PAIRS:
        try:
            expected = torch.promote_types(getattr(torch, a), getattr(torch, b))
        except RuntimeError:  # the unsigned integers beyond uint8
            continue
        assert str(strided.promote_types(getattr(strided, a), getattr(strided, b))) == str(expected), (a, b)
        compared += 1
    assert compared > 150


@pytest.mark.parametrize("a, b", [p for p in PAIRS if all(n == "bool" or "int" in n for n in p)])
def test_integers_agree_with_numpy(a, b):
    result = strided.promote_types(getattr(strided, a), getattr(strided, b))
    assert str(result) == f"torch.{numpy.promote_types(a, b)}"


def _kind(dtype):
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else int(dtype != strided.bool)


@pytest.mark.parametrize("number, kind", [(True, "bool"), (3, "int64"), (1.5, "float32"), (1j, "complex64")])
@pytest.mark.parametrize("name", DTYPES.values())
def test_python_numbers_are_weak(name, number, kind):
    dtype, of_number = getattr(strided, name), getattr(strided, kind)
    expected = dtype if _kind(dtype) >= _kind(of_number) else strided.promote_types(dtype, of_number)
    assert strided.result_type(strided.ones(2, dtype=dtype), number) == expected
    assert (strided.ones(2, dtype=dtype) * number).dtype == expected


if __name__ == "__main__":
    print(draw(), end="")


@pytest.mark.parametrize("size", [1, 7, 8, 9, 255, 256, 257, 1000])
def test_rows_of_float16(size):
    """Loops convert whole vectors where the processor can: each length around their edges, and every float16."""
    every = numpy.arange(65536, dtype=numpy.uint16).view(numpy.float16)
    for first in (0, 31743 - size // 2, 65536 - size):  # zeros and small numbers, the largest and infinity, NaN
        a = every[first : first + size]
        x = strided.from_numpy(a.copy())
        with numpy.errstate(all="ignore"):
            numpy.testing.assert_array_equal(x.float().numpy(), a.astype(numpy.float32))
            numpy.testing.assert_array_equal((x + x).numpy(), a + a)
            numpy.testing.assert_array_equal((x > 1).numpy(), a > 1)
            numpy.testing.assert_array_equal(x.flip(0)[::-1].float().numpy(), a.astype(numpy.float32))
    wide = numpy.random.default_rng(0).standard_normal(size).astype(numpy.float32) * numpy.float32(1e4)
    numpy.testing.assert_array_equal(strided.from_numpy(wide).half().numpy(), wide.astype(numpy.float16))


def test_every_float16():
    every = numpy.arange(65536, dtype=numpy.uint16).view(numpy.float16)
    x = strided.from_numpy(every.copy())
    numpy.testing.assert_array_equal(x.float().numpy(), every.astype(numpy.float32))
    back = x.float().half().numpy()
    numpy.testing.assert_array_equal(back, every)
    assert (numpy.signbit(back) == numpy.signbit(every)).all()


@pytest.mark.parametrize("words", [{"dtype": strided.int8}, {"copy": "yes"}, {"other": 3}])
def test_to_takes_each_argument_once_and_of_its_kind(words):
    with pytest.raises(TypeError, match="dtype|copy|other"):
        strided.ones(2).to(strided.float64, **words)


def test_usual_and_rare_forms_of_a_cast_agree():
    x = strided.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
    for dtype in strided._C.dtypes:
        usual, rare = x.to(dtype), x.to(dtype=dtype, device="cpu")
        assert usual.dtype == rare.dtype == dtype
        assert usual.tolist() == rare.tolist()
        assert (usual.grad_fn is None) == (rare.grad_fn is None)
    assert x.to(strided.float32) is x
    assert x.to(float).dtype == x.double().dtype == x.double(memory_format=None).dtype == strided.float64
    assert x.t().half().stride() == (1, 2)
    for wrong in (1.5, [strided.int8]):
        with pytest.raises(TypeError, match="cannot make a dtype"):
            x.to(wrong)
    with pytest.raises(TypeError):
        x.double(1, 2)
