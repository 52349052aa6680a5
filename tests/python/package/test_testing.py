"""strided.testing: what agrees, what does not and how that is said, and random arguments."""

import math

import numpy
import pytest
import strided as torch
from strided.testing import assert_close, make_tensor

T = torch.tensor


def text_of(*args, kind=AssertionError, **options):
    with pytest.raises(kind) as caught:
        assert_close(*args, **options)
    return str(caught.value)


AGREE = [
    (T([1.0, 2.0]), T([1.0, 2.0])),
    (T([1.0]), T([1.0 + 1e-6])),
    (T([1.0], dtype=torch.float16), T([1.0009], dtype=torch.float16)),
    (T([math.inf]), T([math.inf])),
    (1, 1), (1.0, 1.0 + 1e-8), (None, None), (True, True), ((1, 2), [1, 2]), ({"a": [T(1)]}, {"a": [T(1)]}),
    (numpy.ones(2), numpy.ones(2)), (numpy.float32(1), 1.0), (torch.empty(0), torch.empty(0)), ([], ()),
]  # fmt: skip


@pytest.mark.parametrize("pair", AGREE, ids=str)
def test_what_agrees(pair):
    assert_close(*pair)


def test_tensors_that_differ():
    assert text_of(T([[1.0, 2.0], [3, 4]]), T([[1.0, 3.0], [3, 9]])) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 5.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5555555820465088 at index (1, 1) (up to 1.3e-06 allowed)"
    )
    assert text_of(T([1, 2, 3]), T([1, 5, 3])) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 1 / 3 (33.3%)\n"
        "Greatest absolute difference: 3 at index (1,)\n"
        "Greatest relative difference: 0.6000000238418579 at index (1,)"
    )
    assert "Greatest absolute difference: 254 at" in text_of(T([1], dtype=torch.uint8), T([255], dtype=torch.uint8))
    assert "difference: nan at index (0,)" in text_of(T([math.nan]), T([math.nan]))
    assert_close(T([math.nan, 1j * math.nan]), T([math.nan, 1j * math.nan]), equal_nan=True)


def test_what_does_not_count_is_not_the_greatest():
    text = text_of(T([0.0, 1000.0]), T([1.0, 1000.0001]), rtol=1e-4, atol=1e-4)
    assert "absolute difference: 1.0 at index (0,)" in text and "relative difference: 1.0 at index (0,)" in text


def test_numbers_that_differ():
    assert text_of(1, 2) == (
        "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"
    )
    assert text_of(T(1.0), T(2.0)) == (
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\n"
        "Absolute difference: 1.0 (up to 1e-05 allowed)\nRelative difference: 0.5 (up to 1.3e-06 allowed)"
    )
    assert text_of(1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert text_of(True, False) == "Booleans mismatch: True is not False"
    assert text_of(None, 1) == "None mismatch: None is not 1"
    assert_close(1, 1.0, check_dtype=False)


def test_attributes_that_differ():
    ones = torch.ones(2, 3)
    assert text_of(T([1.0]), T([[1.0]])) == (
        "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([1, 1])."
    )
    assert "'dtype' do not match: torch.float32 != torch.int64" in text_of(T([1.0]), T([1]))
    assert "'device' do not match: meta != cpu" in text_of(torch.ones(2, device="meta"), torch.ones(2))
    assert "'stride()' do not match: (1, 2) != (3, 1)" in text_of(torch.ones(3, 2).t(), ones, check_stride=True)
    assert_close(torch.ones(3, 2).t(), ones)
    assert_close(T([1.0]), T([1]), check_dtype=False)
    assert_close(torch.ones(2, device="meta"), torch.zeros(2, device="meta"))  # there is nothing to compare


def test_places_in_containers():
    text = text_of({"a": [1, {"b": T([1.0, 2.0])}]}, {"a": [1, {"b": T([1.0, 5.0])}]})
    assert text.startswith("Tensor-likes") and text.endswith("\n\nThe failure occurred for item ['a'][1]['b']")
    assert text_of([1], [1, 2]) == "The length of the sequences mismatch: 1 != 2"
    assert text_of({"a": 1, "c": 1}, {"b": 1, "c": 1}) == (
        "The keys of the mappings do not match:\n"
        "Missing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']"
    )


def test_mappings_whose_iteration_gives_no_keys():
    class Rows(dict):
        def __iter__(self):
            return iter([{}, {}])

    assert_close(Rows(a=T(1), b=T(2)), Rows(b=T(2), a=T(1)))
    assert "Missing keys in the actual mapping: ['b']" in text_of(Rows(a=T(1)), Rows(a=T(1), b=T(2)))


def test_messages_of_the_users_own():
    assert text_of(T([1.0]), T([2.0]), msg="mine") == "mine"
    assert text_of([1], [2], msg=lambda text: "HEAD " + text[:7]) == "HEAD Scalars"


@pytest.mark.parametrize(
    "pair",
    [("a", "a"), ({1}, {1}), (T(1), 1), ([1], 1), (T([1.0]), [1.0]), (numpy.ones(1), T([1.0])), (int, int)],
    ids=str,
)
def test_what_cannot_be_compared(pair):
    assert "No comparison pair was able to handle inputs of type" in text_of(*pair, kind=TypeError)


def test_wrong_tolerances():
    assert "must be either specified or omitted, but got no atol" in text_of(1, 1, rtol=0.1, kind=ValueError)
    assert "rtol must be greater than or equal to zero" in text_of(1, 1, rtol=-1, atol=0, kind=RuntimeError)


@pytest.mark.parametrize("dtype", torch._C.dtypes, ids=str)
def test_every_dtype(dtype):
    a = make_tensor(5, dtype=dtype, device="cpu", low=0, high=1 if dtype == torch.bool else 2)
    assert_close(a, a.clone(), check_stride=True)
    b = a.clone()
    b[3] = ~b[3] if dtype == torch.bool else 5
    text = text_of(b, a)
    assert "1 / 5 (20.0%)" in text and "index (3,)" in text


def test_gradients_do_not_matter():
    assert_close(torch.ones(2, requires_grad=True), torch.ones(2))


# ---------------------------------------------------------------- make_tensor


@pytest.mark.parametrize("dtype", torch._C.dtypes, ids=str)
def test_make_tensor_draws_the_whole_range(dtype):
    torch.manual_seed(0)
    t = make_tensor(5000, dtype=dtype, device="cpu")
    assert t.shape == (5000,) and t.dtype == dtype and not t.requires_grad
    values = torch.view_as_real(t) if dtype.is_complex else t
    low, high = values.double().min().item(), values.double().max().item()
    if dtype == torch.bool:
        assert (low, high) == (0, 1)
    elif dtype.is_floating_point or dtype.is_complex:
        assert -9 <= low <= -8 and 8 <= high <= 9
    else:
        assert (low, high) == (0 if torch.iinfo(dtype).min == 0 else -9, 9)
    again = make_tensor(5000, dtype=dtype, device="cpu", exclude_zero=True)
    assert not bool((again.to(torch.complex128) == 0).any())


def test_make_tensor_gives_no_view():
    for dtype in (torch.float32, torch.complex64, torch.int16):
        x = torch.testing.make_tensor(4, 3, dtype=dtype, device="cpu")
        assert not x._is_view() and x[1:]._base is x


def test_make_tensor_bounds_and_layouts():
    t = make_tensor((3, 4), dtype=torch.float64, device="cpu", low=2, high=3, noncontiguous=True, requires_grad=True)
    assert t.stride() == (8, 2) and t.requires_grad and 2 <= t.min() and t.max() < 3
    assert make_tensor(2, 3, 4, 5, dtype=torch.int8, device="cpu", memory_format=torch.channels_last).stride()[1] == 1
    assert set(make_tensor(500, dtype=torch.int64, device="cpu", low=2.5, high=5.5).tolist()) == {3, 4, 5}
    big = make_tensor(500, dtype=torch.uint8, device="cpu", low=-5, high=1e9)
    assert 200 < big.max() <= 255
    assert make_tensor(dtype=torch.float32, device="cpu").shape == ()
    assert make_tensor(0, dtype=torch.int8, device="cpu").shape == (0,)
    with pytest.warns(FutureWarning):
        assert make_tensor(2, dtype=torch.float32, device="cpu", low=3, high=3).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": 3, "high": 2}, "`low` must be less than `high`, but got 3 >= 2"),
        ({"low": math.nan}, "cannot be NaN, but got low=nan and high=9"),
        ({"dtype": torch.int64, "low": 3, "high": 3}, "must be less"),
        ({"dtype": torch.uint8, "low": 300, "high": 400}, r"is \[300, 400\), but torch.uint8 only supports \[0, 256\)"),
        ({"dtype": torch.int32, "requires_grad": True}, "not supported for boolean and integral dtypes"),
        ({"noncontiguous": True, "memory_format": torch.channels_last}, "mutually exclusive"),
    ],
)
def test_make_tensor_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        make_tensor(2, 3, 4, 5, **{"dtype": torch.float32, "device": "cpu", **options})
