"""An optimizer after whose steps parameters are averaged now and then (``PostLocalSGDOptimizer``).

T. Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", ICLR 2020.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...optim.optimizer import Optimizer

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """An optimizer whose steps are followed by ``averager.average_parameters(params)``.

    Args:
        optim: the optimizer.
        averager: ``algorithms.model_averaging.averagers.PeriodicModelAverager``, or another ModelAverager.
    """

    def __init__(self, optim: Any, averager: Any) -> None:
        from ..algorithms.model_averaging.averagers import ModelAverager

        if not isinstance(optim, Optimizer):
            raise TypeError(f"PostLocalSGDOptimizer: an Optimizer is required, got {type(optim).__name__}")
        if not isinstance(averager, ModelAverager):
            raise TypeError(f"PostLocalSGDOptimizer: a ModelAverager is required, got {type(averager).__name__}")
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizer's."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def step(self, closure: Any = None) -> Any:
        """A step, and an average where it is due."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """The optimizer's."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """The optimizer's."""
        self.optim.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's, and the number of the averager's step."""
        made = self.optim.state_dict()
        made["step"] = self.averager.step
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict gave; one of the optimizer alone begins at the averager's step 0, with a warning."""
        import warnings

        self.optim.load_state_dict({k: v for k, v in state_dict.items() if k != "step"})
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warnings.warn(
                "PostLocalSGDOptimizer: no step of the averager in the state dict; it begins at 0", stacklevel=2
            )
        self.averager.step = state_dict.get("step", 0)
