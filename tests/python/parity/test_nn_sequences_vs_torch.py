"""Recurrent networks, attention, transformers, packed sequences: as PyTorch has them."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import strided  # noqa: E402
from nn_compare import assert_same_tensors, compare_call, compare_module, x  # noqa: E402

CASES = {
    "RNN(3, 4)": [x(5, 2, 3)],
    "RNN(3, 4, nonlinearity='relu', bias=False)": [x(5, 2, 3)],
    "RNN(3, 4, 2, batch_first=True, bidirectional=True)": [x(2, 5, 3)],
    "LSTM(3, 4)": [x(5, 2, 3)],
    "LSTM(3, 4) ": [x(5, 3)],
    "LSTM(3, 4, 2, bidirectional=True, dropout=0.4)": [x(5, 2, 3)],
    "LSTM(3, 4, 2, proj_size=2, batch_first=True)": [x(2, 5, 3)],
    "LSTM(3, 4, bidirectional=True)": [x(5, 2, 3), (x(2, 2, 4), x(2, 2, 4, seed=2))],
    "GRU(3, 4)": [x(5, 2, 3)],
    "GRU(3, 4, 2, bidirectional=True, batch_first=True, dropout=0.3)": [x(2, 5, 3), x(4, 2, 4)],
    "GRU(3, 4, bias=False)": [x(5, 3), x(1, 4)],
    "RNNCell(3, 4)": [x(2, 3)],
    "RNNCell(3, 4, nonlinearity='relu')": [x(2, 3), x(2, 4)],
    "LSTMCell(3, 4)": [x(2, 3), (x(2, 4), x(2, 4, seed=2))],
    "GRUCell(3, 4, bias=False)": [x(3), x(4)],
    "MultiheadAttention(8, 2)": [x(5, 3, 8), x(4, 3, 8), x(4, 3, 8, seed=2)],
    "MultiheadAttention(8, 2, dropout=0.3)": [x(5, 3, 8), x(4, 3, 8), x(4, 3, 8, seed=2)],
    "MultiheadAttention(8, 4, bias=False, batch_first=True)": [x(3, 5, 8), x(3, 4, 8), x(3, 4, 8, seed=2)],
    "MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, kdim=6, vdim=5)": [
        x(5, 3, 8),
        x(4, 3, 6),
        x(4, 3, 5),
    ],
    "TransformerEncoderLayer(8, 2, 16)": [x(5, 3, 8)],
    "TransformerEncoderLayer(8, 2, 16, 0.0, 'gelu', norm_first=True, batch_first=True)": [x(3, 5, 8)],
    "TransformerDecoderLayer(8, 2, 16)": [x(5, 3, 8), x(4, 3, 8)],
    "TransformerDecoderLayer(8, 2, 16, norm_first=True, bias=False)": [x(5, 3, 8), x(4, 3, 8)],
    "TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8))": [x(5, 3, 8)],
    "Transformer(8, 2, 1, 2, 16)": [x(5, 3, 8), x(4, 3, 8)],
}


@pytest.mark.parametrize("text", CASES)
def test_module(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_module(lambda nn: eval("nn." + text.strip(), {"nn": nn}), CASES[text], tol=1e-4)


def packed(lib, mode, x, lengths, **options):
    lib.manual_seed(2)
    net = getattr(lib.nn, mode)(3, 4, 2, bidirectional=True)
    p = lib.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    y, h = net(p)
    y, n = lib.nn.utils.rnn.pad_packed_sequence(y, **options)
    return y, n, h


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_packed(mode):
    compare_call(lambda lib, x: packed(lib, mode, x, lib.tensor([2, 5, 3])), [x(5, 3, 3)])
    compare_call(lambda lib, x: packed(lib, mode, x, [5, 2, 1], batch_first=True, padding_value=-1.0), [x(5, 3, 3)])


@pytest.mark.parametrize("options", [{"num_layers": 2, "bidirectional": True}, {"bias": False}, {"proj_size": 2}])
def test_names_of_parameters(options):
    ours, theirs = (lib.nn.LSTM(3, 4, **options) for lib in (strided, torch))
    assert ours._flat_weights_names == theirs._flat_weights_names == [n for n, _ in ours.named_parameters()]
    assert [w.shape for w in ours._flat_weights] == [w.shape for w in theirs._flat_weights]


@pytest.mark.parametrize("mode", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("layers", [1, 2])
def test_states_are_checked_as_they_are(mode, layers):
    """A tensor, or the two of an LSTM: programs with a forward of their own call it."""
    for lib in (strided, torch):
        layer, h = getattr(lib.nn, mode)(3, 4, layers), lib.zeros(layers, 5, 4)
        pack = (lambda s: (s, s)) if mode == "LSTM" else lambda s: s
        layer.check_forward_args(lib.zeros(7, 5, 3), pack(h), None)
        with pytest.raises(RuntimeError, match=r"Expected hidden(\[0\])? size"):
            layer.check_forward_args(lib.zeros(7, 5, 3), pack(h[..., :3]), None)


def test_sequences():
    rows = [x(3, 2), x(5, 2), x(1, 2)]

    def run(lib, *rows):
        r = lib.nn.utils.rnn
        p = r.pack_sequence(list(rows), enforce_sorted=False)
        left = r.pad_sequence(list(rows), True, 7.0, padding_side="left")
        return [left, r.pad_sequence(list(rows)), p.data, p.batch_sizes, p.sorted_indices, *r.unpack_sequence(p)]

    compare_call(run, rows)


def test_unpadded_sequences_are_copies():
    def run(lib, padded):
        parts = lib.nn.utils.rnn.unpad_sequence(padded, lib.tensor([5, 0, 2]), batch_first=True)
        assert [p.is_contiguous() for p in parts] == [True] * 3
        assert padded.data_ptr() not in [p.data_ptr() for p in parts]
        with pytest.raises(ValueError, match="shorter than argument"):
            lib.nn.utils.rnn.unpad_sequence(padded, lib.tensor([5, 0]), batch_first=True)
        return parts

    compare_call(run, [x(3, 5, 2)])


MASKS = {
    "attn_mask": lambda t: {"attn_mask": t.ones(5, 4).tril().eq(0)},
    "added": lambda t: {"attn_mask": t.arange(20.0).view(5, 4) / 10, "need_weights": False},
    "three": lambda t: {"attn_mask": t.arange(120.0).view(6, 5, 4) / 50, "average_attn_weights": False},
    "padding": lambda t: {"key_padding_mask": t.tensor([[False, False, False, True]] * 3)},
    "both": lambda t: {
        "key_padding_mask": t.tensor([[False, False, True, True]] * 3),
        "attn_mask": t.ones(5, 4).tril(1).eq(0),
        "need_weights": False,
    },
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    def run(lib, q, k, v):
        lib.manual_seed(1)
        return lib.nn.MultiheadAttention(8, 2)(q, k, v, **MASKS[name](lib))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_call(run, [x(5, 3, 8), x(4, 3, 8), x(4, 3, 8, seed=2)])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.3},
        {"dropout_p": 0.4},
        {"attn_mask": torch.ones(5, 4).tril().bool()},
        {"attn_mask": torch.arange(20.0).view(5, 4)},
    ],
)
def test_scaled_dot_product_attention(options):
    run = lambda lib, q, k, v, **o: lib.nn.functional.scaled_dot_product_attention(q, k, v, **o)
    compare_call(run, [x(2, 3, 5, 6), x(2, 3, 4, 6), x(2, 3, 4, 7)], options)


@pytest.mark.parametrize("mask", [torch.ones(5, 4).tril(-1).bool(), torch.arange(20.0).view(5, 4)])
def test_mask_and_causality(mask):
    run = lambda lib, q, k, v, **o: lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, **o)
    compare_call(run, [x(2, 3, 5, 6), x(2, 3, 4, 6), x(2, 3, 4, 6, seed=2)], {"attn_mask": mask})


@pytest.mark.parametrize(
    "shape, features, dropout", [((3, 5, 6), 6, 0.0), ((2, 3, 5, 6), 6, 0.4), ((2, 3, 5, 6), 7, 0.0)]
)
def test_mask_and_causality_refused(shape, features, dropout):
    for lib in (strided, torch):
        q, v = lib.ones(shape), lib.ones(*shape[:-1], features)
        with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
            lib.nn.functional.scaled_dot_product_attention(q, q, v, lib.ones(5, 5), dropout, True)


def test_grouped_heads():
    run = lambda lib, q, k, v: lib.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    compare_call(run, [x(2, 4, 5, 6), x(2, 2, 4, 6), x(2, 2, 4, 7)])


def test_causal_mask():
    make = lambda lib: lib.nn.Transformer.generate_square_subsequent_mask(4)
    assert_same_tensors(make(strided), make(torch))


@pytest.mark.parametrize("given", ["causal", "wrong", "of another size", "padding", "weights"])
@pytest.mark.parametrize("options", [{}, {"add_bias_kv": True}, {"add_zero_attn": True}])
def test_the_hint_that_a_mask_is_causal(options, given):
    """Without weights and padding the mask is not looked at, and keys that are added are later ones."""
    found = []
    for t in (torch, strided):
        t.manual_seed(0)
        attention, x = t.nn.MultiheadAttention(8, 2, **options), t.randn(5, 3, 8)
        mask = {"wrong": t.zeros(5, 5), "of another size": t.zeros(3, 3)}.get(given)
        mask = t.nn.Transformer.generate_square_subsequent_mask(5) if mask is None else mask
        others = {"need_weights": given == "weights"}
        if given == "padding":
            others["key_padding_mask"] = t.arange(15).view(3, 5) == 9
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = attention(x, x, x, attn_mask=mask, is_causal=True, **others)[0]
        found.append((made, *t.autograd.grad(made.square().sum(), list(attention.parameters()), allow_unused=True)))
    for theirs, ours in zip(*found):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("packed", [False, True])
def test_ctc_loss(reduction, packed):
    scores = x(7, 3, 5)
    targets = torch.tensor([[1, 2, 2], [3, 1, 0], [4, 4, 4]])
    lengths = torch.tensor([3, 2, 1])
    if packed:
        targets = torch.tensor([1, 2, 2, 3, 1, 4])

    def run(lib, s, t, n):
        logs = lib.nn.functional.log_softmax(s, 2)
        return lib.nn.functional.ctc_loss(logs, t, lib.tensor([7, 6, 5]), n, reduction=reduction)

    compare_call(run, [scores, targets, lengths], tol=1e-4)


def test_ctc_loss_of_what_does_not_fit():
    def run(lib, s):
        targets = lib.tensor([[1, 1, 1], [2, 1, 1]])
        loss = lib.nn.CTCLoss(zero_infinity=True, reduction="sum")
        return loss(lib.nn.functional.log_softmax(s, 2), targets, (3, 3), (3, 2))

    compare_call(run, [x(3, 2, 4)], tol=1e-4)


PADDED = {
    "plain": {}, "gelu": {"activation": "gelu"}, "norm_first": {"norm_first": True}, "odd": {"nhead": 1},
    "no bias": {"bias": False}, "batch second": {"batch_first": False}, "tanh": {"activation": np.tanh},
}  # fmt: skip


@pytest.mark.parametrize(
    "how", ["eval", "train", "graph", "mask", "scattered", "unchecked", "switched off", "asked not to", "norm"]
)
@pytest.mark.parametrize("name", PADDED)
def test_padding_of_encoders_in_evaluation(name, how):
    """Zeros at the padding, where PyTorch leaves it out."""
    found = []
    for t in (strided, torch):
        options = {"batch_first": True, "nhead": 2, "dropout": 0.0, **PADDED[name]}
        if options.get("activation") is np.tanh:
            options["activation"] = t.tanh
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            t.manual_seed(0)
            layer = t.nn.TransformerEncoderLayer(4, dim_feedforward=8, **options)
            norm = t.nn.LayerNorm(4) if how == "norm" else None
            net = t.nn.TransformerEncoder(
                layer, 2, norm, enable_nested_tensor=how != "asked not to", mask_check=how != "unchecked"
            ).train(how == "train")
            padding = t.tensor([[False, False, True], [False, True, how != "scattered"]])
            x = t.arange(24.0).view(2, 3, 4).sin()
            x = x if options["batch_first"] else x.transpose(0, 1)
            mask = t.zeros(3, 3) if how == "mask" else None
            t.backends.mha.set_fastpath_enabled(how != "switched off")
            try:
                with t.set_grad_enabled(how == "graph"):
                    found.append(net(x, mask, padding).detach().numpy())
            finally:
                t.backends.mha.set_fastpath_enabled(True)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_lengths_beyond_the_steps_are_refused_at_once():
    for length in (4, 10**18):
        with pytest.raises(IndexError, match="the samples have 3 steps"):
            strided.nn.utils.rnn.pack_padded_sequence(strided.ones(3, 1, 2), [length])


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_parts_of_what_recurrent_modules_check(kind):
    found = []
    for T in (strided, torch):
        m = getattr(T.nn, kind)(2, 3, 2, batch_first=True)
        hidden, order = T.arange(12.0).reshape(2, 2, 3), T.tensor([1, 0])
        hidden = (hidden, hidden + 1) if kind == "LSTM" else hidden
        moved = m.permute_hidden(hidden, order)
        said = []
        for call in (
            lambda m=m, T=T: m.check_input(T.ones(2), None),
            lambda m=m, T=T: m.check_input(T.ones(2, 2, 3), None),
            lambda m=m, T=T: m.check_hidden_size(T.ones(1), (2, 3)),
            lambda m=m, T=T: m.check_hidden_size(T.ones(1), (2, 3), "not {} but {}"),
        ):
            with pytest.raises(RuntimeError) as caught:
                call()
            said.append(str(caught.value))
        sizes = [m.get_expected_hidden_size(T.ones(4, 5, 2), None), m.get_expected_hidden_size(T.ones(4, 2), order + 1)]
        sizes.append(m.get_expected_cell_size(T.ones(4, 5, 2), None) if kind == "LSTM" else None)
        parts = moved if isinstance(moved, tuple) else (moved,)
        found.append((said, sizes, [t.tolist() for t in parts], m.permute_hidden(hidden, None) is hidden))
    assert found[0] == found[1]


def test_packed_sequence_in_pinned_memory(monkeypatch):
    monkeypatch.setattr(strided.Tensor, "pin_memory", lambda self: self + 0)  # where there is no device to pin for
    rnn = strided.nn.utils.rnn
    packed = rnn.pack_sequence([strided.ones(1), strided.ones(2)], enforce_sorted=False)
    pinned = packed.pin_memory()
    assert repr(pinned) == repr(packed) and pinned.data is not packed.data
    assert pinned.batch_sizes is packed.batch_sizes and pinned.sorted_indices is not packed.sorted_indices
    assert rnn.pack_sequence([strided.ones(1)]).pin_memory().sorted_indices is None
