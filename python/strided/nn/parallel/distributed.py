"""Training one network on several ranks (``strided.nn.parallel.distributed``).

S. Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13(12), 2020.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import strided

from ... import _C
from ...autograd import Function
from ...distributed.algorithms.join import Joinable
from ...distributed.utils import fill_from
from ..modules.module import Module
from ._reducer import GradBucket, Reducer

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Iterator, Sequence, Tensor
    from ...distributed.algorithms.join import Join, JoinHook

__all__ = ["DistributedDataParallel"]


class _Begin(Function):
    """Hands tensors on; its backward says that a backward has begun."""

    @staticmethod
    def forward(ctx: Any, reducer: Reducer, *tensors: Tensor) -> Any:
        ctx.reducer = reducer
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        ctx.reducer.begin()
        return None, *gradients


def _leaves(value: Any) -> list[Tensor]:
    """The tensors in what forward returned."""
    if isinstance(value, _C.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for v in value.values() for t in _leaves(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _leaves(v)]
    if hasattr(value, "__dataclass_fields__"):
        return [t for name in value.__dataclass_fields__ for t in _leaves(getattr(value, name))]
    return []


def _replaced(value: Any, new: dict[int, Tensor]) -> Any:
    """The same structure with other tensors."""
    if isinstance(value, _C.Tensor):
        return new.get(id(value), value)
    if isinstance(value, dict):
        return type(value)((k, _replaced(v, new)) for k, v in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(v, new) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(v, new) for v in value)
    if hasattr(value, "__dataclass_fields__"):
        import dataclasses

        return dataclasses.replace(value, **{k: _replaced(getattr(value, k), new) for k in value.__dataclass_fields__})
    return value


class DistributedDataParallel(Module, Joinable):
    """A network whose copies on all ranks stay equal: each rank computes a part of the batch, gradients are averaged.

    Parameters and buffers begin as those of rank 0. While ``backward()`` runs, gradients are put into buckets, and each
    bucket is averaged over the ranks as soon as it is full, so that afterwards every ``.grad`` is the mean over the
    ranks, with the same bits on all of them. With a loss that is a mean, and equal parts of the batch, that is the
    gradient of the whole batch. The average of a bucket goes on while backward computes the next gradients. All ranks
    must run forward and backward equally often, except in :meth:`join`.

    Args:
        module: the network, already on its device. Parameters whose ``requires_grad`` changes later are not followed.
        device_ids, output_device: the rank's one CUDA device, or None. Inputs must be there already.
        dim: not used.
        broadcast_buffers: whether each forward begins with the buffers of rank 0 (running means of batch norms).
        init_sync: whether parameters are compared and become those of rank 0 at first.
        process_group: who takes part; the default group if None. An axis of a mesh will do: ``mesh.get_group("data")``.
        bucket_cap_mb: size of a bucket in MiB; 25 if None. The first is 1 MiB at most.
        find_unused_parameters: whether some parameters may get no gradient, different ones on each rank. Their
            gradients count as zero; what no rank used keeps its ``.grad``. Costs a walk through the graph.
        check_reduction: not used.
        gradient_as_bucket_view: whether ``.grad`` is a view of the bucket, which saves a copy.
        static_graph: the same as find_unused_parameters.
        device_mesh: a mesh of one axis, in the place of process_group.

    Raises:
        RuntimeError: process_group and device_mesh; no parameter wants a gradient; parameters differ between ranks; in
            a forward: the backward before left out parameters without find_unused_parameters, the text names them.
        ValueError: there is no group; several devices.

    >>> def program():
    ...     strided.distributed.init_process_group()
    ...     net = strided.nn.parallel.DistributedDataParallel(strided.nn.Linear(1, 1, bias=False))
    ...     x = strided.full((1, 1), strided.distributed.get_rank() + 1.)
    ...     net(x).sum().backward()
    ...     return net.module.weight.grad.item()
    >>> strided.distributed.simulate(3, program)
    [2.0, 2.0, 2.0]
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        device_mesh: Any = None,
    ) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        from ...distributed._groups import resolve

        if device_mesh is not None and process_group is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        self.process_group: Any = resolve(process_group if device_mesh is None else device_mesh.get_group())
        if self.process_group is None:
            raise ValueError("DistributedDataParallel: this rank is not in process_group")
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = device_ids, output_device
        self.broadcast_buffers = broadcast_buffers is None or broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._comm = self.process_group.communicator
        if init_sync:
            self._compare()
            self._from_first([p.detach() for p in module.parameters()] + list(module.buffers()))
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self.reducer = Reducer(
            [name for name, _ in named], [p for _, p in named], self._comm, self.bucket_bytes_cap,
            gradient_as_bucket_view, find_unused_parameters or static_graph,
        )  # fmt: skip

    def _compare(self) -> None:
        """RuntimeError on all ranks if their parameters differ in name, shape or dtype."""
        mine = [[name, list(p.shape), str(p.dtype), p.requires_grad] for name, p in self.module.named_parameters()]
        every = self._comm.all_gather_object(mine)
        for rank, theirs in enumerate(every):
            if theirs != every[0]:
                pairs = zip([*theirs, *[None] * len(every[0])], [*every[0], *[None] * len(theirs)])
                here, there = next(pair for pair in pairs if pair[0] != pair[1])
                raise RuntimeError(
                    f"DistributedDataParallel: rank {rank} has parameters that rank 0 does not have: {here} and {there}"
                )

    def _from_first(self, tensors: Sequence[Tensor], root: int = 0) -> None:
        """Fills tensors with those of rank 0, or another."""
        fill_from(self._comm, tensors, root)

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What this object was made with, by PyTorch's names, for libraries that look at it."""
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        return {
            "module_name": type(self.module).__name__, "backend_name": self.process_group.name(),
            "world_size": self.process_group.size(), "rank": self.process_group.rank(),
            "num_parameter_tensors": len(parameters), "total_parameter_size_bytes": sum(p.nbytes for p in parameters),
            "broadcast_buffers": int(self.broadcast_buffers), "bucket_cap_bytes": self.bucket_bytes_cap,
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
        }  # fmt: skip

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward begins with the buffers of rank 0."""
        return self.require_forward_param_sync and self.broadcast_buffers and any(True for _ in self.module.buffers())

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The network's forward."""
        if self._join_config.enable:
            from ._join import tell

            tell(self)
        elif self.will_sync_module_buffers():
            self._from_first(list(self.module.buffers()))
        result = self.module(*inputs, **kwargs)
        if not (strided.is_grad_enabled() and self.require_backward_grad_sync):
            self.require_forward_param_sync = False
            return result
        self.require_forward_param_sync = True
        if not (self.find_unused_parameters or self.static_graph):
            self.reducer.prepare(())
            return result
        tensors = [t for t in _leaves(result) if t.requires_grad]
        self.reducer.prepare(self.reducer.unused(tensors))
        if not tensors:
            return result
        made = _Begin.apply(self.reducer, *tensors)
        return _replaced(result, {id(t): new for t, new in zip(tensors, made)})

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context: the backward of a forward in here adds to this rank's gradients, and averages nothing.

        The first backward after it averages all that has been added up.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Has ``hook(state, bucket)`` average a bucket, in place of the library.

        It gives a Future of the flat tensor that takes the place of ``bucket.buffer()``.

        Raises:
            TypeError: hook is no function.
            RuntimeError: there is one already.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self.reducer.hook = lambda bucket: hook(state, bucket)

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Context for training where some ranks have fewer batches than others.

        A rank that leaves it early takes part in the others' averages, with gradients that are zero, until they leave
        too. Then all ranks get the parameters and buffers of a rank that was among the last.

        Args:
            divide_by_initial_world_size: whether averages are over all ranks; else over those that have a batch.
            enable: False does nothing.
            throw_on_early_termination: whether all ranks raise RuntimeError as soon as one has no more batches.
        """
        from ...distributed.algorithms.join import Join

        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What ``Join`` has a rank do that has no more batches."""
        from ._join import Shadow

        self.reducer.divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return Shadow(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return next(self.module.parameters()).device

    @property
    def join_process_group(self) -> Any:
        """The group that gradients are averaged over."""
        return self.process_group
