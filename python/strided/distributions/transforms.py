"""Transforms of random variables, with the logarithms of their jacobians (``strided.distributions.transforms``).

>>> from strided.distributions import transforms
>>> t = transforms.AffineTransform(loc=1., scale=2.)
>>> t(strided.tensor([3.])), t.inv(strided.tensor([7.]))
(tensor([7.]), tensor([3.]))
"""

from __future__ import annotations

from ._transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    identity_transform,
)
from ._transform import _InverseTransform as _InverseTransform
from ._transforms_elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from ._transforms_elementwise import clipped_sigmoid as _clipped_sigmoid  # noqa: F401  (pytorch-forecasting takes it)
from ._transforms_vectors import (
    CatTransform,
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip
