"""Modules with other parameters for one call: the older place of ``func.functional_call``."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Any, Tensor
    from ..modules.module import Module

__all__ = ["functional_call"]


def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> AbstractContextManager[None]:
    """Within it the module has these tensors; afterwards its own."""
    from ...func._modules import swapped

    return swapped(module, parameters_and_buffers, tie_weights, strict)


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The same as ``func.functional_call``, with a FutureWarning, as in PyTorch.

    >>> m = strided.nn.Linear(2, 1, bias=False)
    >>> strided.func.functional_call(m, {"weight": strided.ones(1, 2)}, strided.ones(2))
    tensor([2.])
    """
    warnings.warn(
        "torch.nn.utils.stateless.functional_call is deprecated; call torch.func.functional_call",
        FutureWarning,
        stacklevel=2,
    )
    from ...func import functional_call as call

    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
