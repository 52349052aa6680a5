"""Which operations of a trace become one program.

Nodes are taken in order.  An operation joins a group whose elements lie in the same space, provided that everything it
reads is made before that group or in it; else a new group is put right behind what it reads, so that small operations
(a weight that is scaled) do not part the large ones around them.  Nothing moves across a write to memory, and calls
that stay as they are keep their order.
"""

from __future__ import annotations

from typing import Any

from .. import _C
from ._trace import Call, Operation, Trace

_MOST_READ = 24  # tensors that a program reads


class Group:
    """Operations over one space: the shape of the large ones; with ``rows``, the last axis is reduced among them."""

    def __init__(self, space: tuple[int, ...]):
        self.space = space
        self.rows = self.closed = False
        self.operations: list[Operation] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.made: set[int] = set()
        self.program: Any = None

    def add(self, operation: Operation) -> None:
        self.operations.append(operation)
        self.made.add(operation.out)
        for number in operation.reads:
            if number not in self.made and number not in self.inputs:
                self.inputs.append(number)


def _space_of(operation: Operation) -> tuple[int, ...]:
    tensor = operation.tensors[operation.reads[0] if _is_reduction(operation) else operation.out]
    return tuple(tensor.shape)


def _is_reduction(operation: Operation) -> bool:
    return operation.by_row is not None


def _reduces_rows(operation: Operation) -> bool:
    x, out = operation.tensors[operation.reads[0]], operation.tensors[operation.out]
    if x.ndim == 0 or not operation.by_row or not 2 <= x.shape[-1] <= _C._MOST_FUSED_ROW:
        return False
    before = tuple(x.shape[:-1])
    return tuple(out.shape) in (before, (*before, 1))


def _fits(group: Group, operation: Operation) -> bool:
    if group.closed or len(set(group.inputs) | set(operation.reads)) > _MOST_READ:
        return False
    if any(operation.tensors[n].device != operation.tensors[operation.out].device for n in group.made):
        return False
    shape = tuple(operation.tensors[operation.out].shape)
    if _is_reduction(operation):
        if tuple(operation.tensors[operation.reads[0]].shape) != group.space:
            return False
        if _reduces_rows(operation):
            return True
        whole = operation.by_row and operation.tensors[operation.out].numel() == 1
        return bool(whole) and not group.rows and operation.reads[0] in group.made
    if shape == group.space:
        # Values without the last axis do not stretch over it.
        return all(
            tuple(operation.tensors[n].shape) in (group.space, (*group.space[:-1], 1))
            for n in operation.reads
            if n in group.made
        )
    if not group.rows or not group.made.intersection(operation.reads):
        return False
    rows = (*group.space[:-1], 1), group.space[:-1]
    return shape in rows and all(tuple(operation.tensors[n].shape) == shape for n in operation.reads if n in group.made)


def make_groups(trace: Trace) -> list[Group | Call]:
    """The nodes in a new order, operations in groups."""
    order: list[Group | Call] = []
    first = last_call = 0  # no group before `first` takes more; calls stay behind the `last_call` ones before them
    maker: dict[int, Group | Call] = {}
    for node in trace.nodes:
        made_by = [order.index(maker[n]) for n in node.reads if n in maker]
        earliest = max([first, *made_by])
        if isinstance(node, Call):
            if node.is_write:
                order.append(node)
                first = last_call = len(order)
            else:
                at = max([first, last_call, *(i + 1 for i in made_by)])
                order.insert(at, node)
                last_call = at + 1
            for n in node.outs:
                maker[n] = node
            continue
        for at in range(earliest, len(order)):
            group = order[at]
            if isinstance(group, Group) and _fits(group, node):
                break
        else:
            group = Group(_space_of(node))
            at = max([first, *(i + 1 for i in made_by)])
            order.insert(at, group)
            if at < last_call:
                last_call += 1
        group.add(node)
        maker[node.out] = group
        if _is_reduction(node):
            group.rows = group.rows or _reduces_rows(node)
            group.closed = not _reduces_rows(node)
    return order


def find_outputs(order: list[Group | Call], results: set[int]) -> None:
    """What each group makes that others read."""
    for group in order:
        if not isinstance(group, Group):
            continue
        read = set(results)
        for other in order:
            if other is not group:
                read.update(other.inputs if isinstance(other, Group) else other.reads)
        group.outputs = [o.out for o in group.operations if o.out in read]
