"""Sums over ranks that go on while a rank computes (``Communicator.start_all_reduce``).

Over MPI a sum has up to three steps: headers are compared, pieces exchanged, results collected.  A rank takes the next
step when it looks (``progress``), and ranks look at different times.  MPI wants the calls on one communicator in one
order, so each step has a communicator of its own, on which the sums follow each other in the order of their start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..autograd.grad_mode import no_grad
from ._checks import MismatchError, check_headers
from ._comm import Request, flat_bytes, parts_of
from ._reductions import combine, small

if TYPE_CHECKING:
    from .._typing import Any, Callable, Tensor


class Done(Request):
    """A transfer that is over."""

    def wait(self) -> None:
        pass

    def is_completed(self) -> bool:
        return True


# ---------------------------------------------------------------- MPI


class SumQueue:
    """The sums of one communicator that go on, oldest first."""

    def __init__(self, comm: Any, steps: list[Any]) -> None:
        self.comm, self.steps = comm, steps  # steps[k]: MPI's communicator for step k + 1; step 0 compares headers
        self.sums: list[Sum] = []
        self._busy = False

    def progress(self) -> None:
        """Takes what steps can be taken."""
        if self._busy:
            return
        self._busy, reached = True, 9
        try:
            for s in self.sums:
                s.advance(reached)
                if not s.done:
                    reached = min(reached, s.step)
            self.sums = [s for s in self.sums if not s.done]
        finally:
            self._busy = False


class Sum(Request):
    """One sum."""

    def __init__(self, queue: SumQueue, tensor: Tensor, op: str, request: Any, check: Callable[[], str | None]) -> None:
        self._queue, self._comm, self._target, self._op = queue, queue.comm, tensor.detach(), op
        self._flat = queue.comm._stage(tensor).reshape(-1)
        self._request, self._check = request, check
        self._steps = [self._gather_all, self._end_small] if small(self._flat) else [
            self._exchange, self._collect, self._end]  # fmt: skip
        self.step, self.done, self.error = 0, False, None  # the step that was begun last

    def advance(self, reached: int) -> None:
        """Begins the next steps, if earlier sums have begun them."""
        try:
            while self._request is None or self._request.Test():
                self._request = None
                if self._check is not None:
                    check, self._check = self._check, None
                    wrong = check()
                    if wrong is not None:
                        raise MismatchError(wrong)
                last = self.step + 1 == len(self._steps)
                if not last and self.step + 1 > reached:
                    return
                with no_grad():
                    self._request = self._steps[self.step]()
                self.step += 1
                if last:
                    self.done = True
                    return
        except Exception as error:  # told by wait()
            self.error, self.done = error, True

    def _communicator(self) -> Any:
        return self._queue.steps[self.step]

    def _gather_all(self) -> Any:
        self._all = self._flat.new_empty((self._comm.size, self._flat.numel()))
        return self._comm._gather_on(
            self._communicator(), [flat_bytes(row) for row in self._all], flat_bytes(self._flat)
        )

    def _end_small(self) -> None:
        self._target.copy_(combine(list(self._all), self._op).view(self._target.shape))

    def _exchange(self) -> Any:
        comm, flat = self._comm, self._flat
        rank, none = comm.rank, flat.new_empty(0)
        self._own = flat.split(parts_of(flat.numel(), comm.size))
        self._parts = list(flat.new_empty((comm.size - 1, self._own[rank].numel())))
        self._parts.insert(rank, none)
        given = [none if r == rank else part for r, part in enumerate(self._own)]
        return comm._exchange_on(
            self._communicator(), [flat_bytes(p) for p in self._parts], [flat_bytes(p) for p in given]
        )

    def _collect(self) -> Any:
        own = self._own[self._comm.rank]
        self._parts[self._comm.rank] = own
        combine(self._parts, self._op, own)
        return self._comm._gather_on(self._communicator(), [flat_bytes(p) for p in self._own], None)

    def _end(self) -> None:
        if self._flat.data_ptr() != self._target.data_ptr():
            self._target.copy_(self._flat.view(self._target.shape))

    def Test(self) -> bool:
        """As MPI's requests have it."""
        self._queue.progress()
        return self.done

    def is_completed(self) -> bool:
        return self.Test()

    def wait(self) -> None:
        if not self.done:
            self._comm.current = "all_reduce"
            self._comm._finish(self)
        if self.error is not None:
            raise self.error


# ---------------------------------------------------------------- simulations


class SimulatedSum:
    """A sum of simulated ranks: the last one to come computes it."""

    def __init__(self) -> None:
        self.given: dict[int, tuple[Any, Tensor, str]] = {}
        self.done, self.error = False, None

    def join(self, comm: Any, header: Any, tensor: Tensor, op: str) -> None:
        """A rank starts the sum."""
        self.given[comm.rank] = header, tensor, op
        if len(self.given) < comm.size:
            return
        everything = [self.given[r] for r in range(comm.size)]
        if all(h is not None for h, _, _ in everything):
            self.error = check_headers([h for h, _, _ in everything], comm.name)
        if self.error is None:
            with no_grad():
                total = combine([t.detach().reshape(-1) for _, t, _ in everything], op)
                for _, t, _ in everything:
                    t.detach().copy_(total.view(t.shape))
        self.done = True
        for member in comm._shared.members:
            comm._shared.world.wake(member)


class SimulatedSumRequest(Request):
    """What a simulated rank waits for."""

    def __init__(self, comm: Any, sum: SimulatedSum, what: str) -> None:
        self._comm, self._sum, self._what = comm, sum, what

    def wait(self) -> None:
        self._comm._shared.world.block(self._comm._me, self._what, lambda: self._sum.done)
        if self._sum.error is not None:
            raise MismatchError(self._sum.error)

    def is_completed(self) -> bool:
        if not self._sum.done:
            self._comm._shared.world.let_others_run(self._comm._me)
        return self._sum.done
