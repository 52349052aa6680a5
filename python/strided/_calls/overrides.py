"""Functions written in Python, handed to the types of the user's own that ask for them (``__torch_function__``).

What is registered in the compiled core asks by itself: Note [Who takes a call] in ``csrc/python/overrides.h``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

from .. import _C
from .arguments import kind_of

if TYPE_CHECKING:
    from .._typing import Any, Callable, F


def shown_as(node: str) -> Callable[[F], F]:
    """Says what PyTorch calls the node of a function's results, where it is made of several here.

    The last of them is shown under that name: ``loss.grad_fn`` prints as in PyTorch. Stands below ``overridable``.
    """

    def name(function: F) -> F:
        function._node_name = node  # type: ignore[attr-defined]
        return function

    return name


def overridable(function: F, usual: Any = None, last: Any = None) -> F:
    """The function; a call with an object of a type of the user's own goes to that type's ``__torch_function__``.

    usual: a compiled function of one overload that takes the function's place in calls whose arguments fit it, and
    for which it does not return None. last: stands behind the arguments, which are without keywords then.
    """
    return cast("F", _C._overridable(function, False, usual, last))


def overridable_method(function: F, usual: Any = None, last: Any = None) -> F:
    """The same for a method of Tensor. (A function, as an attribute of a class, takes no ``self``.)"""
    return cast("F", _C._overridable(function, False, usual, last, True))


def seen_by_modes(function: F, usual: Any = None) -> F:
    """The same for a function that makes a tensor of any object: PyTorch shows it to modes, but not to types."""
    return cast("F", _C._overridable(function, True, usual))


class _Switch:
    """Context in which ``__torch_function__`` is not called."""

    _state = 0

    def __enter__(self) -> None:
        self._before = _C._set_torch_function_state(max(self._state, _C._get_torch_function_state()))

    def __exit__(self, *exc: object) -> None:
        _C._set_torch_function_state(self._before)


class DisableTorchFunctionSubclass(_Switch):
    """Context in which types are not asked, and objects of subclasses count as tensors; modes are asked."""

    _state = 1


class DisableTorchFunction(_Switch):
    """Context in which neither types nor modes are asked."""

    _state = 2


_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass
_C.DisableTorchFunction = DisableTorchFunction


def _disabled_torch_dispatch_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As the ``__torch_dispatch__`` of a class: operations are not handed to it.

    Where a class calls it, by ``super()``, the operation is done with the values that objects have of their own.
    """
    with _C._DisableTorchDispatch():
        return func(*args, **(kwargs or {}))


_C._disabled_torch_dispatch_impl = _disabled_torch_dispatch_impl


@functools.cache
def _subclasses() -> Any:
    """What serves classes with a ``__torch_dispatch__``, which the first of them loads."""
    from .._dispatch import subclasses

    return subclasses


class DisableTorchDispatch:
    """Context in which no ``__torch_dispatch__`` is called: objects of such classes are the tensors that they hold.

    A wrapper holds none: an operation with one raises RuntimeError.
    """

    def __enter__(self) -> None:
        state = _subclasses().state
        self._before, state.disabled = state.disabled, True

    def __exit__(self, *exc: object) -> None:
        _subclasses().state.disabled = self._before


_C._DisableTorchDispatch = DisableTorchDispatch


def _init_subclass(cls: Any, **kwargs: Any) -> None:
    super(_C.Tensor, cls).__init_subclass__(**kwargs)
    if getattr(cls, "__torch_dispatch__", _disabled_torch_dispatch_impl) is not _disabled_torch_dispatch_impl:
        _subclasses().adopt(cls)


def _make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: Any = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: Any = None,
) -> Any:
    """A tensor of the class `cls` without values of its own, of this shape, dtype and device.

    The class has a ``__torch_dispatch__``, which is handed every operation with the tensor. Its attributes are where
    the values are. Shapes, strides, dtype and device are always answered by the tensor (dispatch_* change nothing).
    """
    return _subclasses().make_wrapper(
        cls, size, strides, storage_offset, memory_format, dtype, layout, device, requires_grad
    )


_C.Tensor.__torch_dispatch__ = staticmethod(_disabled_torch_dispatch_impl)
_C.Tensor.__init_subclass__ = classmethod(_init_subclass)
_C.Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)


def _wrong_argument(function: Any, which: int | str, given: object) -> str | None:
    """The text of the TypeError if the argument should be a tensor and is not: its place or its name, and itself.

    The compiled core asks after an AttributeError of `given`, so that a call that fits pays nothing for it.
    """
    import inspect

    parameters = list(inspect.signature(function).parameters.values())
    at = which if isinstance(which, int) else next((i for i, p in enumerate(parameters) if p.name == which), -1)
    if not 0 <= at < len(parameters) or any(p.kind == p.VAR_POSITIONAL for p in parameters[: at + 1]):
        return None
    kinds = set(str(parameters[at].annotation).split(" | "))
    if "Tensor" not in kinds or kinds - {"Tensor", "None"} or isinstance(given, _C.Tensor):
        return None
    if given is None and "None" in kinds:
        return None
    place = f" (position {at + 1})" if isinstance(which, int) else ""
    return f"{function.__name__}(): argument '{parameters[at].name}'{place} must be Tensor, not {kind_of(given)}"


_C.set_hook("wrong_argument", _wrong_argument)
