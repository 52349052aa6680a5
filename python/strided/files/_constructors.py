"""What a pickle of PyTorch's may make, besides what the machine in C++ makes itself: a closed list.

A name that a file gives is only ever looked up in this list, and in the one that the user of the library extends by
``serialization.add_safe_globals``. Nothing is imported by a name from a file.
"""

from __future__ import annotations

import collections
import re
import sys
from copyreg import dispatch_table
from typing import Any

from .. import _C
from .._C import Size
from .._objects import storage
from .._objects.states import slot_names, state_of

__all__ = ["class_name", "constructors", "describe", "name_of", "restore_state"]

# Numbers only: no objects, no records, no texts, no dates.
_PLAIN = re.compile(r"[<>=|]?([?]|b1|[iu][1248]|f[248]|c8|c16)")


def _size(numbers: Any = ()) -> Size:
    if not isinstance(numbers, (tuple, list)) or not all(type(n) is int for n in numbers):
        raise TypeError("a Size is made of integers")
    return Size(numbers)


def _device(*args: Any) -> Any:
    return _C.device(*args)


def _layout(name: str) -> Any:
    import strided

    found = getattr(strided, name.removeprefix("torch."), None)
    if not isinstance(found, strided.layout) or repr(found) != name:
        raise ValueError(f"there is no layout {name}")
    return found


def _parameter(data: Any, requires_grad: bool) -> Any:
    from ..nn.parameter import Parameter

    return Parameter(data, requires_grad)


def _tensor(data: Any, requires_grad: bool = False) -> Any:
    if not isinstance(data, _C.Tensor):
        raise TypeError("a tensor is made of a tensor")
    return data


def _meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    """A tensor without data, on device 'meta'."""
    import strided

    if not isinstance(dtype, _C.dtype) or not all(isinstance(one, (tuple, list)) for one in (size, stride)):
        raise TypeError("a tensor on device 'meta' is made of a dtype, a size and strides")
    return strided.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=bool(requires_grad))


def _wrapper(
    kind: Any, dtype: Any, size: Any, stride: Any, offset: Any, layout: Any, device: Any, requires_grad: Any
) -> Any:
    """A tensor of a user's class whose values are in its attributes."""
    from .._dispatch.subclasses import make_wrapper

    counts = isinstance(size, tuple) and isinstance(stride, tuple) and type(offset) is int
    if not (isinstance(kind, type) and issubclass(kind, _C.Tensor) and counts and isinstance(dtype, _C.dtype)):
        raise TypeError("a tensor of a class is made of the class, a dtype, a size and strides")
    return make_wrapper(kind, size, stride, offset, None, dtype, layout, device, bool(requires_grad))


def _sparse(layout: Any, parts: Any) -> Any:
    """A sparse tensor; indices that are not within the size are an error."""
    import strided

    tensors = 2 if layout is strided.sparse_coo else 3
    if not isinstance(parts, tuple) or not all(type(t) is _C.Tensor for t in parts[:tensors]):
        raise TypeError("a sparse tensor is made of tensors")
    if layout is strided.sparse_coo and len(parts) in (3, 4):
        return strided.sparse_coo_tensor(*parts[:3], is_coalesced=parts[3] if len(parts) == 4 else None)
    if len(parts) != 4:
        raise TypeError("the parts of a sparse tensor are damaged")
    return strided.sparse_compressed_tensor(*parts, layout=layout)


def _counter(counts: Any = ()) -> Any:
    if not isinstance(counts, dict):
        raise TypeError("a Counter is made of a dictionary")
    return collections.Counter(counts)


# ---------------------------------------------------------------- NumPy


def _numpy_dtype(code: Any, align: Any = False, copy: Any = True) -> Any:
    import numpy

    if not (isinstance(code, str) and _PLAIN.fullmatch(code)):
        raise TypeError(f"NumPy's dtype {code!r} is no plain number")
    return numpy.dtype(code, False, True)


def _set_dtype_state(dtype: Any, state: Any) -> None:
    if type(state) is not tuple or len(state) != 8 or state[1] not in ("<", ">", "=", "|"):
        raise TypeError("the state of a dtype is damaged")
    if state[0] != 3 or state[2:5] != (None, None, None) or state[5:7] != (-1, -1) or state[7] not in (0, None):
        raise TypeError("a dtype with fields is no plain number")
    dtype.__setstate__((3, state[1], None, None, None, -1, -1, 0))


def _scalar(dtype: Any, data: Any) -> Any:
    import numpy

    if not isinstance(dtype, numpy.dtype) or type(data) is not bytes or len(data) != dtype.itemsize:
        raise TypeError("a number of NumPy's has no bytes, or too many")
    return numpy.frombuffer(data, dtype)[0]


def _array(cls: Any, shape: Any, code: Any) -> Any:
    import numpy

    if cls is not numpy.ndarray:
        raise TypeError("an array of an unknown class")
    return numpy.empty(0, "b")


def _set_array_state(array: Any, state: Any) -> None:
    import numpy

    if type(state) is not tuple or len(state) != 5 or type(state[4]) is not bytes:
        raise TypeError("the state of an array is damaged")
    _, shape, dtype, fortran, data = state
    if type(shape) is not tuple or len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
        raise TypeError("the shape of an array is damaged")
    if not isinstance(dtype, numpy.dtype) or type(fortran) is not bool:
        raise TypeError("the dtype of an array is damaged")
    size = dtype.itemsize
    for n in shape:
        size *= n
    if size != len(data):
        raise ValueError(f"an array of shape {shape} needs {size} bytes, it has {len(data)}")
    array.__setstate__((1, shape, dtype, fortran, data))


def _build_numpy() -> dict[type, Any]:
    import numpy

    codes = "? b B h H i I l L q Q e f d F D".split()
    return {numpy.ndarray: _set_array_state, **{type(numpy.dtype(c)): _set_dtype_state for c in codes}}


def _numpy_class() -> dict[str, Any]:
    """The class of arrays, which files hold and do not call: one item in a tuple."""
    import numpy

    return {"numpy.ndarray": (numpy.ndarray,)}


# ---------------------------------------------------------------- the lists


def _fixed() -> dict[str, Any]:
    found: dict[str, Any] = {
        "torch.Size": _size,
        "torch.device": _device,
        "torch.serialization._get_layout": _layout,
        "torch._utils._rebuild_sparse_tensor": _sparse,
        "torch._utils._rebuild_meta_tensor_no_storage": _meta,
        "torch._utils._rebuild_wrapper_subclass": _wrapper,
        "torch.Tensor": _tensor,
        "torch.nn.parameter.Parameter": _parameter,
        "collections.Counter": _counter,
        "numpy.dtype": _numpy_dtype,
    }
    for module in ("numpy._core.multiarray", "numpy.core.multiarray"):
        found[f"{module}.scalar"] = _scalar
        found[f"{module}._reconstruct"] = _array
    for dtype in _C.dtypes:
        found[f"torch.{dtype._traits['name']}"] = dtype
    return found


_FIXED = _fixed()


def restore_state(obj: Any, state: Any) -> None:
    """What ``BUILD`` does for a class that the user allowed."""
    if hasattr(obj, "__setstate__"):
        obj.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:  # else there may be slots alone
        obj.__dict__.update(state)
    for name, value in (slots or {}).items():
        if isinstance(obj, _C.Tensor) and name not in slot_names(type(obj)):
            raise TypeError(f"{type(obj).__name__} has no slot {name!r}")
        setattr(obj, name, value)


def constructors(allowed: dict[str, Any], encoding: str = "utf-8") -> tuple[Any, ...]:
    """The four things that the machine is given: names, states, classes, and the encoding of Python 2's texts.

    Args:
        allowed: 'module.name' to the functions and classes that the user allowed.
    """
    classes = {one for one in allowed.values() if isinstance(one, type)}
    build = {one: restore_state for one in classes}
    # (Before NumPy is imported no pickle can have made an array: the first that does imports it.)
    build = {**_build_numpy(), **build}
    return {**_FIXED, **_numpy_class(), **allowed}, build, frozenset({collections.Counter} | classes), encoding


def known_names(allowed: dict[str, Any]) -> set[str]:
    """The names in both lists."""
    return _FIXED.keys() | _numpy_class().keys() | allowed.keys()


# ---------------------------------------------------------------- the other way


def name_of(obj: Any) -> str:
    """'module.name' of a function or class."""
    return f"{obj.__module__}.{obj.__qualname__}"


def file_name_of(obj: Any) -> str:
    """'module.name' in files: PyTorch's, for what is strided's own."""
    name = name_of(obj)
    return "torch." + name.removeprefix("strided.") if name.startswith("strided.") else name


def class_name(obj: Any) -> str:
    """How an error names an object: by itself if it is a function or class, else by its class."""
    return name_of(obj) if hasattr(obj, "__qualname__") and hasattr(obj, "__module__") else name_of(type(obj))


_C.set_hook("class_name", class_name)


def _describe_numpy(obj: Any, numpy: Any) -> Any:
    if isinstance(obj, numpy.dtype):
        code = obj.str[1:]
        if not _PLAIN.fullmatch(code):
            return None
        return "numpy.dtype", (code, False, True), (3, obj.str[0], None, None, None, -1, -1, 0)
    if isinstance(obj, numpy.generic) and _PLAIN.fullmatch(obj.dtype.str):
        return "numpy._core.multiarray.scalar", (obj.dtype, obj.tobytes()), None
    if type(obj) is numpy.ndarray and _PLAIN.fullmatch(obj.dtype.str):
        state = (1, obj.shape, obj.dtype, False, obj.tobytes())
        return "numpy._core.multiarray._reconstruct", (numpy.ndarray, (0,), b"b"), state
    return ("numpy.ndarray", None, None) if obj is numpy.ndarray else None


def is_of_plain_class(obj: Any) -> bool:
    """Whether it is a tensor of a user's class that has values and attributes, or a wrapper: nothing that only
    ``__reduce_ex__`` knows."""
    kind, own = type(obj), ("__reduce_ex__", "__reduce__")
    if not isinstance(obj, _C.Tensor) or any(getattr(kind, n) is not getattr(_C.Tensor, n) for n in own):
        return False
    return kind.__torch_dispatch__ is _C.Tensor.__torch_dispatch__ or _is_wrapper(obj)  # type: ignore[attr-defined]


def _is_wrapper(obj: Any) -> bool:
    from .._dispatch.subclasses import is_wrapper

    return is_wrapper(obj)


def describe_tensor(obj: Any, name: str) -> Any:
    """(name of its class, the plain tensor, attributes) of a tensor of a user's class, to be written as in PyTorch."""
    from .._calls.overrides import DisableTorchFunctionSubclass

    if _is_wrapper(obj):
        shape = tuple(obj.size()), tuple(obj.stride()), obj.storage_offset()
        given = (type(obj), obj.dtype, *shape, obj.layout, obj.device, obj.requires_grad)
        return "torch._tensor._rebuild_from_type_v2", (_wrapper, type(obj), given, state_of(obj)), None
    with DisableTorchFunctionSubclass():
        return name, obj.as_subclass(_C.Tensor), state_of(obj)


def _as_class(made: Any, kind: type) -> Any:
    """A tensor that was read, as an object of a user's class, which the user has allowed."""
    return made.detach().as_subclass(kind).requires_grad_(made.requires_grad)


_C.set_hook("as_class", _as_class)


def reduced(obj: Any) -> Any:
    """What Python's pickle takes an object apart to: a reducer that somebody registered goes before its own."""
    registered = dispatch_table.get(type(obj))
    return obj.__reduce_ex__(2) if registered is None else registered(obj)


def _describe_allowed(obj: Any, allowed: dict[str, Any]) -> Any:
    names = {id(one): name for name, one in allowed.items()}
    if id(obj) in names:
        return names[id(obj)], None, None
    if id(type(obj)) not in names:
        return None
    if is_of_plain_class(obj):
        return describe_tensor(obj, names[id(type(obj))])
    parts = reduced(obj)
    if not isinstance(parts, tuple) or any(part is not None for part in parts[3:]):
        return None
    function, args, state = (*parts, None)[:3]
    if function.__name__ == "__newobj__":
        return f"new {names[id(type(obj))]}", tuple(args[1:]), state
    return (names[id(function)], args, state) if id(function) in names else None


def _is_layout(obj: Any) -> bool:
    import strided

    return isinstance(obj, strided.layout)


def describe(obj: Any, allowed: dict[str, Any]) -> Any:
    """(name, arguments, state) of what the writer in C++ does not know itself; None for what cannot be saved."""
    if isinstance(obj, _C.dtype):
        return f"torch.{obj._traits['name']}", None, None
    if isinstance(obj, _C.device):
        return "torch.device", (obj.type,) if obj.index is None else (obj.type, obj.index), None
    if isinstance(obj, storage.TypedStorage):
        return "storage", obj.untyped(), obj.dtype
    if type(obj) is collections.Counter:
        return "collections.Counter", (dict(obj),), None
    if obj is _wrapper:
        return "torch._utils._rebuild_wrapper_subclass", None, None
    if _is_layout(obj):
        return "torch.serialization._get_layout", (repr(obj),), None
    sparse = sys.modules.get("strided._sparse.base")  # before it is imported there are no such tensors
    if sparse is not None and isinstance(obj, sparse.SparseTensor):
        return "torch._utils._rebuild_sparse_tensor", (obj.layout, obj._saved()), None
    numpy = sys.modules.get("numpy")
    if numpy is not None and (found := _describe_numpy(obj, numpy)) is not None:
        return found
    return _describe_allowed(obj, allowed)
