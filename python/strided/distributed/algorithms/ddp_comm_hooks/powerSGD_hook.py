"""Gradients that travel as products of two thin matrices (``powerSGD_hook``).

T. Vogels, S. Karimireddy, M. Jaggi, "PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization",
NeurIPS 2019.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .... import _C
from ....futures import Future
from . import default_hooks

if TYPE_CHECKING:
    from ...._typing import Any
    from ....nn.parallel._reducer import GradBucket

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_f = _C.functions


class PowerSGDState:
    """What the hooks know.

    Args:
        process_group: the default group if None.
        matrix_approximation_rank: of the products.
        start_powerSGD_iter: until this step gradients are averaged as they are.
        min_compression_rate: matrices that would not become smaller by this factor travel as they are.
        use_error_feedback: what a step has lost is added to the next one.
        warm_start: the search begins with the matrices of the step before.
        orthogonalization_epsilon: added to norms of columns; 0: by QR.
        random_seed: of the first matrices, the same on every rank.
        compression_stats_logging_frequency, batch_tensors_with_same_shape: accepted, without effect.

    Raises:
        ValueError: start_powerSGD_iter is too small for error feedback or warm start.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank, self.start_powerSGD_iter = matrix_approximation_rank, start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.iter = 0
        self.error_dict: dict[int, Any] = {}  # by bucket: what was lost
        self._right: dict[tuple[int, int], Any] = {}  # by bucket and number: the right matrix
        self._draw = _C.Generator().manual_seed(random_seed)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def _orthonormal(m: Any, epsilon: float) -> Any:
    """Orthonormal columns that span those of a matrix."""
    if not epsilon:
        return strided.linalg.qr(m)[0]
    columns: list[Any] = []
    for column in m.unbind(1):
        for before in columns:
            column = column - before * (before @ column)
        columns.append(column / (column.norm() + epsilon))
    return _f["stack"](columns, 1)


def _done(value: Any) -> Future:
    made: Future = Future()
    made.set_result(value)
    return made


def _compressed(state: PowerSGDState, bucket: GradBucket, tensors: list[Any]) -> Any:
    """The average of a bucket whose `tensors`, views of it, travel as products where they are matrices."""
    from ... import _groups

    pg = _groups.resolve(state.process_group)
    if pg is None:
        raise ValueError("powerSGD_hook: this rank is not in process_group")
    comm, flat, number = pg.communicator, bucket.buffer(), bucket.index()
    if state.use_error_feedback:
        lost = state.error_dict.get(number)
        if lost is not None and lost.shape == flat.shape:
            flat += lost
        wanted = flat.clone()
    matrices, rest = [], []
    for k, t in enumerate(tensors):
        m = t.view(t.shape[0], -1) if t.ndim > 1 else t
        rank = min(*m.shape, state.matrix_approximation_rank) if t.ndim > 1 else 0
        small = rank and rank * sum(m.shape) * state.min_compression_rate < m.numel()
        (matrices if small else rest).append((k, m, rank))
    others = _f["cat"]([t.reshape(-1) for _, t, _ in rest]) if rest else None
    lefts, rights = [], []
    for k, m, rank in matrices:
        right = state._right.get((number, k)) if state.warm_start else None
        if right is None or right.shape != (m.shape[1], rank):
            right = _f["randn"](m.shape[1], rank, generator=state._draw, dtype=m.dtype)
            right = right.to(m.device)
        rights.append(_orthonormal(right, state.orthogonalization_epsilon))
        lefts.append(m @ rights[-1])
    if others is not None:
        comm.all_reduce(others, "avg")
        for (_, t, _), part in zip(rest, others.split([t.numel() for _, t, _ in rest])):
            t.copy_(part.view(t.shape))
    if matrices:
        _average(comm, lefts)
        lefts = [_orthonormal(m, state.orthogonalization_epsilon) for m in lefts]
        rights = [m.t() @ left for (_, m, _), left in zip(matrices, lefts)]
        _average(comm, rights)
        for (k, m, _), left, right in zip(matrices, lefts, rights):
            _f["mm"](left, right.t(), out=m)
            state._right[number, k] = right
    if state.use_error_feedback:
        state.error_dict[number] = wanted - flat
    state.maybe_increase_iter(bucket)
    return _done(flat)


def _average(comm: Any, tensors: list[Any]) -> None:
    """Averages tensors of one dtype in place, in one call."""
    flat = _f["cat"]([t.reshape(-1) for t in tensors])
    comm.all_reduce(flat, "avg")
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view(t.shape))


def _plain(state: PowerSGDState, bucket: GradBucket) -> Any:
    state.maybe_increase_iter(bucket)
    return default_hooks.allreduce_hook(state.process_group, bucket)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """The average, of each parameter's gradient by itself.

    >>> def program():
    ...     from strided.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
    ...     strided.distributed.init_process_group()
    ...     net = strided.nn.parallel.DistributedDataParallel(strided.nn.Linear(8, 8, bias=False))
    ...     net.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=2), powerSGD_hook)
    ...     for _ in range(3):
    ...         net.zero_grad()
    ...         net(strided.ones(1, 8)).sum().backward()  # a gradient of rank 1
    ...     return bool(strided.allclose(net.module.weight.grad, strided.ones(8, 8)))
    >>> strided.distributed.simulate(2, program)
    [True, True]
    """
    if state.iter < state.start_powerSGD_iter:
        return _plain(state, bucket)
    return _compressed(state, bucket, bucket.gradients())


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """The average of a bucket as one matrix, nearly a square: faster, and further from the gradient."""
    if state.iter < state.start_powerSGD_iter:
        return _plain(state, bucket)
    flat = bucket.buffer()
    n = int(flat.numel() ** 0.5)
    if n * n < flat.numel():
        n += 1
    square = _f["zeros"](n * n, dtype=flat.dtype, device=flat.device)
    square[: flat.numel()] = flat
    whole = _Whole(bucket, square)
    future = _compressed(state, whole, [square.view(n, n)])  # type: ignore[arg-type]
    return _done(flat.copy_(future.value()[: flat.numel()]))


class _Whole:
    """A bucket with another buffer."""

    def __init__(self, bucket: GradBucket, buffer: Any) -> None:
        self.index, self.is_last, self._buffer = bucket.index, bucket.is_last, buffer

    def buffer(self) -> Any:
        return self._buffer
