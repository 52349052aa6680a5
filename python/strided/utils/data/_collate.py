"""Samples to batches."""

from __future__ import annotations

import collections.abc
import copy
import re
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from ..._typing import Any

_NOT_NUMBERS = re.compile(r"[SaUO]")
_MESSAGE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _is_numpy(x):
    return type(x).__module__ == "numpy" and type(x).__name__ not in ("str_", "string_")


def _rebuilt(like, items):
    """A container of the same type; a plain one where that cannot be made."""
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return type(like)(*items)
    try:
        return type(like)(items)
    except TypeError:
        return dict(items) if isinstance(like, collections.abc.Mapping) else items


def default_convert(data: Any) -> Any:
    """NumPy's arrays as tensors, anywhere in lists, tuples and dicts.

    >>> strided.utils.data.default_convert([1, 2])
    [1, 2]
    """
    if isinstance(data, strided.Tensor):
        return data
    if _is_numpy(data):
        if type(data).__name__ == "ndarray" and _NOT_NUMBERS.search(data.dtype.str):
            return data
        return strided.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _rebuilt(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple):
        made = [default_convert(v) for v in data]
        return type(data)(*made) if hasattr(data, "_fields") else made
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt(data, [default_convert(v) for v in data])
    return data


def collate(batch: Any, *, collate_fn_map: dict[Any, Any] | None = None) -> Any:
    """One batch of a list of samples, by functions for types.

    The function for the type of the first sample is called as ``f(batch, collate_fn_map=collate_fn_map)``: that of the
    type itself, else the first one whose type (or tuple of types) the sample is an instance of.  Mappings and sequences
    without one are taken apart.  TypeError for anything else.

    >>> from strided.utils.data._utils.collate import collate
    >>> collate([{"a": 1}, {"a": 2}], collate_fn_map={int: lambda batch, *, collate_fn_map: sum(batch)})
    {'a': 3}
    """
    first = batch[0]
    if collate_fn_map is default_collate_fn_map and _is_numpy(first):
        know_numpy()
    functions = collate_fn_map or {}
    function = functions.get(type(first))
    for kinds in functions if function is None else ():
        if isinstance(first, kinds):
            function = functions[kinds]
            break
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        parts = {k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in first}
        if isinstance(first, collections.abc.MutableMapping):  # it may have attributes of its own
            made = copy.copy(first)
            made.update(parts)
            return made
        return _rebuilt(first, parts)
    if isinstance(first, collections.abc.Sequence):
        samples = list(batch)
        if not all(len(s) == len(first) for s in samples):
            raise RuntimeError("each element in list of batch should be of equal size")
        made = [collate(part, collate_fn_map=collate_fn_map) for part in zip(*samples)]
        if isinstance(first, tuple):
            return type(first)(*made) if hasattr(first, "_fields") else made
        return _rebuilt(first, made)
    raise TypeError(_MESSAGE.format(type(first)))


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Tensors of one shape, stacked along a new first axis."""
    return strided.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """NumPy's arrays as tensors, and these as a batch. TypeError for arrays of text or objects."""
    if _NOT_NUMBERS.search(batch[0].dtype.str):
        raise TypeError(_MESSAGE.format(batch[0].dtype))
    return collate([strided.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """NumPy's scalars as a tensor of one axis, in their dtype."""
    return strided.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Numbers of Python as a tensor of one axis, in float64.

    >>> strided.utils.data.default_collate([0.5, 1.5]).dtype
    torch.float64
    """
    return strided.tensor(batch, dtype=strided.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Integers of Python as a tensor of one axis, in int64."""
    return strided.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Texts and bytes as they are: a list."""
    return batch


default_collate_fn_map: dict[Any, Any] = {
    strided.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def know_numpy() -> None:
    """Puts NumPy's types into default_collate_fn_map: not before they are needed, NumPy is imported here."""
    import numpy as np

    default_collate_fn_map.setdefault(np.ndarray, collate_numpy_array_fn)
    for kind in (np.bool_, np.number, np.object_):
        default_collate_fn_map.setdefault(kind, collate_numpy_scalar_fn)


def default_collate(batch: Any) -> Any:
    """One batch of a list of samples: tensors, arrays and numbers are stacked; of tuples, lists and dicts, their parts.

    >>> strided.utils.data.default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
