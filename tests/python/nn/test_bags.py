"""embedding_bag beside a loop over bags."""

import pytest
import strided
from strided.nn import functional as F


def bags(weight, index, starts, mode, factors, padding):
    rows = []
    for start, end in zip(starts, [*starts[1:], len(index)]):
        kept = [i for i in range(start, end) if index[i] != padding]
        taken = [weight[int(index[i])] * (1 if factors is None else factors[i]) for i in kept]
        if not taken:
            rows.append(strided.zeros_like(weight[0]))
        elif mode == "max":
            rows.append(strided.stack(taken).amax(0))
        else:
            rows.append(sum(taken) / (len(taken) if mode == "mean" else 1))
    return strided.stack(rows)


@pytest.mark.parametrize("mode, weighted", [("sum", False), ("sum", True), ("mean", False), ("max", False)])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("width", [1, 5, 16, 70])
def test_beside_a_loop(mode, padding, width, weighted):
    strided.manual_seed(0)
    leaves = [strided.randn(7, width, dtype=strided.float64, requires_grad=True)]
    index, starts = strided.randint(0, 7, (20,)), [0, 3, 3, 4, 18]  # one of the bags is empty
    if weighted:
        leaves.append(strided.randn(20, dtype=strided.float64, requires_grad=True))
    factors = leaves[1] if weighted else None
    wanted = bags(leaves[0], index, starts, mode, factors, padding)
    options = {"mode": mode, "padding_idx": padding, "per_sample_weights": factors}
    g = strided.randn_like(wanted)
    expected = strided.autograd.grad(wanted, leaves, g)
    for given in (index, index.int()):
        made = F.embedding_bag(given, leaves[0], strided.tensor(starts, dtype=given.dtype), **options)
        strided.testing.assert_close(made, wanted)
        with strided.no_grad():  # by another way
            alone = F.embedding_bag(given, leaves[0], strided.tensor(starts, dtype=given.dtype), **options)
        strided.testing.assert_close(alone, wanted.detach())
        for one, other in zip(strided.autograd.grad(made, leaves, g), expected):
            strided.testing.assert_close(one, other)
    last = F.embedding_bag(index, leaves[0], strided.tensor([*starts, 20]), include_last_offset=True, **options)
    strided.testing.assert_close(last, wanted)
    if factors is not None:
        options["per_sample_weights"] = factors.view(4, 5)
    equal = F.embedding_bag(index.view(4, 5), leaves[0], **options)
    strided.testing.assert_close(equal, bags(leaves[0], index, [0, 5, 10, 15], mode, factors, padding))


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("bad", [-1, 7, 2**40])
def test_an_index_out_of_range_is_an_error(mode, bad):
    with pytest.raises(IndexError, match="out of range"):
        F.embedding_bag(strided.tensor([0, bad, 1]), strided.randn(7, 3), strided.tensor([0, 2]), mode=mode)


def test_gradients_of_gradients():
    index, starts = strided.tensor([0, 2, 2, 1]), strided.tensor([0, 3])
    weight = strided.randn(3, 2, dtype=strided.float64, requires_grad=True)
    factors = strided.randn(4, dtype=strided.float64, requires_grad=True)

    def call(weight, factors):
        return F.embedding_bag(index, weight, starts, mode="sum", per_sample_weights=factors)

    assert strided.autograd.gradgradcheck(call, (weight, factors))


def test_the_first_of_equal_rows_has_the_gradient_of_the_maximum():
    weight = strided.tensor([[1.0, 5.0], [1.0, 2.0], [0.0, 5.0]], requires_grad=True)
    made = strided.nn.functional.embedding_bag(strided.tensor([[1, 0], [2, 0]]), weight, mode="max")
    made.sum().backward()
    assert made.tolist() == [[1, 5], [1, 5]]
    assert weight.grad.tolist() == [[1, 1], [1, 0], [0, 1]]
    empty = strided.nn.functional.embedding_bag(strided.tensor([1]), weight, strided.tensor([0, 1]), mode="max")
    assert empty.tolist() == [[1, 2], [0, 0]]


def test_tangents_of_largest_rows_and_of_padding():
    from strided.autograd import forward_ad as fw

    weight = strided.rand(5, 3)
    with fw.dual_level():
        dual = fw.make_dual(weight, strided.ones(5, 3))
        bags = F.embedding_bag(strided.tensor([0, 1, 4]), dual, strided.tensor([0]), mode="max")
        assert fw.unpack_dual(bags).tangent.tolist() == [[1.0, 1.0, 1.0]]
        rows = F.embedding(strided.tensor([0, 1]), dual, padding_idx=1)  # padding has no gradient backwards alone
        assert fw.unpack_dual(rows).tangent.tolist() == [[1.0, 1.0, 1.0]] * 2


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("starts", "pair"),
    [
        ([0, 3, 2], r"offsets\[1\] is 3 and offsets\[2\] 2"),
        ([0, -1], r"offsets\[0\] is 0 and offsets\[1\] -1"),
        ([0] * 1000 + [3, 2, 1], r"offsets\[1000\] is 3 and offsets\[1001\] 2"),
    ],
)
def test_bags_that_end_before_they_begin(starts, pair, last, mode):
    with pytest.raises(RuntimeError, match=f"embedding_bag: offsets must not decrease, but {pair}$"):
        F.embedding_bag(
            strided.tensor([0, 1, 2, 3]),
            strided.ones(4, 2),
            strided.tensor(starts),
            mode=mode,
            include_last_offset=last,
        )
