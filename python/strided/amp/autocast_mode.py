"""``autocast``: a context in which nothing is cast."""

from __future__ import annotations

import functools
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _C

if TYPE_CHECKING:
    from .._typing import DType, F

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    """False: operands are not cast by themselves on any device; RuntimeError if there is no device of that name."""
    _C.device(device_type)
    return False


class autocast:
    """Context and decorator that lets everything compute in the dtype of its operands.

    In PyTorch it casts the operands of products to 16 bits. Here ``enabled=False`` is allowed, and so is a device that
    is not there, with a warning, as in PyTorch; anything else is refused, so that no program believes it saves memory.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.
        dtype: what would be cast to.
        enabled: whether to cast.
        cache_enabled: whether casts would be kept.

    Raises:
        NotImplementedError: casting is asked for.

    >>> with torch.autocast("cpu", enabled=False):
    ...     (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
    torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = _C.device(device_type).type
        self.fast_dtype = dtype
        if enabled and self.device == "cuda":
            from ..cuda import is_available

            if not is_available():
                warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
                enabled = False
        if enabled:
            raise NotImplementedError(
                f"autocast: strided does not cast operands by itself on device '{self.device}'; convert them with "
                "to(dtype), or pass enabled=False"
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, func: F) -> F:
        return func


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: DType | None = None) -> Any:
    """The ``forward`` of an ``autograd.Function``, unchanged: nothing is cast outside of it. Also a decorator."""
    _C.device(device_type)
    return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """The ``backward`` of an ``autograd.Function``, unchanged. Also a decorator."""
    _C.device(device_type)
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd
