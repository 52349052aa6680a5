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
    simulate,
)
from strided.distributed._sharded import implicit_replication

MESHES = {1: [(1,)], 2: [(2,)], 3: [(3,)], 4: [(4,), (2, 2)], 6: [(6,), (2, 3)], 7: [(7,)]}


def on_ranks(n, program, *args):
    """program(mesh, ...) on a row of n ranks."""
    return simulate(n, lambda: program(init_device_mesh("cpu", (n,)), *args))


def options(tensor, blocks=(1, 2)):
    """Placements along one axis of a mesh; blocks: the sizes of blocks of the first axis."""
    found = [Replicate()]
    for d in range(tensor.ndim):
        found += [Shard(d), *(BlockCyclic(d, size) for size in (blocks if d == 0 else (1,)))]
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        found.append(Partial())
    return found


def variants(mesh_shape, tensors):
    """For each of some combinations: the placements of each tensor."""
    # Neighbours in a table of functions have different numbers of ranks, so each size of blocks comes up.
    given = [options(t, (1 + math.prod(mesh_shape) % 2,)) for t in tensors]
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


def slopes_of(outputs, inputs, of_result=lambda weight, t: weight):
    """The gradients of the real part of a weighed sum of all elements; None where no output has one."""
    outputs = [t for t in outputs if is_smooth(t) and t.requires_grad]
    if not outputs:
        return None
    given = [of_result(weights(t).conj().resolve_conj(), t) for t in outputs]
    return torch.autograd.grad(outputs, inputs, given, allow_unused=True)


def cut(whole, spec):
    """The shard of this rank of a whole tensor, by the indices that its layout says: nothing is sent."""
    for dim, ranges in enumerate(spec.ranges(spec.mesh._coordinate)):
        if ranges != [(0, whole.shape[dim])]:
            whole = torch.cat([whole.narrow(dim, 0, 0), *(whole.narrow(dim, a, b - a) for a, b in ranges)], dim)
    return whole


def like(whole, t):
    """A whole tensor in the layout of the gradient of t."""
    if not isinstance(t, ShardedTensor):
        return whole
    spec = t._spec.dual()
    return ShardedTensor.from_local(cut(whole, spec), spec.mesh, spec.placements, shape=spec.shape)


def assert_shard(found, whole, what, exact=False):
    """This rank's part of a result is that of the whole one; sums of terms are made first."""
    if isinstance(found, ShardedTensor):
        assert found.shape == whole.shape, (what, found.shape, whole.shape)
        found, spec = (found.full_tensor(), None) if found._spec.is_partial else (found.to_local(), found._spec)
        whole = whole if spec is None else cut(whole, spec)
    assert_same(found.detach(), whole.detach(), what, exact)


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


def differentiable(tensors, gradients):
    return [gradients and is_smooth(t) for t in tensors]


def slopes(function):
    """The function whose results are the gradients of a weighed sum of all elements of the results of another one."""

    def run(*tensors):
        outputs = [t for t in leaves(function(*tensors)) if is_smooth(t) and t.requires_grad]
        inputs = [t for t in tensors if t.requires_grad]
        given = [like(weights(t).conj().resolve_conj(), t) for t in outputs]
        found = torch.autograd.grad(outputs, inputs, given, create_graph=True, allow_unused=True)
        return [g for g in found if g is not None]

    return run


def whole_results(function, tensors, gradients=True):
    """(results of whole tensors, gradients of them or None)"""
    wants = differentiable(tensors, gradients)
    plain = [t.detach().clone().requires_grad_(d) for t, d in zip(tensors, wants)]
    expected = leaves(function(*[t * 1 if d else t for t, d in zip(plain, wants)]))
    return expected, slopes_of(expected, [t for t, d in zip(plain, wants) if d])


def compare_on(ranks, mesh_shape, function, tensors, gradients=True, **named):
    """compare on the ranks of a mesh; the results of whole tensors are computed once for all of them."""
    wanted = whole_results(function, tensors, gradients)
    simulate(ranks, compare, mesh_shape, function, tensors, wanted, gradients=gradients, **named)


def compare(mesh_shape, function, tensors, wanted, exact=False, gradients=True, refused=None, part=(0, 1)):
    """On the ranks of a mesh; NotImplementedError goes to the list `refused`, if there is one.

    wanted: whole_results; part: (first, step) of the combinations of placements that are taken."""
    mesh = init_device_mesh("cpu", mesh_shape)
    expected, slopes = wanted
    wants = differentiable(tensors, gradients)
    for placements in itertools.islice(variants(mesh_shape, tensors), part[0], None, part[1]):
        what = (mesh_shape, placements)
        given = [distribute_tensor(t.detach(), mesh, p, src_data_rank=None) for t, p in zip(tensors, placements)]
        for t, d in zip(given, wants):
            t.requires_grad_(d)
        try:
            with implicit_replication():
                found = leaves(function(*[t * 1 if d else t for t, d in zip(given, wants)]))
        except NotImplementedError as error:
            if refused is None:
                raise
            refused.append(str(error))
            continue
        assert len(found) == len(expected), what
        for a, b in zip(found, expected):
            assert_shard(a, b, what, exact)
        if slopes is None:
            continue
        inputs = [t for t, d in zip(given, wants) if d]
        for a, b, t in zip(slopes_of(found, inputs, like), slopes, inputs):
            assert (a is None) == (b is None), what
            if a is not None:
                assert a.placements == t._spec.dual().placements, what
                assert_shard(a, b, ("gradient", *what))
