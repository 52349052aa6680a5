"""Some eigenvalues of large symmetric matrices, by the locally optimal block preconditioned conjugate gradient
method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _C
from ._calls.overrides import overridable
from ._objects.typeinfo import finfo
from .autograd import Function, no_grad
from .linalg import LinAlgError

if TYPE_CHECKING:
    from ._typing import Any, Callable, Tensor

_f = _C.functions
_eigh, _cat = _f["linalg.eigh"], _f["cat"]

__all__ = ["lobpcg"]


@overridable
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], Any] | None = None,
    ortho_iparams: dict[str, Any] | None = None,
    ortho_fparams: dict[str, Any] | None = None,
    ortho_bparams: dict[str, Any] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues E (*, k) and eigenvectors X (*, m, k) of A x = e B x, for symmetric or
    Hermitian A (*, m, m), and B positive definite, or the identity for None.

    Each step takes the best vectors in the span of those that it has, their residuals and its last changes, and so
    reads A only through products A @ x.  A matrix of fewer than 3 n rows is one for linalg.eigh.

    Args:
        X: what to start from, (*, m, n) with n >= k; random if None, with n columns (k if None).
        iK: the preconditioner, (*, m, m), by which residuals are multiplied.
        niter: how many steps at most (1000; -1: until it converges).
        tol: where to stop: |A x - e B x| <= tol |x| (|A| + |e| |B|); the square root of the dtype's epsilon by default.
        method: "ortho" (default), an orthonormal basis at each step (A. Stathopoulos and K. Wu, SIAM J. Sci. Comput.
            23, 2002; J. A. Duersch, M. Shao, C. Yang, M. Gu, SIAM J. Sci. Comput. 40, 2018), or "basic" (A. V. Knyazev,
            SIAM J. Sci. Comput. 23, 2001), which may raise LinAlgError near convergence.
        tracker: called after each step with the state: A, B, iK, X, E, R (residuals), S (the basis), and the
            dictionaries iparams, fparams, bparams, ivars ("istep", "converged_count", ...), fvars, bvars
            ("force_stop"), tvars ("rerr").
        ortho_iparams: {"ortho_i_max": 3} are the passes of orthogonalisation; other parameters are kept, and not used.

    ValueError for sizes that do not fit.  Gradients, of A where B is None, need distinct eigenvalues; they solve a
    system for each vector.

    >>> E, X = strided.lobpcg(strided.arange(1., 10.).diag(), k=2)
    >>> E.round(decimals=3)
    tensor([9., 8.])
    """
    k, n = _checked_sizes(A, k, B, X, n, iK, method)
    m = A.shape[-1]
    recorded = _f["is_grad_enabled"]() and (A.requires_grad or (B is not None and B.requires_grad))
    if recorded and B is not None:
        raise ValueError("lobpcg.backward does not support backward with B != I yet.")
    work = _C.float32 if A.dtype.to_real().itemsize < 4 else A.dtype
    iparams = {
        "m": m,
        "n": n,
        "k": k,
        "niter": 1000 if niter is None else niter,
        "ortho_i_max": 3,
        **(ortho_iparams or {}),
    }
    fparams = {"tol": finfo(work).eps ** 0.5 if tol is None else tol, **(ortho_fparams or {})}
    bparams = {"largest": largest is None or bool(largest), **(ortho_bparams or {})}

    def run(A):
        shape = (*A.shape[:-2], m, n)
        start = (
            _f["randn"](*shape, dtype=work, device=A.device) if X is None else X.detach().to(work).broadcast_to(shape)
        )
        state_of = lambda *one: LOBPCG(*one, iparams, fparams, bparams, method or "ortho", tracker)
        return _of_batch(A, B, iK, start, k, state_of)

    if not recorded:
        return run(A)
    return Lobpcg.apply((A + A.mH) / 2, run)


def _checked_sizes(A, k, B, X, n, iK, method) -> tuple[int, int]:
    """k and n, which have defaults, after all arguments were looked at."""
    if not isinstance(A, _C.Tensor) or A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(
            f"lobpcg: A must be square matrices, got {tuple(A.shape) if isinstance(A, _C.Tensor) else type(A).__name__}"
        )
    if not (A.dtype.is_floating_point or A.dtype.is_complex):
        raise RuntimeError(f"lobpcg: A must be floating-point or complex, got {A.dtype}")
    m = A.shape[-1]
    for name, matrix in (("B", B), ("iK", iK)):
        if matrix is not None and tuple(matrix.shape[-2:]) != (m, m):
            raise ValueError(f"lobpcg: {name} must be of A's shape {tuple(A.shape)}, got {tuple(matrix.shape)}")
    if X is not None and (X.ndim < 2 or X.shape[-2] != m):
        raise ValueError(f"lobpcg: X must have A's {m} rows, got shape {tuple(X.shape)}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = X.shape[-1] if X is not None else k if n is None else n
    if not 1 <= k <= n:
        raise ValueError(f"lobpcg: needs 1 <= k <= n, got k={k} and n={n}")
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    if method not in (None, "ortho", "basic"):
        raise ValueError(f'lobpcg: method must be "ortho" or "basic", got {method!r}')
    return k, n


def _of_batch(A, B, iK, start, k, state_of) -> tuple[Tensor, Tensor]:
    """k values and vectors of each matrix, one matrix after the other, in the dtype of `start`."""
    *batch, m, n = start.shape
    flat = [
        None if t is None else t.detach().to(start.dtype).broadcast_to((*batch, m, m)).reshape(-1, m, m)
        for t in (A, B, iK)
    ]
    found = []
    for i, x in enumerate(start.reshape(-1, m, n)):
        state = state_of(*(None if t is None else t[i] for t in flat), x)
        state.run()
        found.append((state.E[:k], state.X[:, :k]))
    if not found:
        return A.new_empty((*batch, k)).real, A.new_empty((*batch, m, k))
    real = A.real.dtype
    return tuple(
        _f["stack"]([pair[j] for pair in found]).reshape(*batch, *found[0][j].shape).to((real, A.dtype)[j])
        for j in (0, 1)
    )


class LOBPCG:
    """The state of the iteration for one matrix, as trackers see it."""

    def __init__(self, A, B, iK, X, iparams, fparams, bparams, method, tracker):
        self.A, self.B, self.iK, self.X, self.P = A, B, iK, X, None
        self.iparams, self.fparams, self.bparams = dict(iparams), dict(fparams), dict(bparams)
        self.method, self.tracker = method, tracker
        size = _norm(X)
        self.fvars = {
            "X_norm": size,
            "A_norm": _norm(A @ X) / size,
            "B_norm": 1.0 if B is None else _norm(B @ X) / size,
        }
        self.ivars = {"istep": 0, "iterations_left": iparams["niter"], "converged_count": 0}
        self.bvars, self.tvars = {}, {}
        self.S = X
        self.E = self.R = None

    def run(self):
        with no_grad():
            while self.update():
                pass

    def times_B(self, x):
        return x if self.B is None else self.B @ x

    def update(self) -> bool:
        """One step; false when it was the last one."""
        n, done = self.iparams["n"], self.ivars["converged_count"]
        if self.E is None:
            basis, self.S = None, self.X
        else:  # what has converged stays in the basis, and asks for no new directions
            W = self.R[:, done:]
            news = [W if self.iK is None else self.iK @ W]
            basis, self.S = self.X, _cat(([] if self.P is None else [self.P[:, done:]]) + news, 1)
        if self.method == "ortho":
            self.S = self.orthonormal(self.S, basis)
        if basis is not None:
            self.S = _cat([basis, self.S], 1)
        if self.S.shape[1] < n:
            raise LinAlgError(f"lobpcg: the {n} vectors to start from are linearly dependent")
        stuck = basis is not None and self.S.shape[1] == n  # no direction is left
        self.E, Z = self.ritz(n)
        if not _f["isfinite"](self.E).all():
            raise LinAlgError(
                "lobpcg: A (or B, iK or X) has elements that are not finite, or the products with it overflow"
            )
        self.X, self.P = self.S @ Z, None if basis is None or stuck else self.S[:, n:] @ Z[n:]
        BX = self.times_B(self.X)
        self.R = self.A @ self.X - BX * self.E
        size = _f["linalg.vector_norm"](self.X, dim=0) * (self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"])
        error = _f["linalg.vector_norm"](self.R, dim=0)
        self.tvars["rerr"] = _f["where"](error == 0, error, error / size)
        below = (self.tvars["rerr"] <= self.fparams["tol"]).tolist()
        self.ivars["converged_count"] = below.index(False) if False in below else n
        self.ivars["istep"] += 1
        self.ivars["iterations_left"] -= 1
        if self.tracker is not None:
            self.tracker(self)
        out_of_steps = self.iparams["niter"] >= 0 and self.ivars["iterations_left"] <= 0
        return not (
            stuck or out_of_steps or self.bvars.get("force_stop") or self.ivars["converged_count"] >= self.iparams["k"]
        )

    def ritz(self, n):
        """The n best values and their coefficients in the basis S."""
        G = _symmetric(self.S.mH @ (self.A @ self.S))
        if self.method == "ortho":
            values, Z = _eigh(G)
        else:
            H = _symmetric(self.S.mH @ self.times_B(self.S))
            scale = H.diagonal().real.rsqrt()
            L = _f["linalg.cholesky"](H * scale * scale[:, None])
            solve = _f["linalg.solve_triangular"]
            inner = solve(L, G * scale * scale[:, None], upper=False)
            values, Z = _eigh(_symmetric(solve(L, inner.mH, upper=False)))
            Z = solve(L.mH, Z, upper=True) * scale[:, None]
        return (values.flip(0)[:n], Z.flip(1)[:, :n]) if self.bparams["largest"] else (values[:n], Z[:, :n])

    def orthonormal(self, V, basis):
        """A basis of what V adds to `basis`, orthonormal with respect to B; directions that are lost in rounding are
        dropped."""
        limit = 10 * finfo(V.dtype).eps * (V.shape[1] + (0 if basis is None else basis.shape[1]))
        against = None if basis is None else self.times_B(basis)
        for _ in range(max(1, self.iparams["ortho_i_max"])):
            length = (V.conj() * self.times_B(V)).sum(0).real.clamp_min(0).sqrt()
            V = V[:, length > 0] / length[length > 0]
            if V.shape[1] == 0:
                return V
            if basis is not None:
                V = V - basis @ (against.mH @ V)
            values, Z = _eigh(_symmetric(V.mH @ self.times_B(V)))
            kept = values > limit
            V = V @ (Z[:, kept] * values[kept].rsqrt())
        return V


def _norm(x) -> float:
    return _f["linalg.vector_norm"](x).item()


def _symmetric(G):
    return (G + G.mH) / 2


class Lobpcg(Function):
    """run(A), recorded.  With y_i = (A - e_i)^+ g_i for the gradient g_i of x_i, A gets the sum of (g_e x_i - y_i)
    x_i^H."""

    @staticmethod
    def forward(ctx, A, run):
        E, X = run(A)
        ctx.save_for_backward(A, E, X)
        return E, X

    @staticmethod
    def backward(ctx, gE, gX):
        A, E, X = ctx.saved_tensors
        # The system bordered by x_i, for what of g_i is orthogonal to x_i; one matrix for each vector.
        x, g = X.mT.unsqueeze(-1), gX.mT.unsqueeze(-1)
        shifted = A.unsqueeze(-3) - _f["diag_embed"](E.unsqueeze(-1).expand(*E.shape, A.shape[-1]).to(A.dtype))
        corner = A.new_zeros((*x.shape[:-2], 1, 1))
        bordered = _cat([_cat([shifted, x], -1), _cat([x.mH, corner], -1)], -2)
        g = _cat([g - x @ (x.mH @ g), corner], -2)
        y = _f["linalg.solve"](bordered, g)[..., :-1, 0].mT
        return (X * gE.unsqueeze(-2) - y) @ X.mH, None
