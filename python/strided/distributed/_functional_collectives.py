"""PyTorch's calls between ranks that give new tensors (``strided.distributed._functional_collectives``).

A call has ended when it returns, so that waiting is nothing. A group is a process group, a mesh of one axis, or
(mesh, axis). Gradients go through the calls whose names end in ``_autograd``, and through ``distributed.nn``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._as_torch.core_names import absent
from . import _collectives as calls
from ._groups import resolve
from .device_mesh import DeviceMesh

if TYPE_CHECKING:
    from .._typing import Any, Sequence, Tensor

__all__ = [
    "AsyncCollectiveTensor", "all_gather_into_tensor_coalesced", "all_gather_tensor", "all_gather_tensor_autograd",
    "all_reduce", "all_reduce_coalesced", "all_to_all_single", "all_to_all_single_autograd", "broadcast",
    "permute_tensor", "reduce_scatter_tensor", "reduce_scatter_tensor_autograd", "reduce_scatter_tensor_coalesced",
    "wait_tensor",
]  # fmt: skip

_f = _C.functions

# The names of calls as ``ops.c10d_functional`` has them, and of those of a Communicator for which they stand.
OPS = {
    "all_gather_into_tensor": "all_gather", "all_reduce": "all_reduce", "all_to_all_single": "all_to_all",
    "broadcast": "broadcast", "reduce_scatter_tensor": "reduce_scatter",
}  # fmt: skip

AsyncCollectiveTensor = absent("AsyncCollectiveTensor", __name__)  # a call has ended when it returns


def _group(call: str, group: Any) -> Any:
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        group = group[0].get_group(group[1])
    elif isinstance(group, DeviceMesh):
        group = group.get_group()
    elif isinstance(group, (list, tuple)):
        raise NotImplementedError(f"{call}: a process group or a mesh is required; new_group(ranks) makes one")
    pg = resolve(group)
    if pg is None:
        raise ValueError(f"{call}: this rank is not in the group")
    return pg


def _op(name: str) -> Any:
    try:
        return calls.ReduceOp["PRODUCT" if name.lower() == "prod" else name.upper()]
    except (KeyError, AttributeError):
        raise ValueError(f"there is no reduction {name!r}") from None


def wait_tensor(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor


def broadcast(self: Tensor, src: int, group: Any = None, tag: str = "") -> Tensor:
    """The tensor of rank src, by its number in the default group, on every rank."""
    made = self.detach().clone()
    calls.broadcast(made, src, _group("broadcast", group))
    return made


def all_reduce(self: Tensor, reduceOp: str, group: Any = None, tag: str = "") -> Tensor:
    """The sum ("sum"), or "avg", "min", "max", "product", over the ranks of a group, in a new tensor."""
    made = self.detach().clone()
    calls.all_reduce(made, _op(reduceOp), _group("all_reduce", group))
    return made


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """The tensors of all ranks, one after the other along an axis."""
    pg = _group("all_gather_tensor", group)
    parts = [_f["empty"](self.shape, dtype=self.dtype, device=self.device) for _ in range(pg.size())]
    calls.all_gather(parts, self.detach(), pg)
    return _f["cat"](parts, gather_dim)


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """This rank's part, along an axis, of the combination over all ranks.

    Raises:
        ValueError: the axis does not go evenly into the ranks.
    """
    pg = _group("reduce_scatter_tensor", group)
    parts = _parts("reduce_scatter_tensor", self, scatter_dim, pg.size())
    made = _f["empty"](parts[0].shape, dtype=self.dtype, device=self.device)
    calls.reduce_scatter(made, parts, _op(reduceOp), pg)
    return made


def _parts(call: str, t: Tensor, dim: int, n: int) -> list[Tensor]:
    if t.size(dim) % n:
        raise ValueError(f"{call}: {t.size(dim)} elements along axis {dim} do not go evenly into {n} ranks")
    return list(t.detach().chunk(n, dim)) if t.size(dim) else [t.detach()] * n


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any = None, tag: str = "") -> list[Tensor]:
    """all_reduce of each."""
    return [all_reduce(t, reduceOp, group) for t in self]


def all_gather_into_tensor_coalesced(self: Sequence[Tensor], group: Any = None, tag: str = "") -> list[Tensor]:
    """all_gather_tensor of each, along the first axis."""
    return [all_gather_tensor(t, 0, group) for t in self]


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any = None, tag: str = ""
) -> list[Tensor]:
    """reduce_scatter_tensor of each."""
    return [reduce_scatter_tensor(t, reduceOp, dim, group) for t, dim in zip(inputs, scatter_dim)]


def _rows(self: Tensor, sizes: Sequence[int] | None, n: int) -> int:
    return self.size(0) if sizes is None else sum(sizes)


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any = None,
    tag: str = "",
) -> Tensor:
    """Parts along the first axis go to the ranks, and theirs come: equal ones, or of the sizes given."""
    pg = _group("all_to_all_single", group)
    shape = (_rows(self, output_split_sizes, pg.size()), *self.shape[1:])
    made = _f["empty"](shape, dtype=self.dtype, device=self.device)
    calls.all_to_all_single(made, self.detach().contiguous(), output_split_sizes, input_split_sizes, pg)
    return made


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any = None, tag: str = "") -> Tensor:
    """The tensor of the rank r for which src_dst[r] is this one.

    Raises:
        ValueError: src_dst is no order of the ranks.
    """
    pg = _group("permute_tensor", group)
    n, rank = pg.size(), pg.rank()
    if sorted(src_dst) != list(range(n)):
        raise ValueError(f"permute_tensor: an order of the ranks 0 to {n - 1} is required, got {list(src_dst)}")
    rows = self.size(0)
    give = [rows if src_dst[rank] == r else 0 for r in range(n)]
    take = [rows if src_dst[r] == rank else 0 for r in range(n)]
    return all_to_all_single(self, take, give, pg)


# ---------------------------------------------------------------- with gradients


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """all_gather_tensor with its gradient."""
    from .nn.functional import all_gather

    return _f["cat"](list(all_gather(self.contiguous(), _group("all_gather_tensor", group))), gather_dim)


def reduce_scatter_tensor_autograd(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any = None, tag: str = ""
) -> Tensor:
    """reduce_scatter_tensor with its gradient: of "sum" and "avg"."""
    from .nn.functional import reduce_scatter

    pg = _group("reduce_scatter_tensor", group)
    _parts("reduce_scatter_tensor", self, scatter_dim, pg.size())
    parts = [t.contiguous() for t in self.chunk(pg.size(), scatter_dim)]
    return reduce_scatter(_f["empty_like"](parts[0].detach()), parts, _op(reduceOp), pg)


def all_to_all_single_autograd(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any = None,
    tag: str = "",
) -> Tensor:
    """all_to_all_single with its gradient."""
    from .nn import functional

    pg = _group("all_to_all_single", group)
    made = _f["empty"](
        (_rows(self, output_split_sizes, pg.size()), *self.shape[1:]), dtype=self.dtype, device=self.device
    )
    return functional.all_to_all_single(made, self.contiguous(), output_split_sizes, input_split_sizes, pg)
