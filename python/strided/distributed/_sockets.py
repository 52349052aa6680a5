"""Ranks as processes that connect by TCP, where no MPI has started them: children of ``multiprocessing.spawn``, or what
PyTorch's programs call the backend "gloo".

Each pair of ranks has a connection.  A thread reads what comes and puts it into boxes, one for each communicator,
sender and tag, so that a send never waits for the other rank's program.  Frames of one sender stay in order.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import secrets
import selectors
import socket
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING

from .. import _C
from ._checks import DistError, MismatchError, TimeoutExpired, check_headers
from ._comm import Communicator, Request
from ._ending import ended, note
from ._running import Done

if TYPE_CHECKING:
    from .._typing import Any

_FRAME = struct.Struct("<8sqQ16s")  # communicator, tag, bytes that follow, dtype of a message
_CALL = -1  # the tag of calls that all ranks make
_MOST = 1 << 46  # bytes of a frame: a peer that says more is none of ours
_TOKEN = 16
_WINDOW = 4 << 20
_HERE = ("localhost", "127.0.0.1", "::1")


class _Box:
    """What one rank has sent over one communicator with one tag, and who waits for it: the n-th receive gets the n-th
    message."""

    def __init__(self) -> None:
        self.came = self.wanted = 0
        self.held: dict[int, tuple[str, bytearray]] = {}


class _Links:
    """The connections of this process."""

    def __init__(self, rank: int, peers: dict[int, socket.socket]) -> None:
        self.rank, self.peers = rank, peers
        self.news = threading.Condition()
        self.boxes: dict[tuple[bytes, int, int], _Box] = {}
        self.gone: set[int] = set()
        self._sending = {r: threading.Lock() for r in peers}
        self._limits: dict[int, float] = {}  # of sends, in seconds
        for link in peers.values():
            link.setblocking(True)
        self._process = os.getpid()
        self._reader = threading.Thread(target=self._read, name="strided.distributed", daemon=True)
        self._reader.start()
        atexit.register(self._leave)

    def _leave(self) -> None:
        if os.getpid() != self._process:  # a forked child has the connections too
            return
        for link in self.peers.values():
            try:
                link.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # closed by the other side

    # ------------------------------------------------------------ what comes

    def box(self, key: bytes, source: int, tag: int) -> _Box:
        """With self.news held."""
        return self.boxes.setdefault((key, source, tag), _Box())

    def put(self, key: bytes, source: int, tag: int, dtype: str, data: bytearray) -> None:
        with self.news:
            box = self.box(key, source, tag)
            box.held[box.came] = dtype, data
            box.came += 1
            self.news.notify_all()

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for rank, link in self.peers.items():
                selector.register(link, selectors.EVENT_READ, _FrameReader(self, rank, link))
            left = len(self.peers)
            while left:
                for key, _ in selector.select():
                    if not key.data.more():
                        selector.unregister(key.fileobj)
                        left -= 1
                        with self.news:
                            self.gone.add(key.data.rank)
                            self.news.notify_all()

    def ticket(self, key: bytes, source: int, tag: int) -> int:
        """The number of the next message that nobody waits for yet."""
        with self.news:
            box = self.box(key, source, tag)
            box.wanted += 1
            return box.wanted - 1

    def there(self, key: bytes, source: int, tag: int, number: int) -> bool:
        """Whether a message has come."""
        with self.news:
            return number < self.box(key, source, tag).came

    def wait(self, comm: Any, is_there: Any, sources: Any) -> None:
        """Returns when is_there(), with self.news held; raises where none of these ranks will send it."""
        limit = time.monotonic() + comm.timeout
        while not is_there():
            if all(r in self.gone for r in sources):
                raise ended(comm, [comm._ranks.index(r) for r in sources])
            left = limit - time.monotonic()
            if left <= 0:
                raise TimeoutExpired(
                    f"rank {comm.rank} waited {comm.timeout} s in {comm.current} on {comm.name} (call {comm._number}): "
                    "another rank has stopped, or makes other calls"
                )
            self.news.wait(min(left, 1.0))

    def take(self, comm: Any, source: int, tag: int, number: int) -> tuple[str, bytearray]:
        """(dtype, bytes) of a message of a rank of the program, once it is there."""
        with self.news:
            box = self.box(comm._key, source, tag)
            self.wait(comm, lambda: number in box.held, [source])
            return box.held.pop(number)

    # ------------------------------------------------------------ what goes

    def send(self, comm: Any, dest: int, tag: int, dtype: str, data: Any) -> None:
        view = memoryview(data).cast("B")
        if dest == self.rank:
            self.put(comm._key, dest, tag, dtype, bytearray(view))
            return
        head = _FRAME.pack(comm._key, tag, len(view), dtype.encode()[:16])
        link = self.peers[dest]
        try:
            with self._sending[dest]:
                if self._limits.get(dest) != comm.timeout:  # in the system: the reader's side goes on without a limit
                    self._limits[dest] = comm.timeout
                    whole = int(comm.timeout)
                    limit = struct.pack("ll", whole, max(int((comm.timeout - whole) * 1e6), int(whole == 0)))
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
                if len(view) <= 1 << 16:
                    link.sendall(head + bytes(view))
                else:
                    link.sendall(head)
                    link.sendall(view)
        except (BlockingIOError, TimeoutError):
            raise TimeoutExpired(
                f"rank {comm.rank} waited {comm.timeout} s in {comm.current} on {comm.name} (call {comm._number}): rank "
                f"{comm._ranks.index(dest)} takes nothing"
            ) from None
        except OSError:
            raise ended(comm, [comm._ranks.index(dest)]) from None


class _FrameReader:
    """Reads the frames of one connection."""

    def __init__(self, links: _Links, rank: int, link: socket.socket) -> None:
        self._links, self.rank, self._link = links, rank, link
        self._begin()

    def _begin(self) -> None:
        self._head: Any = None
        self._data, self._at = bytearray(_FRAME.size), 0

    def more(self) -> bool:
        """Takes what is there; False when the other side has closed."""
        try:
            # The rest of a frame is on its way: one call for all of it.
            whole = socket.MSG_WAITALL if self._head is not None else 0
            n = self._link.recv_into(memoryview(self._data)[self._at :], 0, whole)
        except (BlockingIOError, InterruptedError, TimeoutError):
            return True
        except OSError:
            return False
        if n == 0:
            return False
        self._at += n
        while self._at == len(self._data):
            if self._head is None:
                self._head = _FRAME.unpack(self._data)
                if self._head[2] > _MOST:
                    return False
                self._data, self._at = bytearray(self._head[2]), 0
            else:
                key, tag, _, dtype = self._head
                data = self._data
                self._begin()
                self._links.put(key, self.rank, tag, dtype.rstrip(b"\0").decode(), data)
        return True


class _Message(Request):
    """A receive: the message goes into the tensor in wait()."""

    def __init__(self, comm, data, source, tag, dtype):
        self._comm, self._data, self._source, self._tag, self._dtype = comm, data, source, tag, dtype
        self._number = comm._links.ticket(comm._key, comm._ranks[source], tag)

    def is_completed(self):
        comm = self._comm
        return self._data is None or comm._links.there(comm._key, comm._ranks[self._source], self._tag, self._number)

    def wait(self):
        if self._data is None:
            return
        comm, data, self._data = self._comm, self._data, None
        comm.current = comm.current or "recv"
        dtype, found = comm._links.take(comm, comm._ranks[self._source], self._tag, self._number)
        if len(found) != data.numel() or dtype != self._dtype:
            raise MismatchError(
                f"{comm.name}: rank {self._source} sends {len(found)} bytes of {dtype} to rank {comm.rank}, which "
                f"expects {data.numel()} bytes of {self._dtype}"
            )
        _fill(data, found)


def _fill(target: Any, found: bytearray) -> None:
    if found:
        target.copy_(_C.from_buffer(found, _C.uint8, -1, 0))


class SocketCommunicator(Communicator):
    """A Communicator over connections."""

    backend = "gloo"

    def __init__(
        self,
        links: _Links,
        ranks: list[int],
        key: str,
        name: str,
        parent: Communicator | None,
        checks: bool,
        timeout: float,
    ) -> None:
        super().__init__(ranks.index(links.rank), len(ranks), name, parent, checks, timeout)
        self._links, self._ranks, self._path = links, ranks, key
        self._key = hashlib.blake2b(key.encode(), digest_size=8).digest()

    @property
    def current(self) -> str:
        """The call that runs, or ran last."""
        return self._current

    @current.setter
    def current(self, call: str) -> None:
        self._current = call
        if call:
            note.write(f"in {call}, call {self._number} on {self.name}")

    def members(self):
        return list(self._ranks)

    def _stage(self, t):
        t = t.detach()
        return (t.cpu() if t.is_cuda else t).contiguous()

    # ------------------------------------------------------------ pieces of calls

    def _give(self, dest: int, data: Any) -> None:
        self._links.send(self, self._ranks[dest], _CALL, "", data)

    def _got(self, source: int) -> bytearray:
        rank = self._ranks[source]
        return self._links.take(self, rank, _CALL, self._links.ticket(self._key, rank, _CALL))[1]

    def _others(self) -> list[int]:
        """The other ranks, the next one first, so that not all send to the same one."""
        return [(self.rank + i) % self.size for i in range(1, self.size)]

    def _texts(self, text: bytes) -> list[bytes]:
        """The text of each rank."""
        for r in self._others():
            self._give(r, text)
        return [text if r == self.rank else bytes(self._got(r)) for r in range(self.size)]

    def _into(self, source: int, target: Any) -> None:
        found = self._got(source)
        if len(found) != target.numel():
            raise DistError(f"{self.current} on {self.name}: {len(found)} bytes came for {target.numel()}")
        _fill(target, found)

    def _announce(self, header):
        found = [json.loads(text) for text in self._texts(json.dumps(header).encode())]
        wrong = check_headers([(tuple(fixed), tuple(sizes)) for fixed, sizes in found], self.name)
        if wrong is not None:
            raise MismatchError(wrong)

    # ------------------------------------------------------------ calls

    def _barrier(self):
        self._texts(b"")

    def _broadcast(self, data, root):
        if self.rank == root:
            for r in self._others():
                self._give(r, data.numpy())
        else:
            self._into(root, data)

    def _all_gather(self, outputs, data):
        own = outputs[self.rank] if data is None else data
        for r in self._others():
            self._give(r, own.numpy())
        for r, target in enumerate(outputs):
            if r != self.rank:
                self._into(r, target)
            elif data is not None:
                target.copy_(data)

    def _gather(self, outputs, data, root):
        if self.rank != root:
            self._give(root, data.numpy())
            return
        for r, target in enumerate(outputs):
            if r != root:
                self._into(r, target)
            else:
                target.copy_(data)

    def _scatter(self, data, inputs, root):
        if self.rank != root:
            self._into(root, data)
            return
        for r in self._others():
            self._give(r, inputs[r].numpy())
        data.copy_(inputs[root])

    def _all_to_all(self, outputs, inputs):
        for r in self._others():
            if inputs[r].numel():
                self._give(r, inputs[r].numpy())
        for r, target in enumerate(outputs):
            if r == self.rank:
                target.copy_(inputs[r])
            elif target.numel():
                self._into(r, target)

    def start_all_reduce(self, tensor, op="sum"):
        self.all_reduce(tensor, op)
        return Done()

    def _split(self, color, key, name):
        found = self.all_gather_object([color, key])
        if color is None:
            return None
        ranks = [r for _, r in sorted((k, r) for r, (c, k) in enumerate(found) if c == found[self.rank][0])]
        path = f"{self._path}/{self._splits}.{ranks[0]}"
        return SocketCommunicator(
            self._links, [self._ranks[r] for r in ranks], path, name, self, self.checks, self.timeout
        )

    # ------------------------------------------------------------ messages

    def _isend(self, data, dest, tag, dtype):
        self._links.send(self, self._ranks[dest], tag, dtype.rpartition(".")[2], data.numpy())
        return Done()

    def _irecv(self, data, source, tag, dtype):
        return _Message(self, data, source, tag, dtype.rpartition(".")[2])

    def _sender(self, tag):
        """With news held: the first rank that has sent a message with this tag, which nobody waits for."""
        for r, rank in enumerate(self._ranks):
            box = self._links.boxes.get((self._key, rank, tag))
            if box is not None and box.came > box.wanted:
                return r
        return None

    def _arrived(self, tag):
        with self._links.news:
            return self._sender(tag)

    def _first(self, tag):
        with self._links.news:
            others = [r for r in self._ranks if r != self._links.rank]
            self._links.wait(self, lambda: self._sender(tag) is not None, others)
            return self._sender(tag)

    def abort(self, error):
        sys.stderr.write(f"strided.distributed: rank {self.rank} of {self.size} ended the job: {error}\n")
        sys.stderr.flush()
        os._exit(1)


# ---------------------------------------------------------------- how ranks find each other


def _address(host: str | None, port: int) -> str:
    """The address of this machine that others reach, on the way to a host."""
    if host is None or host in _HERE:
        return "127.0.0.1"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, port or 1))  # sends nothing
            return probe.getsockname()[0]
    except OSError:
        return "127.0.0.1"


def _exactly(link: socket.socket, n: int) -> bytes:
    made = b""
    while len(made) < n:
        got = link.recv(n - len(made))
        if not got:
            raise ConnectionError("closed")
        made += got
    return made


def connect(
    store: Any, rank: int, size: int, host: str | None, port: int, checks: bool, timeout: float, opening: float
) -> SocketCommunicator:
    """The communicator of all ranks, which find each other by a store.

    Args:
        host, port: of the store, None where it has none: the ranks are on this machine.
        timeout: of calls. opening: seconds until all must be there.

    Raises:
        TimeoutExpired: not all came.
    """
    limit = time.monotonic() + opening
    if rank == 0:
        store.set("token", secrets.token_bytes(_TOKEN))
    listening = socket.create_server((_address(host, port), 0), backlog=size)
    machine = socket.gethostname()
    store.set(f"rank {rank}", json.dumps([machine, *listening.getsockname()[:2]]))
    peers: dict[int, socket.socket] = {}
    try:
        token = store.get("token")
        for other in range(rank):
            _, address, at = json.loads(store.get(f"rank {other}"))
            link = socket.create_connection((address, at), max(limit - time.monotonic(), 0.1))
            link.sendall(token + struct.pack("<I", rank))
            peers[other] = link
        while len(peers) < size - 1:
            listening.settimeout(max(limit - time.monotonic(), 0.1))
            link, _ = listening.accept()
            link.settimeout(10)
            try:
                said, other = _exactly(link, _TOKEN), struct.unpack("<I", _exactly(link, 4))[0]
            except OSError:
                link.close()
                continue
            if not secrets.compare_digest(said, token) or not rank < other < size or other in peers:
                link.close()
                continue
            peers[other] = link
    except (OSError, DistError) as error:
        for link in peers.values():
            link.close()
        missing = sorted(set(range(size)) - set(peers) - {rank})
        raise TimeoutExpired(
            f"init_process_group: rank {rank} of {size} waited {opening:g} s for ranks {missing}: {error}"
        ) from None
    finally:
        listening.close()
    for link in peers.values():
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for what in (socket.SO_SNDBUF, socket.SO_RCVBUF):  # large tensors wait in the system, not in the sender
            link.setsockopt(socket.SOL_SOCKET, what, _WINDOW)
    made = SocketCommunicator(_Links(rank, peers), list(range(size)), "world", "world", None, checks, timeout)
    made.barrier()
    return made
