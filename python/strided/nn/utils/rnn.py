"""Sequences of different lengths (``strided.nn.utils.rnn``)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import TYPE_CHECKING

import strided

from ..._calls.arguments import check_tensor

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

_Fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another one."""
    if permutation is None:
        return None
    check_tensor("invert_permutation", "permutation", 1, permutation)
    places = strided.arange(permutation.numel(), device=permutation.device)
    return strided.empty_like(permutation).scatter_(0, permutation, places)


class PackedSequence(_Fields):
    """Sequences, longest first, with all their first elements, then all their second ones, and so on.

    Fields: data; batch_sizes, how many sequences have an element at each time; sorted_indices and unsorted_indices, the
    order by length and back (None if they were sorted).
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            data, batch_sizes = data
        if not batch_sizes.is_cpu:
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with data of another dtype, or on another device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        device = data.device
        order, back = (None if t is None else t.to(device) for t in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, order, back)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with data on a CUDA device."""
        return self.to(*args, device="cuda", **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with data in the memory of the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def double(self) -> PackedSequence:
        """The same with data as float64."""
        return self.to(dtype=strided.float64)

    def float(self) -> PackedSequence:
        """The same with data as float32."""
        return self.to(dtype=strided.float32)

    def half(self) -> PackedSequence:
        """The same with data as float16."""
        return self.to(dtype=strided.float16)

    def long(self) -> PackedSequence:
        """The same with data as int64."""
        return self.to(dtype=strided.int64)

    def int(self) -> PackedSequence:
        """The same with data as int32."""
        return self.to(dtype=strided.int32)

    def short(self) -> PackedSequence:
        """The same with data as int16."""
        return self.to(dtype=strided.int16)

    def char(self) -> PackedSequence:
        """The same with data as int8."""
        return self.to(dtype=strided.int8)

    def byte(self) -> PackedSequence:
        """The same with data as uint8."""
        return self.to(dtype=strided.uint8)

    def pin_memory(self) -> PackedSequence:
        """The same with data and the orders in page-locked memory."""
        return PackedSequence(*(None if t is None else t if t is self[1] else t.pin_memory() for t in self))

    def is_pinned(self) -> bool:
        """Whether data is in pinned memory."""
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        """Whether data is on a CUDA device."""
        return self.data.is_cuda


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences padded to one length: input (length, batch, ...), or (batch, length, ...) with batch_first.

    enforce_sorted=False: lengths may come in any order.  RuntimeError for lengths that are not sorted, or not positive.
    """
    check_tensor("pack_padded_sequence", "input", 1, input)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if not isinstance(lengths, strided.Tensor):
        lengths = strided.as_tensor(lengths, dtype=strided.int64, device="cpu")
    if lengths.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D {lengths.device.type} tensor"
        )
    lengths = lengths.to(strided.int64)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    x = input.transpose(0, 1) if batch_first else input
    sizes = lengths.tolist()
    if len(sizes) != x.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={x.size(1)})"
        )
    if min(sizes) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    if sizes[0] > x.size(0):
        raise IndexError(f"pack_padded_sequence: a length of {sizes[0]}, but the samples have {x.size(0)} steps")
    counts, left = [], len(sizes)
    for t in range(sizes[0]):
        while sizes[left - 1] <= t:
            left -= 1
        counts.append(left)
    data = strided.cat([x[t, :n] for t, n in enumerate(counts)])
    return PackedSequence(data, strided.tensor(counts, device="cpu"), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences padded to one length, and their lengths: what pack_padded_sequence undoes."""
    counts = sequence.batch_sizes.tolist()
    length = len(counts)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                f"Expected total_length to be at least the length of the longest sequence in input, but got total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    rows = sequence.data
    made = strided.full((length, counts[0], *rows.shape[1:]), padding_value, dtype=rows.dtype, device=rows.device)
    for t, part in enumerate(rows.split(counts)):
        made[t, : counts[t]] = part
    lengths = strided.tensor([sum(n > i for n in counts) for i in range(counts[0])], device="cpu")
    if sequence.unsorted_indices is not None:
        made = made.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return (made.transpose(0, 1) if batch_first else made), lengths


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of different lengths in one tensor: (longest, batch, ...), or (batch, longest, ...) with batch_first.

    >>> strided.nn.utils.rnn.pad_sequence([strided.ones(3), strided.ones(1)], batch_first=True)
    tensor([[1., 1., 1.],
            [1., 0., 0.]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    rows = list(sequences.unbind(0) if isinstance(sequences, strided.Tensor) else sequences)
    if not rows:
        raise RuntimeError("received an empty list of sequences")
    for i, r in enumerate(rows):
        if not isinstance(r, strided.Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(r).__name__}")
    longest, rest = max(r.size(0) for r in rows), rows[0].shape[1:]
    made = strided.full((len(rows), longest, *rest), padding_value, dtype=rows[0].dtype, device=rows[0].device)
    for i, r in enumerate(rows):
        place = slice(0, r.size(0)) if padding_side == "right" else slice(longest - r.size(0), longest)
        made[i, place] = r
    return made if batch_first else made.transpose(0, 1).contiguous()


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Copies of the sequences of a padded tensor, without what was added."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    places = strided.arange(rows.shape[1], device=lengths.device)
    return [row[places < n] for row, n in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences of different lengths."""
    lengths = strided.as_tensor([v.size(0) for v in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one: what pack_sequence undoes."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
