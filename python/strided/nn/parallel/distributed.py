"""Training one network on several ranks (``strided.nn.parallel.distributed``).

S. Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13(12), 2020.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import strided

from ... import _C
from ...autograd import Function, no_grad
from ...distributed.algorithms.join import Joinable
from ..modules.module import Module
from ._reducer import GradBucket, Reducer, views

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Iterator, Sequence, Tensor
    from ...distributed.algorithms.join import Join, JoinHook

__all__ = ["DistributedDataParallel"]

_TOGETHER = 25 << 20  # bytes of parameters or buffers that one broadcast takes


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


def _reached(tensors: Sequence[Tensor]) -> set[int]:
    """The leaves that a backward from these tensors comes to, by id."""
    seen: set[Any] = set()
    found = {id(t) for t in tensors if t.is_leaf}
    todo = [t.grad_fn for t in tensors if t.grad_fn is not None]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        todo += [following for following, _ in node.next_functions]
    return found


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
        limit = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self._reducer = Reducer(
            [name for name, _ in named], [p for _, p in named], self._comm, limit, gradient_as_bucket_view,
            find_unused_parameters or static_graph,
        )  # fmt: skip
        self._parameter_ids = [id(p) for _, p in named]

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

    @no_grad()
    def _from_first(self, tensors: Sequence[Tensor], root: int = 0) -> None:
        """Fills tensors with those of rank 0, or another, many in one call."""
        by_kind: dict[Any, list[Tensor]] = {}
        for t in tensors:
            by_kind.setdefault((t.dtype, t.device), []).append(t)
        for kind in by_kind.values():
            while kind:
                some, size = [], 0
                while kind and (not some or size < _TOGETHER):
                    some.append(kind.pop(0))
                    size += some[-1].numel() * some[-1].dtype.itemsize
                flat = strided.cat([t.reshape(-1) for t in some])
                self._comm.broadcast(flat, root)
                for t, found in zip(some, views(flat, some)):
                    t.copy_(found)

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
            self._reducer.prepare(())
            return result
        tensors = [t for t in _leaves(result) if t.requires_grad]
        reached = _reached(tensors)
        self._reducer.prepare([k for k, p in enumerate(self._parameter_ids) if p not in reached])
        if not tensors:
            return result
        made = _Begin.apply(self._reducer, *tensors)
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
        if self._reducer.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self._reducer.hook = lambda bucket: hook(state, bucket)

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

        self._reducer.divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return Shadow(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return next(self.module.parameters()).device

    @property
    def join_process_group(self) -> Any:
        """The group that gradients are averaged over."""
        return self.process_group
