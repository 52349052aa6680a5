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

    @property
    def is_bw(self) -> bool:
        """Whether a module runs in a backward pass."""
        return bool(self._inside)

    def _name(self, module):
        if module not in self._names:
            own = self._names.setdefault(module, type(module).__name__)
            for name, child in module.named_children():
                self._name_below(child, f"{own}.{name}")
        return self._names[module]

    def _name_below(self, module, name):
        if module not in self._names:
            self._names[module] = name
            for child, inner in module.named_children():
                self._name_below(inner, f"{name}.{child}")

    def _begins(self, module, args):
        name = self._name(module)
        self.parents.add(name)
        for t in _differentiated(args):
            t.register_hook(lambda grad: self._backward_ends(name))

    def _ends(self, module, args, output):
        name = self._name(module)
        self._backward_ends(name)
        for t in _differentiated(output):
            t.register_hook(lambda grad: self._backward_begins(name))

    def _backward_begins(self, name):
        self._inside.add(name)
        self.parents.add(name)

    def _backward_ends(self, name):
        self._inside.discard(name)
        self.parents.discard(name)

    def __enter__(self) -> ModuleTracker:
        self._hooks = [register_module_forward_pre_hook(self._begins), register_module_forward_hook(self._ends)]
        return self

    def __exit__(self, *exc: object) -> None:
        for hook in self._hooks:
            hook.remove()
        self.parents, self._inside = {"Global"}, set()
