"""Hooks of one module: how they are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from ..._typing import Callable


class HookRegistration:
    """The part of Module that takes hooks."""

    _forward_hooks: dict[int, Any]

    @staticmethod
    def _register(hooks, hook, *flags, prepend=False):
        handle = RemovableHandle(hooks, extra_dict=list(flags))
        hooks[handle.id] = hook
        for flag in flags:
            flag[handle.id] = True
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(module, args)`` before forward; what it returns, if not None, takes the place of args."""
        flags = [self._forward_pre_hooks_with_kwargs] * bool(with_kwargs)
        return self._register(self._forward_pre_hooks, hook, *flags, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls ``hook(module, args, output)`` after forward; what it returns, if not None, is the output."""
        flags = [self._forward_hooks_with_kwargs] * bool(with_kwargs)
        flags += [self._forward_hooks_always_called] * bool(always_call)
        return self._register(self._forward_hooks, hook, *flags, prepend=prepend)

    def _backward_kind(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls hook with the gradients of the last operation of forward; register_full_backward_hook serves better."""
        self._backward_kind(False)
        return self._register(self._backward_hooks, hook)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_output)`` before the gradients of the module are computed."""
        return self._register(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are computed; what
        it returns, if not None, takes the place of grad_input."""
        self._backward_kind(True)
        return self._register(self._backward_hooks, hook, prepend=prepend)
