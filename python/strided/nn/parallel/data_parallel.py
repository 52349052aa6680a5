"""A module over the devices of one process (``strided.nn.parallel.data_parallel``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ..modules.module import Module

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["DataParallel", "data_parallel"]

_SEVERAL = "DataParallel: strided splits no batch over several devices of one process; start a process for each device"


class DataParallel(Module):
    """``module`` on one device, or where its parameters are if there is none: PyTorch's wrapper, so that programs run.

    NotImplementedError for several devices.

    >>> strided.nn.DataParallel(strided.nn.Linear(2, 3), device_ids=[])(strided.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        if device_ids is None:
            device_ids = list(range(strided.cuda.device_count()))
        if len(device_ids) > 1:
            raise NotImplementedError(_SEVERAL)
        self.dim, self.module, self.device_ids = dim, module, list(device_ids)
        if self.device_ids:
            self.output_device = self.device_ids[0] if output_device is None else output_device
            self.module.to(self.device_ids[0])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        if self.device_ids:
            inputs = strided.utils._pytree.tree_map_only(strided.Tensor, lambda t: t.to(self.device_ids[0]), inputs)
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """One call of :class:`DataParallel`."""
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
