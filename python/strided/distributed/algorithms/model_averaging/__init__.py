"""Parameters averaged over ranks now and then (``strided.distributed.algorithms.model_averaging``)."""

from __future__ import annotations

from . import averagers, hierarchical_model_averager, utils

__all__ = ["averagers", "hierarchical_model_averager", "utils"]

del annotations
