"""The store that one process serves to others over TCP.

A message is its number of parts, and each part's size and bytes. A request has the operation, the seconds it may wait,
the number of keys, the keys, the values; an answer has ``ok``, ``late`` or ``error``, then the parts of the result.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
import weakref
from datetime import timedelta
from typing import TYPE_CHECKING

from ._stores import DistNetworkError, DistStoreError, Store, Table, _Late

if TYPE_CHECKING:
    from .._typing import Any, Sequence

__all__ = ["TCPStore"]

_MOST = 2**31  # bytes of a part, and parts of a message: a peer that says more speaks another language
_JOINED = "init/"  # counts the processes; keys of the user begin with "/"
_SLACK = 5.0  # seconds that an answer may take beyond what the request may wait
_HERE = ("localhost", "127.0.0.1", "::1")


def _send(to: socket.socket, parts: Sequence[bytes]) -> None:
    to.sendall(b"".join([struct.pack("<I", len(parts)), *(struct.pack("<I", len(p)) + p for p in parts)]))


def _exactly(of: socket.socket, size: int) -> bytes:
    made = bytearray()
    while len(made) < size:
        got = of.recv(min(size - len(made), 1 << 20))
        if not got:
            raise ConnectionError("the other side closed the connection")
        made += got
    return bytes(made)


def _receive(of: socket.socket) -> list[bytes]:
    (count,) = struct.unpack("<I", _exactly(of, 4))
    made = []
    for _ in range(count):
        (size,) = struct.unpack("<I", _exactly(of, 4))
        if size > _MOST:
            raise ConnectionError(f"a part of {size} bytes")
        made.append(_exactly(of, size))
    return made


class _Server:
    """Listens, and answers each client in a thread of its own."""

    def __init__(self, host: str, port: int, fd: int | None) -> None:
        self.table = Table()
        self.clients: set[socket.socket] = set()
        self.open, self.process = True, os.getpid()
        try:
            self.listening = socket.socket(fileno=fd) if fd is not None else _listen(host, port)
        except OSError as error:
            raise DistNetworkError(
                f"The server socket has failed to listen on any local network address. port: {port}, {error}"
            ) from error
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, name="TCPStore", daemon=True).start()

    def _accept(self) -> None:
        while self.open:
            try:
                client, _ = self.listening.accept()
            except OSError:  # closed
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.clients.add(client)
            threading.Thread(target=self._serve, args=(client,), name="TCPStore", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            while self.open:
                _send(client, self._answer(_receive(client)))
        except (OSError, ValueError, struct.error):  # the client is gone, or none of ours
            pass
        finally:
            self.clients.discard(client)
            client.close()

    def _answer(self, request: list[bytes]) -> list[bytes]:
        if len(request) < 3:
            raise ValueError("not a request")
        count = int(request[2])
        keys = [key.decode() for key in request[3 : 3 + count]]
        try:
            return [b"ok", *self.table.do(request[0].decode(), keys, request[3 + count :], float(request[1]))]
        except _Late:
            return [b"late"]
        except ValueError as error:
            return [b"error", str(error).encode()]

    def close(self) -> None:
        self.open = False
        if os.getpid() != self.process:  # a forked child has the sockets too, and must not end its parent's
            return
        for one in (self.listening, *list(self.clients)):
            try:
                one.shutdown(socket.SHUT_RDWR)  # close() alone does not wake threads that wait
            except OSError:
                pass
            one.close()


def _listen(host: str, port: int) -> socket.socket:
    if host in _HERE:
        family = socket.AF_INET6 if host == "::1" else socket.AF_INET
        return socket.create_server(("::1" if host == "::1" else "127.0.0.1", port), family=family)
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError:  # the machine has no addresses of IPv6
            pass
    return socket.create_server(("", port))


class _Lease:
    """What stores hold of a server: it closes with the last of them. The server's threads hold the server itself."""

    def __init__(self, server: _Server) -> None:
        self.port = server.port
        weakref.finalize(self, server.close)


_leases: weakref.WeakValueDictionary[int, _Lease] = weakref.WeakValueDictionary()


class TCPStore(Store):
    """A store that one process holds, and all reach over TCP.

    Args:
        host_name, port: where the server is. Port 0: the server takes a free one, which ``port`` tells. For a host
            name of this machine alone (localhost) the server listens to no other machine.
        world_size: how many stores there will be; the constructor waits for all, if wait_for_workers. None: any number.
        is_master: this process is the server. timeout: of the methods, and of the constructor.
        multi_tenant: a server that this process already has at the port is used. master_listen_fd: a socket that
            listens. use_libuv: accepted, without effect.

    There is no protection: whoever reaches the port reads and writes. PyTorch's stores speak another language.

    Raises:
        DistNetworkError: no server was there within the timeout; the port is taken; the connection broke.
        DistStoreError: not all others came within the timeout.

    >>> from datetime import timedelta
    >>> server = strided.distributed.TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=10))
    >>> client = strided.distributed.TCPStore("localhost", server.port)
    >>> client.set("a", "1")
    >>> server.get("a")
    b'1'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: Any = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(host_name, str):
            raise TypeError(f"TCPStore: host_name must be str, not {type(host_name).__name__}")
        if not 0 <= port < 65536:
            raise ValueError(f"TCPStore: port must be in 0 ... 65535, got {port}")
        self.set_timeout(timeout)
        self.host, self._lease = host_name, None
        if is_master:
            lease = _leases.get(port) if multi_tenant else None
            if lease is None:
                lease = _Lease(_Server(host_name, port, master_listen_fd))
                _leases[lease.port] = lease
            self._lease, port = lease, lease.port
        elif port == 0:
            raise ValueError("TCPStore: port 0 is for the server, which then tells its port")
        self.port = port
        self._mine = threading.Lock()  # one request at a time
        self._connection = self._connect()
        weakref.finalize(self, self._connection.close)
        self._join(world_size if wait_for_workers else None)

    libuvBackend = False  # PyTorch's name

    def _connect(self) -> socket.socket:
        until = time.monotonic() + self._timeout
        while True:
            left = max(until - time.monotonic(), 0.01)
            try:
                made = socket.create_connection((self.host, self.port), left)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return made
            except OSError as error:  # the server may not be there yet
                if time.monotonic() + 0.05 >= until:
                    raise DistNetworkError(
                        f"The client socket has timed out after {round(self._timeout * 1000)}ms while trying to "
                        f"connect to ({self.host}, {self.port})."
                    ) from error
                time.sleep(0.05)

    def _join(self, world_size: int | None) -> None:
        here = int(self._ask("add", [_JOINED], [b"1"], self._timeout, "")[0])
        until = time.monotonic() + self._timeout
        while world_size is not None and here < world_size:
            if time.monotonic() >= until:
                raise DistStoreError(
                    f"Timed out after {round(self._timeout)} seconds waiting for clients. "
                    f"{here}/{world_size} clients joined."
                )
            time.sleep(0.01)
            here = int(self._ask("get", [_JOINED], [], self._timeout, "")[0])

    def _ask(self, op: str, keys: list[str], values: Sequence[bytes], timeout: float, start: str = "/") -> list[bytes]:
        names = [(start + key).encode() for key in keys]
        request = [op.encode(), repr(timeout).encode(), b"%d" % len(names), *names, *values]
        with self._mine:
            try:
                self._connection.settimeout(max(timeout, 0) + _SLACK)
                _send(self._connection, request)
                status, *made = _receive(self._connection)
            except BaseException as error:
                self._connection.close()  # an answer that comes later must not be taken for that of the next request
                if not isinstance(error, (OSError, struct.error)):
                    raise
                raise DistNetworkError(
                    f"{op}: no answer from the server at ({self.host}, {self.port}): {error}"
                ) from error
        if status == b"late":
            raise _Late
        if status == b"error":
            raise ValueError(made[0].decode())
        return [key[1:] for key in made if key.startswith(b"/")] if op == "list_keys" else made

    def clone(self) -> TCPStore:
        made = TCPStore(self.host, self.port, None, False, timedelta(seconds=self._timeout))
        made._lease = self._lease
        return made

    def __repr__(self) -> str:
        return f"TCPStore({self.host!r}, {self.port}{', is_master=True' if self._lease else ''})"
