"""Attention with functions of scores and masks (``strided.nn.attention.flex_attention``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypedDict

import strided

from ..._C import Tensor
from ._block_mask import (
    DEFAULT_BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE,  # noqa: F401  # Libraries import it by this name.
)
from ._block_mask import (
    BlockMask,
    and_masks,
    blocks_of_rows,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    over_grid,
    sliced_mask,
)

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's kernels. They are taken and have no effect."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    BACKEND: str


class AuxRequest(NamedTuple):
    """What `flex_attention` returns beside its result: the logarithm of the sum of exponentials, the largest score."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What :class:`AuxRequest` asked for: (B, Hq, L) each, or None."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    for name, t in (("query", query), ("key", key), ("value", value)):
        if not isinstance(t, Tensor):
            raise TypeError(f"flex_attention: {name} must be a Tensor, not {type(t).__name__}")
    if block_mask is not None and not isinstance(block_mask, BlockMask):
        raise TypeError(f"flex_attention: block_mask must be a BlockMask, not {type(block_mask).__name__}")
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, "
            f"but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if not query.device == key.device == value.device:
        raise ValueError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query.device}, key.device: {key.device}, and value.device: {value.device} instead."
        )
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension "
            f"but got E={query.size(-1)} and E={key.size(-1)}."
        )
    heads, key_heads = query.size(1), key.size(1)
    if not enable_gqa and heads != key_heads:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={key_heads}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads != key_heads and (key_heads == 0 or heads % key_heads):
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={key_heads}."
        )
    if query.size(0) != key.size(0):
        if block_mask is None:
            raise ValueError(
                "Expect query and key/value to have the same batch size, or non-none block_mask, "
                f"but got block_mask=None, Bq={query.size(0)}, and Bkv={key.size(0)}."
            )
        if block_mask.kv_num_blocks.size(0) != query.size(0):
            raise ValueError(
                "Expect query and key/value to have the same batch size, or block_mask and query to have the same "
                f"batch size, but got Bq={query.size(0)}, Bkv={key.size(0)}, B_block_mask={block_mask.kv_num_blocks.size(0)}."
            )
    if block_mask is not None:
        _check_mask(query, key, block_mask)


def _check_mask(query: Tensor, key: Tensor, block_mask: BlockMask) -> None:
    if block_mask.mask_mod is sliced_mask:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    if query.device != block_mask.kv_num_blocks.device:
        raise RuntimeError(
            "Expect q/k/v and block_mask to be on the same device "
            f"but got {query.device} and {block_mask.kv_num_blocks.device}."
        )
    wanted, lengths = (query.size(-2), key.size(-2)), tuple(block_mask.seq_lengths)
    if wanted == lengths:
        return
    smaller = wanted[0] > lengths[0] or wanted[1] > lengths[1]
    raise ValueError(
        f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={wanted[0]} and "
        f"kv_len={wanted[1]}. As the block mask was created for a {'smaller' if smaller else 'larger'} length than "
        "you're using it for, you likely need to create a new block mask"
        + (
            "."
            if smaller
            else ", or crop it to its upper left corner by block_mask._adjust(q_len, kv_len), "
            "which does not work for all mask_mods!"
        )
    )


class _Part(NamedTuple):
    """Some queries, and the keys that some of them see."""

    queries: slice
    keys: slice | Tensor
    seen: Tensor | None  # bool, by key and perhaps batch and head: which keys count; None for all
    asked: Tensor | None  # bool: which of them `mask_mod` decides; None for none


def _parts(block_mask: BlockMask | None, q_len: int, kv_len: int) -> Iterator[_Part]:
    """The rows of blocks of a mask, one after the other."""
    if block_mask is None:
        yield _Part(slice(0, q_len), slice(0, kv_len), None, None)
        return
    q_size, kv_size = block_mask.BLOCK_SIZE
    columns = -(-kv_len // kv_size)
    asked = blocks_of_rows(block_mask.kv_num_blocks, block_mask.kv_indices, columns).bool()
    seen, full = asked, block_mask._full()
    if full is not None:
        seen = asked | blocks_of_rows(*full, columns).bool()
    shared = tuple(range(seen.dim() - 2))
    listed = (seen.any(dim=shared) if shared else seen).tolist()
    for row, row_listed in enumerate(listed):
        if row * q_size >= q_len:
            break
        queries = slice(row * q_size, min(q_len, (row + 1) * q_size))
        used = [i for i, there in enumerate(row_listed) if there]
        if not used:
            yield _Part(queries, slice(0, 0), None, None)
            continue
        ranges = [range(i * kv_size, min(kv_len, (i + 1) * kv_size)) for i in used]
        keys: slice | Tensor = slice(ranges[0].start, ranges[-1].stop)
        if len(used) != used[-1] - used[0] + 1:
            keys = strided.tensor([k for r in ranges for k in r], device=seen.device)
        width = sum(map(len, ranges))
        row_seen, row_asked = (
            blocks[..., row, used].repeat_interleave(kv_size, dim=-1)[..., :width].unsqueeze(-2)
            for blocks in (seen, asked)
        )
        yield _Part(queries, keys, None if row_seen.all() else row_seen, row_asked if row_asked.any() else None)


class _Functions(NamedTuple):
    score_mod: _ScoreMod | None
    mask_mod: Any
    scale: float
    result_only: bool


def _of_part(
    part: _Part, query: Tensor, key: Tensor, value: Tensor, functions: _Functions
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The result for some queries, with the logarithm of the sum of exponentials and the largest score of each."""
    q = query[:, :, part.queries]
    if isinstance(part.keys, Tensor):
        k, v, places = key.index_select(2, part.keys), value.index_select(2, part.keys), part.keys
    else:
        k, v = key[:, :, part.keys], value[:, :, part.keys]
        places = strided.arange(part.keys.start, part.keys.stop, device=q.device)
    rows = strided.arange(part.queries.start, part.queries.stop, device=q.device)
    grid = (*(strided.arange(n, device=q.device) for n in q.shape[:2]), rows, places)
    counts = part.seen
    if part.asked is not None:
        decided = over_grid(functions.mask_mod, False)(*grid) | ~part.asked
        counts = decided if counts is None else counts & decided
    if functions.score_mod is None and functions.result_only:
        return strided.nn.functional.scaled_dot_product_attention(q, k, v, counts, scale=functions.scale), None, None
    wide = strided.float64 if q.dtype == strided.float64 else strided.float32
    scores = ((q @ k.transpose(-2, -1)) * functions.scale).to(wide)
    if k.size(2) == 0:  # no score is the largest
        lowest = scores.new_full(q.shape[:-1], -math.inf)
        return scores.to(q.dtype) @ v, lowest, lowest
    if functions.score_mod is not None:
        scores = over_grid(functions.score_mod, True)(scores, *grid)
    if counts is not None:
        scores = scores.masked_fill(~counts, -math.inf)
    # A query that sees nothing has the result 0: its softmax, which would be NaN, is never taken.
    blind = (scores == -math.inf).all(dim=-1, keepdim=True)
    scores_seen = scores.masked_fill(blind, 0)
    shares = scores_seen.softmax(-1).masked_fill(blind, 0)
    result = shares.to(q.dtype) @ v
    if functions.result_only:
        return result, None, None
    return result, scores_seen.logsumexp(-1).masked_fill(blind.squeeze(-1), -math.inf), scores.amax(-1)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention whose scores and mask are functions of indices: ``softmax(score_mod(q @ k.T * scale)) @ v``.

    One row of blocks is computed after the other, over the blocks that some batch or head has. Both functions are
    applied to all elements at once (``strided.vmap``); gradients reach the tensors that they read.

    Args:
        query: (B, Hq, L, E). key: (B, Hkv, S, E). value: (B, Hkv, S, Ev), of one dtype.
        score_mod: ``score_mod(score, b, h, q_idx, kv_idx)``, the new score. Its arguments are scalars; the score is
            float32, or float64 for float64.
        block_mask: which elements count (:func:`create_block_mask`). A query that sees no key has the result 0.
        scale: the factor of scores (``1 / sqrt(E)``).
        enable_gqa: whether several heads of queries may share a head of keys and values: Hq is a multiple of Hkv.
        return_lse: whether the logarithm of the sum of exponentials is returned too. return_aux is its newer form.
        kernel_options: taken, without effect.
        return_aux: what else is returned, as an :class:`AuxOutput`.

    Returns:
        (B, Hq, L, Ev), of the dtype of `query`; with `return_lse` a pair with (B, Hq, L); with `return_aux` a pair
        with an :class:`AuxOutput`.

    Source: Dong et al. 2024, "Flex Attention" (arXiv:2412.05496).

    >>> from strided.nn.attention.flex_attention import create_block_mask, flex_attention
    >>> q, k, v = (strided.randn(1, 2, 6, 4) for _ in range(3))
    >>> slope = strided.tensor([0.5, 0.25])
    >>> def alibi(score, b, h, q_idx, kv_idx):
    ...     return score + slope[h] * (kv_idx - q_idx)
    >>> mask = create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 6, 6, BLOCK_SIZE=2)
    >>> flex_attention(q, k, v, score_mod=alibi, block_mask=mask).shape
    torch.Size([1, 2, 6, 4])

    Raises:
        ValueError: dtypes, devices, heads, batches or lengths do not fit; both `return_lse` and `return_aux`.
        NotImplementedError: an argument has not four axes.
        RuntimeError: the mask is on another device, or was indexed.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. "
            "return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead."
        )
    if key.size(0) != query.size(0):
        key, value = (t.expand(query.size(0), -1, -1, -1) for t in (key, value))
    if key.size(1) != query.size(1):
        key, value = (t.repeat_interleave(query.size(1) // key.size(1), dim=1) for t in (key, value))
    factor = 1 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale
    result_only = not return_lse and return_aux is None
    functions = _Functions(score_mod, None if block_mask is None else block_mask.mask_mod, factor, result_only)
    parts = [_of_part(part, query, key, value, functions) for part in _parts(block_mask, query.size(-2), key.size(-2))]
    result, lse, largest = (
        columns[0] if len(columns) == 1 or columns[0] is None else strided.cat(columns, 2) for columns in zip(*parts)
    )
    if return_aux is not None:
        return result, AuxOutput(lse if return_aux.lse else None, largest if return_aux.max_scores else None)
    return (result, lse) if return_lse else result
