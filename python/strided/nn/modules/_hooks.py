"""Hooks of modules: which there are, and the call of a module that has some."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING

from ... import _C
from ...autograd import Function
from ...utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from ..._typing import Any, Callable

# Hooks of all modules, by kind.
everywhere: dict[str, OrderedDict[int, Any]] = {
    kind: OrderedDict() for kind in ("forward_pre", "forward", "backward_pre", "backward")
}
always_everywhere: OrderedDict[int, bool] = OrderedDict()
kwargs_everywhere: OrderedDict[int, bool] = OrderedDict()
_full_everywhere: bool | None = None  # what the hooks of everywhere["backward"] are; None before the first one
# Hooks that see what becomes part of a module, by kind.
parts: dict[str, OrderedDict[int, Any]] = {kind: OrderedDict() for kind in ("parameter", "buffer", "module")}


def _register(hooks, hook):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, args)`` before the forward of every module."""
    return _register(everywhere["forward_pre"], hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls ``hook(module, args, output)`` after the forward of every module."""
    handle = RemovableHandle(everywhere["forward"], extra_dict=[always_everywhere, kwargs_everywhere])
    everywhere["forward"][handle.id] = hook
    if with_kwargs:
        kwargs_everywhere[handle.id] = True
    if always_call:
        always_everywhere[handle.id] = True
    return handle


def _backward_kind(full):
    global _full_everywhere
    if _full_everywhere is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    _full_everywhere = full


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook with the gradients of the last operation of every module; register_module_full_backward_hook serves
    better."""
    _backward_kind(False)
    return _register(everywhere["backward"], hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_output)`` before the gradients of every module are computed."""
    return _register(everywhere["backward_pre"], hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` after the gradients of every module are computed."""
    _backward_kind(True)
    return _register(everywhere["backward"], hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, param)`` when any module gets a parameter; what it returns, if not None, is stored."""
    return _register(parts["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, buffer)`` when any module gets a buffer; what it returns, if not None, is stored."""
    return _register(parts["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, submodule)`` when any gets one below; what it returns, if not None, is stored."""
    return _register(parts["module"], hook)


def replaced_part(kind: str, module: Any, name: str, value: Any) -> Any:
    """A part of a module, after the hooks of its kind."""
    for hook in parts[kind].values():
        made = hook(module, name, value)
        if made is not None:
            value = made
    return value


# ---------------------------------------------------------------- the backward pass through a module


class BackwardHookFunction(Function):
    """The tensors themselves; their gradients go through a function, which may replace them. (Errors name it.)"""

    _takes_batches = True  # and so do hooks of modules

    @staticmethod
    def forward(ctx, function, zeros, *tensors):
        ctx.set_materialize_grads(zeros)
        ctx.function = function
        made = tuple(t.view_as(t) for t in tensors)
        ctx.mark_non_differentiable(*(m for m, t in zip(made, tensors) if not t.requires_grad))
        return made

    @staticmethod
    def backward(ctx, *grads):
        return (None, None, *ctx.function(grads))


def _tapped(function, value, zeros):
    """A tensor, or a tuple with the tensors in it, tapped; and whether there was one to tap.

    The function gets zeros, or None, for the tensors that no gradient comes to.
    """
    items = [value] if isinstance(value, _C.Tensor) else list(value)
    places = [i for i, t in enumerate(items) if isinstance(t, _C.Tensor)]
    if not any(items[i].requires_grad for i in places) or not _C.functions["is_grad_enabled"]():
        return value, False
    count = len(items)

    def spread(grads):
        full = [None] * count
        for i, g in zip(places, grads):
            full[i] = g
        made = function(tuple(full))
        return [made[i] for i in places]

    for i, t in zip(places, BackwardHookFunction.apply(spread, zeros, *(items[i] for i in places))):
        items[i] = t
    if isinstance(value, _C.Tensor):
        return items[0], True
    return (type(value)(*items) if hasattr(value, "_fields") else type(value)(items)), True


def _replaced(old, new):
    """The gradients a hook gave, as a tuple of the same length; the old ones for None."""
    if new is None:
        return old
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(old):
        raise RuntimeError(
            f"Backward hook returned an invalid number of grad_input, got {len(new)}, but expected {len(old)}"
        )
    return new


class BackwardHooks:
    """Full backward hooks during one call of a module."""

    def __init__(self, module: Any, pre: Any, post: Any) -> None:
        self.module, self.pre, self.post = module, pre, post
        self.grad_outputs, self.inputs, self.count = None, False, 0

    def tap_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.count = len(args)
        args, self.inputs = _tapped(self._at_inputs, args, True)
        return args

    def tap_outputs(self, result: Any) -> Any:
        if not isinstance(result, (_C.Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=5,
            )
            return result
        return _tapped(self._at_outputs, result, False)[0]

    def _at_outputs(self, grads):
        for hook in self.pre:
            made = hook(self.module, grads)
            grads = _replaced(grads, made)
        self.grad_outputs = grads
        if not self.inputs:
            for hook in self.post:
                made = hook(self.module, (None,) * self.count, grads)
                if made is not None and not (isinstance(made, tuple) and all(g is None for g in made)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                    )
        return grads

    def _at_inputs(self, grads):
        if self.grad_outputs is None:  # not through the outputs: a derivative of the backward pass leads here
            return grads
        for hook in self.post:
            grads = _replaced(grads, hook(self.module, grads, self.grad_outputs))
        self.grad_outputs = None
        return grads


def _all_tensors(values):
    return isinstance(values, tuple) and all(isinstance(v, _C.Tensor) for v in values)


def _missed_by_legacy(inputs, result, node):
    """(where, what) of the gradients that a hook of one node does not see, or None."""
    outputs = (result,) if isinstance(result, _C.Tensor) else result
    if not _all_tensors(outputs):
        return (
            "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors",
            "of the grad_output",
        )
    if not _all_tensors(inputs):
        return (
            "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors",
            "of the grad_input",
        )
    if len({y.grad_fn for y in outputs} - {None}) > 1:
        return "a non-full backward hook when outputs are generated by different autograd Nodes", "grad_output"
    if {x.grad_fn for x in inputs} - {None} != {n for n, _ in node.next_functions}:
        return "a non-full backward hook when the forward contains multiple autograd Nodes", "grad_input"
    return None


def _legacy(module, hooks, inputs, result):
    """Hooks of register_backward_hook: they see the gradients of the last operation of the module only."""
    found = result
    while not isinstance(found, _C.Tensor):
        if not found:
            return
        found = (
            next((v for v in found.values() if isinstance(v, _C.Tensor)), None) if isinstance(found, dict) else found[0]
        )
    if found is not None and found.grad_fn is not None:
        for hook in hooks:
            found.grad_fn.register_hook(lambda gi, go, hook=hook: hook(module, gi, go))
        missed = _missed_by_legacy(inputs, result, found.grad_fn)
        if missed is not None:
            warnings.warn(
                f"Using {missed[0]} is deprecated and will be removed in future versions. This hook will "
                f"be missing some {missed[1]}. Please use register_full_backward_hook to get the documented behavior.",
                FutureWarning,
                stacklevel=5,
            )


# ---------------------------------------------------------------- the call


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The forward of a module, and all hooks around it."""
    called: set[int] = set()
    try:
        return _run(module, args, kwargs, called)
    except Exception as error:
        # always_call: these hooks run after a failure too. What they raise is only told.
        for found, always, with_kwargs in (
            (everywhere["forward"], always_everywhere, kwargs_everywhere),
            (module._forward_hooks, module._forward_hooks_always_called, module._forward_hooks_with_kwargs),
        ):
            for key, hook in list(found.items()):
                if key in always and key not in called:
                    try:
                        hook(module, args, kwargs, None) if key in with_kwargs else hook(module, args, None)
                    except Exception as e:
                        warnings.warn(
                            f"module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in forward: {e}",
                            stacklevel=3,
                        )
        if "_scripted" in module.__dict__:
            from ...jit import _as_error

            seen = _as_error(error)
            if seen is not error:
                raise seen from error
        raise


def _run(module, args, kwargs, called):
    for key, hook in [*everywhere["forward_pre"].items(), *module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            made = hook(module, args, kwargs)
            if made is not None:
                if not (isinstance(made, tuple) and len(made) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {made}."
                    )
                args, kwargs = made
        else:
            made = hook(module, args)
            if made is not None:
                args = made if isinstance(made, tuple) else (made,)

    pre = [*everywhere["backward_pre"].values(), *module._backward_pre_hooks.values()]
    own = list(module._backward_hooks.values())
    post = [*everywhere["backward"].values()] if _full_everywhere else []
    last = [*everywhere["backward"].values()] if _full_everywhere is False else []
    (last if module._is_full_backward_hook is False else post).extend(own)
    taps = BackwardHooks(module, pre, post) if pre or post else None
    if taps:
        args = taps.tap_inputs(args)
    result = module.forward(*args, **kwargs)
    for found, with_kwargs in (
        (everywhere["forward"], kwargs_everywhere),
        (module._forward_hooks, module._forward_hooks_with_kwargs),
    ):
        for key, hook in list(found.items()):
            called.add(key)
            made = hook(module, args, kwargs, result) if key in with_kwargs else hook(module, args, result)
            if made is not None:
                result = made
    if taps:
        result = taps.tap_outputs(result)
    if last:
        _legacy(module, last, args, result)
    return result
