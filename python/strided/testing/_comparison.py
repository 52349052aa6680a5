"""``assert_close``: whether two results agree, and where they do not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from .. import _C
from .._functions.creation import tensor

__all__ = ["assert_allclose", "assert_close"]

_f = _C.functions

_OLDER_TOLERANCES = {_C.float16: (1e-3, 1e-3), _C.float32: (1e-4, 1e-5), _C.float64: (1e-5, 1e-8)}
# (rtol, atol) of a dtype; both are 0 for others.
_TOLERANCES = {
    _C.float16: (1e-3, 1e-5),
    _C.bfloat16: (1.6e-2, 1e-5),
    _C.float32: (1.3e-6, 1e-5),
    _C.complex64: (1.3e-6, 1e-5),
    _C.float64: (1e-7, 1e-7),
    _C.complex128: (1e-7, 1e-7),
}
_OF_TYPES = {int: _C.int64, float: _C.float64, complex: _C.complex128}


class _Options(NamedTuple):
    """The arguments of assert_close."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    msg: str | Callable[[str], str] | None

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """(rtol, atol): as they were given, or the largest that the dtypes allow."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)

    def fail(self, message: str, place: tuple[Any, ...], kind: type[Exception] = AssertionError) -> NoReturn:
        """Raises; `place` is the way through the containers."""
        if place:
            message += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in place)}"
        if self.msg is not None:
            message = self.msg(message) if callable(self.msg) else self.msg
        raise kind(message)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex)) or _is_numpy_scalar(x)


def _is_numpy_scalar(x: Any) -> bool:
    return type(x).__module__ == "numpy" and hasattr(x, "item") and getattr(x, "shape", None) == ()


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool) or (_is_numpy_scalar(x) and type(x).__name__ in ("bool", "bool_"))


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


# ---------------------------------------------------------------- containers


def _leaves(actual: Any, expected: Any, options: _Options, place: tuple[Any, ...]) -> Iterator[tuple[Any, Any, Any]]:
    """(actual, expected, place) of what is compared; structures that differ raise."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            options.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place)
        for i, (a, e) in enumerate(zip(actual, expected)):
            yield from _leaves(a, e, options, (*place, i))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        ours, wanted = set(actual.keys()), set(expected.keys())  # iteration may give something else (TensorDict)
        if ours != wanted:
            missing, more = wanted - ours, ours - wanted
            options.fail(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {_ordered(missing)}\n"
                f"Additional keys in the actual mapping: {_ordered(more)}",
                place,
            )
        for key in _ordered(wanted):
            yield from _leaves(actual[key], expected[key], options, (*place, key))
    else:
        yield _pair(actual, expected, options, place)


def _ordered(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _pair(actual: Any, expected: Any, options: _Options, place: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """The same two things, as tensors if they are arrays; TypeError for what cannot be compared."""
    if actual is None or expected is None or (_is_number(actual) and _is_number(expected)):
        return actual, expected, place
    sparse = hasattr(actual, "_parts") and hasattr(expected, "_parts")
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual)) or sparse
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        pair = [x if isinstance(x, _C.Tensor) else _as_tensor(x) for x in (actual, expected)]
        if pair[0] is not None and pair[1] is not None:
            return pair[0], pair[1], place
    options.fail(
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", place, TypeError
    )


def _as_tensor(x: Any) -> Any:
    from .._functions.creation import as_tensor

    if not hasattr(x, "__array_interface__") and not hasattr(x, "__dlpack__"):
        return None
    try:
        return as_tensor(x)
    except (TypeError, ValueError, RuntimeError, BufferError):
        return None


# ---------------------------------------------------------------- numbers


def _up_to(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _compare_numbers(a: Any, e: Any, options: _Options, tolerances: tuple[float, float] | None, place: Any) -> None:
    a, e = (x.item() if hasattr(x, "item") else x for x in (a, e))
    if options.check_dtype and type(a) is not type(e):
        options.fail(f"The (d)types do not match: {type(a)} != {type(e)}.", place)
    dtypes = [_OF_TYPES[complex if isinstance(x, complex) else float if isinstance(x, float) else int] for x in (a, e)]
    rtol, atol = tolerances or options.tolerances(*dtypes)
    if a == e or (options.equal_nan and a != a and e != e):
        return
    difference, size = abs(a - e), abs(e)
    if math.isfinite(difference) and difference <= atol + rtol * size:
        return
    exact = rtol == 0 and atol == 0
    relative = difference / size if size else float("inf")
    options.fail(
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {e} but got {a}.\n"
        f"Absolute difference: {difference}{_up_to(atol, exact)}\n"
        f"Relative difference: {relative}{_up_to(rtol, exact)}",
        place,
    )


# ---------------------------------------------------------------- tensors


def _check_attributes(a: Any, e: Any, options: _Options, place: Any) -> None:
    def differ(name: str, x: Any, y: Any) -> None:
        if x != y:
            options.fail(f"The values for attribute '{name}' do not match: {x} != {y}.", place)

    differ("shape", a.shape, e.shape)
    if options.check_layout:
        differ("layout", a.layout, e.layout)
    if options.check_stride and not hasattr(a, "_parts") and not hasattr(e, "_parts"):
        differ("stride()", a.stride(), e.stride())
    if options.check_device:
        differ("device", a.device, e.device)
    if options.check_dtype:
        differ("dtype", a.dtype, e.dtype)


def _compare_tensors(a: Any, e: Any, options: _Options, place: Any) -> None:
    a, e = a.detach(), e.detach()
    _check_attributes(a, e, options, place)
    if a.is_meta or e.is_meta:
        return
    rtol, atol = options.tolerances(a.dtype, e.dtype)
    if a.device != e.device:
        a, e = a.cpu(), e.cpu()
    if a.dtype != e.dtype:
        dtype = _f["promote_types"](a.dtype, e.dtype)
        a, e = a.to(dtype), e.to(dtype)
    if a.layout != e.layout:
        a, e = a.to_dense(), e.to_dense()
    if hasattr(a, "_parts"):
        _compare_sparse(a, e, options, place, (rtol, atol))
        return
    if "float8" in str(a.dtype):
        _compare_bytes(a, e, options, place)
        return
    if a.ndim == 0:
        _compare_numbers(a, e, options._replace(check_dtype=False), (rtol, atol), place)
        return
    _compare_values(a, e, options, place, (rtol, atol))


def _compare_sparse(a: Any, e: Any, options: _Options, place: Any, tolerances: tuple[float, float]) -> None:
    """Of one layout: numbers of values, indices, values."""
    parts, wanted = a._parts(), e._parts()
    kind = next(iter(parts)).split()[1]
    if a.sparse_dim() != e.sparse_dim():
        numbers = f"{a.sparse_dim()} != {e.sparse_dim()}"
        options.fail(f"The number of sparse dimensions in sparse {kind} tensors does not match: {numbers}", place)
    if a._nnz() != e._nnz():
        numbers = f"{a._nnz()} != {e._nnz()}"
        options.fail(f"The number of specified values in sparse {kind} tensors does not match: {numbers}", place)
    for name, x in parts.items():
        _compare_values(x, wanted[name], options, place, tolerances if name.endswith("values") else (0, 0), name)


def _compare_values(
    a: Any, e: Any, options: _Options, place: Any, tolerances: tuple[float, float], what: str = "Tensor-likes"
) -> None:
    rtol, atol = tolerances
    fits = _f["isclose"](a, e, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(fits.all()):
        return
    exact = rtol == 0 and atol == 0
    absolute, relative = _differences(a, e, ~fits)
    lines = [
        f"{what} are not {'equal' if exact else 'close'}!\n",
        _how_many(~fits),
        _greatest("absolute", absolute, atol, exact),
        _greatest("relative", relative, rtol, exact),
    ]
    options.fail("\n".join(lines), place)


def _compare_bytes(a: Any, e: Any, options: _Options, place: Any) -> None:
    """Of dtypes without arithmetic."""
    wrong = a.contiguous().view(_C.uint8) != e.contiguous().view(_C.uint8)
    if not bool(wrong.any()):
        return
    first = _index(int(wrong.flatten().long().argmax()), a.shape)
    options.fail(
        f"Tensor-likes are not 'equal'!\n\n{_how_many(wrong)}\nThe first mismatched element is at index {first}.", place
    )


def _differences(a: Any, e: Any, wrong: Any) -> tuple[Any, Any]:
    """|a - e| and |a - e| / |e| where elements do not fit, 0 elsewhere."""
    if a.dtype == _C.bool:
        a, e = a.long(), e.long()
    if a.dtype.is_floating_point or a.dtype.is_complex:
        absolute = (a - e).abs()
        relative = absolute / e.abs()
    else:
        if a.dtype != _C.uint64:
            a, e = a.long(), e.long()
        absolute = _f["where"](a > e, a - e, e - a)  # which cannot pass below zero
        relative = absolute / (e if a.dtype == _C.uint64 else e.abs())
    zero = _f["zeros_like"](absolute)
    return _f["where"](wrong, absolute, zero), _f["where"](wrong, relative, _f["zeros_like"](relative))


def _how_many(wrong: Any) -> str:
    count, total = int(wrong.sum()), wrong.numel()
    return f"Mismatched elements: {count} / {total} ({count / total:.1%})"


def _greatest(name: str, differences: Any, tolerance: float, exact: bool) -> str:
    flat = differences.flatten()
    at = int((flat.double() if flat.dtype == _C.uint64 else flat).argmax())
    index = _index(at, differences.shape)
    return f"Greatest {name} difference: {flat[at].item()} at index {index}{_up_to(tolerance, exact)}"


def _index(position: int, shape: Any) -> tuple[int, ...]:
    index = []
    for n in reversed(shape):
        position, i = divmod(position, n)
        index.append(i)
    return tuple(reversed(index))


# ----------------------------------------------------------------


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of :func:`assert_close`: lists are tensors, NaN equals NaN, dtypes may differ.

    The tolerances (rtol, atol) are 1e-3, 1e-3 for float16; 1e-4, 1e-5 for float32; 1e-5, 1e-8 for float64; else 0.

    >>> torch.testing.assert_allclose([1.0, 2.0], torch.tensor([1.0, 2.0001]))
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    made = [x if isinstance(x, _C.Tensor) else tensor(x) for x in (actual, expected)]
    if rtol is None and atol is None:
        found = [_OLDER_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in made]
        rtol, atol = max(found[0][0], found[1][0]), max(found[0][1], found[1][1])
    assert_close(*made, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Args:
        actual: a tensor, a number, None, an array, or sequences and mappings of these.
        expected: the same of what it should be. Both must be of one type, or of a type and a subclass.
        allow_subclasses: whether they may be of a type and a subclass.
        rtol: by the dtype if None: float64 1e-7, float32 1.3e-6, float16 1e-3, bfloat16 1.6e-2, integers 0; of two
            dtypes the larger. A 0-d tensor counts as its dtype, a number of Python as float64 or int64.
        atol: by the dtype if None: float64 1e-7, other floating-point dtypes 1e-5, integers 0.
        equal_nan: whether NaN equals NaN.
        check_device: whether tensors must be on one device.
        check_dtype: whether tensors must have one dtype, and numbers one type.
        check_layout: whether tensors must have one layout.
        check_stride: whether tensors must have the same strides.
        msg: the text of the error, or a function that makes it of the text there would be.

    Raises:
        AssertionError: they differ; the text says where most.
        TypeError: things that cannot be compared.
        ValueError: one of rtol and atol without the other.
        RuntimeError: one of them is negative.

    >>> torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
    >>> torch.testing.assert_close({"a": [1.0, torch.ones(2)]}, {"a": [1.0, torch.zeros(2)]})
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 2 / 2 (100.0%)
    Greatest absolute difference: 1.0 at index (0,) (up to 1e-05 allowed)
    Greatest relative difference: inf at index (0,) (up to 1.3e-06 allowed)
    <BLANKLINE>
    The failure occurred for item ['a'][1]
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    options = _Options(
        rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout, check_stride, msg
    )
    for a, e, place in list(_leaves(actual, expected, options, ())):
        if a is None or e is None:
            if a is not e:
                options.fail(f"None mismatch: {a} is not {e}", place)
        elif isinstance(a, _C.Tensor):
            _compare_tensors(a, e, options, place)
        elif _is_bool(a) and _is_bool(e):
            if bool(a) is not bool(e):
                options.fail(f"Booleans mismatch: {a} is not {e}", place)
        else:
            _compare_numbers(a, e, options, None, place)


def get_tolerances(
    *inputs: Any, rtol: float | None, atol: float | None, id: tuple[Any, ...] = ()
) -> tuple[float, float]:
    """(rtol, atol) of a comparison: those given, or the greatest of the defaults for the dtypes of the inputs.

    Args:
        inputs: tensors or dtypes.
        rtol, atol: both or neither.
        id: accepted for compatibility.

    Raises:
        ValueError: only one of them is given.
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    if rtol is not None and atol is not None:
        return rtol, atol
    known = [_TOLERANCES.get(getattr(x, "dtype", x), (0.0, 0.0)) for x in inputs]
    return max(r for r, _ in known), max(a for _, a in known)
