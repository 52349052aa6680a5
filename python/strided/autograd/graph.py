"""Looking into the graph, and deciding how it keeps tensors (``strided.autograd.graph``)."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, NamedTuple

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any, Callable, Iterable, Iterator, Sequence, Tensor

Node = _C.Node

__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
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


class GradientEdge(NamedTuple):
    """A place in the graph: a node, and which of its outputs."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of the tensor arrives: its grad_fn, or the node that adds to its
    .grad."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if tensor.grad_fn is None:
        node, output = tensor.view_as(tensor).grad_fn.next_functions[0]
        return GradientEdge(node, output)
    return GradientEdge(tensor.grad_fn, tensor.output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a change of the tensor (or of each of several) that autograd could not see, made through a foreign
    pointer."""
    for t in (tensor,) if isinstance(tensor, _C.Tensor) else tensor:
        _C.functions["_bump_version"](t)


class _Handles(tuple):
    def remove(self) -> None:
        for handle in self:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[[Any], Any], *, mode: str = "all") -> _Handles:
    """Calls fn once in a backward pass that reaches any of the tensors: mode "all": with the list of their gradients
    (None for one that gets none) when the last has arrived; mode "any": with the first gradient that arrives.

    Returns a handle with ``remove()``.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
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

    handles = _Handles(t.register_hook(hook_for(i)) for i, t in enumerate(tensors))
    ids.extend(handle.id for handle in handles)
    return handles
