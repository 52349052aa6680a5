"""Ways into and out of a sharded tensor that go around the rules: NumPy, buffers, copies, hooks, transforms."""

import copy

import numpy as np
import pytest
import strided as torch
from sharded_cases import assert_shard
from strided.distributed import (
    BlockCyclic,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    explain,
    init_device_mesh,
    set_gather_limit,
    simulate,
)

PLACEMENTS = [Replicate(), Shard(0), Shard(1), BlockCyclic(0, 1), Partial()]
X = torch.arange(6.0, dtype=torch.float64).view(3, 2) + 1


def on_two(program):
    def start():
        mesh = init_device_mesh("cpu", (2,))
        for p in PLACEMENTS:
            program(mesh, distribute_tensor(X, mesh, [p]))

    simulate(2, start)


def test_nobody_reads_the_memory_of_the_shell():
    def program(mesh, x):
        with pytest.raises(BufferError, match="no memory of its own"):
            memoryview(x)
        for read in (np.asarray, np.array, np.sin, lambda x: np.add(x, 1), lambda x: x + np.ones((3, 2))):
            with pytest.raises(NotImplementedError, match="to_local"):
                read(x)
        with pytest.raises(TypeError):
            np.ones((3, 2)) + x

    on_two(program)


def test_conversions_give_the_same_tensor():
    def program(mesh, x):
        assert torch.as_tensor(x).placements == torch.asarray(x).placements == x.placements
        assert torch.as_tensor(x, dtype=torch.float32).dtype is torch.float32
        assert isinstance(x.type(), str) and "DoubleTensor" in x.type()

    on_two(program)


def test_copies_have_memory_of_their_own():
    def program(mesh, x):
        given = [x, x]
        a, b = copy.deepcopy(given)
        assert a is b and a.placements == x.placements and a.device_mesh is mesh
        assert_shard(copy.deepcopy(x.requires_grad_()), X, "deepcopy", exact=True)
        a.to_local().zero_()
        assert_shard(x, X, "deepcopy", exact=True)
        with pytest.raises(NotImplementedError, match="pickled"):
            copy.copy(x).__reduce_ex__(4)

    on_two(program)


def test_hooks_see_whole_gradients():
    def program(mesh, x):
        seen = []
        x.requires_grad_()
        x.register_hook(lambda g: seen.append(g) or g * 10)
        x.register_post_accumulate_grad_hook(seen.append)
        (x * x).sum().backward()
        assert seen[1] is x and seen[0].placements == x._spec.dual().placements
        assert_shard(seen[0], 2 * X, "hook", exact=True)
        assert_shard(x.grad, 20 * X, "grad", exact=True)

    on_two(program)


def test_transforms_of_functions():
    f = lambda a: (a**3).sum(0)
    total = lambda a: f(a).sum()
    transforms = [
        torch.func.grad(total), torch.func.jacrev(total), lambda a: torch.func.jvp(f, (a,), (a,))[1],
        lambda a: torch.func.vjp(f, a)[1](f(a))[0],
        torch.func.grad(lambda a: torch.func.grad(total)(a).sum()),
    ]  # fmt: skip
    expected = [transform(X) for transform in transforms]

    def program(mesh, x):
        for transform, whole in zip(transforms, expected, strict=True):
            assert_shard(transform(x), whole, x.placements)

    on_two(program)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda mesh, x: Shard("a"), TypeError, "Shard: dim is an int"),
        (lambda mesh, x: Shard(1.5), TypeError, "Shard: dim is an int"),
        (lambda mesh, x: BlockCyclic(0, 2.5), TypeError, "BlockCyclic: block is an int"),
        (lambda mesh, x: BlockCyclic(None, 2), TypeError, "BlockCyclic: dim is an int"),
        (lambda mesh, x: set_gather_limit("1"), TypeError, "a number of bytes or None"),
        (lambda mesh, x: set_gather_limit(-1), ValueError, "0 or more"),
        (lambda mesh, x: explain(1), TypeError, "a function is required"),
        (lambda mesh, x: mesh.show((-1, 2), [Shard(0)]), ValueError, "0 or more"),
        (lambda mesh, x: torch.matmul(x, 3), TypeError, "Tensor"),
        (lambda mesh, x: x @ 3, TypeError, "@"),
        (lambda mesh, x: torch.linalg.solve(x, x), RuntimeError, "linalg.solve: A must be square"),
    ],
)
def test_what_is_wrong_is_named(call, error, text):
    def program(mesh, x):
        with pytest.raises(error, match=text):
            call(mesh, x)

    on_two(program)


def test_pictures_of_many_blocks_take_their_length():
    def program():
        mesh = init_device_mesh("cpu", (2, 2))
        cells = mesh.show((3, 4000), [Shard(0), BlockCyclic(1, 1)]).splitlines()[2].split()
        return cells[0], set(cells[1::2]), set(cells[2::2]), len(cells)

    assert simulate(4, program)[0] == ("2:3", {"2"}, {"3"}, 4001)
