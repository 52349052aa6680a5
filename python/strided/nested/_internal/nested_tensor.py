"""``NestedTensor``: elements one sample behind the other, and where samples begin."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import strided

from ... import _C

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor

_counter = itertools.count(1)
_Plain = _C.Tensor


class RaggedSize(int):
    """The length of a ragged axis in shapes: equal to itself only. As a number it is the longest sample's."""

    name: str

    def __new__(cls, longest: int) -> RaggedSize:
        made = super().__new__(cls, longest)
        made.name = f"j{next(_counter)}"
        return made

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Ragged:
    """Where samples begin along a ragged axis; tensors that share it fit each other."""

    def __init__(self, offsets: Tensor) -> None:
        self.offsets = offsets
        self.lengths: list[int] = offsets.diff().tolist()
        self.size = RaggedSize(max(self.lengths, default=0))
        self._rows: Any = None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def longest(self) -> int:
        """The length of the longest sample."""
        return int(self.size)

    def samples(self) -> Tensor:
        """For each element along the axis the number of its sample."""
        if self._rows is None:
            counts = self.offsets.diff()
            self._rows = strided.arange(len(self), device=counts.device).repeat_interleave(counts)
        return self._rows

    def places(self, longest: int) -> Tensor:
        """For each element its place in a padded batch whose first two axes are one."""
        rows = self.samples()
        return strided.arange(rows.numel(), device=rows.device) + (rows * longest - self.offsets[:-1][rows])


class NestedTensor(_Plain):
    """A batch of tensors whose lengths differ along one axis; ``strided.nested`` makes them.

    What functions do with it: ``strided.nested._internal.ops``. Anything else raises NotImplementedError.
    """

    _values: Tensor
    _ragged: Ragged
    _ragged_idx: int
    _kind: Any

    @classmethod
    def _of(cls, values: Tensor, offsets: Tensor | Ragged, dim: int, layout: Any) -> NestedTensor:
        with _C.DisableTorchFunction():
            made = _Plain._make_subclass(cls, values.detach())
        made.__dict__.update(
            _values=values,
            _ragged=offsets if isinstance(offsets, Ragged) else Ragged(offsets),
            _ragged_idx=dim,
            _kind=layout,
        )
        return made

    def _like(self, values: Tensor, dim: int | None = None) -> NestedTensor:
        """Other values of the same samples."""
        return NestedTensor._of(values, self._ragged, self._ragged_idx if dim is None else dim, self._kind)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from .ops import call

        return call(func, args, kwargs or {})

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        return ["_values", "_offsets"], {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, Tensor], meta: dict[str, Any], outer_size: Any, outer_stride: Any
    ) -> NestedTensor:
        values, offsets = inner_tensors["_values"], inner_tensors["_offsets"]
        made = NestedTensor._of(values, offsets, meta["ragged_idx"], strided.jagged)
        return made.requires_grad_() if meta["requires_grad"] and values.grad_fn is None else made

    is_nested = True

    @property
    def layout(self) -> Any:  # type: ignore[override]
        """``strided.jagged``, or ``strided.strided``."""
        return self._kind

    # Under the names that PyTorch's class has them.
    _offsets = property(lambda self: self._ragged.offsets)
    _lengths = None
    _max_seqlen = property(lambda self: self._ragged.longest)
    _min_seqlen = property(lambda self: min(self._ragged.lengths, default=0))

    def _nested_tensor_size(self) -> Tensor:
        """(samples, axes): the shapes of the samples."""
        return strided.tensor([list(t.shape) for t in self.unbind()])

    def values(self) -> Tensor:
        """The elements of all samples, one sample behind the other."""
        return self._values

    def offsets(self) -> Tensor:
        """Where each sample begins, and where the last one ends."""
        return self._ragged.offsets

    def lengths(self) -> None:
        """None: there is nothing between samples."""

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """The samples as one tensor, with `padding` behind the shorter ones."""
        from .ops import padded

        made = padded(self, padding)
        if output_size is None:
            return made
        if len(output_size) != made.dim() or any(n < m for n, m in zip(output_size, made.shape)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        ends = [i for n, m in zip(reversed(output_size), reversed(made.shape)) for i in (0, n - m)]
        return strided.nn.functional.pad(made, ends, value=padding)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if self._kind is strided.strided:
            rows = ",\n".join("  " + repr(t.detach()).replace("\n", "\n  ") for t in self.unbind())
            return f"nested_tensor([\n{rows}\n])"
        size = tuple(self.shape)
        gradient = ""
        if self._values.requires_grad:
            node = self._values.grad_fn
            gradient = ", requires_grad=True" if node is None else f", grad_fn={node}"
        return f"NestedTensor(size={size}, offsets={self._ragged.offsets}{gradient}, contiguous={self.is_contiguous()})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _again, (self._values, self._ragged.offsets, self._ragged_idx, self._kind)

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        made = self._like(self._values.detach().clone().requires_grad_(self._values.requires_grad))
        memo[id(self)] = made
        return made


def _again(values: Tensor, offsets: Tensor, dim: int, layout: Any) -> NestedTensor:
    return NestedTensor._of(values, offsets, dim, layout)


def from_samples(samples: Sequence[Tensor], layout: Any) -> NestedTensor:
    """A nested tensor of samples, through which gradients reach them."""
    if not samples:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    first = samples[0]
    if first.dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    for t in samples:
        if t.dim() != first.dim():
            raise RuntimeError(
                "When constructing a nested tensor, all tensors in list must have the same dim; got "
                f"{first.dim()} and {t.dim()}"
            )
        if t.dtype != first.dtype or t.device != first.device:
            raise RuntimeError(
                "When constructing a nested tensor, all tensors in list must have the same dtype and device"
            )
    ragged = [d for d in range(first.dim()) if any(t.shape[d] != first.shape[d] for t in samples)]
    if len(ragged) > 1:
        raise NotImplementedError(
            f"nested_tensor: strided has nested tensors with one ragged axis; axes {ragged} of the samples differ"
        )
    dim = ragged[0] if ragged else 0
    lengths = strided.tensor([0, *(t.shape[dim] for t in samples)], device=first.device)
    return NestedTensor._of(strided.cat(list(samples), dim), lengths.cumsum(0), dim + 1, layout)
