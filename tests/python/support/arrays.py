"""Tensors as arrays of NumPy, gradients by differences, and the layouts that pixels may have."""

import numpy as np
import strided


def value(t):
    """A tensor as a float64, complex128, int64 or bool array."""
    if t.dtype in (strided.bfloat16, strided.float16):
        t = t.to(strided.float32)
    return np.array(t.tolist()).reshape(tuple(t.shape))


def numeric_gradient(f, x, h=1e-6):
    """The gradient of f, a number of a float64 tensor, at the array x."""

    def at(y):
        return f(strided.tensor(y.tolist(), dtype=strided.float64)).item()

    out = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        out[place] = (at(up) - at(down)) / (2 * h)
    return out


def check_second_gradient(f, a, weight):
    """The gradient of (gradient of f) * weight at the array a, beside differences."""

    def first(t):
        t = t.detach().clone().requires_grad_()
        (g,) = strided.autograd.grad(f(t), t, create_graph=True)
        return (g * weight).sum(), t

    out, t = first(strided.tensor(a.tolist(), dtype=strided.float64))
    want = numeric_gradient(lambda u: first(u)[0].detach(), a)
    second = strided.autograd.grad(out, t, allow_unused=True)[0] if out.requires_grad else None
    assert np.allclose(0 if second is None else value(second), want, rtol=1e-4, atol=1e-5)


def layouts(x):
    """x contiguous, with axes in the opposite order, turned twice, with gaps, and one column that is repeated."""
    back = list(range(x.ndim))[::-1]
    yield x
    yield x.permute(back).contiguous().permute(back)
    yield x.flip(-1)[..., strided.arange(x.size(-1) - 1, -1, -1)]
    yield strided.stack([x, x], -1)[..., 0]
    yield x[..., :1].expand(x.shape)
