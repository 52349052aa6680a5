"""Learning rates that change from step to step (``strided.optim.lr_scheduler``)."""

from __future__ import annotations

from ._chains import ChainedScheduler, SequentialLR
from ._cycles import CyclicLR, OneCycleLR
from ._schedulers import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._schedulers import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    ReduceLROnPlateau,
    StepLR,
    _LRScheduler,
)

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler",
]  # fmt: skip
