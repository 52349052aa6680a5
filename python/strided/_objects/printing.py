"""Text of a tensor, as PyTorch prints it.

The text is made from Python numbers.  A tensor with more than ``threshold`` elements is cut first, axis by axis, to
its ``edgeitems`` outermost entries on either side, so no more than these are ever converted; how numbers are written
(integers, fixed point, scientific) is decided from what is shown, never from what is hidden.

Only this much of a tensor is used: ``dtype, shape, device, requires_grad, grad_fn, dim(), numel(), detach(),
narrow(), tolist(), item()``.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .. import _C

__all__ = ["tensor_repr", "tensor_format", "set_printoptions", "get_printoptions", "printoptions"]


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()

# What each profile sets; everything it does not name takes the default of _Options.
_PROFILES: dict[str, dict[str, float]] = {
    "default": {},
    "short": {"precision": 2, "edgeitems": 2},
    "full": {"threshold": math.inf},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed; an argument left out keeps its value, except ``sci_mode``.

    Args:
        precision: digits after the decimal point (4 to begin with).
        threshold: tensors with more elements than this are summarised (1000).
        edgeitems: entries kept at either end of an axis of a summarised tensor (3).
        linewidth: characters a line should not pass (80).
        profile: ``"default"``, ``"short"`` (2 digits, 2 edge items) or ``"full"`` (never summarises); the other
            arguments are applied after it.
        sci_mode: True or False forces scientific notation on or off; None, also when left out, lets the values decide.

    Raises:
        ValueError: unknown profile, or a negative number.

    >>> set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> set_printoptions(profile="default")
    >>> torch.tensor([1.12345])
    tensor([1.1235])
    """
    new: dict[str, Any] = {}
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"set_printoptions: profile must be one of {sorted(_PROFILES)}, got {profile!r}")
        new.update(asdict(_Options()))
        new.update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            if value < 0:
                raise ValueError(f"set_printoptions: {name} must not be negative, got {value}")
            new[name] = value
    new["sci_mode"] = sci_mode
    for name, value in new.items():
        setattr(_options, name, value)


def get_printoptions() -> dict[str, Any]:
    """The print options as a dict that ``set_printoptions(**options)`` takes back.

    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return asdict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Sets print options for the length of a ``with`` block; takes what :func:`set_printoptions` takes.

    >>> with printoptions(precision=2):
    ...     print(torch.tensor([1.12345]))
    tensor([1.12])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Column:
    """How the numbers of one tensor are written: ``text(value)``, right aligned to ``width``."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.width = 1
        self._write: Callable[[Any], str] = str
        measured = values
        if floating:
            # Zeros, infinities and nan say nothing about the scale, and do not widen the column either.
            measured = [v for v in values if v != 0 and math.isfinite(v)]
            self._write = self._float_writer(measured)
        if measured:
            self.width = max(1, max(len(self._write(v)) for v in measured))

    @staticmethod
    def _float_writer(values: list[float]) -> Callable[[float], str]:
        integers = all(v.is_integer() for v in values)
        if values:
            low, high = min(map(abs, values)), max(map(abs, values))
            scientific = _options.sci_mode
            if scientific is None:
                scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
            if scientific:
                return f"{{:.{_options.precision}e}}".format
        if integers:
            # The point says that these are floats; inf and nan say it themselves.
            return lambda v: f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
        return f"{{:.{_options.precision}f}}".format

    def text(self, value: Any) -> str:
        return self._write(value).rjust(self.width)


class _ComplexColumn:
    """As :class:`_Column` for complex numbers: a column of real and one of imaginary parts."""

    def __init__(self, values: list[complex]) -> None:
        self._real = _Column([v.real for v in values], True)
        self._imag = _Column([v.imag for v in values], True)
        self.width = self._real.width + self._imag.width + 1  # the j; PyTorch does not count the sign between

    def text(self, value: complex) -> str:
        imag = self._imag.text(value.imag).lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return f"{self._real.text(value.real)}{sign}{imag}j"


def _flatten(values: Any, depth: int) -> list[Any]:
    """The leaves of a list nested ``depth`` deep, in order."""
    leaves = [values] if depth == 0 else values
    for _ in range(depth - 1):
        leaves = [leaf for row in leaves for leaf in row]
    return leaves


def _concatenate(a: list[Any], b: list[Any], axis: int) -> list[Any]:
    """Two nested lists joined along ``axis``."""
    return a + b if axis == 0 else [_concatenate(x, y, axis - 1) for x, y in zip(a, b)]


def _edges(t: Any, axis: int, keep: int) -> Any:
    """``t.tolist()`` with only ``keep`` entries left at either end of each axis, from ``axis`` on, that has more."""
    while axis < t.dim() and t.shape[axis] <= 2 * keep:
        axis += 1
    if axis == t.dim():
        return t.tolist()
    head = t.narrow(axis, 0, keep)
    tail = t.narrow(axis, t.shape[axis] - keep, keep)
    return _concatenate(_edges(head, axis + 1, keep), _edges(tail, axis + 1, keep), axis)


def _contents(t: Any, indent: int) -> str:
    """What stands between the parentheses before the suffixes; ``indent`` characters precede it on its first line."""
    dim, keep = t.dim(), _options.edgeitems
    if t.numel() == 0:
        return "[]"
    summarise = t.numel() > _options.threshold
    if summarise and keep == 0 and dim > 0:
        return "[...]"
    values = _edges(t, 0, keep) if summarise else t.tolist()
    cut = [summarise and size > 2 * keep for size in t.shape]
    leaves = _flatten(values, dim)
    column: _Column | _ComplexColumn
    column = _ComplexColumn(leaves) if t.dtype.is_complex else _Column(leaves, t.dtype.is_floating_point)
    if dim == 0:
        return column.text(values)

    def row(numbers: list[Any], indent: int) -> str:
        words = [column.text(v) for v in numbers]
        if cut[-1]:
            words.insert(keep, " ...")
        room = (_options.linewidth - indent) / (column.width + 2)  # ", " between
        count = max(1, int(min(room, len(words))))
        lines = [", ".join(words[i : i + count]) for i in range(0, len(words), count)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"

    return _block(values, row, cut, keep, 0, indent)


def _block(
    entries: list[Any], row: Callable[[list[Any], int], str], cut: list[bool], keep: int, axis: int, indent: int
) -> str:
    """The rows below one axis. (A function within _contents that calls itself would be garbage of each call.)"""
    dim = len(cut)
    if axis == dim - 1:
        return row(entries, indent)
    parts = [_block(e, row, cut, keep, axis + 1, indent + 1) for e in entries]
    if cut[axis]:
        parts.insert(keep, "...")
    # One line feed between rows, one more (a blank line) for every axis above.
    return "[" + ("," + "\n" * (dim - 1 - axis) + " " * (indent + 1)).join(parts) + "]"


def _suffixes(t: Any, default_dtype: Any) -> list[str]:
    """What is said after the contents: only what cannot be guessed from them."""
    found = []
    default = str(default_dtype)
    guessable = {default, "torch.complex128" if default == "torch.float64" else "torch.complex64",
                 "torch.int64", "torch.bool"}  # fmt: skip
    if t.device.type != "cpu":
        found.append(f"device='{t.device}'")
    size = f"size={tuple(t.shape)}"
    if t.device.type == "meta":
        guessable = {default}
        found.append(size)
    elif t.numel() == 0:
        guessable = {default}  # without elements there is nothing to guess from
        if t.dim() != 1:
            found.append(size)
    elif _options.edgeitems == 0:
        found.append(size)
    if str(t.dtype) not in guessable:
        found.append(f"dtype={t.dtype}")
    try:
        node = t.grad_fn
    except RuntimeError:  # of a view that was written to where that is refused
        found.append("grad_fn=<Invalid>")
        return found
    if node is not None:
        found.append(f"grad_fn=<{node.name().rsplit('::', 1)[-1]}>")
    elif t.requires_grad:
        found.append("requires_grad=True")
    found += _tangent(t)
    return found


def _tangent(t: Any) -> list[str]:
    """That of a dual tensor. Without an open level there is none, and nothing is imported for it."""
    forward_ad = sys.modules.get(f"{_C.__name__.rpartition('.')[0]}.autograd.forward_ad")
    if forward_ad is None or not forward_ad._levels or not (t.is_floating_point() or t.is_complex()):
        return []
    tangent = forward_ad.unpack_dual(t).tangent
    return [] if tangent is None else [f"tangent={tangent}"]


def tensor_repr(t: Any, contents: str | None = None) -> str:
    """The text of a tensor, ``tensor(...)``: the same characters as PyTorch's.

    Args:
        t: a tensor of any dtype, shape and device.
        contents: what stands in the place of the numbers.

    Returns:
        Numbers in columns of equal width, 4 digits after the point; scientific where the largest magnitude is more
        than 1000 times the smallest, or above 1e8, or the smallest is below 1e-4; then ``size=`` (of an empty
        tensor), ``device=``, ``dtype=``, ``grad_fn=`` or ``requires_grad=`` where they are not the default.

    >>> tensor_repr(torch.tensor([[1, 2], [30, 4]], dtype=torch.int32))
    'tensor([[ 1,  2],\\n        [30,  4]], dtype=torch.int32)'
    """
    from strided import get_default_dtype

    name = type(t).__name__
    prefix = "tensor(" if name in ("Tensor", "Parameter") else name + "("
    indent = len(prefix)
    if contents is None:
        contents = "..." if t.device.type == "meta" else _contents(t.detach(), indent)
    return as_parameter(t, _with_suffixes(prefix + contents, _suffixes(t, get_default_dtype()), indent))


def as_parameter(t: Any, text: str) -> str:
    """The text of an object of a class of the user's, which is a parameter of a module, maybe."""
    return f"Parameter({text})" if getattr(t, "_is_param", False) is True else text


def _with_suffixes(text: str, suffixes: list[str], indent: int, force_newline: bool = False) -> str:
    """The text, then the suffixes, on new lines where they do not fit, and the bracket that ends it."""
    # PyTorch counts two characters more on the last line than it has when there is no other, and one more else; so do
    # we, for the same line breaks.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or used + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def tensor_format(t: Any, spec: str) -> str:
    """``format(t, spec)``: of a 0-d tensor that of its number, else its text.

    Raises:
        TypeError: a format specification for a tensor with dimensions.

    >>> f"{torch.tensor(3.14159):.2f}"
    '3.14'
    """
    if t.dim() == 0 and t.device.type != "meta":
        return format(t.detach().item(), spec)
    if spec:
        raise TypeError(f"unsupported format string passed to {type(t).__name__}.__format__")
    return str(t)
