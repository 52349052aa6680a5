"""Modules of every kind (``strided.nn.modules``)."""

from __future__ import annotations

from ._lazy_layers import *
from .activation import *
from .adaptive import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import *
from .linear_cross_entropy_options import *
from .loss import *
from .module import Module
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *

__all__ = sorted(name for name, value in globals().items() if isinstance(value, type))

del annotations
