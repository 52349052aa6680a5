"""Ranks as threads of one process, over memory: ``simulate``.

One rank runs at a time.  It hands over only where it waits for others, to the next rank in cyclic order that can go on.
So a program takes the same course every time, and a deadlock is seen at once: there is no rank to hand over to.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

from .. import _C
from ..autograd.grad_mode import no_grad, set_grad_enabled
from ._checks import DeadlockError, MismatchError, RankError, check_headers
from ._comm import Communicator, Request, this_rank

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["simulate"]


class _Ended(BaseException):
    """Ends the thread of a rank after another one has failed.  No Exception, so that programs do not catch it."""


class _World:
    """The ranks of one simulation: which one runs, which ones wait and for what."""

    def __init__(self, size):
        self.size = size
        self.failure: BaseException | None = None
        self._go = [threading.Lock() for _ in range(size)]  # held until the rank may run
        for lock in self._go:
            lock.acquire()
        self._state = ["ready"] * size  # ready, waiting, returned
        self._waits_for = [""] * size
        generator = _C.default_generator()
        self._random = [generator.get_state()] * size  # each process would have a generator of its own

    def _next(self, rank):
        for i in range(1, self.size + 1):
            if self._state[(rank + i) % self.size] == "ready":
                return (rank + i) % self.size
        return None

    def start(self):
        self._hand_over(0)

    def _hand_over(self, rank):
        _C.default_generator().set_state(self._random[rank])
        self._go[rank].release()

    def enter(self, rank):
        self._go[rank].acquire()

    def check(self):
        """Ends this rank if another one has failed."""
        if self.failure is not None:
            raise _Ended

    def block(self, rank, waits_for, is_there: Callable[[], bool]):
        """Lets others run until is_there()."""
        self.check()
        while not is_there():
            self._state[rank], self._waits_for[rank] = "waiting", waits_for
            following = self._next(rank)
            if following is None:
                self.fail(DeadlockError(self._describe()))
                self.check()
            self._random[rank] = _C.default_generator().get_state()
            self._hand_over(following)
            self._go[rank].acquire()
            self.check()

    def let_others_run(self, rank):
        """Hands over once, if anybody else can go on."""
        self.check()
        following = self._next(rank)
        if following != rank:
            self._random[rank] = _C.default_generator().get_state()
            self._hand_over(following)
            self._go[rank].acquire()
            self.check()

    def wake(self, rank):
        if self._state[rank] == "waiting":
            self._state[rank] = "ready"

    def leave(self, rank):
        """The rank has returned; whoever can goes on."""
        self._state[rank] = "returned"
        following = self._next(rank)
        if following is None and "waiting" in self._state:
            self.fail(DeadlockError(self._describe()))
            following = self._next(rank)
        if following is not None:
            self._hand_over(following)

    def fail(self, error):
        """The first failure counts; everyone who waits goes on, to end."""
        if self.failure is None:
            self.failure = error
        for rank in range(self.size):
            self.wake(rank)

    def _describe(self):
        lines = [
            f"rank {r} waits in {self._waits_for[r]}" if state == "waiting" else f"rank {r} has {state}"
            for r, state in enumerate(self._state)
        ]
        return "no rank can go on: " + "; ".join(lines)


class _Shared:
    """What the ranks of one communicator share: who has arrived at the current call, and messages to single ranks."""

    def __init__(self, world, members):
        self.world, self.members = world, members
        self.arrived: dict[int, Any] = {}
        self.results: list[Any] = [None] * len(members)
        self.messages: dict[tuple[int, int, int], list[_Message]] = {}
        self.listening: set[int] = set()  # ranks that wait for a message from any other
        self.sums: dict[int, Any] = {}  # sums that go on, by their number


class _Message:
    """One message: a sender or a receiver has come first."""

    def __init__(self, is_send, data, dtype):
        self.is_send, self.data, self.dtype = is_send, data, dtype
        self.done, self.error = False, None


class _MessageRequest(Request):
    def __init__(self, comm, message, what):
        self._comm, self._message, self._what = comm, message, what

    def wait(self):
        comm = self._comm
        comm._shared.world.block(comm._me, self._what, lambda: self._message.done)
        if self._message.error is not None:
            raise self._message.error

    def is_completed(self):
        comm = self._comm
        if not self._message.done:  # a loop that asks until it is there must let others run
            comm._shared.world.let_others_run(comm._me)
        return self._message.done


class ThreadCommunicator(Communicator):
    """A Communicator over the memory of one process."""

    def __init__(self, shared, rank, name, parent, checks, timeout):
        super().__init__(rank, len(shared.members), name, parent, checks, timeout)
        self._shared, self._me = shared, shared.members[rank]
        self._header = None
        self._started = 0

    def _announce(self, header):
        self._header = header  # compared when all have arrived, so that a call waits once

    def _collective(self, what, given, complete):
        """All ranks come here; the last one executes complete([given of each]) -> [result of each]."""
        shared, world = self._shared, self._shared.world
        world.check()
        header, self._header = self._header, None
        shared.arrived[self.rank] = (what, header, given)
        shared.results[self.rank] = None
        if len(shared.arrived) == self.size:
            everything = [shared.arrived[r] for r in range(self.size)]
            shared.arrived = {}
            shared.results = self._outcome(everything, complete)
            for member in shared.members:
                world.wake(member)
        else:
            missing = f"{self.current} on {self.name}, call {self._number}"
            world.block(self._me, missing, lambda: shared.results[self.rank] is not None)
        error, result = shared.results[self.rank]
        if error is not None:
            raise MismatchError(error)
        return result

    def _outcome(self, everything, complete):
        headers = [h for _, h, _ in everything]
        error = None
        if all(h is not None for h in headers):
            error = check_headers(headers, self.name)
        if error is None and any(what != everything[0][0] for what, _, _ in everything):
            kinds = ", ".join(f"{what} on rank {r}" for r, (what, _, _) in enumerate(everything))
            error = f"{self.name}: ranks make different calls: {kinds}"
        if error is not None:
            return [(error, None)] * self.size
        with no_grad():
            return [(None, r) for r in complete([given for _, _, given in everything])]

    def _barrier(self):
        self._collective("barrier", None, lambda all: all)

    def _broadcast(self, data, root):
        def complete(all):
            for r, target in enumerate(all):
                if r != root:
                    target.copy_(all[root])
            return all

        self._collective("broadcast", data, complete)

    def _all_gather(self, outputs, data):
        data = outputs[self.rank] if data is None else data

        def complete(all):
            for targets, _ in all:
                for target, (_, source) in zip(targets, all):
                    target.copy_(source)
            return all

        self._collective("all_gather", (outputs, data), complete)

    def _gather(self, outputs, data, root):
        def complete(all):
            for target, (_, source) in zip(all[root][0], all):
                target.copy_(source)
            return all

        self._collective("gather", (outputs, data), complete)

    def _scatter(self, data, inputs, root):
        def complete(all):
            for source, (target, _) in zip(all[root][1], all):
                target.copy_(source)
            return all

        self._collective("scatter", (data, inputs), complete)

    def _all_to_all(self, outputs, inputs):
        def complete(all):
            for r, (targets, _) in enumerate(all):
                for target, (_, sources) in zip(targets, all):
                    target.copy_(sources[r])
            return all

        self._collective("all_to_all", (outputs, inputs), complete)

    def _start(self, tensor, op):
        from ._running import SimulatedSum, SimulatedSumRequest

        self._shared.world.check()
        self._begin("async all_reduce", tensor, (tensor.numel(),), op)
        header, self._header = self._header, None
        self._started += 1
        started = self._shared.sums.setdefault(self._started, SimulatedSum())
        started.join(self, header, tensor, op)
        if started.done:
            del self._shared.sums[self._started]
        return SimulatedSumRequest(self, started, f"all_reduce on {self.name}, call {self._number}")

    def _split(self, color, key, name):
        def complete(all):
            made: list[Any] = [()] * len(all)  # () for none, because None says that a rank waits
            for wanted in sorted({c for c, _ in all if c is not None}, key=str):
                ranks = sorted((k, r) for r, (c, k) in enumerate(all) if c == wanted)
                shared = _Shared(self._shared.world, [self._shared.members[r] for _, r in ranks])
                for i, (_, r) in enumerate(ranks):
                    made[r] = (shared, i)
            return made

        found = self._collective("split", (color, key), complete)
        return None if found == () else ThreadCommunicator(*found, name, self, self.checks, self.timeout)

    # ------------------------------------------------------------ messages

    def _post(self, key, is_send, data, dtype, what):
        shared, world = self._shared, self._shared.world
        world.check()
        waiting = shared.messages.setdefault(key, [])
        if not waiting or waiting[0].is_send == is_send:
            message = _Message(is_send, data, dtype)
            waiting.append(message)
            if is_send and key[1] in shared.listening:
                world.wake(shared.members[key[1]])
            return _MessageRequest(self, message, what)
        message = waiting.pop(0)
        sent, received = (message.data, data) if not is_send else (data, message.data)
        if message.dtype != dtype or sent.numel() != received.numel():
            ours, theirs = (dtype, data.numel()), (message.dtype, message.data.numel())
            (sd, sn), (rd, rn) = (ours, theirs) if is_send else (theirs, ours)
            source, dest, _ = key
            message.error = MismatchError(
                f"{self.name}: rank {source} sends {sn} bytes of {sd} to rank {dest}, which expects {rn} bytes of {rd}"
            )
        else:
            with no_grad():
                received.copy_(sent)
        message.done = True
        world.wake(shared.members[key[1] if is_send else key[0]])
        return _MessageRequest(self, message, what)

    def _isend(self, data, dest, tag, dtype):
        what = f"send to rank {dest}, tag {tag}, on {self.name}"
        return self._post((self.rank, dest, tag), True, data, dtype, what)

    def _irecv(self, data, source, tag, dtype):
        what = f"recv from rank {source}, tag {tag}, on {self.name}"
        return self._post((source, self.rank, tag), False, data, dtype, what)

    def _sender(self, tag):
        """The first rank that has sent this one a message with this tag, which nobody has taken."""
        messages = self._shared.messages
        for source in range(self.size):
            waiting = messages.get((source, self.rank, tag))
            if waiting and waiting[0].is_send:
                return source
        return None

    def _arrived(self, tag):
        found = self._sender(tag)
        if found is None:
            self._shared.world.let_others_run(self._me)
            found = self._sender(tag)
        return found

    def _first(self, tag):
        self._shared.listening.add(self.rank)
        try:
            what = f"recv from any rank, tag {tag}, on {self.name}"
            self._shared.world.block(self._me, what, lambda: self._sender(tag) is not None)
        finally:
            self._shared.listening.discard(self.rank)
        return self._sender(tag)

    def members(self):
        return list(self._shared.members)

    def abort(self, error):
        self._shared.world.fail(_rank_error(self._me, self.current, error))
        raise _Ended


def _rank_error(rank, call, error):
    during = f", after or in its call of {call}" if call else ""
    made = RankError(f"rank {rank} raised {type(error).__name__}{during}: {error}")
    made.rank, made.__cause__ = rank, error
    return made


def simulate(n: int, fn: Callable[..., Any] | None = None, *args: Any, checks: bool = True, **kwargs: Any) -> Any:
    """Runs a program on n ranks that are threads of this process; gives the list of their results.

    ``simulate(n)(fn)(*args)`` and ``simulate(n, fn, *args)`` are the same; with n alone it is a decorator.  Each rank
    calls ``fn(*args, **kwargs)`` and asks ``strided.distributed.world()`` who it is.  One rank runs at a time, and the
    order is the same at every run.  Each rank has a random generator of its own, in the state of the caller's.

    Args:
        n: how many ranks.
        checks: whether calls are compared across ranks before they are made.

    Raises:
        RankError: a rank raised; the error names it and its last call, ``__cause__`` is what it raised.
        DeadlockError: all ranks wait; the error says for what.

    >>> def program(x):
    ...     comm = strided.distributed.world()
    ...     parts = [strided.empty(1) for _ in range(comm.size)]
    ...     comm.all_gather(parts, x * comm.rank)
    ...     return strided.cat(parts)
    >>> strided.distributed.simulate(2, program, strided.tensor([5.]))
    [tensor([0., 5.]), tensor([0., 5.])]
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"simulate: the number of ranks is an int of at least 1, got {n!r}")
    if fn is None:

        def decorate(function):
            @functools.wraps(function)
            def run(*args, **kwargs):
                return _run(n, functools.partial(function, *args, **kwargs), checks)

            return run

        return decorate
    return _run(n, functools.partial(fn, *args, **kwargs), checks)


def _run(n, program, checks):
    world = _World(n)
    shared = _Shared(world, list(range(n)))
    comms = [ThreadCommunicator(shared, r, "world", None, checks, 0.0) for r in range(n)]
    results: list[Any] = [None] * n
    recording = _C.functions["is_grad_enabled"]()
    before = _C.default_generator().get_state()

    def run(rank):
        world.enter(rank)
        this_rank.world, this_rank.state = comms[rank], {}
        try:
            world.check()
            with set_grad_enabled(recording):
                results[rank] = program()
        except _Ended:
            pass
        except BaseException as error:  # KeyboardInterrupt and SystemExit of a rank end all ranks too
            world.fail(_rank_error(rank, comms[rank].current, error))
        finally:
            world.leave(rank)

    threads = [threading.Thread(target=run, args=(r,), name=f"rank {r}", daemon=True) for r in range(n)]
    for thread in threads:
        thread.start()
    world.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:  # the user has interrupted: ranks end at their next call
        world.failure = error
        for thread in threads:
            thread.join()
        raise
    finally:
        _C.default_generator().set_state(before)
    if world.failure is not None:
        raise world.failure
    return results


def alone(checks: bool, timeout: float) -> ThreadCommunicator:
    """The communicator of a process that is the only rank."""
    return ThreadCommunicator(_Shared(_World(1), [0]), 0, "world", None, checks, timeout)
