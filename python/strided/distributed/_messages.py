"""Messages from one rank of a group to another, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._collectives import Work, _member, _peer, _tensor

if TYPE_CHECKING:
    from .._typing import Any, Sequence, Tensor

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Gives a tensor to rank dst (by the default group; or group_dst), which receives it with the same tag."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Fills a tensor with what rank src sends with this tag, any rank if it is not given.

    Returns:
        The number of the rank that has sent it, in the default group; -1 outside of the group.

    >>> def program():
    ...     strided.distributed.init_process_group()
    ...     x = strided.tensor([strided.distributed.get_rank()])
    ...     if x.item():
    ...         return strided.distributed.send(x, 0)
    ...     return sorted(strided.distributed.recv(x) for _ in range(2))
    >>> strided.distributed.simulate(3, program)[0]
    [1, 2]
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """:func:`send` that goes on meanwhile; the tensor must not be written to before ``wait()``."""
    _tensor("isend", "tensor", tensor)
    if (pg := _member("isend", group)) is None:
        return None
    peer = _peer("isend", pg, "dst", dst, group_dst, None)
    if peer == pg.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    return Work(pg.communicator.isend(tensor, peer, tag), [tensor])


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """:func:`recv` that goes on meanwhile; the tensor is there after ``wait()``.

    With neither src nor group_src it takes the first message with this tag from any rank; ``source_rank()`` of the Work
    says from which.
    """
    _tensor("irecv", "tensor", tensor)
    if (pg := _member("irecv", group)) is None:
        return None
    if src is None and group_src is None:
        request = pg.communicator.irecv_any(tensor, tag)
        return Work(request, [tensor], lambda: pg._ranks[request.source])
    peer = _peer("irecv", pg, "src", src, group_src, None)
    return Work(pg.communicator.irecv(tensor, peer, tag), [tensor], pg._ranks[peer])


class P2POp:
    """A message for :func:`batch_isend_irecv`: isend or irecv, and its arguments."""

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        _tensor("P2POp", "tensor", tensor)
        self.op, self.tensor, self.peer = op, tensor, peer
        self.group, self.tag, self.group_peer = group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begins all messages; a Work for each."""
    if not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to be of type ``torch.distributed.P2POp``.")
    begun = [p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer) for p in p2p_op_list]
    return [work for work in begun if work is not None]
