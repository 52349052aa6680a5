"""Ranks as processes, over MPI (``pip install 'strided[mpi]'``: mpi4py, and an MPI as a wheel; or the cluster's own).

Calls are started without blocking and polled, so that a time limit holds and Ctrl-C is seen.  Tensors of a device go
through the host, unless ``STRIDED_MPI_CUDA=1`` says that this MPI takes device memory.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from typing import TYPE_CHECKING

from .. import _C
from ._checks import DistError, MismatchError, TimeoutExpired, check_headers
from ._comm import Communicator, Request
from ._ending import GRACE, ExitNotices, ended, note

if TYPE_CHECKING:
    from .._typing import Any

_HEADER = 256  # bytes of a header that travels in one piece
_FORWARD = 0.05  # s; mpiexec drops what it has not read when a rank aborts; less than ranks that see it are apart
_P2P_HEADER = 64  # the number of bytes, which has 19 digits at most, and the name of a dtype


def _mpi():
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            "strided.distributed needs MPI for more than one process: pip install 'strided[mpi]' (mpi4py and an MPI), "
            f"or mpi4py beside the MPI of your cluster. The reason: {error}"
        ) from None
    return MPI


def _buffer(data):
    """What mpi4py takes for a flat tensor of bytes."""
    if data.is_cuda:
        return data  # by __cuda_array_interface__
    return data.numpy()


def _joined(pieces, only_read=False):
    """(one tensor of bytes that has all pieces, where each begins in it, True if it is their own memory).  What is only
    read may overlap: what all ranks get is sent from one place."""
    some = sorted((p for p in pieces if p.numel()), key=lambda p: p.data_ptr())
    if not some:
        return pieces[0], [0] * len(pieces), True
    start, storage = some[0].data_ptr(), some[0].untyped_storage().data_ptr()
    end = start
    for p in some:
        if p.untyped_storage().data_ptr() != storage or not only_read and p.data_ptr() < end:
            break
        end = max(end, p.data_ptr() + p.numel())
    else:
        starts = [p.data_ptr() - start if p.numel() else 0 for p in pieces]
        return some[0].as_strided((end - start,), (1,), some[0].storage_offset()), starts, True
    starts, end = [], 0
    for p in pieces:
        starts.append(end)
        end += p.numel()
    return _C.functions["cat"](pieces), starts, False


class MPIRequest(Request):
    """A transfer of MPI; with a header where calls are checked."""

    def __init__(self, comm, requests, keep, check=None):
        self._comm, self._requests, self._keep, self._check = comm, requests, keep, check

    def wait(self):
        for request in self._requests:
            self._comm._finish(request)
        self._requests = []
        check, self._check = self._check, None
        if check is not None:
            check()

    def is_completed(self):
        return all(r.Test() for r in self._requests)


class MPICommunicator(Communicator):
    """A Communicator over one of MPI's."""

    _exit_notices: ExitNotices | None = None  # of the process
    _members: list[int] | None = None
    _queue: Any = None  # of its sums that go on
    _going: list[Any] = []  # the lanes of all communicators

    def __init__(self, mpi_comm: Any, name: str, parent: Communicator | None, checks: bool, timeout: float) -> None:
        super().__init__(mpi_comm.Get_rank(), mpi_comm.Get_size(), name, parent, checks, timeout)
        self._MPI, self._comm = _mpi(), mpi_comm
        self._last_tag = (self._MPI.COMM_WORLD.Get_attr(self._MPI.TAG_UB) - 1) // 2
        self._takes_devices = os.environ.get("STRIDED_MPI_CUDA") == "1"

    @property
    def current(self) -> str:
        """The call that runs, or ran last."""
        return self._current

    @current.setter
    def current(self, call: str) -> None:
        self._current = call
        if call:
            note.write(f"in {call}, call {self._number} on {self.name}")

    def _count(self, call, sent, received, messages):
        super()._count(call, sent, received, messages)
        note.write(f"after {call}, call {self._number} on {self.name}")

    def _gone(self):
        """The ranks of this communicator that have ended, by their numbers in it."""
        gone = MPICommunicator._exit_notices.ended_ranks() if MPICommunicator._exit_notices is not None else None
        return [r for r, member in enumerate(self.members()) if member in gone] if gone else []

    def members(self):
        if self._members is None:
            ours, world = self._comm.Get_group(), self._MPI.COMM_WORLD.Get_group()
            self._members = list(self._MPI.Group.Translate_ranks(ours, range(self.size), world))
        return list(self._members)

    def _stage(self, t):
        t = t.detach()
        if t.is_cuda and not self._takes_devices:
            return t.cpu().contiguous()
        t = t.contiguous()
        if t.is_cuda:
            _C.functions["zeros"](()).to(t.device)  # MPI is on no stream: what is queued must have been done
            from .. import cuda

            cuda.synchronize(t.device)
        return t

    def _finish(self, request):
        """Polls until it is done; after some time with pauses, so that ranks that share a core get on."""
        limit, turns, late = None, 0, 0.0
        try:
            while not request.Test():
                turns += 1
                if turns % 8 == 0:
                    self.progress()  # others may wait for steps of sums that this rank has begun
                if turns < 100:
                    continue
                if turns % 64 == 0:
                    now = time.monotonic()
                    limit = now + self.timeout if limit is None else limit
                    if now > limit:
                        raise TimeoutExpired(
                            f"rank {self.rank} waited {self.timeout} s in {self.current} on {self.name} (call "
                            f"{self._number}): another rank has ended, or makes other calls"
                        )
                    gone = self._gone()
                    if gone and not late:  # lower ranks first, so that one error is told
                        late = now + GRACE + 0.1 * min(self.rank, 20)
                    if gone and now > late:
                        raise ended(self, gone)
                # Even a pause of no length lasts as long as the timer's slack, 50 us and more.
                os.sched_yield() if turns < 2000 else time.sleep(1e-4)
        except self._MPI.Exception as error:
            raise DistError(f"{self.current} on {self.name}, rank {self.rank}: MPI says: {error}") from None

    # ------------------------------------------------------------ headers

    def _announced(self, header):
        """(request, function that gives the texts of all ranks, or None if they are equal)"""
        text = ";".join(map(str, header[0])).encode() + b"|" + ",".join(map(str, header[1])).encode()
        size = len(text).to_bytes(4, "little")
        mine = bytearray((size + text)[:_HEADER].ljust(_HEADER, b"\0"))
        everything = bytearray(_HEADER * self.size)
        request = self._comm.Iallgather([mine, _HEADER, self._MPI.BYTE], [everything, _HEADER, self._MPI.BYTE])

        def texts(equal_will_do):
            parts = [bytes(everything[i : i + _HEADER]) for i in range(0, len(everything), _HEADER)]
            if equal_will_do and all(p == parts[0] for p in parts):
                return None
            sizes = [int.from_bytes(p[:4], "little") for p in parts]
            if max(sizes) <= _HEADER - 4:
                return [p[4 : 4 + n] for p, n in zip(parts, sizes)]
            starts = [sum(sizes[:i]) for i in range(self.size)]
            whole = bytearray(sum(sizes))
            self._finish(
                self._comm.Iallgatherv(
                    [bytearray(text), len(text), self._MPI.BYTE], [whole, sizes, starts, self._MPI.BYTE]
                )
            )
            return [bytes(whole[i : i + n]) for i, n in zip(starts, sizes)]

        return request, texts

    def _announce(self, header):
        request, texts = self._announced(header)
        self._finish(request)
        varies = header[0][1] in ("all_to_all", "all_gather", "gather", "scatter", "reduce_scatter")
        found = texts(not varies)
        wrong = None if found is None else check_headers([_parsed(t) for t in found], self.name)
        if wrong is not None:
            raise MismatchError(wrong)

    # ------------------------------------------------------------ calls

    def _bytes(self, data):
        return [_buffer(data), data.numel(), self._MPI.BYTE]

    def _pieces(self, pieces, only_read=False):
        joined, starts, own = _joined(pieces, only_read)
        return [_buffer(joined), [p.numel() for p in pieces], starts, self._MPI.BYTE], joined, own

    @staticmethod
    def _unpack(joined, pieces):
        for target, source in zip(pieces, joined.split([p.numel() for p in pieces])):
            target.copy_(source)

    def _barrier(self):
        self._finish(self._comm.Ibarrier())

    def _broadcast(self, data, root):
        self._finish(self._comm.Ibcast(self._bytes(data), root))

    def _all_gather(self, outputs, data):
        into, joined, own = self._pieces(outputs)
        given = self._MPI.IN_PLACE if data is None else self._bytes(data)
        self._finish(self._comm.Iallgatherv(given, into))
        if not own:
            self._unpack(joined, outputs)

    def _start(self, tensor, op):
        from ._running import Sum, SumQueue

        self._number += 1
        self.current = "all_reduce"
        name = str(tensor.dtype).rpartition(".")[2]
        header = (self._number, "async all_reduce", name, op, -1), (tensor.numel(),)
        request = check = None
        if self.checks:
            request, texts = self._announced(header)

            def check():
                found = texts(True)
                return None if found is None else check_headers([_parsed(t) for t in found], self.name)

        if self._queue is None:  # the first one; the order of calls is known to be the same after it
            if request is not None:
                self._finish(request)
                wrong = check()
                if wrong is not None:
                    raise MismatchError(wrong)
                request = check = None
            made = []
            for _ in range(2):
                lane, being_made = self._comm.Idup()
                self._finish(being_made)
                made.append(lane)
            self._queue = SumQueue(self, made)
            MPICommunicator._going.append(self._queue)
        begun = Sum(self._queue, tensor, op, request, check)
        self._queue.sums.append(begun)
        self._queue.progress()
        return begun

    def progress(self):
        for lanes in MPICommunicator._going:
            if lanes.sums:
                lanes.progress()

    def _gather_on(self, lane, outputs, data):
        """An all_gather of pieces of one memory that goes on, as a request of MPI."""
        into, _, own = self._pieces(outputs)
        assert own
        return lane.Iallgatherv(self._MPI.IN_PLACE if data is None else self._bytes(data), into)

    def _exchange_on(self, lane, outputs, inputs):
        """An all_to_all of pieces of one memory that goes on."""
        into, _, own = self._pieces(outputs)
        assert own
        return lane.Ialltoallv(self._pieces(inputs, True)[0], into)

    def _gather(self, outputs, data, root):
        if outputs is None:
            self._finish(self._comm.Igatherv(self._bytes(data), None, root))
            return
        into, joined, own = self._pieces(outputs)
        self._finish(self._comm.Igatherv(self._bytes(data), into, root))
        if not own:
            self._unpack(joined, outputs)

    def _scatter(self, data, inputs, root):
        given = None if inputs is None else self._pieces(inputs, True)[0]
        self._finish(self._comm.Iscatterv(given, self._bytes(data), root))

    def _all_to_all(self, outputs, inputs):
        given, _, _ = self._pieces(inputs, True)
        into, joined, own = self._pieces(outputs)
        self._finish(self._comm.Ialltoallv(given, into))
        if not own:
            self._unpack(joined, outputs)

    def _split(self, color, key, name):
        # Colors are any values; MPI takes numbers, and every rank gives each color the same one.
        colors = self.all_gather_object(color)
        numbers = {str(c): i for i, c in reversed(list(enumerate(colors)))}
        number = self._MPI.UNDEFINED if color is None else numbers[str(color)]
        made = self._comm.Split(number, key)
        if color is None:
            return None
        return MPICommunicator(made, name, self, self.checks, self.timeout)

    # ------------------------------------------------------------ messages

    def _isend(self, data, dest, tag, dtype):
        requests, keep = [], [data]
        if self.checks:
            header = bytearray(f"{data.numel()} {dtype}".encode().ljust(_P2P_HEADER, b"\0"))
            keep.append(header)
            requests.append(self._comm.Isend([header, _P2P_HEADER, self._MPI.BYTE], dest, 2 * tag))
        requests.append(self._comm.Isend(self._bytes(data), dest, 2 * tag + 1))
        return MPIRequest(self, requests, keep)

    def _irecv(self, data, source, tag, dtype):
        payload = self._bytes(data)
        if not self.checks:
            return MPIRequest(self, [self._comm.Irecv(payload, source, 2 * tag + 1)], [data])
        header = bytearray(_P2P_HEADER)

        def wrong():
            n, there = header.rstrip(b"\0").decode().split()
            if int(n) == data.numel() and there == dtype:
                return None
            return MismatchError(
                f"{self.name}: rank {source} sends {n} bytes of {there} to rank {self.rank}, which expects "
                f"{data.numel()} bytes of {dtype}"
            )

        requests = [self._comm.Irecv([header, _P2P_HEADER, self._MPI.BYTE], source, 2 * tag)]
        requests.append(self._comm.Irecv(payload, source, 2 * tag + 1))
        return _CheckedReceive(self, requests, [data, header], wrong)

    def _arrived(self, tag):
        status = self._MPI.Status()
        wanted = 2 * tag + (not self.checks)  # the header comes first
        return status.Get_source() if self._comm.Iprobe(self._MPI.ANY_SOURCE, wanted, status) else None

    def _first(self, tag):
        probe = _Probe(self, tag)
        self._finish(probe)
        return probe.source

    def abort(self, error):
        _tell_and_abort(self, error)


class _Probe:
    """Waits for a message, as requests of MPI are waited for."""

    def __init__(self, comm, tag):
        self._comm, self._tag, self.source = comm, tag, None

    def Test(self):
        self.source = self._comm._arrived(self._tag)
        return self.source is not None


class _CheckedReceive(MPIRequest):
    """A message behind its header: a message of the wrong size is named before MPI truncates it."""

    def wait(self):
        if self._requests:
            self._comm._finish(self._requests[0])
            error = self._check()
            if error is not None:
                self._requests[1].Cancel()
                self._requests = []
                raise error
            self._comm._finish(self._requests[1])
            self._requests = []


def _parsed(text):
    fixed, _, sizes = text.decode().partition("|")
    number, call, dtype, op, root = fixed.split(";")
    return (int(number), call, dtype, op, int(root)), tuple(int(n) for n in sizes.split(",") if n)


# ---------------------------------------------------------------- the program's own communicator, and its end


def started_by_mpi() -> bool:
    """Whether this process was started by mpiexec or srun, as one of several."""
    sizes = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PALS_SIZE")
    return any(os.environ.get(name, "1") not in ("", "1") for name in sizes)


def world(checks: bool, timeout: float) -> MPICommunicator:
    """The communicator of all processes of the job; an error that nobody catches ends the job from here on."""
    comm = MPICommunicator(_mpi().COMM_WORLD.Dup(), "world", None, checks, timeout)
    if comm.size > 1:
        MPICommunicator._exit_notices = ExitNotices(_mpi())
        before = sys.excepthook

        def hook(kind, error, trace):
            before(kind, error, trace)
            _tell_and_abort(comm, error)

        sys.excepthook = hook
    return comm


def _tell_and_abort(comm, error):
    last = f", {note.text}" if note.text else ""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    sys.stderr.write(f"strided.distributed: rank {comm.rank} of {comm.size} ended the job{last}: {text}\n")
    sys.stderr.flush()
    sys.stdout.flush()
    time.sleep(_FORWARD)
    comm._MPI.COMM_WORLD.Abort(1)
