"""Gradients for each sample of a batch, under PyTorch's private name; Opacus asks for them there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ...utils import _pytree
from ..modules.module import Module

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Tensor

__all__ = ["call_for_per_sample_grads"]


def _batch_size(values: list[Any], axis: int) -> int:
    sizes = [v.size(axis) for v in values if isinstance(v, strided.Tensor) and v.dim() > axis]
    if not sizes:
        raise RuntimeError("call_for_per_sample_grads: no tensor among the arguments has a batch: give batch_size")
    if len(set(sizes)) > 1:
        raise RuntimeError(f"call_for_per_sample_grads: the arguments have batches of {sorted(set(sizes))} samples")
    return sizes[0]


def _keeping(parameter: Tensor, scale: int) -> Callable[[Tensor], None]:
    """Adds the gradients of all samples to what the parameter has."""

    def keep(gradients: Tensor | None) -> None:
        if gradients is None:
            return
        made = gradients.detach() * scale
        before = getattr(parameter, "grad_sample", None)
        parameter.grad_sample = made if before is None else before + made

    return keep


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """The module as a function whose backward pass gives each parameter ``grad_sample``: a gradient for each sample.

    The samples go through the module one by one, in one call (``vmap``); what has no rule there raises. ``grad`` of the
    parameters stays as it is.

    Args:
        batch_size: of the arguments; found in them where it is None.
        loss_reduction: ``"sum"`` or ``"mean"``: how the loss joins the samples.
        batch_first: whether the batch is axis 0 of arguments and results, else 1.

    Raises:
        RuntimeError: no Module, a wrong size or reduction, arguments with several sizes of batches, or a parameter that
            has a ``grad_sample`` already.

    >>> from strided.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> layer = strided.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(layer)(strided.tensor([[1., 2.], [3., 4.]])).sum().backward()
    >>> layer.weight.grad_sample
    tensor([[[1., 2.]],
    <BLANKLINE>
            [[3., 4.]]])
    """
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError("Batch size must be positive")
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    axis = 0 if batch_first else 1
    wanted = {name: p for name, p in module.named_parameters() if p.requires_grad}
    for name, parameter in wanted.items():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                f"call_for_per_sample_grads: {name} has a grad_sample, which a second call would add to: set it to None"
            )

    def call(*args: Any, **kwargs: Any) -> Any:
        values, shape = _pytree.tree_flatten((args, kwargs))
        size = batch_size if batch_size is not None else _batch_size(values, axis)
        batched = [isinstance(v, strided.Tensor) and v.dim() > axis and v.size(axis) == size for v in values]
        if not any(batched):
            raise RuntimeError(f"call_for_per_sample_grads: no argument has a batch of {size} samples")
        weights = {name: p.detach().expand(size, *p.shape).requires_grad_() for name, p in wanted.items()}
        for name, expanded in weights.items():
            expanded.register_hook(_keeping(wanted[name], size if loss_reduction == "mean" else 1))

        def of_sample(own: dict[str, Tensor], given: list[Any]) -> Any:
            # A batch of one: layers may ask for the axis.
            whole = [v.unsqueeze(axis) if has else v for v, has in zip(given, batched)]
            of_one, by_name = _pytree.tree_unflatten(whole, shape)
            made = strided.func.functional_call(module, own, of_one, by_name)
            return _pytree.tree_map_only(strided.Tensor, lambda t: t.squeeze(axis), made)

        dims = [axis if has else None for has in batched]
        return strided.func.vmap(of_sample, in_dims=(0, dims), out_dims=axis, randomness="different")(weights, values)

    return call
