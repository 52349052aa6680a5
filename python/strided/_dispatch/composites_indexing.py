"""Indexing, as the operations that it consists of in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _C
from . import call
from .composites import composed

if TYPE_CHECKING:
    from .._typing import Tensor

_Tensor = _C.Tensor
_END = 2**63 - 1


def _pieces(key: Any) -> list[Any]:
    return list(key) if isinstance(key, tuple) else [key]


def _view_of(x: Tensor, key: Any) -> tuple[Tensor, list[Any]]:
    """The view of the basic pieces of a key, and the indices that are left for ``index``."""
    pieces = _pieces(key)
    if not any(p is Ellipsis for p in pieces):
        pieces.append(Ellipsis)
    dim, indices = 0, []
    for p in pieces:
        if p is Ellipsis:
            skipped = max(x.dim() - dim - _rest(pieces, p), 0)
            indices += [None] * skipped
            dim += skipped
        elif p is None:
            x = call("unsqueeze", x, dim)
            indices.append(None)
            dim += 1
        elif isinstance(p, slice):
            size = x.shape[dim]
            start, stop, step = (None if i is None else i.__index__() for i in (p.start, p.stop, p.step))
            if (start or 0) != 0 or (stop is not None and stop != _END and stop < size) or (step or 1) != 1:
                given = [start or 0, _END if stop is None else stop]
                x = call("slice.Tensor", x, dim, *given, *([step] if (step or 1) != 1 else []))
            indices.append(None)
            dim += 1
        elif hasattr(p, "__index__") and not isinstance(p, _Tensor):
            x = call("select.int", x, dim, p.__index__())
        elif isinstance(p, _Tensor) and p.dim() == 0 and p.dtype is not _bool_dtype():
            x = call("select.int", x, dim, int(p))
        else:
            p = p if isinstance(p, _Tensor) else call("lift_fresh", _tensor(p))
            indices.append(p)
            dim += p.dim() if p.dtype is _bool_dtype() else 1
    while indices and indices[-1] is None:
        indices.pop()
    return x, indices


def _rest(pieces: list[Any], ellipsis: Any) -> int:
    """How many axes the pieces behind the ellipsis take."""
    count = 0
    for p in pieces[next(i for i, q in enumerate(pieces) if q is ellipsis) + 1 :]:
        if isinstance(p, _Tensor) and p.dtype is _bool_dtype():
            count += p.dim()
        elif p is not None and not isinstance(p, bool):
            count += 1
    return count


def _bool_dtype() -> Any:
    import strided

    return strided.bool


def _tensor(value: Any, **options: Any) -> Tensor:
    import strided

    return strided.tensor(value, **options)


def _plain(key: Any) -> bool:
    """Are the pieces of a key of the kinds that are taken apart?"""
    return not any(isinstance(p, bool) or type(p).__module__ == "numpy" for p in _pieces(key))


@composed("__getitem__")
def _getitem(self: Tensor, key: Any) -> Tensor:
    if not _plain(key) or not self.dim() and _pieces(key) not in ([Ellipsis], [None], []):
        return call("index.Tensor", self, _pieces(key))
    view, indices = _view_of(self, key)
    if not indices:
        return view if view is not self else call("alias", self)
    return call("index.Tensor", view, indices)


@composed("__setitem__")
def _setitem(self: Tensor, key: Any, value: Any) -> None:
    if not _plain(key):
        self[key] = value
        return
    number = not isinstance(value, _Tensor)
    if number:
        value = call("lift_fresh", _tensor(value, dtype=self.dtype, device=self.device))
    view, indices = _view_of(self, key)
    if indices:
        call("index_put_", view, indices, value)
    elif number and value.dim() == 0:
        call("fill_.Tensor", view, value)
    else:
        call("copy_", view, value)
