"""What ``import functorch`` gives with strided in PyTorch's place: ``strided.func``, and modules as functions.

PyTorch deprecates all of it in favour of ``torch.func``; libraries still import it.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING

from ... import func as _func
from ...func import functional_call, stack_module_state

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Tensor

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize",
    "grad", "grad_and_value",
    "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "make_fx":  # with all of fx, which the others do not need
        from ...fx.experimental.proxy_tensor import make_fx

        return make_fx
    raise AttributeError(f"module 'functorch' has no attribute {name!r}")


def _deprecated(function: Callable[..., Any], instead: str | None = None) -> Callable[..., Any]:
    """The function as ``functorch`` has it: with PyTorch's warning."""
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch "
            f">= 2.3. Please use `{instead or f'torch.func.{name}'}` instead; see the PyTorch 2.0 release notes and/or "
            "the `torch.func` migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return call


functionalize = _deprecated(_func.functionalize)
grad = _deprecated(_func.grad)
grad_and_value = _deprecated(_func.grad_and_value)
hessian = _deprecated(_func.hessian)
jacfwd = _deprecated(_func.jacfwd)
jacrev = _deprecated(_func.jacrev)
jvp = _deprecated(_func.jvp)
vjp = _deprecated(_func.vjp)
vmap = _deprecated(_func.vmap, "torch.vmap")


def _stateless(module: Any) -> Any:
    """A copy of the module whose parameters and buffers take no memory: calls bring them."""
    import copy

    memo = {id(t): t.detach().to("meta") for t in (*module.parameters(), *module.buffers())}
    return copy.deepcopy(module, memo)


class FunctionalModuleWithBuffers:
    """``f(parameters, buffers, *args, **kwargs)`` of a module; made by make_functional_with_buffers."""

    def __init__(self, module: Any) -> None:
        self.stateless_model = _stateless(module)
        self.param_names = tuple(name for name, _ in module.named_parameters())
        self.buffer_names = tuple(name for name, _ in module.named_buffers())

    def __call__(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        values = dict(zip(self.param_names, params)) | dict(zip(self.buffer_names, buffers))
        return functional_call(self.stateless_model, values, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """``f(parameters, *args, **kwargs)`` of a module without buffers; made by make_functional."""

    def __call__(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(params, (), *args, **kwargs)


def _values(tensors: Any, disable_autograd_tracking: bool) -> tuple[Tensor, ...]:
    tensors = tuple(tensors)
    return tuple(t.detach() for t in tensors) if disable_autograd_tracking else tensors


def make_functional(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    """A module as a function of its parameters, and these.

    Args:
        model: a module without buffers.
        disable_autograd_tracking: the parameters come detached.

    Raises:
        RuntimeError: the module has buffers.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(model), _values(model.parameters(), disable_autograd_tracking)


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function of its parameters and buffers, and these.

    Args:
        model: a module.
        disable_autograd_tracking: the parameters come detached.
    """
    parameters = _values(model.parameters(), disable_autograd_tracking)
    return FunctionalModuleWithBuffers(model), parameters, tuple(model.buffers())


def combine_state_for_ensemble(
    models: Any,
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Modules of one architecture as one function, their parameters and buffers stacked along a new first axis.

    Args:
        models: the modules, all in the same mode.
    """
    models = list(models)
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    parameters, buffers = stack_module_state(models)
    return FunctionalModuleWithBuffers(models[0]), tuple(parameters.values()), tuple(buffers.values())


make_functional = _deprecated(make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(combine_state_for_ensemble, "torch.func.stack_module_state")
