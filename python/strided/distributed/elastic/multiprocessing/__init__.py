"""Processes of a launcher (``strided.distributed.elastic.multiprocessing``): how a worker reports its error."""

from . import errors

__all__ = ["errors"]
