"""rearrange: patterns of axes."""

import pytest
import strided
from strided.func import rearrange, vmap

X = strided.arange(24).reshape(2, 3, 4)


def test_patterns():
    assert strided.equal(rearrange(X, "a b c -> c b a"), X.permute(2, 1, 0))
    assert strided.equal(rearrange(X, "a b c->(c a) b"), X.permute(2, 0, 1).reshape(8, 3))
    assert strided.equal(rearrange(X, "... c -> c ..."), X.movedim(2, 0))
    assert strided.equal(rearrange(X, "a ... -> (... a)"), X.movedim(0, 2).flatten())
    assert strided.equal(
        rearrange(X, "a b (c d) -> c a (b d)", c=2), X.reshape(2, 3, 2, 2).permute(2, 0, 1, 3).reshape(2, 2, 6)
    )
    assert rearrange(X, "a b c -> a 1 b () c").shape == (2, 1, 3, 1, 4)
    assert rearrange(X[:, :1], "a 1 c -> a c").shape == (2, 4)
    assert strided.equal(rearrange([X, X + 1], "n a b c -> a n b c")[:, 1], X + 1)
    assert rearrange(strided.tensor(3), " -> 1").tolist() == [3]
    assert rearrange(X, "a b c ... -> ... c a b").shape == (4, 2, 3)
    assert rearrange(strided.ones(0, 4), "(a b) c -> a b c", b=2).shape == (0, 2, 4)


def test_gradients_and_batches():
    x = strided.randn(2, 3, 4, dtype=strided.float64, requires_grad=True)
    assert strided.autograd.gradcheck(lambda t: rearrange(t, "a b (c d) -> d (a c) b", c=2), (x,))
    assert strided.equal(vmap(lambda t: rearrange(t, "b c -> c b"))(X), X.mT)


@pytest.mark.parametrize(
    ("pattern", "sizes"),
    [
        ("a b c", {}), ("a b -> b a", {}), ("a b c -> a b", {}), ("a b c -> a b c d", {}), ("a a c -> c a", {}),
        ("(a d) b c -> a d b c", {}), ("(a d) b c -> a d b c", {"a": 5}), ("a b c -> a b c", {"z": 3}),
        ("a b c -> a b c", {"a": 7}), ("1 a b c -> a b c", {}), ("1 b c -> b c", {}), ("(...) c -> c ...", {}),
        ("a ... ... -> a ...", {}), ("a b c -> ... a b c", {}), ("a b c ... -> a b c", {}), ("a b c -> (a (b c))", {}),
        ("a b 2 -> a b 2", {}), ("_a b c -> b c _a", {}), ("a b c -> a (b c", {}), ("a b c -> a b) c", {}),
        ("a-b c d -> d", {}), ("a b c .. -> a", {}), ("a b c -> a -> b", {}), ("(a ...) c -> c a ...", {}),
    ],
)  # fmt: skip
def test_errors(pattern, sizes):
    with pytest.raises(ValueError, match="rearrange"):
        rearrange(X, pattern, **sizes)


def test_sizes_are_ints():
    with pytest.raises(TypeError, match="float"):
        rearrange(X, "(a d) b c -> a d b c", a=1.5)
