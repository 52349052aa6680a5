"""Quantisation that is only acted out, and diagonals of sparse matrices, beside PyTorch's."""

import pytest
import strided

torch_ref = pytest.importorskip("torch")

VALUES = [-1.0, 0.04, 0.05, 0.15, 30.0, float("nan"), 1e3, -0.26]
CALLS = {
    "tensor": lambda T, x: T.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255),
    "tensor signed": lambda T, x: T.fake_quantize_per_tensor_affine(x, 0.07, 0, -128, 127),
    "tensor of tensors": lambda T, x: T.fake_quantize_per_tensor_affine(x, T.tensor(0.1), T.tensor(2), 0, 15),
    "channel": lambda T, x: T.fake_quantize_per_channel_affine(
        x.view(2, 4), T.tensor([0.1, 0.3]), T.tensor([0, 5], dtype=T.int32), 0, 0, 255
    ),
    "last channel": lambda T, x: T.fake_quantize_per_channel_affine(
        x.view(4, 2), T.tensor([0.1, 0.3]), T.tensor([0.0, 5.5]), 1, 0, 255
    ),
}


def run(T, call, dtype):
    x = T.tensor(VALUES, dtype=getattr(T, dtype)).requires_grad_()
    made = call(T, x)
    made.sum().backward()
    return made.detach().tolist(), x.grad.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name, dtype):
    assert run(strided, CALLS[name], dtype) == run(torch_ref, CALLS[name], dtype)


@pytest.mark.parametrize("arguments", [(0.1, 300, 0, 255), (0.1, 3, 255, 0)])
def test_bounds(arguments):
    for T in (strided, torch_ref):
        with pytest.raises(RuntimeError, match="`zero_point` must be between|`quant_min` should be less than"):
            T.fake_quantize_per_tensor_affine(T.ones(2), *arguments)


def test_channels_fit():
    for T in (strided, torch_ref):
        x, steps, points = T.ones(2, 3), T.tensor([0.1, 0.2]), T.zeros(2, dtype=T.int32)
        with pytest.raises(RuntimeError, match="not consistent with input"):
            T.fake_quantize_per_channel_affine(x, steps, points, 1, 0, 255)
        with pytest.raises(RuntimeError, match="Zero-point must be Int32, Float or Half"):
            T.fake_quantize_per_channel_affine(x, steps, points.long(), 0, 0, 255)
        with pytest.raises(RuntimeError, match="Scale must be Float or BFloat16"):
            T.fake_quantize_per_channel_affine(x, steps.double(), points, 0, 0, 255)


@pytest.mark.parametrize(
    ("rows", "steps", "shape"),
    [
        ([[0, 1, 2], [3, 4, 5], [6, 7, 8]], [0, -1, -2], (3, 3)),
        ([[1, 2], [3, 4]], [0, -1], (5, 5)),
        ([[1, 2, 3]] * 3, [0, 1, 2], (5, 4)),
        ([0, 1, 2, 3], [1], (3, 3)),
    ],
)
def test_spdiags(rows, steps, shape):
    made = [T.sparse.spdiags(T.tensor(rows), T.tensor(steps), shape) for T in (strided, torch_ref)]
    assert made[0].to_dense().tolist() == made[1].to_dense().tolist()
    assert made[0]._indices().tolist() == made[1]._indices().tolist()


def test_errors_of_spdiags():
    for T in (strided, torch_ref):
        rows = T.ones(2, 3)
        with pytest.raises(RuntimeError, match="duplicate"):
            T.sparse.spdiags(rows, T.tensor([1, 1]), (3, 3))
        with pytest.raises(RuntimeError, match="does not match the number of offsets"):
            T.sparse.spdiags(rows, T.tensor([1]), (3, 3))


def test_default_backend():
    for T in (strided, torch_ref):
        assert T.compiler.get_default_backend() == "inductor"
        T.compiler.set_default_backend("eager")
        try:
            assert T.compiler.get_default_backend() == "eager"
        finally:
            T.compiler.set_default_backend(None)
    assert strided.random.thread_safe_generator() is None is torch_ref.random.thread_safe_generator()
