"""Special functions (``strided.special``): PyTorch's names for functions that the op table has."""

from __future__ import annotations

from . import _C
from ._calls import namespaces as _namespaces
from ._functions import composite as _composite

globals().update(_namespaces.in_namespace("special"))

# Names of torch.special that are functions of the main namespace.
for _name in (
    "digamma psi erf erfc erfinv exp2 expit expm1 gammainc gammaincc gammaln i0 i0e i1 i1e log1p log_ndtr "
    "logit logsumexp log_softmax ndtr ndtri entr round sinc softmax xlogy xlog1py zeta"
).split():
    if _name in _C.functions and _name not in globals():
        globals()[_name] = _C.functions[_name]
del _name
polygamma, multigammaln = _composite.polygamma, _composite.mvlgamma

del annotations
__all__ = [_name for _name in globals() if not _name.startswith("_") and callable(globals()[_name])]
