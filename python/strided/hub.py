"""Models from the network (``strided.hub``): nothing is downloaded."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlparse as urlparse  # timm takes it from here

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

# The beginning of a checksum in the name of a file: resnet18-bfd8deac.pth.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")

_set: str | None = None


def _get_torch_home() -> str:
    """``$TORCH_HOME``, else a folder of the user's cache. torchvision's data sets are below it."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """Where programs keep what they download: set_dir's, else ``$TORCH_HOME/hub``, else below the user's cache."""
    return _set if _set is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets that."""
    global _set
    _set = os.path.expanduser(d)


def _refuse(name: str) -> Any:
    raise NotImplementedError(f"hub.{name}: strided downloads nothing; get the file, and read it with torch.load")


def load(repo_or_dir: Any, model: str, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    return _refuse("load")


def list(github: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    return _refuse("list")


def help(github: Any, model: str, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    return _refuse("help")


def download_url_to_file(url: str, dst: str, *args: Any, **kwargs: Any) -> None:
    """NotImplementedError."""
    _refuse("download_url_to_file")


def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    return _refuse("load_state_dict_from_url")
