"""strided.nested: samples of different lengths, against a loop over the samples."""

import copy
import operator
import pickle

import pytest
import strided
from strided import nn
from strided.nn import functional as F

LENGTHS = [2, 4, 1]


def samples(*rest, ragged=0):
    strided.manual_seed(1)
    return [strided.randn(*rest[:ragged], n, *rest[ragged:], dtype=strided.float64) for n in LENGTHS]


def nested(rows, **options):
    return strided.nested.nested_tensor(rows, layout=strided.jagged, **options)


def same(made, rows):
    parts = made.unbind()
    assert len(parts) == len(rows)
    for one, two in zip(parts, rows):
        strided.testing.assert_close(one, two)


@pytest.mark.parametrize("f", [
    lambda t: t + 1, lambda t: 2 - t, lambda t: t * t, lambda t: t > 0, lambda t: t.exp().neg(), strided.sigmoid,
    lambda t: F.relu(t) / 3, lambda t: F.gelu(t), lambda t: t.clamp(0, 1), lambda t: t.masked_fill(t > 0, 0.0),
    lambda t: t.to(strided.float32), lambda t: t.float().bool(), lambda t: strided.where(t > 0, t, -t),
    lambda t: t.softmax(-1), lambda t: F.log_softmax(t, -1), lambda t: F.layer_norm(t, (4,)),
    lambda t: F.rms_norm(t, (4,)),
    lambda t: F.linear(t, strided.eye(4, dtype=strided.float64)[:3]),
    lambda t: t @ strided.ones(4, 2, dtype=strided.float64),
    lambda t: t.sum(-1), lambda t: t.mean(-1, keepdim=True), lambda t: t.unflatten(-1, (2, 2)), lambda t: t[..., 1:3],
    lambda t: t.unflatten(-1, (2, 2)).flatten(-2), lambda t: t.chunk(2, -1)[1], lambda t: t.split([1, 3], -1)[1],
    lambda t: strided.cat([t, t * 2], -1), lambda t: t.unsqueeze(-1), lambda t: t.unsqueeze(-1).squeeze(-1),
    lambda t: t[..., 0], lambda t: t.clone().add_(1), strided.zeros_like, lambda t: t.amax(-1),
    lambda t: F.normalize(t, dim=-1),
], ids=range(34))  # fmt: skip
def test_functions_of_each_sample(f):
    rows = samples(4)
    same(f(nested(rows)), [f(row) for row in rows])


def test_what_it_says_of_itself():
    x = nested(samples(4))
    assert isinstance(x, strided.Tensor) and x.is_nested and x.layout is strided.jagged and x.dim() == x.ndim == 3
    assert len(x) == x.size(0) == 3 and x.size(2) == 4 and x.numel() == 28 and x.dtype is strided.float64
    assert x.values().shape == (7, 4) and x.offsets().tolist() == [0, 2, 6, 7] and x.lengths() is None
    assert x.shape[1] == (x * 2).shape[1] != nested(samples(4)).shape[1]
    assert str(x.shape).startswith("torch.Size([3, j") and repr(x).startswith("NestedTensor(size=(3, j")
    y = strided.nested.nested_tensor(samples(4))
    assert y.layout is strided.strided and repr(y).startswith("nested_tensor([\n  tensor([[")
    with pytest.raises(RuntimeError, match="irregular"):
        y.size(1)
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert strided.equal(made, x) and made.layout is strided.jagged


def test_along_the_ragged_axis():
    rows = samples(4)
    x = nested(rows)
    for name in ("sum", "mean", "amax", "amin"):
        made = getattr(x, name)(1)
        strided.testing.assert_close(made, strided.stack([getattr(row, name)(0) for row in rows]))
    assert x.sum(1, keepdim=True).shape == (3, 1, 4)
    strided.testing.assert_close(x.max(1).values, x.amax(1))
    same(x.softmax(1), [row.softmax(0) for row in rows])
    strided.testing.assert_close(x.sum(), sum(row.sum() for row in rows))
    strided.testing.assert_close(x.sum((0, 1)), strided.cat(rows).sum(0))
    same(x + x.mean(1, keepdim=True), [row + row.mean(0) for row in rows])


def test_padding():
    rows = samples(4)
    made = strided.nested.to_padded_tensor(nested(rows), -1.0)
    assert made.shape == (3, 4, 4) and strided.equal(made[0, :2], rows[0]) and bool((made[0, 2:] == -1).all())
    assert nested(rows).to_padded_tensor(0.0, (3, 6, 4)).shape == (3, 6, 4)
    with pytest.raises(RuntimeError, match="Truncation"):
        nested(rows).to_padded_tensor(0.0, (3, 2, 4))
    other = nested(samples(4)).transpose(1, 2).to_padded_tensor(0.0)
    strided.testing.assert_close(other, strided.nested.to_padded_tensor(nested(rows), 0.0).mT)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    rows = samples(8)
    x = nested(rows, requires_grad=True)

    def heads(t):
        return t.unflatten(-1, (2, 4)).transpose(-3, -2)

    made = F.scaled_dot_product_attention(heads(x), heads(x * 2), heads(x), is_causal=causal)
    assert made.transpose(1, 2).flatten(-2).shape[1] == x.shape[1]
    leaves = [row.clone().requires_grad_() for row in rows]
    wanted = [F.scaled_dot_product_attention(heads(r), heads(r * 2), heads(r), is_causal=causal) for r in leaves]
    same(made, wanted)
    made.sin().sum().backward()
    sum(w.sin().sum() for w in wanted).backward()
    same(x.grad, [r.grad for r in leaves])


def test_gradients_and_modules():
    strided.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.0), nn.Linear(8, 4)).double()
    rows = [row.requires_grad_() for row in samples(4)]
    x = strided.nested.as_nested_tensor(rows, layout=strided.jagged)
    (net(x) + x).mean(1).sum().backward()
    found, weight = [row.grad for row in rows], net[0].weight.grad
    for row in rows:
        row.grad = None
    net.zero_grad()
    sum((net(row) + row).mean(0).sum() for row in rows).backward()
    for one, row in zip(found, rows):
        strided.testing.assert_close(one, row.grad)
    strided.testing.assert_close(weight, net[0].weight.grad)
    leaf = nested(samples(4), requires_grad=True)
    (one,) = strided.autograd.grad((leaf * leaf).sum(), leaf)
    same(one, [2 * row for row in samples(4)])
    assert leaf.requires_grad and leaf.is_leaf and leaf.grad is None and not leaf.detach().requires_grad


def test_ways_to_make_them():
    values, offsets = strided.arange(10.0).view(5, 2), strided.tensor([0, 2, 5])
    x = strided.nested.nested_tensor_from_jagged(values, offsets)
    assert [t.shape[0] for t in x.unbind()] == [2, 3]
    y = strided.nested.nested_tensor_from_jagged(values, lengths=strided.tensor([2, 3]))
    assert strided.equal(x, y)
    holes = strided.nested.nested_tensor_from_jagged(values, offsets, lengths=strided.tensor([1, 2]))
    same(holes, [values[:1], values[2:4]])
    assert strided.nested.nested_tensor_from_jagged(values.T, offsets, jagged_dim=2).unbind()[0].shape == (2, 2)
    assert strided.nested.as_nested_tensor(values[:4].view(2, 2, 2), layout=strided.jagged)[1].tolist() == [
        [4, 5],
        [6, 7],
    ]
    t = strided.arange(10.0).view(2, 5)
    same(
        strided.nested.narrow(t, 1, strided.tensor([0, 1]), strided.tensor([2, 3]), layout=strided.jagged),
        [t[0, :2], t[1, 1:4]],
    )
    same(strided.nested.masked_select(t, t % 2 == 0), [t[0, ::2], t[1, 1::2]])
    joined = strided.cat([x, x])
    assert len(joined) == 4 and strided.equal(joined[3], x[1])
    assert strided.nested.nested_tensor([[1.0], [2.0, 3.0]], layout=strided.jagged).values().tolist() == [1, 2, 3]


def test_errors():
    x = nested(samples(4))
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        x + nested([strided.ones(n, 4) for n in (1, 2, 4)])
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        x + strided.ones(3, 4, 4)
    with pytest.raises(NotImplementedError, match="cumsum: strided"):
        x.cumsum(1)
    with pytest.raises(NotImplementedError, match="strided has nested tensors with one ragged axis"):
        strided.nested.nested_tensor([strided.ones(1, 2), strided.ones(2, 3)])
    with pytest.raises(NotImplementedError, match="attn_mask"):
        F.scaled_dot_product_attention(x, x, x, attn_mask=strided.ones(1))
    for f in (lambda: x.flatten(1), lambda: x.transpose(0, 1), lambda: x.view(3, -1), lambda: x.sum((1, 2)),
              lambda: x.squeeze(0),
              lambda: strided.nested.nested_tensor([]), lambda: nested([1.0]),
              lambda: nested([strided.ones(1), strided.ones(1, 1)]),
              lambda: strided.nested.nested_tensor_from_jagged(strided.ones(2))):  # fmt: skip
        with pytest.raises(RuntimeError):
            f()


def test_a_network_of_images_of_different_sizes():
    """Patches of images as samples, attention with scaled queries, and one pooled vector for each image."""
    strided.manual_seed(0)
    heads, width = 2, 8
    embed = nn.Sequential(nn.LayerNorm(12), nn.Linear(12, width), nn.LayerNorm(width))
    project = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(3))
    gamma, pool = nn.Parameter(strided.ones(heads, 1, width // heads)), nn.Parameter(strided.randn(1, width))

    def attend(x, context):
        parts = (
            p(t).unflatten(-1, (heads, -1)).transpose(-3, -2).contiguous()
            for p, t in zip(project, (x, context, context))
        )
        q, k, v = parts
        q, k = (F.normalize(t, dim=-1) * gamma * 2 for t in (q, k))
        return F.scaled_dot_product_attention(q, k, v).transpose(-3, -2).flatten(-2)

    def run(x, queries):
        x = embed(x)
        x = attend(x, x) + x
        return attend(queries, x) + queries

    rows = [strided.randn(n, 12) for n in LENGTHS]
    pooled = run(nested(rows), strided.nested.as_nested_tensor([pool] * 3, layout=strided.jagged))
    pooled.sum().backward()
    grads = [p.grad.clone() for p in (gamma, pool, *project.parameters(), *embed.parameters())]
    for p in (gamma, pool, *project.parameters(), *embed.parameters()):
        p.grad = None
    alone = [run(row, pool) for row in rows]
    sum(a.sum() for a in alone).backward()
    for one, two in zip(pooled.unbind(), alone):
        strided.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    for one, p in zip(grads, (gamma, pool, *project.parameters(), *embed.parameters())):
        strided.testing.assert_close(one, p.grad, rtol=1e-3, atol=1e-4)
    assert strided.stack(pooled.unbind()).shape == (3, 1, width)
    assert nested(rows)._nested_tensor_size().tolist() == [[n, 12] for n in LENGTHS]
    assert nested(rows)._max_seqlen == 4 and nested(rows)._min_seqlen == 1


def test_parts_of_a_nested_tensor():
    x = nested([strided.ones(2, 3), strided.ones(4, 3)], requires_grad=True)
    for y in (x, x.detach().transpose(1, 2)):
        names, meta = y.__tensor_flatten__()
        parts = {name: getattr(y, name) for name in names}
        again = type(y).__tensor_unflatten__(parts, meta, y.shape, None)
        assert [t.shape for t in again.unbind()] == [t.shape for t in y.unbind()]
        assert again.requires_grad == y.requires_grad


METHODS = [r for r in strided._C.ops_table() if r["method"] and r["name"].isidentifier() and r["name"][0] != "_"]


@pytest.mark.parametrize("row", METHODS, ids=lambda row: row["name"])
def test_every_elementwise_method(row):
    kind = next(k for k in ("float32", "int64", "bool") if k in row["out_dtypes"])
    x = nested([strided.rand(n, 2) for n in LENGTHS]).to(getattr(strided, kind))

    def call(t):
        number = [2] if row["name"] == "polygamma" else []
        others = row["arity"] - 1 - ("*" in row["operands"])
        return getattr(t, row["name"])(*number, *[t] * others)

    made = call(x)
    assert made.is_nested
    strided.testing.assert_close(made.values(), call(x.values()), equal_nan=True)


@pytest.mark.parametrize("sign", "add sub mul truediv floordiv mod pow and or xor lshift rshift".split())
def test_operators_in_place(sign):
    x = nested([strided.arange(1, 3), strided.arange(2, 5)])
    x = x.double() if sign == "truediv" else x
    expected = getattr(operator, f"i{sign}")(x.values().clone(), 2)
    before = x
    x = getattr(operator, f"i{sign}")(x, 2)
    assert x is before
    assert x.values().equal(expected)
