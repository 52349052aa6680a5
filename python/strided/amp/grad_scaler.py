"""Scales a loss so that gradients in 16 bits do not underflow."""

from __future__ import annotations

import enum
import functools
import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import _C
from ._scale import _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_

if TYPE_CHECKING:
    from .._typing import Device, Tensor

__all__ = ["GradScaler", "OptState"]

_f = _C.functions


class OptState(enum.Enum):
    """What was done with an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Multiplies losses by a scale that follows what the gradients can hold.

    After steps without an infinite or NaN gradient the scale grows; such a gradient makes it shrink, and the step of
    the optimizer is left out. The method is that of P. Micikevicius et al., "Mixed Precision Training", ICLR 2018.

    A class derived from it may take over ``_unscale_grads_`` and ``_maybe_opt_step``. What was found is in
    ``_per_optimizer_states``, by the id of the optimizer.

    Args:
        device: the type of device that gradients are on. For "cuda" without a device everything is off, with a warning.
        init_scale: the first scale.
        growth_factor: by which it grows; more than 1.
        backoff_factor: by which it shrinks; less than 1.
        growth_interval: after how many steps in a row it grows.
        enabled: False: losses and steps are left as they are.

    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> class Step:
    ...     param_groups = [{"params": [x]}]
    ...     def step(self): print("gradient", x.grad.item())
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(x * 3).sum().backward(); x.grad
    tensor([24.])
    >>> scaler.step(Step()); scaler.update()
    gradient 3.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = _C.device(device).type
        if enabled and self._device == "cuda":
            from ..cuda import is_available

            if not is_available():
                told = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."
                warnings.warn(told, stacklevel=2)
                enabled = False
        if enabled and not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Tensor | None = None  # of float32 and of no axes, from the first call of scale() on
        self._growth_tracker: Tensor | None = None  # int32: steps in a row without infinities
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _lazy_init_scale_growth_tracker(self, dev: Device) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = _f["full"]((), self._init_scale, dtype=_C.float32, device=dev)
        self._growth_tracker = _f["full"]((), self._init_growth_tracker, dtype=_C.int32, device=dev)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        """Both, which scale() makes; AssertionError before it."""
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {funcname} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in an iterable, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * _at(self._scale, outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Device, Tensor]:
        """Multiplies the gradients by inv_scale. Whether one was not finite, by device: 1 in copies of found_inf.

        ValueError for float16 gradients, which would underflow, unless they are allowed.
        """
        grouped: dict[Any, list[Tensor]] = {}
        with _no_grad():
            for parameter in _parameters(optimizer):
                grad = parameter.grad
                if not allow_fp16 and grad.dtype == _C.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                if grad.is_sparse:
                    if grad.dtype == _C.float16:  # equal places would be added up in float16 later
                        grad = parameter.grad = grad.coalesce()
                    grad = grad._values()
                grouped.setdefault(grad.device, []).append(grad)
            found = {}
            for device, grads in grouped.items():
                found[device] = _at(found_inf, device)
                _amp_foreach_non_finite_check_and_unscale_(grads, found[device], _at(inv_scale, device))
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, to look at them before :meth:`step`.

        Raises:
            RuntimeError: it was called since the last update, or after step.
            AssertionError: nothing was scaled yet.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        found = _f["zeros"]((), dtype=_C.float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The step, or None where something was found."""
        if any(v.item() for v in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)`` with gradients unscaled, unless one of them is infinite or NaN; its result, or None.

        Raises:
            RuntimeError: it was called since the last update.
            AssertionError: the optimizer has no gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_that_unscales(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_that_unscales(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: Any) -> Any:
        """The step of an optimizer that divides by the scale itself, and leaves the step out: it is told of both."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            kwargs = {**kwargs, "grad_scaler": self}
        unscaled = state["stage"] is OptState.UNSCALED
        if not unscaled:
            self._check_inf_per_device(optimizer)
        device = optimizer.param_groups[0]["params"][0].device
        try:
            if "grad_scaler" not in kwargs:
                optimizer.grad_scale = None if unscaled else _at(self._scale, device)
                optimizer.found_inf = _f["full"]((), float(self._found(state)), device=device)
            return optimizer.step(*args, **kwargs)
        finally:
            state["stage"] = OptState.STEPPED
            for name in ("grad_scale", "found_inf"):
                if name in vars(optimizer):
                    delattr(optimizer, name)

    def _found(self, state: dict[str, Any]) -> bool:
        return any(v.item() for v in state["found_inf_per_device"].values())

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Changes the scale by what the gradients since the last call were, or sets it.

        Raises:
            AssertionError: no gradient was unscaled before.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, _C.Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.fill_(float(new_scale))
        else:
            states = self._per_optimizer_states.values()
            each = [_at(v, scale.device).reshape(()) for s in states for v in s["found_inf_per_device"].values()]
            if not each:
                raise AssertionError("No inf checks were recorded prior to update.")
            found = functools.reduce(_f["maximum"], each)
            _amp_update_scale_(scale, tracker, found, self._growth_factor, self._backoff_factor, self._growth_interval)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1.0 where it is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """By which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets that."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets that."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets that."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def state_dict(self) -> dict[str, Any]:
        """The numbers above, to go on with; empty where it is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what :meth:`state_dict` gave.

        Raises:
            RuntimeError: it is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at "
                                     "the end after scaler.update().")  # fmt: skip
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def _check_inf_per_device(self, optimizer: Any) -> dict[Device, Tensor]:
        """Looks for infinities, and leaves the gradients as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = _f["ones"]((), dtype=_C.float32, device=scale.device)
        state = self._per_optimizer_states[id(optimizer)]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, one, one.new_zeros(()), True)
        return dict(state["found_inf_per_device"])

    def _found_inf_per_device(self, optimizer: Any) -> dict[Device, Tensor]:
        return dict(self._per_optimizer_states[id(optimizer)]["found_inf_per_device"])


def _at(x: Any, device: Any) -> Any:
    """A copy of its own on a device."""
    return x.to(device, copy=True)


def _parameters(optimizer: Any) -> Any:
    """The parameters that have a gradient."""
    return (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None)


def _no_grad() -> Any:
    from ..autograd import no_grad

    return no_grad()
