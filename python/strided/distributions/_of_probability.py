"""What distributions of one probability share: it is given, or its log-odds are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits

if TYPE_CHECKING:
    from .._typing import Any, Tensor


class OfProbability(Distribution):
    """`_param` is the one of ``probs`` and ``logits`` that was given."""

    _param: strided.Tensor

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new_empty(*args, **kwargs)
