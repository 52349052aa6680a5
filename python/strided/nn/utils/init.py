"""Modules without initial values."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Any
    from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module of this class whose parameters are not initialised: it is made on device "meta" and moved.

    RuntimeError if the class has no argument `device`.

    >>> strided.nn.utils.skip_init(strided.nn.Linear, 3, 2).weight.shape
    torch.Size([2, 3])
    """
    from ..modules.module import Module as base

    if not issubclass(module_cls, base):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)
