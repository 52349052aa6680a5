"""Attention with functions: values, masks by blocks and their pictures are PyTorch's (whose CPU has no gradients)."""

import math
import operator

import pytest

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.nn.attention.flex_attention")

import strided  # noqa: E402
import strided.nn.attention.flex_attention as ours  # noqa: E402

SCORES = {
    "none": lambda t: None,
    "cap": lambda t: lambda s, b, h, q, kv: 5 * t.tanh(s / 5),
    "heads": lambda t: lambda s, b, h, q, kv: s * (h + 1) + (q - kv) * b,
    "causal": lambda t: lambda s, b, h, q, kv: t.where(q >= kv, s, -math.inf),
}
MASKS = {
    "none": lambda f: None,
    "causal": lambda f: lambda b, h, q, kv: q >= kv,
    "window": lambda f: f.and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 5),
    "either": lambda f: f.or_masks(lambda b, h, q, kv: q == kv, lambda b, h, q, kv: kv < 3),
    "blind": lambda f: lambda b, h, q, kv: (q >= kv) & (q % 3 != 0),
    "heads": lambda f: lambda b, h, q, kv: (q - kv) < (h + 2 * b),
}


@pytest.fixture(autouse=True)
def without_a_compiler(monkeypatch):
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("shape", [(2, 4, 17, 4, 17), (1, 2, 9, 1, 20)])
def test_values_and_masks(shape, score, mask):
    batch, heads, queries, key_heads, keys = shape
    generator = torch.Generator().manual_seed(1)
    drawn = [
        torch.randn(s, dtype=torch.float64, generator=generator)
        for s in ((batch, heads, queries, 4), (batch, key_heads, keys, 4), (batch, key_heads, keys, 3))
    ]
    results, masks = [], []
    for library, flex in ((torch, theirs), (strided, ours)):
        q, k, v = (library.tensor(t.tolist(), dtype=library.float64) for t in drawn)
        mask_mod = MASKS[mask](flex)
        block_mask = mask_mod and flex.create_block_mask(mask_mod, batch, heads, queries, keys, "cpu", BLOCK_SIZE=4)
        masks.append(block_mask)
        aux = flex.AuxRequest(lse=True)
        result = flex.flex_attention(q, k, v, SCORES[score](library), block_mask, enable_gqa=True, return_aux=aux)
        results.append((result[0].tolist(), result[1].lse.tolist()))
    for a, b in zip(*results):
        torch.testing.assert_close(torch.tensor(b), torch.tensor(a), rtol=1e-6, atol=1e-6)
    if masks[0] is None:
        return
    for name in masks[1]._TENSORS:
        a, b = (getattr(m, name) for m in masks)
        assert str(a.dtype) == str(b.dtype) and a.tolist() == b.tolist(), name
    for text in (str, repr, operator.methodcaller("to_string", 3, 2), lambda m: m.shape, lambda m: str(m[0, -1])):
        assert text(masks[0]) == text(masks[1])
