"""strided.array_api: where the Array API standard and PyTorch disagree, and whose class a result is of."""

import copy
import inspect
import math
import pickle

import pytest
import strided as T
from strided import array_api as xp

KINDS = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")
ALL = [d for kind in KINDS for d in xp.__array_namespace_info__().dtypes(kind=kind).values()]


# ---------------------------------------------------------------- whose class a result is of


def test_plain_tensors_give_plain_tensors():
    x = T.tensor([[3.0, 1.0], [2.0, 4.0]])
    namespace = x.__array_namespace__(api_version="2024.12")
    assert namespace is xp
    for made in (xp.sum(x), xp.sort(x), x.T, xp.add(x, 1), xp.linalg.inv(x), *xp.unique_all(x), xp.asarray(x)):
        assert type(made) is T.Tensor
    with pytest.raises(ValueError, match="'2019.12' is not one of"):
        x.__array_namespace__(api_version="2019.12")


def test_arrays_give_arrays():
    x = xp.asarray([[3.0, 1.0], [2.0, 4.0]])
    plain = T.ones(2)
    made = [xp.sum(x), x + 1, 1 + x, x @ x, plain + x, x + plain, -x, x[0], x.T, x.mT, xp.concat([plain, x[0]]), x < 2]
    made += [*xp.unique_all(x), *xp.meshgrid(x[0], plain), *xp.linalg.eigh(x), +x, abs(x), x.to_device("cpu")]
    assert {type(m) for m in made} == {xp.Array}
    assert type(x.as_tensor()) is T.Tensor and x.as_tensor().data_ptr() == x.data_ptr()


def test_an_argument_keeps_its_class():
    plain, array = T.ones(2), xp.ones(2)
    for made in xp.broadcast_arrays(plain, array):
        assert type(made) is xp.Array
    assert type(xp.where(xp.asarray(True), plain, plain)) is xp.Array
    assert type(plain) is T.Tensor
    assert xp.asarray(plain) is plain and xp.asarray(array) is array
    assert type(xp.asarray(array, dtype=xp.float64)) is xp.Array


def test_gradients_go_through_arrays():
    x = T.tensor([1.0, 2.0], requires_grad=True)
    xp.sum(xp.asarray(x) * xp.asarray([3.0, 4.0])).backward()
    assert x.grad.tolist() == [3, 4]


def test_arrays_are_copied_and_kept():
    x = xp.asarray([1, 2])
    assert type(copy.deepcopy(x)) is xp.Array and copy.deepcopy(x).tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(x)).tolist() == [1, 2]
    assert type(pickle.loads(pickle.dumps(x))) is type(copy.copy(x)) is xp.Array
    assert x in {x} and repr(x) == "Array([1, 2])"


def test_size_is_a_number_and_a_method():
    x = xp.zeros((2, 3))
    assert x.size == 6 and isinstance(x.size, int)
    assert x.size() == (2, 3) and x.size(-1) == 3


# ---------------------------------------------------------------- operators


@pytest.mark.parametrize("a", ALL, ids=str)
@pytest.mark.parametrize("b", ALL, ids=str)
def test_operands_without_dimensions_promote(a, b):
    common = T.promote_types(a, b)
    for x, y in ((xp.ones(2, dtype=a), xp.ones((), dtype=b)), (xp.ones((), dtype=a), xp.ones(2, dtype=b))):
        assert (x * y).dtype == common == xp.result_type(x, y) == xp.multiply(x, y).dtype
        assert (x == y).dtype == xp.bool


def test_numbers_take_part_with_their_kind():
    for name in ("int8", "uint16", "float32", "complex64"):
        x = xp.ones(2, dtype=getattr(xp, name))
        assert (x + 1).dtype == (1 - x).dtype == xp.add(1, x).dtype == x.dtype
    assert xp.add(xp.ones(2), 1j).dtype == xp.complex64
    with pytest.raises(TypeError, match="needs two arrays, or an array and a number"):
        xp.add(1, 2)
    with pytest.raises(TypeError, match="must be an array, not int"):
        xp.sin(1)


def test_quotients_and_remainders():
    x, y = xp.asarray([xp.inf, -xp.inf, 1.0, -1.0, 7.0]), xp.asarray([2.0, 2.0, -xp.inf, xp.inf, 2.0])
    made = x // y
    assert made.tolist() == [xp.inf, -xp.inf, 0, 0, 3] and xp.signbit(made).tolist() == [False, True, True, True, False]
    zero = xp.asarray([-0.0, 0.0]) % xp.asarray([2.0, -2.0])
    assert xp.signbit(zero).tolist() == [False, True]
    x //= y
    assert x.tolist() == made.tolist()
    assert T.isnan(T.tensor(xp.inf) // 2)  # a plain tensor follows PyTorch
    n = xp.asarray([7], dtype=xp.int8)
    with pytest.raises(TypeError, match="does not fit"):
        n //= xp.asarray(2)


# ---------------------------------------------------------------- functions


def test_sums_have_the_standards_dtypes():
    for dtype in ALL:
        expected = dtype
        if dtype in (xp.bool, xp.int8, xp.int16, xp.int32, xp.int64):
            expected = xp.int64
        elif not (dtype.is_floating_point or dtype.is_complex):
            expected = xp.uint64
        x = xp.ones((2, 3), dtype=dtype)
        for made in (xp.sum(x), xp.prod(x), xp.cumulative_sum(x, axis=0), xp.linalg.trace(x)):
            assert made.dtype == expected
        assert xp.sum(x, dtype=xp.float32).dtype == xp.float32


def test_reductions_over_no_axis():
    x = xp.asarray([[1, 2], [0, 4]])
    assert xp.sum(x, axis=()).tolist() == x.tolist() == xp.max(x, axis=()).tolist() == xp.prod(x, axis=()).tolist()
    assert xp.count_nonzero(x, axis=()).tolist() == [[1, 1], [0, 1]]
    assert xp.prod(x, axis=(0, 1), keepdims=True).shape == (1, 1)
    with pytest.raises(IndexError):
        xp.prod(x, axis=2)


def test_arguments_that_only_the_standard_has():
    x = xp.asarray([3, 1, 2])
    assert xp.cumulative_sum(x, include_initial=True).tolist() == [0, 3, 4, 6]
    assert xp.cumulative_prod(x, include_initial=True).tolist() == [1, 3, 3, 6]
    assert xp.searchsorted(x, 2, sorter=xp.argsort(x)).tolist() == 1
    assert xp.take(x, xp.asarray([-1, 0])).tolist() == [2, 3]
    assert xp.linspace(0, 1, 2, endpoint=False).tolist() == [0, 0.5]
    assert xp.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]] and xp.eye(2, k=5).tolist() == [[0, 0], [0, 0]]
    assert xp.arange(3, 0).shape == (0,) and xp.arange(3, 0, -1.5).tolist() == [3, 1.5]
    assert xp.repeat(x, xp.asarray([2, 0, 1], dtype=xp.int8)).tolist() == [3, 3, 2]
    assert xp.finfo(xp.complex64).dtype == xp.float32 and xp.iinfo(x).dtype == xp.int64
    assert xp.isin(x, 1, invert=True).tolist() == [True, False, True]
    assert not xp.can_cast(xp.float64, xp.float32) and T.can_cast(T.float64, T.float32)


def test_solve_takes_a_vector_only_for_a_vector():
    a = T.eye(2).expand(2, 2, 2) * 2
    b = T.ones(2, 2)
    assert xp.linalg.solve(a, b).shape == (2, 2, 2) and T.linalg.solve(a, b).shape == (2, 2)
    assert xp.linalg.solve(a, b[0]).tolist() == [[0.5, 0.5]] * 2


def test_copies():
    x = xp.arange(6)
    assert xp.reshape(x, (2, 3), copy=False).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (2, 3), copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="needs a copy"):
        xp.reshape(xp.reshape(x, (2, 3)).T, (6,), copy=False)
    assert xp.astype(x, xp.int64, copy=False) is x
    with pytest.raises(ValueError, match="copy is False"):
        xp.asarray(x, dtype=xp.int8, copy=False)
    assert xp.from_dlpack(x, copy=True).data_ptr() != x.data_ptr() == xp.from_dlpack(x).data_ptr()


def test_errors_of_the_standard():
    x = xp.zeros((2, 3))
    for call in (
        lambda: xp.cumulative_sum(x),
        lambda: xp.take(x, xp.asarray([0])),
        lambda: xp.squeeze(x, 0),
        lambda: xp.nonzero(xp.asarray(1)),
        lambda: xp.broadcast_shapes((2,), (3,)),
        lambda: xp.result_type(1, 2.0),
        lambda: xp.arange(0, 1, 0),
        lambda: xp.meshgrid(x[0], indexing="yx"),
        lambda: xp.isdtype(xp.int8, "float"),
        lambda: xp.__array_namespace_info__().dtypes(kind="int"),
        lambda: xp.expand_dims(x, (0, 0)),
        lambda: xp.matrix_transpose(x[0]),
        lambda: xp.zeros((2, 3, 4)).T,
        lambda: xp.zeros(3).mT,
        lambda: xp.vecdot(x, xp.zeros(2)),
        lambda: xp.linalg.cross(x, xp.zeros((2, 2))),
        lambda: x.to_device("cpu", stream=1),
    ):
        with pytest.raises(ValueError):
            call()


def test_names_of_the_main_namespace():
    x = T.tensor([[2, 1, 2]])
    assert T.astype(x, T.float32).dtype == T.float32 and T.isdtype(T.bfloat16, "real floating")
    assert T.permute_dims(x, (1, 0)).shape == (3, 1) == T.matrix_transpose(x).shape
    assert [p.tolist() for p in T.unstack(x, axis=1)] == [[2], [1], [2]]
    assert T.vecdot(x, x).tolist() == [9] and T.bitwise_invert(x).tolist() == [[-3, -2, -3]]
    assert T.cumulative_sum(x, axis=1).tolist() == [[2, 3, 5]]
    assert T.unique_all(x).inverse_indices.tolist() == [[1, 0, 1]] and T.unique_all(x).indices.tolist() == [1, 0]
    assert T.take_along_axis(x, T.tensor([[-1]])).tolist() == [[2]]
    assert x.to_device("cpu") is x


def test_zeros_beside_infinite_parts():
    """The standard gives tanh(inf + 2j) = 1 + 0j, where sin(4) is negative; tan follows by its definition."""
    z = xp.asarray([complex(s * math.inf, y) for s in (1, -1) for y in (2.0, -2.0, 0.0, -0.0, 1e30, 0.5)])
    expected = [complex(math.copysign(1, v.real), math.copysign(0, v.imag)) for v in z.tolist()]
    assert [str(v) for v in xp.tanh(z).tolist()] == [str(v) for v in expected]
    turned = xp.tan(xp.asarray([complex(v.imag, v.real) for v in z.tolist()])).tolist()
    assert [str(complex(v.imag, v.real)) for v in turned] == [str(v) for v in expected]
    finite = xp.asarray([1 + 2j, -0.25j, 0j])
    assert xp.tan(finite).tolist() == pytest.approx(T.tan(finite).tolist(), rel=1e-6)
    assert xp.tanh(xp.asarray([complex(math.inf, math.nan)])).tolist() == [1 + 0j]


def test_distinct_complex_numbers():
    x = T.tensor([[1j, complex(-0.0, 1), 2], [2, complex("nan"), complex("nan")]])
    values, indices, inverse, counts = T.unique_all(x)
    assert values[:2].tolist() == [1j, 2] == T.unique_values(x)[:2].tolist() and len(values) == 4
    assert indices.tolist() == [0, 2, 4, 5] and counts.tolist() == [2, 2, 1, 1] == T.unique_counts(x).counts.tolist()
    assert inverse.tolist() == [[0, 0, 1], [1, 2, 3]] == T.unique_inverse(x).inverse_indices.tolist()


def test_infos():
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities()["max dimensions"] == 64
    with pytest.raises(RuntimeError, match="at most 64"):
        T.zeros([1] * 65)
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}


def test_fft():
    x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for axis in (0, 1):
        back = xp.fft.irfft(xp.fft.rfft(x, axis=axis, norm="ortho"), n=x.shape[axis], axis=axis, norm="ortho")
        assert type(back) is xp.Array and T.allclose(back, x)
    assert T.allclose(xp.fft.ifftn(xp.fft.fftn(x, axes=(0,)), axes=(0,)).real, x)
    assert xp.fft.rfftn(x, s=(2, 4)).shape == (2, 3) and xp.fft.hfft(xp.fft.ihfft(x[0]), n=3).shape == (3,)
    assert xp.fft.fftfreq(4, d=0.5, dtype=xp.float64).tolist() == [0, 0.5, -1, -0.5]
    assert xp.fft.ifftshift(xp.fft.fftshift(x, axes=1), axes=1).tolist() == x.tolist()
    assert type(xp.fft.fft(T.ones(2))) is T.Tensor


def test_every_function_is_documented():
    for module in (xp, xp.linalg, xp.fft):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                assert thing.__doc__ and thing.__name__ == name, name
