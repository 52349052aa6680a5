"""Hooks that average a bucket of gradients, some of them in 16 bits.

>>> def program():
...     from strided.distributed.algorithms.ddp_comm_hooks import default_hooks
...     strided.distributed.init_process_group()
...     net = strided.nn.parallel.DistributedDataParallel(strided.nn.Linear(1, 1, bias=False))
...     net.register_comm_hook(None, default_hooks.bf16_compress_hook)
...     net(strided.tensor([[strided.distributed.get_rank() + 1.]])).sum().backward()
...     return net.module.weight.grad
>>> strided.distributed.simulate(3, program)[0]
tensor([[2.]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .... import _C
from ... import ReduceOp, all_reduce

if TYPE_CHECKING:
    from ...._typing import Any, Callable
    from ....nn.parallel._reducer import GradBucket

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip


def _narrow(dtype: Any, process_group: Any, bucket: GradBucket) -> Any:
    flat = bucket.buffer()
    sent = flat.to(dtype)
    work = all_reduce(sent, ReduceOp.AVG, process_group, async_op=True)  # summed in float32, rounded once
    return work.get_future().then(lambda future: flat.copy_(sent))


def _wrapper(dtype: Any, hook: Callable[[Any, GradBucket], Any]) -> Callable[[Any, GradBucket], Any]:
    def wrapped(state: Any, bucket: GradBucket) -> Any:
        flat = bucket.buffer()
        bucket.set_buffer(flat.to(dtype))

        def widened(future: Any) -> Any:
            found = future.value()
            return flat.copy_(found[0] if isinstance(found, (list, tuple)) else found)

        return hook(state, bucket).then(widened)

    return wrapped


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Any:
    """The average, as without a hook. process_group: the default group if None."""
    return all_reduce(bucket.buffer(), ReduceOp.AVG, process_group, async_op=True).get_future()


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """The average of gradients that are rounded to float16 on the way: half the bytes."""
    return _narrow(_C.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """The average of gradients that are rounded to bfloat16 on the way: half the bytes."""
    return _narrow(_C.bfloat16, process_group, bucket)


def fp16_compress_wrapper(hook: Callable[[Any, GradBucket], Any]) -> Callable[[Any, GradBucket], Any]:
    """The hook, of gradients that are rounded to float16."""
    return _wrapper(_C.float16, hook)


def bf16_compress_wrapper(hook: Callable[[Any, GradBucket], Any]) -> Callable[[Any, GradBucket], Any]:
    """The hook, of gradients that are rounded to bfloat16."""
    return _wrapper(_C.bfloat16, hook)
