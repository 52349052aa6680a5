"""Running combinations by functions of the user's."""

import pytest
import strided
from strided._higher_order_ops.associative_scan import associative_scan


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums_are_those_of_cumsum(length, reverse):
    x = strided.arange(2.0 * length).reshape(2, length)
    made = associative_scan(lambda a, b: a + b, x, 1, reverse=reverse)
    want = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    assert made.tolist() == want.tolist()


def test_a_recurrence_of_two_tensors_and_its_gradient():
    strided.manual_seed(0)
    a, b = (strided.randn(6, 3, dtype=strided.float64, requires_grad=True) for _ in range(2))

    def later(first, second):  # h = a h + b, composed
        return {"a": first["a"] * second["a"], "b": second["a"] * first["b"] + second["b"]}

    def by_scan(a, b):
        return associative_scan(later, {"a": a, "b": b}, 0, combine_mode="generic")["b"]

    h, rows = strided.zeros(3, dtype=strided.float64), []
    for i in range(6):
        h = a[i] * h + b[i]
        rows.append(h)
    assert (by_scan(a, b) - strided.stack(rows)).abs().max() < 1e-12
    assert strided.autograd.gradcheck(by_scan, (a, b))


def test_the_order_of_the_two_is_kept():
    x = strided.randn(5, 2, 2, generator=strided.Generator().manual_seed(0))
    made, want = associative_scan(lambda a, b: a @ b, x, 0), [x[0]]
    for i in range(1, 5):
        want.append(want[-1] @ x[i])
    assert (made - strided.stack(want)).abs().max() < 1e-5


def test_refuses():
    x = strided.ones(3)
    with pytest.raises(ValueError, match="Combine_mode"):
        associative_scan(lambda a, b: a, x, 0, combine_mode="other")
    with pytest.raises(ValueError, match="leaf"):
        associative_scan(lambda a, b: a, [], 0)
    with pytest.raises(ValueError, match="lengths"):
        associative_scan(lambda a, b: a, [x, strided.ones(4)], 0)
    with pytest.raises(RuntimeError, match="gave 1 tensors for 2"):
        associative_scan(lambda a, b: a[0], [x, x], 0)
