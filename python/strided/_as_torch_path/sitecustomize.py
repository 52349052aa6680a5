"""Puts strided in PyTorch's place in the Pythons that a program under ``python -m strided run`` starts.

That command puts this folder first in PYTHONPATH and the name of its Python into STRIDED_AS_TORCH, so ``site`` imports
this file when such a process starts. Nothing of strided is imported before the process asks for ``torch``. Other
Pythons read PYTHONPATH too, so the file keeps to what each of them understands.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


class _Awaited:
    """Waits on ``sys.meta_path`` until somebody asks for ``torch``, then lets the finder of strided answer instead."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ("torch", "functorch", "torch_xla"):
            return None
        asked_first = name not in sys.modules
        spec = self._finder().find_spec(name, path, target)
        if asked_first:  # importlib puts it there, and would take the spec of one that came meanwhile instead of this
            sys.modules.pop(name, None)
        return spec

    def find_distributions(self, context):
        # A list of everything installed (context.name is None) is no question for torch.
        if context.name is None or context.name.lower() != "torch":
            return ()
        return self._finder().find_distributions(context)

    def invalidate_caches(self):
        pass

    def _finder(self):
        sys.meta_path.remove(self)
        package = os.path.dirname(_here)
        try:
            import strided
        except ModuleNotFoundError:  # its path did not come through the environment
            sys.path.append(os.path.dirname(package))
            import strided
        strided.install_as_torch()
        return strided._as_torch._Finder


def _begin():
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _here]
    if os.environ.get("STRIDED_AS_TORCH") == ":".join([sys.implementation.cache_tag, sys.prefix]):
        sys.meta_path.insert(0, _Awaited())
    # This file stands before the sitecustomize that the process would have had.
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", own)  # whoever imports this file wants to find it there


_begin()
