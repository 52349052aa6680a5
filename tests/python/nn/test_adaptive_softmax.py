"""``nn.AdaptiveLogSoftmaxWithLoss``: the targets' values are those of the whole distribution."""

import pytest
import strided


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
@pytest.mark.parametrize("cutoffs", [[4, 10], [1], [19]])
def test_outputs_are_those_of_the_distribution(cutoffs, dtype):
    strided.manual_seed(0)
    layer = strided.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs, div_value=2.0, dtype=dtype)
    x, target = strided.randn(40, 16, dtype=dtype), strided.arange(40) % 20
    found = layer.log_prob(x)
    assert strided.allclose(found.exp().sum(1), strided.ones(40, dtype=dtype))
    output, loss = layer(x, target)
    assert output.dtype == dtype and strided.allclose(output, found.gather(1, target[:, None])[:, 0])
    assert strided.allclose(loss, -output.mean())
    head = layer.head(x).argmax(1)
    expected = strided.where(head < layer.shortlist_size, head, found.argmax(1))
    assert strided.equal(layer.predict(x), expected)
    alone = layer(x[3], target[3])
    assert alone.output.shape == () and strided.allclose(alone.output, output[3])
    before = [p.clone() for p in layer.parameters()]
    layer.reset_parameters()
    assert not any(strided.equal(a, b) for a, b in zip(before, layer.parameters()))


def test_gradients():
    layer = strided.nn.AdaptiveLogSoftmaxWithLoss(4, 7, [2, 4], div_value=2.0, dtype=strided.float64)
    x = strided.randn(6, 4, dtype=strided.float64, requires_grad=True)
    target = strided.tensor([0, 1, 2, 3, 5, 6])
    assert strided.autograd.gradcheck(lambda x: layer(x, target), (x,))
