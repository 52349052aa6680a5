"""The older name of ``strided.hub.load_state_dict_from_url``, which libraries of models import."""

from __future__ import annotations

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]

del annotations
