"""What there is of PyTorch's ``torch.utils._python_dispatch``: questions about tensor subclasses and modes.

PyTorch calls a mode for every operation below autograd. strided has no such layer: no mode is ever active, and entering
one raises NotImplementedError. ``strided.overrides.TorchFunctionMode`` sees the calls of functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "any_torch_dispatch_mode_on_stack", "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing",
    "transform_subclass",
]  # fmt: skip


class TorchDispatchMode:
    """A class that may be derived from; its objects cannot be entered.

    Raises:
        NotImplementedError: ``with``. strided has no operations below autograd that could be handed to it.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError("TorchDispatchMode: strided has no layer of operations below autograd")

    def __enter__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}: strided has no layer of operations below autograd that a TorchDispatchMode could "
            "see; overrides.TorchFunctionMode sees the calls of functions"
        )

    def __exit__(self, *exc: object) -> None:
        pass

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of the class."""
        return cls(*args, **kwargs)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """False: no mode is ever active."""
    return False


def any_torch_dispatch_mode_on_stack(**options: Any) -> bool:
    """False: no mode is ever active."""
    return False


def _get_current_dispatch_mode() -> None:
    """None: no mode is ever active."""


def _get_current_dispatch_mode_stack() -> list[Any]:
    """An empty list: no mode is ever active."""
    return []


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context without modes, as every place is."""
    yield []


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors says how it is taken apart: ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return (
        issubclass(t, _C.Tensor)
        and t is not _C.Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether an object is of such a class of tensors."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor of a subclass, made again of what a function gives for each of its inner tensors.

    Args:
        callback: gets the name of an inner tensor and the tensor.
        outer_size, outer_stride: for ``__tensor_unflatten__``; those of t if None.
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """NotImplementedError: would be called from ``__torch_dispatch__``, which nothing calls."""
    raise NotImplementedError("return_and_correct_aliasing: strided calls no __torch_dispatch__")
