"""Functions that change or join shapes, as the operations that they consist of in PyTorch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import _C
from . import call
from .composites import composed

if TYPE_CHECKING:
    from .._typing import Callable, Tensor

_Tensor = _C.Tensor


def broadcast(*shapes: Any) -> list[int]:
    import strided

    return list(strided.broadcast_shapes(*shapes))


@composed("reshape")
def _reshape(self: Any = None, *sizes: Any, input: Any = None, shape: Any = None) -> Tensor:
    if shape is None:
        shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    return reshape(input if self is None else self, list(shape))


def reshape(x: Tensor, shape: list[int]) -> Tensor:
    """``view`` where the memory allows it, else a copy."""
    try:
        shape = list(_without_values(x).view(shape).shape)  # the question: nothing is copied, nothing is reported
    except RuntimeError:
        shape = list(_C.functions["empty"](tuple(x.shape), device=_C.device("meta")).view(shape).shape)
        return call("_unsafe_view", call("clone", x, memory_format=_contiguous()), shape)
    return call("view", x, shape)


def _without_values(x: Tensor) -> Tensor:
    """A tensor to ask about shapes: of a class with a ``__torch_dispatch__`` only the shape, strides and dtype."""
    if not hasattr(type(x), "__strided_dispatch__"):
        return x.detach()
    from .subclasses import shell

    return shell(x)


def _contiguous() -> Any:
    import strided

    return strided.contiguous_format


@composed("flatten", "ravel")
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    made = _without_values(input).flatten(start_dim, end_dim) if input.numel() < 2 else None
    n = input.dim()
    if made is None:
        a, b = (d + n if d < 0 else d for d in (start_dim, end_dim))
        if not 0 <= a <= b < max(n, 1):
            return input.flatten(start_dim, end_dim)  # the error
        shape = [*input.shape[:a], math.prod(input.shape[a : b + 1]), *input.shape[b + 1 :]]
    else:
        shape = list(made.shape)
    return input if shape == list(input.shape) else reshape(input, shape)


@composed("unflatten")
def _unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    dim = dim + input.dim() if dim < 0 else dim
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = input.shape[dim] // max(-math.prod(sizes), 1)
    return call("view", input, [*input.shape[:dim], *sizes, *input.shape[dim + 1 :]])


@composed("view_as", "reshape_as")
def _view_as(self: Tensor, other: Tensor) -> Tensor:
    return reshape(self, list(other.shape))


@composed("expand_as")
def _expand_as(self: Tensor, other: Tensor) -> Tensor:
    return call("expand", self, list(other.shape))


@composed("broadcast_tensors")
def _broadcast_tensors(*tensors: Any) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = broadcast(*(t.shape for t in given))
    return tuple(t if list(t.shape) == shape else call("expand", t, shape) for t in given)


@composed("broadcast_to")
def _broadcast_to(input: Tensor, size: Any) -> Tensor:
    return call("expand", input, list(size))


@composed("movedim")
def _movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    n = input.dim()
    a, b = ([d % n for d in ([x] if isinstance(x, int) else x)] for x in (source, destination))
    rest = iter([d for d in range(n) if d not in a])
    return call("permute", input, [a[b.index(i)] if i in b else next(rest) for i in range(n)])


@composed("narrow")
def _narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    return call("slice.Tensor", input, dim, start, start + length)


@composed("chunk")
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    size = -(-input.shape[dim] // chunks)
    return call("split.Tensor", input, size, *([dim] if dim else []))


@composed("T__get__")
def _T(self: Tensor) -> Tensor:
    return call("permute", self, list(range(self.dim()))[::-1])


@composed("mT__get__", "adjoint")
def _mT(self: Tensor) -> Tensor:
    if self.is_complex():
        return self.mT
    return call("transpose.int", self, -2, -1)


@composed("H__get__")
def _H(self: Tensor) -> Tensor:
    return self.H if self.is_complex() else call("transpose.int", self, 0, 1)


@composed("data__get__")
def _data(self: Tensor) -> Tensor:
    made = call("detach", self)
    return made if hasattr(type(made), "__strided_dispatch__") else made.detach()


@composed("contiguous")
def make_contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    kind = memory_format or _contiguous()
    if self.is_contiguous(memory_format=kind):
        return self
    return call("clone", self, memory_format=kind)


def _at_least(n: int) -> Callable[..., Any]:
    def of(*tensors: Any) -> Any:
        several = len(tensors) > 1 or isinstance(tensors[0], (list, tuple))
        given = tensors[0] if len(tensors) == 1 and several else tensors
        made = []
        for t in given:
            if t.dim() == 0 and n > 0:
                t = reshape(t, [1] * n)
            elif t.dim() == 1 and n > 1:
                t = call("unsqueeze", t, 0)
            if t.dim() == 2 and n > 2:
                t = call("unsqueeze", t, -1)
            made.append(t)
        return tuple(made) if several else made[0]

    return of


for _name, _dims in (("atleast_1d", 1), ("atleast_2d", 2), ("atleast_3d", 3)):
    composed(_name)(_at_least(_dims))


@composed("vstack", "row_stack")
def _vstack(tensors: Any) -> Tensor:
    return call("cat", [call("unsqueeze", t, 0) if t.dim() == 1 else t for t in tensors])


@composed("hstack")
def _hstack(tensors: Any) -> Tensor:
    return call("cat", list(tensors), *([1] if tensors[0].dim() > 1 else []))


@composed("msort")
def _msort(input: Tensor) -> Tensor:
    return call("sort", input, 0)[0]


@composed("argsort")
def _argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Tensor:
    if stable is None:
        given = [dim, descending] if descending else [] if dim == -1 else [dim]
        return call("sort", input, *given)[1]
    options = {"dim": dim} if dim != -1 else {}
    return call("sort.stable", input, stable=stable, **options, **({"descending": True} if descending else {}))[1]


@composed("__iter__")
def _iterate(self: Tensor) -> Any:
    return iter(call("unbind.int", self))


@composed("__contains__")
def _contains(self: Tensor, element: Any) -> bool:
    kind = "Tensor" if isinstance(element, _Tensor) else "Scalar"
    return call("_local_scalar_dense", call("any", call(f"eq.{kind}", self, element)))
