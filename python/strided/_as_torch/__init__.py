"""strided in PyTorch's place: ``import torch`` gives strided, for programs that cannot be edited."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

__all__ = ["install_as_torch"]

_HERE = __package__.partition(".")[0]
_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of the whole package

# Modules below packages of the standard library that PyTorch's import loads on its way: programs use them after they
# imported no more than the package.
_BROUGHT_ALONG = (
    "concurrent.futures", "importlib.metadata", "importlib.util", "multiprocessing.connection", "urllib.request",
)  # fmt: skip


def _ours(name: str) -> str:
    """``strided.x`` for ``torch.x``, ``strided_xla`` for ``torch_xla``, and ``strided._functorch.deprecated`` for
    ``functorch``."""
    if name.startswith("torch"):
        return _HERE + name.removeprefix("torch")
    return f"{_HERE}._functorch.deprecated" + name.removeprefix("functorch")


def _is_wanted(package: str) -> bool:
    """Whether strided answers for a package.

    ``torch_xla`` only where there is a TPU or a variable asks for it: libraries that find it move everything there.
    """
    if package == "torch_xla":
        return os.path.exists("/dev/accel0") or any(os.environ.get(v) for v in ("PJRT_DEVICE", "STRIDED_PJRT_PLUGIN"))
    return package in ("torch", "functorch")


class _Finder:
    """Answers for ``torch``, ``functorch``, ``torch_xla`` and what is below them, before anybody else: modules, and the
    version."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not _is_wanted(name.partition(".")[0]):
            return None
        try:
            found = importlib.util.find_spec(_ours(name))
        except ModuleNotFoundError:  # a program put a parent of its own into sys.modules, which strided does not have
            return None
        if found is None:
            return None  # and no other finder knows it: ModuleNotFoundError names torch.x
        spec = ModuleSpec(name, _Loader, origin=found.origin, is_package=found.submodule_search_locations is not None)
        spec.has_location = found.has_location
        return spec

    @staticmethod
    def find_distributions(context: DistributionFinder.Context) -> Iterator[Distribution]:
        if context.name is None or context.name.lower() == "torch":
            yield _distribution()


class _Loader:
    """Gives the module of strided itself, not a copy."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_ours(spec.name))
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        module.__spec__ = module.__spec__.loader_state  # the import put that of torch.x there
        _answer_as_torch()

    @staticmethod
    def get_code(name: str) -> Any:
        """Of ``python -m torch.x``, which runs a module a second time."""
        found = importlib.util.find_spec(_ours(name))
        return None if found is None or found.loader is None else found.loader.get_code(_ours(name))  # type: ignore


def _distribution() -> Distribution:
    from importlib.metadata import Distribution

    class Torch(Distribution):
        def read_text(self, filename: str) -> str | None:
            texts = {
                "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {sys.modules['torch'].__version__}\n",
                "top_level.txt": "torch\n",
            }
            return texts.get(filename)

        def locate_file(self, path: Any) -> Any:
            return os.path.join(os.path.dirname(_FOLDER), path)

    return Torch()


_answered: set[str] = set()  # modules whose classes say that they are torch's


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


def _answer_as_torch() -> None:
    """Makes the classes of every loaded module say that they are torch's, and gives the modules their second name.

    Libraries ask ``type(x).__module__`` which backend an array belongs to; pickles name classes by it. A class of a
    private module belongs to the public one that offers it, as in PyTorch.
    """
    names = [n for n, m in sys.modules.items() if n.startswith(_HERE + ".") and n not in _answered and m is not None]
    if _HERE not in _answered:
        names.append(_HERE)
    _answered.update(names)
    # Private modules last, and of the public ones those at the top: torch.nn.modules.activation before torch.nn.
    for name in sorted(names, key=lambda n: (_is_private(n), -n.count("."))):
        loaded = sys.modules[name]
        public = "torch" + name.removeprefix(_HERE)
        if name != _HERE:
            loaded.__name__ = public
            sys.modules.setdefault(public, loaded)
        offered = () if _is_private(name) else getattr(loaded, "__all__", ())
        for key, value in list(vars(loaded).items()):
            home = getattr(value, "__module__", None)
            if isinstance(value, type) and isinstance(home, str) and (home + ".").startswith(_HERE + "."):
                is_moved = key in offered and _is_private(home) and home != _HERE + "._C"
                value.__module__ = public if is_moved else "torch" + home.removeprefix(_HERE)


def is_installed() -> bool:
    """Whether strided has PyTorch's place in this process."""
    return sys.modules.get("torch") is sys.modules[_HERE]


def install_as_torch() -> None:
    """Puts strided in PyTorch's place in this process: ``import torch`` and ``import torch.x`` give strided's modules.

    They are the same objects, ``torch is strided``. From then on ``strided.__name__`` is ``"torch"``, ``__version__``
    is that of the PyTorch that strided follows, ``importlib.metadata.version("torch")`` says the same, and classes name
    ``torch`` as their module. What strided lacks stays a ModuleNotFoundError that names ``torch.x``. A second call
    changes nothing. Processes that this one starts are not changed: call it there too, or start this one with
    ``python -m strided run``, which changes them as well.

    Raises:
        RuntimeError: something else was imported as ``torch`` already.

    >>> import subprocess, sys
    >>> program = "import strided; strided.install_as_torch(); import torch; print(torch.ones(2))"
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout)
    tensor([1., 1.])
    <BLANKLINE>
    """
    import strided

    there = sys.modules.get("torch")
    if there is strided:
        return
    if there is not None:
        where = getattr(there, "__file__", None) or "memory"
        raise RuntimeError(f"install_as_torch: torch is imported already, from {where}; call this before that")
    from .. import torch_version, version

    sys.meta_path.insert(0, _Finder)
    strided.__name__ = "torch"
    strided.__version__ = version.__version__ = torch_version.__version__
    sys.modules["torch"] = strided
    strided.torch = strided  # type: ignore[attr-defined]  # as in PyTorch, and libraries write torch.torch.Tensor
    for name in _BROUGHT_ALONG:
        importlib.import_module(name)
    _answer_as_torch()


def _install_for_children() -> None:
    """install_as_torch, here and, by the environment, in the processes of this Python that are started from here.

    Those of ``multiprocessing`` (spawn, forkserver), joblib and ``subprocess`` alike: the folder in PYTHONPATH holds a
    ``sitecustomize`` which waits until ``torch`` is imported. STRIDED_AS_TORCH names this Python, so that those of
    other environments are left alone.
    """
    install_as_torch()
    folder = os.path.join(_FOLDER, "_as_torch_path")
    others = os.environ.get("PYTHONPATH")
    if not others:
        os.environ["PYTHONPATH"] = folder
    elif folder not in others.split(os.pathsep):
        os.environ["PYTHONPATH"] = folder + os.pathsep + others
    os.environ["STRIDED_AS_TORCH"] = f"{sys.implementation.cache_tag}:{sys.prefix}"


def run(arguments: Sequence[str]) -> int:
    """``python -m strided run``: a program with strided in PyTorch's place, also in the Pythons that it starts.

    Args:
        arguments: ``script.py args``, ``-m module args`` or ``-c code args``, as Python takes them.

    Returns:
        2 if there is nothing to run, else 0. What the program raises, SystemExit too, goes through.
    """
    kind = arguments[0] if arguments else ""
    if not kind or kind.startswith("-") and (kind not in ("-m", "-c") or len(arguments) < 2):
        print("usage: python -m strided run [-m module | -c code | script.py] ...", file=sys.stderr)
        return 2
    from .._launch.rank import execute

    _install_for_children()
    execute(list(arguments))
    return 0
