"""Samples to batches."""

from __future__ import annotations

import collections.abc
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


def default_collate(batch: Any) -> Any:
    """One batch of a list of samples: tensors, arrays and numbers are stacked; of tuples, lists and dicts, their parts.

    >>> strided.utils.data.default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    first = batch[0]
    if isinstance(first, strided.Tensor):
        return strided.stack(list(batch), 0)
    if _is_numpy(first):
        if type(first).__name__ == "ndarray":
            if _NOT_NUMBERS.search(first.dtype.str):
                raise TypeError(_MESSAGE.format(first.dtype))
            return default_collate([strided.as_tensor(b) for b in batch])
        return strided.as_tensor(batch)
    if isinstance(first, float):
        return strided.tensor(batch, dtype=strided.float64)
    if isinstance(first, int):
        return strided.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _rebuilt(first, {k: default_collate([d[k] for d in batch]) for k in first})
    if isinstance(first, collections.abc.Sequence):
        samples = list(batch)
        if not all(len(s) == len(first) for s in samples):
            raise RuntimeError("each element in list of batch should be of equal size")
        made = [default_collate(list(part)) for part in zip(*samples)]
        if isinstance(first, tuple):
            return type(first)(*made) if hasattr(first, "_fields") else made
        return _rebuilt(first, made)
    raise TypeError(_MESSAGE.format(type(first)))
