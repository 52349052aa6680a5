"""Attention with functions of scores and masks, beside the same written out with all scores at once, in float64."""

import math

import pytest
import strided
from strided.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

SLOPE = strided.tensor([0.5, 0.25, -0.3, 0.1], dtype=strided.float64)
DOCUMENT = strided.tensor([0] * 5 + [1] * 4 + [2] * 31)
SCORES = {
    "none": None,
    "alibi": lambda s, b, h, q, kv: s + SLOPE[h] * (kv - q),
    "cap": lambda s, b, h, q, kv: 5 * strided.tanh(s / 5),
    "batch": lambda s, b, h, q, kv: strided.where(q + b >= kv, s, -math.inf),
}
MASKS = {
    "none": None,
    "causal": lambda b, h, q, kv: q >= kv,
    "document": lambda b, h, q, kv: DOCUMENT[q] == DOCUMENT[kv],
    "ends": lambda b, h, q, kv: (kv < 3) | (kv > 11),
    "blind": lambda b, h, q, kv: (q >= kv) & (q % 3 != 0),
    "heads": lambda b, h, q, kv: (q - kv).abs() < h + 2 * b,
}


def draw(batch, heads, queries, size, key_heads, keys):
    generator = strided.Generator().manual_seed(queries * keys)
    shapes = (batch, heads, queries, size), (batch, key_heads, keys, size), (batch, key_heads, keys, size + 1)
    return [strided.randn(s, dtype=strided.float64, generator=generator).requires_grad_() for s in shapes]


def written_out(q, k, v, score_mod, mask_mod, scale):
    """All scores at once; the function of scores is called with one set of numbers after the other."""
    groups = q.size(1) // k.size(1)
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT * scale
    places = [strided.arange(n).view([-1 if i == j else 1 for j in range(4)]) for i, n in enumerate(scores.shape)]
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if mask_mod is not None:
        scores = scores.masked_fill(~mask_mod(*places), -math.inf)
    blind = (scores == -math.inf).all(-1, keepdim=True)
    lse = scores.masked_fill(blind, 0).logsumexp(-1).masked_fill(blind.squeeze(-1), -math.inf)
    return scores.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0) @ v, lse, scores.amax(-1)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("shape", [(2, 4, 17, 8, 4, 17), (1, 2, 9, 4, 1, 20), (2, 4, 1, 3, 2, 16), (1, 1, 16, 2, 1, 3)])
def test_values_and_gradients_are_those_of_all_scores_at_once(shape, score, mask):
    ours, theirs = draw(*shape), draw(*shape)
    score_mod, mask_mod = SCORES[score], MASKS[mask]
    block_mask = mask_mod and create_block_mask(mask_mod, shape[0], shape[1], shape[2], shape[5], BLOCK_SIZE=(4, 3))
    result, aux = flex_attention(
        *ours, score_mod, block_mask, scale=0.7, enable_gqa=True, return_aux=AuxRequest(lse=True, max_scores=True)
    )
    expected = written_out(*theirs, score_mod, mask_mod, 0.7)
    for a, b in zip((result, *aux), expected):
        strided.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    alone = flex_attention(*ours, score_mod, block_mask, scale=0.7, enable_gqa=True)
    strided.testing.assert_close(alone, expected[0], rtol=1e-12, atol=1e-12)
    result = strided.cat([result, alone])
    weight = strided.linspace(-1, 1, result.numel(), dtype=strided.float64).view(result.shape)
    (result * weight).sum().backward()
    (strided.cat([expected[0]] * 2) * weight).sum().backward()
    for a, b in zip(ours, theirs):
        strided.testing.assert_close(a.grad, b.grad, rtol=1e-10, atol=1e-11)
        assert a.grad.isfinite().all()


def test_gradients_reach_what_the_functions_read():
    q, k, v = draw(1, 2, 6, 4, 2, 6)
    slope = strided.tensor([0.5, -0.5], dtype=strided.float64, requires_grad=True)
    mask = create_block_mask(MASKS["causal"], None, None, 6, 6, BLOCK_SIZE=2)

    def attend(q, k, v, slope):
        return flex_attention(q, k, v, lambda s, b, h, i, j: s + slope[h] * (j - i), mask)

    assert strided.autograd.gradcheck(attend, (q, k, v, slope))


@pytest.mark.parametrize("dtype", [strided.float32, strided.float16, strided.bfloat16])
def test_narrow_dtypes_have_wide_scores(dtype):
    q, k, v = (t.detach().to(dtype) for t in draw(1, 2, 9, 4, 2, 9))
    mask = create_block_mask(MASKS["causal"], None, None, 9, 9, BLOCK_SIZE=4)
    seen = []

    def score_mod(s, b, h, i, j):
        seen.append(s.dtype)
        return s

    result, lse = flex_attention(q, k, v, score_mod, mask, return_lse=True)
    assert result.dtype == dtype and lse.dtype == strided.float32 and set(seen) == {strided.float32}
    expected = written_out(q.double(), k.double(), v.double(), None, MASKS["causal"], 0.5)[0]
    strided.testing.assert_close(result.double(), expected, rtol=0, atol=4 * strided.finfo(dtype).eps)


def test_blocks_that_are_listed_count_and_others_do_not():
    """Without a function. The last block of keys is cut off by the length."""
    q, k, v = draw(1, 1, 4, 2, 1, 5)
    number, index = strided.tensor([[[1, 2]]]), strided.tensor([[[[1, 0, 2], [2, 0, 1]]]])
    mask = BlockMask.from_kv_blocks(number.int(), index.int(), BLOCK_SIZE=2, seq_lengths=(4, 5))
    assert mask.mask_mod is noop_mask and mask.shape == (1, 1, 4, 5)
    listed = strided.tensor([[0, 0, 1, 1, 0]] * 2 + [[1, 1, 0, 0, 1]] * 2).bool()
    expected = strided.nn.functional.scaled_dot_product_attention(q, k, v, listed)
    strided.testing.assert_close(flex_attention(q, k, v, block_mask=mask), expected)
    assert mask.q_num_blocks.tolist() == [[[1, 1, 1]]] and mask.q_indices[..., 0].tolist() == [[[1, 0, 1]]]


def test_one_batch_of_keys_serves_all_batches_of_a_mask():
    q, k, v = (t.detach() for t in draw(3, 2, 4, 2, 2, 4))
    mask = create_block_mask(MASKS["heads"], 3, 2, 4, 4, BLOCK_SIZE=2)
    expected = flex_attention(q, k[:1].expand(3, -1, -1, -1), v[:1].expand(3, -1, -1, -1), block_mask=mask)
    assert flex_attention(q, k[:1], v[:1], block_mask=mask).equal(expected)


def test_masks_of_functions():
    band = and_masks(MASKS["causal"], lambda b, h, q, kv: q - kv < 2)
    assert create_mask(band, None, None, 3, 3)[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    both = or_masks(MASKS["causal"], lambda b, h, q, kv: kv == 2)
    assert create_mask(both, 2, 1, 3, 3).shape == (2, 1, 3, 3)
    assert create_mask(both, 1, 1, 3, 3)[0, 0].int().tolist() == [[1, 0, 1], [1, 1, 1], [1, 1, 1]]
    assert create_mask(SCORES["batch"], 2, None, 2, 3).int().tolist() == [
        [[[1, 0, 0], [1, 1, 0]]],
        [[[1, 1, 0], [1] * 3]],
    ]
    with pytest.raises(RuntimeError, match="should be callable"):
        and_masks(band, 3)
    with pytest.raises(AssertionError, match="Expected 4 or 5"):
        create_mask(lambda b: b, 1, 1, 2, 2)
    with pytest.raises(AssertionError, match="requires a mask_mod"):
        create_block_mask(SCORES["batch"], 1, 1, 2, 2)


def test_parts_of_block_masks():
    mask = create_block_mask(MASKS["heads"], 2, 3, 10, 7, BLOCK_SIZE=(4, 2))
    whole = mask.to_dense()
    assert whole.shape == (2, 3, 3, 4) and mask.numel() == 2 * 3 * 10 * 7
    assert mask[1].to_dense().equal(whole[1:]) and mask[-1, 0].to_dense().equal(whole[1:, :1])
    assert mask[:, 1:, strided.tensor([2])].to_dense().equal(whole[:, 1:, 2:])
    cropped = mask._adjust(5, 4)
    assert cropped.shape == (2, 3, 5, 4) and cropped.to_dense().equal(whole[:, :, :2, :2])
    assert cropped.mask_mod is mask.mask_mod and cropped.q_num_blocks.shape == (2, 3, 2)
    assert mask.to("cpu").to_dense().equal(whole) and len(mask.as_tuple()) == 13 and len(mask.as_tuple(False)) == 11
    one_list = create_block_mask(MASKS["heads"], 2, 3, 10, 7, BLOCK_SIZE=(4, 2), separate_full_blocks=False)
    assert one_list.full_kv_num_blocks is None and one_list.to_dense().equal(whole)
    assert mask.to_string(limit=1).splitlines()[-3:][0] == "..." and "(1, 2)" in mask.to_string(-1, limit=6)
    assert repr(mask).startswith("BlockMask(\n    kv_num_blocks=torch.Size([2, 3, 3]),")


def test_what_does_not_fit_says_so():
    q, k, v = (t.detach() for t in draw(2, 4, 6, 4, 2, 6))
    mask = create_block_mask(MASKS["causal"], None, None, 6, 6, BLOCK_SIZE=2)
    with pytest.raises(ValueError, match="Try setting enable_gqa=True"):
        flex_attention(q, k, v)
    with pytest.raises(ValueError, match="multiple of kv heads"):
        flex_attention(q[:, :3], k, v, enable_gqa=True)
    with pytest.raises(ValueError, match="same batch size, or non-none block_mask"):
        flex_attention(q[:, :2], k[:1], v[:1])
    with pytest.raises(ValueError, match="created for a larger length"):
        flex_attention(q[:, :2, :5], k, v, block_mask=mask)
    with pytest.raises(ValueError, match="created for a smaller length"):
        flex_attention(q[:, :2].repeat(1, 1, 2, 1), k, v, block_mask=mask)
    with pytest.raises(RuntimeError, match="sliced BlockMask"):
        flex_attention(q[:, :2], k, v, block_mask=mask[0])
    with pytest.raises(ValueError, match="same dtype"):
        flex_attention(q[:, :2].float(), k, v)
    with pytest.raises(ValueError, match="same embedding dimension"):
        flex_attention(q[:, :2, :, :3], k, v)
    with pytest.raises(NotImplementedError, match="4D tensors"):
        flex_attention(q[0], k[0], v[0])
    with pytest.raises(TypeError, match="query must be a Tensor, not int"):
        flex_attention(1, k, v)
    with pytest.raises(ValueError, match="both return_lse and return_aux"):
        flex_attention(q[:, :2], k, v, return_lse=True, return_aux=AuxRequest())
    with pytest.raises(NotImplementedError, match="compute_dq_write_order"):
        create_block_mask(MASKS["causal"], 1, 1, 2, 2, compute_dq_write_order=True)
    for size in (0, (2, -1)):
        with pytest.raises(ValueError, match="BLOCK_SIZE must be positive"):
            create_block_mask(MASKS["causal"], 1, 1, 4, 4, BLOCK_SIZE=size)
    with pytest.raises(AssertionError, match="mask.dtype must be torch.bool, got torch.float32"):
        create_block_mask(lambda b, h, q, kv: q * 1.0, 1, 1, 2, 2)
    with pytest.raises(TypeError, match="block_mask must be a BlockMask, not int"):
        flex_attention(q[:, :2], k, v, block_mask=3)
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        BlockMask.from_kv_blocks(strided.ones(1), strided.ones(1))
    with pytest.raises(AssertionError, match="both provided or omitted"):
        BlockMask.from_kv_blocks(strided.ones(1), strided.ones(1, 1), strided.ones(1))


def test_nothing_to_attend_to():
    q, k = strided.ones(1, 1, 3, 2), strided.ones(1, 1, 0, 2)
    result, lse = flex_attention(q, k, k, return_lse=True)
    assert result.tolist() == [[[[0, 0]] * 3]] and lse.tolist() == [[[-math.inf] * 3]]
    assert flex_attention(q[:, :0], q[:, :0], q[:, :0]).shape == (1, 0, 3, 2)
    assert flex_attention(q[..., :0], q[..., :0], q).equal(q)  # all scores are 0
    empty = create_block_mask(MASKS["causal"], 1, 1, 0, 4, BLOCK_SIZE=2)
    assert empty.sparsity() == 0 and "sparsity=0.00%" in repr(empty)
