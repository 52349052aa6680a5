"""Communication between ranks: the calls, what is checked before each, and what is counted.

A Communicator is a set of ranks that make the same calls in the same order.  The base class holds everything that does
not depend on how bytes travel: staging, reductions, checks, traffic.  ``_threads.py`` and ``_mpi.py`` move the bytes.
"""

from __future__ import annotations

import contextlib
import json
import operator
import threading
from collections import namedtuple
from typing import TYPE_CHECKING

from .. import _C
from ..autograd.grad_mode import no_grad
from ._reductions import check_op, combine, count, small

if TYPE_CHECKING:
    from .._typing import Any, Iterator, Sequence, Tensor

_f = _C.functions

# ---------------------------------------------------------------- traffic

# sent: bytes that this rank gave to others; received: bytes it got from them; messages: how many pieces it gave.
Transfer = namedtuple("Transfer", "call sent received messages")


class Traffic:
    """Totals of what a rank has moved over a communicator, and over those that were split from it.

    sent, received (bytes), messages (sent), calls ({name: count}).
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Counts from zero again."""
        self.sent = self.received = self.messages = 0
        self.calls: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"Traffic(sent={self.sent}, received={self.received}, messages={self.messages}, calls={self.calls})"


# ---------------------------------------------------------------- bytes of tensors


def flat_bytes(t: Tensor) -> Tensor:
    """The memory of a contiguous tensor, as a 1-d tensor of uint8."""
    return t.detach().as_strided((t.numel(),), (1,)).view(_C.uint8)


def _bytes_of(text):
    return _C.tensor_from_object(list(text), _C.uint8)


def parts_of(n: int, size: int) -> list[int]:
    """Sizes of `size` parts of n, as equal as can be, larger ones first: 10 in 4 is [3, 3, 2, 2].

    This is how an axis is cut over ranks wherever nobody says otherwise.
    """
    return [n // size + (i < n % size) for i in range(size)]


class Request:
    """A transfer that goes on meanwhile."""

    def wait(self) -> None:
        """Returns when the tensor may be used again; raises what went wrong."""
        raise NotImplementedError

    def is_completed(self) -> bool:
        """Whether wait() would return at once."""
        raise NotImplementedError


class _Staged(Request):
    """A receive into a staging copy, which wait() brings to the tensor."""

    def __init__(self, request, staged, target):
        self._request, self._staged, self._target = request, staged, target

    def wait(self):
        self._request.wait()
        if self._staged is not None:
            with no_grad():
                self._target.copy_(self._staged)
            self._staged = None

    def is_completed(self):
        return self._request.is_completed()


class FromAny(Request):
    """A receive of the first message with a tag, from whichever rank. source: which it was, once it is there."""

    def __init__(self, comm, tensor, tag):
        self._comm, self._tensor, self._tag = comm, tensor, tag
        self.source: int | None = None

    def _take(self, source):
        self.source = source
        self._comm.recv(self._tensor, source, self._tag)

    def wait(self):
        if self.source is None:
            self._comm.current = "recv"
            self._take(self._comm._first(self._tag))

    def is_completed(self):
        if self.source is None:
            source = self._comm._arrived(self._tag)
            if source is not None:
                self._take(source)
        return self.source is not None


class Communicator:
    """A set of ranks that make the same calls in the same order.

    rank: this process among them, from 0; size: how many there are; name: how errors call the set; checks: whether each
    call is preceded by a comparison of call, dtype, sizes and operation across ranks; timeout: seconds that a call may
    wait; traffic: the Traffic of this rank.

    Arguments are tensors of any dtype, layout and (in part) device; what is not contiguous is copied on the way.  No
    gradient is recorded.  A call returns when its tensors may be used again.

    Raises (every call):
        MismatchError: on all ranks, where calls, dtypes, sizes, roots or operations differ; it names the ranks.
        DeadlockError, TimeoutExpired: nobody will answer; nobody did in time.

    >>> def program():
    ...     comm = strided.distributed.world()
    ...     x = strided.tensor([comm.rank + 1.])
    ...     comm.all_reduce(x)
    ...     return x
    >>> strided.distributed.simulate(3)(program)()
    [tensor([6.]), tensor([6.]), tensor([6.])]
    """

    rank: int
    size: int
    name: str
    checks: bool
    timeout: float
    traffic: Traffic
    backend = "mpi"  # under PyTorch's names
    _parent: Communicator | None = None
    _last_tag = (1 << 28) - 1  # in a simulation; MPI says what it takes

    def __init__(
        self, rank: int, size: int, name: str, parent: Communicator | None, checks: bool, timeout: float
    ) -> None:
        self.rank, self.size, self.name, self.checks, self.timeout = rank, size, name, checks, timeout
        self._parent, self.traffic = parent, Traffic()
        if parent is not None:
            self.backend = parent.backend
        self._recorders: list[list[Transfer]] = []
        self._number, self._splits = 0, 0
        self.current = ""  # the call that runs, for errors
        self.why: tuple[str, str] | None = None  # the function that needs the next call, and what it moves
        self.purpose = ""  # what the next call is for: compared across ranks, and named where they differ

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank={self.rank}, size={self.size}, name={self.name!r})"

    # ------------------------------------------------------------ what transports provide; all arguments are flat bytes

    def _announce(self, header: tuple) -> None:
        raise NotImplementedError

    def _barrier(self) -> None:
        raise NotImplementedError

    def _broadcast(self, data: Tensor, root: int) -> None:
        raise NotImplementedError

    def _all_gather(self, outputs: list[Tensor], data: Tensor | None) -> None:  # None: what is in outputs[rank]
        raise NotImplementedError

    def _gather(self, outputs: list[Tensor] | None, data: Tensor, root: int) -> None:
        raise NotImplementedError

    def _scatter(self, data: Tensor, inputs: list[Tensor] | None, root: int) -> None:
        raise NotImplementedError

    def _all_to_all(self, outputs: list[Tensor], inputs: list[Tensor]) -> None:
        raise NotImplementedError

    def _isend(self, data: Tensor, dest: int, tag: int, dtype: str) -> Request:
        raise NotImplementedError

    def _irecv(self, data: Tensor, source: int, tag: int, dtype: str) -> Request:
        raise NotImplementedError

    def _arrived(self, tag: int) -> int | None:  # a rank whose message with this tag is there
        raise NotImplementedError

    def _first(self, tag: int) -> int:  # the same, once there is one
        raise NotImplementedError

    def _start(self, tensor: Tensor, op: str) -> Request:
        raise NotImplementedError

    def _split(self, color: int | None, key: int, name: str) -> Communicator | None:
        raise NotImplementedError

    def members(self) -> list[int]:
        """The ranks of this communicator, by their numbers in the program's."""
        raise NotImplementedError

    def abort(self, error: BaseException) -> None:
        """Ends the program on all ranks, with this error and the number of this rank."""
        raise NotImplementedError

    # ------------------------------------------------------------ staging and bookkeeping

    def _stage(self, t):
        """The tensor in one piece of memory that the transport reaches: itself, or a copy."""
        return t.detach().contiguous()

    def _begin(self, call, tensor, sizes, op="", root=None):
        self._number += 1
        self.current, purpose, self.purpose = call, self.purpose, ""
        if root is None:
            root = -1  # in headers: the call has none
        elif not 0 <= root < self.size:
            raise ValueError(f"{call}: root is {root}, but ranks go from 0 to {self.size - 1}")
        if self.checks and self.size > 1:
            dtype = "" if tensor is None else str(tensor.dtype).rpartition(".")[2]
            self._announce(((self._number, call, dtype, f"{op} {purpose}" if purpose else op, root), tuple(sizes)))

    def _many(self, call, tensors, like):
        if not isinstance(tensors, (tuple, list)):
            raise TypeError(f"{call}: a list of tensors is required, got {type(tensors).__name__}")
        if len(tensors) != self.size:
            raise ValueError(f"{call}: {len(tensors)} tensors for {self.size} ranks; there is one for each rank")
        for t in (like, *tensors):
            count(call, t)
            if t.dtype is not like.dtype:
                raise TypeError(f"{call}: tensors of one call have one dtype, got {like.dtype} and {t.dtype}")
        return [t.numel() for t in tensors]

    def _count(self, call, sent, received, messages):
        transfer = Transfer(call, sent, received, messages)
        for listener in rank_state().get("listeners", ()):
            listener(self, transfer)
        comm = self
        while comm is not None:
            traffic = comm.traffic
            traffic.sent += sent
            traffic.received += received
            traffic.messages += messages
            traffic.calls[call] = traffic.calls.get(call, 0) + 1
            for recorder in comm._recorders:
                recorder.append(transfer)
            comm = comm._parent

    @contextlib.contextmanager
    def record(self) -> Iterator[list[Transfer]]:
        """Context; the list gets a Transfer for each call of this rank, on communicators split from this one too."""
        made: list[Transfer] = []
        self._recorders.append(made)
        try:
            yield made
        finally:
            self._recorders[:] = [r for r in self._recorders if r is not made]

    # ------------------------------------------------------------ calls

    def split(self, color: int | None, key: int = 0) -> Any:
        """The communicator of the ranks that give the same color, ordered by (key, rank); None for color None."""
        self._begin("split", None, ())
        self._splits += 1
        return self._split(color, key, f"{self.name}/{self._splits}.{color}")

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        self._begin("barrier", None, ())
        self._barrier()
        self._count("barrier", 0, 0, 0)

    @no_grad()
    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Fills tensor with that of root, in place."""
        self._begin("broadcast", tensor, (count("broadcast", tensor),), root=self._rooted("broadcast", root))
        staged = self._stage(tensor)
        self._broadcast(flat_bytes(staged), root)
        if self.rank != root:
            self._back(tensor, staged)
        n, others = staged.nbytes, self.size - 1
        self._count("broadcast", *((n * others, 0, others) if self.rank == root else (0, n, 0)))

    @no_grad()
    def all_reduce(self, tensor: Tensor, op: str = "sum") -> None:
        """Combines the tensors of all ranks elementwise, in place: sum, avg, prod, min, max, band, bor, bxor.

        Operands are combined in the order of ranks, so every rank has the same bits, the same at every call.
        """
        check_op("all_reduce", op, tensor)
        self._begin("all_reduce", tensor, (tensor.numel(),), op)
        size, n = self.size, tensor.numel()
        staged = self._stage(tensor).reshape(-1)
        if small(staged) or size == 1:
            everything = staged.new_empty((size, n))
            self._all_gather([flat_bytes(row) for row in everything], flat_bytes(staged))
            staged = combine(list(everything), op)
            moved, messages = staged.nbytes * (size - 1), size - 1
            self._count("all_reduce", moved, moved, messages)
        else:
            # Each rank combines one piece in its place, and gives it to all.
            own, rank, none = staged.split(parts_of(n, size)), self.rank, staged.new_empty(0)
            parts = list(staged.new_empty((size - 1, own[rank].numel())))
            parts.insert(rank, none)
            self._all_to_all(
                [flat_bytes(p) for p in parts], [flat_bytes(none if r == rank else p) for r, p in enumerate(own)]
            )
            parts[rank] = own[rank]
            combine(parts, op, own[rank])
            self._all_gather([flat_bytes(p) for p in own], None)
            out, back = staged.nbytes - own[rank].nbytes, own[rank].nbytes * (size - 1)
            self._count("all_reduce", out + back, out + back, 2 * (size - 1))
        if staged.data_ptr() != tensor.data_ptr():
            tensor.detach().copy_(staged.view(tensor.shape))

    def start_all_reduce(self, tensor: Tensor, op: str = "sum") -> Request:
        """all_reduce that goes on meanwhile: tensor must not be touched before wait().

        Sums may be begun while others go on. Bits are those of all_reduce.  Over MPI they get on whenever this rank
        makes any call, asks is_completed(), or calls progress().
        """
        if self.size == 1:
            self.all_reduce(tensor, op)
            from ._running import Done

            return Done()
        check_op("all_reduce", op, tensor)
        request = self._start(tensor, op)
        n, own = tensor.numel(), parts_of(tensor.numel(), self.size)[self.rank]
        out, messages = n * (self.size - 1), self.size - 1
        if not small(tensor):
            out, messages = n - own + own * (self.size - 1), 2 * messages
        self._count("all_reduce", out * tensor.itemsize, out * tensor.itemsize, messages)
        return request

    def progress(self) -> None:
        """Lets what was begun get on."""

    @no_grad()
    def reduce(self, tensor: Tensor, op: str = "sum", root: int = 0) -> None:
        """The same, in place on root only; others keep what they have."""
        check_op("reduce", op, tensor)
        self._begin("reduce", tensor, (tensor.numel(),), op, self._rooted("reduce", root))
        staged = self._stage(tensor).reshape(-1)
        everything = staged.new_empty((self.size, staged.numel())) if self.rank == root else None
        rows = None if everything is None else [flat_bytes(row) for row in everything]
        self._gather(rows, flat_bytes(staged), root)
        if everything is not None:
            tensor.detach().copy_(combine(list(everything), op).view(tensor.shape))
        self._count_rooted("reduce", staged.nbytes, [staged.nbytes] * self.size, root)

    @no_grad()
    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """outputs[r] becomes the tensor of rank r; sizes may differ from rank to rank, and be 0."""
        sizes = self._many("all_gather", outputs, tensor)
        self._begin("all_gather", tensor, (tensor.numel(), *sizes))
        staged, targets = self._stage(tensor), [self._stage(o) for o in outputs]
        self._all_gather([flat_bytes(t) for t in targets], flat_bytes(staged))
        self._back_all(outputs, targets)
        received = sum(sizes) * tensor.itemsize - staged.nbytes
        self._count("all_gather", staged.nbytes * (self.size - 1), received, self.size - 1)

    @no_grad()
    def gather(self, outputs: Sequence[Tensor] | None, tensor: Tensor, root: int = 0) -> None:
        """The same, on root only; others give None for outputs."""
        sizes = self._many("gather", outputs, tensor) if self._gives("gather", outputs, root) else []
        self._begin("gather", tensor, (count("gather", tensor), *sizes), root=self._rooted("gather", root))
        staged = self._stage(tensor)
        targets = None if outputs is None else [self._stage(o) for o in outputs]
        self._gather(None if targets is None else [flat_bytes(t) for t in targets], flat_bytes(staged), root)
        if outputs is not None:
            self._back_all(outputs, targets)
        self._count_rooted("gather", staged.nbytes, [n * tensor.itemsize for n in sizes], root)

    @no_grad()
    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor] | None = None, root: int = 0) -> None:
        """tensor becomes inputs[rank] of root; others give None for inputs."""
        sizes = self._many("scatter", inputs, tensor) if self._gives("scatter", inputs, root) else []
        self._begin("scatter", tensor, (count("scatter", tensor), *sizes), root=self._rooted("scatter", root))
        staged = self._stage(tensor)
        self._scatter(
            flat_bytes(staged), None if inputs is None else [flat_bytes(self._stage(t)) for t in inputs], root
        )
        self._back(tensor, staged)
        n, others = staged.nbytes, self.size - 1
        at_root = (sum(sizes) * tensor.itemsize - n, 0, others)
        self._count("scatter", *(at_root if self.rank == root else (0, n, 0)))

    @no_grad()
    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: str = "sum") -> None:
        """output becomes the combination over all ranks r of inputs[rank] of r."""
        check_op("reduce_scatter", op, output)
        sizes = self._many("reduce_scatter", inputs, output)
        self._begin("reduce_scatter", output, (output.numel(), *sizes), op)
        received = self._stage(output).new_empty((self.size, output.numel()))
        self._all_to_all([flat_bytes(row) for row in received], [flat_bytes(self._stage(t)) for t in inputs])
        output.detach().copy_(combine(list(received), op).view(output.shape))
        own = output.numel() * output.itemsize
        sent = sum(sizes) * output.itemsize - own
        self._count("reduce_scatter", sent, own * (self.size - 1), self.size - 1)

    @no_grad()
    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """outputs[r] becomes inputs[rank] of rank r.  Empty pieces make no message."""
        if isinstance(inputs, (tuple, list)) and not inputs:
            raise ValueError(f"all_to_all: 0 tensors for {self.size} ranks; there is one for each rank")
        like = inputs[0] if isinstance(inputs, (tuple, list)) else _f["empty"](0)
        given, wanted = self._many("all_to_all", inputs, like), self._many("all_to_all", outputs, like)
        self._begin("all_to_all", like, (*given, *wanted))
        targets = [self._stage(o) for o in outputs]
        self._all_to_all([flat_bytes(t) for t in targets], [flat_bytes(self._stage(t)) for t in inputs])
        self._back_all(outputs, targets)
        sent, received = sum(given) - given[self.rank], sum(wanted) - wanted[self.rank]
        messages = sum(n > 0 for r, n in enumerate(given) if r != self.rank)
        self._count("all_to_all", sent * like.itemsize, received * like.itemsize, messages)

    def send(self, tensor: Tensor, dest: int, tag: int = 0) -> None:
        """Gives tensor to rank dest, which receives it with the same tag."""
        self.current = "send"
        self.isend(tensor, dest, tag).wait()

    def recv(self, tensor: Tensor, source: int, tag: int = 0) -> None:
        """Fills tensor with what rank source sends with this tag."""
        self.current = "recv"
        self.irecv(tensor, source, tag).wait()

    def isend(self, tensor: Tensor, dest: int, tag: int = 0) -> Request:
        """send that goes on meanwhile; tensor must not be written to before wait()."""
        count("send", tensor)
        self._check_peer("send", dest, tag)
        with no_grad():
            data = flat_bytes(self._stage(tensor))
        self._count("send", data.numel(), 0, 1)
        return self._isend(data, dest, tag, str(tensor.dtype))

    def irecv(self, tensor: Tensor, source: int, tag: int = 0) -> Request:
        """recv that goes on meanwhile; tensor is there after wait()."""
        count("recv", tensor)
        self._check_peer("recv", source, tag)
        with no_grad():
            staged = self._stage(tensor)
            data = flat_bytes(staged)
        self._count("recv", 0, data.numel(), 0)
        request = self._irecv(data, source, tag, str(tensor.dtype))
        in_place = staged.data_ptr() == tensor.data_ptr() and staged.stride() == tensor.stride()
        return _Staged(request, None if in_place else staged, tensor.detach())

    def irecv_any(self, tensor: Tensor, tag: int = 0) -> FromAny:
        """irecv of the first message with this tag that is there, from whichever rank; it is taken in wait()."""
        count("recv", tensor)
        self._check_peer("recv", 0, tag)
        return FromAny(self, tensor, tag)

    def sendrecv(self, tensor: Tensor, dest: int, into: Tensor, source: int, tag: int = 0) -> None:
        """Gives tensor to dest and fills `into` with what source sends, both at once."""
        self.current = "sendrecv"
        receiving = self.irecv(into, source, tag)
        sending = self.isend(tensor, dest, tag)
        receiving.wait()
        sending.wait()

    # ------------------------------------------------------------ small values, as JSON text

    def all_gather_object(self, value: Any) -> list[Any]:
        """[the value of each rank].  Values are made of numbers, strings, None, lists, dicts; a tuple comes as list."""
        text = json.dumps(value).encode()
        data = _bytes_of(text)
        sizes = [_f["empty"](1, dtype=_C.int64) for _ in range(self.size)]
        self.all_gather(sizes, _f["full"]((1,), len(text), dtype=_C.int64))
        texts = [_f["empty"](int(n), dtype=_C.uint8) for n in sizes]
        self.all_gather(texts, data)
        return [json.loads(bytes(t.tolist())) for t in texts]

    def broadcast_object(self, value: Any, root: int = 0) -> Any:
        """The value of root, on every rank; others give anything."""
        text = json.dumps(value).encode() if self.rank == self._rooted("broadcast_object", root) else b""
        n = _f["full"]((1,), len(text), dtype=_C.int64)
        self.broadcast(n, root)
        data = _bytes_of(text + b" " * (int(n) - len(text)))
        self.broadcast(data, root)
        return json.loads(bytes(data.tolist()))

    # ------------------------------------------------------------ inside

    def _back(self, target, staged):
        if staged.data_ptr() != target.data_ptr() or staged.stride() != target.stride():
            target.detach().copy_(staged)

    def _back_all(self, targets, staged):
        for target, copy in zip(targets, staged):
            self._back(target, copy)

    def _gives(self, call, tensors, root):
        if (tensors is not None) != (self.rank == root):
            raise ValueError(f"{call}: the list of tensors is given on root ({root}), and nowhere else")
        return tensors is not None

    def _rooted(self, call, root):
        try:
            return operator.index(root)
        except TypeError:
            raise TypeError(f"{call}: root is the number of a rank, got {type(root).__name__}") from None

    def _check_peer(self, call, peer, tag):
        for name, value in (("rank", peer), ("tag", tag)):
            if not hasattr(value, "__index__"):
                raise TypeError(f"{call}: a {name} is an int, got {type(value).__name__}")
        if not 0 <= operator.index(peer) < self.size:
            raise ValueError(f"{call}: there is no rank {peer}; ranks go from 0 to {self.size - 1}")
        if not 0 <= operator.index(tag) <= self._last_tag:
            raise ValueError(f"{call}: tag is {tag}, but tags go from 0 to {self._last_tag}")

    def _count_rooted(self, call, own, sizes, root):
        self._count(call, *((0, sum(sizes) - own, 0) if self.rank == root else (own, 0, 1)))


# ---------------------------------------------------------------- which rank this thread is


class _Rank(threading.local):
    world: Communicator | None = None  # in a simulated rank
    state: dict[str, Any] | None = None


this_rank = _Rank()
_process_state: dict[str, Any] = {}


def rank_state() -> dict[str, Any]:
    """A dict that belongs to the rank: to the thread in a simulation, else to the process."""
    return _process_state if this_rank.state is None else this_rank.state
