"""Gradients of all ranks, averaged in buckets while backward runs (``DistributedDataParallel``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ...autograd import no_grad
from ...distributed.utils import views

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Sequence, Tensor

_f = _C.functions
FIRST_BUCKET = 1 << 20  # bytes; small, so that the first call begins early (Li et al., section 3.2.3)


class GradBucket:
    """Gradients of one call, for a hook of :meth:`DistributedDataParallel.register_comm_hook`."""

    def __init__(self, index: int, flat: Tensor, parameters: Sequence[Tensor], last: bool) -> None:
        self._index, self._flat, self._parameters, self._last = index, flat, list(parameters), last

    def index(self) -> int:
        """Its number, from 0, in the order of the calls."""
        return self._index

    def buffer(self) -> Tensor:
        """All gradients one after the other, flat."""
        return self._flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Puts another flat tensor of the same size in their place."""
        self._flat = buffer

    def gradients(self) -> list[Tensor]:
        """One view of the buffer for each parameter."""
        return views(self._flat, self._parameters)

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether no bucket comes after it in this backward."""
        return self._last


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


def buckets(parameters: Sequence[Tensor], first: int, size: int) -> list[list[int]]:
    """Numbers of parameters in groups of about `size` bytes, of one dtype and device each; the last parameters first,
    because their gradients are there first."""
    made: list[list[int]] = []
    open_: dict[Any, tuple[list[int], int]] = {}
    limit = first
    for k in range(len(parameters) - 1, -1, -1):
        p = parameters[k]
        key = (p.dtype, p.device)
        group, held = open_.pop(key, ([], 0))
        group.append(k)
        held += p.numel() * p.dtype.itemsize
        if held >= limit:
            made.append(group)
            limit = size
        else:
            open_[key] = group, held
    made += [group for group, _ in open_.values()]
    return sorted(made, key=lambda group: -max(group))


class Reducer:
    """Knows which gradients are there, and averages each bucket when it is full, in the same order on all ranks."""

    def __init__(
        self, names: Sequence[str], parameters: Sequence[Tensor], comm: Any, limit: int, as_views: bool, unused: bool
    ) -> None:
        self._names, self._parameters, self._comm = names, parameters, comm
        self._as_views, self._finds_unused = as_views, unused
        self._buckets = buckets(parameters, min(FIRST_BUCKET, limit), limit)
        self._bucket_of = {k: b for b, group in enumerate(self._buckets) for k in group}
        self.hook: Callable[[GradBucket], Any] | None = None
        self.divides_by_all = True
        self.divisor: int | None = None  # in a join: by how many ranks instead
        self._expects = self._begun = False
        self._ready: set[int] = set()
        self._unused: list[int] = []
        self._left: list[int] = []
        self._next = 0
        self._running: list[tuple[Tensor, Any]] = []  # what goes on: a bucket, and its Request or Future
        self._flats: list[Tensor | None] = [None] * len(self._buckets)  # buckets whose views are gradients
        for k, p in enumerate(parameters):
            p.register_post_accumulate_grad_hook(lambda p, k=k: self._arrived(k))

    def prepare(self, unused: Sequence[int]) -> None:
        """A forward has ended, whose backward is to be averaged; `unused` parameters will get no gradient."""
        if self._begun:
            missing = [name for k, name in enumerate(self._names) if k not in self._ready]
            self._begun = False
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. These parameters "
                f"got no gradient: {', '.join(missing[:20])}{' ...' if len(missing) > 20 else ''}. Pass "
                "find_unused_parameters=True to DistributedDataParallel, or use all of forward's results in the loss"
            )
        self._expects, self._unused = True, list(unused)
        self._ready.clear()
        self._left = [len(group) for group in self._buckets]
        self._next, self._running = 0, []

    def unused(self, tensors: Sequence[Tensor]) -> list[int]:
        """The parameters, by number, that a backward from these tensors does not come to."""
        reached = _reached(tensors)
        return [k for k, p in enumerate(self._parameters) if id(p) not in reached]

    def prepare_for_backward(self, tensors: Sequence[Tensor]) -> None:
        """The next backward is to be averaged, whatever forward it is of (libraries call it before their own backward).

        Args:
            tensors: what it begins at, if it may leave out parameters; else none.
        """
        self.prepare(self.unused(tensors) if tensors else ())
        self.begin()

    def _rebuild_buckets(self) -> bool:
        """False: the buckets are those of the order of parameters, and are not made anew."""
        return False

    def begin(self) -> None:
        """A backward comes to what forward returned: parameters that it will not reach are done."""
        if self._expects and not self._begun:
            self._begun = True
            unused, self._unused = self._unused, []
            for k in unused:
                self._mark(k)

    def _arrived(self, k: int) -> None:
        if not self._expects:
            return
        self.begin()
        if k in self._ready:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: parameter {self._names[k]} got a second gradient in this "
                "backward. Forward used it outside of what find_unused_parameters sees, or backward ran twice"
            )
        self._mark(k)

    def _mark(self, k: int) -> None:
        self._ready.add(k)
        self._left[self._bucket_of[k]] -= 1
        while self._next < len(self._buckets) and self._left[self._next] == 0:
            self._next += 1
            self._start(self._next - 1)
        if self._next == len(self._buckets):
            self._finish()
        elif self._running:
            self._comm.progress()

    def _flat(self, b: int, parameters: Sequence[Tensor]) -> Tensor:
        """The gradients of a bucket, one after the other: the bucket itself, if they are views of it."""
        held, pieces = self._flats[b], [p.grad for p in parameters]
        if held is not None:
            at = held.data_ptr()
            for p, grad in zip(parameters, pieces):
                if grad is None or grad.data_ptr() != at or not grad.is_contiguous():
                    break
                at += p.nbytes
            else:
                return held
        flat = [p.new_zeros(p.numel()) if g is None else g.detach().reshape(-1) for p, g in zip(parameters, pieces)]
        return flat[0].clone() if len(flat) == 1 else _f["cat"](flat)

    @no_grad()
    def _start(self, b: int) -> None:
        """Begins the average of a bucket, which goes on while backward does."""
        parameters = [self._parameters[k] for k in self._buckets[b]]
        flat = self._flat(b, parameters)
        if self.hook is None:
            self._running.append((flat, self._comm.start_all_reduce(flat, "avg")))
        else:
            future = self.hook(GradBucket(b, flat, parameters, b == len(self._buckets) - 1))
            self._running.append((flat, future))

    @no_grad()
    def _finish(self, fills: bool = False) -> None:
        """Waits for the averages, and gives them to the parameters; fills: also to those without a gradient."""
        self._expects = self._begun = False
        running, self._running = self._running, []
        late: list[tuple[int, Tensor]] = []  # gradients of parameters that this rank did not use
        for b, (flat, request) in enumerate(running):
            found = request.wait()
            if self.hook is None and self.divisor is not None:
                flat *= self._comm.size / self.divisor
            if self.hook is not None:
                flat = found[0] if isinstance(found, (list, tuple)) else found
            self._flats[b] = flat if self._as_views else None
            parameters = [self._parameters[k] for k in self._buckets[b]]
            for k, p, mean in zip(self._buckets[b], parameters, views(flat, parameters)):
                if p.grad is None:
                    late.append((k, mean))
                elif not self._as_views:
                    p.grad.copy_(mean)
                elif p.grad.data_ptr() != mean.data_ptr():
                    p.grad = mean
        if not self._finds_unused:
            for k, mean in late if fills else ():
                self._parameters[k].grad = mean.clone()
            return
        used = _f["ones"](len(self._parameters), dtype=_C.uint8)
        for k, _ in late:
            used[k] = 0
        self._comm.all_reduce(used, "max")
        for k, mean in late:
            if used[k]:  # another rank used it: the gradient belongs to all
                self._parameters[k].grad = mean.clone()

    def shadow(self) -> None:
        """Takes part in the averages of others with gradients that are zero; gradients are the averages then."""
        for p in self._parameters:
            p.grad = None
        self.average(True)

    def average(self, fills: bool = False) -> None:
        """Averages the gradients that are there now; all ranks call it."""
        self._left = [0] * len(self._buckets)
        self._next = 0
        while self._next < len(self._buckets):
            self._next += 1
            self._start(self._next - 1)
        self._finish(fills)
