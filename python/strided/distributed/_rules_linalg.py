"""Rules of linear algebra: a matrix is dealt out in blocks, computed on, and brought back to the operand's placements.

The algorithms, and what they send, are in `linalg/`.  No rank ever has a whole matrix that it did not have before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import _C
from .._calls.broadcast import broadcast_shapes
from ..autograd import Function
from . import _move
from ._layout import Spec
from ._rules_order import aside
from ._sharded import ShardedTensor, bind, first_sharded, placed, refuse, rule, sharded, without_terms, wrap
from .placement import BlockCyclic, Replicate

if TYPE_CHECKING:
    from .._typing import Any

_f = _C.functions
_BLOCK = 128


# ---------------------------------------------------------------- from placements to blocks, and back


class _Side:
    """Rows and columns of a matrix that each rank has, in the order of its piece."""

    def __init__(self, at, shape, name, whole=False, computes=False):
        self.at, self.shape, self.name, self.whole, self.computes = at, shape, name, whole, computes

    def memory(self, like, other, comm, limit):
        """Memory of a piece; of one that a matrix is computed in, with room to go back to the other side in."""
        m, n = self.shape
        if not self.computes:
            return like.new_empty(self.shape)
        from .linalg._in_place import Strips

        room = Strips(comm, self.at, other.at, limit).room()
        return like.new_empty(max(m * n, room) if room < 2 * m * n else m * n)[: m * n].view(m, n)


def _indices(ranges):
    return [i for a, b in ranges for i in range(a, b)]


def _of_spec(spec):
    """The side of placements; a vector is a matrix of one column."""

    def at(rank):
        found = [_indices(r) for r in spec.ranges(spec.mesh.coordinates[rank])]
        return (found[0], found[1] if len(found) == 2 else [0])

    rows, cols = at(spec.mesh.comm.rank)
    return _Side(at, (len(rows), len(cols)), repr(spec), spec.is_whole)


def _of_matrix(M):
    from .linalg import _transfer

    name = f"{M.shape} in blocks of {M.block} on {M.grid.rows} x {M.grid.columns} ranks"
    return _Side(_transfer.places(M), tuple(M.local.shape), name, computes=True)


class _MovePieces(Function):
    """The pieces of one side from those of the other: each element once, from the first rank that has it."""

    @staticmethod
    def forward(ctx, local, source, target, comm, limit):
        from .linalg import _transfer

        ctx.sides = source, target, comm, limit
        if source.whole:
            return _transfer._take(local, *target.at(comm.rank))
        _move._tell(comm, f"{source.name} -> {target.name}")
        result = target.memory(local, source, comm, limit)
        return _transfer.exchange(comm, local, source.at, result, target.at, limit=limit)

    @staticmethod
    def backward(ctx, grad):
        source, target, comm, limit = ctx.sides
        return _MovePieces.apply(grad, target, source, comm, limit), None, None, None, None


def grid_of(mesh: Any) -> Any:
    """The grid of processes over the ranks of a mesh: the mesh itself where it has two axes.

    Up to four ranks stand in one row: LU then finds its pivots without messages, and sends no more than on 2 x 2.
    """
    from .linalg import Grid

    if not hasattr(mesh, "_grid"):
        row = (1,) if mesh.comm.size <= 4 else ()
        mesh._grid = Grid(mesh.comm, *(mesh.shape if mesh.ndim == 2 else row))
    return mesh._grid


def _block_of(x, grid):
    """The block that a tensor is dealt out in already, or one that gives each process several."""
    blocks = {p.block for p in x._spec.placements if isinstance(p, BlockCyclic)}
    if len(blocks) == 1:
        return blocks.pop()
    block = min(x.shape) // (4 * max(grid.rows, grid.columns))
    return max(1, min(_BLOCK, (block + 8) // 16 * 16 if block > 32 else block))  # whole vectors, in products


def deal(x: ShardedTensor, block: int | None = None) -> Any:
    """x, a matrix or vector, as a linalg.Matrix over the grid of its mesh."""
    from .linalg import Axis, Matrix

    x = without_terms(x)
    grid = grid_of(x._spec.mesh)
    block = _block_of(x, grid) if block is None else block
    shape = tuple(x.shape) if x.ndim == 2 else (x.shape[0], 1)
    here = [Axis(n, block, p).count(i) for n, p, i in zip(shape, (grid.rows, grid.columns), (grid.row, grid.column))]
    bare = Matrix(x._local.detach().new_empty(()).expand(here), shape, block, grid)  # of no memory: for its layout
    source, limit = _of_spec(x._spec), max(1, max(shape) * block // grid.rows)
    local = x._local if x.ndim == 2 else x._local.unsqueeze(1)
    target = _of_matrix(bare)
    if not _recorded(local) and _alike(source, target, grid.comm):
        made = bare.with_local(local.detach())
        made.shared = True
        return made
    made = bare.with_local(_MovePieces.apply(local, source, target, grid.comm, limit))
    made.spare = not made.local.requires_grad
    return made


def _recorded(t):
    return t.requires_grad and _f["is_grad_enabled"]()


def _alike(source, target, comm):
    """Whether each rank has the same elements in the same order on both sides."""
    return not source.whole and all(source.at(r) == target.at(r) for r in range(comm.size))


def collect(M: Any, mesh: Any, placements: Any, *, vector: bool = False, consume: bool = False) -> ShardedTensor:
    """A linalg.Matrix in these placements; consume: nobody else reads its memory, which the result may have then."""
    m, n = M.shape
    spec = Spec(mesh, tuple(placements), (m,) if vector else (m, n))
    limit = max(1, max(m, n) * M.block // M.grid.rows)
    source, target = _of_matrix(M), _of_spec(spec)
    if not (_recorded(M.local) or M.shared) and _alike(target, source, M.grid.comm):
        return wrap(M.local.squeeze(1) if vector else M.local, spec)
    if consume and not (_recorded(M.local) or M.shared or spec.is_whole):
        from .linalg._in_place import Strips

        strips = Strips(M.grid.comm, source.at, target.at, limit)
        M.spare = True
        _move._tell(M.grid.comm, f"{source.name} -> {target.name}")
        local = strips.move(M.take())
    else:
        local = _MovePieces.apply(M.local, source, target, M.grid.comm, limit)
    return wrap(local.squeeze(1) if vector else local, spec)


def _like(M, x, consume=False):
    """M in the placements of x."""
    return collect(M, x._spec.mesh, without_terms(x)._spec.placements, consume=consume)


def everywhere(t: Any, mesh: Any) -> ShardedTensor:
    """What every rank has."""
    return wrap(t, Spec(mesh, (Replicate(),) * mesh.ndim, t.shape))


# ---------------------------------------------------------------- how rules are made


def matrices(names: str, vectors: tuple[str, ...] = ()) -> Any:
    """Decorator: the rule of functions of matrices.  rule(func, values): values by parameter, operands without terms.

    vectors: parameters that are one vector for each matrix.  Of batches the cuts go to an axis of the batch, and each
    rank computes its matrices.
    """

    def register(function):
        def call(func, args, kwargs):
            values = bind(func, args, kwargs)
            like = first_sharded(list(values.values()))
            for name, value in values.items():
                if isinstance(value, _C.Tensor):
                    values[name] = without_terms(sharded(value, like, func))
            given = {k: v for k, v in values.items() if isinstance(v, ShardedTensor)}
            if any(t.ndim > 2 - (k in vectors) for k, t in given.items()):
                return _batches(func, values, given, vectors)
            numbers = [t for k, t in given.items() if k not in vectors]
            if numbers[0].ndim < 2:
                raise RuntimeError(f"{func.__qualname__}: The input tensor A must have at least 2 dimensions.")
            if not all(t.dtype.is_floating_point or t.dtype.is_complex for t in numbers):
                raise RuntimeError(f"{func.__qualname__}: Expected a floating point or complex tensor as input.")
            return function(func, values)

        return rule(names)(call)

    return register


_VECTORS_TOO = {"linalg.solve": ("A", "B"), "linalg.solve_ex": ("A", "B"), "linalg.lstsq": ("input", "b")}


def _batches(func, values, given, vectors):
    """Each operand gets the whole batch; the first one's matrices come together, the others follow it."""
    widths = {k: 1 if k in vectors else 2 for k in given}
    name = func.__qualname__.removeprefix("Tensor.")
    if name in _VECTORS_TOO:
        a, b = (values[k] for k in _VECTORS_TOO[name])
        if b.ndim == 1 or tuple(b.shape) == tuple(a.shape[:-1]):
            widths[_VECTORS_TOO[name][1]] = 1
    batch = tuple(broadcast_shapes(*(t.shape[: t.ndim - widths[k]] for k, t in given.items())))
    placements, local, n = None, {}, len(batch)
    for k, t in given.items():
        whole = (*batch, *t.shape[t.ndim - widths[k] :])
        wide = t if tuple(t.shape) == whole else t.expand(whole)
        if placements is None:
            placements = aside(wide, tuple(range(n, wide.ndim)))._spec.placements
        local[k] = placed(wide, placements)._local
    result = func(**{**values, **local})
    mesh = next(iter(given.values()))._spec.mesh

    def back(t):
        if t.ndim < n or not t.numel() and t.ndim == 1:
            return everywhere(t, mesh)
        t = wrap(t, Spec(mesh, placements, (*batch, *t.shape[n:])))
        like = next((o for o in reversed(list(given.values())) if o.shape == t.shape), t)
        return placed(t, like._spec.placements)

    return back(result) if isinstance(result, _C.Tensor) else tuple.__new__(type(result), map(back, result))


def _named(name, *values):
    from .. import return_types

    return getattr(return_types, name)(values)


def matmul(a: ShardedTensor, b: ShardedTensor) -> ShardedTensor:
    """a @ b by SUMMA, in a's placements: no rank holds more than its shares and some panels."""
    from . import linalg

    x = deal(a)
    return _like(linalg.matmul(x, deal(b, x.block)), a, True)


# ---------------------------------------------------------------- systems


@matrices("linalg.solve")
def _solve(func, values):
    from . import linalg

    A, B = values["A"], values["B"]
    vector = B.ndim == 1
    a = deal(A)
    b = deal(B, a.block)
    if values.get("left", True) or vector:
        X = linalg.solve(a, b)
    else:
        X = linalg.adjoint(linalg.solve(a, linalg.adjoint(b), adjoint=True))
    del a, b  # the factors are free before the solution is brought back
    return collect(X, B._spec.mesh, B._spec.placements, vector=vector, consume=True)


@matrices("linalg.solve_triangular")
def _solve_triangular(func, values):
    from . import linalg

    T, B, upper, unit = values["input"], values["B"], values["upper"], values.get("unitriangular", False)
    t = deal(T)
    b = deal(B, t.block)
    if values.get("left", True):
        X = linalg.solve_triangular(t, b, upper=upper, unitriangular=unit)
    else:
        X = linalg.solve_triangular(t, linalg.adjoint(b), upper=upper, adjoint=True, unitriangular=unit)
        X = linalg.adjoint(X)
    del t, b
    return _like(X, B, True)


@matrices("cholesky_solve")
def _cholesky_solve(func, values):
    from . import linalg

    B, L = list(values.values())[:2]
    upper, t = values.get("upper", False), deal(L)
    Y = linalg.solve_triangular(t, deal(B, t.block), upper=upper, adjoint=upper)
    return _like(linalg.solve_triangular(t, Y, upper=upper, adjoint=not upper), B, True)


@matrices("linalg.inv inverse linalg.inverse")
def _inv(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    return _like(linalg.inv(deal(A)), A, True)


@matrices("linalg.cholesky cholesky")
def _cholesky(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    return _like(linalg.cholesky(deal(A), upper=bool(values.get("upper", False))), A, True)


@matrices("cholesky_inverse")
def _cholesky_inverse(func, values):
    from . import linalg

    L, upper = first_sharded(list(values.values())), values.get("upper", False)
    t = deal(L)
    Y = linalg.solve_triangular(t, t.eye(t.shape[0]), upper=upper, adjoint=upper)
    return _like(linalg.solve_triangular(t, Y, upper=upper, adjoint=not upper), L, True)


@matrices("matrix_power linalg.matrix_power")
def _matrix_power(func, values):
    from . import linalg

    A, n = first_sharded(list(values.values())), values["n"]
    x, result = deal(A), None
    if A.shape[0] != A.shape[1]:
        raise RuntimeError(f"linalg.matrix_power: A must be square, but it is {A.shape[0]} by {A.shape[1]}")
    if n < 0:
        x, n = linalg.inv(x), -n
    while n:
        if n % 2:
            result = x if result is None else linalg.matmul(result, x)
        n //= 2
        if n:
            x = linalg.matmul(x, x)
    return _like(x.eye(x.shape[0]) if result is None else result, A)


@matrices("det linalg.det")
def _det(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    return everywhere(linalg.det(deal(A)), A._spec.mesh)


@matrices("slogdet linalg.slogdet")
def _slogdet(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    found = (everywhere(t, A._spec.mesh) for t in linalg.slogdet(deal(A)))
    return _named("linalg_slogdet" if "linalg" in func.__qualname__ else "slogdet", *found)


@rule("logdet")
def _logdet(func, args, kwargs):
    sign, log = _f["linalg.slogdet"](*args, **kwargs)
    if sign._local.is_complex():
        return log + sign.log()
    return _f["where"](sign < 0, math.nan, log)


# ---------------------------------------------------------------- QR and least squares


@matrices("linalg.qr qr")
def _qr(func, values):
    from . import linalg

    A, mode = first_sharded(list(values.values())), values.get("mode", "reduced")
    if "some" in values:
        mode = "reduced" if values["some"] else "complete"
    name = "linalg_qr" if "linalg" in func.__qualname__ else "qr"
    if mode == "r":
        from .linalg._spectral import qr_r

        return _named(name, everywhere(A._local.new_empty(0), A._spec.mesh), _like(qr_r(deal(A)), A))
    if mode not in ("reduced", "complete"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    Q, R = linalg.qr(deal(A), mode)
    Q = _like(Q, A, True)  # one by one: the dealt Q is free before R is brought back
    R = _like(R, A, True)
    return _named(name, Q, R)


@matrices("linalg.lstsq")
def _lstsq(func, values):
    from . import linalg

    A, B = values["input"], values["b"]
    if values.get("driver") not in (None, "gels", "gelsy"):
        raise refuse(func, [A, B], f"driver={values['driver']!r}; there are gels and gelsy, both for full rank")
    a = deal(A)
    X, residuals = linalg.lstsq(a, deal(B, a.block))
    vector = B.ndim == 1
    mesh = B._spec.mesh
    rank = _f["full"]((), min(A.shape), dtype=_C.int64)
    if values.get("driver") == "gels":
        rank = rank.new_empty(0)
    elif vector and residuals.numel():
        residuals = residuals[0]
    if values.get("driver") != "gels":  # as on one process: gelsy has none
        residuals = residuals.new_empty(0)
    solution = collect(X, mesh, B._spec.placements, vector=vector, consume=True)
    rest = (everywhere(t, mesh) for t in (residuals, rank, residuals.new_empty(0)))
    return _named("linalg_lstsq", solution, *rest)


# ---------------------------------------------------------------- eigenvalues and singular values


@matrices("linalg.eigh")
def _eigh(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    found, V = linalg.eigh(deal(A), values.get("UPLO", "L"))
    return _named("linalg_eigh", everywhere(found, A._spec.mesh), _like(V, A, True))


@matrices("linalg.eigvalsh")
def _eigvalsh(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    return everywhere(linalg.eigvalsh(deal(A), values.get("UPLO", "L")), A._spec.mesh)


@matrices("linalg.svd")
def _svd(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    U, S, Vh = linalg.svd(deal(A), bool(values.get("full_matrices", True)))
    U = _like(U, A, True)  # one by one, as for qr
    Vh = _like(Vh, A, True)
    return _named("linalg_svd", U, everywhere(S, A._spec.mesh), Vh)


@matrices("svd")
def _old_svd(func, values):
    A = first_sharded(list(values.values()))
    if not values.get("compute_uv", True):
        raise refuse(func, [A], "compute_uv=False: linalg.svdvals has a rule")
    U, S, Vh = _f["linalg.svd"](A, not values.get("some", True))
    return _named("svd", U, S, Vh.mH)


@matrices("linalg.svdvals")
def _svdvals(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    return everywhere(linalg.svdvals(deal(A)), A._spec.mesh)


@matrices("linalg.cond")
def _cond(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    if A.numel() == 0:
        return everywhere(func(_f["empty"](A.shape, dtype=A.dtype), values.get("p")), A._spec.mesh)
    return everywhere(linalg.cond(deal(A), values.get("p")), A._spec.mesh)


def norm_of_matrix(func: Any, args: Any, kwargs: Any) -> ShardedTensor:
    """A norm of singular values, of one matrix; of others _rules_made.py has the rule."""
    from . import linalg

    values = bind(func, args, kwargs)
    A = without_terms(values["input"])
    order = values.get("ord", "fro")
    if values.get("dtype") is not None:
        A = A.to(values["dtype"])
    keepdim = bool(values.get("keepdim"))
    found = linalg.norm(deal(A), order)
    return everywhere(found.reshape(1, 1) if keepdim else found, A._spec.mesh)


@rule("linalg.norm")
def _norm(func, args, kwargs):
    values = bind(func, args, kwargs)
    x, order, dim = values["input"], values.get("ord"), values.get("dim")
    rest = {k: values[k] for k in ("keepdim", "dtype") if values.get(k) is not None}
    count = 1 if isinstance(dim, int) else x.ndim if dim is None else len(dim)
    if order is None or count == 1:
        return _f["linalg.vector_norm"](x, 2 if order is None else order, dim, **rest)
    return _f["linalg.matrix_norm"](x, order, (-2, -1) if dim is None else dim, **rest)
