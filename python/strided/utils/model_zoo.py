"""The older home of ``strided.hub``'s download, which is refused, and of a progress bar; libraries import them."""

from __future__ import annotations

from typing import Any

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url", "tqdm"]


def tqdm(*args: Any, **kwargs: Any) -> Any:
    """The bar of the package tqdm; ModuleNotFoundError without it."""
    from tqdm import tqdm as bar

    return bar(*args, **kwargs)
