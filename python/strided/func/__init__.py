"""Functions of functions (``strided.func``): batching, derivatives, modules as functions.

>>> from strided.func import grad, vmap
>>> x, y = strided.randn(3, 5), strided.randn(3, 5)
>>> per_sample = vmap(grad(lambda a, b: (a * b).sum()))(x, y)
>>> bool((per_sample == y).all())
True
"""

from __future__ import annotations

from . import _backward as _backward
from . import _indexing as _indexing
from . import _networks as _networks
from . import _products as _products
from . import _shapes as _shapes
from ._functionalize import functionalize
from ._grad import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from ._rearrange import rearrange
from ._vmap import vmap

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

del annotations
