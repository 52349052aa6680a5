"""Parameters that are computed from others (``strided.nn.utils.parametrize``).

A parametrised tensor is a property of its module: reading it runs a chain of modules over the original tensors, which
are parameters of ``module.parametrizations.<name>``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import strided

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

if TYPE_CHECKING:
    from ..._typing import Any, Iterator, Tensor

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_caching = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within it, each parametrised tensor is computed once."""
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cache.clear()


def _register(module, name, value):
    """As a parameter if it is one, else as a buffer."""
    (module.register_parameter if isinstance(value, Parameter) else module.register_buffer)(name, value)


def _as_own(new, original):
    """A tensor as a parameter if the one whose place it takes is one."""
    return Parameter(new, original.requires_grad) if isinstance(original, Parameter) else new


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first applied first, and the tensors they begin with: ``original``, or
    ``original0``, ``original1``, ..."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Any, original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with strided.no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, strided.Tensor) and not isinstance(new, (list, tuple)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, strided.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            with strided.no_grad():
                original.data = new
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, strided.Tensor):
                    raise ValueError(
                        f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element {i} of the sequence with type {type(part).__name__}."
                    )
                _register(self, f"original{i}", _as_own(part, original))
        if not unsafe:
            made = self()
            if not isinstance(made, strided.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            for what, now, before in (("dtype", made.dtype, dtype), ("shape", made.shape, shape)):
                if now != before:
                    raise ValueError(
                        f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\nunparametrized {what}: {before}\nparametrized {what}: {now}"
                    )

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def _check_originals(self, new):
        """Errors for what is not of the kind that the tensors it would replace are of."""
        if self.is_tensor and not isinstance(new, strided.Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
        if not self.is_tensor and not isinstance(new, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
        if not self.is_tensor and len(new) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(new)}."
            )
        for i, (own, part) in enumerate(zip(self._originals(), [new] if self.is_tensor else new)):
            if not isinstance(part, strided.Tensor):
                raise ValueError(
                    f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(part).__name__}"
                )
            if own.dtype != part.dtype:
                name = "original" if self.is_tensor else f"original{i}"
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {part.dtype} while `{name}` has dtype {own.dtype}"
                    if self.is_tensor
                    else f"Tensor {i} returned by `right_inverse` has dtype {part.dtype} while `{name}` has dtype {own.dtype}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Sets the original tensors so that the parametrised one becomes `value`."""
        with strided.no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            self._check_originals(new)
            new = [new] if self.is_tensor else list(new)
            for own, part in zip(self._originals(), new):
                own.data = part

    def forward(self) -> Tensor:
        modules = list(self)
        made = modules[0](*self._originals())
        for module in modules[1:]:
            made = module(made)
        return made


def _property(name):
    def get(self):
        if not _caching:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    return property(get, lambda self, value: self.parametrizations[name].right_inverse(value))


def _deepcopy(self, memo):
    if id(self) not in memo:
        made = self.__new__(self.__class__)
        memo[id(self)] = made
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
    return memo[id(self)]


def _parametrised_class(module):
    """A class of the module's own, for the properties."""
    base = type(module)

    def refuse(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\nhttps://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members = {"__getstate__": refuse}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _check_same(now, made, text):
    """ValueError unless `made` has the dtype and shape of `now`. `text` has places for {what}, {now} and {made}."""
    for what in ("dtype", "shape"):
        if getattr(made, what) != getattr(now, what):
            raise ValueError(text.format(what=what, now=getattr(now, what), made=getattr(made, what)))


def _check_further(module, name, parametrization):
    """Errors unless a parametrization after others, and its right_inverse, keep dtype and shape of the tensor."""
    now = getattr(module, name)
    made = parametrization(now)
    if not isinstance(made, strided.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    place = f"module.{name}.{{what}}: {{now}}\n"
    _check_same(
        now,
        made,
        "Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is enabled.\n"
        f"{place}parametrization(module.{name}).{{what}}: {{made}}",
    )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(made)
    except NotImplementedError:
        return
    if not isinstance(back, strided.Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    _check_same(
        now,
        back,
        f"The tensor returned by parametrization.right_inverse must have the same {{what}} as module.{name}, "
        f"unless the `unsafe` flag is enabled.\n{place}returned {{what}}: {{made}}",
    )


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Has a parameter or buffer of a module computed by another module, from what is kept instead of it.

    Args:
        parametrization: its forward gives the tensor; its right_inverse, if it has one, what is to be kept.
        unsafe: True: dtype and shape may change.

    Returns the module.

    >>> class Symmetric(strided.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> m = strided.nn.utils.parametrize.register_parametrization(strided.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((m.weight == m.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        found = module.parametrizations[tensor_name]
        found.append(parametrization)  # what is kept stays: the tensor becomes another one
        found.unsafe |= unsafe
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _parametrised_class(module)
            module.parametrizations = ModuleDict()
        setattr(module.__class__, tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrised tensors, or one of this name."""
    found = getattr(module, "__dict__", {}).get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a parametrised tensor an ordinary one again, with its value or the original (leave_parametrized=False).

    Returns the module.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with strided.no_grad():
                original.data = getattr(module, tensor_name)
    elif leave_parametrized:
        original = _as_own(getattr(module, tensor_name).detach(), found.original0)
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class a module had before it got parametrised tensors."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives a module the parametrizations of another one, and the tensors they begin with."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, parametrization)
        mine = to_module.parametrizations[name]
        for i, original in enumerate(from_module.parametrizations[name]._originals()):
            setattr(mine, "original" if mine.is_tensor else f"original{i}", original)
    return to_module
