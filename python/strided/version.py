"""The version of strided, and of the toolkits it was built with (None: without)."""

from ._C import build_info

__version__ = build_info()["version"]  # pyproject.toml's, told to the compiler

cuda = None
hip = None
rocm = None
xpu = None

debug = False
git_version = None
