"""Scales a loss so that gradients in 16 bits do not underflow."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import _C

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["GradScaler"]

_f = _C.functions


class GradScaler:
    """Multiplies losses by a scale that follows what the gradients can hold.

    After steps without an infinite or NaN gradient the scale grows; such a gradient makes it shrink, and the step of
    the optimizer is left out. The method is that of P. Micikevicius et al., "Mixed Precision Training", ICLR 2018.

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
                warnings.warn("GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
                enabled = False
        if enabled and not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._scale, self._good_steps = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._found: dict[int, bool] = {}  # id of an optimizer whose gradients are unscaled: not all were finite
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in an iterable, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, to look at them before :meth:`step`.

        Raises:
            RuntimeError: it was called since the last update, or after step.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        bad = False
        with _no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.mul_(1.0 / self._scale)
                        bad = bad or not bool(_f["isfinite"](parameter.grad).all())
        self._found[id(optimizer)] = bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)`` with gradients unscaled, unless one of them is infinite or NaN; its result, or None.

        Raises:
            RuntimeError: it was called since the last update.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_that_unscales(optimizer, args, kwargs)
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def _step_that_unscales(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """The step of an optimizer that divides by the scale itself, and leaves the step out: it is told of both."""
        unscaled = id(optimizer) in self._found
        if not unscaled:
            gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            self._found[id(optimizer)] = not all(bool(_f["isfinite"](g).all()) for g in gradients)
        self._stepped.add(id(optimizer))
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        device = optimizer.param_groups[0]["params"][0].device
        optimizer.grad_scale = None if unscaled else _f["full"]((), self._scale, device=device)
        optimizer.found_inf = _f["full"]((), float(self._found[id(optimizer)]), device=device)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Changes the scale by what the gradients since the last call were, or sets it.

        Raises:
            AssertionError: no gradient was unscaled before.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(self._found.values()):
                self._scale, self._good_steps = self._scale * self._backoff_factor, 0
            else:
                self._good_steps += 1
                if self._good_steps == self._growth_interval:
                    self._scale, self._good_steps = self._scale * self._growth_factor, 0
        self._found.clear()
        self._stepped.clear()

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1.0 where it is off."""
        return self._scale if self._enabled else 1.0

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

    def state_dict(self) -> dict[str, Any]:
        """The numbers above, to go on with; empty where it is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._good_steps,
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
        self._scale = state_dict["scale"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._good_steps = state_dict["growth_interval"], state_dict["_growth_tracker"]


def _no_grad() -> Any:
    from ..autograd import no_grad

    return no_grad()
