"""The names of ``strided.distributed.fsdp`` that are arguments of the older wrapper (``api``)."""

from ._options import *
from ._options import __all__ as __all__
