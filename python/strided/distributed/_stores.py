"""Stores: tables of keys and bytes that the processes of a program share, under PyTorch's names.

A store needs no process group and no MPI. `Store` checks arguments and turns each method into one request, an operation
with keys and values; a subclass answers requests in `_ask`. `_store_tcp` has the store that a server holds.

>>> store = strided.distributed.HashStore()
>>> store.set("color", "green")
>>> store.get("color"), store.add("count", 2), store.add("count", 3)
(b'green', 2, 5)
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from datetime import timedelta
from typing import TYPE_CHECKING

from ._checks import DistError

if TYPE_CHECKING:
    from .._typing import Any, Sequence

__all__ = [
    "DistNetworkError", "DistStoreError", "FileStore", "HashStore", "PrefixStore", "QueueEmptyError", "Store",
]  # fmt: skip


class DistStoreError(DistError):
    """A store could not do what it was asked to, or a key did not come in time."""


class QueueEmptyError(DistStoreError):
    """``queue_pop`` without waiting, and there was nothing."""


class DistNetworkError(DistError):
    """There was no connection to a server, or it broke."""


class _Late(Exception):
    """A request waited longer than it may."""


def _seconds(timeout: Any, name: str) -> float:
    if isinstance(timeout, timedelta):
        return timeout.total_seconds()
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool):
        return float(timeout)
    raise TypeError(f"{name}: timeout must be a timedelta or a number of seconds, not {type(timeout).__name__}")


def _text(key: Any, name: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{name}: a key must be str, not {type(key).__name__}")
    return key


def _texts(keys: Any, name: str) -> list[str]:
    if isinstance(keys, (str, bytes)):
        raise TypeError(f"{name}: keys must be a sequence of str, not {type(keys).__name__}")
    return [_text(key, name) for key in keys]


def _bytes(value: Any, name: str) -> bytes:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: a value must be str or bytes, not {type(value).__name__}")
    return value.encode() if isinstance(value, str) else value


class Store:
    """What all stores have in common. Keys are str; values are str or bytes, and come back as bytes.

    Methods that wait raise DistStoreError after ``timeout`` (five minutes, or what ``set_timeout`` said). All raise
    TypeError for keys and values of other types.
    """

    def __init__(self) -> None:
        self._timeout = 300.0

    def _ask(self, op: str, keys: list[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        raise NotImplementedError(f"{op}: a Store of its own class stores nothing; HashStore, FileStore and others do")

    def _request(self, op: str, keys: list[str], values: Sequence[bytes] = (), timeout: Any = None) -> list[bytes]:
        seconds = self.timeout.total_seconds() if timeout is None else _seconds(timeout, op)
        try:
            return self._ask(op, keys, values, seconds)
        except _Late:
            raise DistStoreError(f"wait timeout after {round(seconds * 1000)}ms, keys: {', '.join(keys)}") from None

    @property
    def timeout(self) -> timedelta:
        """How long methods wait."""
        return timedelta(seconds=self._timeout)

    def set_timeout(self, timeout: Any) -> None:
        """Methods wait so long from now on: a timedelta, or seconds."""
        self._timeout = _seconds(timeout, "set_timeout")

    def set(self, key: str, value: str | bytes) -> None:
        """Puts a value at a key, in place of what was there."""
        self._request("set", [_text(key, "set")], [_bytes(value, "set")])

    def get(self, key: str) -> bytes:
        """The value of a key; waits until there is one."""
        return self._request("get", [_text(key, "get")])[0]

    def add(self, key: str, amount: int) -> int:
        """Adds to the integer at a key, which starts at 0, and gives the sum. ValueError if no integer is there."""
        if isinstance(amount, bool) or not hasattr(amount, "__index__"):
            raise TypeError(f"add: the amount must be an int, not {type(amount).__name__}")
        return int(self._request("add", [_text(key, "add")], [b"%d" % amount.__index__()])[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Puts bytes at the end of a key's value."""
        self._request("append", [_text(key, "append")], [_bytes(value, "append")])

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Puts `desired` at a key whose value is `expected`, or that is not there if `expected` is empty.

        Gives the value that the key has afterwards, or `expected` if there is no such key.
        """
        values = [_bytes(expected, "compare_set"), _bytes(desired, "compare_set")]
        return self._request("compare_set", [_text(key, "compare_set")], values)[0]

    def wait(self, keys: Sequence[str], timeout: Any = None) -> None:
        """Waits until all keys are there."""
        self._request("wait", _texts(keys, "wait"), timeout=timeout)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return self._request("check", _texts(keys, "check")) == [b"1"]

    def delete_key(self, key: str) -> bool:
        """Takes a key away; whether it was there."""
        return self._request("delete_key", [_text(key, "delete_key")]) == [b"1"]

    def num_keys(self) -> int:
        """How many keys there are, with one that FileStore and TCPStore keep for themselves."""
        return int(self._request("num_keys", [])[0])

    def list_keys(self) -> list[str]:
        """All keys, in no order that counts."""
        return [key.decode() for key in self._request("list_keys", [])]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of some keys; waits until all are there."""
        return self._request("get", _texts(keys, "multi_get"))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Puts a value at each key."""
        keys, given = _texts(keys, "multi_set"), [_bytes(value, "multi_set") for value in values]
        if len(keys) != len(given):
            raise DistStoreError(f"multi_set: {len(keys)} keys, but {len(given)} values")
        self._request("set", keys, given)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Puts a value at the end of a queue. Queues and keys do not share names."""
        self._request("queue_push", [_text(key, "queue_push")], [_bytes(value, "queue_push")])

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue; waits for one, or raises QueueEmptyError if not `block`."""
        made = self._request("queue_pop" if block else "queue_take", [_text(key, "queue_pop")])
        if not made:
            raise QueueEmptyError("queue is empty")
        return made[0]

    def queue_len(self, key: str) -> int:
        """How many values a queue has."""
        return int(self._request("queue_len", [_text(key, "queue_len")])[0])

    def barrier(self, key: str, world_size: int, timeout: Any = None) -> None:
        """Waits until it was called `world_size` times with this key. A key serves once."""
        last = f"{_text(key, 'barrier')}/last_member"
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(last, "<val_ignored>")
        self.wait([last], timeout)

    def has_extended_api(self) -> bool:
        """Whether append, multi_get, multi_set are there: True."""
        return True

    def clone(self) -> Store:
        """Another object with the same keys."""
        raise NotImplementedError(f"clone: not for {type(self).__name__}")


class Table:
    """Keys and queues in memory, for several threads. `do` answers requests of stores."""

    def __init__(self) -> None:
        self.keys: dict[str, bytes] = {}
        self.queues: dict[str, list[bytes]] = {}
        self.changed = threading.Condition()

    def do(self, op: str, keys: list[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        """The answer; _Late if it did not come in time."""
        with self.changed:
            if op in ("get", "wait") and not self.changed.wait_for(lambda: all(k in self.keys for k in keys), timeout):
                raise _Late
            if op == "queue_pop" and not self.changed.wait_for(lambda: self.queues.get(keys[0]), timeout):
                raise _Late
            made = self._now(op, keys, values)
            self.changed.notify_all()
            return made

    def _now(self, op: str, keys: list[str], values: Sequence[bytes]) -> list[bytes]:
        if op.startswith("queue"):
            return self._of_queue(op, keys[0], values)
        changes, made = changes_of(self.keys, op, keys, values)
        for key, value in changes:
            if value is None:
                self.keys.pop(key, None)
            else:
                self.keys[key] = value
        return made

    def _of_queue(self, op: str, key: str, values: Sequence[bytes]) -> list[bytes]:
        if op == "queue_push":
            self.queues.setdefault(key, []).append(values[0])
            return []
        queue = self.queues.get(key, [])
        if op == "queue_len":
            return [b"%d" % len(queue)]
        made = [queue.pop(0)] if queue else []
        if not queue:
            self.queues.pop(key, None)
        return made


def changes_of(have: dict[str, bytes], op: str, keys: list[str], values: Sequence[bytes]) -> tuple[list, list[bytes]]:
    """What a request that need not wait changes, as (key, value or None to delete), and its answer."""
    if op in ("get", "wait"):
        return [], [have[k] for k in keys] if op == "get" else []
    if op == "set":
        return list(zip(keys, values)), []
    if op == "check":
        return [], [b"%d" % all(k in have for k in keys)]
    if op == "num_keys":
        return [], [b"%d" % len(have)]
    if op == "list_keys":
        return [], [k.encode() for k in have]
    key, old = keys[0], have.get(keys[0])
    if op == "add":
        try:
            total = b"%d" % (int(old or 0) + int(values[0]))
        except ValueError:
            raise ValueError(f"add: the value of {key!r} is no integer") from None
        return [(key, total)], [total]
    if op == "append":
        return [(key, (old or b"") + values[0])], []
    if op == "delete_key":
        return ([(key, None)] if old is not None else []), [b"%d" % (old is not None)]
    if op == "compare_set":
        expected, desired = values
        if old == expected or (old is None and not expected):
            return [(key, desired)], [desired]
        return [], [expected if old is None else old]
    raise ValueError(f"a store has no operation {op!r}")


class HashStore(Store):
    """A store for the threads of one process.

    >>> store = strided.distributed.HashStore()
    >>> store.compare_set("owner", "", "me")
    b'me'
    >>> store.compare_set("owner", "", "you")
    b'me'
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _ask(self, op: str, keys: list[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        return self._table.do(op, keys, values, timeout)

    def clone(self) -> HashStore:
        made = HashStore()
        made._table, made._timeout = self._table, self._timeout
        return made


class PrefixStore(Store):
    """A view of another store: each key begins with ``prefix + "/"`` there.

    >>> store = strided.distributed.HashStore()
    >>> strided.distributed.PrefixStore("mine", store).set("a", "1")
    >>> store.list_keys()
    ['mine/a']
    """

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: a Store is required, not {type(store).__name__}")
        self._prefix, self._store = _text(prefix, "PrefixStore"), store

    @property
    def underlying_store(self) -> Store:
        """The store that holds the keys."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self._store
        return store._underlying_non_prefix_store if isinstance(store, PrefixStore) else store

    @property
    def timeout(self) -> timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: Any) -> None:
        self._store.set_timeout(timeout)

    def _ask(self, op: str, keys: list[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        made = self._store._ask(op, [f"{self._prefix}/{key}" for key in keys], values, timeout)
        if op != "list_keys":
            return made
        start = f"{self._prefix}/".encode()
        return [key[len(start) :] for key in made if key.startswith(start)]

    def clone(self) -> PrefixStore:
        return PrefixStore(self._prefix, self._store.clone())


# What a store keeps for itself has another first letter than keys of the user.
_USERS, _DONE = "refcount/", "finished/"
_GONE = 2**32 - 1  # the size of a value that says: deleted
_POLL = 0.01


class FileStore(Store):
    """A store in a file, for the processes of one machine, or of several with a common file system that has locks.

    The file is a journal: each change is a key and its new value, written while the process holds the file's lock.

    Args:
        file_name: a file that is not there yet, or that of the same store. world_size: how many processes use it; the
            last that ends deletes the file. -1: the file stays.

    Queues raise NotImplementedError.
    """

    def __init__(self, file_name: Any, world_size: int = -1) -> None:
        super().__init__()
        self._file = _Journal(os.fspath(file_name))
        self._file.do("add", [_USERS], [b"1"])
        # Not at exit of a forked child: it is not one of those that are counted.
        self._end = weakref.finalize(self, _leave, self._file, world_size, os.getpid())

    @property
    def path(self) -> str:
        """The file."""
        return self._file.path

    def _ask(self, op: str, keys: list[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        if op.startswith("queue"):
            raise NotImplementedError("queue support is not implemented.")
        keys = [f"/{key}" for key in keys]
        until = time.monotonic() + timeout
        while op in ("get", "wait") and self._file.do("check", keys, ()) != [b"1"]:
            if time.monotonic() >= until:
                raise _Late
            time.sleep(_POLL)
        made = self._file.do(op, keys, values)
        return [key[1:] for key in made if key.startswith(b"/")] if op == "list_keys" else made

    def clone(self) -> FileStore:
        made = FileStore(self.path)
        made._timeout = self._timeout
        return made


def _leave(file: _Journal, world_size: int, process: int) -> None:
    if os.getpid() != process or not os.path.exists(file.path):
        return
    done = int(file.do("add", [_DONE], [b"1"])[0])
    if int(file.do("add", [_USERS], [b"-1"])[0]) == 0 and 0 <= world_size <= done:
        os.remove(file.path)


class _Journal:
    """The file of a FileStore, and what was read of it so far."""

    def __init__(self, path: str) -> None:
        self.path, self.read, self.have = path, 0, {}
        self.mine = threading.Lock()  # a file's lock does not hold between threads of a process

    def do(self, op: str, keys: list[str], values: Sequence[bytes]) -> list[bytes]:
        import fcntl

        with self.mine, open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            file.seek(self.read)
            self._take(file.read())
            changes, made = changes_of(self.have, op, keys, values)
            if op == "num_keys":
                made = [b"%d" % (len(self.have) - (_DONE in self.have))]
            written = b"".join(_entry(key, value) for key, value in changes)
            file.write(written)
            file.flush()
            self._take(written)
            return made

    def _take(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            parts: list[Any] = []
            for _ in range(2):
                size = int.from_bytes(data[at : at + 4], "little")
                at += 4
                gone = size == _GONE
                parts.append(None if gone else data[at : at + size])
                at += 0 if gone else size
            if parts[1] is None:
                self.have.pop(parts[0].decode(), None)
            else:
                self.have[parts[0].decode()] = parts[1]
        self.read += len(data)


def _entry(key: str, value: bytes | None) -> bytes:
    name = key.encode()
    made = len(name).to_bytes(4, "little") + name
    return made + (_GONE.to_bytes(4, "little") if value is None else len(value).to_bytes(4, "little") + value)
