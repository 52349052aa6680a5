"""Defaults of process groups (``strided.distributed.constants``)."""

from __future__ import annotations

from datetime import timedelta

__all__ = ["default_pg_timeout"]

default_pg_timeout = timedelta(minutes=30)  # how long a call waits for other ranks

del annotations
