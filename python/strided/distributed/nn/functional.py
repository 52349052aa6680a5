"""Calls between ranks that gradients go through (``strided.distributed.nn.functional``).

They give new tensors, and leave their arguments as they are. The backward of each is a call between ranks too, of the
transposed kind (all_gather's is reduce_scatter), so every rank must come to it: results that a rank does not use still
have to be in its loss, times zero for instance. The gradient that a rank gets is that of the sum of the losses of all
ranks. Derivatives go to any order.

Groups are ProcessGroups; None is the default group. ``group.WORLD`` may be given as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...autograd import Function
from .._collectives import _op, _peer, _rows, _tensor, _tensors
from .._groups import ReduceOp, resolve

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor
    from .._comm import Communicator

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip


def _group(call: str, group: Any) -> Any:
    pg = resolve(group)
    if pg is None:
        raise ValueError(f"{call}: this rank is not in the group")
    return pg


def _linear(call: str, op: Any, comm: Communicator) -> float:
    """The factor of a sum that the operation is: 1, or 1/size for the mean."""
    name = _op(call, op)
    if name not in ("sum", "avg"):
        raise NotImplementedError(f"{call}: gradients go through sums and means, not through {name!r}")
    return 1.0 if name == "sum" else 1.0 / comm.size


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, comm: Communicator, tensor: Tensor) -> Tensor:
        ctx.comm = comm
        total = tensor.detach().clone()
        comm.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, _AllReduce.apply(ctx.comm, gradient)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, comm: Communicator, root: int, tensor: Tensor) -> Tensor:
        ctx.comm, ctx.root = comm, root
        made = tensor.detach().clone()
        comm.broadcast(made, root)
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, _Reduce.apply(ctx.comm, ctx.root, gradient)


class _Reduce(Function):
    """The sum on root, zeros elsewhere."""

    @staticmethod
    def forward(ctx: Any, comm: Communicator, root: int, tensor: Tensor) -> Tensor:
        ctx.comm, ctx.root = comm, root
        total = tensor.detach().clone()
        comm.reduce(total, "sum", root)
        return total if comm.rank == root else total.zero_()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, _Broadcast.apply(ctx.comm, ctx.root, gradient)


class _Exchange(Function):
    """inputs[r] goes to rank r; sizes: the shapes of what comes, for each rank."""

    @staticmethod
    def forward(ctx: Any, comm: Communicator, shapes: Sequence[Any], *inputs: Tensor) -> Any:
        ctx.comm, ctx.shapes = comm, [t.shape for t in inputs]
        outputs = tuple(inputs[0].new_empty(shape) for shape in shapes)
        comm.all_to_all(list(outputs), [t.detach() for t in inputs])
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, *_Exchange.apply(ctx.comm, ctx.shapes, *gradients)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, comm: Communicator, tensor: Tensor) -> Any:
        ctx.comm = comm
        outputs = tuple(tensor.new_empty(tensor.shape) for _ in range(comm.size))
        comm.all_gather(list(outputs), tensor.detach())
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, _ReduceScatter.apply(ctx.comm, *gradients)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, comm: Communicator, *inputs: Tensor) -> Tensor:
        ctx.comm = comm
        made = inputs[comm.rank].new_empty(inputs[comm.rank].shape)
        comm.reduce_scatter(made, [t.detach() for t in inputs], "sum")
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, *_AllGather.apply(ctx.comm, gradient)


class _Gather(Function):
    """The tensors of all ranks on root, zeros elsewhere."""

    @staticmethod
    def forward(ctx: Any, comm: Communicator, root: int, tensor: Tensor) -> Any:
        ctx.comm, ctx.root = comm, root
        outputs = [tensor.new_zeros(tensor.shape) for _ in range(comm.size)]
        comm.gather(outputs if comm.rank == root else None, tensor.detach(), root)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.comm, ctx.root, *gradients)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, comm: Communicator, root: int, *tensors: Tensor) -> Tensor:
        ctx.comm, ctx.root = comm, root
        made = tensors[0].new_empty(tensors[0].shape)
        comm.scatter(made, [t.detach() for t in tensors] if comm.rank == root else None, root)
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.comm, ctx.root, gradient)


# ---------------------------------------------------------------- functions


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank src, on every rank. Its gradient is summed there."""
    _tensor("broadcast", "tensor", tensor)
    pg = _group("broadcast", group)
    return _Broadcast.apply(pg.communicator, _peer("broadcast", pg, "src", src, None, None), tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum, or mean, of all ranks' tensors on rank dst; zeros on the others."""
    _tensor("reduce", "tensor", tensor)
    pg = _group("reduce", group)
    factor = _linear("reduce", op, pg.communicator)
    made = _Reduce.apply(pg.communicator, _peer("reduce", pg, "dst", dst, None, None), tensor)
    return made if factor == 1 else made * factor


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum, or mean, of all ranks' tensors, on every rank.

    Raises:
        NotImplementedError: another operation than SUM and AVG.

    >>> def program():
    ...     strided.distributed.init_process_group()
    ...     x = strided.tensor([1. + strided.distributed.get_rank()], requires_grad=True)
    ...     strided.distributed.nn.all_reduce(x).square().sum().backward()
    ...     return x.grad.item()
    >>> strided.distributed.simulate(2, program)  # two losses of (1 + 2)^2, each with the gradient 2 (1 + 2)
    [12.0, 12.0]
    """
    _tensor("all_reduce", "tensor", tensor)
    comm = _group("all_reduce", group).communicator
    factor = _linear("all_reduce", op, comm)
    made = _AllReduce.apply(comm, tensor)
    return made if factor == 1 else made * factor


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, of one shape, on every rank."""
    _tensor("all_gather", "tensor", tensor)
    return _AllGather.apply(_group("all_gather", group).communicator, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, of one shape, on rank dst; zeros on the others."""
    _tensor("gather", "tensor", tensor)
    pg = _group("gather", group)
    return _Gather.apply(pg.communicator, _peer("gather", pg, "dst", dst, None, None), tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """tensors[rank] of rank src. Other ranks give tensors of that shape too, whose numbers do not count."""
    _tensors("scatter", "tensors", tensors)
    pg = _group("scatter", group)
    return _Scatter.apply(pg.communicator, _peer("scatter", pg, "src", src, None, None), *tensors)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum, or mean, over ranks r of input_list[rank] of r. It is returned; output gives the shape."""
    _tensors("reduce_scatter", "input_list", input_list)
    comm = _group("reduce_scatter", group).communicator
    if len(input_list) != comm.size or input_list[comm.rank].shape != output.shape:
        raise ValueError(
            f"reduce_scatter: one tensor for each of {comm.size} ranks, of the shape {tuple(output.shape)}"
        )
    factor = _linear("reduce_scatter", op, comm)
    made = _ReduceScatter.apply(comm, *input_list)
    return made if factor == 1 else made * factor


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """input_tensor_list[rank] of every rank. They are returned; the output list gives the shapes."""
    _tensors("all_to_all", "output_tensor_list", output_tensor_list)
    _tensors("all_to_all", "input_tensor_list", input_tensor_list)
    comm = _group("all_to_all", group).communicator
    return _Exchange.apply(comm, [t.shape for t in output_tensor_list], *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """:func:`all_to_all` of the parts of one tensor along its first axis; output gives the shape."""
    from ... import cat

    call = "all_to_all_single"
    _tensor(call, "output", output)
    comm = _group(call, group).communicator
    shapes = [t.shape for t in _rows(call, output, output_split_sizes, comm.size)]
    sizes = [t.size(0) for t in _rows(call, input.detach().contiguous(), input_split_sizes, comm.size)]
    return cat(list(_Exchange.apply(comm, shapes, *input.split(sizes))))
