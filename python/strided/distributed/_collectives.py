"""Calls that all ranks of a group make together, under PyTorch's names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from .. import _C
from ._groups import ProcessGroup, ReduceOp, get_group_rank, resolve

if TYPE_CHECKING:
    from .._typing import Any, Sequence, Tensor
    from ._comm import Request

__all__ = [
    "Work", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "monitored_barrier", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


class RequestGroup:
    """Several requests as one."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self._requests = requests

    def wait(self) -> None:
        for request in self._requests:
            request.wait()

    def is_completed(self) -> bool:
        return all(request.is_completed() for request in self._requests)


class Work:
    """A call that was begun: ``wait()`` returns when its tensors may be used."""

    def __init__(
        self, request: Request | RequestGroup | None = None, result: Sequence[Tensor] = (), source: Any = -1
    ) -> None:
        self._request, self._result, self._source = request, list(result), source
        self._error: BaseException | None = None

    def wait(self, timeout: Any = None) -> bool:
        """True when it is done; raises what went wrong. The group's time limit holds, whatever `timeout` says."""
        request, self._request = self._request, None
        if request is not None:
            try:
                request.wait()
            except BaseException as error:
                self._error = error
                raise
        return True

    def is_completed(self) -> bool:
        """Whether wait() would return at once."""
        return self._request is None or self._request.is_completed()

    def is_success(self) -> bool:
        """Whether it is done, and nothing went wrong."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What wait() raised."""
        return self._error

    def result(self) -> list[Tensor]:
        """The tensors that the call filled."""
        return list(self._result)

    def source_rank(self) -> int:
        """Who sent the message; -1 for other calls. Of one from any rank it is known after wait()."""
        return self._source() if callable(self._source) else self._source

    def synchronize(self) -> None:
        """The same as wait()."""
        self.wait()

    def get_future(self) -> Any:
        """A Future with the result. The call is over, and what ``then`` was given is called, when it is waited for."""
        from ._futures import CallFuture

        return CallFuture(self)


# ---------------------------------------------------------------- arguments


def _op(call: str, op: Any) -> str:
    if isinstance(op, ReduceOp):
        return op.value
    raise TypeError(f"{call}: op is a ReduceOp, got {op!r}")


def _tensor(call: str, name: str, t: Any) -> None:
    if not isinstance(t, _C.Tensor):
        raise TypeError(
            f"{call}: Invalid function argument. Expected parameter `{name}` of type torch.Tensor, got {type(t).__name__}"
        )


def _tensors(call: str, name: str, ts: Any) -> None:
    if not isinstance(ts, (list, tuple)) or not all(isinstance(t, _C.Tensor) for t in ts):
        raise TypeError(f"{call}: Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]")


def _member(call: str, pg: Any) -> ProcessGroup | None:
    """The group; None, with PyTorch's warning, where this rank is not in it and the call does nothing."""
    found = resolve(pg)
    if found is None:
        from ._groups import get_rank

        warnings.warn(
            f"Running {call} on global rank {get_rank()} which does not belong to the given group.", stacklevel=3
        )
    return found


def _peer(call: str, pg: ProcessGroup, name: str, whole: int | None, inside: int | None, otherwise: int | None) -> int:
    """A rank's number in the group, given by its number there or in the default group."""
    if whole is not None and inside is not None:
        raise ValueError(f"{call}: can't specify both group_{name} and {name}")
    if inside is not None:
        return inside
    if whole is None:
        if otherwise is None:
            raise ValueError(f"{call}: must specify {name} or group_{name}")
        whole = otherwise
    return get_group_rank(pg, whole)


def _done(async_op: bool, *filled: Tensor) -> Work | None:
    return Work(None, filled) if async_op else None


# ---------------------------------------------------------------- from one to all, from all to one


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Fills the tensors of all ranks with that of one, in place.

    Calls with ``async_op=True`` give a Work, here and below. :func:`all_reduce` and messages (:func:`isend`,
    :func:`irecv`) go on meanwhile; the others are done when they return.

    Args:
        tensor: any dtype and layout; the same dtype and number of elements on every rank.
        src: the rank, by its number in the default group; or group_src, by that in the group.
        group: the default group if None.
        async_op: whether a Work comes back.

    Raises:
        MismatchError: on all ranks, where calls, dtypes or sizes differ; so do all functions here.
        ValueError: both or none of src and group_src.
    """
    _tensor("broadcast", "tensor", tensor)
    if (pg := _member("broadcast", group)) is None:
        return None
    pg.communicator.broadcast(tensor, _peer("broadcast", pg, "src", src, group_src, None))
    return _done(async_op, tensor)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combines the tensors of all ranks elementwise, in place, in the order of ranks: all get the same bits.

    >>> def program():
    ...     strided.distributed.init_process_group()
    ...     x = strided.tensor([1., 2.]) * strided.distributed.get_rank()
    ...     strided.distributed.all_reduce(x, strided.distributed.ReduceOp.MAX)
    ...     return x
    >>> strided.distributed.simulate(2, program)
    [tensor([1., 2.]), tensor([1., 2.])]
    """
    _tensor("all_reduce", "tensor", tensor)
    name = _op("all_reduce", op)
    if (pg := _member("all_reduce", group)) is None:
        return None
    if async_op:
        return Work(pg.communicator.start_all_reduce(tensor, name), (tensor,))
    pg.communicator.all_reduce(tensor, name)
    return None


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """:func:`all_reduce` of each of several tensors."""
    _tensors("all_reduce_coalesced", "tensors", tensors)
    name = _op("all_reduce_coalesced", op)
    if (pg := _member("all_reduce_coalesced", group)) is None:
        return None
    requests = [pg.communicator.start_all_reduce(t, name) for t in tensors]
    if async_op:
        return Work(RequestGroup(requests), tensors)
    for request in requests:
        request.wait()
    return None


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """:func:`all_reduce` whose result only rank dst gets; the tensors of the others stay as they are."""
    _tensor("reduce", "tensor", tensor)
    name = _op("reduce", op)
    if (pg := _member("reduce", group)) is None:
        return None
    pg.communicator.reduce(tensor, name, _peer("reduce", pg, "dst", dst, group_dst, None))
    return _done(async_op, tensor)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """gather_list[r] on rank dst (0 if not given) becomes the tensor of rank r; others give no gather_list."""
    _tensor("gather", "tensor", tensor)
    if gather_list:
        _tensors("gather", "gather_list", gather_list)
    if (pg := _member("gather", group)) is None:
        return None
    root = _peer("gather", pg, "dst", dst, group_dst, pg._ranks[0])
    if pg.rank() == root and not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if pg.rank() != root and gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    pg.communicator.gather(gather_list or None, tensor, root)
    return _done(async_op, *(gather_list or ()))


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """tensor becomes scatter_list[r] of rank src (0 if not given) on rank r; others give no scatter_list."""
    _tensor("scatter", "tensor", tensor)
    if scatter_list:
        _tensors("scatter", "scatter_list", scatter_list)
    if (pg := _member("scatter", group)) is None:
        return None
    root = _peer("scatter", pg, "src", src, group_src, pg._ranks[0])
    if pg.rank() == root and not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if pg.rank() != root and scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    pg.communicator.scatter(tensor, scatter_list or None, root)
    return _done(async_op, tensor)


# ---------------------------------------------------------------- from all to all


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """tensor_list[r] becomes the tensor of rank r. Sizes may differ from rank to rank."""
    _tensors("all_gather", "tensor_list", tensor_list)
    _tensor("all_gather", "tensor", tensor)
    if (pg := _member("all_gather", group)) is None:
        return None
    pg.communicator.all_gather(tensor_list, tensor)
    return _done(async_op, *tensor_list)


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """output_tensor_lists[r][k] becomes input_tensor_list[k] of rank r."""
    _tensors("all_gather_coalesced", "input_tensor_list", input_tensor_list)
    for outputs in output_tensor_lists:
        _tensors("all_gather_coalesced", "output_tensor_lists", outputs)
    if (pg := _member("all_gather_coalesced", group)) is None:
        return None
    for k, t in enumerate(input_tensor_list):
        pg.communicator.all_gather([outputs[k] for outputs in output_tensor_lists], t)
    return _done(async_op, *(t for outputs in output_tensor_lists for t in outputs))


def _pieces(call: str, t: Tensor, size: int) -> list[Tensor]:
    """One part of a contiguous tensor for each rank."""
    if not t.is_contiguous():
        raise RuntimeError(f"{call}: Tensors must be contiguous")
    if t.numel() % size:
        raise RuntimeError(f"{call}: {t.numel()} elements do not go evenly into {size} ranks")
    return list(t.detach().view(-1).split(t.numel() // size)) if t.numel() else [t.detach().view(-1)] * size


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """:func:`all_gather` of equal sizes into one contiguous tensor: stacked, or joined along the first axis.

    >>> def program():
    ...     strided.distributed.init_process_group()
    ...     x = strided.zeros(2, 2)
    ...     strided.distributed.all_gather_into_tensor(x, strided.full((2,), strided.distributed.get_rank() + 1.))
    ...     return x.tolist()
    >>> strided.distributed.simulate(2, program)[0]
    [[1.0, 1.0], [2.0, 2.0]]
    """
    call = "all_gather_into_tensor"
    _tensor(call, "output_tensor", output_tensor)
    _tensor(call, "input_tensor", input_tensor)
    if (pg := _member(call, group)) is None:
        return None
    if output_tensor.dtype != input_tensor.dtype:
        raise TypeError(f"{call}: output {output_tensor.dtype}, input {input_tensor.dtype}")
    if output_tensor.numel() != input_tensor.numel() * pg.size():
        raise ValueError(
            f"{call}: output tensor size must be equal to world_size times input tensor size, got "
            f"{tuple(output_tensor.shape)} for {pg.size()} times {tuple(input_tensor.shape)}"
        )
    pg.communicator.all_gather(_pieces(call, output_tensor, pg.size()), input_tensor)
    return _done(async_op, output_tensor)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """output becomes the combination over all ranks r of input_list[rank] of r."""
    _tensor("reduce_scatter", "output", output)
    _tensors("reduce_scatter", "input_list", input_list)
    name = _op("reduce_scatter", op)
    if (pg := _member("reduce_scatter", group)) is None:
        return None
    pg.communicator.reduce_scatter(output, input_list, name)
    return _done(async_op, output)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """:func:`reduce_scatter` of the equal parts of one contiguous tensor."""
    call = "reduce_scatter_tensor"
    _tensor(call, "output", output)
    _tensor(call, "input", input)
    name = _op(call, op)
    if (pg := _member(call, group)) is None:
        return None
    if input.dtype != output.dtype:
        raise TypeError(f"{call}: input {input.dtype}, output {output.dtype}")
    if input.numel() != output.numel() * pg.size():
        raise ValueError(
            f"{call}: input tensor must be the same size as output size times world size, got {tuple(input.shape)} for "
            f"{pg.size()} times {tuple(output.shape)}"
        )
    pg.communicator.reduce_scatter(output, _pieces(call, input, pg.size()), name)
    return _done(async_op, output)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """output_tensor_list[r] becomes input_tensor_list[rank] of rank r."""
    _tensors("all_to_all", "output_tensor_list", output_tensor_list)
    _tensors("all_to_all", "input_tensor_list", input_tensor_list)
    if (pg := _member("all_to_all", group)) is None:
        return None
    pg.communicator.all_to_all(output_tensor_list, input_tensor_list)
    return _done(async_op, *output_tensor_list)


def _rows(call: str, t: Tensor, sizes: Sequence[int] | None, n: int) -> list[Tensor]:
    """The parts of a tensor along its first axis, of the given sizes, or equal."""
    if not t.is_contiguous():
        raise RuntimeError(f"{call}: Tensors must be contiguous")
    rows = t.size(0) if t.ndim else 1
    if not sizes:
        if rows % n:
            raise RuntimeError(
                f"{call}: Tensor's dim 0 does not divide equally across group size: {rows} rows, {n} ranks"
            )
        sizes = [rows // n] * n
    if len(sizes) != n or sum(sizes) != rows or min(sizes) < 0:
        raise RuntimeError(
            f"{call}: Split sizes doesn't match total dim 0 size: {list(sizes)} for {rows} rows, {n} ranks"
        )
    return list(t.detach().split(list(sizes))) if t.ndim else [t.detach()]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """:func:`all_to_all` of the parts of one tensor along its first axis: equal ones, or of the sizes given.

    Raises:
        RuntimeError: sizes do not fit; a tensor is not contiguous.
    """
    call = "all_to_all_single"
    _tensor(call, "output", output)
    _tensor(call, "input", input)
    if (pg := _member(call, group)) is None:
        return None
    outputs = _rows(call, output, output_split_sizes, pg.size())
    pg.communicator.all_to_all(outputs, _rows(call, input, input_split_sizes, pg.size()))
    return _done(async_op, output)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Returns when every rank of the group has called it. device_ids and timeout are not used."""
    if (pg := _member("barrier", group)) is None:
        return None
    pg.communicator.barrier()
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """:func:`barrier` with a time limit of its own; the error of every call here names the ranks anyway.

    Args:
        group: the default group if None.
        timeout: a timedelta or seconds; the group's if None.
        wait_all_ranks: not used.
    """
    if (pg := _member("monitored_barrier", group)) is None:
        return
    comm = pg.communicator
    before = comm.timeout
    try:
        if timeout is not None:
            comm.timeout = float(timeout.total_seconds() if hasattr(timeout, "total_seconds") else timeout)
        comm.barrier()
    finally:
        comm.timeout = before
