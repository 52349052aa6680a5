"""nn.utils._per_sample_grad: a gradient for each sample, beside a loop over the samples."""

import pytest
import strided as torch
from strided import nn
from strided.nn.utils._per_sample_grad import call_for_per_sample_grads

MODULES = {
    "linear": (lambda: nn.Linear(3, 4), (5, 3)),
    "linear of sequences": (lambda: nn.Linear(3, 4, bias=False), (5, 7, 3)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (5, 4, 9)),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3, padding="same", dilation=2), (5, 3, 8, 7)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (5, 4, 6)),
    "layer_norm": (lambda: nn.LayerNorm(6), (5, 4, 6)),
    "instance_norm": (lambda: nn.InstanceNorm1d(4, affine=True), (5, 4, 6)),
    "network": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2)), (5, 3, 8, 8)),
}


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", MODULES)
def test_samples(name, reduction):
    torch.manual_seed(1)
    make, shape = MODULES[name]
    module, x = make().double(), torch.randn(*shape, dtype=torch.float64)
    out = call_for_per_sample_grads(module, loss_reduction=reduction)(x)
    assert torch.allclose(out, module(x))
    losses = (out**2).flatten(1).sum(1)
    (losses.sum() if reduction == "sum" else losses.mean()).backward()
    for parameter in module.parameters():
        assert parameter.grad is None
        rows = [torch.autograd.grad((module(x[i : i + 1]) ** 2).sum(), parameter)[0] for i in range(len(x))]
        assert torch.allclose(parameter.grad_sample, torch.stack(rows))


def test_batches_and_inputs():
    layer, x = nn.Linear(3, 2), torch.randn(7, 5, 3, requires_grad=True)
    layer.bias.requires_grad_(False)
    out = call_for_per_sample_grads(layer, batch_first=False)(x)
    assert out.shape == (7, 5, 2)
    out.sum().backward()
    assert layer.weight.grad_sample.shape == (5, 2, 3) and not hasattr(layer.bias, "grad_sample")
    assert torch.allclose(layer.weight.grad_sample, x.detach().sum(0)[:, None].expand(5, 2, 3))
    assert x.grad.shape == x.shape
    words = nn.Embedding(6, 3)
    call_for_per_sample_grads(words)(torch.tensor([[1, 1], [2, 5]])).sum().backward()
    assert words.weight.grad_sample.sum(2).tolist() == [[0, 6, 0, 0, 0, 0], [0, 0, 3, 0, 0, 3]]


def test_passes_add_up():
    layer, x = nn.Linear(2, 1, bias=False), torch.tensor([[1.0, 2.0]])
    call = call_for_per_sample_grads(layer)
    (call(x) + call(2 * x)).sum().backward()
    assert layer.weight.grad_sample.tolist() == [[[3, 6]]]
    with pytest.raises(RuntimeError, match="has a grad_sample"):
        call_for_per_sample_grads(layer)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: call_for_per_sample_grads(lambda x: x), "must be nn.Module"),
        (lambda m: call_for_per_sample_grads(m, batch_size=2.0), "must be None or an integer"),
        (lambda m: call_for_per_sample_grads(m, batch_size=0), "must be positive"),
        (lambda m: call_for_per_sample_grads(m, loss_reduction="none"), "sum or mean"),
        (lambda m: call_for_per_sample_grads(m, batch_size=5)(torch.ones(2, 3)), "batch of 5 samples"),
        (lambda m: call_for_per_sample_grads(m)(3), "no tensor among the arguments"),
        (lambda m: call_for_per_sample_grads(m)(torch.ones(2, 3), torch.ones(3, 3)), r"batches of \[2, 3\]"),
    ],
)
def test_mistakes(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(nn.Linear(3, 1))
