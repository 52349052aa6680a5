"""Learning rates and momenta that go up and down: CyclicLR and OneCycleLR."""

from __future__ import annotations

import math
import types
from typing import TYPE_CHECKING

from ._schedulers import LRScheduler, _listed, _set
from .optimizer import Optimizer

if TYPE_CHECKING:
    from .._typing import Any, Callable


def _momentum_name(optimizer):
    """The option that is the momentum: 'momentum', or the first of 'betas'."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _set_momentum(group, use_beta1, value):
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """Between base_lr and max_lr, up and down (Smith, "Cyclical Learning Rates for Training Neural Networks", 2017)."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.optimizer = optimizer
        if last_epoch == -1:
            for lr, group in zip(_listed(base_lr, optimizer, "base_lr"), optimizer.param_groups):
                _set(group, "lr", lr)
        self.max_lrs = _listed(max_lr, optimizer, "max_lr")
        down = float(step_size_up) if step_size_down is None else float(step_size_down)
        self.total_size = float(step_size_up) + down
        self.step_ratio = float(step_size_up) / self.total_size
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum_name(optimizer)
            self.base_momentums = _listed(base_momentum, optimizer, "base_momentum")
            self.max_momentums = _listed(max_momentum, optimizer, "max_momentum")
            if last_epoch == -1:
                for high, low, group in zip(self.max_momentums, self.base_momentums, optimizer.param_groups):
                    _set_momentum(group, self.use_beta1, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = _listed(base_lr, optimizer, "base_lr")

    def scale_fn(self, x: float) -> float:
        """The factor of the amplitude."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    @property
    def _scale_fn_ref(self):
        """The factor of the modes, by PyTorch's name."""
        if self.mode == "triangular":
            return lambda x: 1.0
        return (lambda x: 1 / (2.0 ** (x - 1))) if self.mode == "triangular2" else (lambda x: self.gamma**x)

    def get_lr(self) -> list[Any]:
        self._warn_outside()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        factor = part * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups):
                _set_momentum(group, self.use_beta1, high - (high - low) * factor)
        return [low + (high - low) * factor for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        f = self._scale_fn_custom
        # A function is not saved; an object that can be called is, by its attributes.
        state["_scale_fn_custom"] = None if f is None or isinstance(f, types.FunctionType) else f.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(LRScheduler):
    """Once up to max_lr, and down to nearly nothing (Smith and Topin, "Super-Convergence: Very Fast Training of Neural
    Networks Using Large Learning Rates", 2019)."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.total_steps = self._total(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        up = float(pct_start * self.total_steps) - 1
        names = ["initial_lr", "max_lr"] + ["initial_lr"] * three_phase + ["min_lr"]
        momenta = ["max_momentum", "base_momentum"] + ["max_momentum"] * (1 + three_phase)
        ends = [up] + [float(2 * pct_start * self.total_steps) - 2] * three_phase + [self.total_steps - 1]
        self._schedule_phases = [
            {
                "end_step": end, "start_lr": names[i], "end_lr": names[i + 1], "start_momentum": momenta[i],
                "end_momentum": momenta[i + 1],
            }
            for i, end in enumerate(ends)
        ]  # fmt: skip
        self._anneal_func_type = anneal_strategy
        highest = _listed(max_lr, optimizer, "max_lr")
        if last_epoch == -1:
            for high, group in zip(highest, optimizer.param_groups):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum_name(optimizer)
            if last_epoch == -1:
                pairs = zip(
                    _listed(max_momentum, optimizer, "max_momentum"), _listed(base_momentum, optimizer, "base_momentum")
                )
                for (high, low), group in zip(pairs, optimizer.param_groups):
                    _set_momentum(group, self.use_beta1, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _total(total_steps, epochs, steps_per_epoch):
        if total_steps is not None:
            if total_steps <= 0 or not isinstance(total_steps, int):
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            return total_steps
        if epochs is None or steps_per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(epochs, int) or epochs <= 0:
            raise ValueError(f"Expected positive integer epochs, but got {epochs}")
        if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
            raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
        return epochs * steps_per_epoch

    @staticmethod
    def _annealing_cos(start, end, pct):
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start, end, pct):
        return (end - start) * pct + start

    def _between(self, start, end, part):
        if not hasattr(self, "_anneal_func_type"):  # states before PyTorch 2.0 hold the function itself
            return self.anneal_func(start, end, part)
        cos = self._anneal_func_type == "cos"
        return self._annealing_cos(start, end, part) if cos else self._annealing_linear(start, end, part)

    def get_lr(self) -> list[Any]:
        self._warn_outside()
        n, values = self.last_epoch, []
        if n > self.total_steps:
            raise ValueError(f"Tried to step {n} times. The specified number of total steps is {self.total_steps}")
        for group in self.optimizer.param_groups:
            start = 0.0
            for i, phase in enumerate(self._schedule_phases):
                end = phase["end_step"]
                if n <= end or i == len(self._schedule_phases) - 1:
                    part = (n - start) / (end - start)
                    values.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
                    if self.cycle_momentum:
                        ends = (group[phase["start_momentum"]], group[phase["end_momentum"]])
                        _set_momentum(group, self.use_beta1, self._between(*ends, part))
                    break
                start = end
        return values
