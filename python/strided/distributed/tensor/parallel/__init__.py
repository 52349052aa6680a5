"""Names of PyTorch's styles of cutting modules over ranks (``strided.distributed.tensor.parallel``): there are none.

Parameters of modules cannot be sharded tensors yet. Sharded tensors themselves are multiplied as these styles do:

>>> def program():
...     from strided.distributed import Replicate, Shard, distribute_tensor, init_device_mesh
...     mesh = init_device_mesh("cpu", (2,))
...     x = distribute_tensor(strided.ones(3, 4), mesh, [Replicate()])
...     columns = distribute_tensor(strided.ones(6, 4), mesh, [Shard(0)])
...     rows = distribute_tensor(strided.ones(2, 6), mesh, [Shard(1)])
...     return strided.nn.functional.linear(strided.nn.functional.linear(x, columns), rows).full_tensor()
>>> strided.distributed.simulate(2, program)[0]
tensor([[24., 24.],
        [24., 24.],
        [24., 24.]])
"""

from __future__ import annotations

from typing import Any

from ...._core_names import absent

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip

ColwiseParallel = absent("ColwiseParallel", __name__)
ParallelStyle = absent("ParallelStyle", __name__)
PrepareModuleInput = absent("PrepareModuleInput", __name__)
PrepareModuleInputOutput = absent("PrepareModuleInputOutput", __name__)
PrepareModuleOutput = absent("PrepareModuleOutput", __name__)
RowwiseParallel = absent("RowwiseParallel", __name__)
SequenceParallel = absent("SequenceParallel", __name__)


def parallelize_module(module: Any, *arguments: Any, **options: Any) -> Any:
    """NotImplementedError."""
    raise NotImplementedError(
        "parallelize_module: strided shards tensors (distribute_tensor), not parameters of modules"
    )


def loss_parallel() -> Any:
    """NotImplementedError."""
    raise NotImplementedError("loss_parallel: strided has no styles of parallel modules; losses take sharded tensors")
