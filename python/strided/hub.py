"""Models of other people (``strided.hub``): files and folders that are there are read, and nothing is downloaded."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
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


class _Progress:
    """What there is of tqdm's bars where tqdm is not installed: how much is done, on one line of stderr."""

    def __init__(
        self, iterable: Any = None, total: float | None = None, disable: bool = False, unit: str | None = None,
        *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        self.iterable, self.total, self.disable, self.unit, self.n = iterable, total, disable, unit or "", 0.0

    def __iter__(self) -> Any:
        for x in self.iterable:
            yield x
            self.update(1)
        self.close()

    def update(self, n: float = 1) -> None:
        """Counts n more."""
        self.n += n
        if not self.disable:
            done = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n:.1f} {self.unit}"
            print(f"\r{done}", end="", file=sys.stderr, flush=True)

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: a line has no text."""

    def close(self) -> None:
        """Ends the line, once."""
        if not self.disable:
            self.disable = True
            print(file=sys.stderr, flush=True)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # libraries take it from here; PyTorch has it whether it is installed or not
        try:
            from tqdm import tqdm
        except ImportError:
            return _Progress
        return tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _refuse(name: str, instead: str = "get the file, and read it with torch.load") -> Any:
    raise NotImplementedError(f"hub.{name}: strided downloads nothing; {instead}")


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What a function of the file ``hubconf.py`` in a folder returns. The file is imported: it is a program.

    Args:
        repo_or_dir: the folder. It is the first place of imports while the file is imported and the function called.
        model: the name of the function, which is given args and kwargs.
        source: ``"local"``.
        trust_repo, force_reload, verbose, skip_validation: no effect.

    Raises:
        NotImplementedError: source is ``"github"``; nothing is downloaded.
        ValueError: another source.
        RuntimeError: the file has no such function, or names packages (``dependencies``) that are not installed.

    Example:
        >>> strided.hub.load("checkout", "resnet18", source="local", num_classes=10)  # doctest: +SKIP
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        _refuse("load", "get the repository, and give its folder with source='local'")
    folder = os.fspath(repo_or_dir)
    sys.path.insert(0, folder)
    try:
        return _entry(os.path.join(folder, "hubconf.py"), model)(*args, **kwargs)
    finally:
        sys.path.remove(folder)


def _entry(path: str, name: Any) -> Any:
    """A function of the file at a path, which is imported anew."""
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    missing = [package for package in getattr(module, "dependencies", ()) if not _importable(package)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    entry = getattr(module, name, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return entry


def _importable(name: str) -> bool:
    return name in sys.modules or importlib.util.find_spec(name) is not None


def list(github: Any, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    return _refuse("list")


def help(github: Any, model: str, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError."""
    return _refuse("help")


def download_url_to_file(url: str, dst: str, *args: Any, **kwargs: Any) -> None:
    """NotImplementedError."""
    _refuse("download_url_to_file")


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What is in a file that has been downloaded before.

    Args:
        url: where the file comes from; its last part is the file's name.
        model_dir: the folder of the file; ``checkpoints`` below get_dir() unless it is given.
        map_location: as ``load`` takes it.
        file_name: the name of the file, in place of that of the URL.
        progress, check_hash, weights_only: no effect; ``load`` never runs code.

    Raises:
        NotImplementedError: the file is not there; nothing is downloaded.
    """
    import strided

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        raise NotImplementedError(
            f"hub.load_state_dict_from_url: strided downloads nothing, and there is no file {path}: get it from {url}"
        )
    return strided.load(path, map_location=map_location)
