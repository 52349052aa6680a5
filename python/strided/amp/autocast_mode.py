"""``autocast``: a context in which products compute in 16 bits."""

from __future__ import annotations

import functools
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _C
from ._casts import CastingMode, _cast, nest, prepare, settle, state

if TYPE_CHECKING:
    from .._typing import DType, F

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def warn_of_old(device_type: str, name: str, new: str | None = None) -> None:
    """Warns the caller's caller that a name of one device was called, and says what stands in its place."""
    warnings.warn(
        f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}({new or f'{device_type!r}, args...'})` instead.",
        FutureWarning,
        stacklevel=3,
    )


def is_autocast_available(device_type: str) -> bool:
    """True for the CPU and CUDA, False for other devices; RuntimeError if there is no device of that name."""
    return _C.device(device_type).type in state.enabled


class autocast:
    """Context and decorator in which products compute in 16 bits, and losses and the like in float32.

    Calls of some functions get their floating-point operands cast, if these are on `device_type` and not of float64:
    to `dtype` those of products (``linear``, ``matmul``, ``conv2d``, attention, ...), to float32 those of losses and
    decompositions, on CUDA also of ``exp``, ``softmax``, ``sum``, norms and the like (PyTorch's "Autocast Op
    Reference"). All other functions, those that write into a tensor and those with ``out=`` compute in the dtype of
    their operands. The cast of a parameter is kept until the outermost context ends. Contexts nest; one with
    ``enabled=False`` switches casts off inside of another. Each thread has its own.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.
        dtype: bfloat16 or float16; by default ``get_autocast_dtype(device_type)``.
        enabled: whether to cast.
        cache_enabled: whether casts of parameters are kept; by default True.

    Raises:
        RuntimeError: nothing is cast on such a device.

    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     y = torch.ones(1, 1) @ torch.ones(1, 1)
    ...     y.dtype, torch.nn.functional.mse_loss(y, y).dtype
    (torch.bfloat16, torch.float32)
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
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = state.dtype[self.device] if dtype is None else dtype
        if enabled and self.device == "cuda":
            from ..cuda import is_available

            if not is_available():
                warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
                enabled = False
        if enabled and self.device == "cpu" and self.fast_dtype not in (_C.bfloat16, _C.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = state.keeps if cache_enabled is None else cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        device = self.device
        self._before.append((state.enabled[device], state.dtype[device], state.keeps))
        state.enabled[device], state.dtype[device], state.keeps = self._enabled, self.fast_dtype, self._cache_enabled
        nest(1)
        if self._enabled:
            prepare(device)
            _C._push_on_torch_function_stack(CastingMode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        device = self.device
        if self._enabled:
            _C._pop_torch_function_stack()
        nest(-1)
        state.enabled[device], state.dtype[device], state.keeps = self._before.pop()
        if state.switched:
            settle()

    def __call__(self, func: F) -> F:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return call  # type: ignore[return-value]


def _again() -> list[autocast]:
    """Contexts that bring the state of now back, for what is computed again later."""
    return [
        autocast(device, state.dtype[device], state.enabled[device], state.keeps)
        for device in state.enabled
        if state.depth or state.enabled[device]
    ]


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: DType | None = None) -> Any:
    """Decorator of the ``forward`` of an ``autograd.Function``, so that ``custom_bwd`` finds the casts of now.

    Args:
        fwd: the method; without it the result is the decorator.
        device_type: whose casts.
        cast_inputs: a dtype that, where casts are on, floating-point operands are cast to; `fwd` then runs with casts
            off.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    device = _C.device(device_type).type

    @functools.wraps(fwd)
    def call(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype, ctx._fwd_used_autocast = state.dtype[device], state.enabled[device]
        if cast_inputs is None or not state.enabled[device]:
            if cast_inputs is not None:
                ctx._fwd_used_autocast = False
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device, enabled=False):
            args = tuple(_cast(a, device, cast_inputs) for a in args)
            return fwd(ctx, *args, **{k: _cast(v, device, cast_inputs) for k, v in kwargs.items()})

    return call


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorator of the ``backward`` that belongs to a ``custom_fwd``: casts are on if they were in ``forward``."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    device = _C.device(device_type).type

    @functools.wraps(bwd)
    def call(ctx: Any, *grads: Any) -> Any:
        with autocast(device, ctx._dtype, ctx._fwd_used_autocast):
            return bwd(ctx, *grads)

    return call
