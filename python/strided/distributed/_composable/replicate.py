"""``replicate``: DistributedDataParallel of a module in place (``strided.distributed._composable.replicate``)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ...nn import Module
from ...nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["replicate"]

_classes: dict[type, type] = {}


class _Inside(threading.local):
    modules: tuple[Any, ...] = ()  # whose forward runs in this thread


_inside = _Inside()


class _Replicated:
    """What a module is, too, after ``replicate(module)``."""

    _replica: DistributedDataParallel

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if any(m is self for m in _inside.modules):
            return super()._call_impl(*args, **kwargs)  # type: ignore[misc]
        before, _inside.modules = _inside.modules, (*_inside.modules, self)
        try:
            return self._replica(*args, **kwargs)
        finally:
            _inside.modules = before

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Whether backward averages gradients; else they add up for the next one that does."""
        self._replica.require_backward_grad_sync = requires_gradient_sync

    def register_comm_hook(self, *args: Any, **kwargs: Any) -> None:
        """That of DistributedDataParallel."""
        self._replica.register_comm_hook(*args, **kwargs)


def replicate(module: Any, ignored_modules: Any = None, **kwargs: Any) -> Any:
    """Averages the gradients of a module over ranks, in place, and returns the module, whose names stay.

    Args:
        ignored_modules: None or empty.
        kwargs: of DistributedDataParallel, such as process_group, device_mesh, bucket_cap_mb.

    >>> def program():
    ...     from strided.distributed._composable.replicate import replicate
    ...     strided.distributed.init_process_group()
    ...     net = replicate(strided.nn.Linear(1, 1, bias=False))
    ...     net(strided.full((1, 1), strided.distributed.get_rank() + 1.)).sum().backward()
    ...     return net.weight.grad.item(), list(net.state_dict())
    >>> strided.distributed.simulate(3, program)[0]
    (2.0, ['weight'])
    """
    if not isinstance(module, Module):
        raise TypeError(f"replicate: a Module is required, got {type(module).__name__}")
    if isinstance(module, _Replicated):
        raise AssertionError(f"replicate: this {type(module).__name__} is replicated already")
    if ignored_modules:
        raise NotImplementedError("replicate: ignored_modules are not there")
    module.__dict__["_replica"] = DistributedDataParallel(module, **kwargs)
    kind = type(module)
    made = _classes.get(kind)
    if made is None:
        names = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        made = _classes[kind] = type(f"Replicated{kind.__name__}", (_Replicated, kind), names)
    module.__class__ = made
    return module
