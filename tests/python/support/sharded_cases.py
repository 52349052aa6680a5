"""A function of plain tensors against the same of sharded ones: every placement, values and gradients."""

import itertools
import math

import strided as torch
from strided.distributed import (
    BlockCyclic,
    Partial,
    Replicate,
    Shard,
    ShardedTensor,
    distribute_tensor,
    init_device_mesh,
)
from strided.distributed._sharded import implicit_replication

MESHES = {1: [(1,)], 2: [(2,)], 3: [(3,)], 4: [(4,), (2, 2)], 6: [(6,), (2, 3)], 7: [(7,)]}


def options(tensor):
    """Placements along one axis of a mesh."""
    found = [Replicate()]
    for d in range(tensor.ndim):
        found += [Shard(d), BlockCyclic(d, 1)] + [BlockCyclic(d, 2)] * (d == 0)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        found.append(Partial())
    return found


def variants(mesh_shape, tensors):
    """For each of some combinations: the placements of each tensor."""
    given = [options(t) for t in tensors]
    n = max(map(len, given))
    for shift in range(2 if len(tensors) > 1 else 1):
        for j in range(n):
            # On a grid the axes have different placements.
            yield [
                [of[(j + shift * i + a * (1 + i)) % len(of)] for a in range(len(mesh_shape))]
                for i, of in enumerate(given)
            ]


def leaves(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in leaves(part)]
    return []


def weights(t):
    w = torch.cos(torch.arange(float(t.numel()), dtype=torch.float64) + 1).view(t.shape)
    return w.to(t.dtype) * (1 - 0.5j if t.dtype.is_complex else 1)


def is_smooth(t):
    return t.dtype.is_floating_point or t.dtype.is_complex


def loss(outputs):
    terms = [(t * weights(t)).sum() for t in outputs if is_smooth(t) and t.requires_grad]
    terms = [t.real if t.dtype.is_complex else t for t in terms]
    return sum(terms[1:], terms[0]) if terms else None


def assert_same(found, expected, what, exact):
    assert found.shape == expected.shape and found.dtype == expected.dtype, (
        what,
        found.shape,
        expected.shape,
        found.dtype,
    )
    if exact or not is_smooth(found):
        assert bool(((found == expected) | ((found != found) & (expected != expected))).all()), (what, found, expected)
    else:
        same = torch.isclose(found, expected, rtol=1e-9, atol=1e-11, equal_nan=True)
        assert bool(same.all()), (what, found, expected)


def compare(mesh_shape, function, tensors, exact=False, gradients=True, refused=None, part=(0, 1)):
    """On the ranks of a mesh; NotImplementedError goes to the list `refused`, if there is one.

    part: (first, step) of the combinations of placements that are taken."""
    mesh = init_device_mesh("cpu", mesh_shape)
    differentiable = [gradients and is_smooth(t) for t in tensors]
    plain = [t.detach().clone().requires_grad_(d) for t, d in zip(tensors, differentiable)]
    expected = leaves(function(*[t * 1 if d else t for t, d in zip(plain, differentiable)]))
    total = loss(expected)
    wanted = [t for t, d in zip(plain, differentiable) if d]
    slopes = torch.autograd.grad(total, wanted, allow_unused=True) if total is not None else []
    for placements in itertools.islice(variants(mesh_shape, tensors), part[0], None, part[1]):
        what = (mesh_shape, placements)
        given = [distribute_tensor(t.detach(), mesh, p, src_data_rank=None) for t, p in zip(tensors, placements)]
        for t, d in zip(given, differentiable):
            t.requires_grad_(d)
        try:
            with implicit_replication():
                found = leaves(function(*[t * 1 if d else t for t, d in zip(given, differentiable)]))
        except NotImplementedError as error:
            if refused is None:
                raise
            refused.append(str(error))
            continue
        assert len(found) == len(expected), what
        whole = [t.full_tensor() if isinstance(t, ShardedTensor) else t for t in found]
        for a, b in zip(whole, expected):
            assert_same(a.detach(), b.detach(), what, exact)
        if total is None:
            continue
        for t in found:
            if isinstance(t, ShardedTensor):
                assert math.prod(t.to_local().shape) <= t.numel() and t.to_local().shape == t._spec.local_shape(), what
        inputs = [t for t, d in zip(given, differentiable) if d]
        again = torch.autograd.grad(loss(whole), inputs, allow_unused=True)
        for a, b, t in zip(again, slopes, inputs):
            assert (a is None) == (b is None), what
            if a is not None:
                assert a.to_local().shape == t.to_local().shape, what
                assert_same(a.full_tensor().detach(), b, ("gradient", *what), False)
