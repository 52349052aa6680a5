"""Modules and functions of strided.nn beside PyTorch's: same seed, same parameters, same inputs."""

import copy

import numpy as np
import strided
import torch


def x(*shape, seed=1):
    """Random numbers of PyTorch, of which a gradient is wanted."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def to_strided(x):
    """Tensors of PyTorch, anywhere in a value, as tensors of strided with the same numbers."""
    if isinstance(x, torch.Tensor):
        made = strided.from_numpy(x.detach().numpy().copy())
        return made.requires_grad_() if x.requires_grad else made
    if isinstance(x, (tuple, list)):
        return type(x)(to_strided(v) for v in x)
    if isinstance(x, dict):
        return {k: to_strided(v) for k, v in x.items()}
    return x


def tensors(x):
    """The tensors in a value, in their order."""
    if isinstance(x, (torch.Tensor, strided.Tensor)):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in tensors(v)] if isinstance(x, (tuple, list)) else []


def array(t):
    return t.detach().numpy()


def assert_close(got, want, what="", tol=2e-5):
    assert (got is None) == (want is None), what
    if want is None:
        return
    assert tuple(got.shape) == tuple(want.shape), (what, got.shape, want.shape)
    assert str(got.dtype) == str(want.dtype), (what, got.dtype, want.dtype)
    np.testing.assert_allclose(array(got), array(want), rtol=tol, atol=tol, err_msg=what)


def assert_same_tensors(got, want, what="", tol=2e-5):
    got, want = tensors(got), tensors(want)
    assert len(got) == len(want), what
    for i, (a, b) in enumerate(zip(got, want)):
        assert_close(a, b, f"{what} {i}", tol)


def backward(outputs, module):
    """Gradients of a sum of all floating outputs with different weights."""
    total = 0
    for i, y in enumerate(tensors(outputs)):
        if y.dtype.is_floating_point and y.requires_grad:
            weights = module.cos(module.arange(y.numel()).to(y.dtype) * 0.7 + i).reshape(y.shape)
            total = total + (y * weights).sum()
    if not isinstance(total, int):
        total.backward()


def compare_call(call, args, kwargs=None, tol=2e-5, seed=3):
    """call(library, *args) under both: outputs, gradients of the arguments, the state of the generator."""
    kwargs = kwargs or {}
    mine, mine_kw = to_strided(list(args)), to_strided(kwargs)
    args, kwargs = copy.deepcopy(list(args)), copy.deepcopy(kwargs)
    torch.manual_seed(seed)
    want = call(torch, *args, **kwargs)
    strided.manual_seed(seed)
    got = call(strided, *mine, **mine_kw)
    assert_same_tensors(got, want, "output", tol)
    backward(want, torch)
    backward(got, strided)
    for i, (a, b) in enumerate(zip(tensors([mine, mine_kw]), tensors([args, kwargs]))):
        if b.requires_grad and b.is_leaf:
            assert_close(a.grad, b.grad, f"gradient of argument {i}", tol)
    assert abs(float(strided.rand(1)) - float(torch.rand(1))) < 1e-7, "the generators are in different states"


def compare_module(make, args, kwargs=None, tol=2e-5, seed=3):
    """make(nn) under both: text, initial parameters, then as compare_call, and the gradients of the parameters."""
    torch.manual_seed(seed)
    theirs = make(torch.nn)
    strided.manual_seed(seed)
    ours = make(strided.nn)
    assert repr(ours) == repr(theirs)
    mine, want = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(want)
    assert [dict(v) for v in mine._metadata.values()] == [dict(v) for v in want._metadata.values()]
    assert list(mine._metadata) == list(want._metadata)
    for name in want:
        assert_close(mine[name], want[name], f"initial {name}", 2e-6)
    for training in (True, False):
        theirs.train(training)
        ours.train(training)
        for m in (theirs, ours):
            m.zero_grad()
        compare_call(lambda lib, *a, **k: (theirs if lib is torch else ours)(*a, **k), args, kwargs, tol, seed)
        for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters()):
            assert_close(p.grad, q.grad, f"gradient of {name}, training={training}", 5 * tol)
        for (name, p), (_, q) in zip(ours.named_buffers(), theirs.named_buffers()):
            assert_close(p, q, f"buffer {name}", tol)
