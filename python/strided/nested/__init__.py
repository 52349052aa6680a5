"""Batches of tensors of different lengths, one behind the other in memory (``strided.nested``).

A nested tensor has an axis of samples and one axis, the ragged one, whose length differs from sample to sample. It
holds the samples' elements without padding (``values()``) and where each sample begins (``offsets()``).

>>> x = strided.nested.nested_tensor([strided.ones(2, 3), strided.ones(4, 3)], layout=strided.jagged)
>>> y = strided.nn.functional.relu(x) * 2
>>> y.values().shape, y.offsets(), [t.shape for t in y.unbind()]
(torch.Size([6, 3]), tensor([0, 2, 6]), [torch.Size([2, 3]), torch.Size([4, 3])])
>>> y.to_padded_tensor(0.0).shape
torch.Size([2, 4, 3])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ._internal.nested_tensor import NestedTensor, from_samples

if TYPE_CHECKING:
    from .._typing import Any, Device, DType, Sequence, Tensor

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def _layout(layout: Any) -> Any:
    layout = strided.strided if layout is None else layout
    if layout not in (strided.strided, strided.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return layout


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor with copies of the samples, a leaf.

    Args:
        tensor_list: tensors, or what ``tensor`` takes, of equal shape except for one axis.
        layout: ``strided.jagged``, or ``strided.strided`` (None), which differs in how it prints.

    Raises:
        RuntimeError: no samples, samples without axes, of different dtypes, or of different numbers of axes.
        NotImplementedError: more than one axis is ragged.
    """
    layout = _layout(layout)
    given = list(tensor_list)
    if any(t is None for t in given):
        raise TypeError("nested_tensor(): None is no sample")
    samples = [t.detach() if isinstance(t, strided.Tensor) else strided.tensor(t) for t in given]
    made = from_samples([t.to(device=device or t.device, dtype=dtype or t.dtype) for t in samples], layout)
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: DType | None = None, device: Device | None = None, layout: Any = None) -> Tensor:
    """A nested tensor of samples, through which gradients reach them; a tensor's rows are samples of equal length.

    >>> a, b = strided.ones(2, requires_grad=True), strided.ones(3)
    >>> strided.nested.as_nested_tensor([a, b], layout=strided.jagged).sum().backward()
    >>> a.grad
    tensor([1., 1.])
    """
    layout = _layout(layout)
    if isinstance(ts, NestedTensor):
        return ts.to(device=device or ts.device, dtype=dtype or ts.dtype)
    if isinstance(ts, strided.Tensor):
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): expected tensor argument to have dim() > 1")
        ts = ts.unbind()
    elif not isinstance(ts, (list, tuple)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors")
    samples = [t if isinstance(t, strided.Tensor) else strided.tensor(t) for t in ts]
    return from_samples([t.to(device=device or t.device, dtype=dtype or t.dtype) for t in samples], layout)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """The nested tensor of elements that lie one sample behind the other; it is no copy.

    Args:
        values: all samples' elements, along axis jagged_dim - 1.
        offsets: where each sample begins and, as its last element, where the last one ends.
        lengths: of the samples, instead of offsets; with offsets, how much of each sample there is.
        jagged_dim: the ragged axis of the result, 1 if None.
        min_seqlen, max_seqlen: accepted, without effect.

    Raises:
        RuntimeError: neither offsets nor lengths.
    """
    dim = 1 if jagged_dim is None else jagged_dim
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets = strided.nn.functional.pad(lengths.cumsum(0), (1, 0))
    elif lengths is not None and not strided.equal(lengths, offsets.diff()):
        rows = [strided.arange(int(a), int(a) + int(n)) for a, n in zip(offsets, lengths)]
        values = values.index_select(dim - 1, strided.cat(rows).to(values.device))
        offsets = strided.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return NestedTensor._of(values, offsets, dim, strided.jagged)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = None) -> Tensor:
    """A nested tensor of the pieces ``tensor[i, start[i] : start[i] + length[i]]``; both: tensors or numbers.

    Raises:
        RuntimeError: dim is not 1.
    """
    if dim != 1:
        raise RuntimeError("narrow(): only dim=1 supported for jagged layout")
    n = tensor.shape[0]
    starts, lengths = (([v] * n if isinstance(v, int) else v.tolist()) for v in (start, length))
    return from_samples([t[a : a + k] for t, a, k in zip(tensor.unbind(), starts, lengths)], _layout(layout))


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """A nested tensor of each row's elements where mask is True.

    Raises:
        RuntimeError: the layout is not strided; the mask does not fit.
    """
    if isinstance(tensor, NestedTensor):
        raise RuntimeError("masked_select(): requires a strided tensor")
    mask = mask.expand(tensor.shape)
    lengths = mask.flatten(1).sum(1) if tensor.dim() > 1 else mask.sum().reshape(1)
    offsets = strided.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return NestedTensor._of(tensor.masked_select(mask), offsets, 1, strided.jagged)


def to_padded_tensor(input: Tensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """The samples as one tensor, with `padding` behind the shorter ones.

    Args:
        output_size: the size, at least as large as the longest sample; else that of the longest.
    """
    if not isinstance(input, NestedTensor):
        raise RuntimeError("at least one constructor argument should be a nested tensor: to_padded_tensor()")
    return input.to_padded_tensor(padding, output_size)
