"""Attention: weighted means of values (Vaswani et al., "Attention Is All You Need", 2017)."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import strided

from ... import _C
from ._dropout import dropout
from ._linear import _matmul
from ._padding import plain_pad as pad

if TYPE_CHECKING:
    from ..._typing import Any, Tensor

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def _additive(mask, dtype):
    """A mask to be added to scores: -inf where a boolean one is False."""
    if mask.dtype != strided.bool:
        return mask.to(dtype)
    return strided.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -math.inf)


def _attended(query, key, value, scale, mask, is_causal, dropout_p):
    """softmax(query @ key.T * scale + mask) @ value; rows of the mask that are -inf throughout give zeros."""
    # Both factors get the root of the scale, so that products of 16-bit floats do not overflow.
    root = math.sqrt(abs(scale))
    scores = _matmul(query * math.copysign(root, scale), key.transpose(-2, -1) * root)
    empty = None
    if mask is not None:
        scores = scores + mask
    if mask is not None and not is_causal:  # there every query sees the first key
        empty = (mask == -math.inf).all(-1, keepdim=True)
        if not bool(empty.any()):
            empty = None
    if empty is not None:  # before softmax too: its gradient at rows of -inf is NaN
        scores = scores.masked_fill(empty, 0)
    weights = scores.softmax(-1)
    if empty is not None:
        weights = weights.masked_fill(empty, 0)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p, True)
    return _matmul(weights, value)


def _causal(query, key, value, scale):
    """The same where query i sees keys up to i: block by block of queries, with the keys that each of them can see."""
    made = []
    for part, start in zip(query.split(_CAUSAL_BLOCK, -2), range(0, query.size(-2), _CAUSAL_BLOCK)):
        seen = min(start + part.size(-2), key.size(-2))
        later = strided.full((part.size(-2), seen), -math.inf, dtype=query.dtype, device=query.device).triu_(1 + start)
        made.append(_attended(part, key[..., :seen, :], value[..., :seen, :], scale, later, True, 0.0))
    return strided.cat(made, -2)


_operation = _C.functions["_attention"]
_CAUSAL_BLOCK = 128  # fewer queries make small products, more of them read scores that nobody sees
_LEAST_SCORES = 2048  # of one matrix: batches of smaller ones are faster as batched products


def _has_operation(query, key, value, mask):
    """Whether one operation is to do it: of plain tensors on the CPU, without gradients."""
    if query.size(-1) != key.size(-1) or key.size(-2) != value.size(-2):
        return False  # which the products refuse in PyTorch's words
    given = (query, key, value) if mask is None else (query, key, value, mask)
    if query.size(-2) * key.size(-2) < _LEAST_SCORES or not all(type(t) is strided.Tensor and t.is_cpu for t in given):
        return False
    return not (strided.is_grad_enabled() and any(t.requires_grad for t in given))


def _is_fused(query, key, value, dropout_p):
    """Whether PyTorch's fused kernel would serve, which takes a mask and causality; its formula takes one of them."""
    same = query.shape[:2] == key.shape[:2] == value.shape[:2] and query.size(-1) == key.size(-1) == value.size(-1)
    return query.dim() == 4 and same and dropout_p <= 0


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value.

    Args:
        query: shape (..., queries, features). key: (..., keys, features). value: (..., keys, features of the result).
        attn_mask: boolean (True: takes part) or added to the scores. is_causal: query i sees keys up to i;
            With a mask it sees those that both leave: for tensors of four dimensions that differ in their lengths
            only, and without dropout.
        scale: 1 / sqrt(features) if None. enable_gqa: fewer heads of key and value, each for several of query.
        dropout_p: probability that a weight is zeroed.  Rows that see nothing give zeros.

    >>> q = strided.ones(1, 2, 4)
    >>> strided.nn.functional.scaled_dot_product_attention(q, q, q).shape
    torch.Size([1, 2, 4])
    """
    if not query.dtype == key.dtype == value.dtype:
        q, k, v = (t.dtype._traits["type_name"] for t in (query, key, value))
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {q} key.dtype: {k} and value.dtype: {v} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    if attn_mask is not None and attn_mask.dtype not in (strided.bool, strided.float32, query.dtype):
        m, q = (t.dtype._traits["type_name"] for t in (attn_mask, query))
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {m} and  query.dtype: {q} instead."
        )
    if is_causal and attn_mask is not None and not _is_fused(query, key, value, dropout_p):
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    scale = 1 / math.sqrt(max(query.size(-1), 1)) if scale is None else scale
    dtype = query.dtype
    narrow = dtype in (strided.float16, strided.bfloat16) and query.device.type == "cpu"
    wide = strided.float32 if narrow else dtype
    mask = None if attn_mask is None else _additive(attn_mask, wide)
    if dropout_p <= 0 and _has_operation(query, key, value, mask):
        return _operation(query, key, value, mask, is_causal, scale)
    # On the CPU products of 16-bit floats are computed in float32 anyway: one rounding, at the end.
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    are_plain = query.is_cpu and all(type(t) is strided.Tensor for t in (query, key, value))
    if is_causal and mask is None and dropout_p <= 0 and are_plain and query.size(-2) >= 2 * _CAUSAL_BLOCK:
        return _causal(query, key, value, scale).to(dtype)
    if is_causal:
        sizes = query.size(-2), key.size(-2)
        later = strided.full(sizes, -math.inf, dtype=query.dtype, device=query.device).triu_(1)
        is_causal = mask is None  # a mask may leave a query no key
        mask = later if mask is None else mask + later
    return _attended(query, key, value, scale, mask, is_causal, dropout_p).to(dtype)


def _canonical(mask, name, dtype):
    """A mask of multi_head_attention_forward (True: left out) to be added to scores."""
    if mask is None:
        return None
    if mask.dtype != strided.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask if mask.is_floating_point() else _additive(~mask, dtype)


def _projected(query, key, value, embed_dim, weights, bias):
    """Queries, keys and values; `weights` is one matrix for the three, or a tuple."""
    linear = strided.nn.functional.linear  # read at each call, as in PyTorch: programs put functions of their own there
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    if isinstance(weights, tuple):
        return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    if key is value:
        if query is key:
            return linear(query, weights, bias).chunk(3, -1)
        w_q, w_kv = weights.split([embed_dim, embed_dim * 2])
        b_q, b_kv = (None, None) if bias is None else bias.split([embed_dim, embed_dim * 2])
        return linear(query, w_q, b_q), *linear(key, w_kv, b_kv).chunk(2, -1)
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights.chunk(3), biases))


def _check_shapes(query, key, value, key_padding_mask, attn_mask, heads):
    """Whether there is a batch."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    word, axes = ("batched", 3) if batched else ("unbatched", 2)
    if key.dim() != axes or value.dim() != axes:
        raise AssertionError(
            f"For {word} ({axes}-D) `query`, expected `key` and `value` to be {axes}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != axes - 1:
        raise AssertionError(
            f"For {word} ({axes}-D) `query`, expected `key_padding_mask` to be `None` or {axes - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {word} ({axes}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    if not batched and attn_mask is not None and attn_mask.dim() == 3:
        wanted = (heads, query.size(0), key.size(0))
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return batched


def _mask_of_heads(attn_mask, query, key, heads):
    """attn_mask to be added to the scores of all heads: shape (1 or batch * heads, queries, keys)."""
    mask = _canonical(attn_mask, "attn_mask", query.dtype)
    if mask is None:
        return None
    length, keys = query.size(0), key.size(0)
    if mask.dim() == 2:
        if tuple(mask.shape) != (length, keys):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, keys)}.")
        return mask.unsqueeze(0)
    wanted = (query.size(1) * heads, length, keys)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask


def _padding_of_heads(padding, batch, heads, keys):
    """key_padding_mask in the shape (batch * heads, 1, keys)."""
    if tuple(padding.shape) != (batch, keys):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, keys)}, but got {padding.shape}")
    return padding.view(batch, 1, 1, keys).expand(-1, heads, -1, -1).reshape(batch * heads, 1, keys)


def _weighted_heads(q, k, v, mask, p):
    """The results of heads, shape (batch * heads, queries, features), and their weights."""
    q = q * math.sqrt(1.0 / q.size(2))
    scores = strided.bmm(q, k.transpose(1, 2))
    weights = (scores if mask is None else scores + mask).softmax(-1)
    if p > 0.0:
        weights = dropout(weights, p)
    return strided.bmm(weights, v), weights


def _heads(q, k, v, heads, mask, p, is_causal):
    """The same without weights."""
    four = lambda x: x.view(x.size(0) // heads, heads, *x.shape[1:])
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.size(0) == 1 else four(mask)
    made = strided.nn.functional.scaled_dot_product_attention(four(q), four(k), four(v), mask, p, is_causal)
    return made.reshape(q.shape)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads between projections: what MultiheadAttention computes.

    Args:
        query: shape (queries, batch, features); key, value: (keys, batch, features). key_padding_mask: (batch, keys),
            attn_mask: (queries, keys) or (batch * heads, queries, keys): boolean (True: left out) or added.
        is_causal: attn_mask is that of query i seeing keys up to i. It is not looked at then, without need_weights and
            key_padding_mask.

    Returns the result, and the weights (None without need_weights).
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same_key, same_value = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same_key else key.unsqueeze(1)
        value = key if same_value else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed_dim = query.shape
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if not use_separate_proj_weight and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if attn_mask is not None and key_padding_mask is not None and attn_mask.dtype != key_padding_mask.dtype:
        warnings.warn(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    padding = _canonical(key_padding_mask, "key_padding_mask", query.dtype)
    is_causal = is_causal and padding is None and not need_weights  # then the mask is not looked at, as in PyTorch
    mask = None if is_causal else _mask_of_heads(attn_mask, query, key, num_heads)
    weights: Any = in_proj_weight
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _projected(query, key, value, embed_dim, weights, in_proj_bias)
    if (bias_k is None) != (bias_v is None):
        there, missing = ("bias_v", "bias_k") if bias_k is None else ("bias_k", "bias_v")
        raise AssertionError(f"{there} is set but {missing} is None")
    if bias_k is not None and bias_v is not None:
        for given, what in ((static_k, "key"), (static_v, "value")):
            if given is not None:
                raise AssertionError(f"bias cannot be added to static {what}.")
        k, v = strided.cat([k, bias_k.repeat(1, batch, 1)]), strided.cat([v, bias_v.repeat(1, batch, 1)])
        mask, padding = (None if m is None else pad(m, (0, 1)) for m in (mask, padding))
    size = embed_dim // num_heads
    split = lambda x: x.reshape(x.size(0), batch * num_heads, size).transpose(0, 1)
    q = split(q)
    k, v = (split(x) if given is None else given for x, given in ((k, static_k), (v, static_v)))
    if add_zero_attn:
        zero = strided.zeros(batch * num_heads, 1, size, dtype=k.dtype, device=k.device)
        k, v = strided.cat([k, zero], 1), strided.cat([v, zero], 1)
        mask, padding = (None if m is None else pad(m, (0, 1)) for m in (mask, padding))
    if padding is not None:
        padding = _padding_of_heads(padding, batch, num_heads, k.size(1))
        mask = padding if mask is None else mask + padding
    p, found = dropout_p if training else 0.0, None
    if need_weights:
        made, found = _weighted_heads(q, k, v, mask, p)
    else:
        made = _heads(q, k, v, num_heads, mask, p, is_causal)
    made = made.transpose(0, 1).reshape(length * batch, embed_dim)
    made = strided.nn.functional.linear(made, out_proj_weight, out_proj_bias).view(
        length, batch, out_proj_weight.size(0)
    )
    if found is not None:
        found = found.view(batch, num_heads, length, k.size(1))
        found = found.mean(1) if average_attn_weights else found
    if not batched:
        return made.squeeze(1), None if found is None else found.squeeze(0)
    return made, found
