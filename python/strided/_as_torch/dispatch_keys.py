"""Keys of PyTorch's dispatcher, as names in sets. strided has no dispatcher: of these keys those of autocast mean
something here, the others can be named and combined."""

from __future__ import annotations

import enum
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_AUTOCAST = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda", "AutocastXPU": "xpu", "AutocastMPS": "mps"}
_NAMES = (
    "Undefined CPU CUDA XLA Meta BackendSelect Python Fake FuncTorchDynamicLayerBackMode Functionalize Conjugate "
    "Negative ZeroTensor ADInplaceOrView AutogradOther AutogradCPU AutogradCUDA AutogradXLA AutogradMeta "
    "AutogradNestedTensor AutogradFunctionality AutocastCPU AutocastCUDA AutocastXPU AutocastMPS FuncTorchBatched "
    "FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper PythonTLSSnapshot FuncTorchDynamicLayerFrontMode "
    "PreDispatch PythonDispatcher SparseCPU SparseCUDA SparseCsrCPU SparseCsrCUDA QuantizedCPU NestedTensorCPU Autograd "
    "CompositeImplicitAutograd CompositeExplicitAutograd"
).split()


class DispatchKey:
    """A key by its name: ``DispatchKey.AutocastCPU``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<DispatchKey.{self.name}>"

    def __str__(self) -> str:
        return f"DispatchKey.{self.name}"


for _name in _NAMES:
    setattr(DispatchKey, _name, DispatchKey(_name))


class DispatchKeySet:
    """A set of keys.

    >>> from strided._as_torch.dispatch_keys import DispatchKey, DispatchKeySet
    >>> (DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.CUDA)).has(DispatchKey.CUDA)
    True
    """

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys: frozenset[DispatchKey] = frozenset(keys)

    @classmethod
    def _of(cls, keys: Iterable[DispatchKey]) -> DispatchKeySet:
        return cls(*keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def has(self, key: DispatchKey) -> bool:
        """Is this key in the set?"""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """The set with one key more."""
        return self._of(self._keys | {key})

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """The set without this key."""
        return self._of(self._keys - {key})

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(k.name for k in self._keys))})"


class _ExcludeDispatchKeyGuard:
    """A context in which these keys do nothing: autocast is off for the devices whose key is among them."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._devices = [_AUTOCAST[k.name] for k in keys._keys if k.name in _AUTOCAST]
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        from ..amp import autocast

        for device in sorted(self._devices):
            context = autocast(device, enabled=False)
            context.__enter__()
            self._entered.append(context)

    def __exit__(self, *error: Any) -> None:
        while self._entered:
            self._entered.pop().__exit__(*error)


_state = threading.local()


class _AutoDispatchBelowAutograd:
    """PyTorch's context for the kernel of the key Autograd: in it an operation of ``strided.library`` goes to the
    kernel of its device."""

    def __enter__(self) -> None:
        self._before = is_below_autograd()
        _state.below = True

    def __exit__(self, *error: object) -> None:
        _state.below = self._before


def is_below_autograd() -> bool:
    """Whether such a context is open in this thread."""
    return getattr(_state, "below", False)


class Tag(enum.IntEnum):
    """What is said of an operation of ``strided.library`` (``tags=``); compilers read it, strided keeps it."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    __str__ = enum.Enum.__str__
    __repr__ = enum.Enum.__repr__
