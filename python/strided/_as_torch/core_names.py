"""Names of PyTorch's compiled module that libraries ask for: what they are here, or that there is no such object."""

from __future__ import annotations

import sys
from typing import Any

from .. import _C
from . import dispatch_keys

_HERE = __package__.partition(".")[0]


class Absent(type):
    """The type of classes without objects: they exist for ``isinstance`` and annotations."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{cls.__name__}: strided has no such objects")


def absent(name: str, module: str) -> type:
    """A class without objects."""
    return Absent(name, (), {"__module__": module, "__doc__": "No object is one: for ``isinstance``."})


class _OfStorages(type):
    """The type of a class whose objects are the untyped storages."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, _C.UntypedStorage)

    def __subclasscheck__(cls, kind: type) -> bool:
        return cls is kind or issubclass(kind, _C.UntypedStorage)


class StorageBase(metaclass=_OfStorages):
    """What ``UntypedStorage`` is derived from in PyTorch, for ``isinstance``: untyped storages are objects of it."""


class PyTorchFileReader(metaclass=Absent):
    """PyTorch's reader of the archives that ``save`` writes; ``strided.load`` reads them."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""


def _is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def _log_api_usage_once(event: str) -> None:
    """Nothing: there is no log."""


def _is_alias_of(x: _C.Tensor, y: _C.Tensor) -> bool:
    """Whether both tensors lie in one storage."""
    return x.untyped_storage()._cdata == y.untyped_storage()._cdata


def _are_functorch_transforms_active() -> bool:
    """Is a ``vmap`` running?  (Derivatives of ``strided.func`` leave tensors as they are.)"""
    batched = sys.modules.get(f"{_HERE}.func._batched")
    return batched is not None and bool(batched.running())


class _VariableFunctions:
    """The functions of the package, as attributes."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(sys.modules[_HERE], name, None)
        if found is None or not callable(found):
            raise AttributeError(f"type object 'torch._C._VariableFunctions' has no attribute {name!r}")
        return found


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """What the arguments of ``Module.to`` say: device, dtype, non_blocking, memory_format."""
    from ..nn.modules.module import parse_to

    return parse_to(args, kwargs)


def _mps_is_available() -> bool:
    """False: there are no devices of Apple's Metal.  Tests of libraries put a function of theirs in its place."""
    return False


def _get_default_device() -> str:
    """The type of device that is not named where tensors are printed."""
    return "cpu"


# Functions that torch._C._nn and nn.functional have under one name, called alike.
_OF_NETWORKS = (
    "adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d avg_pool3d elu gelu glu hardsigmoid hardswish hardtanh leaky_relu "
    "linear mish one_hot pad relu6 scaled_dot_product_attention silu softplus softshrink"
).split()


def _show_config() -> str:
    """``strided.__config__.show()``."""
    from ..__config__ import show

    return show()


def _parallel_info() -> str:
    """``strided.__config__.parallel_info()``."""
    from ..__config__ import parallel_info

    return parallel_info()


def _jit_switch(name: str) -> Any:
    """A switch of PyTorch's script compiler: it tells what was set before, and nothing depends on it."""
    state = [True]

    def switch(value: bool) -> bool:
        before, state[0] = state[0], bool(value)
        return before

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = "Remembers the value and returns the one before: there is no compiler of scripts."
    return switch


class _Networks:
    """Functions under the name of a module of the compiled core."""

    _parse_to = staticmethod(_parse_to)

    def __getattr__(self, name: str) -> Any:
        from ..nn import functional
        from ..nn.functional import _interpolate

        if name in _OF_NETWORKS:
            return getattr(functional, name)
        if name in ("adaptive_max_pool2d", "adaptive_max_pool3d"):
            return getattr(functional, f"{name}_with_indices")
        if name in _interpolate.UPSAMPLERS:
            return _interpolate.UPSAMPLERS[name]
        from .. import ops
        from .._dispatch.kernels import KERNELS

        called_alike = name in KERNELS or (name.endswith("_") and ops.network_function(name))
        if called_alike and not hasattr(_C._VariableFunctions, name):
            return getattr(ops.aten, name)
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")


def _apply(backward: Any, tensors: tuple[Any, ...]) -> Any:
    from ..autograd import Function

    class Passed(Function):
        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            return tuple(t.view_as(t) for t in given)

    Passed.backward = staticmethod(backward)
    made = Passed.apply(*tensors)
    return made[0] if len(tensors) == 1 else made


class _UndefinedGrad:
    """Tensors as they are, whose gradients go no further: None arrives before this place."""

    def __call__(self, *tensors: Any) -> Any:
        return _apply(lambda ctx, *grads: (None,) * len(grads), tensors)


class _DelayedError:
    """Tensors as they are; a backward pass that comes by raises RuntimeError.

    Args:
        msg: its text. num_inputs: how many tensors.
    """

    def __init__(self, msg: str, num_inputs: int) -> None:
        self._text = msg

    def __call__(self, *tensors: Any) -> Any:
        def backward(ctx: Any, *grads: Any) -> Any:
            raise RuntimeError(self._text)

        return _apply(backward, tensors)


class _Functions:
    """Classes of nodes that programs know by name."""

    UndefinedGrad, DelayedError = _UndefinedGrad, _DelayedError

    def __getattr__(self, name: str) -> Any:
        if name != "AccumulateGrad":
            raise AttributeError(f"module 'torch._C._functions' has no attribute {name!r}")
        from ..autograd import enable_grad

        with enable_grad():
            leaf = _C.functions["empty"](0, requires_grad=True)
            self.AccumulateGrad = type(leaf.view_as(leaf).grad_fn.next_functions[0][0])
        return self.AccumulateGrad


def _current_graph_task_id() -> int:
    """The number of the backward pass that runs on this thread; -1 outside of one."""
    return _C.functions["_pass_number"]() - 1


def _current_autograd_node() -> Any:
    """The node that this pass has come to, or None."""
    return _C.functions["_current_node"]()


def _get_accelerator(check: bool | None = None) -> _C.device:
    """The device of ``accelerator.current_accelerator``, or the CPU.

    Args:
        check: whether there has to be a device.
    """
    from ..accelerator import current_accelerator

    return current_accelerator(bool(check)) or _C.device("cpu")


def _module(name: str) -> Any:
    """``torch._C._functorch``: a module of the compiled module is imported when it is first asked for. Bases of
    PyTorch's classes are found as well."""
    import importlib.util

    if name in ("TensorBase", "StorageBase"):
        return _C.Tensor if name == "TensorBase" else StorageBase
    whole = f"{_C.__name__}.{name}"
    if name.startswith("__") or importlib.util.find_spec(whole) is None:
        raise AttributeError(f"module '{_C.__name__}' has no attribute '{name}'")
    return importlib.import_module(whole)


def install() -> None:
    """Puts the names into the compiled module."""
    for function in (
        _get_tracing_state,
        _is_tracing,
        _log_api_usage_once,
        _is_alias_of,
        _are_functorch_transforms_active,
        _mps_is_available,
        _get_default_device,
        _get_accelerator,
        _current_graph_task_id,
        _current_autograd_node,
        _show_config,
        _parallel_info,
        *map(_jit_switch, ("_jit_set_profiling_executor", "_jit_set_profiling_mode")),
    ):
        setattr(_C, function.__name__, function)
    _C.__getattr__ = _module  # type: ignore[method-assign]
    for name in ("Graph", "Value", "ScriptFunction", "ScriptMethod"):
        setattr(_C, name, absent(name, f"{_HERE}._C"))
    for name in ("DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard", "_AutoDispatchBelowAutograd", "Tag"):
        setattr(_C, name, getattr(dispatch_keys, name))
    for name in ("is_grad_enabled", "is_inference_mode_enabled", "_set_grad_enabled"):
        setattr(_C, name, _C.functions[name])
    _C._functions = _Functions()
    _C._TensorBase, _C._TensorMeta = _C.Tensor, type(_C.Tensor)
    _C._VariableFunctions, _C._nn = _VariableFunctions(), _Networks()
