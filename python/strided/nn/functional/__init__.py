"""Functions behind the modules (``strided.nn.functional``)."""

from __future__ import annotations

import types

from ... import cosine_similarity, pairwise_distance, pdist
from ._activation import *
from ._attention import *
from ._class_loss import *
from ._conv import *
from ._ctc import *
from ._dropout import *
from ._interpolate import *
from ._grouped import *
from ._linear import *
from ._linear_loss import *
from ._loss import *
from ._normalization import *
from ._padding import *
from ._pool import *
from ._pool_adaptive import *
from ._pool_fractional import *
from ..._calls.overrides import overridable

for _name, _function in list(globals().items()):
    if isinstance(_function, types.FunctionType) and not _name.startswith("_"):
        _function.__module__ = __name__  # where pickle finds what stands in its place
        globals()[_name] = overridable(_function)

del annotations, types, overridable, _name, _function
