"""Which submodules a wrapper goes around (``strided.distributed.fsdp.wrap``): PyTorch's policies, and ``wrap``.

A policy is called while a tree of modules is walked. With recurse=True it says whether to go on to the children, else
whether to wrap this module.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from ...nn import Module, ModuleDict, ModuleList, MultiheadAttention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..._typing import Any

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """True: every module is wrapped."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Modules for which ``lambda_fn(module)`` is true."""
    return True if recurse else lambda_fn(module)


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: Iterable[type[Module]]
) -> bool:
    return True if recurse else isinstance(module, tuple(module_classes))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Modules of these classes."""
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    """Modules that one of the policies wants."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Modules with at least min_num_params elements in parameters that nothing inside has wrapped.

    Args:
        force_leaf_modules: classes whose children are left alone. exclude_wrap_modules: classes that are not wrapped.
    """
    own = size_based_auto_wrap_policy
    leaves = own.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = own.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}


class ModuleWrapPolicy:
    """Modules of these classes.

    >>> policy = ModuleWrapPolicy({strided.nn.Linear})
    >>> policy(strided.nn.Linear(1, 1), recurse=False, nonwrapped_numel=2)
    True
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy:
    """Modules for which ``lambda_fn(module)`` is True, or a dict of further arguments of the wrapper."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool | dict[str, Any]:
        return True if recurse else self._lambda_fn(module)


class _Active(threading.local):
    wrapper: tuple[Callable[..., Module], dict[str, Any]] | None = None


_active = _Active()


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Callable[..., Module], **wrapper_kwargs: Any) -> Iterator[None]:
    """While this context is open, ``wrap(module)`` is ``wrapper_cls(module, **wrapper_kwargs)``."""
    before, _active.wrapper = _active.wrapper, (wrapper_cls, wrapper_kwargs)
    try:
        yield
    finally:
        _active.wrapper = before


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module in the wrapper of the context ``enable_wrap``; the module itself outside of it."""
    if _active.wrapper is None:
        return module
    wrapper, options = _active.wrapper
    return wrapper(module, **{**options, **wrap_overrides})


def wrap_by_policy(
    root: Module,
    policy: Callable[..., bool | dict[str, Any]],
    wrapper: Callable[..., Module],
    options: dict[str, Any],
    ignored: set[Module],
    ignored_parameters: set[int],
) -> int:
    """Puts wrappers around modules inside of root, in place, from the innermost on; how many elements they hold.

    Args:
        policy: says which: see above. A dict of it goes over the options.
        options: arguments of the wrapper.
        ignored: modules that stay as they are; ignored_parameters: ids of parameters that do not count.
    """
    if not callable(policy):
        raise TypeError(f"auto_wrap_policy is a function or a policy, got {type(policy).__name__}")
    made: dict[Module, Module] = {}

    def inside(module: Module, held: int) -> int:
        """Wraps what is in a module; how many elements its parameters have that are in wrappers then."""
        if not policy(module=module, recurse=True, nonwrapped_numel=held):
            return 0
        done = 0
        for name, child in list(module._modules.items()):  # also a second name of a module
            if child is None or child in ignored:
                continue
            if child not in made:
                own = _elements(child, ignored_parameters)
                below = inside(child, own)
                wanted = policy(module=child, recurse=False, nonwrapped_numel=own - below)
                if wanted:
                    made[child] = wrapper(child, **{**options, **(wanted if isinstance(wanted, dict) else {})})
                    below = own
                else:
                    made[child] = child
                done += below
            if made[child] is not child:
                setattr(module, name, made[child])
        return done

    return inside(root, _elements(root, ignored_parameters))


def _elements(module: Module, ignored: set[int]) -> int:
    return sum(p.numel() for p in module.parameters() if id(p) not in ignored)


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Any],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """Wraps the modules inside of `module` that the policy names, those inside first, and `module` itself.

    Args:
        auto_wrap_policy: called as the functions here, with the elements that are not wrapped yet.
        wrapper_cls: makes the wrapper of a module, with `kwargs`.
        ignored_modules: they are not looked into. ignored_params: they do not count.
        only_wrap_children: `module` itself stays.

    Returns:
        The module or its wrapper, and the number of elements that were wrapped.
    """
    ignored = {id(p) for p in ignored_params}
    count = _elements(module, ignored)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    wrapped = wrap_by_policy(module, auto_wrap_policy, wrapper_cls, kwargs, ignored_modules, ignored)
    rest = count - wrapped
    if only_wrap_children or not auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=rest):
        return module, wrapped
    return wrapper_cls(module, **{**kwargs, **getattr(module, "_wrap_overrides", {})}), count
