"""Tensors from sizes and numbers: values, dtypes, options, errors."""

import math

import numpy as np
import pytest
import strided as torch

INF, NAN = math.inf, math.nan
ALL = list(torch._dtypes) if hasattr(torch, "_dtypes") else [torch.float32]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]


# ---------------------------------------------------------------- one value


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (70, 70)])
@pytest.mark.parametrize("dtype", ALL)
def test_filled(shape, dtype):
    for made, value in (
        (torch.zeros(shape, dtype=dtype), 0),
        (torch.ones(*shape, dtype=dtype), 1) if shape else (torch.ones((), dtype=dtype), 1),
        (torch.full(shape, 1, dtype=dtype), 1),
    ):
        assert made.shape == shape and made.dtype == dtype and made.is_contiguous()
        assert made.flatten().tolist() == [value] * made.numel()
    assert torch.empty(shape, dtype=dtype).dtype == dtype


def test_large_zeros_are_zero():
    dirty = torch.full((300_000,), 7.0)
    del dirty  # its memory may come back
    assert not torch.zeros(300_000).numpy().any()
    assert not torch.zeros_like(torch.empty(600, 500).t()).numpy().any()


def test_dtype_is_inferred():
    assert torch.full((1,), 7).dtype == torch.int64
    assert torch.full((1,), 7.0).dtype == torch.float32
    assert torch.full((1,), True).dtype == torch.bool
    assert torch.full((1,), 1j).dtype == torch.complex64
    assert torch.full((1,), torch.tensor(2.5)).tolist() == [2.5]
    assert torch.zeros(1).dtype == torch.float32 and torch.zeros(1, dtype=float).dtype == torch.float64
    torch.set_default_dtype(torch.float64)
    assert (
        torch.zeros(1).dtype
        == torch.full((1,), 7.0).dtype
        == torch.arange(1.0).dtype
        == torch.eye(1).dtype
        == torch.float64
    )
    assert torch.full((1,), 1j).dtype == torch.complex128


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.float16, torch.float32, torch.float64, torch.complex64, torch.bool])
def test_lists_of_ints(dtype):
    for values in ([0, 1, 2], (3,), [[1, 2], [3, 4]], [[1, 2], (3, 4)], [1, True], [1, torch.tensor(2)], [1, 2.0]):
        made = torch.tensor(values, dtype=dtype)
        assert made.dtype == dtype and made.tolist() == torch.tensor(np.array(values), dtype=dtype).tolist()
    if dtype in INTEGERS:
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.tensor([1, 2**64 - 1 if dtype != torch.uint64 else -1], dtype=dtype)
        least = torch.iinfo(dtype).min
        assert torch.tensor([1, least], dtype=dtype).tolist() == [1, least]


def test_dtype_of_lists_of_ints():
    assert (
        torch.tensor([1, 2]).dtype == torch.tensor([1, 2**40]).dtype == torch.tensor([[1], [True]]).dtype == torch.int64
    )
    assert torch.tensor([2**63]).dtype == torch.uint64 and torch.tensor([1, 2.0]).dtype == torch.float32
    with pytest.raises(ValueError, match="expected sequence of length 2"):
        torch.tensor([[1, 2], [3]])
    x = torch.arange(10)
    assert x[[0, 2, -1]].tolist() == [0, 2, 9] and x[[2**40 - 2**40]].tolist() == [0]


def test_sizes_one_by_one():
    class Counted:
        def __index__(self):
            return 3

    out = torch.empty(0)
    assert torch.zeros(2, 3, out=out) is out and out.shape == (2, 3)
    assert torch.ones(2, np.int64(3)).shape == torch.ones(2, Counted()).shape == (2, 3)
    assert torch.ones(2, torch.tensor(3)).shape == (2, 3)
    assert torch.zeros(*[1] * 20).shape == (1,) * 20
    assert torch.zeros(6).view(2, -1).shape == torch.zeros(6).reshape(2, Counted()).shape == (2, 3)
    assert torch.zeros(2**40, 0).shape == (2**40, 0)
    assert torch.zeros._bind(2, 3)[1][0] == (2, 3)
    for sizes in ((2, True), (2, 1.0), (2, "3"), (2, None), (2, (3,))):
        with pytest.raises(TypeError):
            torch.zeros(*sizes)
    with pytest.raises(TypeError, match="multiple values|invalid combination"):
        torch.zeros(2, 3, size=(2, 3))
    with pytest.raises(TypeError, match="Overflow"):
        torch.zeros(2, 2**70)
    with pytest.raises(RuntimeError, match="negative"):
        torch.zeros(2, -3)


def test_sizes_in_every_form():
    for made in (
        torch.zeros(2, 3),
        torch.zeros((2, 3)),
        torch.zeros([2, 3]),
        torch.zeros(size=(2, 3)),
        torch.zeros(torch.Size([2, 3])),
        torch.zeros(torch.tensor(2), 3),
    ):
        assert made.shape == (2, 3)
    assert torch.full((2,), value=3).tolist() == torch.full(size=(2,), fill_value=3).tolist() == [3, 3]


def test_values_are_converted():
    assert torch.full((1,), -1, dtype=torch.uint8).tolist() == [255]
    assert torch.full((1,), 1.9, dtype=torch.int32).tolist() == [1]
    assert torch.full((1,), NAN, dtype=torch.bool).tolist() == [True]
    assert torch.full((1,), 2**63).dtype == torch.uint64
    assert torch.full((1,), -INF, dtype=torch.float16).tolist() == [-INF]
    for value, dtype, name in (
        (256, torch.uint8, "uint8_t"),
        (128, torch.int8, "int8_t"),
        (2**31, torch.int32, "int"),
        (NAN, torch.int64, "int64_t"),
        (1e40, torch.float32, "float"),
        (70000, torch.float16, "c10::Half"),
        (1j, torch.float32, "float"),
        (1e40j, torch.complex64, "c10::complex<float>"),
    ):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
            torch.full((2,), value, dtype=dtype)


def test_numbers_of_lists_lie_in_the_range_of_integers():
    """torch.tensor(data, dtype=...) refuses what the dtype cannot hold, before the fraction is cut off."""
    for values, dtype in (
        ([-1.0, -0.5, 255.5, 256.0, 1e19, NAN, INF], torch.uint8),
        ([127.5, -128.5, 1e19, -INF], torch.int8),
        ([2.0**63, -1e19, NAN], torch.int64),
        ([2.0**64, -1.0], torch.uint64),
    ):
        for value in values:
            with pytest.raises(RuntimeError, match=f"{str(dtype)[6:]} without overflow"):
                torch.tensor([0, value], dtype=dtype)
    assert torch.tensor([254.9, 255.0, 0.0], dtype=torch.uint8).tolist() == [254, 255, 0]
    assert torch.tensor([-128.0, 126.9, -0.5], dtype=torch.int8).tolist() == [-128, 126, 0]
    assert torch.tensor([-(2.0**63)], dtype=torch.int64).tolist() == [-(2**63)]
    assert torch.tensor([1j, 0j], dtype=torch.bool).tolist() == [True, False]
    with pytest.raises(TypeError, match="'complex' object cannot be interpreted as an integer"):
        torch.tensor([1j], dtype=torch.int64)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        torch.tensor([1j], dtype=torch.float32)


def test_options():
    x = torch.zeros(2, requires_grad=True, layout=torch.strided, device="cpu", pin_memory=False)
    assert x.requires_grad and x.is_leaf
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.zeros(2, dtype=torch.int32, requires_grad=True)
    out = torch.empty(0, dtype=torch.int16)
    assert torch.arange(3, out=out) is out and out.tolist() == [0, 1, 2] and out.dtype == torch.int16
    assert torch.ones(2, out=torch.empty(2, dtype=torch.float64)).dtype == torch.float64
    with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out parameter \(Int\)"):
        torch.zeros(2, out=torch.empty(0, dtype=torch.int32), dtype=torch.float32)


def test_like():
    x = torch.zeros(2, 3).t()
    for make in (torch.zeros_like, torch.ones_like, torch.empty_like, lambda t, **k: torch.full_like(t, 1, **k)):
        assert make(x).stride() == (1, 3)
        assert make(x, dtype=torch.int8).dtype == torch.int8
        assert make(x, memory_format=torch.contiguous_format).stride() == (2, 1)
        assert make(x, memory_format=torch.preserve_format).stride() == (1, 3)
        assert make(torch.zeros(3, 4)[:, ::2]).stride() == (2, 1)
        assert make(x, requires_grad=True).requires_grad
    assert torch.full_like(torch.tensor([1, 2]), 2.7).tolist() == [2, 2]
    x = torch.tensor([1, 2], dtype=torch.int16)
    assert x.new_zeros(2, 2).tolist() == [[0, 0], [0, 0]] and x.new_zeros(1).dtype == torch.int16
    assert x.new_ones((2,), dtype=torch.float64).tolist() == [1.0, 1.0]
    assert x.new_full((1,), 3.7).tolist() == [3]
    assert x.new_empty(2, 3).shape == (2, 3)
    assert x.new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert torch.empty_strided((2, 3), (0, 1)).stride() == (0, 1)


# ---------------------------------------------------------------- evenly spaced


def test_arange():
    assert torch.arange(5).tolist() == [0, 1, 2, 3, 4]
    assert torch.arange(1, 10, 3).tolist() == [1, 4, 7]
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert torch.arange(start=1, end=3).tolist() == [1, 2]
    assert torch.arange(3, 3).tolist() == torch.arange(0).tolist() == []
    assert (
        torch.arange(5).dtype == torch.int64
        and torch.arange(5.0).dtype == torch.float32
        and torch.arange(0, 1, 0.5).dtype == torch.float32
    )
    assert torch.arange(True).dtype == torch.int64
    assert torch.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert torch.arange(2**63 - 2, 2**63 - 1).tolist() == [2**63 - 2]
    assert torch.arange(-(2**63), 2**63 - 1, 2**62).tolist() == [-(2**63), -(2**62), 0, 2**62]
    assert torch.arange(0.5, 5.9, 1.7, dtype=torch.int64).tolist() == [0, 1, 2, 3, 4]
    for dtype in INTEGERS:
        assert torch.arange(2, 9, 3, dtype=dtype).tolist() == [2, 5, 8]
    np.testing.assert_array_equal(torch.arange(0, 1, 0.1, dtype=torch.float64).numpy(), np.arange(0, 1, 0.1))


def test_arange_whose_whole_step_is_zero():
    # As in PyTorch: as many numbers as the step without rounding gives, each the first one. int64 refuses it.
    assert torch.arange(0, 2, 0.5, dtype=torch.int32).tolist() == [0, 0, 0, 0]
    assert torch.arange(5, 4, -0.5, dtype=torch.uint8).tolist() == [5, 5]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 1000, 70001])
def test_arange_of_floats_by_definition(n):
    """start + i * step: once for the first of a vector of 32 bytes, rounded, plus a multiple of the step (Note [Blocks
    of arange])."""
    start, step = 0.1, 0.7
    end = start + step * (n - 0.5)
    if n == 0:
        assert torch.arange(start, start, step).shape == (0,)
        return
    got = torch.arange(start, end, step, dtype=torch.float32)
    assert got.shape == (n,)
    i = np.arange(n)
    block = i // 8 * 8
    want = ((start + block * step).astype(np.float32).astype(np.float64) + (i - block) * step).astype(np.float32)
    tail = n // 16 * 16
    want[tail:] = (start + i[tail:] * step).astype(np.float32)
    np.testing.assert_array_equal(got.numpy(), want)
    wide = torch.arange(start, end, step, dtype=torch.float64).numpy()
    np.testing.assert_allclose(wide, start + i * step, rtol=4e-16)


def test_range_includes_the_end():
    assert torch.range(1, 4).tolist() == [1, 2, 3, 4]
    assert torch.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
    assert torch.range(1, 5, 2, dtype=torch.int64).tolist() == [1, 3, 5]


def test_linspace():
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert torch.linspace(3, 9, 1).tolist() == [3]
    assert torch.linspace(0, 1, 0).shape == (0,)
    assert torch.linspace(0, 10, 5, dtype=torch.int64).tolist() == [0, 2, 5, 7, 10]
    assert torch.linspace(-10, 3, 7, dtype=torch.int32).tolist() == [-10, -7, -5, -3, -1, 0, 3]
    assert torch.linspace(250, 3, 8, dtype=torch.uint8).tolist() == [250, 214, 179, 144, 108, 73, 38, 3]
    assert torch.linspace(0, 1j, 3).tolist() == [0, 0.5j, 1j]
    assert torch.linspace(torch.tensor(0), 1.5, 3).tolist() == [0, 0.75, 1.5]
    for dtype in (torch.float32, torch.float64):
        x = torch.linspace(0.1, 0.9, 97, dtype=dtype)
        assert (
            x[0].item() == torch.tensor(0.1, dtype=dtype).item()
            and x[-1].item() == torch.tensor(0.9, dtype=dtype).item()
        )
        y = torch.linspace(-0.3, 0.3, 10, dtype=dtype)
        assert y.tolist() == [-v for v in reversed(y.tolist())]
    np.testing.assert_allclose(
        torch.linspace(-3, 7, 1000, dtype=torch.float64).numpy(), np.linspace(-3, 7, 1000), rtol=1e-14, atol=1e-14
    )


def test_logspace():
    assert torch.logspace(0, 2, 3).tolist() == [1, 10, 100]
    assert torch.logspace(0, 3, 4, 2).tolist() == torch.logspace(0, 3, 4, base=2.0).tolist() == [1, 2, 4, 8]
    assert torch.logspace(2, 9, 1).tolist() == [100]
    assert torch.logspace(0, 2, 5, dtype=torch.int64).tolist() == [1, 3, 10, 31, 100]
    np.testing.assert_allclose(
        torch.logspace(-1, 2, 20, dtype=torch.float64).numpy(), np.logspace(-1, 2, 20), rtol=1e-14
    )
    np.testing.assert_allclose(
        torch.logspace(0, 1j, 3, dtype=torch.complex128).numpy(), 10 ** np.linspace(0, 1j, 3), rtol=1e-14
    )


# ---------------------------------------------------------------- matrices, complex numbers


def test_eye_and_triangle_indices():
    for n, m in ((3, 3), (2, 4), (4, 2), (0, 3), (1, 0)):
        np.testing.assert_array_equal(torch.eye(n, m).numpy(), np.eye(n, m))
        for k in (-3, -1, 0, 1, 2, 5):
            np.testing.assert_array_equal(torch.tril_indices(n, m, k).numpy(), np.array(np.tril_indices(n, k, m)))
            np.testing.assert_array_equal(
                torch.triu_indices(n, m, offset=k).numpy(), np.array(np.triu_indices(n, k, m))
            )
    assert torch.eye(2, dtype=torch.bool).tolist() == [[True, False], [False, True]]
    assert torch.tril_indices(3, 3, dtype=torch.int32).dtype == torch.int32
    assert torch.tril_indices(2**57, 0).shape == torch.triu_indices(2**57, 3, 2**62).shape == (2, 0)
    assert torch.tril_indices(3, 3, -(2**63)).shape == (2, 0)


def test_complex_and_polar():
    a, b = torch.tensor([[1.0], [2.0]]), torch.tensor([3.0, -4.0])
    z = torch.complex(a, b)
    assert z.tolist() == [[1 + 3j, 1 - 4j], [2 + 3j, 2 - 4j]] and z.dtype == torch.complex64
    out = torch.empty(0, dtype=torch.complex64)
    assert torch.complex(a, b, out=out) is out and out.shape == (2, 2)
    r, t = (
        torch.tensor([2.0], dtype=torch.float64, requires_grad=True),
        torch.tensor([0.5], dtype=torch.float64, requires_grad=True),
    )
    z = torch.polar(r, t)
    assert abs(z.item() - 2 * complex(math.cos(0.5), math.sin(0.5))) < 1e-15
    (z.real * 3 + z.imag).sum().backward()
    assert abs(r.grad.item() - (3 * math.cos(0.5) + math.sin(0.5))) < 1e-14
    assert abs(t.grad.item() - 2 * (-3 * math.sin(0.5) + math.cos(0.5))) < 1e-14
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(1, requires_grad=True)
    z = torch.complex(x, y)
    (z.real + 2 * z.imag).sum().backward()
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [4]


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: torch.zeros(-1), RuntimeError, "zeros: Dimension size must be non-negative."),
        (lambda: torch.zeros(2**40, 2**40), RuntimeError, "does not fit"),
        (lambda: torch.zeros(2**62, 2**62, 0), RuntimeError, "does not fit"),
        (lambda: torch.empty([1] * 65), RuntimeError, "at most 64"),
        (lambda: torch.zeros(2.5), TypeError, "'size'"),
        (lambda: torch.zeros(), TypeError, 'missing 1 required positional arguments: "size"'),
        (
            lambda: torch.empty_strided((2, 3), (1,)),
            RuntimeError,
            "dimensionality of sizes (2) must match dimensionality of strides (1)",
        ),
        (lambda: torch.empty_strided((2,), (-1,)), RuntimeError, "must not be negative"),
        (lambda: torch.empty_strided((2, 2), (2**62, 1)), RuntimeError, "more memory than there can be"),
        (lambda: torch.arange(0, 5, 0), RuntimeError, "step must be nonzero"),
        (lambda: torch.arange(0, 5, NAN), RuntimeError, "step must be nonzero"),
        (lambda: torch.arange(0, 5, 0.5, dtype=torch.int64), ValueError, "step must be nonzero"),
        (lambda: torch.arange(0, -5, 0.5, dtype=torch.int64), RuntimeError, "inconsistent with step sign"),
        (lambda: torch.arange(5, 1), RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        (lambda: torch.arange(0, 5, -1), RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        (lambda: torch.arange(NAN), RuntimeError, "unsupported range: 0 -> nan"),
        (lambda: torch.arange(0, INF), RuntimeError, "unsupported range: 0 -> inf"),
        (lambda: torch.arange(0, INF, dtype=torch.int32), RuntimeError, "unsupported range: 0 -> inf"),
        (lambda: torch.arange(1e30), RuntimeError, "invalid size, possible overflow?"),
        (lambda: torch.arange(-(2**63), 2**63 - 1), RuntimeError, "invalid size, possible overflow?"),
        (lambda: torch.arange(0, 1, 1e-300), RuntimeError, "invalid size, possible overflow?"),
        (lambda: torch.arange(1j), RuntimeError, "value cannot be converted to type double without overflow"),
        (
            lambda: torch.arange(1e30, dtype=torch.int64),
            RuntimeError,
            "value cannot be converted to type int64_t without overflow",
        ),
        (lambda: torch.arange(3, dtype=torch.bool), NotImplementedError, "\"arange_cpu\" not implemented for 'Bool'"),
        (lambda: torch.arange(3, requires_grad=True), RuntimeError, "Only Tensors of floating point"),
        (lambda: torch.range(5, 1), RuntimeError, "inconsistent with step sign"),
        (lambda: torch.linspace(0, 1, -1), RuntimeError, "number of steps must be non-negative"),
        (
            lambda: torch.linspace(0, 1, 3, dtype=torch.bool),
            NotImplementedError,
            "\"linspace_cpu\" not implemented for 'Bool'",
        ),
        (
            lambda: torch.linspace(0, 300, 3, dtype=torch.uint8),
            RuntimeError,
            "value cannot be converted to type uint8_t without overflow",
        ),
        (
            lambda: torch.linspace(0, 1j, 3, dtype=torch.float32),
            RuntimeError,
            "inferred dtype c10::complex<float> can't be safely cast to passed dtype Float",
        ),
        (lambda: torch.logspace(0, 1, -1), RuntimeError, "number of steps must be non-negative"),
        (lambda: torch.eye(-1), RuntimeError, "n must be greater or equal to 0, got -1"),
        (lambda: torch.eye(2, -1), RuntimeError, "m must be greater or equal to 0, got -1"),
        (lambda: torch.tril_indices(-1, 3), RuntimeError, "row must be non-negative, got-1"),
        (lambda: torch.tril_indices(2**40, 2**40), RuntimeError, "too large"),
        (
            lambda: torch.triu_indices(3, 3, dtype=torch.float32),
            NotImplementedError,
            "\"triu_indices\" not implemented for 'Float'",
        ),
        (
            lambda: torch.complex(torch.zeros(2, dtype=torch.int32), torch.zeros(2)),
            RuntimeError,
            "Expected both inputs to be Float or Double tensors but got Int and Float",
        ),
        (
            lambda: torch.complex(torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
            RuntimeError,
            "Expected object of scalar type Float but got scalar type Double for second argument",
        ),
        (
            lambda: torch.complex(torch.zeros(2), torch.zeros(3)),
            RuntimeError,
            "The size of tensor a (2) must match the size of tensor b (3)",
        ),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("bytes_", [2**22 - 4, 2**22, 2**22 + 4, 3 * 2**21 + 12])
def test_zeros_are_zeros_in_memory_that_was_written(bytes_):
    for _ in range(3):
        x = torch.zeros(bytes_ // 4)
        assert not x.any()
        x.fill_(1.5)
        del x


def test_layouts_other_than_strided_are_refused():
    assert torch.zeros(2, layout=torch.strided).layout is torch.strided
    assert torch.zeros(2).layout != torch.sparse_coo
    with pytest.raises(NotImplementedError, match="torch.sparse_coo"):
        torch.zeros(2, layout=torch.sparse_coo)
    with pytest.raises(TypeError, match="'layout'"):
        torch.ones_like(torch.zeros(2), layout="strided")


def test_lists_of_floats_and_of_everything():
    """A row of floats is read by a loop of its own."""
    rows = [[0.5, -1.0, 1e300], [3.0, float("inf"), 0.0]]
    for dtype in (torch.float64, torch.float32, torch.float16, torch.complex64):
        made = torch.tensor(rows, dtype=dtype)
        assert made.dtype == dtype
        assert made.tolist() == [[torch.tensor(v, dtype=dtype).item() for v in row] for row in rows]
    assert torch.tensor(rows).dtype == torch.float32
    assert torch.tensor([[1.5, 2.5], (3, True)]).tolist() == [[1.5, 2.5], [3.0, 1.0]]
    assert torch.tensor([[3, 4], [1.5, 2.5]]).tolist() == [[3.0, 4.0], [1.5, 2.5]]
    assert torch.tensor([[1.5, 2.5], [1j, 0]]).dtype == torch.complex64
    assert torch.tensor([1.7, -2.5], dtype=torch.int64).tolist() == [1, -2]
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        torch.tensor([[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError, match="not a sequence"):
        torch.tensor([[1.0, 2.0], 3.0])
    with pytest.raises(ValueError, match="expected a number at dim 2"):
        torch.tensor([[1.0, 2.0], [[3.0], [4.0]]])


def test_tensor_in_its_usual_form():
    with torch.device("meta"):
        assert torch.tensor([1.0, 2.0]).device.type == torch.tensor([1.0], dtype=None).device.type == "meta"
    source = torch.ones(2, requires_grad=True)
    made = torch.tensor(source)
    assert made.tolist() == [1.0, 1.0]
    assert not made.requires_grad
    made[0] = 5
    assert source.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Could not infer dtype of object"):
        torch.tensor(object())
    with pytest.raises(TypeError):
        torch.tensor()
    with pytest.raises(TypeError):
        torch.tensor([1.0], torch.float32)


def test_tensors_of_one_element_are_numbers_too():
    one = torch.ones(1)
    assert torch.tensor([[2.0, one], [torch.full((1, 1), 3.0), torch.tensor(4.0)]]).tolist() == [[2.0, 1.0], [3.0, 4.0]]
    assert torch.tensor([1, torch.tensor([2.5], dtype=torch.float64)]).equal(
        torch.tensor([1, 2.5], dtype=torch.float64)
    )
    assert torch.tensor([True, torch.tensor([2])]).equal(torch.tensor([1, 2]))
    assert torch.tensor([one, one]).tolist() == [1.0, 1.0] and torch.tensor([[one], [1.0]]).tolist() == [[1.0], [1.0]]
    assert torch.tensor([torch.ones(1, 1), 2.0]).tolist() == [1.0, 2.0]
    for wrong in ([1.0, torch.ones(2)], [1.0, torch.ones(0)], [1.0, np.ones(1)], [torch.ones(2), torch.ones(2, 1)]):
        with pytest.raises(ValueError, match="expected elements of one shape"):
            torch.tensor(wrong)


def test_sizes_may_be_integer_tensors_of_one_element():
    two, three = torch.tensor([2]), torch.tensor([[3]], dtype=torch.int32)
    assert torch.zeros(two, three).shape == torch.rand((two, 3)).shape == torch.empty(2, three).shape == (2, 3)
    assert torch.zeros(two).shape == (2,) and torch.full([three], 1).shape == (3,)
    x = torch.arange(6)
    assert x.view(two, three).shape == x.reshape(two, -1).shape == (2, 3)
    assert x.expand(two, 6).shape == (2, 6) and x.repeat(two).shape == (12,)
    assert x.view(2, 3).permute(torch.tensor([1]), 0).shape == (3, 2)
    for wrong in (torch.tensor([2.0]), torch.tensor([2, 3]), torch.tensor([True])):
        with pytest.raises(TypeError):
            torch.zeros(wrong)
        with pytest.raises(TypeError):
            torch.zeros(2, wrong)


@pytest.mark.parametrize(
    "data, error, text",
    [
        ("a", TypeError, r"new\(\): invalid data type 'str'"),
        ([1, "a"], TypeError, r"new\(\): invalid data type 'str'"),
        (["ab", "cd"], ValueError, "too many dimensions 'str'"),
        ([["a"]], ValueError, "too many dimensions 'str'"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        ([None], RuntimeError, "Could not infer dtype of NoneType"),
        ([[1], None], RuntimeError, "Could not infer dtype of NoneType"),
        ([object()], RuntimeError, "Could not infer dtype of object"),
        ([{}], RuntimeError, "Could not infer dtype of dict"),
    ],
)
def test_what_makes_no_tensor(data, error, text):
    with pytest.raises(error, match=text):
        torch.tensor(data)


def test_where_with_a_condition_of_one_value_elsewhere():
    meta = torch.device("meta")
    one = torch.ones((), device=meta)
    assert torch.where(torch.tensor(True), one, one).is_meta
    assert torch.where(torch.tensor(True), torch.ones(3, device=meta), 1.0).shape == (3,)
    with pytest.raises(RuntimeError, match="same device"):
        torch.where(torch.tensor([True]), one, one)
    with pytest.raises(RuntimeError, match="same device"):
        torch.where(torch.tensor([True]).to(meta), torch.ones(3), one)


class Exporter:
    """An array of another library: all it has is the two methods of the protocol."""

    def __init__(self, held):
        self.held = held

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


def test_arrays_of_other_libraries():
    x = torch.arange(6.0).reshape(2, 3)
    for made in (
        torch.tensor(Exporter(x)),
        torch.asarray(Exporter(x), copy=True),
        torch.asarray(x.__dlpack__(), copy=True),
    ):
        assert torch.equal(made, x) and made.data_ptr() != x.data_ptr()
    for made in (torch.as_tensor(Exporter(x)), torch.asarray(Exporter(x)), torch.asarray(x.__dlpack__(), copy=False)):
        assert torch.equal(made, x) and made.data_ptr() == x.data_ptr()
    assert torch.tensor(Exporter(x), dtype=torch.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="can't alias"):
        torch.asarray(x.__dlpack__(), dtype=torch.float64, copy=False)


def test_scalars_of_numpy_have_no_memory_to_share():
    assert torch.asarray(np.float32(0.5)).dtype == torch.float32
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        torch.asarray(np.float32(0.5), copy=False)


def test_bools_of_integers_beyond_64_bits():
    assert torch.tensor([2**70, 0, -(2**64), NAN], dtype=torch.bool).tolist() == [True, False, True, True]
    assert torch.tensor(2**70, dtype=torch.bool).item() is True


@pytest.mark.parametrize("before", [[], [0], [[1]]])
def test_lists_that_hold_themselves(before):
    before.append(before)
    for make in (torch.tensor, torch.as_tensor):
        with pytest.raises(TypeError, match="self-referential lists are incompatible"):
            make(before)


def test_exported_strides_that_no_element_depends_on_are_1():
    assert torch.from_dlpack(torch.ones(16)[::3][:1]).stride() == (1,)
    assert torch.from_dlpack(torch.ones(4, 6)[:, ::2]).stride() == (6, 2)


def test_a_stream_is_a_number():
    with pytest.raises(TypeError, match="stream must be an int or None"):
        torch.ones(2).__dlpack__(stream=object())


@pytest.mark.parametrize("given", [[1, 2], 5, None])
def test_frombuffer_of_no_buffer(given):
    with pytest.raises(ValueError, match="object does not implement Python buffer protocol"):
        torch.frombuffer(given, dtype=torch.int8)


def test_arrays_without_axes_are_sizes():
    two, three = np.array(2), np.int64(3)
    for x in (
        torch.ones(two, three),
        torch.ones((two, three)),
        torch.zeros(6).view(two, 3),
        torch.empty([three, two]).t(),
    ):
        assert x.shape == (2, 3)
    for size in (np.array(3.0), np.array([3]), np.array(True), np.array("a", dtype=object)):
        with pytest.raises(TypeError):
            torch.ones(size)


def test_new_takes_a_size_by_name():
    assert torch.ones(2).new(size=(3, 4)).shape == (3, 4) and torch.Tensor(size=(2,)).shape == (2,)
    with pytest.raises(TypeError):
        torch.ones(2).new(3, size=(2,))


@pytest.mark.parametrize("make", [torch.Tensor, torch.IntTensor, torch.ones(1).new])
def test_legacy_constructors_of_numpys_objects(make):
    made = make(np.array(2.0))
    assert made.ndim == 0 and made.item() == 2
    assert make(np.array([1, 2])).tolist() == [1, 2]
    for size in (np.int64(3), np.array(3), np.uint8(3)):
        assert make(size).shape == (3,)
    for wrong in (np.float32(3), {1: 2}, {1, 2}, None, 2.5, iter([1])):
        with pytest.raises(TypeError, match=r"new\(\): data must be a sequence"):
            make(wrong)


def test_a_tensor_of_a_tensor_is_a_view_of_any_dtype():
    class Mine(torch.Tensor):
        pass

    x = torch.ones(2, dtype=torch.uint8)
    for made in (torch.Tensor(x), Mine(x), torch.Tensor.__new__(Mine, x)):
        assert made.dtype == torch.uint8 and made.data_ptr() == x.data_ptr()
    assert type(made) is Mine
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    made = Mine(y)
    assert type(made.grad_fn).__name__ == "AliasBackward0"
    made.sum().backward()
    assert y.grad.tolist() == [1, 1]
    for call in (lambda: torch.FloatTensor(x), lambda: x.new(torch.ones(2))):
        with pytest.raises(TypeError, match="expected"):
            call()


def test_no_element_has_no_address():
    x = torch.ones(2, 2)
    assert x[:0].data_ptr() == 0 and x.data_ptr() != 0 and x.resize_(0, 2).data_ptr() == 0


def test_python_functions_have_no_gradient():
    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    for call in (lambda: x.map_(y, max), lambda: x.map2_(x, y, max), lambda: (y * 1).apply_(abs)):
        with pytest.raises(RuntimeError, match="requires grad"):
            call()


# ---------------------------------------------------------------- deterministic programs


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield torch.utils.deterministic
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", ALL)
def test_new_memory_of_deterministic_programs(dtype, deterministic):
    x = torch.ones(2, dtype=dtype)
    made = (
        torch.empty(2, 3, dtype=dtype), torch.empty((), dtype=dtype), torch.empty_like(x), x.new_empty(4),
        torch.empty_strided((2, 2), (1, 2), dtype=dtype), x.new_empty_strided((2,), (1,)), torch.empty(0, dtype=dtype),
    )  # fmt: skip
    for t in made:
        for v in t.flatten().tolist():
            if dtype.is_complex:
                assert math.isnan(v.real) and math.isnan(v.imag)
            elif dtype.is_floating_point:
                assert math.isnan(v)
            else:
                assert v == (True if dtype == torch.bool else torch.iinfo(dtype).max)


def test_whether_new_memory_is_filled(deterministic):
    assert deterministic.fill_uninitialized_memory is True
    deterministic.fill_uninitialized_memory = False
    assert deterministic.fill_uninitialized_memory is False
    deterministic.fill_uninitialized_memory = True
    assert torch.empty(8, out=torch.zeros(8)).isnan().all()
    with pytest.raises(TypeError, match="expected a bool"):
        deterministic.fill_uninitialized_memory = 1
    assert torch.zeros(4).tolist() == [0] * 4 and torch.ones(2).new_ones(2).tolist() == [1, 1]


def test_memory_that_resizing_adds_in_deterministic_programs(deterministic):
    for make in (lambda t: t.resize_(2, 3), lambda t: t.resize_as_(torch.ones(2, 3))):
        grown = make(torch.zeros(2)).flatten()
        assert not grown[:2].any() and grown[2:].isnan().all()
    assert torch.zeros(2, dtype=torch.int64).resize_(3).tolist() == [0, 0, torch.iinfo(torch.int64).max]
    for wrong, words in ((dict(mode=1), "'mode'"), (dict(mode=True, warn_only=1), "'warn_only'")):
        with pytest.raises(TypeError, match=f"{words}.* must be bool, not int"):
            torch.use_deterministic_algorithms(**wrong)
