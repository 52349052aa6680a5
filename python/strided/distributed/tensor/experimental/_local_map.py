"""A function of shards as a function of sharded tensors: ``local_map``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ...._C import Tensor
from ....utils._pytree import tree_flatten, tree_unflatten
from ..._sharded import ShardedTensor
from ...placement import Placement, checked

if TYPE_CHECKING:
    from ...._typing import Any, Callable


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: Any = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """The function that calls func with this rank's shards, and takes what it returns as shards.

    Args:
        func: without it, local_map is a decorator.
        out_placements: a list of placements for all results, or a tuple with one (or None, for what is no tensor) for
            each.
        in_placements: for each argument the placements that it must have; None where they may be any, or it is no
            sharded tensor.
        in_grad_placements: for each argument what the gradients of its shards are, as for ``to_local``.
        device_mesh: of the results; that of the arguments for None.
        redistribute_inputs: arguments are brought into in_placements; else others are an error.

    Raises:
        ValueError: an argument has other placements; numbers of arguments or results do not fit.

    >>> def program():
    ...     from strided.distributed import Shard, distribute_tensor, init_device_mesh
    ...     from strided.distributed.tensor.experimental import local_map
    ...     x = distribute_tensor(strided.arange(6.), init_device_mesh("cpu", (2,)), [Shard(0)])
    ...     return local_map(lambda t: t - t.mean(), out_placements=[Shard(0)])(x).full_tensor()
    >>> strided.distributed.simulate(2, program)[0]
    tensor([-1.,  0.,  1., -1.,  0.,  1.])
    """
    if func is None:
        return functools.partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten(args)
        for name, given in (("in_placements", in_placements), ("in_grad_placements", in_grad_placements)):
            if given is not None and len(given) != len(leaves):
                raise ValueError(f"local_map: {len(given)} {name} for {len(leaves)} arguments")
        mesh, shards = device_mesh, []
        for i, x in enumerate(leaves):
            if isinstance(x, ShardedTensor):
                mesh = x.device_mesh if mesh is None else mesh
                wanted = in_placements[i] if in_placements is not None else None
                if wanted is not None and tuple(checked(wanted, x.device_mesh, x.ndim)) != x.placements:
                    if not redistribute_inputs:
                        raise ValueError(
                            f"local_map: argument {i} has placements {x.placements}, in_placements wants {tuple(wanted)}; "
                            "redistribute_inputs=True moves it"
                        )
                    x = x.redistribute(placements=wanted)
                x = x.to_local(grad_placements=None if in_grad_placements is None else in_grad_placements[i])
            elif in_placements is not None and in_placements[i] is not None:
                raise ValueError(f"local_map: argument {i} is no sharded tensor, and has in_placements")
            shards.append(x)
        made = func(*tree_unflatten(shards, structure), **kwargs)
        if mesh is None:
            return made
        results, shape = tree_flatten(made)
        one_for_all = not isinstance(out_placements, tuple) or all(isinstance(p, Placement) for p in out_placements)
        placed = (out_placements,) * len(results) if one_for_all else out_placements
        if len(placed) != len(results):
            raise ValueError(f"local_map: {len(placed)} out_placements for {len(results)} results")
        found = [_sharded(t, mesh, p) for t, p in zip(results, placed)]
        return tree_unflatten(found, shape)

    return run


def _sharded(result: Any, mesh: Any, placements: Any) -> Any:
    if not isinstance(result, Tensor):
        if placements is not None:
            raise ValueError(f"local_map: a result is no tensor but {type(result).__name__}, and has out_placements")
        return result
    if placements is None:
        return result
    return ShardedTensor.from_local(result, mesh, placements)
