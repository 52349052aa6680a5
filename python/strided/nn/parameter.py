"""Tensors that a module owns: parameters and buffers (``strided.nn.parameter``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C, _printing

if TYPE_CHECKING:
    from .._typing import Any, Tensor

__all__ = ["Buffer", "Parameter"]

_empty = _C.functions["empty"]


class Parameter(_C.Tensor):
    """A tensor that becomes a parameter of the module it is assigned to.

    Args:
        data: the values, on whose memory the parameter is (not a copy); an empty tensor if None.
        requires_grad: whether gradients are collected.

    >>> strided.nn.Parameter(strided.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    # Results of functions of parameters are plain tensors.
    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        data = _empty((0,)) if data is None else data
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, got {type(data).__name__}")
        made = _C.Tensor.__new__(cls)
        made.data = data
        if requires_grad:
            made.requires_grad = True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + _printing.tensor_repr(self)

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.detach(), self.requires_grad)


class _BufferMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor) and getattr(obj, "_is_buffer", False)


class Buffer(metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to.

    Args:
        data: the values, whose memory is shared; an empty tensor if None.
        persistent: whether the state dict of the module has it.

    >>> m = strided.nn.Module()
    >>> m.total = strided.nn.Buffer(strided.zeros(1))
    >>> m.state_dict()
    OrderedDict([('total', tensor([0.]))])
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        made = (_empty((0,)) if data is None else data).detach()
        made.requires_grad = getattr(data, "requires_grad", False)
        made._is_buffer, made.persistent = True, persistent
        return made
