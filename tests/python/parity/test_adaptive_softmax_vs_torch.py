"""``nn.AdaptiveLogSoftmaxWithLoss`` beside PyTorch: the weights of a seed, results, gradients, errors."""

import pytest
import strided

torch = pytest.importorskip("torch")


def layers(*args, **kwargs):
    torch.manual_seed(0)
    strided.manual_seed(0)
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(*args, **kwargs)
    ours = strided.nn.AdaptiveLogSoftmaxWithLoss(*args, **kwargs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.parameters(), theirs.parameters()):
        assert a.tolist() == b.tolist()
    return ours, theirs


@pytest.mark.parametrize("options", [{}, {"div_value": 2.0, "head_bias": True}], ids=["plain", "bias"])
@pytest.mark.parametrize("target", [[0, 5, 19, 4, 9, 10, 3], [1, 2, 3], [11, 12]], ids=["all", "head", "tail"])
def test_results_and_gradients(target, options):
    ours, theirs = layers(16, 20, [4, 10, 15], **options)
    x = torch.randn(len(target), 16, requires_grad=True)
    mine = strided.tensor(x.tolist(), requires_grad=True)
    output, loss = ours(mine, strided.tensor(target))
    expected = theirs(x, torch.tensor(target))
    loss.backward()
    expected.loss.backward()
    assert output.tolist() == pytest.approx(expected.output.tolist(), rel=1e-5)
    assert loss.item() == pytest.approx(expected.loss.item(), rel=1e-5)
    assert mine.grad.flatten().tolist() == pytest.approx(x.grad.flatten().tolist(), rel=1e-4, abs=1e-6)
    assert ours.predict(mine).tolist() == theirs.predict(x).tolist()
    found = ours.log_prob(mine)
    assert found.flatten().tolist() == pytest.approx(theirs.log_prob(x).flatten().tolist(), rel=1e-5)
    for grad, b in zip((p.grad for p in ours.parameters()), theirs.parameters()):
        assert (grad is None) == (b.grad is None) or not grad.any() or not b.grad.any()
        if grad is not None and b.grad is not None:
            assert grad.flatten().tolist() == pytest.approx(b.grad.flatten().tolist(), rel=1e-4, abs=1e-6)


def test_one_sample():
    ours, theirs = layers(8, 12, [3])
    x = torch.randn(8)
    output, loss = ours(strided.tensor(x.tolist()), strided.tensor(7))
    expected = theirs(x, torch.tensor(7))
    assert output.shape == expected.output.shape == () and output.item() == pytest.approx(expected.output.item(), 1e-5)
    assert loss.item() == pytest.approx(-output.item())


def test_errors_have_pytorchs_classes():
    for cutoffs in ([], [3, 2], [2, 2], [0, 3], [12], [2.5]):
        for nn in (torch.nn, strided.nn):
            with pytest.raises(ValueError, match="cutoffs should be"):
                nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs)
    ours, theirs = layers(8, 12, [3])
    for shape, target in (
        ((2, 8), [1, 12]),
        ((2, 8), [-1, 0]),
        ((2, 8), [1, 2, 3]),
        ((8,), [1]),
        ((2, 8), [[1, 2]]),
        ((2, 8), 3),
    ):
        for layer, t in ((ours, strided), (theirs, torch)):
            with pytest.raises(RuntimeError):
                layer(t.ones(shape), t.tensor(target))
