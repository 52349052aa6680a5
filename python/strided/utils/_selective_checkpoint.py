"""What of a checkpointed function is kept, by operation (``utils.checkpoint.create_selective_checkpoint_contexts``).

The first run keeps the results of the operations that a policy names. The second takes them from there: such an
operation is not computed, its result begins a graph of its own, whose gradient nobody asks for. What the operation
would have saved for its gradient is its arguments, its results, or something else, which is kept as well.
"""

from __future__ import annotations

import enum
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .. import _C, ops
from ..autograd import enable_grad
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_leaves, tree_map


class CheckpointPolicy(enum.Enum):
    """Whether the results of an operation are kept, or computed again; a move to the CPU is not done, and keeps them
    where they are."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told beside the operation: whether this is the second run, and the result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Now(threading.local):
    """Of this thread: what the operation that runs has saved so far (first run); where the second run puts it."""

    def __init__(self) -> None:
        self.saved: list[Any] | None = None
        self.pack: Callable[[Any], Any] | None = None


now = _Now()

_COMPUTED_AGAIN, _TAKEN = object(), object()  # instead of a _Kept


class _Kept:
    """A result, or a part of one: the value, and how often it had been written to."""

    def __init__(self, value: Any) -> None:
        is_tensor = isinstance(value, _C.Tensor)
        self.val = value.detach() if is_tensor else value
        self.needs_grad = is_tensor and value.requires_grad
        self._version = value._version if is_tensor else None

    def get(self, allow_writes: bool) -> Any:
        if self._version is not None and self.val._version != self._version and not allow_writes:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated. Pass "
                "allow_cache_entry_mutation=True to create_selective_checkpoint_contexts to use it all the same."
            )
        return self.val


class _Record:
    """An operation whose results are kept: the results, and for each tensor that it saved where that is to be found."""

    def __init__(self, result: Any, args: Any, kwargs: Any, saved: list[Any]) -> None:
        self.result = tree_map(_Kept, result)
        given, made = _tensors((args, kwargs)), _tensors(result)
        self.saved: list[Any] = []  # ("given" or "made", position), or a tensor
        for t in saved:
            place = next(
                ((kind, i) for kind, of in (("given", given), ("made", made)) for i, x in enumerate(of) if _same(x, t)),
                None,
            )
            self.saved.append(t.detach() if place is None else place)

    def __getitem__(self, i: int) -> Any:
        return self.result[i]

    @property
    def val(self) -> Any:
        """The value of a single result."""
        return self.result.val


def _tensors(tree: Any) -> list[Any]:
    return [x for x in tree_leaves(tree) if isinstance(x, _C.Tensor)]


def _same(a: Any, b: Any) -> bool:
    return (
        a.dtype == b.dtype and a.shape == b.shape and a.data_ptr() == b.data_ptr() and a.stride() == b.stride()
        and a.device == b.device
    )  # fmt: skip


# Operations that the two runs need not have alike: checkpoints detach what they save.
SAC_IGNORED_OPS = {ops.aten.detach.default}


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run."""

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[Any, dict[int, Any]]) -> None:
        self.policy_fn, self.storage = policy_fn, storage
        self._counts: dict[Any, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        before, now.saved = now.saved, []
        try:
            result = func(*args, **kwargs)
            saved = now.saved
        finally:
            now.saved = before
        i = self._counts[func]
        self._counts[func] += 1
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        is_kept = (
            policy if isinstance(policy, bool) else policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        )
        self.storage[func][i] = _Record(result, args, kwargs, saved) if is_kept else _COMPUTED_AGAIN
        return result


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second run."""

    def __init__(
        self, policy_fn: Any, storage: dict[Any, dict[int, Any]], allow_cache_entry_mutation: bool = False
    ) -> None:
        self.storage, self.allow_cache_entry_mutation = storage, allow_cache_entry_mutation
        self._counts: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self._counts.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        i = self._counts[func]
        self._counts[func] += 1
        record = self.storage.get(func, {}).get(i)
        if record is None:
            raise RuntimeError(
                f"{func} encountered during backward, for the time {i + 1}, but not found in storage: the first run did "
                "not call it as often. This can happen if the operations in the checkpointed region are nondeterministic "
                "or depend on global state that changed between forward and backward."
            )
        if record is _TAKEN:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if record is _COMPUTED_AGAIN:
            return func(*args, **kwargs)
        self.storage[func][i] = _TAKEN
        result = tree_map(self._as_result, record.result)
        given, made = _tensors((args, kwargs)), _tensors(result)
        for place in record.saved:
            if isinstance(place, tuple):
                place = (given if place[0] == "given" else made)[place[1]]
            if now.pack is not None:
                now.pack(place)
        return result

    def _as_result(self, kept: Any) -> Any:
        value = kept.get(self.allow_cache_entry_mutation)
        if not kept.needs_grad:
            return value
        with enable_grad():  # no leaf, which could not be written to
            return _C.functions["_with_steady_gradient"](value.detach().requires_grad_())


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Two contexts for ``checkpoint(..., context_fn=)``: some results are kept, and not computed again.

    Args:
        policy_fn_or_list: the operations whose results are kept, as ``ops.aten.mm.default``; or a function of a
            SelectiveCheckpointContext, an operation and its arguments that gives a CheckpointPolicy, or a bool: whether
            they are kept.
        allow_cache_entry_mutation: whether a kept result may have been written to since.

    Raises:
        ValueError: something in the list is no operation.
        TypeError: neither a list nor a function.

    >>> import functools
    >>> from strided.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.eye(2, requires_grad=True)
    >>> y = checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=contexts)
    >>> y.sum().backward(); x.grad
    tensor([[1.0806, 2.0000],
            [2.0000, 1.0806]])
    """
    from .._calls.registered_ops import CustomOpDef

    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, (ops.OpOverload, CustomOpDef)):
                is_packet = isinstance(op, ops.OpOverloadPacket)
                more = (
                    f" Please update the OpOverloadPacket to a specific OpOverload, as {op}.default."
                    if is_packet
                    else ""
                )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}.{more}"
                )
        kept = set(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            return op in kept
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, dict[int, Any]] = defaultdict(dict)
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(
        None, storage, allow_cache_entry_mutation
    )
