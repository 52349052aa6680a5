"""Looking into the graph, and deciding how it keeps tensors (``strided.autograd.graph``)."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, NamedTuple

from .. import _C
from ..utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from .._typing import Any, Callable, Iterable, Iterator, Sequence, Tensor

Node = _C.Node

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip

_state = threading.local()


class saved_tensors_hooks:
    """Context: every tensor that an operation saves for the backward pass goes through ``pack_hook``, and what that
    returned through ``unpack_hook`` when the backward pass needs it, which must give a tensor with the same content.
    To keep tensors compressed, on disk, or to recompute them.  Contexts may be nested: the innermost is used.

    A tensor given to pack_hook must not be changed in place.

    >>> kept = []
    >>> x = strided.tensor([2.], requires_grad=True)
    >>> with strided.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
    ...     y = x.exp()
    >>> len(kept)
    1
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        message = getattr(_state, "disabled", None)
        if message is not None:
            raise RuntimeError(message)
        self._before = _C.set_saved_tensors_hooks((self.pack_hook, self.unpack_hook))

    def __exit__(self, *exc: object) -> None:
        _C.set_saved_tensors_hooks(self._before)


class save_on_cpu(saved_tensors_hooks):
    """Context: saved tensors wait for the backward pass in the memory of the CPU, and go back to their device there."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context and decorator: saved_tensors_hooks raises RuntimeError(error_message) in it."""
    before = getattr(_state, "disabled", None)
    hooks = _C.set_saved_tensors_hooks(None)
    if hooks is not None:
        _C.set_saved_tensors_hooks(hooks)
        raise RuntimeError(error_message)
    _state.disabled = error_message
    try:
        yield
    finally:
        _state.disabled = before


class _Kept:
    """What allow_mutation_on_saved_tensors keeps."""

    def __init__(self) -> None:
        self._copies: dict[int, Tensor] = {}
        self._count = 0

    def _pack(self, t: Tensor) -> int:
        self._count += 1
        self._copies[self._count] = t.detach().clone()
        return self._count

    def _unpack(self, number: int) -> Tensor:
        if number not in self._copies:
            raise RuntimeError("the tensors that allow_mutation_on_saved_tensors kept were cleared")
        return self._copies[number]

    def clear(self) -> None:
        """Gives the memory back. No backward pass through what was computed in the context is possible then."""
        self._copies.clear()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Kept]:
    """Context: tensors may be changed in place after an operation saved them; the backward pass uses what they were.

    Each tensor is copied when it is saved, so this takes more memory and time. The value of the context has a
    ``clear()``, which gives the copies back. RuntimeError for one within another.

    >>> with strided.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = strided.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     z = y.sin()
    ...     y.zero_()
    tensor([0., 0.], grad_fn=<ZeroBackward0>)
    >>> z.sum().backward(); bool((x.grad == x.cos()).all())
    True
    """
    if getattr(_state, "copies", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    kept = _Kept()
    _state.copies = True
    try:
        with saved_tensors_hooks(kept._pack, kept._unpack):
            yield kept
    finally:
        _state.copies = False


class GradientEdge(NamedTuple):
    """A place in the graph: a node, and which of its outputs. A node keeps the graph behind it alive, so
    `ownership_token` is None."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of the tensor arrives: its grad_fn, or the node that adds to its
    .grad."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(_C.functions["_gradient_node"](tensor), tensor.output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a change of the tensor (or of each of several) that autograd could not see, made through a foreign
    pointer."""
    if isinstance(tensor, _C.Tensor):
        tensor = (tensor,)
    elif not hasattr(tensor, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in tensor:
        if not isinstance(t, _C.Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        _C.functions["_bump_version"](t)


class _MultiHandle(RemovableHandle):
    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], Any], *, mode: str = "all"
) -> RemovableHandle:
    """Calls fn once in a backward pass that reaches any of the tensors: mode "all": with the list of their gradients
    (None for one that gets none) when the last has arrived; mode "any": with the first gradient that arrives.

    Returns a handle with ``remove()``.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    if not all(t.requires_grad for t in tensors):  # before any hook is there
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    lock = threading.Lock()
    ids = []  # of the hooks: what held the tensors or nodes themselves would keep them alive
    passes = {}  # number of a pass: [how many gradients are still awaited, those that have come]

    def hook_for(i):
        def hook(grad):
            number = _C.functions["_pass_number"]()
            with lock:
                if number not in passes:
                    while len(passes) > 8:  # of passes that ended in an error
                        del passes[next(iter(passes))]
                    passes[number] = [_C.functions["_count_hooks"](ids) if mode == "all" else 1, [None] * len(ids)]
                state = passes[number]
                state[0] -= 1
                if mode == "all":
                    state[1][i] = grad
                if state[0] != 0:
                    return
                if mode == "all":
                    del passes[number]
            fn(state[1] if mode == "all" else grad)

        return hook

    handles = _MultiHandle([t.register_hook(hook_for(i)) for i, t in enumerate(tensors)])
    ids.extend(handle.id for handle in handles.handles)
    return handles
