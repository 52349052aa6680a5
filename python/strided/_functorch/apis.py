"""What libraries import from ``torch._functorch.apis``: ``strided.func``, without the warnings of ``functorch``."""

from ..func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
