"""Conversions and numbers out of tensors, as the operations that they consist of in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _C
from . import call
from .composites import COMPOSED, composed
from .composites_shapes import make_contiguous

if TYPE_CHECKING:
    from .._typing import Tensor

_Tensor = _C.Tensor


def _converted(func: Any, args: Any, kwargs: Any) -> Tensor:
    self = args[0]
    if hasattr(type(self), "__strided_dispatch__"):
        return _converted_class(func, self, args[1:], kwargs)
    made = func(*args, **kwargs)
    if made is self:
        return self
    options = {k: getattr(made, k) for k in ("dtype", "device") if getattr(made, k) != getattr(self, k)}
    return call("_to_copy", self, **(options or {"dtype": made.dtype}))


def _converted_class(func: Any, self: Tensor, args: Any, kwargs: Any) -> Tensor:
    """The same of a class with a ``__torch_dispatch__``: what its values are cannot be tried."""
    import strided

    kwargs = dict(kwargs)
    name, options = func.__name__, {}
    copies = kwargs.pop("copy", False)
    blocks = not kwargs.pop("non_blocking", False)
    format = kwargs.pop("memory_format", None)
    if name in ("to", "type_as") and args and isinstance(args[0], _Tensor):
        given = [args[0].dtype, *([args[0].device] if name == "to" else []), *args[1:]]
    elif name in ("to", "type"):
        other = kwargs.pop("other", None)
        given = [*args, kwargs.pop("dtype", None), kwargs.pop("device", None)]
        given += [other.dtype, other.device] if other is not None else []
    elif name == "cpu":
        given = ["cpu"]
    else:
        kind = {"chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128"}.get(name, name)
        given = [getattr(strided, kind)]
    flags = []
    for value in given:
        if isinstance(value, _C.dtype):
            options["dtype"] = value
        elif isinstance(value, bool):
            flags.append(value)
        elif isinstance(value, (str, int, _C.device)):
            options["device"] = _C.device(value)
    blocks, copies = blocks and not any(flags[:1]), copies or any(flags[1:2])
    if options.get("dtype") == self.dtype and not copies:
        del options["dtype"]
    if "device" in options and options["device"] == self.device and not copies:
        del options["device"]
    if format is not None and not options and not copies:
        return make_contiguous(self, format) if format is not strided.preserve_format else self
    if not options and not copies:
        return self
    if not blocks:
        options["non_blocking"] = True
    if format is not None:
        options["memory_format"] = format
    return call("_to_copy", self, **options)


def _cuda(func: Any, args: Any, kwargs: Any) -> Tensor:
    if not hasattr(type(args[0]), "__strided_dispatch__"):
        return func(*args, **kwargs)
    return _cuda_class(*args, **kwargs)


COMPOSED["cuda"] = _cuda


def _cuda_class(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    place = _C.device("cuda") if device is None else _C.device("cuda", device) if isinstance(device, int) else device
    return self.to(place, non_blocking=non_blocking, memory_format=memory_format)


for _name in (
    "to type type_as float double half bfloat16 int long short char byte bool cfloat cdouble chalf cpu"
).split():
    COMPOSED[_name] = _converted


@composed("item")
def _item(self: Tensor) -> Any:
    return call("_local_scalar_dense", self)


for _name in ("__bool__", "__int__", "__float__", "__complex__", "__index__"):
    _kind = {"__bool__": bool, "__int__": int, "__float__": float, "__complex__": complex, "__index__": int}[_name]
    COMPOSED[_name] = lambda func, args, kwargs, _kind=_kind: _kind(call("_local_scalar_dense", args[0]))


def _made(func: Any, args: Any, kwargs: Any) -> Tensor:
    made = func(*args, **kwargs)
    return made if args and isinstance(args[0], _Tensor) else call("lift_fresh", made)


for _name in ("tensor", "as_tensor", "asarray"):
    COMPOSED[_name] = _made
