"""Modules with other tensors for their parameters, for one call (``strided.nn.utils.stateless``)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..._typing import Any, Iterator, Tensor
    from ..modules.module import Module

__all__ = ["functional_call"]


def _place(module, name):
    """The dict that holds a parameter or buffer of a dotted name, and its last part."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path) if path else module
    for kind in (owner._parameters, owner._buffers):
        if last in kind:
            return kind, last
    return None


def _tied(module, given):
    """The names given, and those of the same tensors."""
    names: dict[int, list[str]] = {}
    for found in (module.named_parameters, module.named_buffers):
        for name, t in found(remove_duplicate=False):
            names.setdefault(id(t), []).append(name)
    groups = {n: group for group in names.values() for n in group}
    made = dict(given)
    for name, value in given.items():
        for other in groups.get(name, ()):
            if other in given and given[other] is not value:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(groups[name])}, which are tied. Consider using tie_weights=False"
                )
            made.setdefault(other, value)
    return made


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Within it the module has these tensors; afterwards its own."""
    given = _tied(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        known = {n for f in (module.named_parameters, module.named_buffers) for n, _ in f(remove_duplicate=False)}
        missing, unexpected = sorted(known - set(given)), sorted(set(given) - known)
        if missing or unexpected:
            texts = ["Unexpected key(s): " + ", ".join(unexpected) + "."] if unexpected else []
            texts += ["Missing key(s): " + ", ".join(missing) + "."] if missing else []
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(texts))
    kept = []
    try:
        for name, value in given.items():
            place = _place(module, name)
            if place is None:
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            kind, last = place
            kept.append((kind, last, kind[last]))
            kind[last] = value
        yield
    finally:
        for kind, last, value in reversed(kept):
            kind[last] = value


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors in the place of parameters and buffers.

    Args:
        parameters_and_buffers: tensors by dotted names. args: a tuple, or one argument. tie_weights: other names of the
            same tensor follow. strict: all names must be there.

    >>> m = strided.nn.Linear(2, 1, bias=False)
    >>> strided.nn.utils.stateless.functional_call(m, {"weight": strided.ones(1, 2)}, strided.ones(2))
    tensor([2.])
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))
