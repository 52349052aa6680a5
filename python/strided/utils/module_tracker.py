"""Which modules run at a moment (``strided.utils.module_tracker``)."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import strided

from ..nn.modules._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

if TYPE_CHECKING:
    from .._typing import Any

__all__ = ["ModuleTracker"]


def _differentiated(tree):
    return [t for t in tree_leaves(tree) if isinstance(t, strided.Tensor) and t.requires_grad]


def _quiet(f):
    return lambda grad: f()


class ModuleTracker:
    """Knows, inside ``with``, the names of the modules that run, forwards and backwards: ``parents``.

    The outermost module has the name of its class; those inside it are ``Net.layer.0``.  "Global" is always there.
    In a backward pass a module ends with the gradients of its arguments; one whose arguments need none stays until it
    runs again, or until the end of the context.

    >>> tracker = strided.utils.module_tracker.ModuleTracker()
    >>> net = strided.nn.Sequential(strided.nn.ReLU())
    >>> _ = net[0].register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
    >>> with tracker:
    ...     _ = net(strided.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._inside: set[str] = set()  # of the backward pass
        self._hooks: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether a module runs in a backward pass."""
        return bool(self._inside)

    def _get_mod_name(self, mod):
        if mod not in self._names:
            own = self._names.setdefault(mod, type(mod).__name__)
            for name, child in mod.named_children():
                self._name_below(child, f"{own}.{name}")
        return self._names[mod]

    def _name_below(self, module, name):
        if module not in self._names:
            self._names[module] = name
            for child, inner in module.named_children():
                self._name_below(inner, f"{name}.{child}")

    # Classes derived in other packages replace these methods, which have PyTorch's names for that reason.

    def _maybe_set_engine_callback(self):
        """Nothing: what a backward pass leaves open ends with the context."""

    def _get_append_fn(self, mod, name, is_bw):
        def begins(*args):
            if is_bw:
                self._inside.add(name)
            self.parents.add(name)

        return begins

    def _get_pop_fn(self, mod, name, is_bw):
        def ends(*args):
            self._inside.discard(name)
            self.parents.discard(name)

        return ends

    def _fw_pre_hook(self, mod, input):
        name = self._get_mod_name(mod)
        self._get_append_fn(mod, name, False)()
        self._hooks += [t.register_hook(_quiet(self._get_pop_fn(mod, name, True))) for t in _differentiated(input)]

    def _fw_post_hook(self, mod, input, output):
        name = self._get_mod_name(mod)
        self._get_pop_fn(mod, name, False)()
        self._hooks += [t.register_hook(_quiet(self._get_append_fn(mod, name, True))) for t in _differentiated(output)]

    def __enter__(self) -> ModuleTracker:
        self._module_hooks = [
            register_module_forward_pre_hook(self._fw_pre_hook),
            register_module_forward_hook(self._fw_post_hook),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        for hook in (*self._module_hooks, *self._hooks):
            hook.remove()
        self._hooks.clear()
        self.parents, self._inside = {"Global"}, set()
