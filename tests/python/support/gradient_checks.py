"""Both kinds of gradient check, as the tests make them."""

from strided.autograd import gradcheck, gradgradcheck


def check_both(f, inputs, fast=True):
    assert gradcheck(f, inputs, fast_mode=fast, check_grad_dtypes=True)
    assert gradgradcheck(f, inputs, fast_mode=fast, atol=1e-4)
