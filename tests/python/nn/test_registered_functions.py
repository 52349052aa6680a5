"""Functions that PyTorch has among its registered operations only."""

import pytest
import strided

inf = float("inf")


def test_safe_softmax():
    x = strided.tensor([[0.0, 0.0], [-inf, -inf]], requires_grad=True)
    y = strided.ops.aten._safe_softmax.default(x, 1)
    assert y.tolist() == [[0.5, 0.5], [0, 0]]
    (y * strided.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [[-0.25, 0.25], [0, 0]]


def test_backward_functions():
    x = strided.tensor([[[[1.0, 5.0], [2.0, 3.0]]]])
    y, at = strided.nn.functional.max_pool2d(x, 2, return_indices=True)
    back = strided.ops.aten.max_pool2d_with_indices_backward.default(y, x, 2, 2, 0, 1, False, at)
    assert back.tolist() == [[[[0, 5], [0, 0]]]]
    mask = strided.tensor([True, False])
    assert strided.native_dropout_backward(strided.ones(2), mask, 2.0).tolist() == [2, 0]


def test_chunk_cat():
    a, b = strided.arange(3.0), strided.arange(4.0)
    assert strided._chunk_cat([a, b], 0, 2).tolist() == [[0, 1, 0, 1], [2, 0, 2, 3]]
    out = strided.empty(0)
    assert strided._chunk_cat([a, b], 0, 2, out=out) is out
    for wrong, words in (
        (([], 0, 2), "non-empty input tensor list"),
        (([a], 0, 0), "positive num_chunks"),
        (([a, b.long()], 0, 2), "same dtype"),
        (([a, strided.empty(0)], 0, 2), "non-empty tensor"),
        (([a.view(1, 3), b.view(2, 2)], 1, 2), "same sizes"),
        (([a, b.view(2, 2)], -1, 2), "non-negative dim"),
    ):
        with pytest.raises(RuntimeError, match=words):
            strided._chunk_cat(*wrong)


def test_masked_indices():
    x, index, mask = strided.arange(4.0), strided.tensor([1, 9, 3]), strided.tensor([True, False, True])
    assert strided._unsafe_masked_index(x, mask, [index], -1).tolist() == [1, -1, 3]
    assert strided._unsafe_masked_index(strided.empty(0), mask, [index], -1).tolist() == [-1, -1, -1]
    added = strided._unsafe_masked_index_put_accumulate(x, mask, [index], strided.ones(3))
    assert added.tolist() == [0, 2, 2, 4]
    plane = strided._unsafe_masked_index_put_accumulate(
        strided.zeros(2, 3), strided.tensor([[True], [True]]), [None, strided.tensor([2])], strided.ones(2, 1)
    )
    assert plane.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_batch_norm():
    x = strided.randn(6, 2)
    mean, var = strided.zeros(2), strided.ones(2)
    made = strided._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)
    same = strided._batch_norm_with_update(x, None, None, mean, var, 0.1, 1e-5)
    for a, b in zip(made, same):
        assert a.tolist() == b.tolist()
    assert same[3].numel() == 0 and mean.tolist() != [0, 0]


def test_slice_and_antialias():
    x = strided.arange(6.0)
    assert strided.ops.aten.slice.Tensor(x, 0, 1, 5, 2).tolist() == [1, 3]
    image = strided.randn(1, 1, 6, 6)
    small = strided.ops.aten._upsample_bilinear2d_aa(image, [3, 3], False)
    usual = strided.nn.functional.interpolate(image, (3, 3), mode="bilinear", antialias=True)
    assert small.tolist() == usual.tolist()
    assert strided.ops.aten._upsample_bilinear2d_aa(image, None, False, [0.5, 0.5]).tolist() == usual.tolist()
    core = strided._C._nn
    out = strided.empty(0)
    assert core.upsample_nearest1d(image[0], [9], out=out) is out
    assert out.tolist() == strided.nn.functional.interpolate(image[0], 9).tolist()


def test_convolution():
    strided.manual_seed(0)
    x, w, b = strided.randn(1, 2, 5, 6), strided.randn(4, 2, 3, 2), strided.randn(4)
    F = strided.nn.functional
    made = strided.convolution(x, w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 1)
    assert strided.equal(made, F.conv2d(x, w, b, [2, 1], [1, 0], [1, 2]))
    made = strided.convolution(x, w.transpose(0, 1), b, [2], [1], [1], True, [1], 1)
    assert strided.equal(made, F.conv_transpose2d(x, w.transpose(0, 1), b, 2, 1, 1))
    with pytest.raises(RuntimeError, match="weight of 3 to 5 dimensions"):
        strided.convolution(x, w[0, 0], None, [1], [0], [1], False, [0], 1)


def test_embedding_renorm_():
    rows = strided.tensor([[3.0, 4.0], [0.6, 0.8], [3.0, 4.0]])
    assert strided.embedding_renorm_(rows, strided.tensor([[1, 2], [2, 1]]), 2.5, 2.0) is rows
    assert strided.allclose(rows, strided.tensor([[3.0, 4.0], [0.6, 0.8], [1.5, 2.0]]))
    for shape in ((), (3,), (2, 3, 4)):
        with pytest.raises(RuntimeError, match="embedding_renorm_: a matrix is required"):
            strided.embedding_renorm_(strided.ones(shape), strided.tensor([0]), 1.0, 2.0)


def test_bilinear_with_antialias_takes_scales():
    x = strided.arange(200.0).view(1, 1, 10, 20).sin()
    f = strided.ops.aten._upsample_bilinear2d_aa
    want = strided.nn.functional.interpolate(x, scale_factor=(1.7, 0.9), mode="bilinear", antialias=True)
    for made in (
        f(x, None, False, (1.7, 0.9)),
        f(x, None, False, scale_factors=(1.7, 0.9)),
        f(x, (17, 18), False, 1.7, 0.9),
        f(x, (17, 18), False, scales_h=1.7, scales_w=0.9),
    ):
        assert strided.equal(made, want)
    want = strided.nn.functional.interpolate(x, (3, 3), mode="bilinear", antialias=True)
    assert strided.equal(f(x, (3, 3), False, scales_h=None, scales_w=None), want)
