"""grouped_mm: products of groups of rows or columns, beside a loop over the groups."""

import pytest
import strided as torch
from strided.nn.functional import grouped_mm

ENDS = ([2, 5, 9], [0, 9, 9], [3, 3, 7])


def offsets(ends):
    return torch.tensor(ends, dtype=torch.int32)


def groups(ends):
    return list(zip([0, *ends[:-1]], ends))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_as_a_loop(ends, dtype):
    torch.manual_seed(0)
    x, w = torch.randn(9, 4, dtype=dtype), torch.randn(3, 5, 4, dtype=dtype).transpose(1, 2)
    out = grouped_mm(x, w, offs=offsets(ends))
    assert out.shape == (9, 5) and out.dtype == dtype
    for m, (low, high) in zip(w, groups(ends)):
        torch.testing.assert_close(out[low:high], x[low:high] @ m)
    assert not out[ends[-1] :].any()
    out = grouped_mm(w.transpose(1, 2), x.t(), offs=offsets(ends))
    assert out.shape == (5, 9)
    for m, (low, high) in zip(w, groups(ends)):
        torch.testing.assert_close(out[:, low:high], m.t() @ x[low:high].t())
    y = torch.randn(9, 6, dtype=dtype)
    out = grouped_mm(x.t(), y, offs=offsets(ends))
    assert out.shape == (3, 4, 6)
    for product, (low, high) in zip(out, groups(ends)):
        torch.testing.assert_close(product, x[low:high].t() @ y[low:high])
    assert grouped_mm(w, w.transpose(1, 2)).equal(w @ w.transpose(1, 2))
    assert grouped_mm(x[:0], w[:0], offs=offsets([])).shape == (0, 5)


def test_gradients():
    x, w = torch.randn(9, 4, requires_grad=True), torch.randn(3, 4, 5, requires_grad=True)
    weights = torch.randn(9, 5)
    (grouped_mm(x, w, offs=offsets([2, 2, 7])) * weights).sum().backward()
    assert not x.grad[7:].any() and not w.grad[1].any()
    torch.testing.assert_close(x.grad[:2], weights[:2] @ w[0].detach().t())
    torch.testing.assert_close(w.grad[2], x[2:7].detach().t() @ weights[2:7])


def x(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


@pytest.mark.parametrize(
    "a, b, options, text",
    [
        (x(4, 2), x(2, 2, 3), {}, "Have to provide offsets"),
        (x(2, 4, 2), x(2, 2, 3), {"offs": offsets([2, 4])}, "Have to provide offsets"),
        (x(4, 2), x(2, 2, 3), {"offs": torch.tensor([2, 4])}, "Offsets have to be int32"),
        (x(4, 2), x(2, 2, 3), {"offs": offsets([[2, 4]])}, "offs has to be 1D"),
        (x(4, 2), x(2, 2, 3), {"offs": offsets([4])}, "matrix batch sizes have to match"),
        (x(4, 3), x(2, 2, 3), {"offs": offsets([2, 4])}, "contraction dimension"),
        (x(3, 4, 2), x(2, 2, 3), {}, "batched dimension has to match"),
        (x(4), x(2, 2, 3), {"offs": offsets([2, 4])}, "mat_a has to be 2 or 3d"),
        (x(4, 2, dtype=torch.float64), x(2, 2, 3), {"offs": offsets([2, 4])}, "Expected mat_a to be Float32"),
        (x(4, 2), x(2, 2, 3, dtype=torch.float16), {"offs": offsets([2, 4])}, "same dtype"),
        (x(4, 2), x(2, 2, 3), {"offs": offsets([2, 4]), "bias": x(3)}, "Bias not supported"),
        (x(4, 2), x(2, 2, 3), {"offs": offsets([2, 4]), "out_dtype": torch.float64}, "output dtype must match"),
    ],
)
def test_what_does_not_fit(a, b, options, text):
    with pytest.raises(RuntimeError, match=text):
        grouped_mm(a, b, **options)


@pytest.mark.parametrize("ends", [[3, 2], [2, 5], [-1, 4]])
def test_groups_outside_of_the_operand(ends):
    with pytest.raises(ValueError, match="grouped_mm: groups end at"):
        grouped_mm(x(4, 2), x(2, 2, 3), offs=offsets(ends))
