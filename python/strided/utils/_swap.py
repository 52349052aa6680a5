"""Two tensors that become each other (``strided.utils.swap_tensors``)."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from .. import _C
from ..autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from .._typing import Tensor


def _memory(t: Tensor) -> Tensor:
    if not hasattr(type(t), "__strided_dispatch__"):
        return t.data
    data = _C.Tensor.data
    return _C._call_base(type(data).__get__, (data, t), None)  # not what the class makes of it


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges what two objects are: memory, dtype, shape, gradient, attributes and class.

    Raises:
        RuntimeError: there are weak references to one of them.
        NotImplementedError: one has a ``grad_fn``.

    >>> a, b = strided.ones(2), strided.zeros(3)
    >>> strided.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0., 0., 0.]), tensor([1., 1.]))
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
        if t.grad_fn is not None:
            raise NotImplementedError(f"swap_tensors: strided exchanges tensors without a grad_fn, {name} has one")
    with no_grad(), _C.DisableTorchFunction():
        (one, g1, r1), (two, g2, r2) = ((_memory(t), t.grad, t.requires_grad) for t in (t1, t2))
        for t, data, grad, required in ((t1, two, g2, r2), (t2, one, g1, r1)):
            t.grad = None
            t.requires_grad_(False)
            t.data = data
            t.requires_grad_(required)
            t.grad = grad
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    first, second = dict(t1.__dict__), dict(t2.__dict__)
    for t, attributes in ((t1, second), (t2, first)):
        t.__dict__.clear()
        t.__dict__.update(attributes)
