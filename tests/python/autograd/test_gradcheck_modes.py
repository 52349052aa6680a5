"""gradcheck of forward passes (check_forward_ad, check_fwd_over_rev) and of batches of gradients."""

import pytest
import strided as torch
from strided.autograd import GradcheckError, gradcheck, gradgradcheck

DOUBLE, COMPLEX = torch.float64, torch.complex128


def leaf(*shape, dtype=DOUBLE):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


class WrongTwice(torch.autograd.Function):
    """x ** 2 whose gradient is that of x ** 3 wherever it is asked for."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x**2


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", [DOUBLE, COMPLEX], ids=str)
class TestForward:
    def test_right(self, dtype, fast):
        x, y = leaf(2, 3, dtype=dtype), leaf(3, dtype=dtype)
        f = lambda x, y: (x * y.exp(), x.sum(), 3, y.detach() * 0)  # noqa: E731
        assert gradcheck(f, (x, y), check_forward_ad=True, fast_mode=fast)
        assert gradcheck(lambda x: x.conj() * x, x, check_forward_ad=True, check_backward_ad=False, fast_mode=fast)
        assert gradgradcheck(lambda x, y: x * y.exp(), (x, y), check_fwd_over_rev=True, fast_mode=fast)
        assert gradgradcheck(lambda x: x**3, x, check_fwd_over_rev=True, check_rev_over_rev=False, fast_mode=fast)
        assert x.grad is None

    def test_wrong(self, dtype, fast):
        x = leaf(3, dtype=dtype)
        with pytest.raises(GradcheckError, match="While considering forward mode AD: Jacobian mismatch for output 0"):
            gradcheck(WrongTwice.apply, x, check_forward_ad=True, check_backward_ad=False, fast_mode=fast)
        with pytest.raises(GradcheckError, match="forward mode AD"):  # the second factor counts, and is held back
            gradcheck(lambda x: x * x.detach(), x, check_forward_ad=True, check_backward_ad=False, fast_mode=fast)
        assert not gradcheck(
            WrongTwice.apply, x, check_forward_ad=True, check_backward_ad=False, raise_exception=False, fast_mode=fast
        )


def test_other_inputs_and_empty_ones():
    x, k = leaf(2, 2), torch.tensor([1, 0])
    assert gradcheck(lambda k, x, s: s * x[k], (k, x, 2.0), check_forward_ad=True)
    assert gradcheck(lambda x, e: x.sum() + e.sum(), (x, leaf(0)), check_forward_ad=True)
    assert gradcheck(lambda x, e: x.sum() + e.sum(), (x, leaf(0)), check_forward_ad=True, fast_mode=True)


@pytest.mark.parametrize("dtype", [DOUBLE, COMPLEX], ids=str)
def test_batches_of_gradients(dtype):
    x, y = leaf(2, 3, dtype=dtype), leaf(3, dtype=dtype)
    assert gradcheck(lambda x, y: (x * y.exp(), x.sum()), (x, y), check_batched_grad=True)
    assert gradgradcheck(lambda x, y: (x * y).exp(), (x, y), check_batched_grad=True)
    with pytest.raises(ValueError, match="requires check_backward_ad"):
        gradcheck(lambda x: x, x, check_batched_grad=True, check_forward_ad=True, check_backward_ad=False)


def test_batches_that_differ():
    x = leaf(3)
    calls = []

    class Counts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g * len(calls)

    with pytest.raises(GradcheckError, match="A batch of gradients of output 0 gives other values"):
        gradcheck(Counts.apply, x, check_batched_grad=True, nondet_tol=1e9, atol=1e9, check_undefined_grad=False)
