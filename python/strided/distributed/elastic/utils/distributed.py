"""Free ports of this machine (``strided.distributed.elastic.utils.distributed``)."""

from __future__ import annotations

import socket

from ...._launch.local import free_port

__all__ = ["get_free_port", "get_socket_with_port"]


def get_free_port() -> int:
    """A port of this machine that nobody listens at now.

    >>> 0 < strided.distributed.elastic.utils.distributed.get_free_port() < 65536
    True
    """
    return free_port()


def get_socket_with_port() -> socket.socket:
    """A socket that listens at a free port of this machine, and holds it until it is closed."""
    return socket.create_server(("127.0.0.1", 0), backlog=0)
