"""Tests over devices and dtypes (``strided.testing._internal.common_device_type``)."""

from __future__ import annotations

import inspect
import sys
import unittest
from collections.abc import Callable, Iterable
from typing import Any

from .common_utils import TEST_CUDA, bound, cases_of

__all__ = [
    "dtypes", "dtypesIfCPU", "dtypesIfCUDA", "instantiate_device_type_tests", "onlyCPU", "onlyCUDA",
    "onlyNativeDeviceTypes", "skipCPUIf", "skipCUDAIf",
]  # fmt: skip


class dtypes:
    """A test for each of some dtypes, its argument after the device (several of them: one argument, a tuple)."""

    device: str | None = None

    def __init__(self, *args: Any) -> None:
        self.given = args

    def __call__(self, fn: Any) -> Any:
        fn._dtypes = {**getattr(fn, "_dtypes", {}), self.device: self.given}
        return fn


class dtypesIfCPU(dtypes):
    """Other dtypes on the CPU."""

    device = "cpu"


class dtypesIfCUDA(dtypes):
    """Other dtypes on CUDA devices."""

    device = "cuda"


def _only(*devices: str) -> Callable[[Any], Any]:
    def mark(fn: Any) -> Any:
        fn._devices = devices
        return fn

    return mark


onlyCPU, onlyCUDA, onlyNativeDeviceTypes = _only("cpu"), _only("cuda"), _only("cpu", "cuda")


def skipCPUIf(dep: Any, reason: str) -> Any:
    """Leaves a test out on the CPU if the condition holds."""
    return _skipped("cpu", dep, reason)


def skipCUDAIf(dep: Any, reason: str) -> Any:
    """Leaves a test out on CUDA devices if the condition holds."""
    return _skipped("cuda", dep, reason)


def _skipped(device: str, condition: Any, reason: str) -> Any:
    def mark(fn: Any) -> Any:
        if condition:
            fn._skipped = {**getattr(fn, "_skipped", {}), device: reason}
        return fn

    return mark


def _names(value: Any) -> Iterable[str] | None:
    return value if value is None or not isinstance(value, str) else (value,)


def instantiate_device_type_tests(
    generic_test_class: Any, scope: dict[str, Any], except_for: Any = None, only_for: Any = None, **options: Any
) -> None:
    """Puts a class of tests into a module for each type of device, ``TestXCPU`` for ``TestX``, in the place of it.

    Args:
        scope: ``globals()`` of the module.
        except_for, only_for: types of devices: 'cpu', 'cuda'.

    The tests take the device as a text after self, and after it what ``dtypes`` and ``parametrize`` give.
    """
    name = generic_test_class.__name__
    scope.pop(name, None)
    module = sys.modules.get(generic_test_class.__module__)
    if module is not None and vars(module) is not scope:
        vars(module).pop(name, None)
    only, without = _names(only_for), _names(except_for) or ()
    for device in ("cpu", "cuda"):
        if device in without or (only is not None and device not in only) or (device == "cuda" and not TEST_CUDA):
            continue
        tests: dict[str, Any] = {"device_type": device, "__module__": generic_test_class.__module__, "__test__": True}
        for key, fn in vars(generic_test_class).items():
            if key.startswith("test") and callable(fn):
                tests[key] = None  # hides the one without a device
                if device in getattr(fn, "_devices", (device,)):
                    tests.update(_instances(key, fn, device))
        scope[name + device.upper()] = type(name + device.upper(), (generic_test_class,), tests)


def _instances(name: str, fn: Any, device: str) -> dict[str, Any]:
    place = device if device == "cpu" else f"{device}:0"
    given = getattr(fn, "_dtypes", {})
    kinds = given.get(device, given.get(None))
    found = {}
    for end, arguments, decorators in cases_of(fn):
        for kind in (None,) if kinds is None else kinds:
            values = {"device": place, **arguments}
            text = f"{name}{end}_{device}"
            if kind is not None:
                several = isinstance(kind, (tuple, list))
                values["dtypes" if several and _takes(fn, "dtypes") else "dtype"] = kind
                text += "".join("_" + str(one).rpartition(".")[2] for one in (kind if several else (kind,)))
            test = bound(fn, text, values, decorators)
            reason = getattr(fn, "_skipped", {}).get(device)
            found[text] = test if reason is None else unittest.skip(reason)(test)
    return found


def _takes(fn: Any, name: str) -> bool:
    return name in inspect.signature(fn).parameters
