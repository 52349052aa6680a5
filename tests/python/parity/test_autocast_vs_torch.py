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
}


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
