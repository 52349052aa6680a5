"""Nothing a call allocates outlives its result: not tensors, not Python objects, not C++ memory; whether it returns or
raises.

Every case runs many times. A leak of one object in each call then shows as that many blocks of the interpreter
(sys.getallocatedblocks), or as bytes of the C heap (mallinfo2, where the C library has it), or in the tensor
allocator's own count.
"""

import gc
import io
import pickle
import sys

import numpy as np
import pytest
import strided as torch
from leak_checks import CALLS, FAILURES, MINE, check, tensor_bytes

X = torch.arange(12.0).reshape(3, 4)
Y = torch.ones(3, 4)
S = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
I = torch.tensor([2, 0, 1])
A = np.arange(6.0).reshape(2, 3)
G = torch.ones(3, requires_grad=True)
OUT = torch.empty(3, 4)
LARGE = torch.ones(300, 300)


def _write(x, key, value):
    x[key] = value


RETURNING = {
    "add": lambda: X + Y,
    "number": lambda: 2 - X * 3.5,
    "numpy operand": lambda: X[:2, :3] + A,
    "in place": lambda: OUT.copy_(X).add_(1).mul_(Y),
    "out": lambda: torch.add(X, Y, out=OUT),
    "keywords": lambda: torch.sum(X, dim=(0, 1), keepdim=True, dtype=torch.float64),
    "synonyms": lambda: torch.sum(X, axis=0, keepdims=True),
    "overloads": lambda: (X.max(), X.max(0), X.max(Y)),
    "named tuple": lambda: torch.sort(X, dim=1).values,
    "sizes": lambda: (X.reshape(4, 3), X.view([2, 6]), X.shape[0], X.size(), X.stride()),
    "views": lambda: (X.T, X[1:, ::2], X.unsqueeze(0).expand(2, 3, 4), X.permute(1, 0), X.unbind()),
    "subscript": lambda: (X[0], X[1, 2], X[..., None, 1], X[I], X[X > 2], X[[0, 1]], X[1:, I]),
    "assignment": lambda: (_write(OUT, 0, 1.0), _write(OUT, I, X), _write(OUT, OUT > 3, 0), _write(OUT, (0, 1), 2)),
    "joining": lambda: (torch.cat([X, Y]), torch.stack((X, Y), 1), X.split(2), X.chunk(2, 1)),
    "tensor": lambda: (torch.tensor([[1, 2], [3, 4]]), torch.tensor([X[0], Y[0]].copy()), torch.tensor(A),
        torch.tensor(1.5)),
    "tolist": lambda: (X.tolist(), X[0, 0].item(), float(X[0, 0]), bool(X[0, 0])),
    "printing": lambda: (repr(S), str(S.dtype), repr(S.shape)),
    "iteration": lambda: list(X),
    "numpy": lambda: (X.numpy(), torch.from_numpy(A), np.asarray(X), torch.as_tensor(A)),
    "buffer": lambda: (memoryview(X).nbytes, torch.frombuffer(b"12345678", dtype=torch.int32)),
    "dlpack": lambda: (torch.from_dlpack(X), X.__dlpack__(), torch.from_dlpack(A)),
    "pickle": lambda: pickle.loads(pickle.dumps(X)),
    "matrices": lambda: (X @ Y.T, torch.einsum("ij,ij->i", X, Y), torch.matmul(S, S[0])),
    "linalg": lambda: (torch.linalg.inv(S), torch.linalg.solve(S, S), torch.linalg.cholesky(S), torch.linalg.det(S)),
    "random": lambda: (torch.rand(3), torch.randperm(4), torch.Generator().manual_seed(1), torch.get_rng_state()),
    "record": lambda: (G * 2 + 1).sum(),
    "storage": lambda: (X.untyped_storage().nbytes(), X.storage()[0]),
    "subclass": lambda: X.detach().as_subclass(MINE) if hasattr(torch.Tensor, "as_subclass") else MINE([1.0]),
    "attribute": lambda: setattr(X.detach(), "note", [1]),
    "default dtype": lambda: torch.zeros(2, dtype=torch.promote_types(torch.int8, torch.float32), device="cpu"),
}  # fmt: skip


@pytest.mark.parametrize("name", RETURNING)
def test_calls_leave_nothing(name):
    check(RETURNING[name], CALLS)


def test_large_blocks_and_threads():
    torch.set_num_threads(2)
    check(lambda: ((LARGE + LARGE).sum(), LARGE @ LARGE, LARGE.sort()), 60)


class _Index:
    def __index__(self):
        raise ZeroDivisionError


class _Changes:
    """Empties a list of tensors while another argument is converted."""

    def __init__(self, tensors):
        self.tensors = tensors

    def __index__(self):
        self.tensors[:] = [5]
        return 0


def _changing(function):
    tensors = [torch.ones(2), torch.ones(2)]
    return function(tensors, _Changes(tensors))


LIST = [X, Y]
RAISING = {
    "shapes": lambda: X + torch.ones(5),
    "type": lambda: torch.add(X, "x"),
    "overloads": lambda: torch.sum(X, 0, 1, 2, 3),
    "keyword": lambda: torch.sum(X, nonsense=LIST),
    "given twice": lambda: torch.sum(X, input=Y),
    "variadic": lambda: X.reshape(2, 3, _Index()),
    "list": lambda: torch.cat([X, "x"]),
    "list of shapes": lambda: torch.cat([X, Y[:, :2]]),
    "list that changes": lambda: _changing(torch.cat),
    "out": lambda: torch.add(X, Y, out=[OUT]),
    "out dtype": lambda: torch.add(X, Y, out=I),
    "axis": lambda: X.sum(7),
    "index": lambda: X[5],
    "indices": lambda: X[I + 5],
    "mask": lambda: X[torch.ones(7, dtype=torch.bool)],
    "slice": lambda: X[::0],
    "index kind": lambda: X["a"],
    "index raises": lambda: X[_Index()],
    "assignment": lambda: _write(X, 0, torch.ones(9)),
    "assigned kind": lambda: _write(X, 0, object()),
    "ragged": lambda: torch.tensor([[1, 2], [3]]),
    "strange": lambda: torch.tensor([X[0, 0], object()]),
    "range": lambda: torch.tensor([300], dtype=torch.uint8),
    "huge": lambda: torch.empty(2**40, 2**40),
    "memory": lambda: torch.empty(2**44, dtype=torch.float64),
    "item": lambda: X.item(),
    "bool": lambda: bool(X),
    "view": lambda: X.T.view(12),
    "numpy": lambda: torch.from_numpy(np.array(["a"])),
    "buffer": lambda: torch.frombuffer(b"123", dtype=torch.int32),
    "dlpack": lambda: torch.from_dlpack(object()),
    "requires grad": lambda: G.numpy(),
    "leaf": lambda: G.add_(1),
    "matrices": lambda: X @ Y,
    "einsum": lambda: torch.einsum("ij,k", X),
    "singular": lambda: torch.linalg.inv(torch.zeros(2, 2)),
    "random": lambda: torch.randint(3, 1, (2,)),
    "pickle": lambda: pickle.load(io.BytesIO(b"")),
    "dtype": lambda: torch.zeros(2, dtype="x"),
    "operator": lambda: X @ "x",
}  # fmt: skip


@pytest.mark.parametrize("name", RAISING)
def test_errors_leave_nothing(name):
    arguments = [X, Y, S, I, A, G, OUT, LIST]

    def call():
        try:
            RAISING[name]()
        except Exception:  # noqa: BLE001  (which one is other tests' concern)
            return
        raise AssertionError("the call was meant to raise")

    call()
    before = [sys.getrefcount(a) for a in arguments]
    check(call, FAILURES)
    assert [sys.getrefcount(a) for a in arguments] == before


def test_constants_are_not_lost():
    """None, True and the dtypes are given out often; a lost reference would end the interpreter after a while."""
    watched = [None, True, False, torch.float32, torch.Tensor, torch.Size]

    def call():
        (
            torch.sum(X, dtype=None),
            torch.equal(X, X),
            X.is_contiguous(),
            X.dtype,
            X.shape,
            X.grad,
            torch.is_tensor(X),
            X.requires_grad,
        )

    for _ in range(50):
        call()
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(2000):
        call()
    assert max(abs(sys.getrefcount(o) - b) for o, b in zip(watched, before)) < 500


@pytest.mark.parametrize("t", [X, X[0, 0], X * 1j, X > 2, torch.ones(2000), X.to_sparse()], ids=range(6))
def test_texts_leave_nothing_to_the_collector(t):
    repr(t)
    gc.collect()
    gc.disable()
    try:
        repr(t)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_peak_and_views_share_one_block():
    torch.memory.reset_peak_memory_stats()
    start = tensor_bytes()
    x = torch.empty(1 << 18)
    held = tensor_bytes() - start
    views = [x[i:] for i in range(100)] + [x.numpy(), x.detach(), x.T if x.ndim == 2 else x.view(2, -1)]
    assert tensor_bytes() - start == held >= x.nbytes
    del x
    assert tensor_bytes() - start == held  # the views still need it
    del views
    gc.collect()
    assert tensor_bytes() == start
