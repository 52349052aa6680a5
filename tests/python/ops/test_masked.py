"""Reductions and normalisations of what a mask names."""

import math

import pytest
import strided as torch

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
MASK = torch.tensor([[True, False, True], [False, False, False]])
m = torch.masked


def same(result, wanted):
    assert torch.allclose(result.double(), torch.tensor(wanted).double(), equal_nan=True)


def test_reductions():
    same(m.sum(X, 1, mask=MASK), [4, 0])
    same(m.prod(X, (0, 1), mask=MASK), 3)
    same(m.amax(X, 1, mask=MASK), [3, -math.inf])
    same(m.amin(X, 1, mask=MASK, keepdim=True), [[1], [math.inf]])
    same(m.amin(X.long(), 1, mask=MASK), [1, torch.iinfo(torch.int64).max])
    same(m.argmax(X, 1, mask=MASK), [2, 0])
    same(m.mean(X, 1, mask=MASK), [2, math.nan])
    same(m.mean(X, mask=MASK[0]), 3.5)
    same(m.var(X, 1, mask=MASK), [2, math.nan])
    same(m.std(X, mask=MASK[:1], unbiased=False), X[:, ::2].std(correction=0).item())
    same(m.median(X, 1, mask=MASK), [1, math.nan])
    same(m.norm(X, 1.0, 1, mask=MASK), [4, 0])
    same(m.logsumexp(X, 1, mask=MASK), [math.log(math.e + math.e**3), -math.inf])


def test_along_an_axis():
    same(m.cumsum(X, 1, mask=MASK), [[1, 1, 4], [0, 0, 0]])
    same(m.cumprod(X, 1, mask=MASK), [[1, 1, 3], [1, 1, 1]])
    same(m.softmax(X, 1, mask=MASK)[0, ::2], X[0, ::2].softmax(0).tolist())
    same(m.softmin(X, 1, mask=MASK)[0, ::2], (-X[0, ::2]).softmax(0).tolist())
    assert m.softmax(X, 1, mask=MASK)[0, 1] == 0 and m.log_softmax(X, 1, mask=MASK)[0, 1] == -math.inf
    same(m.normalize(X, 1.0, 1, mask=MASK), [[0.25, 0, 0.75], [0, 0, 0]])
    same(m.logaddexp(X[0], X[0], input_mask=MASK[0]), [1 + math.log(2), 2, 3 + math.log(2)])


def test_gradients_go_to_what_counts():
    x = X.double().requires_grad_()
    for function in (m.sum, m.mean, m.prod, m.amax, m.var, m.logsumexp, m.norm):
        assert torch.autograd.gradcheck(lambda x, f=function: f(x, mask=MASK), [x])
        (grad,) = torch.autograd.grad(function(x, mask=MASK), x)
        assert not bool(grad[~MASK].any())


def test_errors():
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        m.mean(X.long(), 1)
    with pytest.raises(ValueError, match="no fully masked out rows"):
        m.median(X.long(), 1, mask=MASK)
    with pytest.raises(IndexError, match="Dimension out of range"):
        m.sum(X, 5, mask=MASK)
    with pytest.raises(RuntimeError):
        m.sum(X, 1, mask=torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="only one of"):
        m.var(X, 1, True, correction=1)
