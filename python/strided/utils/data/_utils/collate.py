"""How samples become a batch, under PyTorch's names: libraries add types of their own to ``default_collate_fn_map``."""

from __future__ import annotations

from .._collate import _NOT_NUMBERS as np_str_obj_array_pattern
from .._collate import (
    collate,
    collate_float_fn,
    collate_int_fn,
    collate_numpy_array_fn,
    collate_numpy_scalar_fn,
    collate_str_fn,
    collate_tensor_fn,
    default_collate,
    default_collate_fn_map,
    default_convert,
    know_numpy,
)

__all__ = [
    "collate", "collate_float_fn", "collate_int_fn", "collate_numpy_array_fn", "collate_numpy_scalar_fn",
    "collate_str_fn", "collate_tensor_fn", "default_collate", "default_collate_fn_map", "default_convert",
    "np_str_obj_array_pattern",
]  # fmt: skip

know_numpy()  # who reads or copies the map sees all of it

del annotations, know_numpy
