"""Optimizers (``strided.optim``).

>>> net = strided.nn.Linear(1, 1)
>>> opt = strided.optim.Adam(net.parameters(), lr=0.01)
>>> net(strided.ones(1, 1)).square().sum().backward()
>>> opt.step()
"""

from __future__ import annotations

from . import lr_scheduler, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from .lbfgs import LBFGS
from .matrices import Adafactor, Muon
from .optimizer import Optimizer
from .sgd import SGD
from .sparse_adam import SparseAdam

del annotations
