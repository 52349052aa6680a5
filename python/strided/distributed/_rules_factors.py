"""Rules of LU as its factors, of the forms that return `info` instead of raising, and of products with reflectors."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from .. import _C
from .._functions.creation import tensor as _tensor
from ..linalg import LinAlgError
from ._layout import Spec
from ._rules_linalg import _like, _named, deal, everywhere, matrices
from ._rules_made import batches
from ._sharded import RULES, ShardedTensor, bind, first_sharded, indices, missing, placed, refuse, rule, wrap
from .placement import Replicate

if TYPE_CHECKING:
    pass

_f = _C.functions


def _on_every_rank(t):
    return placed(t, (Replicate(),) * t._spec.mesh.ndim)._local


# ---------------------------------------------------------------- LU


def _lu(func, values):
    """(L and U in one, in A's placements; pivots and info as PyTorch has them, on every rank)"""
    from .linalg import _factored

    A = first_sharded(list(values.values()))
    if not values.get("pivot", True):
        raise refuse(func, [A], "LU without pivoting")
    LU, pivots, info = _factored.lu_factor(deal(A))
    mesh = A._spec.mesh
    found = (_tensor(t, dtype=_C.int32) for t in ([p + 1 for p in pivots], info))
    return _like(LU, A, True), *(everywhere(t, mesh) for t in found), info


def _not_regular(name, info):
    return LinAlgError(
        f"torch.linalg.{name}: U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If "
        "you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    )


@matrices("linalg.lu_factor")
def _lu_factor(func, values):
    LU, pivots, _, number = _lu(func, values)
    if number:
        raise _not_regular("lu_factor", number)
    return _named("linalg_lu_factor", LU, pivots)


@matrices("linalg.lu_factor_ex")
def _lu_factor_ex(func, values):
    LU, pivots, info, number = _lu(func, values)
    if number and values.get("check_errors"):
        raise _not_regular("lu_factor_ex", number)
    return _named("linalg_lu_factor_ex", LU, pivots, info)


@matrices("lu")
def _old_lu(func, values):
    LU, pivots, info, _ = _lu(func, values)
    return _named("lu", LU, pivots, info) if values.get("get_infos") else (LU, pivots)


@matrices("linalg.lu")
def _lu_apart(func, values):
    LU, pivots, _, _ = _lu(func, values)
    return _named("linalg_lu", *_unpacked(LU, pivots))


def _unpacked(LU, pivots, data=True, swaps=True):
    from .linalg._lu import row_order

    (m, n), spec = LU.shape, LU._spec
    nothing = everywhere(LU._local.detach().new_empty(0), spec.mesh)
    P = L = U = nothing
    if swaps:
        order = row_order([p - 1 for p in _on_every_rank(pivots).tolist()], m)
        at = Spec(spec.mesh, spec.placements, (m, m))
        order = _tensor(order, dtype=_C.int64).index_select(0, indices(at, 1))
        P = wrap((indices(at, 0)[:, None] == order).to(LU.dtype), at)
    if data:
        k = min(m, n)
        L, U = LU[:, :k].tril(-1), LU[:k].triu()
        ones = indices(L._spec, 0)[:, None] == indices(L._spec, 1)
        L = wrap(L._local + ones.to(L.dtype), L._spec)
    return P, L, U


@matrices("lu_unpack", vectors=("LU_pivots",))
def _lu_unpack(func, values):
    LU, pivots = values["LU_data"], values["LU_pivots"]
    parts = _unpacked(LU, pivots, values.get("unpack_data", True), values.get("unpack_pivots", True))
    return _named("lu_unpack", *parts)


def _solved(LU, pivots, B, left=True, adjoint=False):
    from . import linalg
    from .linalg import _factored

    if LU.shape[0] != LU.shape[1]:
        raise RuntimeError(f"linalg.lu_solve: LU must be square, but it is {LU.shape[0]} by {LU.shape[1]}")
    steps = [p - 1 for p in _on_every_rank(pivots).tolist()]
    lu = deal(LU)
    b = deal(B, lu.block)
    if left:
        return _like(_factored.lu_solve(lu, steps, b, adjoint=adjoint), B, True)
    return _like(linalg.adjoint(_factored.lu_solve(lu, steps, linalg.adjoint(b), adjoint=not adjoint)), B, True)


@matrices("linalg.lu_solve", vectors=("pivots",))
def _lu_solve(func, values):
    how = (values.get("left", True), values.get("adjoint", False))
    return _solved(values["LU"], values["pivots"], values["B"], *how)


@matrices("lu_solve", vectors=("LU_pivots",))
def _old_lu_solve(func, values):
    return _solved(values["LU_data"], values["LU_pivots"], values["input"])


# ---------------------------------------------------------------- what reports a singular matrix as a number


@matrices("linalg.solve_ex")
def _solve_ex(func, values):
    A, B = values["A"], values["B"]
    if B.ndim == 1:
        made = _f["linalg.solve_ex"](A, B.unsqueeze(1), check_errors=values.get("check_errors", False))
        return _named("linalg_solve_ex", made[0].squeeze(1), made[1])
    LU, pivots, info, number = _lu(func, {"A": A})
    if number and values.get("check_errors"):
        raise LinAlgError("torch.linalg.solve_ex: The solver failed because the input matrix is singular.")
    return _named("linalg_solve_ex", _solved(LU, pivots, B, values.get("left", True)), info)


@matrices("linalg.inv_ex")
def _inv_ex(func, values):
    from .linalg import _factored

    A = values["A"]
    x = deal(A)
    if A.shape[0] != A.shape[1]:
        raise RuntimeError(f"linalg.inv_ex: A must be square, but it is {A.shape[0]} by {A.shape[1]}")
    LU, pivots, info = _factored.lu_factor(x)
    if info and values.get("check_errors"):
        raise LinAlgError(
            f"linalg.inv_ex: The diagonal element {info} is zero, the inversion could not be completed because the "
            "input matrix is singular."
        )
    found = everywhere(_tensor(info, dtype=_C.int32), A._spec.mesh)
    return _named("linalg_inv_ex", _like(_factored.lu_solve(LU, pivots, x.eye(A.shape[0])), A, True), found)


@matrices("linalg.cholesky_ex")
def _cholesky_ex(func, values):
    from . import linalg

    A = first_sharded(list(values.values()))
    x, info = deal(A), 0
    try:
        L = linalg.cholesky(x, upper=bool(values.get("upper", False)))
    except LinAlgError as error:  # on every rank alike
        if values.get("check_errors"):
            raise
        L, info = x.new(x.shape, float("nan")), error.info
    found = everywhere(_tensor(info, dtype=_C.int32), A._spec.mesh)
    return _named("linalg_cholesky_ex", _like(L, A, True), found)


for _name in "linalg.lu_factor linalg.lu_factor_ex lu linalg.lu linalg.inv_ex linalg.cholesky_ex".split():
    RULES[_name] = functools.partial(batches, RULES[_name])


@matrices("triangular_solve")
def _triangular_solve(func, values):
    B, A = values["input"], values["A"]
    how = {"upper": values.get("upper", True), "unitriangular": values.get("unitriangular", False)}
    if values.get("transpose"):
        T, how["upper"] = A.mT, not how["upper"]
    else:
        T = A
    return _named("triangular_solve", _f["linalg.solve_triangular"](T, B, **how), A.clone())


# ---------------------------------------------------------------- reflectors


def _reflected(func, A, tau, C=None, left=True, transpose=False):
    """Q C, C Q, or with Q^H; without C the first columns of Q."""
    from . import linalg
    from .linalg import _factored

    (m, n), k = A.shape, tau.shape[0]
    if k > n or n > m:
        raise RuntimeError(f"{func.__qualname__}: {k} reflectors of {tuple(A.shape)}; there must be no more than columns, "
                           "and these no more than rows")  # fmt: skip
    a, numbers = deal(A), _on_every_rank(tau)
    if C is None:
        return _like(_factored.reflected(a, numbers, a.eye(m, n)), A, True)
    c = deal(C, a.block)
    if left:
        return _like(_factored.reflected(a, numbers, c, transposed=transpose), C, True)
    return _like(linalg.adjoint(_factored.reflected(a, numbers, linalg.adjoint(c), transposed=not transpose)), C, True)


@matrices("linalg.householder_product", vectors=("tau",))
def _householder_product(func, values):
    return _reflected(func, values["input"], values["tau"])


@matrices("orgqr", vectors=("input2",))
def _orgqr(func, values):
    return _reflected(func, values["input"], values["input2"])


@matrices("ormqr", vectors=("input2",))
def _ormqr(func, values):
    how = (values.get("left", True), values.get("transpose", False))
    return _reflected(func, values["input"], values["input2"], values["input3"], *how)


@matrices("linalg.ldl_solve", vectors=("pivots",))
def _ldl_solve(func, values):
    if any(p.is_shard() for t in values.values() if isinstance(t, ShardedTensor) for p in t.placements):
        raise refuse(
            func, list(values.values()), "there is no LDL of a matrix that is cut; linalg.lu_factor has a rule"
        )
    return missing(func)(func, (), values)


@rule("lobpcg")
def _lobpcg(func, args, kwargs):
    raise refuse(
        func, (*args, *kwargs.values()), "its steps are chosen by values that no rank has; linalg.eigh has a rule"
    )


# ---------------------------------------------------------------- eigenvalues of matrices that are not hermitian


@rule("linalg.eig linalg.eigvals")
def _eig(func, args, kwargs):
    def none(func, args, kwargs):
        values = list(bind(func, args, kwargs).values())
        if not any(p.is_shard() for t in values if isinstance(t, ShardedTensor) for p in t.placements):
            return missing(func)(func, args, kwargs)
        raise refuse(func, values, "eigenvalues of a matrix that is not hermitian have no algorithm without a gather "
                                   "here; eigh and eigvalsh have one for hermitian matrices")  # fmt: skip

    return batches(none, func, args, kwargs)
