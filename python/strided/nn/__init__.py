"""Networks: modules, the functions behind them, initial values (``strided.nn``).

>>> net = strided.nn.Sequential(strided.nn.Linear(4, 8), strided.nn.ReLU(), strided.nn.Linear(8, 1))
>>> net(strided.ones(3, 4)).shape
torch.Size([3, 1])
"""

from __future__ import annotations

from . import _reduction, attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

functional.grad = grad  # type: ignore[attr-defined]  # programs find it there, too

del annotations
