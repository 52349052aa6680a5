"""Settings that programs make for PyTorch's compiler (``config``); the compiler is ``strided.compile``."""

from . import config as config
