"""How ``Module.to`` and its like convert parameters (``strided.__future__``).

>>> net = strided.nn.Linear(1, 1)
>>> before = net.weight
>>> strided.__future__.set_overwrite_module_params_on_conversion(True)
>>> net.double().weight is before
False
>>> strided.__future__.set_overwrite_module_params_on_conversion(False)
"""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]  # fmt: skip

_overwrite = _swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions put new parameters into a module, instead of new memory into those that it has."""
    global _overwrite
    _overwrite = value
    _tell()


def get_overwrite_module_params_on_conversion() -> bool:
    """Do conversions put new parameters into a module?  At first not."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions exchange parameters with what they become, by ``utils.swap_tensors``.

    The objects stay those that an optimizer has. It goes before overwriting.
    """
    global _swap
    _swap = value
    _tell()


def get_swap_module_params_on_conversion() -> bool:
    """Do conversions exchange parameters with what they become?  At first not."""
    return _swap


def _tell() -> None:
    from .nn.modules import module

    module._conversion = "swap" if _swap else "overwrite" if _overwrite else None
