"""Modules whose parameters are sharded tensors: ``distribute_module``, and how one parameter is sharded."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from ..nn.parameter import Parameter
from ._factories import distribute_tensor
from ._sharded import ShardedTensor
from .placement import Replicate, checked_mesh

if TYPE_CHECKING:
    from .._typing import Any, Callable


def shard_parameter(module: Any, name: str, mesh: Any, placements: Any, src_data_rank: int | None = 0) -> None:
    """Puts a parameter or buffer of a module into these placements; a sharded one stays as it is."""
    for kept in (module._parameters, module._buffers):
        t = kept.get(name)
        if t is None or isinstance(t, ShardedTensor):
            continue
        made: Any = distribute_tensor(t.detach(), mesh, placements, src_data_rank=src_data_rank)
        kept[name] = Parameter(made, t.requires_grad) if kept is module._parameters else made


def distribute_module(
    module: Any,
    device_mesh: Any = None,
    partition_fn: Callable[[str, Any, Any], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Any:
    """Makes parameters and buffers of a module sharded tensors, in place, and returns the module.

    Optimizers that are made afterwards hold sharded parameters, whose gradients and averages have their placements.

    Args:
        device_mesh: all ranks in a row for None.
        partition_fn: called as ``partition_fn(name, module, mesh)`` for the module and all in it; it registers sharded
            parameters. What it leaves plain, and everything without it, is Replicate, with the values of rank 0.
        input_fn: ``input_fn(module, inputs, mesh)`` gives what forward is called with, for instance sharded inputs.
        output_fn: ``output_fn(module, outputs, mesh)`` gives what the call returns.

    Raises:
        RuntimeError: the module was given before.

    >>> def program():
    ...     from strided.distributed import Shard, init_device_mesh
    ...     from strided.distributed.tensor import distribute_module, distribute_tensor
    ...     mesh = init_device_mesh("cpu", (2,))
    ...     def rows(name, module, mesh):
    ...         for key, p in list(module.named_parameters(recurse=False)):
    ...             module.register_parameter(key, strided.nn.Parameter(distribute_tensor(p.detach(), mesh, [Shard(0)])))
    ...     net = distribute_module(strided.nn.Linear(3, 4), mesh, rows)
    ...     y = net(distribute_tensor(strided.ones(2, 3), mesh, [Shard(0)]))
    ...     y.sum().backward()
    ...     return net.weight.to_local().shape, net.bias.grad.full_tensor()
    >>> strided.distributed.simulate(2, program)[1]
    (torch.Size([2, 3]), tensor([2., 2., 2., 2.]))
    """
    mesh = checked_mesh("distribute_module", device_mesh)
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError("distribute_module: the module has been distributed already; this is done once")
    everywhere = (Replicate(),) * mesh.ndim
    for name, part in list(module.named_modules()):
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key in [*part._parameters, *part._buffers]:
            shard_parameter(part, key, mesh, everywhere)
    if input_fn is not None:
        _takes_three("input_fn", input_fn)
        module.register_forward_pre_hook(lambda module, inputs: input_fn(module, inputs, mesh))
    if output_fn is not None:
        _takes_three("output_fn", output_fn)
        module.register_forward_hook(lambda module, inputs, outputs: output_fn(module, outputs, mesh))
    module._distribute_module_applied = True
    return module


def _takes_three(name: str, function: Any) -> None:
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        raise ValueError(f"{name} takes three arguments: the module, its inputs or outputs, and the mesh") from None
