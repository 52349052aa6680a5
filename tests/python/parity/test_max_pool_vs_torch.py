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


ROWS = [
    # sizes, kernel, stride, padding, dilation: rows of outputs of one to some vectors, in every step
    ((3, 3), 3, 1, 1, 1), ((9, 8), 3, 1, 1, 1), ((5, 9), (2, 3), (2, 3), (0, 1), 1),
    ((6, 70), (3, 4), (2, 5), (1, 2), (1, 2)), ((7, 100), (1, 6), (1, 2), (0, 3), 1), ((4, 75), (2, 3), (1, 3), 0, 1),
    ((2, 1), (2, 1), 1, 0, 1), ((1, 40), (1, 2), 1, (0, 1), 3), ((100,), 3, 3, 1, 1), ((31,), 2, 4, 1, 2),
    ((5, 6, 20), (2, 3, 2), (1, 2, 2), 1, (2, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("content", ["random", "ties", "nan", "-inf", "inf"])
def test_rows_of_every_length_and_layout(case, dtype, content):
    size, kernel, stride, padding, dilation = case
    shape = (2, 3, *size)
    gen = torch.Generator().manual_seed(2)
    data = torch.randn(shape, generator=gen, dtype=getattr(torch, dtype))
    if content == "ties":
        data = (data * 2).round()
    elif content != "random":
        data[torch.rand(shape, generator=gen) < 0.3] = float(content)
    layouts = {
        "plain": lambda t: t, "turned": lambda t: t.flip(-1), "transposed": lambda t: t.mT.clone().mT,
        "one row": lambda t: t[..., :1, :].expand(t.shape), "empty": lambda t: t[:0],
        "part": lambda t: t.repeat(1, 2, *[1] * (t.ndim - 2))[:, 2:5],
        "channels last": lambda t: t.movedim(1, -1).clone().movedim(-1, 1),
    }  # fmt: skip
    for name, laid in layouts.items():
        for ceil_mode in (False, True):
            pool = getattr(torch.nn.functional, f"max_pool{len(size)}d")
            ours = getattr(strided.nn.functional, f"max_pool{len(size)}d")
            options = (kernel, stride, padding, dilation, ceil_mode)
            x = laid(data)
            y = laid(strided.from_numpy(data.numpy()).clone())
            expected, at = pool(x.contiguous(), *options, return_indices=True)
            made, places = ours(y, *options, return_indices=True)
            assert places.tolist() == at.tolist(), name
            strided.testing.assert_close(made, strided.from_numpy(expected.numpy()), rtol=0, atol=0, equal_nan=True)
            strided.testing.assert_close(ours(y, *options), made, rtol=0, atol=0, equal_nan=True)


def test_second_derivatives_of_maxima():
    strided.manual_seed(0)
    x = strided.randn(2, 2, 6, 7, dtype=strided.float64, requires_grad=True)
    pool = strided.nn.functional.max_pool2d
    assert strided.autograd.gradgradcheck(lambda x: pool(x, 3, 2, 1) ** 3, x)


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


def both(data, grad=False):
    """The same numbers in PyTorch and here."""
    made = data.clone(), strided.from_numpy(data.numpy().copy())
    return tuple(x.requires_grad_() for x in made) if grad else made


@pytest.mark.parametrize("size", [(11,), (9, 13), (4, 7, 10)], ids=str)
@pytest.mark.parametrize("content", ["random", "ties", "-inf", "nan"])
def test_windows_that_are_not_alike(size, content):
    """Of adaptive maxima: values, places and gradients, with a batch and without, by slices and transposed."""
    data = torch.randn(2, 3, *size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    data = (data * 2).round() if content == "ties" else data
    data = torch.where(data > -0.8, -torch.inf, data) if content == "-inf" else data
    data = torch.where(data > 1, torch.nan, data) if content == "nan" else data
    name, axes = f"adaptive_max_pool{len(size)}d", len(size)
    sizes = [3, (5, *range(2, axes + 1))[:axes], tuple(n + 1 for n in size)]
    for out in sizes if content == "nan" else [1, *sizes]:  # of all NaNs of a long row the first one is named
        for view in (lambda x: x, lambda x: x[0], lambda x: x[..., 1:], lambda x: x.transpose(0, 1)):
            results = []
            for x, T in zip(both(data, grad=True), (torch, strided)):
                made, places = getattr(T.nn.functional, name)(view(x), out, return_indices=True)
                plain = getattr(T.nn.functional, name)(view(x), out)
                weight = T.arange(made.numel(), dtype=T.float64).reshape(made.shape) + 1
                (grad,) = T.autograd.grad((made * weight).sum(), x)
                results.append((made.detach(), places, plain.detach(), grad))
            for a, b in zip(*results):
                assert a.shape == b.shape and torch.equal(a.nan_to_num(9.0), torch.tensor(b.numpy()).nan_to_num(9.0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", [((9, 9), 3, 2), ((16, 12), (2, 3), (7, 5)), ((5, 6, 7), 2, (3, 1, 4))], ids=str)
def test_windows_at_places_that_are_drawn(case, dtype):
    size, kernel, out = case
    gen = torch.Generator().manual_seed(3)
    data = torch.randn(2, 5, *size, dtype=getattr(torch, dtype), generator=gen)
    drawn = torch.rand(2, 5, len(size), dtype=data.dtype, generator=gen)
    drawn[0, 0], drawn[0, 1] = 0, 0.9999
    data[1, 2] = torch.nan
    name = f"fractional_max_pool{len(size)}d"
    for batch in (True, False):
        results = []
        for x, u, T in zip(both(data, grad=True), both(drawn), (torch, strided)):
            view, numbers = (x, u) if batch else (x[0], u[:1])
            made, places = getattr(T.nn.functional, name)(
                view, kernel, output_size=out, return_indices=True, _random_samples=numbers
            )
            (grad,) = T.autograd.grad((made * made.detach().nan_to_num(1.0)).sum(), x)
            results.append((made.detach(), places, grad))
        for a, b in zip(*results):
            assert a.shape == b.shape and torch.equal(a.nan_to_num(9.0), torch.tensor(b.numpy()).nan_to_num(9.0))
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        getattr(strided.nn.functional, name)(
            strided.zeros(1, 1, *size), kernel, output_size=out, _random_samples=strided.full((1, 1, len(size)), 1e30)
        )
