"""How tensors of several ranks become one: the operations, in the order of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from .._typing import Sequence, Tensor

_f = _C.functions

# Below so many bytes a sum goes in one step (every rank gets all operands), above in two (each rank sums one part).
_SMALL = 16384

_COMBINE = {
    "sum": "add", "avg": "add", "prod": "mul", "min": "minimum", "max": "maximum",
    "band": "bitwise_and", "bor": "bitwise_or", "bxor": "bitwise_xor",
}  # fmt: skip
_NARROW = {d for d in _C.dtypes if d.is_floating_point and d.itemsize < 4}


def combine(parts: Sequence[Tensor], op: str, into: Tensor | None = None) -> Tensor:
    """parts[0] op parts[1] op ..., from left to right; 16-bit and 8-bit floats are summed in float32, rounded once.
    into: where the result goes, which may be one of the parts; new memory for None."""
    dtype = parts[0].dtype
    f = _f[_COMBINE[op]]
    narrow = dtype in _NARROW and op in ("sum", "avg", "prod")
    if narrow:
        parts = [part.to(_C.float32) for part in parts]
    total = parts[0].clone() if len(parts) == 1 else None
    for i, part in enumerate(parts[1:], 2):
        # Only the last step writes to `into`, which may be a part that is read before.
        out = total if i < len(parts) or narrow or into is None else into
        total = f(parts[0] if total is None else total, part, out=out)
    if op == "avg":
        total /= len(parts)
    if narrow and into is None:
        return total.to(dtype)
    return total if into is None or total is into else into.copy_(total)


def small(tensor: Tensor) -> bool:
    """Whether a sum of such tensors goes in one step."""
    return tensor.nbytes <= _SMALL


def check_op(call: str, op: str, tensor: Tensor) -> None:
    """ValueError for an operation that there is none of, TypeError for one that the dtype has not."""
    count(call, tensor)
    if not isinstance(op, str) or op not in _COMBINE:
        raise ValueError(f"{call}: there is no reduction {op!r}; there are {', '.join(_COMBINE)}")
    if op == "avg" and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise TypeError(f"{call}: avg takes floating point and complex tensors, got {tensor.dtype}")


def count(call: str, tensor: Tensor) -> int:
    """How many elements a tensor has; TypeError for anything else."""
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(f"{call}: a tensor is required, got {type(tensor).__name__}")
    return tensor.numel()
