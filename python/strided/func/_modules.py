"""Modules as functions of their parameters."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Any, Iterator


_ABSENT = object()


def _place(module, name):
    """(the module that holds a parameter, buffer or attribute of this dotted name, its key)"""
    *path, key = name.split(".")
    for part in path:
        module = getattr(module, part)
    return module, key


def _swap(owner, key, value):
    """Puts a tensor into a module, or takes it away (_ABSENT); what was there before."""
    for held in (owner._parameters, owner._buffers):
        if key in held:
            before = held[key]
            if value is _ABSENT:
                del held[key]
            else:
                held[key] = value
            return before
    before = getattr(owner, key, _ABSENT)
    if before is not _ABSENT and not isinstance(before, _C.Tensor):
        raise TypeError(f"functional_call: attribute `{key}`: {before} is not an instance of torch.Tensor")
    if value is not _ABSENT:
        setattr(owner, key, value)
    elif before is not _ABSENT:
        delattr(owner, key)
    return before


@contextlib.contextmanager
def swapped(module: Any, values: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    """Within it the module has these tensors, by dotted names; afterwards its own."""
    full = dict(values)
    if tie_weights or strict:
        all_names = {n: p for n, p in (*module.named_parameters(remove_duplicate=False),
                                       *module.named_buffers(remove_duplicate=False))}  # fmt: skip
    if tie_weights:
        for name, value in values.items():
            for other, tensor in all_names.items():
                if tensor is all_names.get(name, _ABSENT) and full.setdefault(other, value) is not value:
                    raise ValueError(
                        f"functional_call got multiple values for keys {sorted((name, other))}, which are tied. Consider "
                        "using tie_weights=False"
                    )
    if strict:
        unexpected, missing = sorted(full.keys() - all_names.keys()), sorted(all_names.keys() - full.keys())
        parts = [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] * bool(unexpected)
        parts += [f"Missing key(s): {', '.join(map(repr, missing))}."] * bool(missing)
        if parts:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts))
    for value in full.values():
        if not (value is None or isinstance(value, _C.Tensor) or hasattr(type(value), "__strided_function__")):
            raise TypeError(f"functional_call: {value} is not an instance of torch.Tensor")
    places = {name: _place(module, name) for name in full}
    before: dict[str, Any] = {}
    try:
        for name, place in places.items():
            before[name] = _swap(*place, full[name])
        yield
    finally:
        for name, tensor in reversed(before.items()):
            after = _swap(*places[name], tensor)
            if name in values and after is not _ABSENT:
                values[name] = after  # the module may have put another tensor there


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with other parameters and buffers, by name; the module stays as it is.

    Args:
        parameter_and_buffer_dicts: a dict, or several dicts of different names; tensors that are plain attributes of a
            module can be named too. What the module puts in place of one is in the dict afterwards.
        args: the arguments; a single one need not be in a tuple.
        tie_weights: parameters that are one in the module are one in the call.
        strict: RuntimeError for names that are missing or too many.
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        values = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, (list, tuple)):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        values = {}
        for d in parameter_and_buffer_dicts:
            if common := [name for name in d if name in values]:
                raise ValueError(
                    f"{common} appeared in multiple dictionaries; behavior of functional call is ambiguous"
                )
            values.update(d)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with swapped(module, values, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Takes the running statistics from every batch normalisation of a module, in place; returns the module.

    Under vmap they would be written to for all samples at once.
    """
    from ..nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(models: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of several modules of one class, stacked along a new first axis: for vmap over models."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(of):
        found = {}
        for name in of[0]:
            tensors = [each[name] for each in of]
            if any(t.requires_grad != tensors[0].requires_grad for t in tensors):
                raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
            leaf = all(t.is_leaf for t in tensors)
            made = _C.functions["stack"]([t.detach() for t in tensors] if leaf else tensors)
            if leaf and tensors[0].requires_grad:
                made = made.requires_grad_()
            found[name] = made
        return found

    return stacked([dict(m.named_parameters()) for m in models]), stacked([dict(m.named_buffers()) for m in models])
