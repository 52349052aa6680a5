"""Modules that are computed again in the backward pass instead of keeping what they made (``utils.checkpoint``)."""

from __future__ import annotations

import enum
from functools import partial
from typing import TYPE_CHECKING

from ....autograd.graph import save_on_cpu
from ....nn import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import lambda_auto_wrap_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...._typing import Any

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_PREFIX = "_checkpoint_wrapped_module."


class CheckpointImpl(enum.Enum):
    """Which of the two ways of ``utils.checkpoint``: ``use_reentrant`` True or False."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """A module around another one, which has the other's attributes and names of parameters."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.register_state_dict_post_hook(self._without_prefix)
        self.register_load_state_dict_pre_hook(self._with_prefix)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Of the classes derived from this one."""
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Those of the module inside, under their names there."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter

    @staticmethod
    def _without_prefix(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        _rename(state_dict, prefix + _PREFIX, prefix)

    @staticmethod
    def _with_prefix(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        _rename(state_dict, prefix, prefix + _PREFIX)


def _rename(state: dict[str, Any], old: str, new: str) -> None:
    """Keys that begin with `old` begin with `new`."""
    for key in list(state):
        if key.startswith(old) and not (new.startswith(old) and key.startswith(new)):
            state[new + key[len(old) :]] = state.pop(key)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors wait for the backward pass on the CPU."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's, with ``autograd.graph.save_on_cpu``."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that is called through ``utils.checkpoint``."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = checkpoint
            checkpoint_fn_kwargs["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's, computed again in the backward pass."""
        if self.checkpoint_impl is CheckpointImpl.NO_REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        names = list(kwargs)  # that way of checkpoint takes no keywords

        def call(*values: Any) -> Any:
            n = len(values) - len(names)
            return self._checkpoint_wrapped_module(*values[:n], **dict(zip(names, values[n:])))

        return self.checkpoint_fn(call, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """The module in an ``OffloadWrapper``."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """The module in a ``CheckpointWrapper``: it keeps its inputs only, and is computed again for the backward pass.

    >>> layer = checkpoint_wrapper(strided.nn.Linear(2, 1))
    >>> [name for name, _ in layer.named_parameters()]
    ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., Any] | None = None,
) -> None:
    """Puts submodules of the model into wrappers, in place: those for which check_fn, or a policy of
    ``distributed.fsdp.wrap``, is true. A module inside a wrapped one may be wrapped too; the model itself is not."""
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)

    def visit(module: Module, numel: int) -> int:
        """Elements of the parameters that are inside of wrappers now."""
        if not policy(module=module, recurse=True, nonwrapped_numel=numel):
            return 0
        wrapped = 0
        for name, child in list(module.named_children()):
            inside = sum(p.numel() for p in child.parameters())
            done = visit(child, inside)
            if policy(module=child, recurse=False, nonwrapped_numel=inside - done):
                setattr(module, name, checkpoint_wrapper_fn(child))
                done = inside
            wrapped += done
        return wrapped

    visit(model, sum(p.numel() for p in model.parameters()))
