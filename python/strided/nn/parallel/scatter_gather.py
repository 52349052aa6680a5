"""Parts of a batch for several devices, and one batch of their results (``strided.nn.parallel.scatter_gather``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _rebuilt(like: Any, values: Any) -> Any:
    """A sequence of the type of another one; named tuples take their values one by one."""
    return type(like)(*values) if hasattr(like, "_fields") else type(like)(values)


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list[Any]:
    """For each device the inputs with its part of each tensor along ``dim``; what is no tensor goes to all of them.

    Tensors are cut as ``chunk`` cuts them; lists, tuples and dicts are searched for tensors.

    >>> strided.nn.parallel.scatter_gather.scatter([strided.arange(3), "x"], ["cpu", "cpu"])
    [[tensor([0, 1]), 'x'], [tensor([2]), 'x']]
    """
    if isinstance(inputs, strided.Tensor):
        parts = inputs.chunk(len(target_gpus), dim)
        return [part.to(device) for part, device in zip(parts, target_gpus)]
    if isinstance(inputs, (list, tuple)) and inputs:
        return [_rebuilt(inputs, values) for values in zip(*(scatter(x, target_gpus, dim) for x in inputs))]
    if isinstance(inputs, dict) and inputs:
        columns = zip(*(scatter(x, target_gpus, dim) for x in inputs.values()))
        return [type(inputs)(zip(inputs, values)) for values in columns]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> tuple[Any, Any]:
    """:func:`scatter` of positional and of keyword arguments: as many of the one as of the other."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    keywords = scatter(kwargs, target_gpus, dim) if kwargs else []
    n = max(len(positional), len(keywords))
    positional += [()] * (n - len(positional))
    keywords += [{}] * (n - len(keywords))
    return tuple(positional), tuple(keywords)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of several devices as one, on a device: tensors joined along ``dim``, numbers made 1-d before.

    >>> strided.nn.parallel.scatter_gather.gather([strided.ones(1), strided.zeros(2)], "cpu")
    tensor([1., 0., 0.])
    """
    first = outputs[0]
    if isinstance(first, strided.Tensor):
        return strided.cat([x.reshape(1) if x.dim() == 0 else x for x in (x.to(target_device) for x in outputs)], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(x) != len(first) for x in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([x[key] for x in outputs], target_device, dim)) for key in first)
    return _rebuilt(first, [gather(values, target_device, dim) for values in zip(*outputs)])
