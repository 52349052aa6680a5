"""Result dtypes under autocast on the CPU."""

import warnings

import pytest
import strided

torch = pytest.importorskip("torch")


def positive(t, x):
    return x @ x.mT + 9 * t.eye(4, dtype=(x @ x).dtype)


CASES = {
    "matmul": lambda t, f, x: x @ x,
    "mv": lambda t, f, x: t.mv(x, x[0]),
    "dot": lambda t, f, x: t.dot(x[0], x[0]),
    "addmm": lambda t, f, x: t.addmm(x, x, x),
    "baddbmm": lambda t, f, x: t.baddbmm(x[None], x[None], x[None]),
    "einsum": lambda t, f, x: t.einsum("ij,jk", x, x),
    "tensordot": lambda t, f, x: t.tensordot(x, x, 1),
    "vecdot": lambda t, f, x: t.linalg.vecdot(x, x),
    "matrix_power": lambda t, f, x: t.linalg.matrix_power(x, 2),
    "outer": lambda t, f, x: t.outer(x[0], x[0]),
    "bilinear": lambda t, f, x: f.bilinear(x, x, x.reshape(1, 4, 4)),
    "attention": lambda t, f, x: f.scaled_dot_product_attention(x, x, x),
    "multihead": lambda t, f, x: t.nn.MultiheadAttention(4, 2)(x, x, x)[0],
    "conv2d": lambda t, f, x: f.conv2d(x[None, :, :, None], x[:, :, None, None]),
    "conv_transpose1d": lambda t, f, x: f.conv_transpose1d(x[None], x[:, :, None]),
    "prelu": lambda t, f, x: f.prelu(x, x[0, :1]),
    "gru": lambda t, f, x: t.nn.GRUCell(4, 4)(x.float()),
    "softmax": lambda t, f, x: x.softmax(-1),
    "layer_norm": lambda t, f, x: f.layer_norm(x, (4,)),
    "prod": lambda t, f, x: x.prod(),
    "sum": lambda t, f, x: x.sum(),
    "norm": lambda t, f, x: x.norm(),
    "quantile": lambda t, f, x: t.quantile(x, 0.5),
    "trace": lambda t, f, x: x.trace(),
    "cdist": lambda t, f, x: t.cdist(x, x),
    "cross_entropy": lambda t, f, x: f.cross_entropy(x, t.arange(4)),
    "mse_loss": lambda t, f, x: f.mse_loss(x, x.detach()),
    "kl_div": lambda t, f, x: f.kl_div(x, x),
    "triplet": lambda t, f, x: f.triplet_margin_loss(x, x, x),
    "gaussian": lambda t, f, x: f.gaussian_nll_loss(x, x, x.abs()),
    "cholesky": lambda t, f, x: t.linalg.cholesky(positive(t, x)),
    "inv": lambda t, f, x: t.linalg.inv(x),
    "svd": lambda t, f, x: t.linalg.svd(x)[1],
    "solve": lambda t, f, x: t.linalg.solve(x, x),
    "eigh": lambda t, f, x: t.linalg.eigh(positive(t, x))[0],
    "rfft": lambda t, f, x: t.fft.rfft(x),
    "grid_sample": lambda t, f, x: f.grid_sample(
        x[None, None], t.zeros(1, 2, 2, 2, dtype=x.dtype), align_corners=False
    ),
    "interpolate": lambda t, f, x: f.interpolate(x[None, None], scale_factor=2.0, mode="bilinear"),
    "avg_pool2d": lambda t, f, x: f.avg_pool2d(x[None], 2),
    "avg_pool3d": lambda t, f, x: f.avg_pool3d(x.reshape(1, 1, 4, 2, 2), 2),
    "max_pool3d": lambda t, f, x: f.max_pool3d(x.reshape(1, 1, 4, 2, 2), 2),
    "reflect": lambda t, f, x: f.pad(x[None], (1, 1), mode="reflect"),
    "circular": lambda t, f, x: f.pad(x[None], (1, 1), mode="circular"),
    "cat": lambda t, f, x: t.cat([x, x.float()]),
    "gelu": lambda t, f, x: f.gelu(x),
    "cov": lambda t, f, x: t.cov(x),
    "lu": lambda t, f, x: t.lu(x)[0],
    "affine_grid": lambda t, f, x: f.affine_grid(x[None, :2, :3], (1, 1, 2, 2)),
    "tensordot of all": lambda t, f, x: t.tensordot(x, x, 2),
    "tensordot of none": lambda t, f, x: t.tensordot(x, x, 0),
    "inverse by power": lambda t, f, x: t.linalg.matrix_power(x, -1),
    "power 0": lambda t, f, x: t.matrix_power(x, 0),
    "sublists": lambda t, f, x: t.einsum(x, [0, 1], x, [1, 2], [0, 2]),
    "softplus": lambda t, f, x: f.softplus(x),
    "logsumexp": lambda t, f, x: t.logsumexp(x, 0),
    "cumsum": lambda t, f, x: x.cumsum(0),
    "pow": lambda t, f, x: x**2,
    "dist": lambda t, f, x: t.dist(x, x),
    "cosine_similarity": lambda t, f, x: f.cosine_similarity(x, x),
    "addmv": lambda t, f, x: t.addmv(x[0], x, x[0]),
    "addr": lambda t, f, x: t.addr(x, x[0], x[0]),
    "fold": lambda t, f, x: f.fold(x[None], (3, 3), 2),
    "lstsq": lambda t, f, x: t.linalg.lstsq(x, x)[0],
    "stft": lambda t, f, x: t.stft(x.flatten(), 8, window=t.ones(8, dtype=x.dtype), return_complex=True),
    "max_unpool": lambda t, f, x: f.max_unpool2d(*f.max_pool2d(x[None], 2, return_indices=True), 2),
}
EQUATIONS = [
    "ij->", "ij->ji", "ij,ij->", "ij,ij->i", "ij,ij->ji", "ij,ij", "i,i->", "i,j->ij", "ij,j->i", "ij,kl->il",
    "ij,i->i", "ii,ij->j", "i,ij->ij", "ij,jk,kl->il", "i,i,i->i", "i,i,i->", "ij,ij,ij->ij", "i,j,k->ijk",
    "...j,j->...", "i...,i...->i...",
]  # fmt: skip
NETWORKS = {
    "LSTM": lambda t, x: t.nn.LSTM(4, 4, 2, bidirectional=True)(x[None]),
    "LSTM with states": lambda t, x: t.nn.LSTM(4, 4)(x, (t.zeros(1, 4), t.zeros(1, 4))),
    "LSTM with a projection": lambda t, x: t.nn.LSTM(4, 4, proj_size=2)(x.float()),
    "LSTM of 16 bits": lambda t, x: t.nn.LSTM(4, 4, dtype=t.bfloat16)(x),
    "LSTM of float64": lambda t, x: t.nn.LSTM(4, 4, dtype=t.float64)(x.double()),
    "packed": lambda t, x: packed(t, x),
    "GRU": lambda t, x: t.nn.GRU(4, 4, 2)(x[None]),
    "GRU of 16 bits": lambda t, x: t.nn.GRU(4, 4, dtype=t.bfloat16)(x),
    "RNN": lambda t, x: t.nn.RNN(4, 4)(x[None]),
    "LSTMCell": lambda t, x: t.nn.LSTMCell(4, 4)(x),
    "attention": lambda t, x: t.nn.MultiheadAttention(4, 2)(x, x, x),
    "attention, no training": lambda t, x: t.nn.MultiheadAttention(4, 2).eval()(x, x, x),
    "encoder": lambda t, x: t.nn.TransformerEncoderLayer(4, 2, 8)(x[None]),
    "decoder": lambda t, x: t.nn.TransformerDecoderLayer(4, 2, 8)(x[None], x[None]),
}


def packed(t, x):
    rows, states = t.nn.LSTM(4, 4)(t.nn.utils.rnn.pack_padded_sequence(x[None], t.tensor([1, 1, 1, 1])))
    return rows.data, states


def flat(made):
    return [str(x.dtype) for x in made.values()] if isinstance(made, dict) else (
        [d for x in made for d in flat(x)] if isinstance(made, tuple) else [str(made.dtype)]
    )  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    dtypes = []
    for t in (strided, torch):
        terms = equation.split("->")[0].replace("...", "k").split(",")
        operands = [t.ones([2] * len(term)) for term in terms]
        with t.autocast("cpu", dtype=t.bfloat16):
            dtypes.append(str(t.einsum(equation, *operands).dtype))
    assert dtypes[0] == dtypes[1]


# PyTorch hands these to oneDNN, which has bfloat16 on processors with AVX-512 only. Elsewhere PyTorch refuses them, or
# computes in another dtype.
ONEDNN = {"LSTM", "LSTM with states", "LSTM of 16 bits", "packed"}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name, dtype):
    dtypes = []
    for t in (strided, torch):
        x = t.ones(4, 4, dtype=getattr(t, dtype))
        try:
            with t.autocast("cpu", dtype=t.bfloat16):
                dtypes.append(flat(NETWORKS[name](t, x)))
        except (RuntimeError, ValueError):
            dtypes.append("refused")
    if name in ONEDNN and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        dtypes[1] = ["torch.bfloat16"] * 3
    assert dtypes[0] == dtypes[1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_result_dtype(name, dtype):
    dtypes = []
    for t in (strided, torch):
        x = t.tensor([[4.0, 1, 0, 2], [1, 5, 1, 0], [0, 1, 6, 1], [2, 0, 1, 7]], dtype=getattr(t, dtype))
        if name == "multihead":
            x = x.to(t.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with t.autocast("cpu", dtype=t.bfloat16):
                dtypes.append(str(CASES[name](t, t.nn.functional, x).dtype))
    assert dtypes[0] == dtypes[1]
