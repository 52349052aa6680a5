"""What ``functorch.experimental`` has: functions of ``strided.func``, and vmap in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap

if TYPE_CHECKING:
    from ..._typing import Any, Callable

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """``vmap`` that computes a batch in so many pieces, one after the other.

    Args:
        func, in_dims, out_dims, randomness: as of vmap. chunks: how many pieces.
    """
    import functools

    from ...func._vmap import _process_batched_inputs

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        size = _process_batched_inputs(in_dims, args, func)[0]
        rows = None if chunks == 1 else max(-(-size // chunks), 1)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=rows)(*args, **kwargs)

    return wrapped
