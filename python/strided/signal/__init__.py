"""Signal processing (``strided.signal``): windows."""

from __future__ import annotations

from . import windows as windows

del annotations
