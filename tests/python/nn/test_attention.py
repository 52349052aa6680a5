"""scaled_dot_product_attention: masks, sizes and layouts, and queries that see nothing."""

import math
import os
import subprocess
import sys

import pytest
import strided
from strided.nn.functional import scaled_dot_product_attention


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_queries_that_see_nothing_have_no_gradient(kind):
    strided.manual_seed(0)
    q, k, v = (strided.randn(2, 3, 4, dtype=strided.float64, requires_grad=True) for _ in range(3))
    mask = strided.ones(2, 3, 3, dtype=strided.bool)
    mask[0, 1] = False
    if kind == "float":
        mask = strided.zeros(2, 3, 3, dtype=strided.float64).masked_fill(~mask, -float("inf"))
    made = scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert (made[0, 1] == 0).all() and (made[1] != 0).all()
    made.square().sum().backward()
    for x in (q, k, v):
        assert x.grad.isfinite().all()
    assert (q.grad[0, 1] == 0).all() and (q.grad[0, 0] != 0).all()

    rest = scaled_dot_product_attention(q[0, ::2], k[0], v[0])  # the other queries are as without the one
    assert strided.equal(made[0, ::2], rest) or (made[0, ::2] - rest).abs().max() < 1e-14


@pytest.mark.parametrize("dtype", [strided.float32, strided.bfloat16, strided.float64])
@pytest.mark.parametrize("asks", [False, True])
def test_without_features_all_keys_weigh_the_same(dtype, asks):
    q, k = strided.ones(1, 3, 0, dtype=dtype), strided.ones(1, 4, 0, dtype=dtype)
    v = strided.arange(8.0).view(1, 4, 2).to(dtype).requires_grad_(asks)
    assert scaled_dot_product_attention(q, k, v).tolist() == [[[3, 4]] * 3]


def test_its_gradient_beside_such_a_query():
    strided.manual_seed(1)
    q, k, v = (strided.randn(1, 2, 3, dtype=strided.float64, requires_grad=True) for _ in range(3))
    mask = strided.tensor([[True, True], [False, False]])
    assert strided.autograd.gradcheck(lambda *x: scaled_dot_product_attention(*x, attn_mask=mask), (q, k, v))


@pytest.mark.parametrize("lead", [(5,), (2, 3), (65,)])
@pytest.mark.parametrize("dtype", [strided.float32, strided.float64, strided.float16])
def test_some_matrices_at_a_time(lead, dtype):
    strided.manual_seed(0)
    q, k = strided.randn(*lead, 300, 4).to(dtype), strided.randn(*lead, 350, 4).to(dtype)
    v = strided.randn(*lead, 3, 350).to(dtype).transpose(-1, -2)
    mask = strided.rand(300, 350) > 0.5
    mask[7] = False  # sees nothing
    for options in ({}, {"is_causal": True}, {"attn_mask": mask}, {"scale": -0.3}):
        made = scaled_dot_product_attention(q, k, v, **options)
        recorded = scaled_dot_product_attention(q.clone().requires_grad_(), k, v, **options)
        assert recorded.requires_grad and made.dtype is dtype
        strided.testing.assert_close(made, recorded.detach())
        one = scaled_dot_product_attention(q[0], k[0], v[0], **options)
        strided.testing.assert_close(made[0], one)
        assert "attn_mask" not in options or not made[..., 7, :].any()


@pytest.mark.parametrize("queries, keys", [(300, 300), (40, 900), (900, 40), (1, 70000), (257, 31), (1200, 1)])
@pytest.mark.parametrize("layout", ["plain", "transposed", "turned"])
def test_some_queries_at_a_time(queries, keys, layout):
    strided.manual_seed(0)
    q, k, v = (strided.randn(2, 3, n, 5, dtype=strided.float64) for n in (queries, keys, keys))
    if layout == "transposed":
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    elif layout == "turned":
        q, k, v = (x.flip(2).contiguous().flip(2)[..., :4] for x in (q, k, v))
    later = strided.ones(queries, keys, dtype=strided.bool).triu(1)
    wide = strided.randn(queries, keys, dtype=strided.float64)
    for mask in (None, wide, wide[:1], wide[:, :1], wide[0]):
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        made = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        expected = (scores if mask is None else scores + mask).softmax(-1) @ v
        strided.testing.assert_close(made, expected, rtol=1e-12, atol=1e-12)
    made = scaled_dot_product_attention(q, k, v, is_causal=True)
    strided.testing.assert_close(made, scores.masked_fill(later, -float("inf")).softmax(-1) @ v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_masks_and_batches_that_broadcast(causal):
    strided.manual_seed(0)
    leads = [(2, 3)] * 3 if causal else [(2, 1), (3,), (1, 3)]  # causal and a mask: of equal leading sizes only
    sizes = [(90, 4), (70, 4), (70, 4)]
    q, k, v = (strided.randn(*lead, *size, dtype=strided.float64) for lead, size in zip(leads, sizes))
    masks = [strided.randn(s, dtype=strided.float64) for s in ((2, 1, 90, 70), (3, 1, 70), (90, 1))]
    masks += [] if causal else [strided.randn(s, dtype=strided.float64) for s in ((70,), (4, 1, 1, 90, 70))]
    hidden = strided.rand(3, 90, 70) > 0.1
    hidden[0, 7] = hidden[2, 64] = True  # no key is left
    hidden[1, 3, :4] = True  # and none of those before, if causal
    masks.append(strided.zeros(3, 90, 70, dtype=strided.float64).masked_fill_(hidden, -math.inf))
    for mask in masks:
        made = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        recorded = scaled_dot_product_attention(q, k, v.clone().requires_grad_(), attn_mask=mask, is_causal=causal)
        assert recorded.requires_grad and made.shape == recorded.shape
        strided.testing.assert_close(made, recorded.detach(), rtol=1e-12, atol=1e-12)
    assert not made[:, 0, 7].any() and not made[:, 2, 64].any() and bool(made[:, 1, 3].any()) is not causal


def test_one_key_that_is_not_a_number_reaches_those_that_see_it():
    q = k = v = strided.ones(1, 1, 200, 8)
    k = k.clone()
    k[..., 130, 0] = math.nan
    made = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert made[..., 130:, :].isnan().all() and made[..., :130, :].isfinite().all()
    assert scaled_dot_product_attention(q, k, v).isnan().all()


# Weights of bfloat16 attention may be rounded before they are multiplied with the values, and results are afterwards.
def check_narrow(dtype, queries, keys, features, layout):
    strided.manual_seed(0)
    q, k, v = (strided.randn(2, 3, n, features).to(dtype) for n in (queries, keys, keys))
    if layout == "transposed":
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    elif layout == "turned":
        q, k, v = (x.flip(2).contiguous().flip(2)[..., :-1] for x in (q, k, v))
    elif layout == "expanded":
        k, v = k[:, :1].expand(2, 3, keys, features), v[:1, :, :1].expand(2, 3, keys, features)
    hidden = strided.zeros(queries, keys).masked_fill(strided.rand(queries, keys) < 0.2, -math.inf)
    hidden[queries // 2] = -math.inf  # sees nothing
    later = strided.zeros(queries, keys).masked_fill(strided.ones(queries, keys, dtype=strided.bool).triu(1), -math.inf)
    for options, mask in (
        ({}, strided.zeros_like(later)),
        ({"is_causal": True}, later),
        ({"attn_mask": hidden}, hidden),
    ):
        made = scaled_dot_product_attention(q, k, v, **options)
        assert made.dtype is dtype and made.shape == q.shape
        wide, mask = [x.double() for x in (q, k, v)], mask.double()
        exact = scaled_dot_product_attention(*wide, attn_mask=mask)
        sizes = scaled_dot_product_attention(*wide[:2], wide[2].abs(), attn_mask=mask)
        unit = strided.finfo(dtype).eps / 2
        assert ((made.double() - exact).abs() <= 2.5 * unit * sizes).all(), (queries, keys, layout, options.keys())


SIZES = [(300, 300, 16), (40, 900, 64), (900, 40, 33), (3, 1000, 5), (257, 31, 32), (513, 600, 8), (2100, 1, 4)]


@pytest.mark.parametrize("layout", ["plain", "transposed", "turned", "expanded"])
@pytest.mark.parametrize("dtype", [strided.bfloat16, strided.float16])
def test_narrow_operands(dtype, layout):
    for sizes in SIZES:
        check_narrow(dtype, *sizes, layout)


def test_narrow_operands_that_are_not_finite():
    q, k, v = (strided.ones(1, 1, 200, 8, dtype=strided.bfloat16) for _ in range(3))
    k[..., 130, 0] = math.nan
    made = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert made[..., 130:, :].isnan().all() and (made[..., :130, :] == 1).all()
    v[..., 150, 3] = math.inf
    made = scaled_dot_product_attention(q, q, v)
    assert (made[..., 3] == math.inf).all() and (made[..., :3] == 1).all() and (made[..., 4:] == 1).all()


@pytest.mark.parametrize("products", ["plain", "dots", "tiles"])
def test_narrow_operands_by_each_kind_of_loop(products):
    here = os.path.dirname(__file__)
    code = "from test_attention import *; check_narrow(strided.bfloat16, 300, 700, 40, 'plain')"
    environment = os.environ | {"STRIDED_PRODUCTS": products, "PYTHONPATH": here}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    if "this processor lacks them" in done.stderr:
        pytest.skip(f"no {products} here")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sizes", [(0, 5, 4, 3), (5, 0, 4, 3), (50, 60, 0, 3), (50, 60, 4, 0), (5, 6, 0, 3)])
@pytest.mark.parametrize("function", [scaled_dot_product_attention, strided._C.functions["_attention"]])
def test_empty_sizes(sizes, function):
    queries, keys, features, values = sizes
    q, k, v = strided.ones(2, queries, features), strided.ones(2, keys, features), strided.ones(2, keys, values)
    made = function(q, k, v, scale=1.0)
    assert made.shape == (2, queries, values)
    assert made.equal(strided.full(made.shape, 1.0 if keys else 0.0))


def test_an_encoder_recognises_causal_masks_of_both_kinds():
    class Layer(strided.nn.TransformerEncoderLayer):
        def forward(self, src, **options):
            seen.append(options["is_causal"])
            return super().forward(src, **options)

    encoder, seen = strided.nn.TransformerEncoder(Layer(4, 2, 8, batch_first=True), 1), []
    later = strided.ones(3, 3).triu(1).bool()
    for mask in (later, strided.nn.Transformer.generate_square_subsequent_mask(3), ~later, None):
        encoder(strided.ones(1, 3, 4), mask)
    assert seen == [True, True, False, False]


def test_dtypes_that_differ_are_named():
    q = strided.ones(1, 2, 4)
    with pytest.raises(RuntimeError, match=r"query.dtype: float key.dtype: double and value.dtype: float instead\."):
        scaled_dot_product_attention(q, q.double(), q)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("length, batch", [(3, 0), (0, 2), (0, 0)])
def test_a_layer_takes_empty_batches_and_sequences(length, batch, weights, masked):
    layer, x = strided.nn.MultiheadAttention(16, 2), strided.rand(length, batch, 16, requires_grad=True)
    mask = strided.zeros(length, length, dtype=strided.bool) if masked else None
    made, found = layer(x, x, x, need_weights=weights, attn_mask=mask)
    made.sum().backward()
    assert made.shape == x.shape == x.grad.shape and layer.out_proj.weight.grad.count_nonzero() == 0
    assert found is None if not weights else found.shape == (batch, length, length)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("batch_first, shape", [(True, (0, 10, 16)), (False, (10, 0, 16))])
def test_transformers_take_empty_batches(batch_first, shape, training):
    options = {"d_model": 16, "nhead": 2, "dim_feedforward": 8, "batch_first": batch_first}
    encoder = strided.nn.TransformerEncoder(
        strided.nn.TransformerEncoderLayer(**options), 2, enable_nested_tensor=False
    )
    decoder = strided.nn.TransformerDecoderLayer(**options)
    x = strided.rand(shape)
    assert encoder.train(training)(x).shape == shape and decoder.train(training)(x, x).shape == shape


@pytest.mark.parametrize("queries, keys", [(300, 300), (260, 400), (400, 129), (256, 1)])
def test_recorded_causal_attention_goes_block_by_block(queries, keys):
    strided.manual_seed(0)
    q, k, v = (strided.randn(2, n, 5, dtype=strided.float64, requires_grad=True) for n in (queries, keys, keys))
    mask = strided.ones(queries, keys, dtype=strided.bool).tril()
    ours = scaled_dot_product_attention(q, k, v, is_causal=True)
    plain = scaled_dot_product_attention(q, k, v, attn_mask=mask)
    strided.testing.assert_close(ours, plain)
    strided.testing.assert_close(ours, scaled_dot_product_attention(*(t.detach() for t in (q, k, v)), is_causal=True))
    weight = strided.randn(ours.shape, dtype=strided.float64)
    found = strided.autograd.grad((ours * weight).sum(), (q, k, v), create_graph=True)
    wanted = strided.autograd.grad((plain * weight).sum(), (q, k, v), create_graph=True)
    strided.testing.assert_close(found, wanted)
    second = [strided.autograd.grad(sum(g.square().sum() for g in grads), (q, k, v)) for grads in (found, wanted)]
    strided.testing.assert_close(*second)


def calls_seen(monkeypatch, call):
    """The names of functions, put in place of public ones, that are called."""
    seen = []

    def watched(owner, name):
        before = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **k: (seen.append(name), before(*a, **k))[1])

    with monkeypatch.context() as monkeypatch:
        for owner, names in (
            (strided.nn.functional, ("linear", "scaled_dot_product_attention")),
            (strided, ("addmm", "matmul", "bmm", "mm")),
            (strided.Tensor, ("matmul", "bmm", "mm", "addmm")),
        ):
            for name in names:
                watched(owner, name)
        call()
    return sorted(seen)


@pytest.mark.parametrize(
    ("options", "want"),
    [({}, ["bmm", "bmm", "linear", "linear"]),
     ({"need_weights": False}, ["linear", "linear", "scaled_dot_product_attention"])],
)  # fmt: skip
def test_programs_that_count_products_see_each_once(monkeypatch, options, want):
    x, layer = strided.randn(2, 3, 8), strided.nn.MultiheadAttention(8, 2, batch_first=True)
    assert calls_seen(monkeypatch, lambda: layer(x, x, x, **options)) == want
    attend = lambda: strided.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    assert calls_seen(monkeypatch, attend) == ["scaled_dot_product_attention"]


@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 8)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_is_one_call(monkeypatch, shape, bias):
    layer = strided.nn.Linear(8, 4, bias=bias)
    assert calls_seen(monkeypatch, lambda: layer(strided.randn(shape))) == ["linear"]
