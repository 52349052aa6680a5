"""Maxima of windows beside PyTorch: values, places and gradients, by windows and by taps."""

import itertools

import pytest
import strided

torch = pytest.importorskip("torch")

CASES = [
    # sizes, kernel, stride, padding, dilation
    ((40,), 3, 2, 1, 1), ((700,), 40, 7, 20, 1), ((33,), 4, 3, 2, 3),
    ((6, 7), 2, 2, 0, 1), ((40, 41), 3, 2, 1, 1), ((40, 41), (5, 2), (1, 3), (2, 1), (2, 1)), ((64, 64), 8, 8, 0, 1),
    ((36, 36), 3, 1, 1, 2), ((12, 13, 14), 2, 2, 1, 1), ((12, 13, 14), 3, (1, 2, 3), 1, (1, 2, 1)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("content", ["random", "ties", "-inf", "int"])
def test_maxima_and_places(case, content):
    size, kernel, stride, padding, dilation = case
    shape = (2, 7, *size)
    gen = torch.Generator().manual_seed(1)
    data = torch.randn(shape, generator=gen)
    if content == "ties":
        data = (data * 2).round()
    if content == "-inf":
        data = torch.where(data > -0.8, -torch.inf, data)
    if content == "int":
        data = (data * 3).to(torch.int64)
    for ceil_mode in (False, True):
        results = []
        for T in (torch, strided):
            x = T.tensor(data.tolist(), dtype=getattr(T, str(data.dtype).split(".")[1]))
            x = x.requires_grad_() if content != "int" else x
            pool = getattr(T.nn.functional, f"max_pool{len(size)}d")
            made, places = pool(x, kernel, stride, padding, dilation, ceil_mode, return_indices=True)
            alone = content != "int" or len(size) > 1 or T is strided  # PyTorch has no max_pool1d of integers
            plain = pool(x.detach(), kernel, stride, padding, dilation, ceil_mode) if alone else made
            grad = None
            if content != "int":
                weights = T.arange(made.numel(), dtype=made.dtype).view(made.shape) % 7
                (grad,) = T.autograd.grad(made, x, weights)
            results.append([None if t is None else t.detach().numpy() for t in (made, plain, places, grad)])
        for theirs, ours in zip(*results):
            assert (theirs is None and ours is None) or (theirs == ours).all()


def test_a_nan_is_the_maximum_of_its_windows():
    for size, at in itertools.product([5, 80], [(0, 1, 2, 3)]):
        x = strided.zeros(2, 3, size, size)
        x[at] = float("nan")
        made, places = strided.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)
        theirs, expected = torch.nn.functional.max_pool2d(torch.from_numpy(x.numpy()), 3, 2, 1, return_indices=True)
        assert (made.isnan().numpy() == theirs.isnan().numpy()).all()
        assert (places.numpy() == expected.numpy()).all()


@pytest.mark.parametrize("size", [4, 80])
def test_a_kernel_of_one_element_gives_new_memory(size):
    x = strided.ones(2, 3, size, size)
    pools = strided.nn.functional
    made = [pools.max_pool2d(x, 1), pools.avg_pool2d(x, 1), *pools.max_pool2d(x, 1, return_indices=True)]
    for t in made:
        t.zero_()
    assert x.min() == 1
