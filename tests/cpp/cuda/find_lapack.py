"""Prints where the LAPACK of this Python environment is, as python/strided/_lapack.py finds it; nothing where there is
none."""

import importlib
import sys
import types
from pathlib import Path

# That module tells the compiled core what it finds; there is no core yet.
package = types.ModuleType("strided")
package.__path__ = [str(Path(__file__).parents[3] / "python" / "strided")]
package._C = types.SimpleNamespace(set_hook=lambda name, find: print(find(), end=""))
sys.modules["strided"] = package
importlib.import_module("strided._lapack")
