"""Results that do not depend on the values of an input that requires a gradient require one too, and it is zero."""

import pytest
import strided as torch

CASES = {
    "fill": lambda x: torch.fill(x, 2),
    "fill tensor": lambda x: torch.fill(x, torch.tensor(2.0, dtype=x.dtype)),
    "matrix_power": lambda x: torch.linalg.matrix_power(x, 0),
    "Tensor.matrix_power": lambda x: x.matrix_power(0),
    "zeroed": lambda x: x.clone().zero_(),
    "filled": lambda x: x.clone().fill_(3),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2), (0, 2, 2), (0, 0)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_gradient_is_zero(case, shape, dtype):
    x = torch.randn(shape, dtype=dtype, requires_grad=True)
    y = CASES[case](x)
    assert y.requires_grad
    y.abs().sum().backward()
    assert torch.equal(x.grad, torch.zeros(shape, dtype=dtype))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)], ids=str)
def test_fill_by_a_tensor(shape):
    x, value = torch.randn(shape, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    y = torch.fill(x, value)
    assert y.tolist() == torch.full(shape, 2.0).tolist()
    y.sum().backward()
    assert value.grad.item() == x.numel() and torch.equal(x.grad, torch.zeros(shape))
    assert not torch.fill(torch.ones(2, dtype=torch.int64), value).requires_grad
    with torch.no_grad():
        assert not torch.fill(x, value).requires_grad
