"""Tensors with axes that a function under ``vmap`` does not see.

A BatchedTensor holds a plain tensor whose first axes are those of its levels, one for each vmap around that it varies
with, in the order of the vmaps; the function sees the axes behind them.  Its calls arrive by ``__torch_function__``,
and each function has a batching rule (``_rules.py``), which does with the plain tensors for the whole batch what the
function would do for one sample.  All levels are served at once: nested vmaps cost no more than a single one.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING

from .. import _C
from .._C import Size

if TYPE_CHECKING:
    from .._typing import Any, Callable

Tensor = _C.Tensor
_ids = itertools.count(1)


class Level:
    """One vmap that runs: its number (greater than those around it), the size of its batch, what randomness does."""

    __slots__ = ("number", "size", "randomness")

    def __init__(self, size: int, randomness: str) -> None:
        self.number, self.size, self.randomness = next(_ids), size, randomness


class _Running(threading.local):
    levels: tuple[Level, ...] = ()


_running = _Running()


def running() -> tuple[Level, ...]:
    """The levels of the vmaps that run in this thread, the outermost first."""
    return _running.levels


def numbered(number: int) -> Level:
    """The level of that number, if it runs."""
    for level in reversed(_running.levels):
        if level.number == number:
            return level
    raise RuntimeError(f"no vmap of level {number} runs")


class entered:
    """Context in which a level runs."""

    def __init__(self, level: Level) -> None:
        self._level = level

    def __enter__(self) -> Level:
        from ._random import draw

        self._before = _running.levels
        _running.levels = (*self._before, self._level)
        self._draw_function = _C._set_draw_function(draw)
        return self._level

    def __exit__(self, *exc: object) -> None:
        _running.levels = self._before
        _C._set_draw_function(self._draw_function)


class outside:
    """Context of what runs outside of a level: for a rule that gets the axis of the samples as an ordinary one."""

    def __init__(self, level: Level) -> None:
        self._level = level

    def __enter__(self) -> None:
        from ._random import draw

        self._before = _running.levels
        _running.levels = tuple(level for level in self._before if level.number < self._level.number)
        self._draw_function = _C._set_draw_function(draw if _running.levels else None)

    def __exit__(self, *exc: object) -> None:
        _running.levels = self._before
        _C._set_draw_function(self._draw_function)


rule_of: Any = None  # Of _rules.py, which puts it here.
_NOTHING = _C.functions["empty"](0)


def _shell(shape, dtype):
    return _C.functions["empty"](shape, dtype=dtype, device="meta")


class OnlyOne(RuntimeError):
    """Of what works for one sample only. Derivatives by inputs that do not vary are tried without the batch."""

    def __reduce__(self) -> tuple[Any, ...]:
        return RuntimeError, *super().__reduce__()[1:]  # the class that the name below stands for


# As users see it.
OnlyOne.__module__, OnlyOne.__name__, OnlyOne.__qualname__ = "builtins", "RuntimeError", "RuntimeError"


def _stops(text):
    def stop(self, *args, **kwargs):
        raise OnlyOne(text)

    return stop


_NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations."
)
_NO_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. "
    "We don't support that: use where() or the like instead."
)
NO_REQUIRES_GRAD = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a "
    "function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed "
    "instead."
)
_NO_MEMORY = "vmap: the memory of a tensor under vmap cannot be accessed: it holds the whole batch"


class BatchedTensor(Tensor):
    """See the module.  ``_value`` is the plain tensor, ``_levels`` says what its first axes are."""

    __module__ = Tensor.__module__  # libraries ask a class of which package it is: in PyTorch's place, of torch
    _value: Tensor
    _levels: tuple[Level, ...]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return rule_of(func)(func, args, kwargs or {})

    __strided_function__ = __torch_function__
    _values_are_elsewhere = True

    def _as_gradient(self) -> BatchedTensor:
        """The same as an object that C++ takes for one sample's gradient: of its shape and dtype."""
        made = Tensor._make_subclass(BatchedTensor, _shell(self.shape, self.dtype))
        made._value, made._levels = self._value, self._levels
        return made

    # What can be asked without a rule.

    @property
    def shape(self) -> Size:
        return self._value.shape[len(self._levels) :]

    @property
    def ndim(self) -> int:
        return self._value.ndim - len(self._levels)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[_checked(dim, self.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        strides = self._value.stride()[len(self._levels) :]
        return strides if dim is None else strides[_checked(dim, self.ndim)]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.shape.numel()

    ndimension, nelement = dim, numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        form = {} if memory_format is None else {"memory_format": memory_format}
        return self._value.as_strided(self.shape, self.stride()).is_contiguous(**form)  # of one sample

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self._value.requires_grad = on

    @property
    def nbytes(self) -> int:
        return self.numel() * self.itemsize

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __hash__(self) -> int:
        return id(self) >> 4

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = repr(self._value)
        for level in self._levels:  # the axis of a level is the first of what the function around it sees
            depth = _running.levels.index(level) + 1 if level in _running.levels else level.number
            inner = "\n    ".join(text.splitlines())
            text = f"BatchedTensor(lvl={depth}, bdim=0, value=\n    {inner}\n)"
        return text

    __str__ = __repr__

    __bool__ = is_nonzero = _stops(_NO_CONTROL_FLOW)
    item = __int__ = __float__ = __complex__ = __index__ = tolist = _stops(_NO_ITEM)  # type: ignore[assignment]
    numpy = __array__ = data_ptr = storage = untyped_storage = __dlpack__ = _stops(_NO_MEMORY)  # type: ignore
    __deepcopy__ = __reduce_ex__ = _stops(_NO_MEMORY)  # type: ignore[assignment]


def _checked(dim, n):
    """dim as PyTorch checks it, from the end: -n ... -1."""
    n = max(n, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim - n if dim >= 0 else dim


negative = _checked


def batched(value: Tensor, levels: tuple[Level, ...]) -> Tensor:
    """A plain tensor whose first axes are those of the levels, as a function under vmap sees it."""
    if not levels:
        return value
    made = _NOTHING.as_subclass(BatchedTensor)
    made._value, made._levels = value, levels
    return made


def union(tensors: Any) -> tuple[Level, ...]:
    """The levels that some of the objects vary with."""
    found: tuple[Level, ...] = ()
    for t in tensors:
        if type(t) is BatchedTensor and (own := t._levels) is not found:
            if not found:
                found = own
            elif any(level not in found for level in own):
                found = tuple(sorted({*found, *own}, key=lambda level: level.number))
    return found


def aligned(t: Tensor, levels: tuple[Level, ...], ndim: int | None = None) -> Tensor:
    """The plain tensor with an axis for each of the levels in front, of size 1 where t does not vary, and with axes of
    size 1 behind these until the function sees ndim."""
    value, own = (t._value, t._levels) if type(t) is BatchedTensor else (t, ())
    here = value.ndim - len(own)
    ndim = here if ndim is None else ndim
    if own == levels and here == ndim:
        return value
    sizes = dict(zip(own, value.shape))
    shape = [sizes.get(level, 1) for level in levels]
    return value.reshape(*shape, *[1] * (ndim - here), *value.shape[len(own) :])


def expanded(t: Tensor, levels: tuple[Level, ...], ndim: int | None = None) -> Tensor:
    """The same, expanded to the sizes of the levels."""
    value = aligned(t, levels, ndim)
    if (t._levels if type(t) is BatchedTensor else ()) == levels:
        return value
    return value.expand(*(level.size for level in levels), *value.shape[len(levels) :])


def again(result: Any, levels: tuple[Level, ...], do: Callable[[Tensor], Tensor] | None = None) -> Any:
    """Every tensor of a result as a function under vmap sees it, after do()."""
    if isinstance(result, Tensor):
        return batched(do(result) if do else result, levels)
    if isinstance(result, (tuple, list)):
        parts = [again(part, levels, do) for part in result]
        return tuple.__new__(type(result), parts) if isinstance(result, tuple) else parts
    return result
