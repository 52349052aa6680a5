"""Reductions, running sums and normalisations of the elements that a mask names, and tensors that carry a mask along.

A mask is True, or not zero, where the input counts, and broadcasts to the input's shape. Reductions of rows in which
nothing counts give what the reduction begins with: 0 for ``sum``, -inf for ``amax``; NaN for ``mean``, ``var`` and
``median``. Gradients go to what counts. ``masked_tensor`` and ``as_masked_tensor`` make a ``MaskedTensor``.
"""

from __future__ import annotations

from ._ops import (
    _canonical_dim as _canonical_dim,
)
from ._ops import (
    _combine_input_and_mask as _combine_input_and_mask,
)
from ._ops import (
    _input_mask as _input_mask,
)
from ._ops import (
    _output_mask as _output_mask,
)
from ._ops import (
    _reduction_identity as _reduction_identity,
)
from ._ops import (
    _where as _where,
)
from ._ops import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from .maskedtensor.core import MaskedTensor, is_masked_tensor
from .maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
    "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax",
    "softmin", "std", "sum", "var",
]  # fmt: skip

del annotations
