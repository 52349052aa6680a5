"""New sharded tensors: of a whole one (distribute_tensor), and zeros, ones, full, empty, and random ones."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from .. import _C
from ..autograd.grad_mode import no_grad
from . import _move, _philox, _xla_mesh
from ._layout import Spec, dual
from ._sharded import ShardedTensor, indices, require_plain, wrap
from .placement import Partial, Replicate, checked, checked_mesh

if TYPE_CHECKING:
    from .._typing import Any, Tensor

_f = _C.functions

__all__ = ["distribute_tensor", "empty", "full", "ones", "rand", "randint", "randn", "randperm", "zeros"]


def distribute_tensor(
    tensor: Tensor, device_mesh: Any = None, placements: Any = None, *, src_data_rank: int | None = 0
) -> ShardedTensor:
    """A plain tensor, spread over a mesh.

    Args:
        tensor: the whole, of the same shape and dtype on every rank.
        placements: all Replicate for None.
        src_data_rank: every rank gets its part of the values of this rank of the mesh; None: each cuts its own tensor,
            nothing is sent, and all must have the same values.

    >>> def program():
    ...     from strided.distributed import Shard, distribute_tensor, init_device_mesh
    ...     mesh = init_device_mesh("cpu", (3,))
    ...     return distribute_tensor(strided.arange(7), mesh, [Shard(0)]).to_local()
    >>> strided.distributed.simulate(3, program)
    [tensor([0, 1, 2]), tensor([3, 4, 5]), tensor([6])]
    """
    require_plain("distribute_tensor", tensor)
    if getattr(device_mesh, "device_type", None) == "xla":
        return _xla_mesh.distribute(tensor, device_mesh, placements)
    mesh = checked_mesh("distribute_tensor", device_mesh)
    whole = Spec(mesh, (Replicate(),) * mesh.ndim, tensor.shape)
    spec = whole.with_(checked(placements, mesh, tensor.ndim))
    with no_grad():
        if src_data_rank is None:
            local = _move.redistribute(tensor.detach(), whole, spec)
        else:
            shards = spec.with_(dual(spec.placements))
            pieces = None
            local = _f["empty"](shards.local_shape(), dtype=tensor.dtype, device=tensor.device)
            if mesh.comm.rank == src_data_rank:
                full = [[(0, n)] if n else [] for n in tensor.shape]
                pieces = []
                for c in mesh.coordinates:
                    found = _move._shared(full, shards.ranges(c))
                    piece = _move._take(tensor.detach(), found[0]) if found else local.new_empty(0)
                    pieces.append(piece.contiguous())
            mesh.comm.purpose = f"distribute {spec!r}"
            mesh.comm.scatter(local, pieces, src_data_rank)
            local = _move.redistribute(local, shards, spec)
        local = local.clone() if local.data_ptr() == tensor.data_ptr() else local
    return wrap(local.requires_grad_(tensor.requires_grad), spec)


def _spec(name, size, mesh, placements):
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    try:
        size = tuple(map(operator.index, size))
    except TypeError:
        raise TypeError(f"{name}: sizes of a tensor are ints, got {tuple(size)}") from None
    if any(n < 0 for n in size):
        raise RuntimeError(f"{name}: sizes of a tensor are 0 or more, got {size}")
    if math.prod(size) >= 1 << 63:
        raise RuntimeError(f"{name}: a tensor has fewer than 2^63 elements, got sizes {size}")
    mesh = checked_mesh(name, mesh)
    placed = checked(placements, mesh, len(size))
    if any(isinstance(p, Partial) for p in placed):
        raise ValueError(f"{name}: a new tensor is cut or replicated, got {placed}")
    return Spec(mesh, placed, size)


def _made(function, spec, device_mesh_type, **named):
    return function(spec.local_shape(), device=device_mesh_type, **named)


def full(size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False, mesh: Any = None,
         placements: Any = None, device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """A tensor of one value.  mesh: all ranks in a row for None; placements: all Replicate for None."""
    spec = _spec("full", (size,), device_mesh if mesh is None else mesh, placements)
    local = _made(lambda s, **k: _f["full"](s, fill_value, **k), spec, spec.mesh.device_type, dtype=dtype)
    return wrap(local.requires_grad_(requires_grad), spec)


def zeros(*size: Any, dtype: Any = None, requires_grad: bool = False, mesh: Any = None, placements: Any = None,
          device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """A tensor of zeros, of which each rank makes its shard.

    >>> def program():
    ...     mesh = strided.distributed.init_device_mesh("cpu", (2,))
    ...     return strided.distributed.zeros(3, 4, mesh=mesh, placements=[strided.distributed.Shard(0)]).to_local().shape
    >>> strided.distributed.simulate(2, program)
    [torch.Size([2, 4]), torch.Size([1, 4])]
    """
    spec = _spec("zeros", size, device_mesh if mesh is None else mesh, placements)
    local = _made(_f["zeros"], spec, spec.mesh.device_type, dtype=dtype)
    return wrap(local.requires_grad_(requires_grad), spec)


def ones(*size: Any, dtype: Any = None, requires_grad: bool = False, mesh: Any = None, placements: Any = None,
         device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """A tensor of ones."""
    spec = _spec("ones", size, device_mesh if mesh is None else mesh, placements)
    local = _made(_f["ones"], spec, spec.mesh.device_type, dtype=dtype)
    return wrap(local.requires_grad_(requires_grad), spec)


def empty(*size: Any, dtype: Any = None, requires_grad: bool = False, mesh: Any = None, placements: Any = None,
          device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """A tensor with values that nobody has set."""
    spec = _spec("empty", size, device_mesh if mesh is None else mesh, placements)
    local = _made(_f["empty"], spec, spec.mesh.device_type, dtype=dtype)
    return wrap(local.requires_grad_(requires_grad), spec)


def key_of(mesh: Any, generator: Any = None) -> int:
    """64 random bits of the first rank's generator; every rank draws, so that generators stay together."""
    drawn = _f["randint"](0, 1 << 32, (2,), generator=generator)
    mesh.comm.broadcast(drawn, 0)
    low, high = drawn.tolist()
    return high << 32 | low


def positions(spec: Spec) -> Tensor:
    """The number of each element of the shard of this rank, in the order of the elements of the whole."""
    position = _f["zeros"]((), dtype=_C.int64)
    for d, n in enumerate(spec.shape):
        position = position.unsqueeze(-1) * n + indices(spec, d)
    return position


def _random(name, draw, size, dtype, requires_grad, mesh, placements):
    spec = _spec(name, size, mesh, placements)
    dtype = _f["get_default_dtype"]() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise NotImplementedError(f"{name}: for floating point dtypes, got {dtype}")
    local = draw(positions(spec), key_of(spec.mesh), dtype).to(spec.mesh.device_type)
    return wrap(local.requires_grad_(requires_grad), spec)


def rand(*size: Any, dtype: Any = None, requires_grad: bool = False, mesh: Any = None, placements: Any = None,
         device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """Numbers in [0, 1).  They depend on the seed of rank 0 and on the place in the whole tensor: not on the number of
    ranks, nor on placements.

    >>> def program():
    ...     strided.manual_seed(0)
    ...     mesh = strided.distributed.init_device_mesh("cpu", (strided.distributed.world().size,))
    ...     return strided.distributed.rand(5, mesh=mesh, placements=[strided.distributed.Shard(0)]).full_tensor()
    >>> a, b = (strided.distributed.simulate(n, program)[0] for n in (1, 3))
    >>> strided.equal(a, b)
    True
    """
    return _random(
        "rand", _philox.uniform, size, dtype, requires_grad, device_mesh if mesh is None else mesh, placements
    )


def randn(*size: Any, dtype: Any = None, requires_grad: bool = False, mesh: Any = None, placements: Any = None,
          device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """The same of the standard normal distribution."""
    return _random(
        "randn", _philox.normal, size, dtype, requires_grad, device_mesh if mesh is None else mesh, placements
    )


def randint(low: int, high: Any = None, size: Any = None, *, dtype: Any = None, mesh: Any = None,
            placements: Any = None, device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """Integers in [low, high), or [0, low) for ``randint(low, size)``; int64 for no dtype.  They depend on seed and
    place, as rand's."""
    if size is None:
        low, high, size = 0, low, high
    made = empty(
        *size,
        dtype=_C.int64 if dtype is None else dtype,
        mesh=device_mesh if mesh is None else mesh,
        placements=placements,
    )
    made.random_(low, high)
    return made


def randperm(n: int, *, dtype: Any = None, mesh: Any = None, placements: Any = None,
             device_mesh: Any = None) -> ShardedTensor:  # fmt: skip
    """0, 1, ... n - 1 in a random order: that of random numbers of 63 bits, sorted where they are."""
    keys = randint(0, (1 << 63) - 1, (n,), mesh=device_mesh if mesh is None else mesh, placements=placements)
    _f["randperm"](0, dtype=dtype)  # raises for dtypes that hold no numbers
    order: Any = keys.sort(stable=True)[1]
    made = order.redistribute(placements=keys.placements)
    return made if dtype is None else made.to(dtype)
