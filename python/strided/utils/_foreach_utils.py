"""How PyTorch's optimizers sort tensors for functions of lists (``strided._foreach_add_``)."""

from __future__ import annotations

from typing import Any


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists of equal length, cut into groups of one device and dtype: those of the first list.

    Returns:
        ``{(device, dtype): (lists, indices)}``; indices is empty unless asked for.

    >>> from strided.utils._foreach_utils import _group_tensors_by_device_and_dtype
    >>> _group_tensors_by_device_and_dtype([[strided.ones(1), strided.ones(1, dtype=strided.int32)]], True).keys()
    dict_keys([(device(type='cpu'), torch.float32), (device(type='cpu'), torch.int32)])
    """
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for i, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, indices = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in row], []))
        for part, tensor in zip(lists, row):
            part.append(tensor)
        if with_indices:
            indices.append(i)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Devices whose functions of lists are faster than a loop: none, they are loops."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """Devices with a kernel for a whole step: none."""
    return []


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    """False: functions of lists are loops."""
    return False


def _device_has_foreach_support(device: Any) -> bool:
    """False: functions of lists are loops."""
    return False
