"""A loop whose end depends on tensors (``torch.while_loop``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """What `body_fn` gives when it is applied to `carried_inputs`, and to its results, while `cond_fn` of them is true.

    Args:
        cond_fn: gives a bool, or a bool tensor of one element. body_fn: gives as many values as it takes.
        carried_inputs: a tuple or list of tensors, numbers, or trees of them.

    Raises:
        RuntimeError: an argument is of another type, or `cond_fn` or `body_fn` gives something else.

    >>> import strided
    >>> strided.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, strided.ones(2)))
    (3, tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list, got {type(carried_inputs)}")
    carried = tuple(carried_inputs)
    while True:
        go_on = cond_fn(*carried)
        if isinstance(go_on, strided.Tensor) and not (go_on.dtype == strided.bool and go_on.numel() == 1):
            raise RuntimeError(
                f"cond_fn must return a boolean scalar tensor or a boolean but got a {go_on.dtype} tensor of size "
                f"{go_on.size()}"
            )
        if not isinstance(go_on, (bool, strided.Tensor)):
            raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {type(go_on)}")
        if not go_on:
            # (One value comes back as it is, as body_fn may give it.)
            return carried[0] if len(carried) == 1 else carried
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(carried):
            raise RuntimeError(f"body_fn should return {len(carried)} values, as it takes, but got {len(made)}")
        carried = made
