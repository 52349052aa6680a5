"""Where processes meet that no MPI has started (``strided.distributed.rendezvous``)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ._groups import _where
from ._store_tcp import TCPStore
from ._stores import FileStore

if TYPE_CHECKING:
    from .._typing import Any, Iterator

__all__ = ["rendezvous"]


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Any, int, int]]:
    """One (store, rank, number of ranks) of ``env://``, ``tcp://host:port`` or ``file:///path``, as init_process_group
    takes them.

    Args:
        rank, world_size: those of the URL or the environment if -1. kwargs: timeout, of the store.

    >>> import tempfile
    >>> url = f"file://{tempfile.mkdtemp()}/meet"
    >>> store, rank, size = next(strided.distributed.rendezvous.rendezvous(url, 0, 1))
    >>> type(store).__name__, rank, size
    ('FileStore', 0, 1)
    """
    timeout = kwargs.get("timeout") or timedelta(minutes=30)
    kind, host, port, size, me = _where(url, world_size, rank)
    if host is None:
        raise ValueError(f"rendezvous: {url!r} of one process alone has no store")
    store: Any = FileStore(host, size) if kind == "file" else TCPStore(host, port, size, me == 0, timeout, False)
    yield store, me, size
