"""The older name of ``strided.ao.quantization``."""

from .ao.quantization import *  # noqa: F403
from .ao.quantization import __all__ as __all__
