"""Memory for time (``strided.utils.checkpoint``): what a part of the forward pass would keep is computed again.

The idea is that of T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _C, cuda
from .._functions import random as _random
from ..amp.autocast_mode import _again
from ..autograd import Function, backward, enable_grad, no_grad
from ..autograd.graph import saved_tensors_hooks
from ._pytree import tree_map
from ._selective_checkpoint import (
    SAC_IGNORED_OPS as SAC_IGNORED_OPS,
)
from ._selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from ._selective_checkpoint import (  # libraries derive modes of their own
    _CachedTorchDispatchMode as _CachedTorchDispatchMode,
)
from ._selective_checkpoint import (
    _CachingTorchDispatchMode as _CachingTorchDispatchMode,
)
from ._selective_checkpoint import now as _operation_now

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "SelectiveCheckpointContext", "checkpoint",
    "checkpoint_sequential", "check_backward_validity", "create_selective_checkpoint_contexts", "detach_variable",
    "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
    "set_device_states",
]  # fmt: skip

_early_stop: bool | None = None  # set_checkpoint_early_stop's, over the argument


class _Around(threading.local):
    contexts: tuple[Callable[[], Any], ...] = ()


_around = _Around()


@contextlib.contextmanager
def around_second_runs(context: Callable[[], Any]) -> Iterator[None]:
    """Context: a second run of what is checkpointed in it is made in context().  For modules whose parameters are there
    only while they run."""
    before, _around.contexts = _around.contexts, (*_around.contexts, context)
    try:
        yield
    finally:
        _around.contexts = before


class CheckpointError(RuntimeError):
    """The second run of a function differs from the first."""


class _Enough(Exception):
    """Everything that is needed was computed again."""


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, tensors as leaves of graphs of their own, which need gradients where the tensors did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, _C.Tensor) else x for x in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warns where no tensor among the arguments needs a gradient: none goes through the part then."""
    given = (inputs,) if isinstance(inputs, _C.Tensor) else inputs
    if not any(x.requires_grad for x in given if isinstance(x, _C.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context: checkpoints made in it stop the second run as soon as they have what they need, or do not."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that changes nothing: errors name what differs in any case."""
    yield


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The numbers of the CUDA devices of the tensors among the arguments, and the states of their random generators."""
    devices: list[int] = []
    tree_map(lambda x: devices.append(x.get_device()) if isinstance(x, _C.Tensor) and x.is_cuda else None, args)
    return devices, [cuda.get_rng_state(device) for device in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: str | None = None) -> None:
    """Puts the random generators of these CUDA devices back to the states."""
    for device, state in zip(devices, states):
        cuda.set_rng_state(state, device)


def _kind(t: Any) -> tuple[Any, ...]:
    return tuple(t.shape), t.dtype, t.device


class _Frame:
    """One call: what it takes to make it again, and what the second run saved, by position."""

    def __init__(self, run: Callable[[], Any], context: Any, random: Any, early_stop: bool, check: bool) -> None:
        self.run, self.context, self.random, self.early_stop, self.check = run, context, random, early_stop, check
        self.casts, self.around = _again(), _around.contexts
        self.kinds: list[tuple[Any, ...]] = []  # of what the first run saved
        self.saved: dict[int, Any] = {}
        self.is_complete = False  # the first run has ended; before that a backward pass within it may ask for tensors

    def pack(self, t: Any) -> int:
        self.kinds.append(_kind(t))
        if _operation_now.saved is not None:
            _operation_now.saved.append(t)
        return len(self.kinds) - 1

    def unpack(self, position: int) -> Any:
        if position not in self.saved:
            self.compute_again()
        return self.saved.pop(position)

    def compute_again(self) -> None:
        self.saved.clear()
        count = 0

        def pack(t: Any) -> Any:
            nonlocal count
            if count < len(self.kinds):
                self.saved[count] = t.detach()
            elif not self.is_complete:
                return t.detach()
            else:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    f"forward pass, which saved {len(self.kinds)}"
                )
            count += 1
            if self.early_stop and count == len(self.kinds):
                raise _Enough
            return t.detach()

        again = contextlib.nullcontext() if self.random is None else self.random.again()
        with contextlib.ExitStack() as stack:
            around = [context() for context in self.around]
            hooks = saved_tensors_hooks(pack, lambda t: t)
            for context in (again, self.context, enable_grad(), *around, hooks, *self.casts):
                stack.enter_context(context)
            before, _operation_now.pack = _operation_now.pack, pack
            try:
                self.run()
            except _Enough:
                pass
            finally:
                _operation_now.pack = before
        if count != len(self.kinds):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.kinds)}\n"
                f"Number of tensors saved during recomputation: {count}"
            )
        for i, kind in enumerate(self.kinds):
            if self.check and _kind(self.saved[i]) != kind:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                    f"during the forward pass.\ntensor at position {i}:\nsaved metadata: {kind}\n"
                    f"recomputed metadata: {_kind(self.saved[i])}"
                )


class CheckpointFunction(Function):
    """``checkpoint(..., use_reentrant=True)``: the backward pass runs the function, and a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        ctx.run_function = run_function
        ctx.random = _random.States() if preserve_rng_state else None
        ctx.casts, ctx.around = _again(), _around.contexts
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, _C.Tensor)]
        ctx.others = [None if isinstance(a, _C.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _C.functions["_pass_fills_leaves"]():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(): the inner backward pass would add to the .grad of every leaf. Pass "
                "use_reentrant=False, or call .backward() without `inputs`."
            )
        inputs = list(ctx.others)
        for i, saved in zip(ctx.places, ctx.saved_tensors):
            inputs[i] = saved.detach()
            inputs[i].requires_grad = saved.requires_grad
        again = contextlib.nullcontext() if ctx.random is None else ctx.random.again()
        with contextlib.ExitStack() as stack:
            for context in (again, enable_grad(), *(context() for context in ctx.around), *ctx.casts):
                stack.enter_context(context)
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, _C.Tensor) else outputs
        wanted = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, _C.Tensor) and o.requires_grad]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in wanted], [g for _, g in wanted])
        return None, None, *(x.grad if isinstance(x, _C.Tensor) else None for x in inputs)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which nothing is kept: the backward pass calls the function once more.

    Args:
        function: computes the same both times.
        args: for the function.
        use_reentrant: False keeps the graph, so that ``autograd.grad``, hooks and keyword arguments work, and a
            gradient flows to tensors that the function only sees; True runs a backward pass within the backward pass,
            and needs an argument that wants a gradient. None is True, with a warning.
        context_fn: two contexts, for the first and the second run; only with use_reentrant=False.
        determinism_check: "default" compares shapes, dtypes and devices of both runs, "none" does not.
        debug: unused; errors name what differs.
        early_stop: whether the second run ends when everything needed is there.
        kwargs: for the function; and ``preserve_rng_state`` (True): whether the second run draws the same random
            numbers.

    Raises:
        CheckpointError: the second run saved other tensors (in the backward pass).
        ValueError: arguments that exclude each other.

    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False).backward()
    >>> x.grad == x.exp().cos() * x.exp()
    tensor([True])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if not any(isinstance(a, _C.Tensor) and a.requires_grad for a in args) and _C.functions["is_grad_enabled"]():
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got: {determinism_check}")
    first, second = context_fn()
    early = early_stop if _early_stop is None else _early_stop
    frame = _Frame(
        lambda: function(*args, **kwargs),
        second,
        _random.States() if preserve else None,
        early,
        determinism_check == "default",
    )
    with first, saved_tensors_hooks(frame.pack, frame.unpack):
        result = function(*args, **kwargs)
    frame.is_complete = True
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """The functions one after the other, all but the last of `segments` groups of them under :func:`checkpoint`.

    Args:
        functions: a sequence of functions, or a ``nn.Sequential``.
        segments: how many groups, at most one for each function: ValueError otherwise.
        input: the argument of the first.
        use_reentrant: as of checkpoint.
        kwargs: ``preserve_rng_state``, as of checkpoint.

    >>> steps = [torch.sin, torch.exp, torch.cos]
    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint_sequential(steps, 2, x, use_reentrant=False)
    tensor([-0.6809], grad_fn=<CosBackward0>)
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, "
            "but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments
    if size == 0:
        raise ValueError(f"checkpoint_sequential: {len(steps)} functions do not make {segments} groups")
    ends = [*range(size, size * (segments - 1) + 1, size), len(steps)]
    start = 0
    for end in ends:
        run = _in_turn(steps[start:end])
        last = end == ends[-1] and start == (ends[-2] if len(ends) > 1 else 0)
        options = {"use_reentrant": use_reentrant, "preserve_rng_state": preserve}
        input = run(input) if last else checkpoint(run, input, **options)
        start = end
    return input


def _in_turn(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    return run
