"""The version of strided, and of the toolkits it was built with (None: without)."""

from importlib.metadata import PackageNotFoundError, version as _version

try:
    __version__ = _version("strided")
except PackageNotFoundError:  # run from a build folder
    __version__ = "0+unknown"

cuda = None
hip = None
